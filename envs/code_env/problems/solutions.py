# SPDX-License-Identifier: Apache-2.0
"""Solutions: the code of a composition, written and loaded.

All code that is loaded here is this package's own, or a mutant of it, so it runs in this process.
"""

import ast
from collections.abc import Callable
from functools import cache

from .blocks import Step
from .inputs import NAMES

_IMPORTS = (
    ("from itertools import accumulate\n", "accumulate("),
    ("from itertools import groupby\n", "groupby("),
    ("from math import prod\n", "prod("),
    ("from datetime import date, timedelta\n", "date"),
)


@cache
def _is_atom(code: str) -> bool:
    """Whether an expression keeps its meaning with anything around it."""
    return not isinstance(
        ast.parse(code, mode="eval").body, ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.Compare | ast.IfExp | ast.Lambda
    )


def _one_line(steps: tuple[Step, ...], name: str) -> str:
    code = name
    for step in steps:
        inner = code if _is_atom(code) or "({x})" in step.block.code else f"({code})"
        code = step.code(inner)
    return code


def _body(steps: tuple[Step, ...], name: str) -> tuple[list[str], str]:
    """Lines of code, and the expression that is the result."""
    lines = []
    for i, step in enumerate(steps):
        last = i == len(steps) - 1
        target = "result" if last else NAMES[step.block.gives]
        if "{y}" in step.block.code:
            code = step.code(name, target)
            if last and code.splitlines()[-1].startswith("result = "):
                *rest, end = code.splitlines()
                return lines + rest, end.removeprefix("result = ")
            lines += code.splitlines()
        elif last:
            return lines, step.code(name)
        else:
            lines.append(f"{target} = {step.code(name)}")
        name = target
    return lines, name


_READ = {
    "ints": ["xs = list(map(int, input().split()))"],
    "strs": ["words = input().split()"],
    "str": ["s = input()"],
    "int": ["n = int(input())"],
    "date": ["day = input()"],
    "dates": ["days = input().split()"],
    "moves": ["moves = input()"],
    "dict": ["d = {}", "for _ in range(int(input())):", "    n, v = input().split()", "    d[n] = int(v)"],
}
_PRINT = {
    "ints": "print(*{}, sep='\\n')",
    "strs": "print(*{}, sep='\\n')",
    "dates": "print(*{}, sep='\\n')",
    "dict": "for n, v in sorted({}.items()):\n    print(n, v)",
}


def write_solution(steps: tuple[Step, ...], kind: str, difficulty: str, entry: str) -> str:
    takes, gives = steps[0].block.takes, steps[-1].block.gives
    name = NAMES[takes]
    lifted = next((step.argument for step in steps if step.lifted), None)
    arguments = f"{name}, {lifted}" if lifted else name
    lines, result = ([], _one_line(steps, name)) if difficulty == "easy" else _body(steps, name)
    if kind == "program":
        first = ["k = int(input())" if lifted == "k" else "part = input()"] if lifted else []
        source = "\n".join([*first, *_READ[takes], *lines, _PRINT.get(gives, "print({})").format(result)])
    else:
        own = "self, " if kind == "class" else ""
        if not lines and kind == "function":
            source = f"def {entry}({arguments}): return {result}"
        else:
            source = f"def {entry.rpartition('.')[2]}({own}{arguments}):\n"
            source += "\n".join(f"    {line}" for line in [*lines, f"return {result}"])
        if kind == "class":
            source = "class Solution:\n" + "\n".join(f"    {line}" for line in source.splitlines())
    imports = "".join(line for line, word in _IMPORTS if word in source)
    return imports + ("\n\n" if imports and kind != "program" else "\n" if imports else "") + source


def load_solution(code, kind: str, entry: str) -> Callable:
    """The solution as a function of one test's input. Only this package's own code and its mutants come here."""
    if kind == "program":

        def run(stdin: str) -> str:
            lines, printed = iter(stdin.split("\n")), []
            names = {"input": lambda: next(lines), "print": lambda *a, sep=" ": printed.append(sep.join(map(str, a)))}
            exec(code, names)
            return "".join(line + "\n" for line in printed)

        return run
    names: dict = {}
    exec(code, names)
    if kind == "class":
        method = getattr(names["Solution"](), entry.rpartition(".")[2])
        return lambda arguments: method(*arguments)
    function = names[entry]
    return lambda arguments: function(*arguments)


def stdin_text(arguments: tuple) -> str:
    """The arguments as the text that a program reads: the number or part first, if there is one."""
    value, *rest = arguments
    lines = [str(k) for k in rest]
    if isinstance(value, dict):
        lines += [str(len(value)), *(f"{n} {v}" for n, v in value.items())]
    else:
        lines.append(" ".join(map(str, value)) if isinstance(value, list) else str(value))
    return "\n".join(lines) + "\n"
