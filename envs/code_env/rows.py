# SPDX-License-Identifier: Apache-2.0
"""Rows: made from problems that are drawn and proved."""

import json

from .problems import Problem, draw
from .tasks import call_text


def make_rows(
    n: int,
    seed: int = 0,
    split: str = "train",
    *,
    difficulty: str = "easy",
    kind: str = "function",
    tools: bool = False,
) -> list[dict]:
    """Make `n` different problems, each proved: see `problems`.

    Args:
        n: How many.
        seed: Same arguments, same rows, on every platform.
        split: "train", "validation" or "test"; they share no composition of building blocks, and no function.
        difficulty: "easy" (two simple steps, one line of code), "medium" (two or three) or "hard" (three or four, one
            of them a simulation or the like).
        kind: "function", "program" (reads stdin, prints the result) or "class" (a method of a class Solution).
        tools: Ask for the answer through the tools `run` and `submit`, not as text.

    Raises:
        ValueError: an argument is out of range, or there are not `n` such problems.
    """
    problems = draw(n, seed, split, difficulty=difficulty, kind=kind)
    return [_row(problem, tools) for problem in problems]


def _row(problem: Problem, tools: bool) -> dict:
    task: dict = {"entry_point": problem.entry_point} if problem.entry_point else {}
    question = _question(problem, tools)
    task |= {
        "tests": _written(problem.tests, problem.kind),
        "examples": _written(problem.examples, problem.kind),
        "comparison": problem.comparison,
        "time_limit_s": 3,
        "solution": problem.solution,
        "blocks": list(problem.blocks),
        "difficulty": problem.difficulty,
        "question": question,
    }
    if tools:
        task["tools"] = True
    return {
        "prompt": [{"role": "user", "content": question}],
        "environment": "code",
        "task_id": f"code-{problem.kind}-{'tools-' if tools else ''}{problem.difficulty}-{problem.fingerprint}",
        "task": json.dumps(task),
    }


def _written(tests: tuple, kind: str) -> list[dict]:
    if kind == "program":
        return [{"stdin": given, "stdout": expected} for given, expected in tests]
    return [{"args": repr(list(given)), "expected": repr(expected)} for given, expected in tests]


def _question(problem: Problem, tools: bool) -> str:
    if problem.kind == "program":
        shown = "\n\n".join(f"Input:\n{given}Output:\n{expected}" for given, expected in problem.examples)
    else:
        shown = "\n".join(
            f"{call_text(problem.entry_point, repr(list(given)))} == {expected!r}"
            for given, expected in problem.examples
        )
    how = "\n\nTry your code with the run tool, then hand it in with the submit tool." if tools else ""
    return f"{problem.statement}\n\n{shown.strip()}{how}"
