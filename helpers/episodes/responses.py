# SPDX-License-Identifier: Apache-2.0
"""Trajectories in the shapes that others read: Responses items, NeMo Gym rows, SFT and preference data.

A trajectory is a list of chat messages. Every conversion is loss-free: where the target shape has no place for
something (an id, a status, a finish reason), the original rides along under one extra key, `items` in a message and
`chat` in an item, and is used on the way back as long as nobody changed what it belongs to.
"""

import json

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


# --- rows and rollouts of NeMo Gym -----------------------------------------------------------------------

# --- data to train on ------------------------------------------------------------------------------------
