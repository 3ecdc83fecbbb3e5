# SPDX-License-Identifier: Apache-2.0
"""Finding the answer in a completion."""

import re
from collections import deque

from .answers.judging import differs, is_value
from .answers.limits import LONGEST
from .answers.notation import UNITS, find_boxes
from .completions import without_reasoning

_MAYBE = (
    r"or|and|maybe|perhaps|possibly|alternatively|also|either|else|even|could|might|may|be|it|is|another|option|the"
)
_LINK = re.compile(rf"(?:[\s,;.:|/&$*()\[\]-]|\\[()\[\],;:! ]|\\q?quad|\\text\{{|\}}|\b(?:{_MAYBE})\b)*", re.I)
_OTHER = re.compile(
    r"(?:[\s$.,;*]|\\[)\]])*\(?(?:but\s+)?(?:(?:or|alternatively)\b,?|(?:it\s+)?(?:might|could|may)\s+(?:also\s+)?be\b|"
    r"(?:maybe|perhaps|possibly)\b)\s*(?:(?:maybe|perhaps|possibly|also|even|it|could|might|be)\s+){0,4}([^()\n]{1,80})",
    re.I,
)
_TAGGED = re.compile(r"<(/?)answer>", re.I)
_HASHES = re.compile(r"(?:^|[ \t])####[ \t]*([^\n#][^\n]*)$", re.M)
_PHRASE = re.compile(
    r"(?:\b(?:final\s+)?(?:answers?|ans)\b|答案)(?:\s+(?:here|to|for|of)\b[^.:=\n]{0,60}?)?[\s*_`]{0,8}"
    r"(?:\b(?:is|was|are|equals|must\s+be|should\s+be|would\s+be)\b|[:=：为是])\s*(?:[:：])?",
    re.I,
)
_WEAK = re.compile(
    r"\b(?:total|result|sum|value|solution|difference|product|quotient|probability|area|perimeter|volume|number|"
    r"remainder|length|cost|price|distance)\b[^.:=\n\d]{0,60}?(?:\b(?:is|are|was|equals)\b|[:=])\s*",
    re.I,
)
_CUT = re.compile(
    r"[.!?](?=\s|$|[\"'*_)”])|[\n;。]|，(?!\d)|,(?=\s*(?!(?:and|or)\b)[A-Za-z]{2,}(?!\s*=))|\s[—–-]\s"
    r"|\s(?:because|since|as|which|where|so|when|not|but|rather|instead|after|if|for|by|that|given|meaning)\b",
    re.I,
)
_INLINE = re.compile(
    r"\$\$([^$]{1,600})\$\$|\$([^$\n]{0,600}[^\s$\\])\$(?!\d)|\\\((.{1,600}?)\\\)|\\\[(.{1,600}?)\\\]", re.S
)


_MOST_OFFERED = 3  # different answers in one text, an earlier one being corrected; more are guesses


def extract(text: str, boxed_only: bool = False) -> tuple[str | None, str]:
    """The final answer in a completion, and the rule that found it or why there is none.

    Reasoning is dropped first; an unclosed block is no answer. Then the first of these that is there counts: the last
    box; `<answer>`; a line `#### x`; "the answer is"; "the total is" and the like in the last sentence; the whole
    text if it is an answer and no more. Boxes or phrases side by side, with no word between them that takes one back,
    are one list of answers; more than three different ones in a text are guesses, and none of them counts.
    """
    whole = text
    text = without_reasoning(text)
    if not text.strip():
        return None, "the reasoning never ends" if whole.strip() else "the text is empty"
    text = text[-LONGEST:]
    boxes = [box for box in find_boxes(text) if box[2] is None or box[2].strip(" \t\n~$.?")]
    if boxes:
        if boxes[-1][2] is None:
            return None, "the last box is not closed"
        if (offered := len({box[2].strip() for box in boxes})) > _MOST_OFFERED:
            return None, f"{offered} different boxes are a list of guesses, not an answer"
        at = len(boxes) - 1
        while at and boxes[at - 1][2] is not None and _LINK.fullmatch(text[boxes[at - 1][1] : boxes[at][0]][:200]):
            at -= 1
        contents = list(dict.fromkeys(box[2].strip() for box in boxes[at:]))
        if len(contents) > 1:
            return " , ".join(contents[:50]), "boxes side by side"
        _, end, content = boxes[-1]
        other = _OTHER.match(text[end : end + 200])
        alternative = _CUT.split(other[1])[0].strip(" $*.,") if other else ""
        tail = _TAGGED.search(text, end) or _HASHES.search(text, end)
        if not alternative and tail:
            alternative = extract(text[end:])[0] or ""
        if alternative and differs(content, alternative):
            return f"{content} \\text{{ or }} {alternative}", "a box and another answer after it"
        return content, "the last box"
    if boxed_only:
        return None, "there is no box"
    tags = list(_TAGGED.finditer(text))
    if tags:
        if not tags[-1][1]:
            return None, "the answer tag is not closed"
        opening = next((tag for tag in reversed(tags) if not tag[1]), None)
        if opening and (inner := text[opening.end() : tags[-1].start()].strip()):
            found = extract(inner)[0] if _PHRASE.match(inner) else None
            return found or inner, "the answer tag"
        return None, "the answer tag is empty"
    marks = [m for m in _HASHES.finditer(text) if re.search(r"\d|\\", m[1]) or not text[m.end() :].strip()]
    if marks and not re.match(r"(?:step|part|case|solution)\b", marks[-1][1], re.I):
        line = marks[-1][1].strip()
        phrase = _PHRASE.match(line)
        return line[phrase.end() :].strip() if phrase else line, "the line after ####"
    found = []
    for m in deque(_PHRASE.finditer(text), maxlen=100):
        value, end = _stated(text, m.end())
        if found and found[-1][1] > m.start():  # a phrase in a phrase
            found.pop()
        if value and value.split()[0].lower() not in ("not", "no", "never", "unknown", "what"):
            found.append((m.start(), end, value))
    if (offered := len({value for _, _, value in found})) > _MOST_OFFERED:
        return None, f"{offered} different answers are a list of guesses, not an answer"
    if found:
        at = len(found) - 1
        while at and _LINK.fullmatch(text[found[at - 1][1] : found[at][0]][:200]):
            at -= 1
        contents = list(dict.fromkeys(value for _, _, value in found[at:]))
        if len(contents) > 1:
            return " , ".join(contents[:50]), "phrases side by side"
        return contents[0], "a phrase"
    last = None
    for m in _WEAK.finditer(text, max(0, len(text) - 400)):
        last = m
    if last:
        value, end = _stated(text, last.end())
        if value and value[0] in "-+$\\(0123456789.√" and not re.search(r"\d", text[end:]):
            return value, "the last sentence"
    bare = text.strip()
    if len(bare) <= 200 and "\n" not in bare and is_value(bare):
        return bare, "the whole text"
    return None, "there is no box, no answer tag and no phrase like 'the answer is'"


def _stated(text: str, at: int) -> tuple[str, int]:
    """The value that follows a phrase, and where it ends."""
    rest = text[at : at + 700]
    lead = len(rest) - len(rest.lstrip(" \t\r\n:*_`\"'“"))
    rest = rest[lead:]
    at += lead
    parts, done = [], 0
    while m := _INLINE.match(rest, done):
        parts.append(next(group for group in m.groups() if group))
        done = m.end()
        link = re.compile(r"\s*(?:,\s*(?:and|or)|,|and|or)\s*(?=\$|\\[(\[])").match(rest, done)
        if not link:
            break
        parts.append(" \\text{ or } " if "or" in link[0] else " , ")
        done = link.end()
    if parts:
        unit = re.compile(r"\s*(%|°|[A-Za-z]{1,15}(?:/[a-z]{1,5}|\^\d)?)").match(rest, done)
        if unit and (unit[1] in "%°" or unit[1].lower() in UNITS):
            parts.append(f" \\text{{ {unit[1]} }}" if unit[1] not in "%°" else unit[1])
        other = _OTHER.match(rest, done)
        if other and other[1][0] not in "eE" and differs("".join(parts), _CUT.split(other[1])[0].strip(" $*.,")):
            parts.append(f" \\text{{ or }} {_CUT.split(other[1])[0]}")
        return "".join(parts).strip(), at + done
    cut = _CUT.search(rest)
    end = cut.start() if cut else len(rest)
    return rest[:end].strip(" \t*_`\"'”,"), at + end
