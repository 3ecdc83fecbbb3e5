# SPDX-License-Identifier: Apache-2.0
"""What came of an episode, as plain blocks to draw."""

from .grading import changes


def view(episode: dict) -> list[dict]:
    """The fields of the tables that were changed, or should have been.

    Args:
        episode: With `task` and `messages`. Without `reward` it is not graded yet, and nothing is shown.

    Returns:
        A paragraph, and a table, its first row the head, if there are such fields.
    """
    if "reward" not in episode:
        return []
    found = changes(episode["messages"], episode)
    if not found:
        return [{"text": "No table was changed, and none should have been."}]
    rows: list[list] = [["", "table", "row", "field", "before", "after", "wanted"]]
    for change in found:
        said, look = ("✓ as wanted", "right") if change.right else ("✗ differs", "wrong")
        values = ["none" if value is None else value for value in (change.before, change.made, change.wanted)]
        rows.append([{"text": said, "look": look, "note": ""}, change.table, change.row, change.field, *values])
    return [{"text": "What changed in the tables, and what should have:"}, {"table": rows}]
