# SPDX-License-Identifier: Apache-2.0
"""An episode: one answer to one task with its verdict. Every part of this project that makes one makes it here."""

from typing import Any, TypedDict


class Episode(TypedDict, total=False):
    """What is kept of an answer, in memory and as one line of JSON."""

    task_id: str
    sample: int  # which of the answers to this task
    policy: str
    version: str  # of the environment's code
    environment: str
    prompt: list[dict]
    task: str
    messages: list[dict]  # what came after the prompt
    reward: float | None  # None: the answer could not be judged
    reason: str  # for people
    kind: str  # the failure's short name; "" for a right answer
    metrics: dict[str, float]
    finish_reason: str  # "stop", or "length" when the token limit cut the last reply off
    steps: int  # replies of the policy


def episode(row: dict, messages: list[dict], verdict: tuple, **more: Any) -> dict:
    """The record of an answer, an `Episode`.

    Args:
        row: The task.
        messages: What came after its prompt.
        verdict: (reward, reason, metrics) and, where the environment names it, the kind of failure.
        **more: Further fields, such as `sample`, `policy` and the settings of the run.
    """
    reward, reason, metrics = verdict[:3]
    kind = verdict[3] if len(verdict) > 3 else kind_of({"reward": reward, "reason": reason})
    replies = [message for message in messages if message["role"] == "assistant"]
    finish = replies[-1].get("finish_reason", "stop") if replies else "stop"
    if reward == 0.0 and finish == "length":
        reason, kind = f"truncated: cut off at the token limit ({reason})", "truncated"
    made = {
        "task_id": row["task_id"],
        "environment": row["environment"],
        "reward": reward,
        "reason": reason,
        "kind": kind,
        "metrics": metrics,
        "messages": messages,
        "finish_reason": finish,
        "steps": len(replies),
        "prompt": row["prompt"],
        "task": row["task"],
    }
    return made | more


def kind_of(episode: dict) -> str:
    """The kind of failure, "" for a right answer. Verdicts without the field begin their reason with it."""
    if "kind" in episode:
        return episode["kind"]
    right = episode.get("reward") is not None and episode["reward"] >= 1
    return "" if right else str(episode.get("reason") or "").partition(":")[0]


def as_text(message: dict) -> str:
    """What a chat message says and calls; a tool's answer after an arrow."""
    calls = [f"{c['function']['name']}({c['function']['arguments']})" for c in message.get("tool_calls") or []]
    text = message.get("content") or ""
    return "\n".join(([f"-> {text}"] if message["role"] == "tool" else [text] if text else []) + calls)
