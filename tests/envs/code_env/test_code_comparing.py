"""How results and output compare."""

import json
import math

import pytest
from code_rows import GOOD, program

from envs.code_env import same, score

NAN = math.nan
EQUAL = [
    ("eq", 3, 3), ("eq", 3, 3.0), ("eq", True, 1), ("eq", [1, 2], (1, 2)), ("eq", {"a": [1]}, {"a": (1,)}),
    ("eq", {1, 2}, {2, 1}), ("eq", {"a": 1, "b": 2}, {"b": 2, "a": 1}), ("eq", None, None), ("eq", b"x", b"x"),
    ("eq", {1: "a"}, {1.0: "a"}), ("eq", {(1, 2): 3}, {(1, 2): 3}), ("eq", math.inf, math.inf), ("eq", 1 + 0j, 1),
    ("approx", 0.1 + 0.2, 0.3), ("approx", [1.0, {"a": 2.5}], (1, {"a": 2.5000001})), ("approx", 1e12, 1e12 + 1),
    ("approx", NAN, NAN), ("approx", math.inf, math.inf), ("approx", 3, 3), ("approx", "a", "a"), ("approx", 2, 2.0),
    ("nan", NAN, NAN), ("nan", [1, NAN], (1, NAN)), ("nan", {"a": NAN}, {"a": NAN}),
    ("unordered", [1, 2, 2], [2, 1, 2]), ("unordered", [1, 2], {2, 1}), ("unordered", ["a", [1]], [(1,), "a"]),
    ("unordered", 3, 3), ("unordered", [{"a": 1}, {"b": 2}], [{"b": 2}, {"a": 1}]),
    ("exact", [1, 2], [1, 2]), ("exact", NAN, NAN), ("exact", {"a": 1}, {"a": 1}),
]  # fmt: skip
DIFFERENT = [
    ("eq", 3, 4), ("eq", 3, "3"), ("eq", 3, NAN), ("eq", NAN, NAN), ("eq", [1, 2], [2, 1]), ("eq", [1], {1}),
    ("eq", [1, 2], [1, 2, 3]), ("eq", 0.3, 0.1 + 0.2), ("eq", "a", ["a"]), ("eq", {}, []), ("eq", "", None),
    ("eq", 0, None), ("eq", False, None), ("eq", "x", b"x"), ("eq", {"a": 1}, {"a": 1, "b": 2}), ("eq", 0, ""),
    ("approx", 1.0, 1.01), ("approx", 14.0, NAN), ("approx", 10**12, 10**12 + 1), ("approx", 1.0, "1.0"),
    ("approx", [1.0], [1.0, 1.0]), ("approx", 1.0, None), ("approx", math.inf, 1e308), ("approx", 1.0, 10**400),
    ("nan", NAN, 1), ("nan", [NAN], [1]), ("nan", 1, NAN), ("nan", 0.3, 0.1 + 0.2),
    ("unordered", [1, 2, 2], [1, 2]), ("unordered", [1, 1, 2], {1, 2}), ("unordered", [[1, 2]], [[2, 1]]),
    ("unordered", "ab", "ba"), ("unordered", [1], 1),
    ("exact", 1, True), ("exact", 1, 1.0), ("exact", [1], (1,)), ("exact", [[1]], [[True]]),
    ("exact", {"a": 1}, {"a": True}),
]  # fmt: skip


@pytest.mark.parametrize("comparison, expected, found", EQUAL)
def test_values_that_count_as_the_same(comparison, expected, found):
    assert same(expected, found, comparison)


@pytest.mark.parametrize("comparison, expected, found", DIFFERENT)
def test_values_that_differ(comparison, expected, found):
    assert not same(expected, found, comparison)


@pytest.mark.parametrize(
    "comparison, code, expected, right",
    [
        ("approx", "return 0.1 + 0.2", "0.3", True),
        ("eq", "return 0.1 + 0.2", "0.3", False),
        ("nan", "return float('nan')", "nan", True),
        ("nan", "return float('nan')", "float('nan')", True),
        ("eq", "return float('nan')", "14", False),
        ("unordered", "return {3, 1}", "[1, 3]", True),
        ("eq", "return {1, 3}", "{3, 1}", True),
        ("eq", "return set()", "set()", True),
        ("exact", "return True", "1", False),
        ("eq", "return list(range(x))", "list(range(50000))", True),
        ("eq", "return [0] * x", "[0] * 50000", True),
    ],
)
def test_a_row_says_how_results_compare(comparison, code, expected, right):
    task = {"entry_point": "f", "tests": [{"args": "[50000]", "expected": expected}], "comparison": comparison}
    assert score(f"def f(x): {code}", {"task": json.dumps(task)}).reward == float(right)


@pytest.mark.parametrize(
    "comparison, expected, printed, right",
    [
        ("eq", "1\n2\n", "1 \n2", True),
        ("eq", "1\n2\n", "1\n2\n\n\n", True),
        ("eq", "1\n2\n", "1\r\n2\r\n", True),
        ("eq", "1\n2\n", "2\n1\n", False),
        ("eq", "  *\n", "*\n", False),
        ("eq", "1\n\n2\n", "1\n2\n", False),
        ("eq", "0.5\n", "0.50\n", False),
        ("approx", "0.5\n", "0.50\n", True),
        ("approx", "0.333333\n", "0.33333333\n", True),
        ("approx", "1000000000000\n", "1000000000001\n", False),
        ("approx", "1 2\n", "1\n2\n", True),
        ("approx", "yes\n", "no\n", False),
        ("approx", "1\n", "1 1\n", False),
        ("unordered", "a\nb\n", "b\na\n", True),
        ("unordered", "a\nb\n", "b\nb\n", False),
    ],
)
def test_output_compares_as_the_row_says(comparison, expected, printed, right):
    made = program(("", expected), comparison=comparison)
    code = f"```python\nimport sys\nsys.stdout.write({printed!r})\n```"
    assert score(code, made).reward == float(right)


def test_a_row_that_is_no_task_is_refused_with_the_remedy():
    for fields, message in (
        ({"entry_point": "f", "tests": []}, "no tests"),
        ({"entry_point": "f", "tests": [{"args": "[1]", "expected": "1"}], "comparison": "equal"}, "eq, approx"),
        ({"entry_point": "f", "tests": [{"args": "3", "expected": "1"}]}, "list of arguments"),
        ({"entry_point": "f", "tests": [{"args": "[open('x')]", "expected": "1"}]}, "not a Python literal"),
        ({"entry_point": "f", "tests": [{"args": "[[0] * 10**9]", "expected": "1"}]}, "not a Python literal"),
    ):
        with pytest.raises(ValueError, match=message):
            score(GOOD, {"task": json.dumps(fields)})
