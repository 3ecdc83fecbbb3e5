# SPDX-License-Identifier: Apache-2.0
"""Rows of NeMo Gym's workplace assistant, read and written, and the JSON schemas of the tools in them."""

import inspect
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from .actions import ACTIONS, DOMAINS, domain_of
from .office import WorkplaceEnv, read_task


def rows_from_nemo_gym(records: Path | str | Iterable[dict]) -> list[dict]:
    """Read NeMo Gym rows.

    Args:
        records: A JSONL file, or the rows as dicts.

    Raises:
        ValueError: one is no such row; the message names it.
    """
    place = "record"
    if isinstance(records, str | Path):
        place = f"{records}, line"
        lines: list = Path(records).read_text(encoding="utf-8").split("\n")
    else:
        lines = list(records)
    rows = []
    for number, record in enumerate(lines, 1):
        if isinstance(record, str) and not record.strip():
            continue
        try:
            rows.append(_from_nemo_gym(json.loads(record) if isinstance(record, str) else record))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{place} {number}: not a workplace row ({type(error).__name__}: {error})") from error
    return rows


def _from_nemo_gym(theirs: dict) -> dict:
    asked = theirs["responses_create_params"]
    given = asked["input"]
    prompt = [{"role": "user", "content": given}] if isinstance(given, str) else given
    prompt = [{"role": message["role"], "content": _text(message["content"])} for message in prompt]
    offered = {tool["name"] for tool in asked.get("tools") or ()}
    domains = [domain for domain in DOMAINS if any(domain_of(name) == domain for name in offered & set(ACTIONS))]
    task = {"ground_truth": theirs["ground_truth"], "match": "state"}
    if domains and len(domains) < len(DOMAINS):
        task["domains"] = domains
    task["query"] = prompt[-1]["content"]
    row: dict = {
        "prompt": prompt,
        "environment": "workplace",
        "task_id": f"nemo-gym-{theirs.get('category') or 'workplace'}-{theirs.get('id')}",
        "task": json.dumps(task),
    }
    read_task(row["task"])
    return row


def to_nemo_gym(rows: list[dict]) -> list[dict]:
    """The rows as NeMo Gym's workplace assistant takes them."""
    return [_to_nemo_gym(number, row) for number, row in enumerate(rows)]


def _to_nemo_gym(number: int, row: dict) -> dict:
    task = read_task(row["task"])
    truth = [
        {"name": name, "arguments": value if isinstance(value, str) else json.dumps(value or {})}
        for name, value in task.ground_truth
    ]
    used = [domain for domain in DOMAINS[1:] if any(domain_of(call["name"]) == domain for call in truth)]
    category = used[0] if len(used) == 1 else "multi_domain"
    tools = [schema(getattr(WorkplaceEnv, name)) for name in ACTIONS if domain_of(name) in task.domains]
    return {
        "id": number,
        "responses_create_params": {
            "input": [dict(message) for message in row["prompt"]],
            "tools": tools,
            "parallel_tool_calls": False,
            "temperature": 1.0,
        },
        "ground_truth": truth,
        "category": f"workplace_assistant_{category}",
        "environment_name": "workplace_assistant",
    }


def _text(content) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content


_KINDS = {str: "string", int: "integer"}


def schema(tool: Callable) -> dict:
    """A tool in the shape of the OpenAI Responses API: name, description and parameters, from its docstring."""
    text = inspect.getdoc(tool)
    described = dict(re.findall(r"^    (\w+): (.*)$", text.partition("Args:\n")[2].partition("\nReturns:")[0], re.M))
    parameters = [p for p in inspect.signature(tool).parameters.values() if p.name != "self"]
    return {
        "type": "function",
        "name": tool.__name__,
        "description": text.partition("\n")[0],
        "parameters": {
            "type": "object",
            "properties": {
                p.name: {"type": _KINDS[p.annotation], "description": described[p.name]} for p in parameters
            },
            "required": [p.name for p in parameters if p.default is p.empty],
            "additionalProperties": False,
        },
        "strict": False,
    }
