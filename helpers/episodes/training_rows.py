# SPDX-License-Identifier: Apache-2.0
"""Rows to train on: demonstrations, solved episodes, pairs of episodes; and data sets of them on disk."""

import json
from pathlib import Path

from helpers.episodes.environment import offered, tool_schema
from helpers.episodes.responses import _json_object, text_of


def demonstrations(module, rows: list[dict]) -> list[dict]:
    """Rows for SFTTrainer: the prompt, the gold answer as messages, and where it calls tools, these as JSON text (Arrow
    would mix their arguments up)."""
    shown = []
    for row in rows:
        gold = module.answer(row)
        if isinstance(gold, str):
            shown.append({"prompt": row["prompt"], "completion": [{"role": "assistant", "content": gold}]})
        else:
            tools = json.dumps([tool_schema(tool) for tool in offered(module, row)])
            shown.append({"prompt": row["prompt"], "completion": gold, "tools": tools})
    return shown


def sft_rows(episodes: list[dict], module=None) -> list[dict]:
    """Solved episodes as rows for SFTTrainer, the same answer to a task once.

    Args:
        episodes: Such as `rollout` returns; those with a reward of at least 1 are taken.
        module: The environment, where its tools were offered.

    Returns:
        {"prompt": [messages], "completion": [messages]} and, with tools, "tools": their schemas as JSON text.
    """
    rows = {}
    for episode in episodes:
        if episode["reward"] is not None and episode["reward"] >= 1:
            row = {"prompt": _lean(episode["prompt"]), "completion": _lean(episode["messages"])}
            rows[episode["task_id"], json.dumps(row["completion"])] = row | _offered(episode, module)
    return list(rows.values())


def dpo_rows(episodes: list[dict], module=None, balanced: bool = False) -> list[dict]:
    """The best against the worst episode of each task, as rows for DPOTrainer; tasks without a difference drop out.

    Args:
        episodes: Such as `rollout` returns, several of each task.
        module: The environment, where its tools were offered.
        balanced: Choose among equally good and equally bad ones such that chosen and rejected answers are about
            equally long, so that length is not what is learned.

    Returns:
        {"prompt", "chosen", "rejected"} and, with tools, "tools": their schemas as JSON text.
    """
    groups: dict[str, list[dict]] = {}
    for episode in episodes:
        if episode["reward"] is not None:
            groups.setdefault(episode["task_id"], []).append(episode)
    rows, longer = [], 0  # longer: characters that the chosen ones have more so far
    for group in groups.values():
        best, worst = max(e["reward"] for e in group), min(e["reward"] for e in group)
        if best == worst:
            continue
        good, bad = ([e for e in group if e["reward"] == r] for r in (best, worst))
        pairs = [(a, b) for a in good for b in bad] if balanced else [(good[0], bad[0])]
        a, b = min(pairs, key=lambda pair: abs(longer + _length(pair[0]) - _length(pair[1])))
        longer += _length(a) - _length(b)
        row = {"prompt": _lean(a["prompt"]), "chosen": _lean(a["messages"]), "rejected": _lean(b["messages"])}
        rows.append(row | _offered(a, module))
    return rows


def _length(episode: dict) -> int:
    """Characters that the model wrote."""
    said = [message for message in episode["messages"] if message["role"] == "assistant"]
    return sum(len(text_of(m.get("content"))) + len(json.dumps(m.get("tool_calls") or "")) for m in said)


def _lean(messages: list[dict]) -> list[dict]:
    """Messages with the fields that chat templates know; arguments as objects where they are such."""
    lean = []
    for message in messages:
        kept = {key: message[key] for key in ("role", "content", "reasoning_content", "name") if key in message}
        kept["content"] = text_of(kept.get("content"))
        if message.get("tool_calls"):
            kept["tool_calls"] = [
                {"type": "function", "function": {"name": f.get("name") or "", "arguments": _read(f.get("arguments"))}}
                for f in (call.get("function") or {} for call in message["tool_calls"])
            ]
        lean.append(kept)
    return lean


def _read(arguments):
    try:
        return json.loads(arguments) if _json_object(arguments) == arguments else arguments
    except TypeError:  # an object already
        return arguments


def _offered(episode: dict, module) -> dict:
    """The column `tools` of an episode that had some."""
    kept = json.loads(episode.get("task") or "{}").get("nemo_gym")
    tools = kept["params"].get("tools") if kept else None
    if not kept and episode.get("tools"):
        if module is None:
            raise ValueError("these episodes had tools: give the environment as module, so that they can be described")
        tools = offered(module, episode)
    return {"tools": json.dumps([tool_schema(tool) for tool in tools])} if tools else {}


def save_dataset(rows: list[dict], folder: Path | str, *, title: str, about: str = "", split: str = "train") -> Path:
    """Write rows as a folder that `datasets.load_dataset(folder)` and the trainers read, with a card.

    Args:
        rows: Such as `sft_rows` and `dpo_rows` return.
        folder: Made if missing; an earlier data set in it is replaced.
        title: Heading of the card.
        about: What a reader should know: environment, policy, date, licence.
        split: Name of the split.

    Returns:
        The folder.

    Raises:
        ValueError: no rows.
    """
    from datasets import Dataset

    if not rows:
        raise ValueError(f"no rows to save in {folder}: no episode was good enough, or no group had a difference")
    folder = Path(folder)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    # as JSON where rows differ: Arrow would give every call the arguments of all others, as nulls
    table = Dataset.from_list(rows, on_mixed_types="use_json")
    table.to_parquet(folder / "data" / f"{split}.parquet")
    columns = "\n".join(f"| `{name}` | {_KINDS.get(name, 'text')} |" for name in table.column_names)
    first = json.dumps(rows[0], indent=1, ensure_ascii=False)[:3000]
    (folder / "README.md").write_text(
        f"---\nconfigs:\n- config_name: default\n  data_files:\n  - split: {split}\n    path: data/{split}.parquet\n"
        f"---\n\n# {title}\n\n{about}\n\n{len(rows)} rows; `datasets.load_dataset(folder, split={split!r})` loads "
        f"them.\n\n| column | holds |\n|---|---|\n{columns}\n\n## First row\n\n```json\n{first}\n```\n",
        encoding="utf-8",
    )
    return folder


_KINDS = {
    "prompt": "chat messages the model was asked with",
    "completion": "chat messages that solve the task, tool calls and results included",
    "chosen": "chat messages of the best episode",
    "rejected": "chat messages of the worst episode",
    "tools": "schemas of the tools on offer, as JSON text",
}
