# SPDX-License-Identifier: Apache-2.0
"""Check an environment module against the contract, without a model.

>>> from envs import load
>>> from helpers.measure.contract import check_env
>>> check_env(load("sudoku"))["gold"]
'8 of 8 gold answers score 1'

Each check is one small function that returns what it saw or raises `ContractError`.
"""

import inspect
import json
import pickle
import random
import re
import sys
import types
import typing
from contextlib import suppress
from copy import deepcopy
from functools import cached_property
from pathlib import Path

COLUMNS = ("prompt", "environment", "task_id", "task")
_GARBAGE = ("", " ", "\x00", "\ud800", "no idea", "<think>", "</think>", "<answer>", "<tool_call>", "<tool_call>{",
            '<tool_call>{"name": 1}</tool_call>', '<tool_call>{"name": "reset", "arguments": {}}</tool_call>',
            '<tool_call>{"name": "__init__", "arguments": []}</tool_call>', "[" * 5000, "{" * 5000, "\\boxed{",
            "```", "```python\n", "1 " * 5000, "|" * 5000, "null", "[[1, 2], [3]]")  # fmt: skip


def load_file(path: Path | str) -> types.ModuleType:
    """Import an environment from a file of its own, anew each time, so that an edit counts at once.

    Args:
        path: The file, such as "runs/mine/change_env.py"; the module is called like it.

    Raises:
        FileNotFoundError: there is none.
    """
    path = Path(path).resolve()
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    code = compile(path.read_text(encoding="utf-8"), path, "exec")
    sys.modules[path.stem] = module
    exec(code, module.__dict__)
    return module


class ContractError(AssertionError):
    """The environment breaks its contract; the message names the check, what was seen, and the remedy."""


def check_env(module: types.ModuleType, n: int = 8, **knobs) -> dict[str, str]:
    """Run every check on an environment module.

    Args:
        module: The environment, as `envs.load(name)` returns it.
        n: Rows to make for each split and seed.
        **knobs: Passed on to the module's `make_rows`.

    Returns:
        What each check saw, by the check's name.

    Raises:
        ContractError: the environment breaks the contract; the first check that fails is named.
    """
    if n < 2:
        raise ValueError(f"n must be at least 2, to compare rows with each other; got {n!r}")
    subject = _Subject(module, n, knobs)
    report = {}
    for check in CHECKS:
        name = check.__name__.removeprefix("check_")
        try:
            report[name] = check(subject)
        except _Broken as fault:
            raise ContractError(f"{module.__name__}: {name}: {fault}") from fault.__cause__
        except Exception as error:
            raise ContractError(
                f"{module.__name__}: {name}: raised {type(error).__name__}: {error}; nothing here may raise, "
                "the traceback above shows where it comes from"
            ) from error
    return report


class _Broken(Exception):
    """A broken promise: what was seen, and what to do."""


class _Subject:
    """The module under test, and what several checks need of it."""

    def __init__(self, module, n, knobs):
        self.module, self.n, self.knobs = module, n, knobs

    @cached_property
    def rows(self) -> list[dict]:
        return self.module.make_rows(self.n, **self.knobs)

    @cached_property
    def gold(self) -> list:
        return [self.module.answer(row) for row in self.rows]

    @cached_property
    def calls(self) -> list[list[tuple[str, dict]]]:
        return [self.calls_in(gold, row) for gold, row in zip(self.gold, self.rows)]

    @cached_property
    def tools(self) -> list[str]:
        return [name for name in _public(self.module.ENV) if name not in ("reset", "get_reward")]

    def fresh(self, row: dict):
        env = self.module.ENV()
        env.reset(**deepcopy(row))
        return env

    def calls_in(self, completion, row: dict) -> list[tuple[str, dict]]:
        """The tool calls of a completion: those of its messages, else those that `parse` finds in its last text."""
        if isinstance(completion, str):
            return self.module.parse(completion, row)
        calls, text = [], ""
        for message in completion:
            if message["role"] == "assistant":
                text = message.get("content") or ""
                for call in message.get("tool_calls") or []:
                    arguments = call["function"]["arguments"]
                    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
                    calls.append((call["function"]["name"], arguments))
        return calls or self.module.parse(text, row)

    def live(self, env, calls) -> float | None:
        """The reward after the calls, a refused one being shown to the model and no more."""
        for name, arguments in calls:
            if name in self.tools:
                with suppress(ValueError, TypeError):
                    getattr(env, name)(**deepcopy(arguments))
        return env.get_reward()


# --- helpers ---------------------------------------------------------------------------------------------


def _public(cls: type) -> list[str]:
    return [name for name in dir(cls) if not name.startswith("_")]


def _messages(calls: list[tuple[str, dict]]) -> list[dict]:
    """The calls as the chat messages of a tool-calling model, which writes arguments as JSON text."""
    made = []
    for i, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"type": "function", "id": f"call_{i}", "function": function}
        made.append({"role": "assistant", "content": None, "tool_calls": [call]})
        made.append({"role": "tool", "tool_call_id": f"call_{i}", "name": name, "content": "done"})
    return made + [{"role": "assistant", "content": "Done."}]


def _freeze(value, depth: int = 0):
    """A value that compares equal exactly when the state does; objects count by their contents, not their address."""
    if depth > 40:
        return "..."
    if isinstance(value, dict):
        return ("dict", [(_freeze(k, depth + 1), _freeze(v, depth + 1)) for k, v in value.items()])
    if isinstance(value, list | tuple):
        return (type(value).__name__, [_freeze(v, depth + 1) for v in value])
    if isinstance(value, set | frozenset):
        return ("set", sorted(repr(_freeze(v, depth + 1)) for v in value))
    if value is None or isinstance(value, str | bytes | int | float | complex):
        return (type(value).__name__, repr(value))
    if type(value).__module__ == "builtins" or callable(value):
        return type(value).__name__
    if hasattr(value, "__dict__"):
        return (type(value).__name__, _freeze(vars(value), depth + 1))
    try:
        return (type(value).__name__, pickle.dumps(value))
    except Exception:  # a handle, a lock: no state that can be compared
        return type(value).__name__


def _state(env) -> dict:
    """The frozen attributes of an instance, by name; `metrics` is what `get_reward` reports, not state."""
    return {name: _freeze(value) for name, value in sorted(vars(env).items()) if name != "metrics"}


def _changed(before: dict, env, calls: int = 0) -> list[str]:
    """Attributes that differ from `before`. A whole number that grew by at most `calls` is a counter of calls."""
    after = _state(env)
    names = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new:
            counter = old and new and old[0] == new[0] == "int" and 0 < int(new[1]) - int(old[1]) <= calls
            if not counter:
                names.append(name)
    return names


def _fits(value, hint) -> bool:
    """Whether a value has the hinted type, as JSON schema would say."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if hint in (typing.Any, object, inspect.Parameter.empty):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in of)
    if origin is typing.Literal:
        return any(value == one and type(value) is type(one) for one in of)
    if origin is typing.Annotated:
        return _fits(value, of[0])
    if hint is None or hint is type(None):
        return value is None
    kind = origin or hint
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(kind, type) or isinstance(value, kind)


def _short(value) -> str:
    text = repr(value)
    return text if len(text) < 100 else text[:80] + f"... ({len(text)} characters)"


# --- the checks ------------------------------------------------------------------------------------------


def check_surface(s: _Subject) -> str:
    """The module has the public names, the class only `reset`, `get_reward` and tools, as plain methods."""
    for name in ("make_rows", "ENV", "answer", "parse", "score", "reward"):
        if not callable(getattr(s.module, name, None)):
            raise _Broken(f"{name} is missing; every environment module defines it")
    cls = s.module.ENV
    if not isinstance(cls, type) or getattr(s.module, cls.__name__, None) is not cls or cls.__name__ in ("Env", "ENV"):
        raise _Broken(f"ENV is {cls!r}; let it be the alias of a class called <Task>Env in the same module")
    for name in _public(cls):
        kind = inspect.getattr_static(cls, name)
        if not inspect.isfunction(kind):
            raise _Broken(
                f"{cls.__name__}.{name} is a {type(kind).__name__}, which trainers list as a tool; make it a plain "
                "method if it is one, else a module function or a name that starts with _"
            )
    for name in ("reset", "get_reward"):
        if name not in _public(cls):
            raise _Broken(f"{cls.__name__} has no method {name}; define it")
    if not s.tools:
        raise _Broken(f"{cls.__name__} has no tool; a text-only task has `submit`")
    env = cls()
    env.reset()
    for name, value in vars(env).items():
        if not name.startswith("_") and callable(value):
            raise _Broken(f"attribute {name} is callable, which trainers list as a tool; call it _{name}")
    if inspect.signature(env.get_reward).parameters:
        raise _Broken("get_reward takes arguments; trainers call it with none")
    return "tools: " + ", ".join(s.tools)


def check_documented(s: _Subject) -> str:
    """Every tool has a summary, an `Args:` entry and a type hint for every argument, and returns text."""
    total = 0
    for name in s.tools:
        tool = getattr(s.module.ENV, name)
        doc = inspect.getdoc(tool) if tool.__doc__ else ""
        if not doc:
            raise _Broken(f"tool {name} has no docstring; write what it does and an Args: section")
        section = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)*)", doc, re.M)
        entries = set(re.findall(r"^ +(\w+)(?: ?\([^)]*\))?: *\S", section[1], re.M)) if section else set()
        hints = typing.get_type_hints(tool)
        parameters = list(inspect.signature(tool).parameters.values())[1:]
        for p in parameters:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
                raise _Broken(f"tool {name} takes {p}; a model needs every argument by its name, so spell them out")
            if p.name not in hints:
                raise _Broken(f"argument {p.name} of tool {name} has no type hint; add one")
            if p.name not in entries:
                raise _Broken(f"argument {p.name} of tool {name} is not documented; add '{p.name}: ...' under Args:")
        if unknown := entries - {p.name for p in parameters}:
            raise _Broken(f"the docstring of tool {name} documents {sorted(unknown)}, which it does not take; remove")
        if hints.get("return") is not str:
            raise _Broken(f"tool {name} is hinted to return {hints.get('return')}; a tool returns text: '-> str'")
        total += len(parameters)
    return f"{len(s.tools)} tools with {total} arguments"


def check_rows(s: _Subject) -> str:
    """Rows have the four columns, text-only values, and survive JSON."""
    if not isinstance(s.rows, list) or len(s.rows) != s.n:
        raise _Broken(f"make_rows({s.n}) returned {_short(s.rows)}; return a list of {s.n} rows")
    for row in s.rows:
        if not isinstance(row, dict) or sorted(row) != sorted(COLUMNS):
            raise _Broken(f"a row has the columns {sorted(row)}; give exactly {', '.join(COLUMNS)}")
        for name in COLUMNS[1:]:
            if not isinstance(row[name], str) or not row[name]:
                raise _Broken(f"{name} is {_short(row[name])}; it must be text")
        if not isinstance(json.loads(row["task"]), dict):
            raise _Broken(f"task is {_short(row['task'])}; it must be the JSON text of an object")
        good = isinstance(row["prompt"], list) and row["prompt"] and all(isinstance(m, dict) for m in row["prompt"])
        if not good or any(not isinstance(m.get(k), str) for m in row["prompt"] for k in ("role", "content")):
            raise _Broken(f"prompt is {_short(row['prompt'])}; it must be a list of messages with role and content")
    if len({row["environment"] for row in s.rows}) != 1:
        raise _Broken("environment differs between rows; it is the name that `envs.load` knows the module by")
    if json.loads(json.dumps(s.rows)) != s.rows:
        raise _Broken("rows come back changed from JSON; use text, lists and dicts with text keys only")
    if len({row["task_id"] for row in s.rows}) != s.n:
        raise _Broken(f"task_id repeats among {s.n} rows; make it unique, for instance a hash of the task")
    return f"{s.n} rows with {len(s.rows[0])} columns, same after JSON"


def check_arrow(s: _Subject) -> str:
    """Rows survive Arrow, which is how `datasets` stores them."""
    try:
        import pyarrow
    except ImportError:
        return "skipped: pyarrow is not installed"
    back = pyarrow.Table.from_pylist(s.rows).to_pylist()
    for row, was in zip(back, s.rows):
        if row != was:
            name = next(k for k in COLUMNS if row[k] != was[k])
            raise _Broken(
                f"{name} {_short(was[name])} comes back from Arrow as {_short(row[name])}; give all rows and messages "
                "the same keys, and keep what varies inside the task text"
            )
    return f"{s.n} rows, same after Arrow"


def check_seed(s: _Subject) -> str:
    """Same arguments, same rows; the global random state is neither used nor disturbed."""
    rows = s.rows  # made before the random state is looked at
    outer = random.getstate()
    random.seed("contract")
    before = random.getstate()
    again = s.module.make_rows(s.n, seed=0, **s.knobs)
    touched = random.getstate() != before
    random.setstate(outer)
    if again != rows:
        raise _Broken("make_rows gave other rows for the same seed; draw from random.Random(seed) only")
    if touched:
        raise _Broken("make_rows draws from the global random state; draw from random.Random(seed) only")
    rows[0]["prompt"].append({"role": "user", "content": "changed by the caller"})
    del again[0]["prompt"][1:]
    fresh = s.module.make_rows(s.n, seed=0, **s.knobs)
    rows[0]["prompt"].pop()
    if fresh != rows:
        raise _Broken("make_rows hands out the same objects twice, so a caller can change them; build rows anew")
    return f"{s.n} rows, same again"


def check_splits(s: _Subject) -> str:
    """No task and no task_id is in two splits, whatever the seeds."""
    owner: dict[str, str] = {}
    splits = getattr(s.module, "SPLITS", ("train", "validation", "test"))
    for split in splits:
        for seed in (0, 1):
            for row in s.module.make_rows(s.n, seed=seed, split=split, **s.knobs):
                for key in (row["task"], row["task_id"]):
                    if owner.setdefault(key, split) != split:
                        raise _Broken(
                            f"{_short(key)} is in split {owner[key]!r} and in {split!r}; decide the split from a hash "
                            "of the task, not from the seed"
                        )
    return f"{', '.join(splits)} share no task"


def check_reset(s: _Subject) -> str:
    """`reset` works with anything, returns a prompt only if none was given, and starts the world again."""
    env = s.module.ENV()
    bare = env.reset()
    if not isinstance(bare, str) or not bare:
        raise _Broken(f"reset() returned {_short(bare)}; without a prompt it must return one, for a built-in task")
    s.live(env, [])
    for row, calls in zip(s.rows, s.calls):
        given = deepcopy(row)
        seen = env.reset(**given, unknown_column=[1, None])
        if seen is not None:
            raise _Broken(f"reset(prompt=..., task=...) returned {_short(seen)}; return None when a prompt is given")
        if given != row:
            raise _Broken("reset changed the row it was given; copy what it needs")
        started = _state(s.fresh(row))
        if names := _changed(started, env):
            raise _Broken(f"{names[0]} is not what a new instance has; bind every attribute in reset")
        s.live(env, calls)
        text = env.reset(task=row["task"])
        if not isinstance(text, str) or not text:
            raise _Broken(f"reset(task=...) returned {_short(text)}; without a prompt it must return one")
        if names := _changed(started, env):
            raise _Broken(f"{names[0]} keeps what the last episode left there; bind every attribute in reset")
        if getattr(env, "metrics", {}) != getattr(s.fresh(row), "metrics", {}):
            raise _Broken("metrics keep what the last episode left there; bind them in reset")
    return f"{s.n} resets after use give the state of a new instance"


def check_gold(s: _Subject) -> str:
    """The gold answer scores 1, as text and as messages."""
    for row, gold, calls in zip(s.rows, s.gold, s.calls):
        forms = [gold, _messages(calls)] if calls else [gold]
        if isinstance(gold, str):
            forms.append([{"role": "assistant", "content": gold}])
        for form in forms:
            verdict = s.module.score(deepcopy(form), row)
            if verdict.reward != 1.0:
                raise _Broken(
                    f"the gold answer {_short(form)} of {row['task_id']} scores {verdict.reward} ({verdict.reason}); "
                    "make answer and the grader agree"
                )
            if not isinstance(verdict.reason, str) or not verdict.reason:
                raise _Broken(
                    f"the reason is {_short(verdict.reason)}; say in plain words why the reward is what it is"
                )
    if not any(s.calls):
        raise _Broken("no gold answer makes a tool call, so doing nothing scores 1; make tasks that ask for something")
    return f"{s.n} of {s.n} gold answers score 1"


def check_no_credit(s: _Subject) -> str:
    """Nothing, the prompt, garbage, and the gold answer of another task score 0."""
    pairs = 0
    for i, row in enumerate(s.rows):
        if not s.calls[i]:  # doing nothing is right there
            continue
        prompt = "\n\n".join(message["content"] for message in row["prompt"])
        tries: dict[str, object] = {"an empty text": "", "an empty list of messages": [], "the prompt": prompt}
        tries["the last message of the prompt"] = row["prompt"][-1]["content"]
        tries["the prompt as the model's turn"] = [{"role": "assistant", "content": prompt}]
        tries["the task column"] = row["task"]
        other = (i + 1) % s.n
        if s.calls[other] != s.calls[i]:
            tries[f"the gold answer of {s.rows[other]['task_id']}"] = s.gold[other]
            pairs += 1
        for what, completion in tries.items():
            verdict = s.module.score(deepcopy(completion), row)
            if verdict.reward != 0.0:
                raise _Broken(
                    f"{what} scores {verdict.reward} on {row['task_id']} ({verdict.reason}); "
                    "give no reward for what does not do the task"
                )
    return f"empty, echo and {pairs} gold answers of other tasks score 0"


def check_parse(s: _Subject) -> str:
    """`parse` never raises on model text, and returns (tool, arguments) pairs."""
    for row, gold in zip(s.rows[:2], s.gold):
        gold = gold if isinstance(gold, str) else json.dumps(gold)
        for text in (*_GARBAGE, gold[: len(gold) // 2], gold[len(gold) // 2 :], gold * 3, "<think>" + gold):
            try:
                calls = s.module.parse(text, row)
                reward = s.module.score(text, row).reward
            except Exception as error:
                raise _Broken(
                    f"{_short(text)} makes it raise {type(error).__name__}: {error}; text that is no answer gives []"
                ) from error
            pair = isinstance(calls, list) and all(isinstance(c, tuple) and len(c) == 2 for c in calls)
            if not pair or any(not isinstance(name, str) or not isinstance(kw, dict) for name, kw in calls):
                raise _Broken(f"{_short(text)} gives {_short(calls)}; return a list of (tool, arguments) tuples")
            if not calls and reward != 0.0 and s.calls[s.rows.index(row)]:
                raise _Broken(f"{_short(text)} scores {reward} with no call; the reward comes from the state alone")
    return f"{len(_GARBAGE) + 4} texts"


def check_replay(s: _Subject) -> str:
    """Calls made on a live instance and the same calls scored from text or messages give one reward."""
    compared = 0
    for i, row in enumerate(s.rows):
        calls, other = s.calls[i], s.gold[(i + 1) % s.n]
        forms = [s.gold[i], other, "", row["prompt"][-1]["content"]]
        forms += [_messages(part) for part in (calls, calls[:-1], calls + calls, calls[::-1]) if part]
        for form in forms:
            env = s.fresh(row)
            live = s.live(env, s.calls_in(form, row))
            verdict = s.module.score(deepcopy(form), row)
            if live != verdict.reward:
                raise _Broken(
                    f"{_short(form)} earns {live} live and {verdict.reward} from score; let score replay the calls "
                    "into a fresh instance and ask get_reward"
                )
            if dict(verdict.metrics) != env.metrics:
                raise _Broken(f"metrics are {env.metrics} live and {verdict.metrics} from score; take them from replay")
            compared += 1
    return f"{compared} completions, live and replayed"


def check_get_reward(s: _Subject) -> str:
    """`get_reward` returns a float or None, changes nothing, and refreshes `metrics`."""
    for row, calls in zip(s.rows, s.calls):
        env = s.fresh(row)
        for part in ([], calls):
            first = s.live(env, part)
            before, metrics = _state(env), deepcopy(getattr(env, "metrics", None))
            if first is not None and type(first) is not float:
                raise _Broken(f"it returned {_short(first)}; return a float, or None for what could not be judged")
            if not isinstance(metrics, dict) or any(
                not isinstance(k, str) or isinstance(v, bool) or not isinstance(v, int | float)
                for k, v in metrics.items()
            ):
                raise _Broken(f"metrics are {_short(metrics)}; let them be a dict of numbers by name")
            for _ in range(2):
                again = env.get_reward()
                if again != first or env.metrics != metrics or _changed(before, env):
                    raise _Broken(f"it gave {first}, then {again}, or changed the state; only look at the state")
    return "same when asked again"


def check_bad_arguments(s: _Subject) -> str:
    """A tool refuses what its hints do not allow with ValueError, and a refused call changes nothing.

    A call may be counted: a whole number that grows by one is no change. Odd values of the right type, and numbers
    for text or text for numbers, may be taken or refused, but raise nothing else.
    """
    good: dict[str, dict] = {}
    for calls in s.calls:
        for name, arguments in calls:
            good.setdefault(name, arguments)
    row, refused = s.rows[0], 0
    for name in s.tools:
        parameters = inspect.signature(getattr(s.module.ENV(), name)).parameters
        hints = typing.get_type_hints(getattr(s.module.ENV, name))
        usual = good.get(name) or {p: _example(hints[p]) for p in parameters}
        cases: list[tuple[dict, bool, tuple]] = [({**usual, "no_such_argument": 1}, True, (ValueError, TypeError))]
        if any(p.default is p.empty for p in parameters.values()):
            cases.append(({}, True, (ValueError, TypeError)))
        for p in parameters:
            for value in (None, ["x"], {"a": {"b": [1]}}, "x", 10**30, -1, 1.5, float("nan"), True, "", "\ud800", []):
                wrong = not _fits(value, hints[p])
                lenient = _scalar(value) and any(_fits(v, hints[p]) for v in ("", 0, 0.0, True)) and value != "x"
                lenient |= value == "x" and _fits("", hints[p])
                cases.append(({**usual, p: value}, wrong and not lenient, (ValueError,)))
        for arguments, must_refuse, allowed in cases:
            env = s.fresh(row)
            start, before = env.get_reward(), _state(env)
            call = f"{name}({', '.join(f'{k}={_short(v)}' for k, v in arguments.items())})"
            try:
                result = getattr(env, name)(**deepcopy(arguments))
            except allowed as error:
                refused += 1
                if not str(error):
                    raise _Broken(f"{call} raised ValueError without a message; say what to do instead") from error
                if names := _changed(before, env, calls=1):
                    raise _Broken(f"{call} was refused but changed {names[0]}; check before changing") from error
                if env.get_reward() != start:
                    raise _Broken(f"{call} was refused but changed the reward; check before changing") from error
                continue
            except Exception as error:
                raise _Broken(
                    f"{call} raised {type(error).__name__}: {error}; raise ValueError with advice for the model"
                ) from error
            if must_refuse:
                raise _Broken(f"{call} was accepted; raise ValueError with advice for the model")
            if not isinstance(result, str):
                raise _Broken(f"{call} returned {_short(result)}; a tool returns text")
        env = s.fresh(row)
        bad = {**usual, **{p: {"a": {"b": [1]}} for p in parameters if not _fits({}, hints[p])}}
        if bad != usual and s.live(env, [(name, bad), *s.calls[0]]) != 1.0:
            raise _Broken(f"after a refused {name} the gold calls no longer score 1; a refused call changes nothing")
    return f"{refused} calls refused, nothing changed"


def _scalar(value) -> bool:
    return isinstance(value, str | int | float)


def _example(hint):
    """Some value that has the hinted type."""
    values = ("x", 1, 1.5, True, [], {}, None, *typing.get_args(hint))
    return next((value for value in values if _fits(value, hint)), "x")


def check_interleave(s: _Subject) -> str:
    """Instances share nothing: episodes played in turns end as they would alone."""
    envs = [s.fresh(row) for row in s.rows]
    idle = [s.fresh(row) for row in s.rows]
    before = [_state(env) for env in idle]
    for turn in range(max(map(len, s.calls))):
        for env, calls in zip(envs, s.calls):
            s.live(env, calls[turn : turn + 1])
    for row, env, other, state in zip(s.rows, envs, idle, before):
        if (reward := env.get_reward()) != 1.0:
            raise _Broken(f"{row['task_id']} ends with {reward} when played in turns with others; share no state")
        if names := _changed(state, other):
            raise _Broken(f"playing one instance changed {names[0]} of another; bind every attribute in reset, anew")
    return f"{s.n} episodes in turns"


def check_reward(s: _Subject) -> str:
    """`reward` agrees with `score`, takes text and messages, and ignores keywords that it does not know."""
    completions = [*s.gold, *["no idea"] * s.n, *[[{"role": "assistant", "content": "no idea"}]] * s.n]
    rows = s.rows * 3
    columns = {name: [row[name] for row in rows] for name in ("environment", "task_id", "task")}
    got = s.module.reward(
        completions=deepcopy(completions),
        prompts=[row["prompt"] for row in rows],
        **columns,
        completion_ids=[[0]] * len(rows),
        trainer_state=None,
    )
    if not isinstance(got, list) or len(got) != len(rows) or any(v is not None and type(v) is not float for v in got):
        raise _Broken(f"it returned {_short(got)}; return a list of float or None, one for each completion")
    want = [s.module.score(deepcopy(c), row).reward for c, row in zip(completions, rows)]
    if got != want:
        raise _Broken(f"it returned {_short(got)} where score says {_short(want)}; let it call score")
    return f"{len(got)} completions, same as score"


CHECKS = (
    check_surface, check_documented, check_rows, check_arrow, check_seed, check_splits, check_reset, check_gold,
    check_no_credit, check_parse, check_replay, check_get_reward, check_bad_arguments, check_interleave, check_reward,
)  # fmt: skip
