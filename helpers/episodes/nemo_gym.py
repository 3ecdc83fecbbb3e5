# SPDX-License-Identifier: Apache-2.0
"""NeMo Gym's shapes: rows and episodes written for it and read from it, statistics of its verify replies."""

import json
from collections import defaultdict
from collections.abc import Iterable
from hashlib import sha256
from math import isfinite
from pathlib import Path
from statistics import fmean, median, stdev

from helpers.episodes.environment import offered, responses_schema, tools_of
from helpers.episodes.estimates import pass_at_k
from helpers.episodes.record import episode
from helpers.episodes.responses import _without, text_of, to_items, to_messages
from helpers.episodes.store import read

# --- rows and tools --------------------------------------------------------------------------------------


def gym_rows(module, rows: list[dict]) -> list[dict]:
    """Rows as NeMo Gym's agents take them: one line each of a JSONL file for a server of this module.

    Args:
        module: The environment, as `envs.load` returns it.
        rows: Its rows.

    Returns:
        The rows with `responses_create_params`, which holds the prompt and the tools the row offers.
    """
    schemas = {name: responses_schema(getattr(module.ENV, name)) for name in tools_of(module)}
    made = []
    for row in rows:
        asked = {"input": row["prompt"], "tools": [schemas[name] for name in tools_of(module, row)]}
        made.append({"responses_create_params": asked} | {k: row[k] for k in ("environment", "task_id", "task")})
    return made


def rows_from_gym(rows: str | Path | Iterable[dict], environment: str = "") -> list[dict]:
    """Read NeMo Gym rows for a `RemoteEnv`: each is kept whole, as the JSON text in the column `task`.

    Args:
        rows: The rows, or a JSONL file of them.
        environment: What to call the environment where a row does not say it.

    Raises:
        ValueError: one is no such row.
    """
    if isinstance(rows, str | Path):
        rows = read(rows, strict=True)
    made = []
    for i, row in enumerate(rows):
        asked = row.get("responses_create_params") if isinstance(row, dict) else None
        if not isinstance(asked, dict):
            raise ValueError(f"row {i} is no NeMo Gym row: it has no object called responses_create_params")
        task = json.dumps(row)
        named = row.get("task_id") or row.get("id")
        messages = to_messages(asked.get("input") or "")
        made.append(
            {
                "prompt": [{"role": m["role"], "content": text_of(m.get("content"))} for m in messages],
                "environment": str(row.get("environment") or row.get("environment_name") or environment),
                "task_id": sha256(task.encode()).hexdigest()[:12] if named is None else str(named),
                "task": task,
            }
        )
    return made


# --- statistics ------------------------------------------------------------------------------------------


def aggregate(verdicts: list[dict]) -> dict:
    """Statistics of verify replies, named as NeMo Gym names them.

    Args:
        verdicts: Replies of `/verify`, each with the `_ng_task_index` of its task.

    Returns:
        `group_level_metrics`: mean, max, min, median and std of every number, by task. `agent_metrics`: the same over
        all of them, and pass@k in percent. `key_metrics`: the means and pass@k. What could not be judged counts in
        none of them.
    """
    tasks: dict[int, list[dict]] = defaultdict(list)
    for verdict in verdicts:
        task = verdict.get("_ng_task_index") or 0
        tasks[task if isinstance(task, int) else 0].append(_numbers(verdict))
    groups = [{"_ng_task_index": i, "num_rollouts": len(tasks[i]), **_statistics(tasks[i])} for i in sorted(tasks)]
    overall = _statistics([numbers for group in tasks.values() for numbers in group])
    rewards = [[n["reward"] for n in group if "reward" in n] for group in tasks.values()]
    for k in range(1, min(64, *map(len, rewards)) + 1 if rewards else 1):
        chances = [pass_at_k(len(group), sum(r >= 1 for r in group), k) for group in rewards]
        overall[f"pass@{k}/accuracy"] = 100 * fmean(chances)
    key = {name: value for name, value in overall.items() if name.startswith(("mean/", "pass@"))}
    return {"group_level_metrics": groups, "agent_metrics": overall, "key_metrics": key}


def _numbers(verdict: dict) -> dict[str, float]:
    """The numbers of a verify reply by name, token counts among them; none of one that could not be judged."""
    if verdict.get("_ng_failure_class"):
        return {}
    response = verdict.get("response")
    usage = response.get("usage") if isinstance(response, dict) else None
    named = {**verdict, **(usage if isinstance(usage, dict) else {})}
    return {
        name: float(value)
        for name, value in named.items()
        if isinstance(value, int | float) and not name.startswith("_ng_") and abs(value) < 1e300
    }


def _statistics(rows: list[dict[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row[name] for row in rows if name in row]
        spread = stdev(values) if len(values) > 1 else 0.0
        kinds = {"mean": fmean(values), "max": max(values), "min": min(values), "median": median(values), "std": spread}
        found |= {f"{kind}/{name}": value for kind, value in kinds.items() if isfinite(value)}
    return found


_OURS = {"source": "rlvr-workbook"}  # marks a response whose item ids were made up here


_PLACES = ("responses_create_params", "response", "reward", "episode")


def from_nemo_gym(theirs: dict, environment: str = "") -> dict:
    """A dataset row or a rollout row of NeMo Gym as a row or an episode: `to_nemo_gym` gives the same back.

    Args:
        theirs: JSON object with `responses_create_params`, and `response` and `reward` where it is a rollout.
        environment: What to call the environment where the row does not say; give the same each time.

    Returns:
        {"prompt", "environment", "task_id", "task"}, and for a rollout also what an episode has. All that has no place
        there stands in the JSON text `task`, under "nemo_gym".

    Raises:
        ValueError: not such a row.
    """
    asked = theirs.get("responses_create_params")
    if not isinstance(asked, dict) or not isinstance(asked.get("input"), str | list):
        raise ValueError("a NeMo Gym row has responses_create_params with an input; this one has " + ", ".join(theirs))
    fields = _without(theirs, *_PLACES)
    prompt = to_messages(asked["input"])
    kept: dict = {"fields": fields, "params": _without(asked, "input"), "text": isinstance(asked["input"], str)}
    mine: dict = {
        "prompt": prompt,
        "environment": str(fields.get("environment_name") or environment),
        "task_id": f"nemo-gym-{sha256(json.dumps(prompt).encode()).hexdigest()[:12]}",
    }
    if "response" in theirs:
        kept["response"] = _without(theirs["response"], "output")
        output = theirs["response"]["output"]
        if theirs["response"].get("metadata") == _OURS:
            output = [_without(item, "id") for item in output]
        messages = to_messages(output)
        who = {"sample": fields.get("_ng_rollout_index", 0), "policy": theirs["response"].get("model", "")}
        mine = episode(mine | {"task": ""}, messages, (theirs.get("reward"), "", {}, ""), **who)
    mine["task"] = json.dumps({"nemo_gym": kept})
    own = theirs.get("episode") or {}
    gone = own.get("_absent", ())
    return {key: value for key, value in mine.items() if key not in gone} | _without(own, "_absent")


def to_nemo_gym(mine: dict, module=None) -> dict:
    """A row or an episode as NeMo Gym's JSONL holds it: `from_nemo_gym` gives the same back.

    Args:
        mine: A row, or an episode where it has `messages`. An episode that could not be judged has a null reward;
            leave it out where a number is needed.
        module: The environment whose tools are offered, for rows that did not come from there; None offers none.

    Returns:
        `responses_create_params`, the fields of the task beside it, for an episode `response` and `reward`; what has
        no place there stands under `episode`.
    """
    task = json.loads(mine["task"])
    kept: dict | None = task.get("nemo_gym")
    if kept is None:
        tools = [responses_schema(tool) for tool in offered(module, mine)] if module else []
        kept = {"fields": _without(task, *_PLACES), "params": {"tools": tools} if tools else {}, "text": False}
    asked = mine["prompt"][0]["content"] if kept["text"] else to_items(mine["prompt"])
    theirs = kept["fields"] | {"responses_create_params": kept["params"] | {"input": asked}}
    if "messages" in mine:
        fresh = {
            "id": f"resp_{mine['task_id']}_{mine.get('sample', 0)}",
            "object": "response",
            "created_at": 0.0,
            "model": mine.get("policy", ""),
            "status": "incomplete" if mine.get("finish_reason") == "length" else "completed",
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "metadata": _OURS,
        }
        output = to_items(mine["messages"])
        if "response" not in kept:  # their readers want ids
            output = [item | {"id": f"item_{i}"} for i, item in enumerate(output)]
        theirs["response"] = kept.get("response", fresh) | {"output": output}
        theirs["reward"] = mine["reward"]
    # where their row has no name for the environment, the caller of from_nemo_gym gave it and will again
    back = from_nemo_gym(theirs, mine["environment"] if "nemo_gym" in task else "")
    own = {key: value for key, value in mine.items() if key not in back or back[key] != value}
    if gone := [key for key in back if key not in mine]:
        own["_absent"] = gone
    return theirs | ({"episode": own} if own else {})
