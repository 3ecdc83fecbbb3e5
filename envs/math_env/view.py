# SPDX-License-Identifier: Apache-2.0
"""What came of an episode, as plain blocks to draw."""

import json

from .environment import calls_of


def view(episode: dict) -> list[dict]:
    """The answer that was read, beside the gold one.

    Args:
        episode: With `task` and `messages`. Without `reward` it is not graded yet, and nothing is shown.

    Returns:
        A table, its first row the head.
    """
    if "reward" not in episode:
        return []
    calls, _ = calls_of(episode["messages"], episode["task"])
    handed_in = (arguments.get("answer") for name, arguments in calls if name == "submit")
    found = next((answer for answer in handed_in if isinstance(answer, str) and answer.strip()), "(none was found)")
    gold = json.loads(episode["task"])["answer"]
    return [
        {"table": [["extracted answer", "gold answer"], [found, gold if isinstance(gold, str) else json.dumps(gold)]]}
    ]
