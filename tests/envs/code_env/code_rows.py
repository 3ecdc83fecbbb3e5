"""Rows of small code tasks, and answers to them."""

import json

PASS, FAIL = 1.0, 0.0


def row(entry_point="add", tests=(([1, 2], 3), ([5, -2], 3), ([0, 0], 0)), **fields) -> dict:
    """A row of a function task, from arguments and expected values."""
    tests = [{"args": repr(given), "expected": repr(expected)} for given, expected in tests]
    return {"task": json.dumps({"entry_point": entry_point, "tests": tests, **fields})}


def program(*tests: tuple[str, str], **fields) -> dict:
    return {"task": json.dumps({"tests": [{"stdin": i, "stdout": o} for i, o in tests], **fields})}


ADD = row()
SUM = program(("3\n1 2 3\n", "6\n"), ("1\n-5\n", "-5\n"))
GOOD = "def add(a, b):\n    return a + b"
BAD = "def add(a, b):\n    return a - b"
