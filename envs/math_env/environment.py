# SPDX-License-Identifier: Apache-2.0
"""The environment: its tools, and the grading of completions."""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from . import python_tool
from .answers.judging import judge_text
from .calculator import calculate
from .completions import calls_and_text, calls_in_text, usable
from .extraction import extract

CAPABILITIES = {  # kind of failure: what the policy cannot do yet
    "no answer": "gives an answer at all",
    "wrong answer": "gets the result right",
    "judged wrong": "gets the result right",
    "tool fault": "calls tools with valid arguments",
    "undecided": "(the verifier could not decide)",
}


class Verdict(NamedTuple):
    """What the grader says: `reason` starts with the kind of result, then a colon, then the details."""

    reward: float | None
    reason: str
    metrics: dict[str, float]
    kind: str = ""  # of failure, a key of `CAPABILITIES`; empty for a right answer


class MathEnv:
    """One problem. `calculate` and, if the row says so, `run_python` help; `submit` hands in the answer; reward 1 if it
    means what the gold one does."""

    def reset(self, *, prompt=None, task: str | None = None, **_) -> str | None:
        """Start the problem in `task`; without one, a small built-in problem."""
        fields = _task(task or _SMALL)
        self._gold, self._form = fields["answer"], str(fields.get("form") or "")
        self._runs_python = bool(fields.get("run_python"))
        self._answer: str | None = None
        self._verdict: tuple[float | None, str] = (0.0, "no answer: nothing was handed in")
        if not self._gold.strip():
            self._verdict = (None, "undecided: the gold answer is empty")
        self._calls = 0
        self.metrics: dict[str, float] = {}
        return None if prompt else fields.get("question") or _SMALL_PROMPT

    def calculate(self, expression: str) -> str:
        """Work out an expression exactly, or with 15 digits where the value is no fraction.

        Args:
            expression: Numbers, + - * / ^ ( ), and functions such as sqrt, sin, ln, factorial as n!, gcd(a, b).

        Returns:
            The value.
        """
        self._count(30)
        if type(expression) is not str:
            raise ValueError(f"expression must be text such as (3 + 4)/2, got {expression!r:.40}")
        return calculate(expression)

    def run_python(self, code: str) -> str:
        """Run a Python program of your own, in a sandbox, for at most 3 seconds.

        Args:
            code: The program. What it prints is what you get to read.

        Returns:
            What it printed, and its error if there was one.
        """
        self._admit(code)
        return python_tool.run(code)

    def submit(self, answer: str) -> str:
        """Hand in the final answer. The first answer handed in is final.

        Args:
            answer: The answer and nothing else: a number, an expression, a set, a word.

        Returns:
            A confirmation.
        """
        self._count(40)
        if type(answer) is not str:
            raise ValueError(f"answer must be text such as 3/4, got {answer!r:.40}")
        if not answer.strip():
            raise ValueError("answer is empty; hand in a number, an expression or a word")
        self._answer = answer
        self._verdict = self._judged(answer)
        return "Answer recorded."

    def get_reward(self) -> float | None:
        """1.0 if the answer handed in is right, 0.0 if it is wrong or missing, None if the rules cannot tell."""
        reward_, reason = self._verdict
        self.metrics = {
            "answered": float(self._answer is not None),
            "undecided": float(reward_ is None),
            "unreadable": float("not readable" in reason or "over the limits" in reason),
            "calls": float(self._calls),
        }
        return reward_

    def _admit(self, code: str) -> None:
        """Count a program, or refuse it. That is all it does to the episode, so a replay does not run it again."""
        self._count(30)
        if not self._runs_python:
            raise ValueError("this problem is to be solved without run_python; use calculate and submit")
        if type(code) is not str or not code.strip():
            raise ValueError(f"code must be a Python program as text, got {code!r:.40}")

    def _judged(self, found: str) -> tuple[float | None, str]:
        if "\\boxed" in found or "\\fbox" in found:
            inner, rule = extract(found, boxed_only=True)
            if inner is None:
                return 0.0, f"no answer: {rule}"
            found = inner
        return _remembered(self._gold, found, self._form)

    def _count(self, limit: int) -> None:
        if self._answer is not None:
            raise ValueError("the answer is handed in; stop without a tool call")
        if self._calls >= limit:
            raise ValueError(f"{limit} calls are used up; {'submit an answer' if limit < 40 else 'stop here'}")
        self._calls += 1


ENV = MathEnv
_SMALL_PROMPT = "What is 2 + 3? Answer in \\boxed{}."
_SMALL = json.dumps({"answer": "5", "question": _SMALL_PROMPT})


class _Undecided(Exception):
    """A verdict of None, which is not remembered: SymPy may have been late."""


@lru_cache(maxsize=4096)  # a policy says the same thing again and again in a group
def _decided(gold: str, found: str, form: str) -> tuple[float, str]:
    result = judge_text(gold, found, form)
    if result[0] is None:
        raise _Undecided(result[1])
    return result


def _remembered(gold: str, found: str, form: str) -> tuple[float | None, str]:
    try:
        return _decided(gold, found, form)
    except _Undecided as why:
        return None, str(why)


@lru_cache(maxsize=4096)
def _task(task: str) -> dict:
    fields = json.loads(task)
    gold = fields.get("answer")
    if isinstance(gold, list | tuple):
        gold = gold[0] if len(gold) == 1 else ", ".join(map(str, gold))
    return {**fields, "answer": "" if gold is None else str(gold)}


def tools_for(row: dict) -> list[str]:
    """Names of the tools that a row offers: `run_python` only where its task asks for it."""
    return ["calculate", "submit", *(["run_python"] if _task(row["task"]).get("run_python") else [])]


def answer(row: dict) -> str | list[dict]:
    """A right answer as a model would write it: the steps, then the boxed answer; tool calls for a row with tools."""
    fields = _task(row["task"])
    steps, gold = fields.get("steps", ""), fields["answer"]
    if not fields.get("tools"):
        return f"{steps} \\boxed{{{gold}}}".strip()
    calls = [("calculate", {"expression": e}) for e in fields.get("calculations", [])] + [("submit", {"answer": gold})]
    env, messages = MathEnv(), []
    env.reset(**row)
    for i, (name, arguments) in enumerate(calls):
        call = {"type": "function", "id": f"call_{i}", "function": {"name": name, "arguments": arguments}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        said = getattr(env, name)(**arguments)
        messages.append({"role": "tool", "name": name, "tool_call_id": f"call_{i}", "content": said})
    return [*messages, {"role": "assistant", "content": f"\\boxed{{{gold}}}"}]


def parse(text: str, row: dict) -> list[tuple[str, dict]]:
    """The tool calls that a text stands for: calls as they are written, else one `submit` of its answer."""
    if not isinstance(text, str):
        return []
    return _calls_in(text, row.get("task"))[0]


def calls_of(completion: object, task: str | None) -> tuple[list[tuple[str, dict]], str]:
    """The calls in messages, and those that the last text stands for where none of them hands in an answer; and the
    rule by which an answer was found in a text without calls, or why there is none."""
    made, text = calls_and_text(completion)
    calls = made and usable(made)
    if not calls:
        return _calls_in(text, task)
    if text and not any(name == "submit" for name, _ in calls):
        calls += parse(text, {})
    return calls, ""


def _calls_in(text: str, task: str | None) -> tuple[list[tuple[str, dict]], str]:
    """The tool calls that a text stands for, and the rule by which its answer was found, or why there is none."""
    if (made := calls_in_text(text)) and (calls := usable(made)):
        return calls, ""
    found, rule = extract(text, _boxed_only(task))
    return ([("submit", {"answer": found})] if found and found.strip() else []), rule


def _boxed_only(task: str | None) -> bool:
    return bool(task) and _task(task).get("extract") == "boxed"


def score(
    completion: str | list[dict] | None, row: dict, judge: Callable[[str, str, str], bool | None] | None = None
) -> Verdict:
    """Grade a completion: text, or chat messages. Their tool calls are replayed; else the text counts.

    Args:
        completion: What the model said.
        row: The row it answers; the field `answer` of its task is the gold answer.
        judge: Asked only where the rules cannot tell, with the question, the gold answer and the one found; it says
            True, False, or None if it cannot tell either.
    """
    task = row.get("task") or _SMALL
    env = MathEnv()
    env.reset(prompt=True, task=task)
    calls, rule = calls_of(completion, task)
    refusal = ""
    for name, arguments in calls:
        try:
            if name not in (tools := tools_for({"task": task})):
                raise ValueError(f"there is no tool {name!r:.40}; the tools are {', '.join(tools)}")
            (env._admit if name == "run_python" else getattr(env, name))(**arguments)
        except (ValueError, TypeError) as fault:  # a refused call changes nothing, live as here
            refusal = refusal or str(fault)
    reward_ = env.get_reward()
    _, reason = env._verdict
    if env._answer is None:
        reason = (
            reason
            if reward_ is None
            else f"tool fault: {refusal}"
            if refusal
            else f"no answer: {rule or 'nothing was handed in'}"
        )
    else:
        reason += f" (read from {rule})" if rule else ""
    metrics = dict(env.metrics)
    if reward_ is None and judge is not None and env._answer is not None:
        said = judge(_question(row), env._gold, env._answer)
        if said is not None:
            reward_, reason = float(bool(said)), f"judged {'right' if said else 'wrong'}: {reason}"
        metrics["judged"] = float(said is not None)
    return Verdict(reward_, reason, metrics, "" if reward_ else reason.partition(":")[0])


def _question(row: dict) -> str:
    prompt = row.get("prompt")
    if isinstance(prompt, str):
        return prompt
    return next((str(m.get("content") or "") for m in reversed(prompt or []) if m.get("role") == "user"), "")


def reward(completions: list, task: list[str], **_) -> list[float | None]:
    """Reward function for TRL: one float or None for each completion and its `task` column."""
    return [score(completion, {"task": one}).reward for completion, one in zip(completions, task)]
