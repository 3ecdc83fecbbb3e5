r"""Code: functions, stdin programs and classes, graded by hidden tests that run in a sandbox.

Standard library only; copy it with `code_sandbox.py` (which runs what the model wrote, Linux) and `code_problems.py`
(which makes the problems) into any project. A Hub name given to `read_rows` needs `datasets`.

>>> row = make_rows(1, seed=16)[0]
>>> print(row["prompt"][0]["content"])
Write f(s) for a string s: drop the first character, then swap upper and lower case. Return the result.
<BLANKLINE>
f('ROBOT kayak') == 'obot KAYAK'
>>> score("def f(s): return s[1:].swapcase()", row).reward
1.0
>>> score("Like this: `def f(s): return s.swapcase()`", row).reason
"wrong answer: test 1 of 8: f('noon') returned 'NOON'"

How answers are compared (`comparison` of a row). A value counts by what it is worth: 1 equals 1.0 and True, as == says
and as people's test suites have it, and a tuple equals a list of the same items.

  eq         equal in that sense; a NaN equals nothing. Output of programs: line by line, blanks at the ends of lines
             and empty lines at the end left out.
  approx     numbers within 1e-6 of each other, relative or absolute, whole numbers exactly; a NaN equals a NaN.
             Output of programs: word by word.
  nan        as eq, and a NaN equals a NaN.
  unordered  as eq, the items of a list, tuple or set (the lines of output) in any order.
  exact      as eq, but types count: 1 is not True, 1.0 or (1,) for [1].
"""

import ast
import base64
import builtins
import contextlib
import gzip
import json
import math
import os
import re
import threading
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

if __package__:
    from . import code_problems
    from .code_sandbox import Outcome, Run, Sandbox, SandboxError
else:  # copied into a folder without a package
    import code_problems  # type: ignore[no-redef]
    from code_sandbox import Outcome, Run, Sandbox, SandboxError  # type: ignore[no-redef]

SPLITS = code_problems.SPLITS
DIFFICULTIES = code_problems.DIFFICULTIES
KINDS = code_problems.KINDS
COMPARISONS = ("eq", "approx", "nan", "unordered", "exact")
TIME_LIMIT_S = 3.0  # for a test, where the row names none
TOLERANCE = 1e-6


class Verdict(NamedTuple):
    """What the grader says: `reason` starts with the kind of failure, then a colon, then the first failing test."""

    reward: float | None
    reason: str
    metrics: dict[str, float]


# --- tasks -----------------------------------------------------------------------------------------------


class _Task(NamedTuple):
    entry_point: str  # empty for a program
    tests: tuple[tuple[str, object], ...]  # arguments as text and the expected value; stdin and stdout for a program
    examples: tuple[tuple[str, object], ...]  # public ones
    comparison: str
    time_limit_s: float
    setup: str  # code that stands before every answer
    question: str


@lru_cache(maxsize=4096)  # a task is scored once for each completion in its group
def _task(task: str) -> _Task:
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
    return _Task(entry, tests, examples, comparison, limit, fields.get("setup") or "", fields.get("question") or "")


def _test(test: dict, entry: str) -> tuple[str, object]:
    names = ("args", "expected") if entry else ("stdin", "stdout")
    given, expected = (test.get(name) for name in names)
    if not isinstance(given, str) or not isinstance(expected, str):
        kind = "function" if entry else "program"
        raise ValueError(f"a test of a {kind} must have {names[0]} and {names[1]}, both text, got {test!r:.100}")
    if not entry:
        return given, expected
    arguments = _value(given)
    if not isinstance(arguments, list | tuple):
        raise ValueError(f"args must be the text of a list of arguments, got {given!r:.80}")
    try:
        ast.literal_eval(given)
    except (ValueError, SyntaxError):  # such as list(range(9)), which the sandbox does not read
        given = repr(list(arguments))
    return given, _value(expected)


def _value(text: str) -> object:
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


def make_rows(
    n: int,
    seed: int = 0,
    split: str = "train",
    *,
    difficulty: str = "easy",
    kind: str = "function",
    tools: bool = False,
) -> list[dict]:
    """Make `n` different problems, each proved: see `code_problems`.

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
    problems = code_problems.draw(n, seed, split, difficulty=difficulty, kind=kind)
    return [_row(problem, tools) for problem in problems]


def _row(problem: code_problems.Problem, tools: bool) -> dict:
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


def _question(problem: code_problems.Problem, tools: bool) -> str:
    if problem.kind == "program":
        shown = "\n\n".join(f"Input:\n{given}Output:\n{expected}" for given, expected in problem.examples)
    else:
        shown = "\n".join(
            f"{_call(problem.entry_point, repr(list(given)))} == {expected!r}" for given, expected in problem.examples
        )
    how = "\n\nTry your code with the run tool, then hand it in with the submit tool." if tools else ""
    return f"{problem.statement}\n\n{shown.strip()}{how}"


def _call(entry: str, arguments: str) -> str:
    """A call as a person would write it, from the text of the list of arguments."""
    inner = arguments.strip()[1:-1].rstrip(", ") if arguments.strip()[:1] in "[(" else arguments
    owner, _, name = entry.rpartition(".")
    return f"{owner + '().' if owner else ''}{name}({inner})"


# --- running ---------------------------------------------------------------------------------------------

_lock = threading.Lock()
_sandbox: Sandbox | None = None


def use_sandbox(sandbox: Sandbox | None) -> None:
    """Run all code in this sandbox from now on, as in `use_sandbox(Sandbox(memory_mb=1024))`; None makes a new one with
    its defaults when the next code is to run."""
    global _sandbox
    with _lock:
        _sandbox = sandbox
    _judged.cache_clear()


def _box() -> Sandbox:
    global _sandbox
    with _lock:
        if _sandbox is None:
            _sandbox = Sandbox()
        return _sandbox


def _outcomes(code: str, task: _Task, tests: tuple) -> list[Outcome]:
    """What the code makes of each test, up to the first that cannot be answered."""
    source = f"{task.setup}\n\n{code}" if task.setup else code
    if task.entry_point:
        run = _box().run_function(
            source, task.entry_point, [given for given, _ in tests], time_limit_s=task.time_limit_s
        )
        return run.outcomes or [_failure(run)]
    found = []
    for given, expected in tests:
        found.append(_box().run_program(source, given, time_limit_s=task.time_limit_s))
        if found[-1].status != "ok" or not _same_output(expected, found[-1].stdout, task.comparison):
            break
    return found


def _failure(run: Run) -> Outcome:
    return Outcome(run.status, None, run.error, "", run.level, run.cpu_s, run.wall_s)


class _Unjudged(Exception):
    """A verdict of None, which is not remembered."""


@lru_cache(maxsize=4096)  # a policy says the same thing again and again in a group
def _judged(code: str, text: str) -> tuple[float, str, float]:
    """Reward, reason and the share of tests passed before the first failure. Raises _Unjudged."""
    task = _task(text)
    try:
        outcomes = _outcomes(code, task, task.tests)
    except SandboxError as error:
        warnings.warn(f"code cannot be judged here: {error}", stacklevel=2)
        raise _Unjudged(str(error)) from None
    for i, ((given, expected), outcome) in enumerate(zip(task.tests, outcomes)):
        fault = _fault(outcome, expected, task)
        if fault:
            name, _, detail = fault.partition(": ")
            if outcome.status == "sandbox":
                raise _Unjudged(detail)
            at = "" if outcome.status in _WHOLE else f"test {i + 1} of {len(task.tests)}: "
            shown = _call(task.entry_point, given) if task.entry_point else f"input {_short(given)}"
            detail = f"{_short(shown, 80, False)} {detail}" if at else detail
            return 0.0, f"{name}: {at}{detail}", i / len(task.tests)
    if len(outcomes) < len(task.tests):
        raise _Unjudged(f"only {len(outcomes)} of {len(task.tests)} tests came back")
    return 1.0, f"solved: all {len(task.tests)} tests pass", 1.0


_WHOLE = ("syntax error", "no function")  # faults of the code, whatever the test


def _fault(outcome: Outcome, expected: Any, task: _Task) -> str:
    """Kind and description of what is wrong with an outcome; empty if nothing is. It names no expected value, so that a
    model which reads it learns nothing about the hidden tests but what it sent in."""
    status, error = outcome.status, _short(outcome.error, 160, False)
    if status == "ok" and task.entry_point:
        return (
            "" if same(expected, outcome.value, task.comparison) else f"wrong answer: returned {_short(outcome.value)}"
        )
    if status == "ok":
        right = _same_output(expected, outcome.stdout, task.comparison)
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


# --- comparing -------------------------------------------------------------------------------------------


def same(expected: object, found: object, comparison: str = "eq", tolerance: float = TOLERANCE) -> bool:
    """Whether a plain value counts as the expected one; the module's docstring says how."""
    try:
        if comparison == "approx":
            return _close(expected, found, tolerance)
        if comparison == "unordered":
            if not isinstance(expected, _SEQUENCE) or not isinstance(found, _SEQUENCE):
                return _key(expected) == _key(found)
            return Counter(map(_key, expected)) == Counter(map(_key, found))
        exact, nan = comparison == "exact", comparison in ("nan", "exact")
        return _key(expected, exact, nan) == _key(found, exact, nan)
    except RecursionError:
        return False


_SEQUENCE = (list, tuple, set, frozenset)


def _key(value: object, exact: bool = False, nan: bool = False) -> object:
    """Something hashable that is equal for values that count as equal."""
    kind = type(value).__name__ if exact else ""
    if isinstance(value, list | tuple):
        return (kind or "items", tuple([_key(item, exact, nan) for item in value]))
    if isinstance(value, dict):
        return (kind or "dict", frozenset((_key(k, exact, nan), _key(v, exact, nan)) for k, v in value.items()))
    if isinstance(value, set | frozenset):
        return (kind or "set", frozenset(_key(item, exact, nan) for item in value))
    if isinstance(value, float | complex) and value != value:
        return ("nan",) if nan else ("nan", object())
    return (kind, value)


def _close(expected: object, found: object, tolerance: float) -> bool:
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        return len(expected) == len(found) and all(_close(a, b, tolerance) for a, b in zip(expected, found))
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(_close(v, found[k], tolerance) for k, v in expected.items())
    if isinstance(expected, float | complex) or isinstance(found, float | complex):
        numbers = (int, float, complex)
        if not isinstance(expected, numbers) or not isinstance(found, numbers):
            return False
        if expected != expected or found != found:
            return expected != expected and found != found
        try:
            far = abs(expected - found)
            return expected == found or (far <= tolerance * max(1.0, abs(expected)) and far != math.inf)
        except OverflowError:  # an int beyond every float
            return False
    return _key(expected) == _key(found)


def _same_output(expected: str, found: str, comparison: str) -> bool:
    if comparison == "approx":
        one, other = expected.split(), found.split()
        return len(one) == len(other) and all(a == b or _close_words(a, b) for a, b in zip(one, other))
    one, other = _lines(expected), _lines(found)
    return sorted(one) == sorted(other) if comparison == "unordered" else one == other


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.replace("\r\n", "\n").rstrip().split("\n")]


def _close_words(one: str, other: str) -> bool:
    if len(one) > 400 or len(other) > 400 or not (_NUMBER.fullmatch(one) and _NUMBER.fullmatch(other)):
        return False
    if _WHOLE_NUMBER.fullmatch(one) and _WHOLE_NUMBER.fullmatch(other):
        return int(one) == int(other)
    return _close(float(one), float(other), TOLERANCE)


_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?:nan|inf(?:inity)?)", re.I)
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]+")


# --- the environment -------------------------------------------------------------------------------------


class CodeEnv:
    """One problem. `run` tries code on the public examples, `submit` hands it in; reward 1 if all hidden tests pass."""

    def reset(self, *, prompt=None, task: str | None = None, **_) -> str | None:
        """Start the problem in `task`; without one, a small built-in problem."""
        self._text = task or _SMALL
        self._task = _task(self._text)
        self._verdict: tuple[float | None, str] = (0.0, "no answer: nothing was handed in")
        self._share = 0.0
        self._done = False
        self._calls = 0
        self.metrics: dict[str, float] = {}
        return None if prompt else self._task.question or _bare_question(self._task)

    def run(self, code: str) -> str:
        """Run code on the public examples and see what it returns, prints or raises.

        Args:
            code: The whole solution, as Python source.

        Returns:
            For each example the call, the result and the result that is wanted, or the error.
        """
        self._count(20)
        code = _source(code)
        try:
            return _tried(code, self._task)
        except SandboxError as error:
            return f"The code could not be run here: {error}"

    def submit(self, code: str) -> str:
        """Hand in the solution. The first one handed in is final.

        Args:
            code: The whole solution, as Python source.

        Returns:
            Whether it passes the hidden tests, or the first failure.
        """
        self._count(30)
        code = _source(code)
        self._done = True
        try:
            reward_, reason, self._share = _judged(code, self._text)
        except _Unjudged as why:
            reward_, reason, self._share = None, f"unjudged: {why}", 0.0
        self._verdict = reward_, reason
        return reason

    def get_reward(self) -> float | None:
        """1.0 if the code handed in passes every hidden test, 0.0 if not, None if it could not be judged."""
        reward_, _ = self._verdict
        self.metrics = {
            "answered": float(self._done),
            "passed_before_first_failure": self._share,
            "unjudged": float(reward_ is None),
            "calls": float(self._calls),
        }
        return reward_

    def _count(self, limit: int) -> None:
        if self._done:
            raise ValueError("the code is handed in; stop without a tool call")
        if self._calls >= limit:
            raise ValueError(f"{limit} calls are used up; {'submit your code' if limit < 30 else 'stop here'}")
        self._calls += 1


ENV = CodeEnv
_SMALL_PROMPT = (
    "Write f(xs) for a list of integers xs: keep only the even numbers, then take the sum. Return the result."
)
_SMALL = json.dumps(
    {
        "entry_point": "f",
        "tests": [
            {"args": "[[1, 2, 3, 4]]", "expected": "6"},
            {"args": "[[]]", "expected": "0"},
            {"args": "[[-2, 7, 8]]", "expected": "6"},
        ],
        "examples": [{"args": "[[5, 6, 10]]", "expected": "16"}],
        "solution": "def f(xs): return sum([x for x in xs if x % 2 == 0])",
        "question": f"{_SMALL_PROMPT}\n\nf([5, 6, 10]) == 16",
    }
)


def _bare_question(task: _Task) -> str:
    what = (
        f"the Python function {task.entry_point}" if task.entry_point else "a Python program that reads standard input"
    )
    return f"Write {what}; it is graded by hidden tests."


def _source(code: object) -> str:
    """The code that a tool was given; a fence around it, which many models add, does not count."""
    if type(code) is not str:
        raise ValueError(f"code must be the text of the whole solution, got {code!r:.40}")
    if not code.strip():
        raise ValueError("code is empty; give the whole solution as Python source")
    if code.lstrip().startswith(("```", "~~~")):
        blocks = _blocks(code)
        code = blocks[-1] if blocks else code
    return code.replace("\r\n", "\n").lstrip("\ufeff")


def _tried(code: str, task: _Task) -> str:
    """What the code does on the public examples, as text."""
    said = []
    examples = task.examples[:5]
    if task.entry_point:
        source = f"{task.setup}\n\n{code}" if task.setup else code
        calls = [given for given, _ in examples]
        run = _box().run_function(source, task.entry_point, calls, time_limit_s=task.time_limit_s)
        if run.status in _WHOLE or not examples:
            fault = "" if run.status == "ok" else _fault(_failure(run), None, task)
            return fault or "The code loads; there are no public examples to try it on."
        outcomes = run.outcomes
    else:
        if not examples:
            return "There are no public examples to try the program on."
        outcomes = [_box().run_program(code, given, time_limit_s=task.time_limit_s) for given, _ in examples]
    for (given, expected), outcome in zip(examples, outcomes):
        call = _call(task.entry_point, given) if task.entry_point else f"input {given!r}"
        fault = _fault(outcome, expected, task)
        name, _, detail = fault.partition(": ")
        wanted = f", wanted {expected!r}" if name == "wrong answer" else ""
        right = f"{'returned' if task.entry_point else 'printed'} what is wanted"
        line = f"{_short(call, 200, False)}: {detail if fault else right}{wanted}"
        if outcome.stdout and task.entry_point:
            line += f"\n  printed: {_short(outcome.stdout, 300)}"
        said.append(line)
    return "\n".join(said)[:3500]


# --- grading ---------------------------------------------------------------------------------------------


def answer(row: dict) -> str | list[dict]:
    """A right answer as a model would write it: the code, fenced if it has several lines; tool calls for a row with
    tools.

    Raises:
        ValueError: the row brings no solution.
    """
    fields = json.loads(row["task"])
    solution = fields.get("solution")
    if not solution:
        raise ValueError("this row has no solution of its own; take rows of make_rows, or records that bring one")
    if not fields.get("tools"):
        return f"```python\n{solution}\n```" if "\n" in solution.strip() else solution
    env, messages = CodeEnv(), []
    env.reset(**row)
    for i, name in enumerate(("run", "submit")):
        arguments = {"code": solution}
        call = {"type": "function", "id": f"call_{i}", "function": {"name": name, "arguments": arguments}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        said = getattr(env, name)(**arguments)
        messages.append({"role": "tool", "name": name, "tool_call_id": f"call_{i}", "content": said})
    return [*messages, {"role": "assistant", "content": "Done."}]


def parse(text: str, row: dict) -> list[tuple[str, dict]]:
    """The tool calls that a text stands for: tagged calls as they are written, else one `submit` of its code."""
    if not isinstance(text, str):
        return []
    return _calls_in(text, row.get("task"))[0]


def _calls_in(text: str, task: str | None) -> tuple[list[tuple[str, dict]], str]:
    """The tool calls that a text stands for, or none and the reason."""
    if "<tool_call>" in text and (calls := _tagged_calls(text)):
        return calls, ""
    code, fault = extract(text, _task(task or _SMALL).entry_point)
    return ([] if code is None else [("submit", {"code": code})]), fault


def score(completion: str | list[dict] | None, row: dict) -> Verdict:
    """Grade a completion: text, or chat messages. Their tool calls are replayed; the text counts if there are none."""
    calls, text = _calls_and_text(completion)
    task = row.get("task") or _SMALL
    env = CodeEnv()
    env.reset(prompt=True, task=task)
    fault = "no answer: nothing was handed in with submit"
    if not calls:
        calls, fault = _calls_in(text, task)
    refusal = ""
    for name, arguments in calls:
        try:
            if name not in ("run", "submit"):
                raise ValueError(f"there is no tool {name!r:.40}; the tools are run and submit")
            if name == "run":  # counts, but what it shows is not graded
                _replayed_run(env, **arguments)
            else:
                env.submit(**arguments)
        except (ValueError, TypeError) as error:  # a refused call changes nothing, live as here
            refusal = refusal or str(error)
    reward_ = env.get_reward()
    if env._done:
        return Verdict(reward_, env._verdict[1], env.metrics)
    return Verdict(reward_, f"tool fault: {refusal}" if refusal else fault, env.metrics)


def _replayed_run(env: CodeEnv, code: str) -> None:
    env._count(20)
    _source(code)


def reward(completions: list, task: list[str], **_) -> list[float | None]:
    """Reward function for TRL: one float or None for each completion and its `task` column.

    Different completions are judged side by side, the same one to the same task once.
    """
    keys = [repr((completion, one)) for completion, one in zip(completions, task)]
    different = dict(zip(keys, zip(completions, task)))
    with ThreadPoolExecutor(max(1, min(len(different), os.cpu_count() or 1))) as pool:
        verdicts = pool.map(lambda pair: score(pair[0], {"task": pair[1]}), different.values())
        rewards = {key: verdict.reward for key, verdict in zip(different, verdicts)}
    return [rewards[key] for key in keys]


def _calls_and_text(completion) -> tuple[list[tuple[str, dict]], str]:
    """The tool calls in chat messages, and the text of the last assistant message."""
    if not isinstance(completion, list | tuple):
        return [], completion if isinstance(completion, str) else ""
    calls, text = [], ""
    for message in completion:
        if not isinstance(message, dict) or message.get("role", "assistant") != "assistant":
            continue
        content = message.get("content") or ""
        if isinstance(content, list):  # parts, as in the Responses format
            content = "".join(str(p.get("text") or "") for p in content if isinstance(p, dict))
        text = content if isinstance(content, str) else ""
        made = message.get("tool_calls")
        for call in made if isinstance(made, list | tuple) else []:
            if found := _json_call(call.get("function", call) if isinstance(call, dict) else call):
                calls.append(found)
    return calls, text


def _tagged_calls(text: str) -> list[tuple[str, dict]]:
    parts = _without_reasoning(text).split("<tool_call>")[1:]
    return [call for part in parts if (call := _json_call(part.partition("</tool_call>")[0]))]


def _json_call(call) -> tuple[str, dict] | None:
    """(name, arguments) of a call given as JSON text or as a dict, or None if it is broken."""
    try:
        call = json.loads(call) if isinstance(call, str) else call
        arguments = call.get("arguments") or {}
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        return (call["name"], arguments) if isinstance(call["name"], str) and isinstance(arguments, dict) else None
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None


# --- finding the code in a completion --------------------------------------------------------------------

_LONGEST = 400_000  # characters of a completion that are read, from the end
_MOST_VERSIONS = 4  # more different versions of what is asked are a spray, not an answer
_THINK = re.compile(
    r"<(/?)\|?(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|scratchpad|reflection|analysis)\|?>"
    r"|<\|(?:begin|(end))_of_thought\|>|\[(/?)THINK\]|◁(/?)think▷",
    re.I,
)
_PYTHON = ("", "python", "py", "python3", "py3", "python2", "ipython", "ipython3", "pycon", "code", "sage", "cython")
_STRING = re.compile(r"#[^\n]*|\"\"\"|'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
_TARGET = r"[\w.\[\]'\"()*]+"  # of an assignment
_OPENERS = re.compile(  # how a line at the margin begins that can be code; prose such as "for example: x" cannot
    rf"(?:async[ \t]+)?(?:def|class)[ \t]+\w+|import[ \t]+[\w.]+[ \t]*(?:$|,|as\b|;|#)|from[ \t]+[\w.]+[ \t]+import\b"
    rf"|@[\w.]+|(?:async[ \t]+)?for\b[^\n]*\bin\b[^\n]*:|(?:if|elif|while|with|match)\b[^\n]*:[ \t]*(?:#[^\n]*)?$"
    rf"|(?:if|while|with)\b[^\n]*[)\]\w]:[ \t]+\w+[ \t]*[(=]|(?:try|else|finally|except\b[^\n]*):"
    rf"|(?:raise|assert|del|global|pass)\b|[rRuUbB]?(?:\"\"\"|''')|#|[)\]}}]"
    rf"|{_TARGET}(?:[ \t]*,[ \t]*{_TARGET})*[ \t]*(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)"
    rf"|\w+[ \t]*:[ \t]*[\w.\[\], |]+=(?!=)"
    rf"|\w[\w.]*(?:\[[^\]\n]*\][\w.]*)*\((?:[^\n]*[)\]}},(:\\;])?[ \t]*(?:#[^\n]*)?$"
)


def extract(text: str, entry_point: str = "") -> tuple[str | None, str]:
    """The code in a completion as a user would take it, or None and the reason.

    Args:
        text: What the model said. Reasoning is left out; reasoning that never ends leaves nothing.
        entry_point: What the code has to define, "name" or "Class.method"; empty for a program.
    """
    if not text.strip():
        return None, "no answer: the completion is empty"
    text = _without_reasoning(text[-_LONGEST:]).replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    if not text.strip():
        return None, "no answer: nothing follows the reasoning"
    owner, _, name = entry_point.rpartition(".")
    wanted = _definition(owner or name) if entry_point else _PRINTS
    fenced = _blocks(text)
    blocks = fenced or _bare_blocks(text)
    defining = [block for block in blocks if wanted.search(block)]
    if not entry_point:  # the whole program rather than a sketch
        defining = [block for block in defining if _READS.search(block)] or defining
    elif not defining and not owner:  # a method of some class
        defining = [block for block in blocks if _method(name).search(block)]
    if not defining:
        if not fenced:
            return None, f"no answer: no code found that {'defines ' + entry_point if entry_point else 'prints'}"
        return fenced[-1], ""
    versions = len(dict.fromkeys(block.strip() for block in defining))
    if entry_point:
        versions = max(versions, len(dict.fromkeys(_bodies(defining, wanted))))
    if versions > _MOST_VERSIONS:
        return None, f"several answers: {versions} different versions offered; give one"
    chosen = defining[-1]
    return _with_helpers(chosen, blocks[: len(blocks) - 1 - blocks[::-1].index(chosen)], wanted), ""


def _without_reasoning(text: str) -> str:
    """Drop reasoning: closed, never closed, or opened in the prompt so that only its end is seen."""
    if "<|channel|>" in text:
        text = text.rpartition("<|channel|>final<|message|>")[2] if "<|channel|>final<|message|>" in text else ""
    kept, start, inside = [], 0, False
    for tag in _THINK.finditer(text):
        closing = any(tag.groups())
        if closing and inside:
            inside, start = False, tag.end()
        elif closing:
            kept, start = [], tag.end()
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    return "".join(kept if inside else [*kept, text[start:]])


@lru_cache(maxsize=256)
def _definition(name: str) -> re.Pattern:
    """A definition of a name at the outer level, or inside an `if` or `try`."""
    name = re.escape(name)
    return re.compile(
        rf"^(?:(?:async[ \t]+)?def|class)[ \t]+{name}\b|^{name}[ \t]*(?::[^=\n]+)?=(?!=)"
        rf"|^(?:from[ \t]+\S+[ \t]+)?import\b[^\n]*\b{name}\b|^[ \t]+{name}[ \t]*=[ \t]*lambda\b",
        re.M,
    )


@lru_cache(maxsize=256)
def _method(name: str) -> re.Pattern:
    return re.compile(rf"^[ \t]+(?:async[ \t]+)?def[ \t]+{re.escape(name)}\b", re.M)


_PRINTS = re.compile(r"\bprint\b|\bstdout\b|\bos\.write\b")
_READS = re.compile(r"\binput\b|\bstdin\b|\bos\.read\b|\bfileinput\b|\bopen\(")


def _bodies(blocks: list[str], wanted: re.Pattern) -> list[str]:
    """Each definition of what is wanted, up to the next one."""
    found = []
    for block in blocks:
        starts = [m.start() for m in wanted.finditer(block)]
        found += [block[a:b].strip() for a, b in zip(starts, [*starts[1:], len(block)])]
    return found


def _with_helpers(chosen: str, earlier: list[str], wanted: re.Pattern) -> str:
    """The code with those earlier blocks in front that define functions, classes or imports which it uses and lacks."""
    used = set(re.findall(r"[A-Za-z_]\w*", chosen)) - _defined(chosen)
    parts = [chosen]
    for block in reversed(earlier):
        if not wanted.search(block) and (names := _defined(block) & used):
            parts.insert(0, block)
            used = (used - names) | (set(re.findall(r"[A-Za-z_]\w*", block)) - _defined(block))
    return "\n\n".join(parts)


_DEFINES = re.compile(
    r"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^([A-Z][A-Z0-9_]*)[ \t]*=(?!=)"
    r"|^(?:from[ \t]+\S+[ \t]+)?import[ \t]+([^\n#]+)",
    re.M,
)


def _defined(code: str) -> set[str]:
    names = set()
    for m in _DEFINES.finditer(code):
        if m[3]:
            names |= {part.split(" as ")[-1].strip(" ()").split(".")[0] for part in m[3].split(",")}
        else:
            names.add(m[1] or m[2])
    return names


class _Mark(NamedTuple):
    """A line that opens or closes a fence."""

    indent: str
    fence: str
    info: str


def _mark(line: str) -> _Mark | None:
    bare = line.strip(" \t")
    if not bare.startswith(("```", "~~~")):
        return None
    rest = bare.lstrip(bare[0])
    return _Mark(line[: len(line) - len(line.lstrip(" \t"))], bare[: len(bare) - len(rest)], rest.strip())


def _blocks(text: str) -> list[str]:
    """The fenced blocks of Python, or of no named language, in order; the last one may lack its end."""
    found: list[str] = []
    lines: list[str] = []
    open_: _Mark | None = None
    quote = ""

    def close() -> None:
        if _tag(open_.info) in _PYTHON and any(line.strip() for line in lines):
            found.append(_undone("\n".join(lines)))
        lines.clear()

    for line in text.split("\n"):
        mark = _mark(line)
        if not open_:
            quote = ""
            if mark and mark.fence[0] == "`" and mark.info.endswith(mark.fence):  # all on one line
                code = mark.info[: -len(mark.fence)].strip()
                found.append(re.sub(r"^(?:python3?|py)[ \t]+", "", code, flags=re.I))
            elif mark and not (mark.fence[0] == "`" and "`" in mark.info):
                open_ = mark
            elif not mark and (tail := re.search(r"(`{3,})[ \t]*(\w*)$", line.rstrip()[-60:])):  # after words
                open_ = _Mark("", tail[1], tail[2])
            continue
        inside = line.removeprefix(open_.indent)
        if mark and not quote and mark.fence.startswith(open_.fence) and len(mark.indent) <= len(open_.indent) + 3:
            close()
            open_ = mark if mark.info else None  # with a language it opens another block, the end being forgotten
        elif not quote and not mark and inside.rstrip().endswith(open_.fence):  # behind the last line
            lines.append(inside.rstrip()[: -len(open_.fence)])
            close()
            open_ = None
        else:
            lines.append(inside)
            quote = _quote_after(line, quote)
    if open_ and quote and (ends := [i for i, line in enumerate(lines) if _mark(line)]):
        del lines[ends[0] :]  # a string that never ends hid the end of the block
    if open_:
        close()
    return found


def _tag(info: str) -> str:
    words = re.findall(r"[\w+#-]+", info.lower())
    return words[0] if words else ""


def _quote_after(line: str, quote: str) -> str:
    """The triple quote that is open after a line, given the one that was open before it."""
    at = 0
    while True:
        if quote:
            end = line.find(quote, at)
            while end > 0 and line[end - 1] == "\\":
                end = line.find(quote, end + 1)
            if end < 0:
                return quote
            at, quote = end + 3, ""
        m = _STRING.search(line, at)
        if not m:
            return ""
        at = m.end()
        if m[0] in ('"""', "'''"):
            quote = m[0]


def _undone(code: str) -> str:
    """A block as source: prompts of an interactive session removed, common indentation too."""
    lines = code.split("\n")
    if any(line.startswith(">>> ") for line in lines):
        lines = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
    full = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in full), default=0)
    if margin and len({line[:margin] for line in full}) == 1:
        lines = [line[margin:] for line in lines]
    return "\n".join(lines).replace("\u00a0", " ")


def _bare_blocks(text: str) -> list[str]:
    """Stretches of code in a text without fences: from a line that can only be code to the next line of prose."""
    inline = [m[1] for m in re.finditer(r"(?<!`)`((?:def|class|lambda|import|from)\b[^`\n]+)`(?!`)", text)]
    found: list[str] = []
    lines: list[str] = []
    quote, depth = "", 0
    for line in text.split("\n"):
        inside = bool(quote) or depth > 0
        blank, indented = not line.strip(), line[:1] in (" ", "\t")
        opens = not blank and not indented and _opens(line)
        if not (opens if not lines else opens or inside or blank or indented):
            found.append("\n".join(lines))
            lines, quote, depth = [], "", 0
            continue
        lines.append(line)
        depth = _depth_after(line, depth) if not quote else depth
        quote = _quote_after(line, quote)
    found.append("\n".join(lines))
    found = [block.strip("\n") for block in found if block.strip()]
    return found or inline


def _opens(line: str) -> bool:
    """Whether a line at the margin can be code; of a very long one its two ends are looked at."""
    return bool(_OPENERS.match(line if len(line) < 1000 else f"{line[:500]}{line[-100:]}"))


def _depth_after(line: str, depth: int) -> int:
    bare = _STRING.sub(" ", line)
    return max(0, depth + len(re.findall(r"[(\[{]", bare)) - len(re.findall(r"[)\]}]", bare)))


# --- problems of others ----------------------------------------------------------------------------------

_READ_STDIN = "Read the input from standard input and print the answer."
_TYPICAL = (  # what the harness of LiveCodeBench gives every answer
    "import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys\n"
    "from bisect import *\nfrom collections import *\nfrom functools import *\nfrom heapq import *\n"
    "from itertools import *\nfrom math import *\nfrom typing import *\n"
)


def read_rows(
    records: str | os.PathLike | Iterable[dict], *, split: str = "test", config: str | None = None
) -> list[dict]:
    """Rows from records in the shape of HumanEval, MBPP, LiveCodeBench or NeMo Gym's code_gen.

    Args:
        records: A file (JSONL or one JSON list, plain or gzipped), dicts, or the name of a data set on the Hugging
            Face Hub, which needs `datasets`.
        split: Of a data set on the Hub.
        config: Of a data set on the Hub, its name for one of several sets.

    Returns:
        One row for each record, in order. A record of which no test can be written as literals (it draws random inputs,
        say) is left out, and a warning names it. Programs from contests are compared word by word (`approx`).

    Raises:
        ValueError: a record has none of the known shapes, or its packed tests hold something else than text.
        ImportError: the Hub is asked and `datasets` is not installed.
    """
    if isinstance(records, str | os.PathLike):
        records = _records(records, split, config)
    rows, left_out = [], []
    for i, record in enumerate(records):
        shape = next((read for key, read in _SHAPES.items() if record.get(key) is not None), None)
        if shape is None:
            raise ValueError(
                f"record {i} has the fields {', '.join(map(str, record))}; a code problem has one of "
                f"{', '.join(_SHAPES)}"
            )
        messages, task = shape(record)
        if not task["tests"]:
            left_out.append(str(record.get("task_id", i)))
            continue
        text = json.dumps(task)
        _task(text)
        digest = sha256((messages[-1]["content"] + text).encode()).hexdigest()[:12]
        rows.append({"prompt": messages, "environment": "code", "task_id": f"code-read-{digest}", "task": text})
    if left_out:
        warnings.warn(
            f"left out {len(left_out)} records without tests of literals: {', '.join(left_out)}", stacklevel=2
        )
    return rows


def _records(name: str | os.PathLike, split: str, config: str | None) -> Iterable[dict]:
    if os.path.exists(name):
        with open(name, "rb") as file:
            data = file.read()
        text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode("utf-8-sig")
        if text.lstrip().startswith("["):
            return json.loads(text)
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    if str(name).endswith((".json", ".jsonl", ".gz")) or str(name).count("/") > 1:
        raise ValueError(f"there is no file {str(name)!r}")
    try:
        import datasets
    except ImportError:
        raise ImportError(
            f"{str(name)!r} is no file here, and to take it from the Hub the package datasets is needed: "
            "pip install datasets"
        ) from None
    return datasets.load_dataset(str(name), config, split=split)


def _from_nemo_gym(record: dict) -> tuple[list[dict], dict]:
    messages = (record.get("responses_create_params") or {}).get("input") or []
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not messages:
        raise ValueError("a record with verifier_metadata has no responses_create_params.input, the question")
    given = record["verifier_metadata"]["unit_tests"]
    given = json.loads(given) if isinstance(given, str) else given
    pairs = list(zip(given["inputs"], given["outputs"]))
    messages = [{"role": m["role"], "content": _plain_content(m["content"])} for m in messages]
    if name := given.get("fn_name"):
        return messages, {"entry_point": name, "tests": _json_tests(pairs), "setup": _TYPICAL}
    return messages, {"tests": [{"stdin": i, "stdout": o} for i, o in pairs], "comparison": "approx"}


def _plain_content(content: str | list) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))


def _json_tests(pairs: list[tuple]) -> list[dict]:
    """Tests whose input is a JSON value for each argument, one a line, or the list of arguments itself."""
    tests = []
    for given, wanted in pairs:
        arguments = (
            [json.loads(line) for line in given.split("\n") if line.strip()] if isinstance(given, str) else given
        )
        if isinstance(wanted, str):
            with contextlib.suppress(ValueError):  # a bare string stays as it is
                wanted = json.loads(wanted)
        elif isinstance(wanted, list) and not isinstance(given, str) and len(wanted) == 1:
            wanted = wanted[0]
        tests.append({"args": repr(list(arguments)), "expected": repr(wanted)})
    return tests


def _from_live_code_bench(record: dict) -> tuple[list[dict], dict]:
    public = _packed(record["public_test_cases"])
    hidden = _packed(record.get("private_test_cases") or "[]") or public
    starter = (record.get("starter_code") or "").rstrip()
    about = record.get("metadata") or "{}"
    name = (json.loads(about) if isinstance(about, str) else about).get("func_name")
    question = record["question_content"].strip()
    if name:
        entry = f"Solution.{name}" if "class Solution" in starter else name
        question += f"\n\nComplete this code, and answer with all of it:\n\n```python\n{starter}\n```"
        task = {"entry_point": entry, "setup": _TYPICAL}
        tests, examples = (_json_tests([(t["input"], t["output"]) for t in part]) for part in (hidden, public))
    else:
        question += f"\n\nAnswer with a Python program. {_READ_STDIN}"
        task = {"comparison": "approx"}
        tests, examples = ([{"stdin": t["input"], "stdout": t["output"]} for t in part] for part in (hidden, public))
    task |= {"tests": tests, "examples": examples, "time_limit_s": 6, "question": question}
    return [{"role": "user", "content": question}], task


def _packed(cases: str | list) -> list[dict]:
    """Test cases as a list, as JSON text, or as LiveCodeBench packs them: JSON text, pickled, compressed, in base64."""
    if not isinstance(cases, str):
        return list(cases)
    try:
        return json.loads(cases)
    except ValueError:
        pass
    try:
        return json.loads(_pickled_text(zlib.decompress(base64.b64decode(cases))))
    except (ValueError, zlib.error) as error:
        raise ValueError(f"the test cases {cases[:40]!r} are neither JSON nor text packed as JSON: {error}") from None


_OF_TEXT = {"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"}
_OF_TEXT |= {"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"}


def _pickled_text(data: bytes) -> str:
    """The text that was pickled, read from the pickle without running it."""
    import pickletools

    texts = []
    for operation, argument, _ in pickletools.genops(data):
        if operation.name not in _OF_TEXT:
            raise ValueError(f"a pickle that does {operation.name}; only text is taken")
        if isinstance(argument, str):
            texts.append(argument)
    if len(texts) != 1:
        raise ValueError(f"a pickle of {len(texts)} texts instead of one")
    return texts[0]


def _from_human_eval(record: dict) -> tuple[list[dict], dict]:
    prompt, entry = record["prompt"], record["entry_point"]
    start = re.search(rf"^def[ \t]+{re.escape(entry)}\b", prompt, re.M)
    tests, comparison = _asserted(record["test"], {"candidate", entry})
    question = f"Complete this Python function, and answer with all of it:\n\n```python\n{prompt.strip()}\n```"
    task = {
        "entry_point": entry,
        "tests": tests,
        "examples": _doctests(prompt, entry),
        "comparison": comparison,
        "setup": prompt[: start.start()].strip() if start else "",
        "solution": prompt + record["canonical_solution"],
        "question": question,
    }
    return [{"role": "user", "content": question}], task


def _from_mbpp(record: dict) -> tuple[list[dict], dict]:
    lines = [*record["test_list"], *(record.get("challenge_test_list") or [])]
    code = record.get("code") or ""
    defined = set(re.findall(r"^(?:def|class)[ \t]+(\w+)", code, re.M))
    called = [m for line in lines for m in re.findall(r"\b([A-Za-z_]\w*)[ \t]*\(", line)]
    entry = next((name for name in called if name in defined or (not defined and not hasattr(builtins, name))), "")
    tests, comparison = _asserted("\n".join(lines), {entry})
    shown, hidden = (tests[:1], tests[1:]) if len(tests) > 1 else ([], tests)
    question = f"{(record.get('text') or record.get('prompt') or '').strip()} Call the function {entry}."
    if shown:
        question += f"\n\n{_call(entry, shown[0]['args'])} == {shown[0]['expected']}"
    setup = record.get("test_setup_code") or "\n".join(record.get("test_imports") or [])
    task = {
        "entry_point": entry,
        "tests": hidden,
        "examples": shown,
        "comparison": comparison,
        "setup": setup,
        "solution": code.replace("\r\n", "\n"),
        "question": question,
    }
    return [{"role": "user", "content": question}], task


_SHAPES = {
    "verifier_metadata": _from_nemo_gym,
    "question_content": _from_live_code_bench,
    "canonical_solution": _from_human_eval,
    "test_list": _from_mbpp,
}


def _asserted(source: str, names: set[str]) -> tuple[list[dict], str]:
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
        given, wanted = _value(arguments), _value(ast.unparse(expected))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    if isinstance(wanted, float) and not float.is_integer(wanted) and way == "eq":
        way = "approx"
    return repr(given), repr(wanted), way


def _doctests(prompt: str, entry: str) -> list[dict]:
    """The examples in the docstrings of a prompt that are a call and a literal."""
    import doctest

    try:
        found = doctest.DocTestParser().get_examples(re.sub("\"\"\"|'''", "\n\n", prompt))
    except ValueError:
        return []
    tests = []
    for example in found:
        tests += _asserted(f"assert ({example.source.strip()}) == ({example.want.strip() or None})", {entry})[0]
    return tests
