# SPDX-License-Identifier: Apache-2.0
"""What the tests of a problem are tried on: mutants of the reference, and solutions that do not do the task."""

import ast
import random
from collections.abc import Callable

from .solutions import load_solution

_OTHER_COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OTHER_OPERATOR = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.FloorDiv, ast.FloorDiv: ast.Mod}
_OTHER_NAME = {
    "min": "max", "max": "min", "any": "all", "all": "any", "sum": "len", "sorted": "list", "len": "sum",
    "set": "list", "enumerate": "list", "abs": "int",
}  # fmt: skip
_OTHER_METHOD = {
    "upper": "lower", "lower": "upper", "swapcase": "upper", "isdigit": "isalpha", "isalpha": "isdigit",
    "capitalize": "upper", "isupper": "islower", "islower": "isupper", "append": "count", "keys": "values",
}  # fmt: skip


def make_mutants(source: str, rng: random.Random, most: int = 10) -> list:
    """Compiled variants of a source with one small change each, at most `most` of them."""
    tree = ast.parse(source)
    changes: list[tuple[object, str, object]] = []  # node, field, new value
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bool):
                changes.append((node, "value", not node.value))
            elif isinstance(node.value, int):
                changes += [(node, "value", node.value + 1), (node, "value", node.value - 1)]
            elif isinstance(node.value, str) and node.value:
                changes.append((node, "value", node.value[1:]))
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER_COMPARE:
            changes.append((node, "ops", [_OTHER_COMPARE[type(node.ops[0])](), *node.ops[1:]]))
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _OTHER_OPERATOR:
            changes.append((node, "op", _OTHER_OPERATOR[type(node.op)]()))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            changes.append((node, "op", ast.UAdd()))
        elif isinstance(node, ast.Name) and node.id in _OTHER_NAME:
            changes.append((node, "id", _OTHER_NAME[node.id]))
        elif isinstance(node, ast.Attribute) and node.attr in _OTHER_METHOD:
            changes.append((node, "attr", _OTHER_METHOD[node.attr]))
    if len(changes) > most:
        changes = [changes[i] for i in sorted(rng.sample(range(len(changes)), most))]
    compiled = []
    for node, field, value in changes:
        old = getattr(node, field)
        setattr(node, field, value)
        compiled.append(compile(tree, "mutant", "exec"))
        setattr(node, field, old)
    return compiled


def outcome_of(call: Callable | None, given) -> object:
    """What a solution makes of an input; an exception equals nothing that the reference returns."""
    try:
        return call(given)
    except Exception as error:
        return error


def try_load(code, kind: str, entry: str) -> Callable | None:
    try:
        return load_solution(code, kind, entry)
    except Exception:
        return None


def same_outcome(comparison: str, one, other) -> bool:
    if comparison == "approx" and isinstance(one, float) and isinstance(other, int | float):
        return abs(one - other) <= 1e-6 * max(1.0, abs(one))
    if comparison == "unordered" and isinstance(one, list) and isinstance(other, list):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return type(one) is type(other) and one == other


def trivial_solutions(examples: tuple, tests: tuple, kind: str) -> dict[str, Callable]:
    """Solutions that do not do the task, by name: what they return for an input."""
    by_heart = {repr(given): expected for given, expected in examples}
    common = max((t[1] for t in tests), key=lambda e: sum(e == t[1] for t in tests))
    constants = ["", "0\n", "1\n", "True\n", "False\n"] if kind == "program" else [None, 0, 1, "", [], {}, True, False]
    found = {
        "the input unchanged": lambda given: given if kind == "program" else given[0],
        "the first example's answer": lambda given: examples[0][1],
        "the examples by heart": lambda given: by_heart.get(repr(given)),
        "the most frequent answer": lambda given: common,
    }
    return found | {f"always {value!r}": (lambda given, value=value: value) for value in constants}
