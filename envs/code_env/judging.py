# SPDX-License-Identifier: Apache-2.0
"""Runs code in the sandbox, on the hidden tests or on the public examples, and says what is wrong with it."""

import threading
import warnings
from functools import lru_cache
from typing import Any

from .comparing import same, same_output
from .tasks import Task, call_text, task_of

if "." in __package__:
    from ..code_sandbox import Outcome, Run, Sandbox, SandboxError
else:  # copied into a folder without a package
    from code_sandbox import Outcome, Run, Sandbox, SandboxError  # type: ignore[no-redef]


_lock = threading.Lock()
_sandbox: Sandbox | None = None


def use_sandbox(sandbox: Sandbox | None) -> None:
    """Run all code in this sandbox from now on, as in `use_sandbox(Sandbox(memory_mb=1024))`; None makes a new one with
    its defaults when the next code is to run."""
    global _sandbox
    with _lock:
        _sandbox = sandbox
    judge.cache_clear()


def shared_sandbox() -> Sandbox:
    global _sandbox
    with _lock:
        if _sandbox is None:
            _sandbox = Sandbox()
        return _sandbox


def _outcomes(code: str, task: Task, tests: tuple) -> list[Outcome]:
    """What the code makes of each test, up to the first that cannot be answered."""
    source = f"{task.setup}\n\n{code}" if task.setup else code
    if task.entry_point:
        run = shared_sandbox().run_function(
            source, task.entry_point, [given for given, _ in tests], time_limit_s=task.time_limit_s
        )
        return run.outcomes or [_failure(run)]
    found = []
    for given, expected in tests:
        found.append(shared_sandbox().run_program(source, given, time_limit_s=task.time_limit_s))
        if found[-1].status != "ok" or not same_output(expected, found[-1].stdout, task.comparison):
            break
    return found


def _failure(run: Run) -> Outcome:
    return Outcome(run.status, None, run.error, "", run.level, run.cpu_s, run.wall_s)


class Unjudged(Exception):
    """A verdict of None, which is not remembered."""


@lru_cache(maxsize=4096)  # a policy says the same thing again and again in a group
def judge(code: str, text: str) -> tuple[float, str, float]:
    """Reward, reason and the share of tests passed before the first failure. Raises Unjudged."""
    task = task_of(text)
    try:
        outcomes = _outcomes(code, task, task.tests)
    except SandboxError as error:
        warnings.warn(f"code cannot be judged here: {error}", stacklevel=2)
        raise Unjudged(str(error)) from None
    for i, ((given, expected), outcome) in enumerate(zip(task.tests, outcomes)):
        fault = _fault(outcome, expected, task)
        if fault:
            name, _, detail = fault.partition(": ")
            if outcome.status == "sandbox":
                raise Unjudged(detail)
            at = "" if outcome.status in _WHOLE else f"test {i + 1} of {len(task.tests)}: "
            shown = call_text(task.entry_point, given) if task.entry_point else f"input {_short(given)}"
            detail = f"{_short(shown, 80, False)} {detail}" if at else detail
            return 0.0, f"{name}: {at}{detail}", i / len(task.tests)
    if len(outcomes) < len(task.tests):
        raise Unjudged(f"only {len(outcomes)} of {len(task.tests)} tests came back")
    return 1.0, f"solved: all {len(task.tests)} tests pass", 1.0


_WHOLE = ("syntax error", "no function")  # faults of the code, whatever the test


def _fault(outcome: Outcome, expected: Any, task: Task) -> str:
    """Kind and description of what is wrong with an outcome; empty if nothing is. It names no expected value, so that a
    model which reads it learns nothing about the hidden tests but what it sent in."""
    status, error = outcome.status, _short(outcome.error, 160, False)
    if status == "ok" and task.entry_point:
        return (
            "" if same(expected, outcome.value, task.comparison) else f"wrong answer: returned {_short(outcome.value)}"
        )
    if status == "ok":
        right = same_output(expected, outcome.stdout, task.comparison)
        return "" if right else f"wrong answer: printed {_short(outcome.stdout)}"
    said = {
        "syntax error": error,
        "no function": f"the code defines no {task.entry_point}; give it that name",
        "exception": f"raised {error}",
        "time limit": f"took longer than {task.time_limit_s:g} s",
        "memory limit": "used more memory than allowed",
        "output limit": "printed more than allowed",
        "exited": "ended the program before it returned a value",
        "crashed": f"crashed the interpreter ({error})",
        "bad value": f"returned something that is no plain value ({error})",
    }
    return f"{status}: {said.get(status, error)}"


def _short(value: object, most: int = 60, quoted: bool = True) -> str:
    text = repr(value) if quoted else str(value)
    text = " ".join(text.split()) if not quoted else text
    return text if len(text) <= most else f"{text[: most - 3]}..."


def try_examples(code: str, task: Task) -> str:
    """What the code does on the public examples, as text."""
    said = []
    examples = task.examples[:5]
    if task.entry_point:
        source = f"{task.setup}\n\n{code}" if task.setup else code
        calls = [given for given, _ in examples]
        run = shared_sandbox().run_function(source, task.entry_point, calls, time_limit_s=task.time_limit_s)
        if run.status in _WHOLE or not examples:
            fault = "" if run.status == "ok" else _fault(_failure(run), None, task)
            return fault or "The code loads; there are no public examples to try it on."
        outcomes = run.outcomes
    else:
        if not examples:
            return "There are no public examples to try the program on."
        outcomes = [shared_sandbox().run_program(code, given, time_limit_s=task.time_limit_s) for given, _ in examples]
    for (given, expected), outcome in zip(examples, outcomes):
        call = call_text(task.entry_point, given) if task.entry_point else f"input {given!r}"
        fault = _fault(outcome, expected, task)
        name, _, detail = fault.partition(": ")
        wanted = f", wanted {expected!r}" if name == "wrong answer" else ""
        right = f"{'returned' if task.entry_point else 'printed'} what is wanted"
        line = f"{_short(call, 200, False)}: {detail if fault else right}{wanted}"
        if outcome.stdout and task.entry_point:
            line += f"\n  printed: {_short(outcome.stdout, 300)}"
        said.append(line)
    return "\n".join(said)[:3500]
