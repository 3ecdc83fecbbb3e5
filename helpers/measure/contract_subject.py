# SPDX-License-Identifier: Apache-2.0
"""The environment that the contract's checks look at, and what they say when it breaks a promise."""

import inspect
import json
import pickle
import types
import typing
from contextlib import suppress
from copy import deepcopy
from functools import cached_property

from helpers.episodes.environment import tools_of

GARBAGE = ("", " ", "\x00", "\ud800", "no idea", "<think>", "</think>", "<answer>", "<tool_call>", "<tool_call>{",
            '<tool_call>{"name": 1}</tool_call>', '<tool_call>{"name": "reset", "arguments": {}}</tool_call>',
            '<tool_call>{"name": "__init__", "arguments": []}</tool_call>', "[" * 5000, "{" * 5000, "\\boxed{",
            "```", "```python\n", "1 " * 5000, "|" * 5000, "null", "[[1, 2], [3]]")  # fmt: skip


class Broken(Exception):
    """A broken promise: what was seen, and what to do."""


class Subject:
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
        return tools_of(self.module)

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


def public_names(cls: type) -> list[str]:
    return [name for name in dir(cls) if not name.startswith("_")]


def as_messages(calls: list[tuple[str, dict]]) -> list[dict]:
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


def state_of(env) -> dict:
    """The frozen attributes of an instance, by name; `metrics` is what `get_reward` reports, not state."""
    return {name: _freeze(value) for name, value in sorted(vars(env).items()) if name != "metrics"}


def changed(before: dict, env, calls: int = 0) -> list[str]:
    """Attributes that differ from `before`. A whole number that grew by at most `calls` is a counter of calls."""
    after = state_of(env)
    names = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new:
            counter = old and new and old[0] == new[0] == "int" and 0 < int(new[1]) - int(old[1]) <= calls
            if not counter:
                names.append(name)
    return names


def fits(value, hint) -> bool:
    """Whether a value has the hinted type, as JSON schema would say."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if hint in (typing.Any, object, inspect.Parameter.empty):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in of)
    if origin is typing.Literal:
        return any(value == one and type(value) is type(one) for one in of)
    if origin is typing.Annotated:
        return fits(value, of[0])
    if hint is None or hint is type(None):
        return value is None
    kind = origin or hint
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(kind, type) or isinstance(value, kind)


def short(value) -> str:
    text = repr(value)
    return text if len(text) < 100 else text[:80] + f"... ({len(text)} characters)"
