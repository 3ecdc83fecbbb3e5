# SPDX-License-Identifier: Apache-2.0
"""Scoring completions: the calls in them are replayed into a fresh session, which then says its reward."""

from contextlib import suppress
from typing import NamedTuple

from .actions import ACTIONS, WRITES
from .completions import Call, calls_and_text, calls_in_text, usable
from .larkfield import company
from .matching import Change, changes_of
from .office import _SMALL, WorkplaceEnv, goal_of
from .tables import Tables

CAPABILITIES = {  # kind of failure: what the policy cannot do yet
    "no answer": "gives an answer at all",
    "missing write": "carries out the whole request",
    "wrong value": "writes the right values",
    "wrong order": "acts in the order of the request",
    "side effect": "changes nothing else",
    "tool fault": "calls tools with valid arguments",
    "unjudged": "(the verifier could not judge)",
}


class Verdict(NamedTuple):
    """What the grader says: `reason` starts with the kind of failure, then a colon, then the first fault."""

    reward: float | None
    reason: str
    metrics: dict[str, float]
    kind: str = ""  # of failure, a key of `CAPABILITIES`; "unjudged" for a broken task; empty for a right answer


def parse(text: str, row: dict) -> list[tuple[str, dict]]:
    """The tool calls that a text stands for, those with broken arguments left out."""
    return usable(calls_in_text(text)) if isinstance(text, str) else []


def calls_in(completion: object) -> list[Call]:
    """The calls of a completion: those of its messages, else those in the text of its last assistant message."""
    calls, text = calls_and_text(completion)
    return calls or calls_in_text(text)


def score(completion: str | list[dict] | None, row: dict, tables: Tables | None = None) -> Verdict:
    """Grade a completion: text, or chat messages, whose tool calls are replayed.

    Args:
        completion: What the model said.
        row: The task; its column `task` is enough.
        tables: Another company than the built-in one, as `load_tables` returns it.
    """
    env = WorkplaceEnv()
    try:
        env._begin(row.get("task") or _SMALL, tables or company())
    except ValueError as error:
        return Verdict(None, f"broken task: {error}", {}, "unjudged")
    calls = calls_in(completion)
    accepted, refusal = 0, ""
    for call in calls:
        try:
            _replay(env, call)
            accepted += 1
        except (ValueError, TypeError) as error:  # a refused call changes nothing, live as here
            refusal = refusal or str(error).replace("WorkplaceEnv.", "")
    value = env.get_reward()
    reason = _why(env, value, len(calls), accepted, refusal)
    kind = "unjudged" if value is None else "" if value else reason.partition(":")[0]
    return Verdict(value, reason, env.metrics, kind)


def reward(completions: list, task: list[str], **_) -> list[float | None]:
    """Reward function for TRL: one float for each completion and its `task` column."""
    return [score(completion, {"task": one}).reward for completion, one in zip(completions, task)]


def changes(completion: str | list[dict] | None, row: dict, tables: Tables | None = None) -> list[Change]:
    """The fields in which the tables before, after the completion and as the task wants them are not all the same.

    Args:
        completion: What the model said: text, or chat messages, whose tool calls are replayed.
        row: The task.
        tables: Another company than the built-in one, as `load_tables` returns it.
    """
    env = WorkplaceEnv()
    env._begin(row["task"], tables or company())
    for call in calls_in(completion):
        with suppress(ValueError, TypeError):  # a refused call changes nothing
            _replay(env, call)
    return changes_of(env._session, goal_of(row["task"], env._tables).session)


def _replay(env: WorkplaceEnv, call: Call) -> None:
    if call.fault:
        raise ValueError(call.fault)
    if call.name not in ACTIONS:
        raise ValueError(f"there is no tool {call.name!r:.60}")
    getattr(env, call.name)(**call.arguments)


def _why(env: WorkplaceEnv, value: float | None, calls: int, accepted: int, refusal: str) -> str:
    """The reason for a reward, in plain words."""
    goal = goal_of(env._text, env._tables)
    if value is None:
        return f"broken task: {goal.fault}"
    if value:
        return "done" if any(name in WRITES for name, *_ in goal.path) else "done: nothing was to be changed"
    first = env._faults()[0]
    if not calls and not first.startswith("no answer"):
        return f"no answer: no tool was called; {first}"
    if refusal and not accepted:
        return f"tool fault: {refusal}"
    return f"{first} (refused: {refusal})" if refusal and first.startswith("missing write") else first
