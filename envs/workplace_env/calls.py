"""Reading tool calls out of what a model said: chat messages, Responses items or plain text. Never raises."""

import json
import re
from typing import NamedTuple

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.S)
_REASONING = re.compile(r"<(/?)\|?think(?:ing)?\|?>", re.I)
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?```\Z", re.S | re.I)
_LONGEST = 200_000  # characters of a text that are read, from the end


class Call(NamedTuple):
    """A call as the model wrote it; `fault` says why its arguments can't be used."""

    name: str
    arguments: dict
    fault: str = ""


def calls_in(completion) -> list[Call]:
    """The calls of a completion: those of its messages, else those in the text of its last assistant message."""
    if isinstance(completion, str):
        return calls_in_text(completion)
    if not isinstance(completion, list | tuple):
        return []
    calls: list[Call] = []
    text = ""
    for message in completion:
        if not isinstance(message, dict):
            continue
        if message.get("type") == "function_call":  # an item in the Responses format
            calls.append(_call(message))
            continue
        if message.get("role", "assistant") != "assistant" or str(message.get("type", "")).endswith("_output"):
            continue
        text = _text(message.get("content"))
        made = message.get("tool_calls")
        for call in made if isinstance(made, list | tuple) else []:
            calls.append(_call(call.get("function", call) if isinstance(call, dict) else call))
    return calls or calls_in_text(text)


def calls_in_text(text: str) -> list[Call]:
    """Calls in tags, as Qwen and Hermes write them, or a text that is nothing but calls in JSON."""
    text = without_reasoning(text[-_LONGEST:])
    if "<tool_call>" in text:
        return [_call(part.strip()) for part in _TAGGED.findall(text)]
    text = text.strip()
    if fenced := _FENCE.match(text):
        text = fenced[1].strip()
    if not text.startswith(("{", "[")):
        return []
    found = _json(text)
    found = found if isinstance(found, list) else [found]
    shaped = [call.get("function", call) if isinstance(call, dict) else None for call in found]
    if not all(isinstance(c, dict) and "name" in c and ("arguments" in c or "parameters" in c) for c in shaped):
        return []
    return [_call(call) for call in shaped]


def without_reasoning(text: str) -> str:
    """Drop what stands in think tags: closed, never closed, or opened before the text begins."""
    kept, start, inside = [], 0, False
    for tag in _REASONING.finditer(text):
        if tag[1]:
            if not inside:
                kept = []
            start, inside = tag.end(), False
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    return "".join(kept if inside else [*kept, text[start:]])


def arguments_of(value) -> tuple[dict, str]:
    """The arguments of a call as an object, and what is wrong with them; no text at all means no arguments."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}, ""
    if isinstance(value, str):
        value = _json(value)
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return value, ""
    if value is _BROKEN:
        return {}, "the arguments are not whole JSON; write one JSON object"
    kind = {str: "text", list: "a list", type(None): "null"}.get(type(value), "no object")
    return {}, f"the arguments are {kind}; write one JSON object, encoded once"


_BROKEN = object()


def _json(text: str):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _BROKEN


def _call(call) -> Call:
    if isinstance(call, str):
        call = _json(call)
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return Call("", {}, "a tool call is not whole JSON with a name and arguments")
    arguments, fault = arguments_of(call.get("arguments", call.get("parameters")))
    return Call(call["name"], arguments, fault)


def _text(content) -> str:
    if isinstance(content, list):  # parts
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
