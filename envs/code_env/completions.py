# SPDX-License-Identifier: Apache-2.0
"""Reads what a model wrote: reasoning, and tool calls in messages and in text."""

import json
import re

_THINK = re.compile(
    r"<(/?)\|?(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|scratchpad|reflection|analysis)\|?>"
    r"|<\|(?:begin|(end))_of_thought\|>|\[(/?)THINK\]|◁(/?)think▷",
    re.I,
)


def calls_and_text(completion) -> tuple[list[tuple[str, dict]], str]:
    """The tool calls in chat messages, and the text of the last assistant message."""
    if not isinstance(completion, list | tuple):
        return [], completion if isinstance(completion, str) else ""
    calls, text = [], ""
    for message in completion:
        if not isinstance(message, dict) or message.get("role", "assistant") != "assistant":
            continue
        content = message.get("content") or ""
        if isinstance(content, list):  # parts, as in the Responses format
            content = "".join(str(p.get("text") or "") for p in content if isinstance(p, dict))
        text = content if isinstance(content, str) else ""
        made = message.get("tool_calls")
        for call in made if isinstance(made, list | tuple) else []:
            if found := json_call(call.get("function", call) if isinstance(call, dict) else call):
                calls.append(found)
    return calls, text


def tagged_calls(text: str) -> list[tuple[str, dict]]:
    parts = without_reasoning(text).split("<tool_call>")[1:]
    return [call for part in parts if (call := json_call(part.partition("</tool_call>")[0]))]


def json_call(call) -> tuple[str, dict] | None:
    """(name, arguments) of a call given as JSON text or as a dict, or None if it is broken."""
    try:
        call = json.loads(call) if isinstance(call, str) else call
        arguments = call.get("arguments") or {}
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        return (call["name"], arguments) if isinstance(call["name"], str) and isinstance(arguments, dict) else None
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None


def without_reasoning(text: str) -> str:
    """Drop reasoning: closed, never closed, or opened in the prompt so that only its end is seen."""
    if "<|channel|>" in text:
        text = text.rpartition("<|channel|>final<|message|>")[2] if "<|channel|>final<|message|>" in text else ""
    kept, start, inside = [], 0, False
    for tag in _THINK.finditer(text):
        closing = any(tag.groups())
        if closing and inside:
            inside, start = False, tag.end()
        elif closing:
            kept, start = [], tag.end()
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    return "".join(kept if inside else [*kept, text[start:]])
