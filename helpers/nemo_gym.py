"""NeMo Gym's shapes: rows and tools written for it, its rows read, statistics of its verify replies."""

import inspect
import json
import re
import types
import typing
from collections import defaultdict
from collections.abc import Callable, Iterable
from hashlib import sha256
from math import isfinite
from pathlib import Path
from statistics import fmean, median, stdev

from helpers.evaluation import pass_at_k
from helpers.rollouts import tools_of
from helpers.trajectory import text_of, to_messages

# --- rows and tools --------------------------------------------------------------------------------------


def gym_rows(module, rows: list[dict]) -> list[dict]:
    """Rows as NeMo Gym's agents take them: one line each of a JSONL file for a server of this module.

    Args:
        module: The environment, as `envs.load` returns it.
        rows: Its rows.

    Returns:
        The rows with `responses_create_params`, which holds the prompt and the tools the row offers.
    """
    schemas = {name: tool_schema(getattr(module.ENV, name)) for name in tools_of(module)}
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
        rows = [json.loads(line) for line in Path(rows).read_text(encoding="utf-8").split("\n") if line.strip()]
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


_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def tool_schema(tool: Callable) -> dict:
    """Name, description and parameters of a tool in the shape of the Responses API.

    Args:
        tool: A function with type hints and a Google-style docstring.
    """
    doc = inspect.getdoc(tool) or ""
    section = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)*)", doc, re.M)
    told = dict(re.findall(r"^ {4}(\w+)(?: ?\([^)]*\))?: (.*(?:\n {5,}.*)*)", section[1], re.M)) if section else {}
    hints = typing.get_type_hints(tool)
    parameters = [p for p in inspect.signature(tool).parameters.values() if p.name != "self"]
    properties = {
        p.name: {**_kind(hints.get(p.name, str)), "description": " ".join(told.get(p.name, "").split())}
        for p in parameters
    }
    required = [p.name for p in parameters if p.default is p.empty]
    shape = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    summary = " ".join(doc.partition("\n\n")[0].split())
    return {"type": "function", "name": tool.__name__, "description": summary, "parameters": shape, "strict": False}


def _kind(hint) -> dict:
    """The JSON schema of a type hint."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        kinds = [_kind(one) for one in of if one is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if origin is typing.Literal:
        return {"type": _KINDS[type(of[0])], "enum": list(of)}
    kind = {"type": _KINDS[origin or hint]} if (origin or hint) in _KINDS else {}
    return kind | {"items": _kind(of[0])} if origin is list and of else kind


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
