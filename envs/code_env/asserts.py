# SPDX-License-Identifier: Apache-2.0
"""Tests as data, from assert statements and doctests."""

import ast
import re

from .tasks import value_of


def asserted_tests(source: str, names: set[str]) -> tuple[list[dict], str]:
    """The tests that assert statements state with literals, and how they compare. What stands in a loop is left out."""
    tests, ways = [], set()
    try:
        bodies = [ast.parse(source.replace("\r\n", "\n")).body]
    except SyntaxError:
        return [], "eq"
    while bodies:
        for node in bodies.pop(0):
            if isinstance(node, ast.FunctionDef):
                bodies.append(node.body)
            elif isinstance(node, ast.Assert) and (found := _claim(node.test, names)):
                tests.append({"args": found[0], "expected": found[1]})
                ways.add(found[2])
    return tests, next((way for way in ("approx", "unordered") if way in ways), "eq")


def _claim(node: ast.expr, names: set[str]) -> tuple[str, str, str] | None:
    """(arguments, expected value, comparison) of an asserted expression, or None if it is of another form."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            for one, other in ((left, right), (right, left)):
                if arguments := _arguments(one, names):
                    return _literal(arguments, other, "eq")
            match left, right:
                case (
                    ast.Call(func=ast.Name(id="set" | "sorted" | "list" | "tuple" | "Counter" as name), args=[inner]),
                    ast.Call(func=ast.Name(id=twin), args=[wanted]),
                ) if name == twin and (arguments := _arguments(inner, names)):
                    return _literal(arguments, wanted, "unordered" if name in ("set", "sorted", "Counter") else "eq")
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=left, op=ast.Sub(), right=right)]),
            ops=[ast.Lt() | ast.LtE()],
        ):
            for one, other in ((left, right), (right, left)):
                if arguments := _arguments(one, names):
                    return _literal(arguments, other, "approx")
        case ast.Call(func=ast.Attribute(attr="isclose") | ast.Name(id="isclose"), args=[left, right, *_]):
            for one, other in ((left, right), (right, left)):
                if arguments := _arguments(one, names):
                    return _literal(arguments, other, "approx")
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            if arguments := _arguments(inner, names):
                return _literal(arguments, ast.Constant(False), "eq")
        case _:
            if arguments := _arguments(node, names):
                return _literal(arguments, ast.Constant(True), "eq")
    return None


def _arguments(node: ast.expr, names: set[str]) -> str:
    """The text of the list of arguments, if this is a call of one of the names without keywords."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in names:
            return f"[{', '.join(map(ast.unparse, arguments))}]"
    return ""


def _literal(arguments: str, expected: ast.expr, way: str) -> tuple[str, str, str] | None:
    try:
        given, wanted = value_of(arguments), value_of(ast.unparse(expected))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    if isinstance(wanted, float) and not float.is_integer(wanted) and way == "eq":
        way = "approx"
    return repr(given), repr(wanted), way


def doctests(prompt: str, entry: str) -> list[dict]:
    """The examples in the docstrings of a prompt that are a call and a literal."""
    import doctest

    try:
        found = doctest.DocTestParser().get_examples(re.sub("\"\"\"|'''", "\n\n", prompt))
    except ValueError:
        return []
    tests = []
    for example in found:
        tests += asserted_tests(f"assert ({example.source.strip()}) == ({example.want.strip() or None})", {entry})[0]
    return tests
