# SPDX-License-Identifier: Apache-2.0
"""Tests for programming problems: inputs drawn by type, results as the sandbox saw them.

A problem's own program makes them, so it runs in the sandbox alone, and what its writer claims a call returns is
compared with what the sandbox saw.
"""

import ast
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from hashlib import sha256
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

from helpers.episodes.store import Store
from helpers.rollout.monitor import Progress
from helpers.tasks.problem_schema import Parameter, Problem, clean, item_of

TESTS = 12  # most hidden tests of a problem
FEWEST = 6
LONGEST = 800  # characters of an argument list or of a result
TIME_LIMIT_S = 4.0  # for a solver; the reference gets half of it


class _Fall(Exception):
    """A draft that does not become a row: the gate and the reason."""


def build(
    drafts: list[dict], *, out: Path | str | None = None, allow_unisolated: bool = False, quiet: bool = False
) -> tuple[list[dict], list[dict]]:
    """Turn drafts into rows of the code environment: inputs drawn by type, results as the sandbox saw them.

    The same drafts give the same rows. A problem falls whose solution does not run, does not return what its own
    examples say, or returns something else in a second sandbox.

    Args:
        drafts: As `write` returns them.
        out: A JSONL file that results are appended to; those in it already are kept.
        allow_unisolated: Run the programs even where no sandbox can be had, see `envs.code_sandbox`.
        quiet: Print no progress.

    Returns:
        (rows, fallen), the latter as `gates.sift` takes it.

    Raises:
        RuntimeError: another run writes to `out`, or there is no sandbox.
    """
    keys = [sha256(json.dumps([d["request"], d["level"], d["problem"]]).encode()).hexdigest()[:16] for d in drafts]
    with Store(out) if out else nullcontext() as store:
        done = {entry["key"]: entry for entry in (store.episodes if store else ())}
        todo = {key: draft for key, draft in zip(keys, drafts) if key not in done}
        progress = Progress("tests", len(drafts), start=len(drafts) - len(todo), quiet=quiet)
        for made, key in zip(_each_built(list(todo.values()), allow_unisolated), todo):
            done[key] = {"key": key} | made
            if store:
                store.add(done[key])
            progress.step()
    found = [done[key] for key in keys]
    return [e["row"] for e in found if e["row"]], [e["fell"] for e in found if e["fell"]]


def _each_built(drafts: list[dict], allow_unisolated: bool) -> Iterator[dict]:
    """What `_built` makes of each draft, in order; several at a time, as many as there are cores."""
    from envs.code_sandbox import Sandbox

    if not drafts:  # a sandbox takes a while to start
        return
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        with Sandbox(allow_unisolated=allow_unisolated) as first, Sandbox(allow_unisolated=allow_unisolated) as second:
            yield from pool.map(lambda draft: _built(draft, first, second), drafts)
    finally:
        pool.shutdown(cancel_futures=True)


def _built(draft: dict, first, second) -> dict:
    """{"row", "fell"}, one of them None."""
    try:
        if draft["problem"] is None:
            raise _Fall("unusable reply", draft["fault"])
        problem = Problem.model_validate(draft["problem"])
        return {"row": _row(problem, draft, *_tests(problem, first, second)), "fell": None}
    except _Fall as fall:
        gate, reason = fall.args
        about = {"request": draft["request"], "topic": draft["topic"], "problem": draft["problem"]}
        return {"row": None, "fell": {"gate": gate, "reason": clean(reason)[:300], "row": about}}


def _tests(problem: Problem, first, second) -> tuple[list[dict], list[dict]]:
    """(examples, hidden tests), each {"args", "expected"}."""
    name = problem.entry_point
    shown, drawn = _allowed(problem, [example.arguments for example in problem.examples], inputs(problem), first)
    public = []
    for example, call, outcome in zip(problem.examples, shown, _outcomes(first, problem, shown)):
        said = f"{name}({call[1:-1]:.100})"
        if outcome.status != "ok":
            raise _Fall("does not run", f"{said}: {outcome.status}: {outcome.error}")
        if not _is_json(outcome.value):
            raise _Fall("result not plain", f"{said} returns {type(outcome.value).__name__} {outcome.value!r:.100}")
        if not _agrees(example.result, outcome.value):
            raise _Fall("wrong example", f"{said} returns {outcome.value!r:.80}, not {example.result!r:.80} as claimed")
        public.append({"args": call, "expected": repr(outcome.value)})
    outcomes = _outcomes(first, problem, drawn)
    failed = [outcome for outcome in outcomes if outcome.status != "ok"]
    if len(failed) > len(drawn) / 2:
        why = f"{failed[0].status}: {failed[0].error}"
        raise _Fall("does not run", f"fails on {len(failed)} of {len(drawn)} inputs: {why}")
    found = [
        {"args": call, "expected": repr(outcome.value)}
        for call, outcome in zip(drawn, outcomes)
        if outcome.status == "ok" and _is_json(outcome.value) and len(call) + len(repr(outcome.value)) < LONGEST
    ]
    hidden = _spread(found)
    if len(hidden) < FEWEST:
        raise _Fall("too few tests", f"only {len(hidden)} inputs are usable, {FEWEST} are needed")
    for test, outcome in zip(public + hidden, _outcomes(second, problem, [t["args"] for t in public + hidden])):
        if outcome.status != "ok" or repr(outcome.value) != test["expected"]:
            said = f"{name}({test['args'][1:-1]:.60}) gives {test['expected']:.60}"
            raise _Fall("flaky", f"{said}, then {outcome.error or repr(outcome.value):.60}")
    return public, hidden


def _outcomes(sandbox, problem: Problem, calls: list[str]) -> list:
    """What became of each call of the solution; a fall where the whole did not run."""
    run = sandbox.run_function(problem.solution, problem.entry_point, calls, time_limit_s=TIME_LIMIT_S / 2)
    if run.status == "sandbox":
        raise RuntimeError(f"the sandbox could not judge: {run.error}")
    if run.status != "ok":
        raise _Fall("does not run", f"{run.status}: {run.error}")
    return run.outcomes


def _allowed(problem: Problem, shown: list[list], drawn: list[list], sandbox) -> tuple[list[str], list[str]]:
    """The examples' arguments, and others that the precondition allows, as text; it runs in the sandbox."""
    shown, drawn = [repr(arguments) for arguments in shown], [repr(arguments) for arguments in drawn]
    drawn = [call for call in drawn if call not in shown]
    if problem.precondition.strip() in ("", "True"):
        return shown, drawn
    names = ", ".join(p.name for p in problem.parameters)
    source = f"def allowed({names}):\n    return bool(\n{problem.precondition}\n)"
    run = sandbox.run_function(source, "allowed", shown + drawn, time_limit_s=TIME_LIMIT_S / 2)
    if run.status != "ok":
        raise _Fall("does not run", f"precondition {problem.precondition[:80]!r}: {run.status}: {run.error}")
    allows = {call for call, outcome in zip(shown + drawn, run.outcomes) if outcome.value is True}
    if broken := next((call for call in shown if call not in allows), None):
        raise _Fall("wrong example", f"{broken:.100} breaks the precondition {problem.precondition[:80]!r}")
    return shown, [call for call in drawn if call in allows]


def _spread(tests: list[dict]) -> list[dict]:
    """At most `TESTS` of them: one for each different result, boundary values before draws, then draws."""
    firsts = {test["expected"]: i for i, test in reversed(list(enumerate(tests)))}
    order = sorted(firsts.values()) + [i for i in reversed(range(len(tests))) if i not in firsts.values()]
    return [tests[i] for i in sorted(order[:TESTS])]


def _is_json(value: Any) -> bool:
    """Whether a result is made of what JSON has, so that a solver is not left to guess list or tuple."""
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    return value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and isfinite(value))


def _agrees(claimed: Any, seen: Any) -> bool:
    """Whether a result is the claimed one; numbers with a tolerance where a fraction is involved."""
    if isinstance(claimed, list) and isinstance(seen, list):
        return len(claimed) == len(seen) and all(map(_agrees, claimed, seen))
    if isinstance(claimed, dict) and isinstance(seen, dict):
        return claimed.keys() == seen.keys() and all(_agrees(claimed[key], seen[key]) for key in claimed)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (claimed, seen))
    if numbers and (isinstance(claimed, float) or isinstance(seen, float)):
        return abs(claimed - seen) <= 1e-6 * max(1.0, abs(claimed))
    return type(claimed) is type(seen) and claimed == seen


def _holds_float(value: Any) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, float) or any(map(_holds_float, inside))


def _row(problem: Problem, draft: dict, examples: list[dict], tests: list[dict]) -> dict:
    """The problem as a row of the code environment."""
    names = ", ".join(f"{p.name}: {p.type.replace(',', ', ')}" for p in problem.parameters)
    shown = "\n".join(f"{problem.entry_point}({test['args'][1:-1]}) == {test['expected']}" for test in examples)
    question = f"{problem.statement.strip()}\n\nWrite {problem.entry_point}({names}). Examples:\n\n{shown}"
    floats = any(_holds_float(ast.literal_eval(test["expected"])) for test in tests)
    task = {
        "entry_point": problem.entry_point,
        "tests": tests,
        "comparison": "approx" if floats else "eq",
        "time_limit_s": TIME_LIMIT_S,
        "solution": problem.solution.strip(),
        "examples": examples,
        "difficulty": draft["level"],
        "topic": draft["topic"],
        "question": question,
    }
    text = json.dumps(task, ensure_ascii=False)
    name = f"code-written-{sha256(text.encode()).hexdigest()[:12]}"
    return {"prompt": [{"role": "user", "content": question}], "environment": "code", "task_id": name, "task": text}


# --- inputs ------------------------------------------------------------------------------------------------


def inputs(problem: Problem, drawn: int = 24) -> list[list]:
    """Argument lists that the parameters allow: boundary values, small changes of the examples (as EvalPlus does, Liu
    et al. 2023), and draws. The same for the same problem."""
    rng = Random(f"inputs {problem.model_dump_json()}")
    parameters = problem.parameters
    found = []
    for i, parameter in enumerate(parameters):
        for value in _edges(parameter, rng):
            others = [_draw(p, rng) for p in parameters]
            found.append([*others[:i], value, *others[i + 1 :]])
    for example in problem.examples:
        for _ in range(4):
            i = rng.randrange(len(parameters))
            changed = _changed(example.arguments[i], parameters[i], rng)
            found.append([*example.arguments[:i], changed, *example.arguments[i + 1 :]])
    found += [[_draw(p, rng) for p in parameters] for _ in range(drawn)]
    return list({repr(arguments): arguments for arguments in found}.values())


def _draw(p: Parameter, rng: Random) -> Any:
    """A value of the type within the bounds. Half of the lists of lists are rectangular, as grids are."""
    if p.type == "bool":
        return rng.random() < 0.5
    if p.type == "int":
        return rng.randint(round(p.low), round(p.high))
    if p.type == "float":
        return round(rng.uniform(p.low, p.high), rng.choice((0, 1, 2)))
    size = rng.randint(p.min_length, p.max_length)
    if p.type == "str":
        return "".join(rng.choices(p.alphabet, k=size))
    item = item_of(p)
    if item.type.startswith("list[") and rng.random() < 0.5:
        wide = rng.randint(1, 6)
        item = item.model_copy(update={"min_length": wide, "max_length": wide})
    values = [_draw(item, rng) for _ in range(size)]
    if p.type.startswith("list["):
        return values
    return {"".join(rng.choices(p.alphabet, k=rng.randint(1, 4))): value for value in values}


def _edges(p: Parameter, rng: Random) -> list:
    """Values at the boundaries of what the parameter allows."""
    if p.type == "bool":
        return [False, True]
    if p.type in ("int", "float"):
        cast = round if p.type == "int" else float
        return [cast(x) for x in dict.fromkeys((p.low, p.high, 0, 1, -1)) if p.low <= x <= p.high]
    if p.type == "str":
        first, last = p.alphabet[0], p.alphabet[-1]
        found = ["", first, first * 3, last + first, first * p.max_length]
    elif p.type.startswith("list["):
        item, several = item_of(p), _draw(p, rng)
        one, other = _draw(item, rng), _draw(item, rng)
        found = [[], [one], [one, one], [one, other, one], sorted(several, key=repr), several[::-1]]
        found += [[edge] for edge in _edges(item, rng)[:4]]
    else:
        found = [{}, {p.alphabet[0]: _draw(item_of(p), rng)}]
    return [value for value in found if p.min_length <= len(value) <= p.max_length]


def _changed(value: Any, p: Parameter, rng: Random) -> Any:
    """A value with one small change that its type and bounds allow; the value itself where there is none."""
    if p.type == "bool":
        return not value
    if p.type in ("int", "float"):
        moved = value + rng.choice((-1, 1, -2, 2, 10))
        return moved if p.low <= moved <= p.high else value
    if not value:
        return value
    if p.type.startswith("dict["):
        key = rng.choice(sorted(value))
        return value | {key: _changed(value[key], item_of(p), rng)}
    items, way = list(value), rng.randrange(4)
    at, other = rng.randrange(len(items)), rng.randrange(len(items))
    if way == 0 and len(items) > p.min_length:
        del items[at]
    elif way == 1 and len(items) < p.max_length:
        items.insert(at, items[other])
    elif way == 2:
        items[at], items[other] = items[other], items[at]
    else:
        items[at] = items[other] if p.type == "str" else _changed(items[at], item_of(p), rng)
    return "".join(items) if p.type == "str" else items
