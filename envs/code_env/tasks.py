# SPDX-License-Identifier: Apache-2.0
"""A task as the row's JSON text has it: tests, examples, how results compare."""

import ast
import json
import math
from functools import lru_cache
from typing import Any, NamedTuple

COMPARISONS = ("eq", "approx", "nan", "unordered", "exact")
TIME_LIMIT_S = 3.0  # for a test, where the row names none


class Task(NamedTuple):
    entry_point: str  # empty for a program
    tests: tuple[tuple[str, object], ...]  # arguments as text and the expected value; stdin and stdout for a program
    examples: tuple[tuple[str, object], ...]  # public ones
    comparison: str
    time_limit_s: float
    setup: str  # code that stands before every answer
    question: str


@lru_cache(maxsize=4096)  # a task is scored once for each completion in its group
def task_of(task: str) -> Task:
    """Raises ValueError if the text is not a task."""
    fields = json.loads(task)
    entry = fields.get("entry_point") or ""
    comparison = fields.get("comparison") or "eq"
    if comparison not in COMPARISONS:
        raise ValueError(f"comparison must be one of {', '.join(COMPARISONS)}, got {comparison!r}")
    tests = tuple(_test(test, entry) for test in fields.get("tests") or [])
    if not tests:
        raise ValueError('the task has no tests; give a list of {"args", "expected"} or {"stdin", "stdout"}')
    examples = tuple(_test(test, entry) for test in fields.get("examples") or [])
    limit = float(fields.get("time_limit_s") or TIME_LIMIT_S)
    return Task(entry, tests, examples, comparison, limit, fields.get("setup") or "", fields.get("question") or "")


def _test(test: dict, entry: str) -> tuple[str, object]:
    names = ("args", "expected") if entry else ("stdin", "stdout")
    given, expected = (test.get(name) for name in names)
    if not isinstance(given, str) or not isinstance(expected, str):
        kind = "function" if entry else "program"
        raise ValueError(f"a test of a {kind} must have {names[0]} and {names[1]}, both text, got {test!r:.100}")
    if not entry:
        return given, expected
    arguments = value_of(given)
    if not isinstance(arguments, list | tuple):
        raise ValueError(f"args must be the text of a list of arguments, got {given!r:.80}")
    try:
        ast.literal_eval(given)
    except (ValueError, SyntaxError):  # such as list(range(9)), which the sandbox does not read
        given = repr(list(arguments))
    return given, value_of(expected)


def value_of(text: str) -> object:
    """The value of a literal, or of set(), frozenset(...), float('nan'), nan, inf, list(range(...)) and products of
    lists, which stand in rows now and then."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return _evaluated(ast.parse(text.strip(), mode="eval").body)


def _evaluated(node: ast.expr) -> Any:
    names = {"nan": math.nan, "inf": math.inf}
    known = (set, frozenset, list, tuple, range, float, dict, sorted, complex)
    calls: dict[str, Any] = {call.__name__: call for call in known}
    match node:
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in calls:
            return calls[name](*map(_evaluated, arguments))
        case ast.List(elts=items):
            return [*map(_evaluated, items)]
        case ast.Tuple(elts=items):
            return tuple(map(_evaluated, items))
        case ast.Set(elts=items):
            return {*map(_evaluated, items)}
        case ast.Dict(keys=keys, values=values):
            return dict(zip(map(_evaluated, keys), map(_evaluated, values)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluated(operand)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            one, other = _evaluated(left), _evaluated(right)
            if isinstance(other, int) and isinstance(one, list | str | tuple) and len(one) * other <= 10**7:
                return one * other
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _evaluated(left) + _evaluated(right)
        case ast.Constant(value=value):
            return value
    raise ValueError(f"{ast.unparse(node)!r:.80} is not a Python literal")


def call_text(entry: str, arguments: str) -> str:
    """A call as a person would write it, from the text of the list of arguments."""
    inner = arguments.strip()[1:-1].rstrip(", ") if arguments.strip()[:1] in "[(" else arguments
    owner, _, name = entry.rpartition(".")
    return f"{owner + '().' if owner else ''}{name}({inner})"
