# SPDX-License-Identifier: Apache-2.0
"""What a request asks of an environment: begin an episode, call a tool, verify a response."""

import json
from contextlib import suppress

from fastapi import HTTPException, Response

from helpers.episodes.environment import reader_of, tools_of
from helpers.episodes.responses import to_messages
from helpers.serve.bodies import json_reply, missing, refuse_number
from helpers.serve.sessions import Session


def _row(module, body: dict) -> dict:
    """The row in a request: ours, or one of NeMo Gym's if the environment reads those.

    Raises:
        HTTPException: there is none.
    """
    for ours in (body, body.get("episode")):  # where `to_nemo_gym` puts it
        if isinstance(ours, dict) and isinstance(ours.get("task"), str):
            return {name: ours.get(name) for name in ("prompt", "environment", "task_id", "task")}
    reader = reader_of(module)
    if not reader or not isinstance(body.get("responses_create_params"), dict):
        raise missing("task")
    try:
        return reader([{name: value for name, value in body.items() if value is not None}])[0]
    except Exception as error:
        raise missing("task", f"Field required; the row has none and is none of NeMo Gym's ({error})") from None


def begin(module, body: dict, size: int) -> Session:
    """A session for the row in a request; without any, for the small task that every environment has."""
    row, env = _row(module, body) if body else {}, module.ENV()
    try:
        env.reset(**row)
        tools = tools_of(module, row if row else None)
    except Exception as error:
        raise HTTPException(422, f"the row's task can't begin: {error}") from None
    return Session(env, frozenset(tools), size)


def call_tool(session: Session, tool: str, arguments: dict) -> tuple[object, bool]:
    """The output of a tool, and whether it refused. Whatever goes wrong is text for the model."""
    try:
        if tool not in session.tools:
            raise ValueError(f"there is no tool {tool!r:.60}; the tools are {', '.join(sorted(session.tools))}")
        given = {name: value for name, value in arguments.items() if value is not None}  # null: left out
        return _unpacked(getattr(session.env, tool)(**given)), False
    except Exception as error:
        return f"Error executing tool {tool!r:.60}: {error}", True


def _without_nulls(item: dict) -> dict:
    """A call as `/{tool}` carries it out, so that a verdict is on what happened in the session."""
    text = item.get("arguments")
    if item.get("type") == "function_call" and isinstance(text, str) and "null" in text:
        with suppress(ValueError, RecursionError):
            given = json.loads(text)
            if isinstance(given, dict) and None in given.values():
                kept = {name: value for name, value in given.items() if value is not None}
                return {**item, "arguments": json.dumps(kept)}
    return item


def _unpacked(text: str):
    """A list or object for a text that is exactly its JSON, so that a model does not read it escaped twice."""
    if text[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            value = json.loads(text, parse_constant=refuse_number)
            if json.dumps(value, ensure_ascii=False, separators=(",", ":")) == text:
                return value
    return text


def verify(module, body: dict) -> tuple[float | None, Response]:
    """The reward, and the reply of `/verify`: the row, the response, the reward, its reason and metrics."""
    for name in ("responses_create_params", "response"):
        if not isinstance(body.get(name), dict):
            raise missing(name)
    items = body["response"].get("output")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise missing("response.output")
    row = _row(module, body)
    try:
        messages = to_messages([_without_nulls(item) for item in items])
    except Exception as error:
        raise HTTPException(422, f"response.output can't be read: {type(error).__name__}: {error}") from None
    try:
        reward, reason, metrics = module.score(messages, row)[:3]
    except Exception as error:  # as in a rollout: unjudged, never a silent 0
        reward, reason, metrics = None, f"unjudged: {type(error).__name__}: {error}", {}
    verdict = {"reward": reward, "reason": reason}
    if reward is None:
        verdict["_ng_failure_class"] = "unjudged"  # NeMo Gym puts such rollouts aside and leaves them out of metrics,
        if body.get("agent_ref"):  # but its agents refuse a reward that is no number
            verdict["reward"] = 0.0
    try:
        return reward, json_reply({**metrics, **body, **verdict})
    except (ValueError, RecursionError) as error:
        raise HTTPException(422, f"the body can't be written as JSON again: {error}") from None
