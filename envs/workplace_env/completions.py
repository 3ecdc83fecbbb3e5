# SPDX-License-Identifier: Apache-2.0
"""Reading what a model wrote: what counts beside its reasoning, and its tool calls."""

import json
import re
from typing import NamedTuple

# --- shared by all environments: reading what a model wrote (a test keeps the copies identical) ---
# Nothing here raises, whatever a model wrote, and the time is linear in the length of the text.

_TAG = re.compile(  # a group that matches: reasoning ends here
    r"<\|?(/)?\|?(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|scratchpad|reflection|analysis)\|?>"
    r"|<\|(?:begin_of_thought|(end_of_thought|begin_of_solution))\|>|\[(/)?THINK\]|◁(/)?think▷"
    r"|<\|channel>thought\b|<channel(\|)>",
    re.I,
)
_ENDS = (  # of a turn
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|return|>", "<|call|>", "<|end|>", "<|end_of_text|>", "<|endoftext|>",
    "<|end_of_solution|>", "</s>", "<eos>", "<end_of_turn>", "<turn|>", "<｜end▁of▁sentence｜>",
)  # fmt: skip
# gpt-oss writes messages in channels: <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final...
_HEADER = re.compile(r"\s*(?:analysis|commentary|final)\b[^<]{0,99}(?:<\|constrain\|>[^<]{0,20})?<\|message\|>")
_END_OF_MESSAGE = re.compile(r"<\|(?:end|return|call)\|>\s*(?:<\|start\|>|\Z)|<\|(?:start|channel)\|>")
_FINAL = re.compile(r"(?:\A|<\|channel\|>)\s*final\b")
_TO = re.compile(r"\bto=functions\.([\w.-]{1,100})")
# ... and this is left where its special tokens are not shown: analysisWe need ...assistantfinalThe answer ...
_BARE = re.compile(r"\s*(?:assistant)?(?:analysis([^\W_]|[\"“(\[{$\\*`#<])?|(commentary to=functions\.))")
_BARE_START = re.compile(r"assistant(?=analysis|commentary|final)")
_BARE_HEADER = re.compile(r"analysis|final|commentary(?: to=[\w.-]{1,100})?\s?(?:json\b)?")


def _channels(text: str) -> list[tuple[str, str]] | None:
    """Messages of gpt-oss as (header, body), with its special tokens or without; None where a text has no such."""
    found = []
    if "|" in text and ("<|channel|>" in text or ("<|message|>" in text and _HEADER.match(text))):
        header, *parts = text.split("<|message|>")
        for part in parts:
            end = _END_OF_MESSAGE.search(part)
            found.append((header, part[: end.start()] if end else part))
            header = part[end.start() :] if end else ""
        return found
    if (bare := _BARE.match(text)) and (bare.lastindex or "assistantfinal" in text):
        for part in filter(None, _BARE_START.split(text.strip())):
            header = _BARE_HEADER.match(part)
            found.append((header[0], part[header.end() :]))
        return found
    return None


def without_reasoning(text: str) -> str:
    """What a model says beside its reasoning, without the marks that end its turn.

    Reasoning is closed; or never closed, then nothing follows it; or opened in the prompt, then only its end is seen.
    Of the channels of gpt-oss the last final one counts. A second end at the very end is a slip and means nothing.
    """
    for _ in range(8):  # several in a row
        shown = text.rstrip()
        if not shown.endswith(">") or not shown.endswith(_ENDS):
            break
        text = next(shown.removesuffix(end) for end in _ENDS if shown.endswith(end))
    if (channels := _channels(text)) is not None:
        text = next((body for header, body in reversed(channels) if _FINAL.search(header)), "")
    if "<" not in text and "[" not in text and "◁" not in text:
        return text
    kept, start, inside, nested, stop = [], 0, False, False, len(text.rstrip())
    for tag in _TAG.finditer(text):
        if not tag.lastindex:
            if inside:
                nested = True
            else:
                kept.append(text[start : tag.start()])
                inside = True
        elif inside:
            inside, start = False, tag.end()
        elif tag.end() == stop and start and not nested:
            return "".join([*kept, text[start : tag.start()]])
        else:
            kept, start = [], tag.end()
    return "".join(kept if inside else [*kept, text[start:]])


class Call(NamedTuple):
    """A tool call as the model wrote it; `fault` says in words why it can't be used."""

    name: str
    arguments: dict
    fault: str = ""


_NO_CALL = Call("", {}, "a tool call is not whole JSON with a name and arguments")
_PARAMETER = re.compile(r"<parameter=([^<>\n]{1,100})>(.*?)(?:</parameter>|(?=<parameter=)|\Z)", re.S)
_NAMED = re.compile(r"\s*([\w.-]{1,100})(?:\[CALL_ID\]\w{1,100})?(?:\[ARGS\]|\s*(?=\{)|\Z)")
_BETWEEN = re.compile(r"[\s;]*")
_BROKEN = object()  # what is no JSON


def calls_and_text(completion: object) -> tuple[list[Call], str]:
    """The calls made in chat messages or Responses items, and the text of the last message of the assistant.

    Args:
        completion: Text, which is returned as it is, or a list of messages; anything else has neither calls nor text.
    """
    if isinstance(completion, str):
        return [], completion
    calls, text = [], ""
    for message in completion if isinstance(completion, (list, tuple)) else ():
        if not isinstance(message, dict) or message.get("role", "assistant") != "assistant":
            continue
        kind = message.get("type")
        if kind == "function_call":
            calls.append(_call(message))
        elif kind is None or not _is_aside(kind):
            content, made = message.get("content"), message.get("tool_calls")
            if isinstance(content, (list, tuple)):
                parts = [part for part in content if isinstance(part, dict) and not _is_aside(part.get("type"))]
                content = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
            text = content if isinstance(content, str) else ""
            if isinstance(made, (list, tuple)):
                calls += map(_call, made)
    return calls, text


def _is_aside(kind: object) -> bool:
    """Whether items or parts of this type are reasoning or the results of tools."""
    return isinstance(kind, str) and (kind.startswith(("reason", "think")) or kind.endswith("_output"))


def usable(calls: list[Call]) -> list[tuple[str, dict]]:
    """(name, arguments) of those that are not broken."""
    return [(call.name, call.arguments) for call in calls if not call.fault]


def calls_in_text(text: str, numbers: tuple[str, ...] = ()) -> list[Call]:
    """The calls in a text, reasoning left out, in the formats of Qwen, Hermes, Llama, Mistral and gpt-oss.

    A text that is nothing but one call in JSON, or a list of them, fenced or not, is that call.

    Args:
        text: What the model wrote.
        numbers: Parameters that take a whole number, for the formats that write values without a type.
    """
    if not (  # one sign is found faster than a word
        ('"' in text and '"name"' in text)
        or ("=" in text and "function" in text)
        or ("_" in text and ("tool_call" in text or "TOOL_CALLS" in text or "python_tag" in text))
    ):
        return []
    if "to=functions." in text and (channels := _channels(text)):
        sent = [(to[1], body) for header, body in channels if (to := _TO.search(header))]
        if sent:
            return [_call({"name": name, "arguments": body}) for name, body in sent]
    text = without_reasoning(text)[-200_000:].strip()  # the end counts
    if "<tool_call>" in text:
        bodies = [part.partition("</tool_call>")[0].strip() for part in text.split("<tool_call>")[1:]]
        return [call for body in bodies for call in (_functions(body, numbers) or [_call(body)])]
    if "[TOOL_CALLS]" in text:
        return [call for part in text.split("[TOOL_CALLS]")[1:] for call in _mistral(part)]
    if "<function=" in text:
        return _functions(text, numbers)
    _, tag, text = text.rpartition("<|python_tag|>")
    if text.startswith("```") and text.endswith("```"):
        info, _, body = text[3:-3].partition("\n")
        text = body if info.strip().lower() in ("", "json", "tool_call") else ""
    return _json_calls(text) or [_NO_CALL] * bool(tag)


def _functions(text: str, numbers: tuple[str, ...]) -> list[Call]:
    """<function=name> with JSON, as Llama has it, or with <parameter=name>value</parameter>, as Qwen3-Coder has it."""
    calls = []
    for part in text.split("<function=")[1:]:
        name, _, body = part.partition(">")
        body, closed, _ = body.partition("</function>")
        if not re.fullmatch(r"[\w.-]{1,100}", name := name[:101].strip("\"' ")):
            calls.append(_NO_CALL)
        elif "<parameter=" not in body and body.strip():
            calls.append(_call({"name": name, "arguments": body}))
        else:
            given = {key: value.removeprefix("\n").removesuffix("\n") for key, value in _PARAMETER.findall(body)}
            for key in numbers:
                if (number := given.get(key, "").strip()).isdecimal() and len(number) < 20:
                    given[key] = int(number)
            whole = closed or body.rstrip().endswith("</parameter>")
            calls.append(Call(name, given, "" if whole else "a tool call is not whole; end it with </function>"))
    return calls


def _mistral(part: str) -> list[Call]:
    """What follows [TOOL_CALLS]: calls in JSON, or a name and its arguments."""
    if named := _NAMED.match(part):
        return [_call({"name": named[1], "arguments": part[named.end() :]})]
    return _json_calls(part) or [_NO_CALL]


def _json_calls(text: str) -> list[Call]:
    """The calls in JSON, in one list or with semicolons between them, if the text is nothing else."""
    values, at, text = [], 0, text.strip()
    try:
        while at < len(text):
            value, at = json.JSONDecoder().raw_decode(text, at)
            values.append(value)
            at = _BETWEEN.match(text, at).end()
    except (ValueError, RecursionError):
        return []
    values = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    shaped = [value.get("function", value) if isinstance(value, dict) else None for value in values]
    if not all(isinstance(v, dict) and "name" in v and ("arguments" in v or "parameters" in v) for v in shaped):
        return []
    return [_call(value) for value in shaped]


def _call(call: object) -> Call:
    """A call as a dict or as JSON text."""
    if isinstance(call, str):
        call = _json(call)
    if isinstance(call, dict):
        call = call.get("function", call)
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return _NO_CALL
    arguments = call["arguments"] if "arguments" in call else call.get("parameters")
    return Call(call["name"], *arguments_of(arguments))


def arguments_of(value: object) -> tuple[dict, str]:
    """The arguments of a call as a dict, and what is wrong with them; no text at all means no arguments."""
    if value is None:
        value = {}
    elif isinstance(value, str):
        value = _json(value) if value.strip() else {}
    if isinstance(value, dict):
        return value, ""
    if value is _BROKEN:
        return {}, "the arguments are not whole JSON; write one JSON object"
    kind = {str: "text", list: "a list", type(None): "null"}.get(type(value), "no object")
    return {}, f"the arguments are {kind}; write one JSON object, encoded once"


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _BROKEN


# --- end of the shared block ---
