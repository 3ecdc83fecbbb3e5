# SPDX-License-Identifier: Apache-2.0
"""Problems with their tests, each proved before it is handed out."""

import random
from collections.abc import Callable
from typing import NamedTuple

from .blocks import Step
from .compositions import DIFFICULTIES, SPLITS, draw_chain, fingerprint_of, rivals_of, split_of, split_of_function
from .inputs import DRAWS, EDGES
from .mutants import make_mutants, outcome_of, same_outcome, trivial_solutions, try_load
from .solutions import load_solution, stdin_text, write_solution
from .statements import write_statement

KINDS = ("function", "program", "class")
_TESTS = {"easy": 8, "medium": 10, "hard": 10}  # hidden ones


class Proof(NamedTuple):
    """What the tests of a problem were tried on."""

    trivial: tuple[str, ...]  # solutions that do not do the task; each fails
    killed: int  # mutants of the reference that fail
    mutants: int  # mutants that were tried


class Problem(NamedTuple):
    """A problem with its tests. Tests are pairs (arguments, expected); (stdin, stdout) for a program."""

    blocks: tuple[str, ...]
    kind: str
    difficulty: str
    split: str
    entry_point: str  # empty for a program
    statement: str
    examples: tuple[tuple, ...]  # public
    tests: tuple[tuple, ...]  # hidden
    comparison: str
    solution: str
    proof: Proof
    fingerprint: str  # the same for two problems that ask for the same function


def _inputs(steps: tuple[Step, ...], rng: random.Random, drawn: int) -> list[tuple]:
    """Boundary and drawn arguments, each once, boundary ones first."""
    takes = steps[0].block.takes
    lifted = next((step for step in steps if step.lifted), None)
    values = [*EDGES[takes], *(DRAWS[takes](rng) for _ in range(drawn))]
    found = [(value, rng.choice(lifted.block.values)) if lifted else (value,) for value in values]
    return list({repr(arguments): arguments for arguments in found}.values())


def _tests(steps, kind, difficulty, entry, reference: Callable, others: list, mutants: list, rng) -> tuple | None:
    """(examples, tests, killed mutants), or None if the problem cannot be told from its mutants."""
    comparison = steps[-1].block.compare
    pool = []  # (input, expected, whether it can be shown)
    boundary = len(EDGES[steps[0].block.takes])
    for i, arguments in enumerate(_inputs(steps, rng, 40)):
        given = stdin_text(arguments) if kind == "program" else arguments
        expected = reference(given)
        if len(repr(expected)) > 160 or len(repr(given)) > 160:
            continue
        same = expected == (given if kind == "program" else given[0])
        shown = i >= boundary and expected not in ([], "", 0, {}, "\n") and not same and len(repr(given)) < 60
        pool.append((given, expected, shown and len(repr(expected)) < 60))
    candidates = [i for i, test in enumerate(pool) if test[2]]
    public = candidates[:1] if difficulty == "easy" else []
    for i in [] if public else candidates:  # two that differ in their answers
        if all(pool[i][1] != pool[j][1] for j in public):
            public = [*public, i][:2]
    hidden = [i for i in range(len(pool)) if i not in public]
    if len(public) < (1 if difficulty == "easy" else 2) or len(hidden) < _TESTS[difficulty]:
        return None
    chosen, killed = [], 0
    for turn, code in enumerate(others + mutants):
        call = try_load(code, kind, entry)
        at = next(
            (
                i
                for i in chosen + hidden
                if call is None or not same_outcome(comparison, pool[i][1], outcome_of(call, pool[i][0]))
            ),
            None,
        )
        if at is not None:
            killed += turn >= len(others)
            if at not in chosen:
                chosen.append(at)
    order = [i for pair in zip(hidden, reversed(hidden)) for i in pair]  # boundary and drawn in turn
    chosen += [i for i in dict.fromkeys(order) if i not in chosen][: max(0, _TESTS[difficulty] - len(chosen))]
    rng.shuffle(chosen)
    examples = tuple(pool[i][:2] for i in public)
    tests = tuple(pool[i][:2] for i in chosen)
    return examples, tests, killed


def _problem(steps: tuple[Step, ...], kind: str, difficulty: str, split: str, seen: set, rng) -> Problem | None:
    """The problem of a composition with its proof, or None if it is no good: seen before, a step that makes no
    difference, a trivial solution that passes, or fewer than three mutants killed."""
    comparison = steps[-1].block.compare
    if kind == "program" and (comparison == "unordered" or steps[-1].block.gives == "groups"):
        return None
    entry = {"function": "f" if difficulty == "easy" else "solve", "class": "Solution.solve", "program": ""}[kind]
    plain = load_solution(write_solution(steps, "function", difficulty, "f"), "function", "f")
    fingerprint = fingerprint_of(steps, plain)
    if fingerprint is None or fingerprint in seen or split_of_function(fingerprint, difficulty) != split:
        return None
    source = write_solution(steps, kind, difficulty, entry)
    shorter = [
        compile(write_solution(steps[:i] + steps[i + 1 :], kind, difficulty, entry), "shorter", "exec")
        for i, step in enumerate(steps)
        if step.block.takes == step.block.gives and not step.lifted
    ]
    mutants = make_mutants(source, rng)
    reference = load_solution(compile(source, "reference", "exec"), kind, entry)
    rivals = [
        compile(write_solution(other, kind, difficulty, entry), "rival", "exec") for other in rivals_of(steps, rng)
    ]
    made = _tests(steps, kind, difficulty, entry, reference, shorter + rivals, mutants, rng)
    if made is None:
        return None
    examples, tests, killed = made
    for code in shorter:
        call = try_load(code, kind, entry)
        if call and all(same_outcome(comparison, expected, outcome_of(call, given)) for given, expected in tests):
            return None
    trivial = trivial_solutions(examples, tests, kind)
    for call in trivial.values():
        if all(same_outcome(comparison, expected, call(given)) for given, expected in tests):
            return None
    passes = all(same_outcome(comparison, expected, reference(given)) for given, expected in (*examples, *tests))
    if not passes or killed < 3:
        return None
    statement = write_statement(steps, kind, difficulty, entry, rng)
    names = tuple(step.block.name for step in steps)
    proof = Proof(tuple(trivial), killed, len(mutants))
    return Problem(
        names, kind, difficulty, split, entry, statement, examples, tests, comparison, source, proof, fingerprint
    )


def draw(
    n: int, seed: int = 0, split: str = "train", *, difficulty: str = "easy", kind: str = "function"
) -> list[Problem]:
    """Draw `n` different problems, each proved.

    Args:
        n: How many.
        seed: Same arguments, same problems, on every platform.
        split: "train", "validation" or "test"; they share no composition of blocks, and no function.
        difficulty: "easy" (two simple steps, one line of code), "medium" (two or three) or "hard" (three or four, one
            of them a simulation or the like).
        kind: "function", "program" (reads stdin, prints the result) or "class" (a method of a class Solution).

    Raises:
        ValueError: an argument is out of range, or there are not `n` such problems.
    """
    if type(n) is not int or n < 0:
        raise ValueError(f"n must be a whole number, 0 or more, got {n!r}")
    for name, value, choices in (
        ("split", split, SPLITS),
        ("difficulty", difficulty, DIFFICULTIES),
        ("kind", kind, KINDS),
    ):
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    rng = random.Random(f"code {seed} {split} {difficulty} {kind}")
    problems: list[Problem] = []
    seen: set[str] = set()
    misses = 0
    while len(problems) < n:
        steps = draw_chain(rng, difficulty)
        if steps is None or split_of((s.block.name for s in steps), steps[0].block.takes) != split:
            continue
        problem = _problem(steps, kind, difficulty, split, seen, rng)
        if problem:
            seen.add(problem.fingerprint)
            problems.append(problem)
            misses = 0
        elif (misses := misses + 1) > 2000:
            raise ValueError(
                f"found only {len(problems)} of {n} {difficulty} problems of the kind {kind!r} in split {split!r}; ask "
                "for fewer, or for a harder level"
            )
    return problems
