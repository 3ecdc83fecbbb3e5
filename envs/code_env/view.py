# SPDX-License-Identifier: Apache-2.0
"""What came of an episode, as plain blocks for a front end to draw."""

import contextlib
import json
import re

from .completions import calls_and_text, usable
from .grading import parse

_LONGEST_STRIP = 40  # signs on each side of the failing test


def view(episode: dict) -> list[dict]:
    """Blocks to draw: the code that was graded, a strip of the tests, and the failing test as a table.

    Args:
        episode: With `task` and `messages`; once graded with `reward` and `reason`.

    Returns:
        Blocks {"text": paragraph}, {"code": verbatim text} or {"table": rows, the first one the head}. None before the
        episode is graded, since hidden tests must not be shown to whoever is still at work.
    """
    if "reward" not in episode:
        return []
    code = _graded_code(episode)
    blocks = [{"text": "No code could be read."}] if code is None else [{"text": "Code that was read:"}, {"code": code}]
    return blocks + _tests(json.loads(episode.get("task") or "{}").get("tests") or [], episode)


def _graded_code(episode: dict) -> str | None:
    """The code that was handed in first, which is final; else the last that was tried."""
    made, text = calls_and_text(episode["messages"])
    calls = usable(made)
    if not calls:
        with contextlib.suppress(ValueError):  # a task of another shape
            calls = parse(text, episode)
    codes = [
        (name, given["code"]) for name, given in calls if isinstance(given.get("code"), str) and given["code"].strip()
    ]
    return next((code for name, code in codes if name == "submit"), codes[-1][1] if codes else None)


def _tests(tests: list[dict], episode: dict) -> list[dict]:
    """How far the code came in the tests, and the one that it fails."""
    n = len(tests)
    if episode["reward"] == 1:
        return [{"text": f"{'✓' * min(n, _LONGEST_STRIP)} all {n} tests pass"}]
    at = re.search(r"test ([0-9]{1,6}) of ([0-9]{1,6}): (.*)", str(episode.get("reason")), re.S)
    if not at or int(at[2]) != n or not 1 <= int(at[1]) <= n:
        return []
    failing = int(at[1])
    test = tests[failing - 1]
    given, expected = test.get("args", test.get("stdin")), test.get("expected", test.get("stdout"))
    strip = "✓" * min(failing - 1, _LONGEST_STRIP) + "✗" + "·" * min(n - failing, _LONGEST_STRIP)
    rows = [["failing test", f"{failing} of {n}"], ["given", given], ["expected", expected], ["got", at[3]]]
    return [{"text": f"{strip} test {failing} fails"}, {"table": [[name, str(value)] for name, value in rows]}]
