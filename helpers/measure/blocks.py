# SPDX-License-Identifier: Apache-2.0
"""The plain blocks in which an environment's `view` shows an episode, and what may be wrong with one."""

from collections.abc import Iterator

LOOKS = ("", "given", "filled", "bad", "right", "wrong")


def fault_in_block(block: object) -> str:
    """What is wrong with a block, "" for a good one.

    One is {"text": paragraph}, {"code": verbatim}, {"table": rows of cells, the first one its head}, or
    {"board": rows of cells, "box": (height, width) or None, "label": text}.
    """
    if not isinstance(block, dict) or len(block) not in (1, 3):
        return f"the block {block!r:.80}"
    if set(block) in ({"text"}, {"code"}):
        return "" if isinstance(next(iter(block.values())), str) else f"{block!r:.80}, which is no text"
    if set(block) == {"table"}:
        return _fault_in_rows(block["table"])
    if set(block) != {"board", "box", "label"}:
        return f"a block with the names {sorted(map(str, block))}"
    box = block["box"]
    boxed = box is None or (isinstance(box, tuple | list) and len(box) == 2 and all(type(side) is int for side in box))
    if not boxed or not isinstance(block["label"], str):
        return f"a board with the box {box!r:.40} and the label {block['label']!r:.40}"
    return _fault_in_rows(block["board"])


def _fault_in_rows(rows: object) -> str:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        return f"rows {rows!r:.80}"
    if len({len(row) for row in rows}) > 1:
        return f"rows of different lengths {[len(row) for row in rows]}"
    return next((f"the cell {cell!r:.80}" for row in rows for cell in row if not _is_cell(cell)), "")


def _is_cell(cell: object) -> bool:
    if not isinstance(cell, dict):
        return isinstance(cell, str)
    known = set(cell) <= {"text", "look", "note"} and isinstance(cell.get("text"), str)
    return known and cell.get("look", "") in LOOKS and isinstance(cell.get("note", ""), str)


def texts_in(value: object) -> Iterator[str]:
    """All that a reader sees of blocks, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from () if name in ("look", "note") else texts_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one)


def squeezed(text: str) -> str:
    """Text without spaces and line breaks, for these differ between an answer and its drawing."""
    return "".join(text.split())
