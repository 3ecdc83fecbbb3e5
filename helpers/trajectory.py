"""Trajectories in the shapes that others read: Responses items, NeMo Gym rows, SFT and preference data.

A trajectory is a list of chat messages. Every conversion is loss-free: where the target shape has no place for
something (an id, a status, a finish reason), the original rides along under one extra key, `items` in a message and
`chat` in an item, and is used on the way back as long as nobody changed what it belongs to.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

# --- chat messages <-> Responses items -------------------------------------------------------------------


def to_items(messages: list[dict]) -> list[dict]:
    """Chat messages as items of the OpenAI Responses API: `to_messages(to_items(m)) == m`.

    Args:
        messages: Chat messages; `content` is text, a list of parts or None.

    Returns:
        `message`, `reasoning`, `function_call` and `function_call_output` items.
    """
    items, names, unanswered = [], {}, []
    for message in messages:
        built = message.get("items") or []
        raw = built and _messages(built, dict(names)) == [message] and not _joins(items, built)
        if not raw:
            built = _with_ids(_items_of(_without(message, "items")), unanswered, len(items))
            if _joins(items, built) or _messages(built, dict(names)) != [message]:
                built = [built[0] | {"chat": message}, *built[1:]]
        _learn_names(built, names)
        items += built
    return items


def _joins(items: list[dict], more: list[dict]) -> bool:
    """Whether a reader would take the last item and the first of the next ones for one turn."""
    return bool(items) and len(_turns([items[-1], more[0]])) == 1


def _with_ids(items: list[dict], unanswered: list[str], at: int) -> list[dict]:
    """Items with call ids made up where they have none; a result without one answers the oldest open call."""
    done = []
    for i, item in enumerate(items):
        if item.get("call_id") == "":
            if item["type"] == "function_call":
                unanswered.append(f"call_{at + i}")
                item = item | {"call_id": unanswered[-1]}
            else:
                item = item | {"call_id": unanswered.pop(0) if unanswered else f"call_{at + i}"}
        done.append(item)
    return done


def to_messages(items: list[dict] | str) -> list[dict]:
    """Items of the Responses API as chat messages: `to_items(to_messages(i)) == i`.

    Args:
        items: Input or output items; a plain string is one user message.

    Returns:
        Chat messages. Reasoning, text and calls of one turn are one assistant message, reasoning under
        `reasoning_content`; output carries its `finish_reason`.
    """
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    return _messages(items, {})


def _messages(items: list[dict], names: dict[str, str]) -> list[dict]:
    messages = []
    for group in _turns(items):
        _learn_names(group, names)
        bare = [_without(item, "chat") for item in group]
        chat = group[0].get("chat")
        if chat is not None and _same(bare, _items_of(_without(chat, "items"))):
            messages.append(chat)
            continue
        message = _message_of(bare, names)
        plain = _items_of(message) == group and all(item.get("call_id") != "" for item in group)
        messages.append(message if plain else message | {"items": group})
    return messages


_PLACE = {"reasoning": 0, "message": 1, "function_call": 2}


def _turns(items: list[dict]) -> list[list[dict]]:
    """Items that belong to one message: of the model's, reasoning, then text, then calls; any other stands alone."""
    turns, last = [], 9
    for item in items:
        place = _PLACE.get(_kind(item), 9) if item.get("role", "assistant") == "assistant" else 9
        joins = place < 9 and "chat" not in item and (last < place or last == place != 1)
        if joins and turns and last < 9:
            turns[-1].append(item)
        else:
            turns.append([item])
        last = place
    return turns


def _kind(item: dict) -> str:
    return item.get("type") or "message"


def _same(items: list[dict], plain: list[dict]) -> bool:
    """Whether items are those of a message, call ids that it does not have left aside."""
    if len(items) != len(plain):
        return False
    return all(one == (other | {"call_id": one.get("call_id")} if other.get("call_id") == "" else other)
               for one, other in zip(items, plain))  # fmt: skip


def _learn_names(items: list[dict], names: dict[str, str]) -> None:
    names |= {item.get("call_id"): item.get("name") for item in items if _kind(item) == "function_call"}


def _message_of(group: list[dict], names: dict[str, str]) -> dict:
    """One chat message out of the items of a turn."""
    first = group[0]
    match _kind(first):
        case "function_call_output":
            output = first.get("output")
            name = names.get(first.get("call_id"))
            return {
                "role": "tool",
                **({"name": name} if name else {}),
                "tool_call_id": first.get("call_id", ""),
                "content": output if isinstance(output, str) else text_of(output),
            }
        case "message" if first.get("role") != "assistant":
            return {"role": first.get("role", "user"), "content": _parts(first.get("content"), "text")}
    message: dict = {"role": "assistant", "content": ""}
    for item in group:
        match _kind(item):
            case "reasoning":
                parts = [*(item.get("summary") or []), *(item.get("content") or [])]
                message["reasoning_content"] = message.get("reasoning_content", "") + text_of(parts)
            case "message":
                message["content"] = text_of(item.get("content"))
            case "function_call":
                function = {"name": item.get("name", ""), "arguments": item.get("arguments", "")}
                call = {"type": "function", "id": item.get("call_id", ""), "function": function}
                message.setdefault("tool_calls", []).append(call)
    status = next((item["status"] for item in reversed(group) if item.get("status")), None)
    if status:
        message["finish_reason"] = "length" if status == "incomplete" else "stop"
    return message


def _items_of(message: dict) -> list[dict]:
    """The items of one chat message; at least one. A call without an id gets the empty one."""
    role, content = message["role"], message.get("content")
    if role == "tool":
        return [
            {"type": "function_call_output", "call_id": message.get("tool_call_id") or "", "output": text_of(content)}
        ]
    if role != "assistant":
        return [{"role": role, "content": _parts(content, "input_text")}]
    reason = message.get("finish_reason")
    status = {"status": "incomplete" if reason == "length" else "completed"} if reason else {}
    items = []
    if message.get("reasoning_content"):
        summary = [{"type": "summary_text", "text": message["reasoning_content"]}]
        items.append({"type": "reasoning", "summary": summary})
    text = text_of(content)
    if text or not message.get("tool_calls"):
        said = [{"type": "output_text", "text": text, "annotations": []}]
        items.append({"type": "message", "role": "assistant", "content": said, **status})
    for call in message.get("tool_calls") or []:
        function = call.get("function") or {}
        arguments = function.get("arguments", "")
        arguments = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        item = {"type": "function_call", "call_id": call.get("id") or ""}
        items.append(item | {"name": function.get("name") or "", "arguments": arguments, **status})
    return items


def _parts(content, kind: str):
    """Content of a user's message with its text parts called `kind`; plain text stays plain."""
    if not isinstance(content, list):
        return content
    texts = ("text", "input_text")
    return [part | {"type": kind} if isinstance(part, dict) and part.get("type") in texts else part for part in content]


def text_of(content) -> str:
    """The text in a message's content, whether that is text, a list of parts or None."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or part.get("refusal") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else "" if content is None else json.dumps(content, ensure_ascii=False)


def _without(message: dict, *keys: str) -> dict:
    return {key: value for key, value in message.items() if key not in keys}


# --- what a server takes ---------------------------------------------------------------------------------


def wire_messages(conversation: list[dict]) -> list[dict]:
    """Chat messages with the fields of Chat Completions only; arguments are JSON text whatever the model wrote."""
    sent = []
    for message in to_messages(wire_items(conversation, reasoning=False)):
        keys = ("role", "content", "tool_calls", "tool_call_id")
        sent.append({key: message[key] for key in keys if key in message})
    return sent


def wire_items(conversation: list[dict], reasoning: bool = True) -> list[dict]:
    """Input items in the plainest form that every server takes."""
    sent = []
    for item in to_items(conversation):
        match item.get("type", "message"):
            case "message" if item.get("role") == "assistant":
                sent.append({"role": "assistant", "content": text_of(item["content"])})
            case "message":
                sent.append({"role": item["role"], "content": item["content"]})
            case "function_call":
                item = {key: item[key] for key in ("type", "call_id", "name", "arguments")}
                sent.append(item | {"arguments": _json_object(item["arguments"])})
            case "function_call_output":
                sent.append({key: item[key] for key in ("type", "call_id", "output")})
            case _ if reasoning and "id" in item:
                sent.append({key: value for key, value in item.items() if key != "chat"})
    return sent


def _json_object(arguments: str) -> str:
    """Arguments that a server can read: a model's broken JSON would fail the whole conversation there."""
    try:
        whole = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        whole = False
    return arguments if whole else json.dumps({"unreadable": arguments}, ensure_ascii=False)


# --- tools -----------------------------------------------------------------------------------------------


def schemas(tools: list | None) -> list[dict]:
    """Tools as JSON schemas in the shape of Chat Completions, {"type": "function", "function": {...}}.

    Args:
        tools: Functions or methods with type hints and Google-style docstrings, or schemas in either shape.
    """
    return [_schema(tool) for tool in tools or []]


def _schema(tool: Callable | dict) -> dict:
    if not isinstance(tool, dict):
        from transformers.utils import get_json_schema

        tool = get_json_schema(tool)
    function = tool["function"] if "function" in tool else _without(tool, "type")
    return {"type": "function", "function": _without(function, "return")}  # servers refuse the field `return`


# --- rows and rollouts of NeMo Gym -----------------------------------------------------------------------

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
        replies = [message for message in messages if message["role"] == "assistant"]
        mine |= {
            "sample": fields.get("_ng_rollout_index", 0),
            "policy": theirs["response"].get("model", ""),
            "reward": theirs.get("reward"),
            "reason": "",
            "metrics": {},
            "messages": messages,
            "finish_reason": replies[-1].get("finish_reason", "stop") if replies else "stop",
            "steps": len(replies),
        }
    mine["task"] = json.dumps({"nemo_gym": kept})
    own = theirs.get("episode") or {}
    gone = own.get("_absent", ())
    return {key: value for key, value in mine.items() if key not in gone} | _without(own, "_absent")


def to_nemo_gym(mine: dict, tools: list | None = None) -> dict:
    """A row or an episode as NeMo Gym's JSONL holds it: `from_nemo_gym` gives the same back.

    Args:
        mine: A row, or an episode where it has `messages`. An episode that could not be judged has a null reward;
            leave it out where a number is needed.
        tools: Functions or schemas to offer, for rows that did not come from there.

    Returns:
        `responses_create_params`, the fields of the task beside it, for an episode `response` and `reward`; what has
        no place there stands under `episode`.
    """
    task = json.loads(mine["task"])
    kept: dict | None = task.get("nemo_gym")
    if kept is None:
        offered = [{"type": "function", **tool["function"]} for tool in schemas(tools)]
        kept = {"fields": _without(task, *_PLACES), "params": {"tools": offered} if offered else {}, "text": False}
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


# --- data to train on ------------------------------------------------------------------------------------


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
    offered = kept["params"].get("tools") if kept else None
    if not kept and episode.get("tools"):
        if module is None:
            raise ValueError("these episodes had tools: give the environment as module, so that they can be described")
        names = module.tools_for(episode) if hasattr(module, "tools_for") else _methods(module.ENV)
        env = module.ENV()
        offered = [getattr(env, name) for name in names]
    return {"tools": json.dumps(schemas(offered))} if offered else {}


def _methods(env: type) -> list[str]:
    return [name for name in dir(env) if not name.startswith("_") and name not in ("reset", "get_reward")]


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
