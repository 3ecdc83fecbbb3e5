# SPDX-License-Identifier: Apache-2.0
"""Programs that must fail: answers to a programming task that do not do it, and its solution with one small change.

A task whose tests they pass proves nothing. Nothing runs here.
"""

import ast
from collections import Counter
from random import Random

_OTHER = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.FloorDiv, ast.FloorDiv: ast.Mod,
    ast.Div: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.USub: ast.UAdd,
}  # fmt: skip
_OTHER_NAME = {
    "min": "max", "max": "min", "any": "all", "all": "any", "sum": "len", "sorted": "list", "len": "bool",
    "set": "list", "abs": "int", "reversed": "list", "upper": "lower", "lower": "upper", "isdigit": "isalpha",
    "isalpha": "isdigit", "append": "count", "keys": "values", "values": "keys", "strip": "lstrip",
}  # fmt: skip


def lazy_programs(task: dict) -> dict[str, str]:
    """Answers to a programming task that do not do it, by name; none where the task has no tests."""
    tests = task.get("tests")
    if not isinstance(tests, list) or not tests:
        return {}
    if "stdin" in tests[0]:
        common = Counter(test["stdout"] for test in tests).most_common(1)[0][0]
        echo = "import sys\nprint(sys.stdin.read(), end='')"
        sources = {"a constant": f"print({common!r}, end='')", "the input handed back": echo}
    else:
        common = Counter(test["expected"] for test in tests).most_common(1)[0][0]
        sources = {"a constant": _function(task["entry_point"], f"return {common}")}
        for i in range(max(len(ast.literal_eval(test["args"])) for test in tests)):
            sources[f"argument {i + 1} handed back"] = _function(task["entry_point"], f"return args[{i}]")
        known = ", ".join(f"({test['args']}, {test['expected']})" for test in task.get("examples") or [])
        by_heart = f"return next((said for given, said in [{known}] if list(given) == list(args)), None)"
        sources["the examples by heart"] = _function(task["entry_point"], by_heart)
    return {name: f"```python\n{source}\n```" for name, source in sources.items()}


def _function(entry_point: str, line: str) -> str:
    owner, _, name = entry_point.rpartition(".")
    if owner:
        return f"class {owner}:\n    def {name}(self, *args):\n        {line}"
    return f"def {name}(*args):\n    {line}"


def mutants_of(source: str, seed: str = "") -> list[str]:
    """Programs with one small change each: another comparison, operator, number, text or built-in name, a condition
    turned round or left out, a call or slice left out. In a drawn order, the same for the same `seed`. Nothing runs
    here; source that is not Python has none."""
    try:
        tree = ast.parse(source)
        changes = [change for node in ast.walk(tree) for change in (*_changes(node), *_omissions(node))]
        Random(f"mutants {seed}").shuffle(changes)
        found = []
        for node, field, value in changes:
            old = getattr(node, field)
            setattr(node, field, value)
            found.append(ast.unparse(ast.fix_missing_locations(tree)))
            setattr(node, field, old)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [mutant for mutant in dict.fromkeys(found) if mutant != ast.unparse(tree)]


def _changes(node: ast.AST) -> list[tuple[ast.AST, str, object]]:
    """(node, field, other value) for each small change that can be made to a node."""
    match node:
        case ast.Constant(value=bool(value)):
            return [(node, "value", not value)]
        case ast.Constant(value=int(value)) | ast.Constant(value=float(value)):
            return [(node, "value", value + 1), (node, "value", value - 1)]
        case ast.Constant(value=str(value)):
            return [(node, "value", value[1:] or "x")]
        case ast.Compare(ops=[first, *rest]) if type(first) in _OTHER:
            return [(node, "ops", [_OTHER[type(first)](), *rest])]
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) | ast.UnaryOp(op=op) if type(op) in _OTHER:
            return [(node, "op", _OTHER[type(op)]())]
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return [(node, "test", ast.UnaryOp(ast.Not(), test))]
        case ast.comprehension(ifs=[_, *_]):
            return [(node, "ifs", [])]
        case ast.Name(id=name) if name in _OTHER_NAME:
            return [(node, "id", _OTHER_NAME[name])]
        case ast.Attribute(attr=name) if name in _OTHER_NAME:
            return [(node, "attr", _OTHER_NAME[name])]
    return []


def _omissions(node: ast.AST) -> list[tuple[ast.AST, str, object]]:
    """(node, field, other value) for each part of a node that is a call or a slice: what it is applied to instead."""
    found: list[tuple[ast.AST, str, object]] = []
    for field, part in ast.iter_fields(node):
        parts = part if isinstance(part, list) else [part]
        for i, one in enumerate(parts):
            match one:
                case ast.Call(func=ast.Attribute(value=bare)) | ast.Call(func=ast.Name(), args=[bare]):
                    pass
                case ast.Subscript(value=bare, slice=ast.Slice()) if isinstance(one.ctx, ast.Load):
                    pass
                case _:
                    continue
            found.append((node, field, [*parts[:i], bare, *parts[i + 1 :]] if isinstance(part, list) else bare))
    return found
