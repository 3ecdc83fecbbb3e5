# SPDX-License-Identifier: Apache-2.0
"""Grading: completions as tool calls, replayed in a fresh environment."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from .completions import calls_and_text, calls_in_text, usable
from .environment import SMALL, CodeEnv, source_of
from .extraction import extract
from .tasks import task_of


class Verdict(NamedTuple):
    """What the grader says.

    `reason` is for people: the kind of failure, a colon, and the first failing test. `kind` is that kind alone, one of
    `CAPABILITIES`, and empty for a right answer.
    """

    reward: float | None
    reason: str
    metrics: dict[str, float]
    kind: str = ""


CAPABILITIES = {  # kind of failure: what the policy cannot do yet
    "no answer": "gives an answer at all",
    "several answers": "commits to one answer",
    "wrong answer": "gets the result right",
    "syntax error": "writes code that parses",
    "no function": "defines what is asked, under its name",
    "exception": "writes code that runs without error",
    "time limit": "writes code that ends in time",
    "memory limit": "writes code that needs little memory",
    "output limit": "prints no more than the answer",
    "bad value": "returns values of the asked kind",
    "exited": "lets the caller go on",
    "crashed": "keeps the interpreter alive",
    "tool fault": "calls tools with valid arguments",
    "unjudged": "(the verifier could not judge)",
}


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
    """The tool calls that a text stands for: calls as they are written, else one `submit` of its code."""
    if not isinstance(text, str):
        return []
    return _calls_in(text, row.get("task"))[0]


def _calls_in(text: str, task: str | None) -> tuple[list[tuple[str, dict]], str]:
    """The tool calls that a text stands for, or none and the reason."""
    if calls := usable(calls_in_text(text)):
        return calls, ""
    code, fault = extract(text, task_of(task or SMALL).entry_point)
    return ([] if code is None else [("submit", {"code": code})]), fault


def score(completion: str | list[dict] | None, row: dict) -> Verdict:
    """Grade a completion: text, or chat messages. Their tool calls are replayed; the text counts if there are none."""
    made, text = calls_and_text(completion)
    calls = usable(made)
    task = row.get("task") or SMALL
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
    reward_, reason = env.get_reward(), f"tool fault: {refusal}" if refusal else fault
    if env._done:
        _, reason = env._verdict
    return Verdict(reward_, reason, env.metrics, "" if reward_ == 1 else reason.partition(":")[0])


def _replayed_run(env: CodeEnv, code: str) -> None:
    env._count(20)
    source_of(code)


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
