r"""Math: problems with one final answer, graded by what it means and not by how it is written.

Standard library only, copy this one file into any project; SymPy is asked about integrals, limits and open sums if it
is there, in a process of its own, and nothing else needs it.

>>> row = make_rows(1, seed=3, families=["addition"])[0]
>>> print(row["prompt"][0]["content"])
What is 14 + 10? Answer in \boxed{}.
>>> score(r"14 + 10 = 24, so \boxed{24.0}", row).reward
1.0
>>> verdict = score("The answer is 24 or 25.", row)
>>> verdict.reward, verdict.reason
(0.0, "wrong answer: a list of answers, '24 or 25', where one is wanted (read from a phrase)")
>>> equal(r"\frac{\sqrt{2}}{2}", "2^{-1/2}"), equal("(2, 5]", "2 < x <= 5"), equal("5 cm", "5 m")
(True, True, False)
"""

import atexit
import decimal
import json
import os
import queue
import random
import re
import subprocess
import sys
import threading
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from math import comb, factorial, gcd, isqrt, lcm
from typing import NamedTuple

_list = str.split  # of words
SPLITS = ("train", "validation", "test")
DIFFICULTIES = ("easy", "medium", "hard")


class Verdict(NamedTuple):
    """What the grader says: `reason` starts with the kind of result, then a colon, then the details."""

    reward: float | None
    reason: str
    metrics: dict[str, float]


class Limit(ValueError):
    """An expression over the limits: too long, too deep, or too large to work out."""


class Unreadable(ValueError):
    """Text that is not an answer in any notation known here."""


# Limits on what is read and worked out. They bound the time: about 0.1 s for the worst pair.
LONGEST = 2_000_000  # characters of a completion that are read, from its end
LONGEST_ANSWER = 4_000  # characters of an answer
DEPTH = 30  # nested groups
NODES = 1_500  # of an expression
DIGITS = 4_000  # of a written number
BITS = 40_000  # of an exact number on the way
TERMS = 500  # of a sum or product that is worked out
WORK = 30_000  # steps to work out one expression once

# --- finding the answer in a completion ------------------------------------------------------------------

_THINK = re.compile(
    r"<(/?)\|?(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|scratchpad|reflection|analysis)\|?>"
    r"|<\|(?:begin|(end))_of_thought\|>|\[(/?)THINK\]|◁(/?)think▷",
    re.I,
)
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)(?![A-Za-z])")
_BRACE = re.compile(r"\\(?:boxed|fbox|framebox)(?![A-Za-z])\s*(?:\[[^\[\]{}]{0,20}\]\s*)*\{|\\.|[{}]", re.S)
_UNBRACED = re.compile(
    r"[ \t]*([-+]?(?:\d[\d.,]*\d|\d)(?:/\d+)?|\\[dt]?frac\s*(?:\{[^{}]{1,40}\}|\d)\s*(?:\{[^{}]{1,40}\}|\d)"
    r"|\\(?:pi|infty)(?![A-Za-z])|[A-Za-z](?![A-Za-z\d]))"
)
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


def _without_reasoning(text: str) -> str:
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


def _boxes(text: str) -> list[tuple[int, int, str | None]]:
    """(start, end, content) of each outermost box; content None if it never closes. One pass over the text."""
    first = _BOX.search(text)
    if not first:
        return []
    found, stack = [], []  # stack: (start of box or -1, start of content)
    for m in _BRACE.finditer(text, first.start()):
        sign = m[0]
        if sign == "{" or len(sign) > 2:
            stack.append((m.start() if len(sign) > 2 else -1, m.end()))
        elif sign == "}" and stack:
            start, content = stack.pop()
            if start >= 0:
                while found and found[-1][0] > start:
                    found.pop()  # a box in a box
                found.append((start, m.end(), text[content : m.start()]))
    open_box = next((start for start, _ in reversed(stack) if start >= 0), None)
    if open_box is not None and (not found or found[-1][0] < open_box):
        found.append((open_box, len(text), None))
    for m in _BOX.finditer(text, first.start()) if "\\boxed " in text or not found else []:
        bare = _UNBRACED.match(text, m.end())
        if bare and not any(a <= m.start() < b for a, b, _ in found[-50:]):
            found.append((m.start(), bare.end(), bare[1]))
    return sorted(found)


_MOST_OFFERED = 3  # different answers in one text, an earlier one being corrected; more are guesses


def extract(text: str, boxed_only: bool = False) -> tuple[str | None, str]:
    """The final answer in a completion, and the rule that found it or why there is none.

    Reasoning is dropped first; an unclosed block is no answer. Then the first of these that is there counts: the last
    box; `<answer>`; a line `#### x`; "the answer is"; "the total is" and the like in the last sentence; the whole
    text if it is an answer and no more. Boxes or phrases side by side, with no word between them that takes one back,
    are one list of answers; more than three different ones in a text are guesses, and none of them counts.
    """
    whole = text
    text = _without_reasoning(text)
    if not text.strip():
        return None, "the reasoning never ends" if whole.strip() else "the text is empty"
    text = text[-LONGEST:]
    boxes = [box for box in _boxes(text) if box[2] is None or box[2].strip(" \t\n~$.?")]
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
        if alternative and _differs(content, alternative):
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
    if len(bare) <= 200 and "\n" not in bare and _is_value(bare):
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
        if unit and (unit[1] in "%°" or unit[1].lower() in _UNITS):
            parts.append(f" \\text{{ {unit[1]} }}" if unit[1] not in "%°" else unit[1])
        other = _OTHER.match(rest, done)
        if other and other[1][0] not in "eE" and _differs("".join(parts), _CUT.split(other[1])[0].strip(" $*.,")):
            parts.append(f" \\text{{ or }} {_CUT.split(other[1])[0]}")
        return "".join(parts).strip(), at + done
    cut = _CUT.search(rest)
    end = cut.start() if cut else len(rest)
    return rest[:end].strip(" \t*_`\"'”,"), at + end


# --- reading notation ------------------------------------------------------------------------------------
# Text becomes tokens, tokens a tree of tuples. Values: num, sym, const, inf, add, mul, div, pow, neg, pm, fn, pct,
# deg, sum, base, open (an integral, limit or derivative). Around values: seq (in brackets), set, list, rel, sets
# (union and the like), matrix, text, qty (with a unit), mod, ratio, empty.

_GREEK = _list(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi "
    "rho sigma tau upsilon "
    "phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell hbar partial nabla"
)
_FUNCTIONS = _list(
    "sin cos tan cot sec csc arcsin arccos arctan arccot arcsec arccsc sinh cosh tanh coth ln log lg exp sqrt cbrt abs "
    "floor ceil gcd lcm max min Re Im det sgn asin acos atan"
)
_TEXT = _list(
    "text textbf textit textrm textsf texttt textup mathrm mathbf mathit mathsf mathtt mbox hbox operatorname bold "
    "boldsymbol emph bm rm bf underline"
)
_NOISE = re.compile(
    r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits|mathstrut|strut|,|;|:|>|!|"
    r"thinspace|medspace|enspace|quad|qquad|space|hfill|null|allowbreak|nobreak|bf|rm|it|boldmath|left\.|right\.)(?![A-Za-z])"
)
_DROPPED = re.compile(
    r"\\(?:color|hspace|vspace|phantom|hphantom|label|tag)\*?\s*\{[^{}]{0,60}\}|\\textcolor\s*\{[^{}]{0,60}\}"
)
_SIGNS = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "﹣": "-", "－": "-", "×": "\\times ", "⋅": "\\cdot ",
    "·": "\\cdot ", "∙": "\\cdot ", "•": "\\cdot ", "∗": "*", "÷": "\\div ", "∕": "/", "⁄": "/", "≤": "\\le ",
    "≥": "\\ge ", "⩽": "\\le ", "⩾": "\\ge ", "≠": "\\ne ", "≈": "\\approx ", "≃": "\\approx ", "≅": "\\approx ",
    "∞": "\\infty ", "√": "\\sqrt ", "∛": "\\sqrt[3]", "∜": "\\sqrt[4]", "∪": "\\cup ", "∩": "\\cap ", "∈": "\\in ",
    "∅": "\\emptyset ", "∖": "\\setminus ", "°": "^\\circ ", "º": "^\\circ ", "±": "\\pm ", "∓": "\\mp ",
    "…": "\\ldots ",
    "⋯": "\\ldots ", "→": "\\to ", "ℝ": "\\mathbb{R}", "ℤ": "\\mathbb{Z}", "ℕ": "\\mathbb{N}", "ℚ": "\\mathbb{Q}",
    "ℂ": "\\mathbb{C}", "⟨": "\\langle ", "⟩": "\\rangle ", "〈": "\\langle ", "〉": "\\rangle ", "∑": "\\sum ",
    "∏": "\\prod ", "∫": "\\int ", "≡": "\\equiv ", "′": "'", "’": "'", "‘": "'", "“": '"', "”": '"', "⌊": "\\lfloor ",
    "⌋": "\\rfloor ", "⌈": "\\lceil ", "⌉": "\\rceil ", "∣": "|", "。": ".", "、": ",", "，": ",", "∧": "\\land ",
    "∨": "\\lor ", "¬": "\\neg ", "ⅈ": "i", "ⅇ": "e", "µ": "\\mu ", "‰": "/1000 ", "∘": "\\circ ", "⇒": "\\implies ",
}  # fmt: skip
_UP = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣ", "0123456789+-=()nix"))
_DOWN = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₙₖᵢⱼₓ", "0123456789+-nkijx"))
_UP_RUN, _DOWN_RUN = re.compile(f"[{''.join(_UP)}]+"), re.compile(f"[{''.join(_DOWN)}]+")
_INVISIBLE = re.compile("[\u200b-\u200f\u2060-\u2064\ufe0f\ufeff\u00ad]")


def _ascii(text: str) -> str:
    """Unicode mathematics as LaTeX, other digits and letters as plain ones."""
    text = _INVISIBLE.sub("", text)
    text = _UP_RUN.sub(lambda m: "^{" + "".join(map(_UP.get, m[0])) + "}", text)
    text = _DOWN_RUN.sub(lambda m: "_{" + "".join(map(_DOWN.get, m[0])) + "}", text)
    out = []
    for char in text:
        if char < "\x80":
            out.append(char)
            continue
        if char in _SIGNS:
            out.append(_SIGNS[char])
            continue
        plain = unicodedata.normalize("NFKC", char)
        if "⁄" in plain:
            top, bottom = plain.split("⁄")
            out.append(f"\\frac{{{top}}}{{{bottom}}}")
        elif len(plain) == 1 and plain in _SIGNS:
            out.append(_SIGNS[plain])
        elif len(plain) == 1 and (digit := unicodedata.decimal(plain, None)) is not None:
            out.append(str(digit))
        elif (name := unicodedata.name(plain[:1] or " ", "")).startswith("GREEK "):
            letter = name.split()[-1].lower()
            letter = {"lamda": "lambda", "pi": "pi"}.get(letter, letter)
            out.append(f"\\{letter if 'SMALL' in name or 'SYMBOL' in name else letter.capitalize()} ")
        else:
            out.append(plain)
    return "".join(out)


_REPEAT = re.compile(
    r"(?<![\d.])(\d*)\.(\d*)(?:\\(?:overline|bar|dot)\s*(?:\{(\d{1,40})\}|(\d))|(?<=\.)\((\d{1,40})\))"
)
_DOTS = re.compile(r"(?<![\d.])(\d+)\.(\d*?)(\d{1,6})\3{2,}(?:\.\.\.|\\l?dots)\s*$")
_GROUPED = re.compile(r"(?<![\d.,])(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3})(?![\d,]|\.\d+,)")
_SPACED = re.compile(
    r"(?<![\d.,])(?<!\d )\d{1,3}(?:[ ~]\d{3})+(?!\d|[ ~]\d|/)|(?<![\d.,])\d{1,3}(?:['_]\d{3})+(?![\d'])"
)
_EUROPEAN = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+),(\d+)(?![\d,.])|(?<![\d.,])(\d{1,3}(?:\.\d{3}){2,})(?![\d.,])"
)
_UNIT_FRACTION = re.compile(
    r"\\frac\s*\{\s*(\\(?:text|mathrm)\s*\{[A-Za-z ]{1,20}\})\s*\}\s*"
    r"\{\s*(\\(?:text|mathrm)\s*\{[A-Za-z ]{1,20}\}(?:\^\d|\^\{\d\})?)\s*\}$"
)
_CROSS = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*\^)|(?<=\d)\s+[xX]\s+(?=\d)")
_REMARK = re.compile(r"(?:\s+\(|\s*\(\s*\\text\s*\{)\s*([A-Za-z]{4,})[^()]{0,200}\)$")
_DOLLAR = "\x01"


def _repeating(m: re.Match) -> str:
    """0.1\\overline{6} as a fraction in braces."""
    whole, fixed, cycle = m[1] or "0", m[2], m[3] or m[4] or m[5]
    low = 10 ** len(fixed)
    value = Fraction(int(whole + fixed), low) + Fraction(int(cycle), low * (10 ** len(cycle) - 1))
    return f"{{\\frac{{{value.numerator}}}{{{value.denominator}}}}}"


def _clean(text: str, merge: bool = True) -> str:
    """One notation: LaTeX without layout, plain digits, no thousands separators, no maths delimiters."""
    if len(text) > LONGEST_ANSWER:
        raise Limit(f"an answer of {len(text)} characters; the limit is {LONGEST_ANSWER}")
    if not text.isascii():
        text = _ascii(text)
    text = text.strip().strip("`").strip()
    if "*" in text[:2]:
        text = re.sub(r"^\*{1,3}(?=[^\s*])(.{0,4000}?)\*{1,3}\.?$", r"\1", text, flags=re.S)
    if "&" in text:
        text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", " ").replace("&deg;", "^\\circ ")
    if "\\" in text:
        text = text.replace("\\$", _DOLLAR).replace("\\%", "%").replace("\\#", "#")
        text = re.sub(r"(?<!\\)\\(?=\s|$)", " ", text)
        text = text.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac").replace("\\cfrac", "\\frac")
        text = re.sub(r"\\[()\[\]]", " ", text) if not re.search(r"\\\\\[", text) else text
        text = text.replace("\\!", "").replace("\\,", " ")
        text = _DROPPED.sub(" ", text)
        text = _BOX.sub(" ", text)
        text = _NOISE.sub(" ", text)
    text = text.replace("~", " ")
    if "$" in text:
        text = re.sub(r"\$(?=\s?\d)", _DOLLAR, text) if text.count("$") % 2 else text.replace("$", " ")
        text = text.replace("$", " ")
    text = re.sub(r"\s+", " ", text.replace("{,}", ",").replace("{-}", "-").replace("{+}", "+")).strip()
    text = re.sub(r"\\text\s*\{\s*[.,;]?\s*\}", " ", text).strip() if "\\text" in text else text
    text = re.sub(r"(?<=\d) ?, ?(?=\d{3}(?!\d))", ",", text) if ",\\!" in text else text
    while text and text[-1] in ".,;:" and not text.endswith("..."):
        text = text[:-1].rstrip()
    if "frac" in text:
        text = _UNIT_FRACTION.sub(r" \1/\2", text)
    text = _CROSS.sub(r"\\times ", text)
    if "." in text:
        text = _REPEAT.sub(_repeating, text)
        text = _DOTS.sub(lambda m: _repeating(re.fullmatch(_REPEAT, f"{m[1]}.{m[2]}\\overline{{{m[3]}}}")), text)
    if "\\text" in text:
        text = re.sub(r"(?<=[\d})])\s*\\text\s*\{\s*\([a-z]{3,}[^(){}]{0,100}\)\s*\}$", "", text)
    if "(" in text and (m := _REMARK.search(text)) and m.start():
        head, word = text[: m.start()].rstrip(), m[1].lower()
        if (
            head[-1:] in "0123456789})"
            and word not in _FUNCTIONS
            and word not in _REFUSED
            and word not in ("mod", "pmod")
        ):
            text = head
    if "]" in text[:1] or "[" in text[-1:]:
        text = re.sub(r"^[\](\[]([^\[\]]+)\[$", lambda m: ("[" if text[0] == "[" else "(") + m[1] + ")", text)
        text = re.sub(r"^\]([^\[\]]+)\]$", r"(\1]", text)
    if merge:
        if "," in text:
            text = _EUROPEAN.sub(_european, text)
            text = _GROUPED.sub(lambda m: m[0] if _in_brackets(text, m.start()) else m[0].replace(",", ""), text)
        elif text.count(".") > 1:
            text = _EUROPEAN.sub(_european, text)
        if " " in text or "'" in text or "_" in text:
            text = _SPACED.sub(lambda m: re.sub(r"[ ~'_]", "", m[0]), text)
    return text


def _european(m: re.Match) -> str:
    return m[1].replace(".", "") + "." + m[2] if m[1] else m[3].replace(".", "")


def _in_brackets(text: str, at: int) -> bool:
    before = text[:at]
    opened = before.count("(") + before.count("[") + before.count("\\{")
    return opened > before.count(")") + before.count("]") + before.count("\\}")


_TOKEN = re.compile(
    r"(?P<num>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,6}(?![\w.]))?)|\\(?P<cmd>[A-Za-z]+|[{}|\\])|(?P<word>[A-Za-z]+)"
    r"|(?P<op>\*\*|<=|>=|=<|!=|==|:=|\.\.\.|[-+*/^_=<>!|,;:()\[\]{}%&'?\x01€£¥₹])|(?P<space>\s+)"
)


class _Token(NamedTuple):
    kind: str  # num, cmd, word (a symbol or function), text (a word), op, end
    value: str
    spaced: bool  # whether white space stands before it


_WORDS = {"and", "or", "to", "percent", "pi", "infinity", "inf", "infty", "mod", "of", "is", "the", "no", "none", "deg"}


def _tokens(text: str, words: bool = False) -> list[_Token]:
    """The signs of a cleaned text; `words` if it stands in a text command, where letters in a row are a word."""
    found: list[_Token] = []
    at, spaced = 0, False
    while at < len(text):
        m = _TOKEN.match(text, at)
        if not m:
            raise Unreadable(f"the sign {text[at]!r}")
        kind, value, at = m.lastgroup, m[m.lastgroup], m.end()
        if kind == "space":
            spaced = True
            continue
        if kind == "num" and len(value) > DIGITS:
            raise Limit(f"a number of {len(value)} digits; the limit is {DIGITS}")
        if kind == "cmd" and value in _TEXT:
            content, at = _argument(text, at)
            inner = content.strip()
            letter = re.fullmatch(r"[A-Za-z]", inner) and value not in ("text", "mbox", "textrm", "hbox")
            if letter or inner in _FUNCTIONS:
                found.append(_Token("word", inner, spaced))
            elif inner:
                for i, token in enumerate(_tokens(inner, True)):
                    kind = "text" if token.kind == "word" else token.kind
                    if kind == "text" and value.startswith(("math", "b")) and token.value in ("pi", "i", "e", "d"):
                        kind = "word"
                    found.append(_Token(kind, token.value, spaced or token.spaced or not i))
            spaced = False
            continue
        if kind == "word" and not words:
            found += _split_word(value, spaced, found)
        else:
            found.append(_Token(kind, value, spaced))
        spaced = False
        if len(found) > NODES:
            raise Limit(f"more than {NODES} signs")
    return found


def _argument(text: str, at: int) -> tuple[str, int]:
    """The content of the braces at this place, and where they end."""
    while at < len(text) and text[at] == " ":
        at += 1
    if at >= len(text) or text[at] != "{":
        return text[at : at + 1], at + 1
    depth = 0
    for m in re.compile(r"\\.|[{}]").finditer(text, at):
        if m[0] == "{":
            depth += 1
        elif m[0] == "}":
            depth -= 1
            if not depth:
                return text[at + 1 : m.start()], m.end()
    raise Unreadable("a brace that is not closed")


def _split_word(word: str, spaced: bool, before: list[_Token]) -> list[_Token]:
    """Letters in a row: a function, a word, or variables multiplied."""
    if len(word) == 1 or word in _FUNCTIONS or word in _WORDS:
        if word in _UNITS and spaced and before and before[-1].kind == "num" and word not in "xyabcnki":
            return [_Token("text", word, spaced)]
        return [_Token("word", word, spaced)]
    low = word.lower()
    if low in ("and", "or", "percent", "pi") or (low in _FUNCTIONS and low == word):
        return [_Token("word", low, spaced)]
    if low in _UNITS or low in ("sq", "cu", "per", "cent") or low in _FILLERS or low in _TRUTH:
        return [_Token("text", word, spaced)]
    for name in _FUNCTIONS:
        if len(name) > 2 and word.endswith(name) and len(word) - len(name) <= 2:
            return [*(_Token("word", c, spaced) for c in word[: -len(name)]), _Token("word", name, False)]
    if word.endswith("pi") and len(word) <= 3:
        return [*(_Token("word", c, spaced) for c in word[:-2]), _Token("word", "pi", False)]
    if len(word) == 2 or (len(word) <= 4 and not set(low) & set("aeiou")) or low in ("abc", "bac", "abcd", "xyz"):
        return [_Token("word", c, spaced and not i) for i, c in enumerate(word)]
    return [_Token("text", word, spaced)]


_RELATIONS = {
    "=": "=", "==": "=", ":=": "=", "<": "<", ">": ">", "<=": "<=", "=<": "<=", ">=": ">=", "!=": "!=", "le": "<=",
    "leq": "<=", "leqslant": "<=", "leqq": "<=", "ge": ">=", "geq": ">=", "geqslant": ">=", "geqq": ">=", "lt": "<",
    "gt": ">", "ne": "!=", "neq": "!=", "in": "in", "equiv": "mod", "approx": "approx", "cong": "approx",
    "simeq": "approx", "sim": "approx",
    "notin": "notin", "implies": "implies", "Rightarrow": "implies",
}  # fmt: skip
_TIMES = {"cdot": "*", "times": "*", "ast": "*", "div": "/", "cdotp": "*", "bullet": "*"}
_OPEN = {"(": ")", "[": "]", "\\{": "\\}", "langle": "rangle", "lfloor": "rfloor", "lceil": "rceil", "lbrace": "rbrace",
         "lbrack": "rbrack", "lvert": "rvert", "lVert": "rVert"}  # fmt: skip
_FILLERS = set(
    _list(
        "about approximately around roughly exactly the answer is are was an there it its total of only just all "
        "equals he she they we has have had will needs final result value so therefore thus"
    )
)
_REFUSED = set(
    _list(
        "not no never or and less more than least most to plus minus times squared cubed half halves thirds "
        "factorial over between from except unless either neither nor without until below above under maybe perhaps "
        "tenths hundredths thousandths quarters fifths sixths eighths fewer "
        "possibly divided multiplied negative root difference sum product log square-root infinite undefined unknown"
    )
)
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_TRUTH = {"true", "false", "yes", "no"}


def _unit_table() -> dict[str, str]:
    """Spelling -> name of the unit."""
    prefixed = {
        "m": ("meter", "metre"), "g": ("gram", "gramme"), "l": ("liter", "litre"), "s": ("second",), "w": ("watt",),
        "j": ("joule",), "pa": ("pascal",), "hz": ("hertz",), "v": ("volt",), "b": ("byte",), "n": ("newton",),
    }  # fmt: skip
    prefixes = {"": "", "k": "kilo", "c": "centi", "m": "milli", "d": "deci"}
    table = {}
    for short, names in prefixed.items():
        for p, long in prefixes.items():
            unit = p + short
            for spelling in (unit, *(long + name + s for name in names for s in ("", "s"))):
                table.setdefault(spelling, unit)
    more = (
        "in inch inches;ft foot feet;yd yard yards;mi mile miles;oz ounce ounces;lb lbs pound "
        "pounds;ton tons tonne tonnes;"
        "h hr hrs hour hours;min mins minute minutes;s sec secs second seconds;day days;week weeks wk;month months;"
        "year years yr yrs;$ dollar dollars usd bucks;cent cents ¢;€ euro euros eur;£ gbp;¥ yen jpy "
        "yuan;₹ rupee rupees;"
        "deg degree degrees;rad radian radians;% percent percentage pct;mph;kph kmh kmph;gallon gallons gal;"
        "quart quarts qt;pint pints pt;cup cups;acre acres;ha hectare hectares;unit units;cal calorie calories;"
        "kcal;amp amps;mol mole moles;celsius;fahrenheit;kelvin;ms millisecond milliseconds"
    )
    for line in more.split(";"):
        for spelling in line.split():
            table[spelling] = line.split()[0]
    return table


_UNITS = _unit_table()
_CODES = {"USD": "$", "US": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "RS": "₹", "INR": "₹"}
_LOOSE = {"unit", "square unit", "cubic unit", "units^2", "unit^2", "unit^3"}


def _unit_name(words: str) -> str:
    """A normal form for a unit: 'square centimeters' and 'cm^2' are one."""
    words = words.lower().replace("**", "^").replace("{", "").replace("}", "").replace("*", " ")
    words = re.sub(r"\bper\b", "/", words.replace("per cent", "%"))
    words = re.sub(r"\bsq\b|\bsquared?\b", "square", words)
    words = re.sub(r"\bcubed\b|\bcu\b", "cubic", words)
    words = re.sub(r"\ban? (?=hour|minute|second|day|week|month|year)", "/ ", words)
    out = []
    for side in words.split("/"):
        power, names = "", []
        for word in re.findall(r"[^\W\d_]+|[$€£¥₹%¢]|\^\s*-?\d+", side):
            if word in ("square", "cubic"):
                power = "^2" if word == "square" else "^3"
            elif word[0] == "^":
                power = word.replace(" ", "")
            elif word not in ("the", "of", "a", "an", "each"):
                singular = word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
                names.append(_UNITS.get(word, _UNITS.get(singular, singular)))
        out.append(" ".join(names) + power)
    name = "/".join(out)
    return {"mi/h": "mph", "km/h": "kph", "deg celsius": "celsius", "deg c": "celsius", "deg f": "fahrenheit"}.get(
        name, name
    )


class _Parser:
    """Recursive descent over tokens, with limits on depth and size."""

    def __init__(self, tokens: list[_Token]):
        self.tokens, self.at, self.depth, self.nodes = tokens, 0, 0, 0
        self.bars = 0  # open absolute values
        self.stops: list[str] = []  # differentials that end an integrand

    def peek(self, ahead: int = 0) -> _Token:
        i = self.at + ahead
        return self.tokens[i] if i < len(self.tokens) else _Token("end", "", False)

    def take(self, *values: str) -> bool:
        if self.peek().kind in ("op", "cmd", "word", "text") and self.peek().value in values:
            self.at += 1
            return True
        return False

    def need(self, value: str) -> None:
        if not self.take(value):
            raise Unreadable(f"no {value!r} where it is needed")

    def node(self, *parts) -> tuple:
        self.nodes += 1
        if self.nodes > NODES:
            raise Limit(f"more than {NODES} parts")
        return parts

    def nested(self, work: Callable):
        self.depth += 1
        if self.depth > DEPTH:
            raise Limit(f"nested more than {DEPTH} deep")
        result = work()
        self.depth -= 1
        return result

    # lists and relations

    def whole(self) -> tuple:
        parts = self.listed(("end",))
        if self.peek().kind != "end":
            raise Unreadable(f"{self.peek().value!r} where nothing can stand")
        return parts

    def listed(self, ends: tuple) -> tuple:
        """Parts with commas, 'and' or 'or' between them."""
        items, links = [], []
        while True:
            items.append(self.part())
            link = ""
            while self.take(",", ";", "and", "or", "land", "lor", "\\"):
                value = self.tokens[self.at - 1].value
                link = "or" if value in ("or", "lor") else "and" if value in ("and", "land") else link or ","
            if not link or self.peek().kind == "end" or self.peek().value in ends:
                break
            links.append(link)
        return items[0] if len(items) == 1 else self.node("list", tuple(items), tuple(links))

    def part(self) -> tuple:
        """A relation, a value or some words."""
        start = self.at
        while self.peek().kind in ("text", "word") and self.peek().value.lower() in _FILLERS:
            self.at += 1
        if self.peek().kind == "end" and self.at > start:
            self.at = start
        self.take("approx", "cong", "simeq", "sim", "=", "therefore", "implies")
        sides, ops = [self.quantity()], []
        while self.peek().kind in ("op", "cmd") and self.peek().value in _RELATIONS:
            op = _RELATIONS[self.peek().value]
            self.at += 1
            if op == "implies":
                sides, ops = [self.quantity()], []
                continue
            ops.append(op)
            sides.append(self.quantity())
        if "approx" in ops and set(ops) <= {"approx", "="}:
            at = ops.index("approx")
            if at or not _is_name(sides[0]):
                exact = self.node("rel", tuple(sides[: at + 1]), tuple(ops[:at])) if at else sides[0]
                return self.node("approx", exact, sides[-1])
            ops = ["="] * len(ops)
        result = sides[0] if not ops else self.node("rel", tuple(sides), tuple(ops))
        if self.peek().value in ("pmod", "bmod", "mod") or (
            self.peek().value == "(" and self.peek(1).value in ("mod", "bmod")
        ):
            bracket = self.take("(")
            self.at += 1
            modulus = self.unary()
            if bracket:
                self.need(")")
            if ops and ops[-1] in ("mod", "="):
                return self.node("mod", sides[-1], modulus)
            return self.node("mod", result, modulus)
        return result

    def quantity(self) -> tuple:
        """Set operations over values, or words, or a value and its unit."""
        left = self.measured()
        while self.peek().value in ("cup", "cap", "setminus", "backslash") and self.peek().kind == "cmd":
            op = self.peek().value
            self.at += 1
            left = self.node("sets", op, left, self.measured())
        return left

    def measured(self) -> tuple:
        token = self.peek()
        if token.kind == "op" and token.value in ("\x01", "€", "£", "¥", "₹"):
            self.at += 1
            value = self.sum()
            words = self.unit_words()
            return self.scaled(value, words, "$" if token.value == "\x01" else token.value)
        if token.value == "-" and self.peek(1).value in ("\x01", "€", "£", "¥", "₹"):
            self.at += 2
            value = self.sum()
            return self.scaled(self.node("neg", value), self.unit_words(), "$" if self.tokens[self.at - 1] else "")
        if token.kind == "text" and token.value.upper() in _CODES and self.peek(1).kind == "num":
            self.at += 1
            value = self.sum()
            return self.scaled(value, self.unit_words(), _CODES[token.value.upper()])
        if token.kind == "text" or (token.kind == "word" and token.value in ("no", "none")):
            words = []
            while self.peek().value not in ("and", "or") and (
                self.peek().kind == "text"
                or self.peek().value in ("no", "none")
                or (words and self.peek().kind == "word")
            ):
                words.append(self.peek().value)
                self.at += 1
            if self.peek().kind in ("num",) or self.peek().value in ("\x01", "cmd"):
                raise Unreadable(f"words before a value: {' '.join(words)[:40]!r}")
            return self.node("text", " ".join(words))
        value = self.sum()
        return self.scaled(value, self.unit_words(), "")

    def unit_words(self) -> str:
        """Words and their powers after a value, as text."""
        words = []
        if self.peek().kind not in ("text", "cmd", "op") and self.peek().value != "percent":
            return ""
        while True:
            token = self.peek()
            if token.value in ("and", "or"):
                break
            if token.kind == "text" or (token.kind == "word" and words):
                words.append(token.value)
                self.at += 1
            elif token.value in ("percent", "%"):
                words.append("%")
                self.at += 1
            elif token.value in ("\x01", "€", "£", "¥", "₹"):
                words.append("$" if token.value == "\x01" else token.value)
                self.at += 1
            elif words and token.value == "^":
                mark = self.at
                self.at += 1
                braced = self.take("{")
                minus = self.take("-")
                if self.peek().kind == "num" and self.peek().value in "123":
                    words.append("^" + "-" * minus + self.peek().value)
                    self.at += 1
                    if braced:
                        self.need("}")
                else:
                    self.at = mark
                    break
            elif words and token.value in ("/", "cdot") and self.peek(1).kind in ("text", "word"):
                words.append("/" if token.value == "/" else "*")
                self.at += 1
            elif words and token.value == "." and token.kind == "op":
                self.at += 1
            else:
                break
        return " ".join(words)

    def scaled(self, value: tuple, words: str, currency: str) -> tuple:
        names = words.lower().split()
        while names and names[0] in _SCALES:
            value = self.node("mul", (value, ("num", Fraction(_SCALES[names.pop(0)]))))
        if set(names) & _REFUSED:
            raise Unreadable(f"words after a value: {words[:40]!r}")
        if len(names) > 8:
            raise Unreadable(f"a sentence after a value: {words[:40]!r}")
        rest = " ".join(names)
        if currency and _unit_name(rest) != currency and "/" not in _unit_name(rest):
            rest = currency
        if not rest:
            return value
        if rest in ("%", "per cent", "pct", "percentage"):
            return self.node("pct", value)
        unit = _unit_name(rest)
        if unit == "deg":
            return self.node("deg", value)
        return self.node("qty", value, unit) if unit else value

    # values

    def sum(self) -> tuple:
        terms = []
        if self.take("+"):
            pass
        terms.append(self.signed())
        while True:
            if self.peek().kind == "op" and self.peek().value in "+-" and self.peek().value:
                sign = self.peek().value
                self.at += 1
                term = self.signed()
                terms.append(term if sign == "+" else self.node("neg", term))
            elif self.peek().kind == "cmd" and self.peek().value in ("pm", "mp"):
                sign = 1 if self.peek().value == "pm" else -1
                self.at += 1
                terms.append(self.node("pm", sign, self.signed()))
            else:
                break
        return terms[0] if len(terms) == 1 else self.node("add", tuple(terms))

    def signed(self) -> tuple:
        """A product, perhaps with signs before it."""
        if self.take("-"):
            return self.nested(lambda: self.node("neg", self.signed()))
        if self.take("+"):
            return self.nested(self.signed)
        if self.peek().kind == "cmd" and self.peek().value in ("pm", "mp"):
            sign = 1 if self.peek().value == "pm" else -1
            self.at += 1
            return self.nested(lambda: self.node("pm", sign, self.signed()))
        return self.product()

    def product(self) -> tuple:
        left = self.unary()
        while True:
            token = self.peek()
            op = token.value if token.kind == "op" else _TIMES.get(token.value, "") if token.kind == "cmd" else ""
            if op == "*" or op == "/":
                self.at += 1
                right = self.factor_signed()
                left = self.node("mul", (left, right)) if op == "*" else self.node("div", left, right)
            elif token.kind in ("cmd", "word") and token.value in ("bmod", "mod"):
                self.at += 1
                left = self.node("fn", "mod", (left, self.factor_signed()))
            elif self.starts_factor():
                left = self.implicit(left)
            else:
                return left

    def factor_signed(self) -> tuple:
        if self.take("-"):
            return self.nested(lambda: self.node("neg", self.factor_signed()))
        if self.take("+"):
            return self.nested(self.factor_signed)
        return self.unary()

    def implicit(self, left: tuple) -> tuple:
        """A factor with no sign before it: a product, or the fraction of a mixed number."""
        token, before = self.peek(), self.tokens[self.at - 1]
        if token.kind == "num":
            after = [self.peek(k) for k in (1, 2)]
            if (
                before.kind == "num" and token.spaced and left[0] == "num" and left[1].denominator == 1
                and after[0].value == "/" and after[1].kind == "num"
            ):  # fmt: skip
                self.at += 3
                part = Fraction(_fraction(token.value), _fraction(after[1].value) or 1)
                if 0 < part < 1:
                    return self.node("num", left[1] + part)
            raise Unreadable("two numbers side by side")
        right = self.unary()
        if (
            before.kind == "num" and left[0] == "num" and left[1].denominator == 1 and token.value == "frac"
            and right[0] == "div" and right[1][0] == right[2][0] == "num" and right[2][1]
            and right[1][1].denominator == right[2][1].denominator == 1
        ):  # fmt: skip
            return self.node("num", left[1] + right[1][1] / right[2][1])
        return self.node("mul", (left, right))

    def starts_factor(self) -> bool:
        token = self.peek()
        if token.kind == "num":
            return True
        if token.kind == "word":
            return token.value not in ("and", "or", "percent", "to", "of", "is", "mod", "the", "no", "none")
        if token.kind == "op":
            return token.value in ("(", "{", "[") or (token.value == "|" and not self.bars)
        if token.kind == "cmd":
            value = token.value
            if value == "dd":
                return False
            return value in _ATOMS or value in _GREEK or value in _FUNCTIONS or value in ("{", "lbrace")
        return False

    def unary(self) -> tuple:
        return self.nested(self.power)

    def power(self) -> tuple:
        base = self.postfix(self.atom())
        if self.take("^", "**"):
            if self.peek().value in ("circ", "degree"):
                self.at += 1
                return self.postfix(self.node("deg", base))
            if self.peek().value == "{" and self.peek(1).value in ("circ", "degree") and self.peek(2).value == "}":
                self.at += 3
                return self.postfix(self.node("deg", base))
            exponent = self.exponent()
            return self.postfix(self.node("pow", base, exponent))
        return base

    def exponent(self) -> tuple:
        if self.take("-"):
            return self.nested(lambda: self.node("neg", self.exponent()))
        if self.take("+"):
            return self.exponent()
        return self.nested(self.power)

    def postfix(self, value: tuple) -> tuple:
        while True:
            token = self.peek()
            if token.value == "!" and token.kind == "op":
                self.at += 1
                value = self.node("fn", "factorial", (value,))
            elif token.value == "%" and token.kind == "op":
                self.at += 1
                value = self.node("pct", value)
            elif token.kind == "cmd" and token.value in ("degree", "circ"):
                self.at += 1
                value = self.node("deg", value)
            elif token.value == "_" and value[0] == "num":
                self.at += 1
                token = self.peek()
                self.at += token.kind == "num"
                base = self.node("num", _fraction(token.value)) if token.kind == "num" else self.group_or_token()
                digits = self.written(value)
                if base[0] != "num" or base[1].denominator != 1:
                    raise Unreadable("a base that is no number")
                value = self.node("base", digits, int(base[1]))
            elif token.value == "'" and value[0] == "sym":
                self.at += 1
                value = self.node("sym", value[1] + "'")
            else:
                return value

    def written(self, value: tuple) -> str:
        if value[1].denominator != 1 or value[1] < 0:
            raise Unreadable("a base under a number that is not whole")
        return str(value[1])

    def group_or_token(self) -> tuple:
        """The argument of a command: braces, or one digit, letter or command."""
        token = self.peek()
        if token.value == "{" and token.kind == "op":
            return self.braces()
        if token.kind == "num" and len(token.value) > 1 and token.value.isdigit():
            head, tail = token.value[0], token.value[1:]  # \frac12 takes one digit
            self.tokens[self.at : self.at + 1] = [_Token("num", head, token.spaced), _Token("num", tail, False)]
        return self.nested(self.atom)

    def braces(self) -> tuple:
        self.need("{")
        start = self.at
        value = self.nested(lambda: self.listed(("}",)))
        if self.peek().kind == "cmd" and self.peek().value in ("over", "choose"):
            how = self.peek().value
            self.at += 1
            other = self.nested(lambda: self.listed(("}",)))
            value = self.node("div", value, other) if how == "over" else self.node("fn", "binom", (value, other))
        self.need("}")
        if value[0] == "list" and self.at - start > 2:
            return self.node("set", value[1])
        return value

    def symbol(self, name: str) -> tuple:
        if self.peek().value == "_" and self.peek().kind == "op":
            self.at += 1
            if self.take("{"):
                parts, depth = [], 1
                while depth:
                    token = self.peek()
                    if token.kind == "end":
                        raise Unreadable("a subscript that is not closed")
                    depth += (token.value == "{") - (token.value == "}")
                    if depth:
                        parts.append(token.value)
                    self.at += 1
                name += "_" + "".join(parts)
            else:
                name += "_" + self.peek().value
                self.at += 1
        return self.node("sym", name)

    def atom(self) -> tuple:
        token = self.peek()
        self.at += 1
        kind, value = token.kind, token.value
        if kind == "num":
            return self.node("num", _fraction(value))
        if kind == "word":
            if value == "pi":
                return self.node("const", "pi")
            if value in ("infinity", "inf", "infty"):
                return self.node("inf")
            if value in _FUNCTIONS and len(value) > 1:
                return self.function(value)
            if value == "e" or value == "i":
                if self.peek().value == "_":
                    return self.symbol(value)
                return self.node("const", value)
            if len(value) == 1:
                return self.symbol(value)
            if value in ("none", "no"):
                return self.node("text", value)
        if kind == "op":
            if value in ("(", "["):
                return self.bracketed(value, (")", "]"))
            if value == "{":
                self.at -= 1
                return self.braces()
            if value == "|":
                self.bars += 1
                inner = self.nested(self.sum)
                self.bars -= 1
                self.need("|")
                return self.node("fn", "abs", (inner,))
        if kind == "cmd":
            return self.command(value)
        raise Unreadable(f"{value!r} where a value is needed" if value else "the end where a value is needed")

    def bracketed(self, opened: str, closers: tuple) -> tuple:
        if self.peek().value in closers:
            raise Unreadable("empty brackets")
        bars, self.bars = self.bars, 0
        inner = self.nested(lambda: self.listed(closers))
        self.bars = bars
        closed = self.peek().value
        if closed not in closers:
            raise Unreadable("a bracket that is not closed")
        self.at += 1
        if inner[0] == "list":
            return self.node("seq", opened, closed, inner[1])
        if opened == "[" and closed == "]" and inner[0] == "seq":
            return self.node("seq", opened, closed, (inner,))
        return inner

    def command(self, name: str) -> tuple:
        if name == "frac":
            top = self.group_or_token()
            bottom = self.group_or_token()
            return self.node("div", top, bottom)
        if name == "sqrt":
            return self.root()
        if name in ("binom", "dbinom", "tbinom"):
            top = self.group_or_token()
            return self.node("fn", "binom", (top, self.group_or_token()))
        if name == "pi":
            return self.node("const", "pi")
        if name == "infty":
            return self.node("inf")
        if name in ("emptyset", "varnothing"):
            return self.node("empty")
        if name in ("{", "lbrace"):
            return self.set()
        if name == "langle":
            return self.bracketed("(", ("rangle",))
        if name in ("lfloor", "lceil"):
            inner = self.nested(self.sum)
            self.need("r" + name[1:])
            return self.node("fn", "floor" if name == "lfloor" else "ceil", (inner,))
        if name in ("lvert", "vert", "|", "lVert", "Vert"):
            inner = self.nested(self.sum)
            if not self.take("rvert", "vert", "|", "rVert", "Vert"):
                raise Unreadable("an absolute value that is not closed")
            return self.node("fn", "abs", (inner,))
        if name == "mathbb":
            self.take("{")
            letter = self.peek().value
            self.at += 1
            self.take("}")
            return self.node("text", f"set {letter}")
        if name in _FUNCTIONS:
            return self.function(name)
        if name in ("sum", "prod"):
            return self.series(name)
        if name in ("int", "lim"):
            return self.open(name)
        if name in ("overline", "bar", "vec", "hat", "widehat", "overrightarrow", "tilde", "mathcal", "mathfrak"):
            inner = self.group_or_token()
            return self.node("sym", f"{name} {_key(inner)}")
        if name == "begin":
            return self.matrix()
        if name in ("angle", "triangle", "measuredangle"):
            return self.nested(self.atom)
        if name in _GREEK:
            return self.symbol(name)
        if name == "mathrm":
            return self.group_or_token()
        raise Unreadable(f"the command \\{name}")

    def root(self) -> tuple:
        degree = None
        if self.peek().value == "[":
            self.at += 1
            degree = self.nested(self.sum)
            self.need("]")
        token = self.peek()
        if token.kind == "num":
            self.at += 1
            inner = self.node("num", _fraction(token.value))
        else:
            inner = self.group_or_token()
        if inner[0] in ("seq", "list", "set", "rel", "text"):
            raise Unreadable("a root of what is no value")
        return self.node("fn", "root", (inner, degree or ("num", Fraction(2))))

    def set(self) -> tuple:
        if self.take("}", "rbrace"):
            return self.node("empty")
        inner = self.nested(lambda: self.listed(("}", "rbrace", "mid", ":", "|")))
        if self.take("mid", ":", "|", "vert"):  # the condition says it all
            inner = self.nested(lambda: self.listed(("}", "rbrace")))
        if not self.take("}", "rbrace"):
            raise Unreadable("a set that is not closed")
        if inner[0] == "rel" or (inner[0] == "list" and all(item[0] == "rel" for item in inner[1])):
            return inner
        return self.node("set", inner[1] if inner[0] == "list" else (inner,))

    def function(self, name: str) -> tuple:
        name = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "lg": "log10"}.get(name, name)
        base = power = None
        for _ in range(2):
            if self.peek().value == "_" and name == "log":
                self.at += 1
                token = self.peek()
                base = self.node("num", _fraction(token.value)) if token.kind == "num" else None
                if base:
                    self.at += 1
                else:
                    base = self.group_or_token()
            elif self.peek().value in ("^", "**"):
                self.at += 1
                token = self.peek()
                power = self.group_or_token() if token.value != "-" else self.exponent()
        argument = self.argument(name)
        if name == "sqrt":
            value = self.node("fn", "root", (argument, ("num", Fraction(2))))
        elif name == "cbrt":
            value = self.node("fn", "root", (argument, ("num", Fraction(3))))
        elif name in ("gcd", "lcm", "max", "min"):
            value = self.node("fn", name, argument[3] if argument[0] == "seq" else (argument,))
        elif name == "log" and base is not None:
            value = self.node("fn", "logb", (argument, base))
        elif power == ("neg", ("num", Fraction(1))) or power == ("num", Fraction(-1)):
            inverse = {"sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot"}
            if name not in inverse:
                raise Unreadable(f"{name} to the power -1")
            return self.node("fn", inverse[name], (argument,))
        else:
            if argument[0] in ("seq", "set", "list", "rel", "text"):
                raise Unreadable(f"{name} of what is no value")
            value = self.node("fn", name, (argument,))
        return value if power is None else self.node("pow", value, power)

    def argument(self, name: str) -> tuple:
        """What a function is applied to: brackets, or the factors that follow up to the next function or sign."""
        token = self.peek()
        if token.value == "(" or (token.value == "{" and token.kind == "op"):
            value = self.nested(self.atom)
            return self.powered(value) if token.value == "{" else value
        if token.value == "-":
            self.at += 1
            return self.nested(lambda: self.node("neg", self.argument(name)))
        left = self.unary()
        while self.starts_factor():
            token = self.peek()
            if token.value in _FUNCTIONS or token.value in ("(", "[", "sum", "prod", "int"):
                break
            if token.spaced and token.kind == "num":
                break
            left = self.implicit(left)
        return left

    def powered(self, value: tuple) -> tuple:
        return self.node("pow", value, self.exponent()) if self.take("^", "**") else value

    def series(self, name: str) -> tuple:
        low = high = None
        for _ in range(2):
            if self.take("_"):
                low = self.group_or_token()
            elif self.take("^"):
                token = self.peek()
                high = self.node("num", _fraction(token.value)) if token.kind == "num" else self.group_or_token()
                self.at += token.kind == "num"
        if low is None or high is None or low[0] != "rel" or low[2] != ("=",):
            raise Unreadable(f"a {name} without its bounds")
        variable = low[1][0]
        variable = variable[1] if variable[0] == "sym" or variable == ("const", "i") else None
        if variable is None:
            raise Unreadable(f"a {name} over what is no variable")
        body = self.nested(self.product)
        return self.node("sum", name, variable, low[1][1], high, body)

    def open(self, name: str) -> tuple:
        low = high = None
        for _ in range(2):
            if self.take("_"):
                low = self.limit() if name == "lim" else self.group_or_token()
            elif self.take("^"):
                high = self.exponent() if self.peek().value == "-" else self.group_or_token()
        body = self.nested(self.sum if name == "int" else self.product)
        if name == "lim":
            if low is None:
                raise Unreadable("a limit without its point")
            return self.node("open", "lim", low[0], low[1], None, body)
        self.need("dd")
        variable = self.peek()
        self.at += 1
        return self.node("open", "int", variable.value, low, high, body)

    def limit(self) -> tuple:
        self.need("{")
        variable = self.peek().value
        self.at += 1
        if not self.take("to", "rightarrow"):
            raise Unreadable("a limit without its point")
        point = self.sum()
        self.need("}")
        return variable, point

    def matrix(self) -> tuple:
        self.need("{")
        kind = ""
        while not self.take("}"):
            if self.peek().kind == "end":
                raise Unreadable("an environment without a name")
            kind += self.peek().value
            self.at += 1
        if kind == "array":
            while not self.take("}"):
                if self.peek().kind == "end":
                    raise Unreadable("an array without columns")
                self.at += 1
        if kind not in ("matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "array", "smallmatrix", "cases"):
            raise Unreadable(f"the environment {kind!r}")
        rows, row = [], []
        while True:
            if self.take("end"):
                break
            row.append(self.nested(self.part if kind == "cases" else self.sum))
            if self.take("&"):
                continue
            rows.append(tuple(row))
            row = []
            self.take("\\")
            if self.peek().kind == "end":
                raise Unreadable("an environment that is not closed")
        while not self.take("}"):
            if self.peek().kind == "end":
                raise Unreadable("an environment that is not closed")
            self.at += 1
        if kind == "vmatrix":
            return self.node("fn", "det", (self.node("matrix", tuple(rows)),))
        if kind == "cases":
            return self.node("list", tuple(item for row in rows for item in row), (",",) * (len(rows) - 1))
        if len({len(r) for r in rows}) != 1:
            raise Unreadable("a matrix with rows of different length")
        return self.node("matrix", tuple(rows))


_ATOMS = set(
    _list(
        "frac sqrt binom dbinom tbinom pi infty langle lfloor lceil lvert vert | lVert mathbb sum prod "
        "int lim overline bar vec "
        "hat widehat begin mathrm angle overrightarrow tilde emptyset varnothing"
    )
)


def _fraction(text: str) -> Fraction:
    """A written number, exactly. A huge power of ten is refused before it is worked out."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) + abs(int(exponent or 0)) > DIGITS:
        raise Limit(f"the number {text[:20]!r}")
    return Fraction(text)


def _read(text: str) -> tuple:
    """The tree of a cleaned text."""
    if "\\int" in text:
        text = re.sub(r"d([a-z]|\\theta)(?![A-Za-z])", r" \\dd \1", text)
    tokens = _tokens(text)
    if not tokens:
        raise Unreadable("nothing")
    return _Parser(tokens).whole()


def _key(node) -> str:
    """A normal form as text: the same for trees that differ in order, signs and brackets only."""
    if isinstance(node, tuple) and node and isinstance(node[0], str):
        if node[0] == "num":
            small = node[1].denominator.bit_length() + node[1].numerator.bit_length() < 13_000
            return str(node[1]) if small else f"number {hash(node[1])}"
        if node[0] in ("add", "mul"):
            parts, stack = [], list(node[1])
            while stack:
                part = stack.pop()
                if part[0] == node[0]:
                    stack += part[1]
                else:
                    parts.append(_key(part))
            return f"{node[0]}({','.join(sorted(parts))})"
        return f"{node[0]}({','.join(_key(part) for part in node[1:])})"
    if isinstance(node, tuple):
        return f"[{','.join(map(_key, node))}]"
    return str(node)


# --- working out values ----------------------------------------------------------------------------------


class _NotRational(Exception):
    """No exact rational value here: a root, a function, a variable."""


def _int(value: Fraction) -> int:
    if value.denominator != 1:
        raise _NotRational
    return value.numerator


def _small(value: Fraction) -> Fraction:
    if value.numerator.bit_length() + value.denominator.bit_length() > BITS:
        raise Limit(f"a number of more than {BITS} bits")
    return value


class _Exact:
    """Rational arithmetic on a tree, with values for its variables; `prime` makes it arithmetic modulo a prime."""

    def __init__(self, env: dict | None = None, sign: int = 1):
        self.env, self.sign, self.work = env or {}, sign, 0

    def __call__(self, node: tuple) -> Fraction:
        self.work += 1
        if self.work > WORK:
            raise Limit(f"more than {WORK} steps to work out")
        kind = node[0]
        if kind == "num":
            return node[1]
        if kind == "sym":
            if node[1] in self.env:
                return self.env[node[1]]
            raise _NotRational
        if kind == "const" and node[1] in self.env:
            return self.env[node[1]]
        if kind == "neg":
            return -self(node[1])
        if kind == "pm":
            return self(node[2]) if node[1] * self.sign > 0 else -self(node[2])
        if kind == "add":
            total = Fraction(0)
            for part in node[1]:
                total = _small(total + self(part))
            return total
        if kind == "mul":
            total = Fraction(1)
            for part in node[1]:
                total = _small(total * self(part))
            return total
        if kind == "div":
            bottom = self(node[2])
            if not bottom:
                raise _NotRational
            return _small(self(node[1]) / bottom)
        if kind == "pct":
            return self(node[1]) / 100
        if kind == "base":
            try:
                return Fraction(int(node[1], node[2]))
            except ValueError:
                raise Unreadable(f"the digits {node[1][:20]} in base {node[2]}") from None
        if kind == "pow":
            return self.power(self(node[1]), self(node[2]))
        if kind == "sum":
            return self.series(node)
        if kind == "fn":
            return self.function(node[1], node[2])
        raise _NotRational

    def power(self, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator != 1:
            if exponent.denominator > 1000 or base < 0:
                raise _NotRational
            base, exponent = _root(base, exponent.denominator), Fraction(exponent.numerator)
        size = base.numerator.bit_length() + base.denominator.bit_length()
        if base in (0, 1, -1):
            if not base and exponent <= 0:
                raise _NotRational
            return base if base != -1 or exponent.numerator % 2 else Fraction(1)
        if size * abs(exponent.numerator) > 2 * BITS:
            raise Limit(f"a power of more than {BITS} bits")
        return _small(base**exponent.numerator)

    def series(self, node: tuple) -> Fraction:
        _, name, variable, low, high, body = node
        if high[0] == "inf" or low[0] == "neg":
            raise _NotRational
        first, last = _int(self(low)), _int(self(high))
        if last - first >= TERMS:
            raise Limit(f"a {name} of more than {TERMS} terms")
        inner = _Exact({**self.env, variable: Fraction(0)}, self.sign)
        inner.work = self.work
        total = Fraction(0 if name == "sum" else 1)
        for k in range(first, last + 1):
            inner.env[variable] = Fraction(k)
            value = inner(body)
            total = _small(total + value if name == "sum" else total * value)
        self.work = inner.work
        return total

    def function(self, name: str, arguments: tuple) -> Fraction:
        if name == "det":
            return self.determinant([[self(cell) for cell in row] for row in arguments[0][1]])
        if name == "root":
            value, degree = self(arguments[0]), _int(self(arguments[1]))
            if not 1 <= degree <= 1000:
                raise _NotRational
            if value < 0:
                if degree % 2 == 0:
                    raise _NotRational
                return -_root(-value, degree)
            return _root(value, degree)
        if name not in ("factorial", "binom", "abs", "floor", "ceil", "gcd", "lcm", "max", "min", "mod"):
            if name in ("ln", "log", "log10") and self(arguments[0]) == 1:
                return Fraction(0)
            if name in ("sin", "tan") and self(arguments[0]) == 0:
                return Fraction(0)
            if name in ("cos", "exp") and self(arguments[0]) == 0:
                return Fraction(1)
            raise _NotRational
        values = [self(argument) for argument in arguments]
        if name == "factorial":
            n = _int(values[0])
            if n < 0:
                raise _NotRational
            if n > 2000:
                raise Limit(f"the factorial of {str(n)[:20]}")
            return Fraction(factorial(n))
        if name == "binom":
            n, k = _int(values[0]), _int(values[1])
            if n < 0 or k < 0:
                raise _NotRational
            if n > 5000:
                raise Limit("a binomial coefficient of more than 5000")
            return Fraction(comb(n, k))
        if name == "mod":
            if not values[1]:
                raise _NotRational
            return values[0] % values[1]
        if name in ("gcd", "lcm"):
            return Fraction((gcd if name == "gcd" else lcm)(*map(_int, values)))
        if name in ("max", "min"):
            return (max if name == "max" else min)(values)
        return Fraction({"abs": abs, "floor": _floor, "ceil": _ceil}[name](values[0]))

    def determinant(self, rows: list[list[Fraction]]) -> Fraction:
        if len(rows) != len(rows[0]) or len(rows) > 6:
            raise _NotRational
        if len(rows) == 1:
            return rows[0][0]
        total = Fraction(0)
        for k, value in enumerate(rows[0]):
            total += (-1) ** k * value * self.determinant([row[:k] + row[k + 1 :] for row in rows[1:]])
        return _small(total)


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _root(value: Fraction, degree: int) -> Fraction:
    """The exact root of a number that is not negative, if it is rational."""
    return Fraction(_int_root(value.numerator, degree), _int_root(value.denominator, degree))


def _int_root(n: int, degree: int) -> int:
    if n < 2 or degree == 1:
        return n
    if degree == 2:
        root = isqrt(n)
    elif degree > n.bit_length():
        raise _NotRational
    else:
        root = 1 << -(-n.bit_length() // degree)
        while True:
            better = ((degree - 1) * root + n // root ** (degree - 1)) // degree
            if better >= root:
                break
            root = better
    if root**degree != n:
        raise _NotRational
    return root


class _Modular(_Exact):
    """Arithmetic modulo a prime, for numbers too large to write down and for polynomials."""

    def __init__(self, prime: int, env: dict, sign: int = 1):
        super().__init__(env, sign)
        self.prime = prime

    def __call__(self, node: tuple) -> int:
        self.work += 1
        kind, p = node[0], self.prime
        if kind == "num":
            return self.fraction(node[1])
        if kind in ("sym", "const"):
            if kind == "sym" and node[1] in self.env:
                return self.env[node[1]]
            raise _NotRational
        if kind == "neg":
            return -self(node[1]) % p
        if kind == "pm":
            return node[1] * self.sign * self(node[2]) % p
        if kind == "add":
            return sum(map(self, node[1])) % p
        if kind == "mul":
            total = 1
            for part in node[1]:
                total = total * self(part) % p
            return total
        if kind == "div":
            bottom = self(node[2])
            if not bottom:
                raise _NotRational
            return self(node[1]) * pow(bottom, -1, p) % p
        if kind == "pow":
            exponent = _Exact({}, self.sign)(node[2])
            base = self(node[1])
            if not base and exponent <= 0:
                raise _NotRational
            return pow(base, _int(exponent), p)
        return self.fraction(_Exact({}, self.sign)(node))

    def fraction(self, value: Fraction) -> int:
        return value.numerator * pow(value.denominator, -1, self.prime) % self.prime


_PRECISION = 60
_CONTEXT = decimal.Context(
    prec=_PRECISION, Emax=400_000, Emin=-400_000,
    traps=[decimal.Overflow, decimal.InvalidOperation, decimal.DivisionByZero],
)  # fmt: skip
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
_ZERO, _ONE = Decimal(0), Decimal(1)
_TINY = Decimal("1e-50")
_CLOSE = Decimal("1e-38")


def _sin_cos(x: Decimal) -> tuple[Decimal, Decimal]:
    if abs(x) > 10**20:
        raise Limit("the sine of a huge number")
    with decimal.localcontext(_CONTEXT) as context:
        context.prec = _PRECISION + 25
        x = x % (2 * _PI) / 64
        square, term, s, c = x * x, _ONE, _ZERO, _ZERO
        for k in range(0, 60, 2):
            c += term
            term = term * x / (k + 1)
            s += term
            term = -term * x / (k + 2)
            if abs(term) < Decimal("1e-90"):
                break
        del square
        for _ in range(6):
            s, c = 2 * s * c, c * c - s * s
    return +s, +c


def _arctan(x: Decimal) -> Decimal:
    with decimal.localcontext(_CONTEXT) as context:
        context.prec = _PRECISION + 10
        if abs(x) > 1:
            half = _PI / 2 if x > 0 else -_PI / 2
            return half - _arctan(1 / x)
        for _ in range(5):
            x = x / (1 + (1 + x * x).sqrt())
        square, term, total = x * x, x, x
        for k in range(3, 80, 2):
            term = -term * square
            total += term / k
            if abs(term) < Decimal("1e-75"):
                break
        return total * 32


def _angle(re_: Decimal, im: Decimal) -> Decimal:
    if re_ > 0:
        return _arctan(im / re_)
    if re_ < 0:
        return _arctan(im / re_) + (_PI if im >= 0 else -_PI)
    if not im:
        raise _NotRational
    return _PI / 2 if im > 0 else -_PI / 2


Complex = tuple[Decimal, Decimal]


class _Numeric:
    """Complex arithmetic with 60 digits. `real` tells whether every step stayed real."""

    def __init__(self, env: dict[str, Decimal], sign: int = 1, log_base: int = 0):
        self.env, self.sign, self.log_base = env, sign, log_base
        self.work, self.real = 0, True

    def __call__(self, node: tuple) -> Complex:
        self.work += 1
        if self.work > WORK:
            raise Limit(f"more than {WORK} steps to work out")
        kind = node[0]
        if kind == "num":
            return Decimal(node[1].numerator) / Decimal(node[1].denominator), _ZERO
        if kind == "sym":
            if node[1] in self.env:
                return self.env[node[1]], _ZERO
            raise _NotRational
        if kind == "const":
            if node[1] in self.env:
                return self.env[node[1]], _ZERO
            if node[1] == "i":
                self.real = False
                return _ZERO, _ONE
            return +_PI if node[1] == "pi" else _ONE.exp(), _ZERO
        if kind == "neg":
            a, b = self(node[1])
            return -a, -b
        if kind == "pm":
            a, b = self(node[2])
            return (a, b) if node[1] * self.sign > 0 else (-a, -b)
        if kind == "add":
            values = [self(part) for part in node[1]]
            return sum((v[0] for v in values), _ZERO), sum((v[1] for v in values), _ZERO)
        if kind == "mul":
            total = (_ONE, _ZERO)
            for part in node[1]:
                total = _times(total, self(part))
            return total
        if kind == "div":
            return _over(self(node[1]), self(node[2]))
        if kind == "pct":
            return _over(self(node[1]), (Decimal(100), _ZERO))
        if kind == "deg":
            return _times(self(node[1]), (_PI / 180, _ZERO))
        if kind == "pow":
            if node[1] == ("const", "e"):
                return self.exp(self(node[2]))
            return self.power(self(node[1]), self(node[2]))
        if kind == "base":
            return Decimal(_Exact()(node).numerator), _ZERO
        if kind == "sum":
            return self.series(node)
        if kind == "fn":
            return self.function(node[1], node[2])
        raise _NotRational

    def whole(self, node: tuple) -> int:
        re_, im = self(node)
        if im or re_ != re_.to_integral_value():
            raise _NotRational
        return int(re_)

    def series(self, node: tuple) -> Complex:
        _, name, variable, low, high, body = node
        if high[0] == "inf":
            raise _NotRational
        first, last = self.whole(low), self.whole(high)
        if last - first >= TERMS:
            raise Limit(f"a {name} of more than {TERMS} terms")
        before, total = self.env, (_ZERO, _ZERO) if name == "sum" else (_ONE, _ZERO)
        for k in range(first, last + 1):
            self.env = {**before, variable: Decimal(k)}
            value = self(body)
            total = (total[0] + value[0], total[1] + value[1]) if name == "sum" else _times(total, value)
        self.env = before
        return total

    def exp(self, z: Complex) -> Complex:
        size = z[0].exp()
        if not z[1]:
            return size, _ZERO
        s, c = _sin_cos(z[1])
        return size * c, size * s

    def ln(self, z: Complex) -> Complex:
        if not z[1] and z[0] > 0:
            return z[0].ln(), _ZERO
        if not z[0] and not z[1]:
            raise _NotRational
        self.real = False
        return (z[0] * z[0] + z[1] * z[1]).ln() / 2, _angle(*z)

    def power(self, z: Complex, w: Complex) -> Complex:
        if not w[1] and w[0] == w[0].to_integral_value() and abs(w[0]) < 10**6:
            n = int(w[0])
            if not z[1]:
                if not z[0] and n <= 0:
                    raise _NotRational
                return z[0] ** n, _ZERO
            total, base, k = (_ONE, _ZERO), z, abs(n)
            while k:
                if k & 1:
                    total = _times(total, base)
                base, k = _times(base, base), k >> 1
            return total if n >= 0 else _over((_ONE, _ZERO), total)
        if not z[1] and not w[1] and z[0] > 0:
            return z[0] ** w[0], _ZERO
        if not z[0] and not z[1]:
            if w[0] > 0:
                return _ZERO, _ZERO
            raise _NotRational
        return self.exp(_times(w, self.ln(z)))

    def function(self, name: str, arguments: tuple) -> Complex:
        if name in ("factorial", "binom", "gcd", "lcm", "mod", "det", "floor", "ceil", "max", "min"):
            values = []
            if name in ("floor", "ceil", "max", "min"):
                reals = [self(argument) for argument in arguments]
                if any(abs(v[1]) > _TINY for v in reals):
                    raise _NotRational
                if name in ("max", "min"):
                    return (max if name == "max" else min)(v[0] for v in reals), _ZERO
                near = reals[0][0].to_integral_value()  # so that the floor of a whole number survives rounding
                if abs(near - reals[0][0]) < _CLOSE:
                    return near, _ZERO
                how = decimal.ROUND_FLOOR if name == "floor" else decimal.ROUND_CEILING
                return reals[0][0].to_integral_value(how), _ZERO
            if name == "det":
                return Decimal(0) + Decimal(
                    str(_Exact({k: Fraction(v) for k, v in self.env.items()})(("fn", name, arguments)))
                ), _ZERO
            for argument in arguments:
                values.append(("num", Fraction(self.whole(argument))))
            exact = _Exact({}, self.sign).function(name, tuple(values))
            return Decimal(exact.numerator) / Decimal(exact.denominator), _ZERO
        z = self(arguments[0])
        if name == "root":
            degree = self(arguments[1])
            if not z[1] and z[0] < 0 and not degree[1] and degree[0] % 2 == 1:
                return -self.power((-z[0], _ZERO), (1 / degree[0], _ZERO))[0], _ZERO
            if not z[1] and z[0] < 0 and degree == (2, 0):
                self.real = False
                return _ZERO, (-z[0]).sqrt()
            if not z[1] and degree == (2, 0):
                return z[0].sqrt(), _ZERO
            return self.power(z, _over((_ONE, _ZERO), degree))
        if name == "abs":
            return (abs(z[0]) if not z[1] else (z[0] * z[0] + z[1] * z[1]).sqrt()), _ZERO
        if name == "Re":
            return z[0], _ZERO
        if name == "Im":
            return z[1], _ZERO
        if name == "sgn":
            return Decimal((z[0] > 0) - (z[0] < 0)), _ZERO
        if name == "exp":
            return self.exp(z)
        if name == "ln":
            return self.ln(z)
        if name in ("log", "log10"):
            value = self.ln(z)
            return value if name == "log" and not self.log_base else _over(value, (Decimal(10).ln(), _ZERO))
        if name == "logb":
            return _over(self.ln(z), self.ln(self(arguments[1])))
        return self.trigonometry(name, z)

    def trigonometry(self, name: str, z: Complex) -> Complex:
        one = (_ONE, _ZERO)
        if name in ("sin", "cos", "tan", "cot", "sec", "csc"):
            s, c = _sin_cos(z[0])
            s, c = (_ZERO if abs(s) < _TINY else s), (_ZERO if abs(c) < _TINY else c)
            sine, cosine = (s, _ZERO), (c, _ZERO)
            if z[1]:
                up = z[1].exp()
                sinh, cosh = (up - 1 / up) / 2, (up + 1 / up) / 2
                sine, cosine = (s * cosh, c * sinh), (c * cosh, -s * sinh)
            return {
                "sin": lambda: sine, "cos": lambda: cosine, "tan": lambda: _over(sine, cosine),
                "cot": lambda: _over(cosine, sine), "sec": lambda: _over(one, cosine), "csc": lambda: _over(one, sine),
            }[name]()  # fmt: skip
        if name in ("sinh", "cosh", "tanh", "coth"):
            up = self.exp(z)
            down = _over(one, up)
            sinh = ((up[0] - down[0]) / 2, (up[1] - down[1]) / 2)
            cosh = ((up[0] + down[0]) / 2, (up[1] + down[1]) / 2)
            return {"sinh": sinh, "cosh": cosh}.get(name) or (
                _over(sinh, cosh) if name == "tanh" else _over(cosh, sinh)
            )
        if name in ("arcsec", "arccsc", "arccot"):
            z, name = _over(one, z), {"arcsec": "arccos", "arccsc": "arcsin", "arccot": "arctan"}[name]
        if name == "arctan" and not z[1]:
            return +_arctan(z[0]), _ZERO
        if name in ("arcsin", "arccos") and not z[1] and abs(z[0]) <= 1:
            if abs(z[0]) == 1:
                sine = z[0] * _PI / 2
            else:
                sine = +_arctan(z[0] / (1 - z[0] * z[0]).sqrt())
            return (sine if name == "arcsin" else _PI / 2 - sine), _ZERO
        raise _NotRational


def _times(a: Complex, b: Complex) -> Complex:
    if not a[1] and not b[1]:
        return a[0] * b[0], _ZERO
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _over(a: Complex, b: Complex) -> Complex:
    if not b[0] and not b[1]:
        raise _NotRational
    if not a[1] and not b[1]:
        return a[0] / b[0], _ZERO
    size = b[0] * b[0] + b[1] * b[1]
    return (a[0] * b[0] + a[1] * b[1]) / size, (a[1] * b[0] - a[0] * b[1]) / size


def _symbols(node, found: set | None = None, bound: frozenset = frozenset()) -> set[str]:
    """Names of the free variables."""
    found = set() if found is None else found
    if isinstance(node, tuple) and node:
        if node[0] == "sym" and len(node) == 2 and isinstance(node[1], str):
            if node[1] not in bound:
                found.add(node[1])
        elif node[0] == "sum" and len(node) == 6:
            _symbols(node[3], found, bound)
            _symbols(node[4], found, bound)
            _symbols(node[5], found, bound | {node[2]})
        elif node[0] == "open":
            for part in node[3:]:
                _symbols(part, found, bound | {node[2]})
        elif node[0] != "num":
            for part in node:
                if isinstance(part, tuple):
                    _symbols(part, found, bound)
    return found


def _has(node, *kinds: str) -> bool:
    """Whether a part is of one of these kinds, or a function with one of these names."""
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple) and part:
            if isinstance(part[0], str) and (part[0] in kinds or (part[0] == "fn" and part[1] in kinds)):
                return True
            stack += [p for p in part if isinstance(p, tuple)]
    return False


# --- equality of values ----------------------------------------------------------------------------------

_PRIMES = (2**61 - 1, 2**89 - 1)
_VALUE = {
    "num",
    "sym",
    "const",
    "add",
    "mul",
    "div",
    "pow",
    "neg",
    "pm",
    "fn",
    "pct",
    "deg",
    "sum",
    "base",
    "inf",
    "open",
}


def _close(a: Complex, b: Complex) -> bool:
    size = max(abs(a[0]), abs(a[1]), abs(b[0]), abs(b[1]))
    return size < _TINY or max(abs(a[0] - b[0]), abs(a[1] - b[1])) <= size * _CLOSE


def _same_value(a: tuple, b: tuple, sign_a: int = 1, sign_b: int = 1) -> bool | None:
    """Whether two values are equal; None if that was not found out. Raises Limit where a value is over the limits."""
    if a == b and sign_a == sign_b:
        return True
    ends = [_infinity(node) for node in (a, b)]
    if any(ends):
        return ends[0] == ends[1]
    if not {a[0], b[0]} <= _VALUE:
        return None
    symbols = sorted(_symbols(a) | _symbols(b))
    exact, limits = [], 0
    if not symbols:
        for node, sign in ((a, sign_a), (b, sign_b)):
            try:
                exact.append(_Exact({}, sign)(node))
            except _NotRational:
                exact.append(None)
            except Limit:
                exact.append(None)
                limits += 1
        if None not in exact:
            return exact[0] == exact[1]
    if _key(a) == _key(b) and sign_a == sign_b:
        return True
    seed = random.Random("points")
    if (modular := _by_primes(a, b, sign_a, sign_b, symbols, seed)) is not None:
        return modular
    if _has(a, "open") or _has(b, "open"):
        return _ask_sympy(a, b)
    same = _by_points(a, b, sign_a, sign_b, symbols, seed)
    return _ask_sympy(a, b) if same is None and (_has(a, "sum") or _has(b, "sum")) else same


def _infinity(node: tuple) -> int:
    if node[0] == "inf":
        return 1
    return -1 if node[0] == "neg" and node[1][0] == "inf" else 0


def _by_primes(a, b, sign_a, sign_b, symbols, seed) -> bool | None:
    """Compare as rational functions, at random points modulo two primes; None if one of them is none."""
    agreed = 0
    for prime in _PRIMES:
        for _ in range(2):
            env = {name: seed.randrange(2, prime) for name in symbols}
            try:
                if _Modular(prime, env, sign_a)(a) != _Modular(prime, env, sign_b)(b):
                    return False
                agreed += 1
            except (_NotRational, Limit, ValueError):
                break
    return True if agreed == 4 else None


def _by_points(a, b, sign_a, sign_b, symbols, seed) -> bool | None:
    """Compare with 60 digits at random points: positive ones, where all must agree, then others."""
    whole = _has(a, "factorial", "binom", "sum", "floor", "ceil", "mod") or _has(
        b, "factorial", "binom", "sum", "floor", "ceil", "mod"
    )
    bases = (0, 1) if _has(a, "log") or _has(b, "log") else (0,)
    if bool(_has(a, "log")) != bool(_has(b, "log")) or len(bases) == 1:
        tries = [(base, base) for base in bases]
    else:
        tries = [(0, 0)]
    first_fault: Limit | None = None
    for log_a, log_b in tries:
        agreed = misses = 0
        verdict: bool | None = None
        wanted = 6 if symbols else 1
        while agreed < wanted and misses < 6:
            env = {}
            for name in symbols:
                if whole:
                    env[name] = Decimal(seed.randrange(1, 9))
                else:
                    value = Decimal(seed.randrange(3_000, 29_000)) / 9973
                    env[name] = -value if agreed >= 4 and seed.random() < 0.6 else value
            with decimal.localcontext(_CONTEXT):
                try:
                    one, two = _Numeric(env, sign_a, log_a), _Numeric(env, sign_b, log_b)
                    value_a, value_b = one(a), two(b)
                except Limit as fault:
                    if not symbols:
                        raise
                    first_fault = first_fault or fault
                    misses += 1
                    continue
                except (decimal.Overflow, decimal.InvalidOperation):
                    if not symbols:
                        raise Limit("a number too large or too small to work out") from None
                    misses += 1
                    continue
                except (_NotRational, ArithmeticError, ValueError, MemoryError):
                    misses += 1
                    if agreed >= 4:
                        agreed += 1  # outside the domain of one of them
                        misses -= 1
                    continue
                if not _close(value_a, value_b):
                    if agreed >= 4 and not (one.real and two.real) and not whole:
                        agreed += 1  # complex on the way: another branch, not another function
                        continue
                    verdict = False
                    break
            agreed += 1
        if verdict is None and agreed >= wanted:
            return True
        if verdict is False and not whole and _alternating(a, b) and _at_integers(a, b, symbols):
            return True
        if verdict is None:
            if first_fault:
                raise first_fault
            return None
    return False


def _alternating(a, b) -> bool:
    return "pow(neg(1)" in _key(a) + _key(b) or (
        _has(a, "pi", "const") and _has(b, "const", "pow") and "n" in _symbols(a) | _symbols(b)
    )


def _at_integers(a, b, symbols) -> bool:
    """Equality for whole n, k, m: (-1)^n = cos(n pi)."""
    if not symbols or not set(symbols) <= {"n", "k", "m", "j", "x"} or "x" in symbols:
        return False
    with decimal.localcontext(_CONTEXT):
        for n in range(1, 7):
            env = {name: Decimal(n + i) for i, name in enumerate(symbols)}
            try:
                if not _close(_Numeric(env)(a), _Numeric(env)(b)):
                    return False
            except (_NotRational, ArithmeticError, ValueError):
                return False
    return True


def _number(node: tuple) -> Decimal | None:
    """The value of a real number without variables, for ordering."""
    if end := _infinity(node):
        return Decimal("Infinity") * end
    if node[0] not in _VALUE or _symbols(node):
        return None
    with decimal.localcontext(_CONTEXT):
        try:
            re_, im = _Numeric({})(node)
        except (_NotRational, ArithmeticError, ValueError):
            return None
        return re_ if abs(im) < _TINY else None


# --- equality of answers ---------------------------------------------------------------------------------


def _items(node: tuple) -> list[tuple]:
    """The values that an answer offers: both signs of a plus-minus, the members of a list."""
    if node[0] in ("list", "set"):
        return [value for item in node[1] for value in _items(item)]
    if node[0] == "rel" and node[2] == ("=",) and _has(node, "pm"):
        return [("rel", (node[1][0], value), ("=",)) for value in _items(node[1][1])]
    if node[0] in _VALUE and _has(node, "pm"):
        return [_signed(node, 1), _signed(node, -1)]
    return [node]


def _signed(node, sign: int):
    if not isinstance(node, tuple) or not node:
        return node
    if node[0] == "pm":
        inner = _signed(node[2], sign)
        return inner if node[1] * sign > 0 else ("neg", inner)
    return tuple(_signed(part, sign) if isinstance(part, tuple) else part for part in node)


def _is_name(node: tuple) -> bool:
    """Whether it can stand before '=' as the name of a value: x, f(x), x_1, (x, y), some words."""
    if node[0] in ("sym", "text"):
        return True
    if node[0] == "const":
        return node[1] != "pi"
    if node[0] == "mul":
        return len(node[1]) == 2 and node[1][0][0] == "sym" and _is_name(node[1][1])
    if node[0] in ("seq", "set"):
        return all(_is_name(item) for item in node[-1])
    if node[0] == "qty":
        return node[1][0] == "sym"
    if node[0] == "fn":
        return node[1] == "abs" and all(_is_name(item) for item in node[2])
    return node[0] == "pow" and _is_name(node[1]) and node[2][0] == "sym"


def _value_of(node: tuple) -> tuple[tuple | None, str]:
    """(value, name) of `name = value`, or of a chain of equal values; (None, "") for any other relation."""
    if node[0] != "rel":
        return node, ""
    sides, ops = node[1], node[2]
    if ops == ("in",):
        return sides[1], _key(sides[0])
    if set(ops) != {"="}:
        return None, ""
    names = [side for side in sides if _is_name(side)]
    rest = [side for side in sides if not _is_name(side)]
    if not rest:  # y = x, or words
        if len(sides) == 2 and sides[1][0] in ("sym", "text", "const"):
            return sides[1], _key(sides[0])
        return None, ""
    if any(_symbols(name) & _symbols(value) for name in names if name[0] == "sym" for value in rest):
        return None, ""
    for value in rest[:-1]:
        if _same(rest[-1], value) is not True:
            return None, ""
    if len(names) > 1 or (not names and len(rest) > 1 and _symbols(node)):
        return (None, "") if _symbols(rest[-1]) else (rest[-1], _key(names[0]) if names else "")
    return rest[-1], _key(names[0]) if names else ""


def _pieces(node: tuple) -> list[tuple] | None:
    """A set of real numbers as pieces (low, low is in, high, high is in); None if it is no such set."""
    inf, minus = ("inf",), ("neg", ("inf",))
    if node[0] == "empty":
        return []
    if node[0] == "text":
        return (
            [(minus, False, inf, False)] if node[1] in ("set R", "all real numbers", "all reals", "all real") else None
        )
    if node[0] == "seq" and len(node[3]) == 2:
        return [(node[3][0], node[1] == "[", node[3][1], node[2] == "]")]
    if node[0] == "set":
        return [(item, True, item, True) for item in node[1]]
    if node[0] == "sets":
        left, right = _pieces(node[2]), _pieces(node[3])
        if left is None or right is None:
            return None
        if node[1] == "cup":
            return left + right
        return _meet(left, right if node[1] == "cap" else _complement(right))
    if node[0] == "list" and all(item[0] in ("rel", "seq", "sets") for item in node[1]):
        parts = [_pieces(item) for item in node[1]]
        if any(part is None for part in parts):
            return None
        links = set(node[2]) - {","}
        if links == {"or"}:
            return [piece for part in parts for piece in part]
        meet = parts[0]
        for part in parts[1:]:
            meet = _meet(meet, part)
        return meet if meet or links else [piece for part in parts for piece in part]
    if node[0] == "rel":
        return _solved(node)
    return None


def _solved(node: tuple) -> list[tuple] | None:
    """The solutions of an inequality, or chain of them, in one variable that it holds in first degree."""
    inf, minus = ("inf",), ("neg", ("inf",))
    sides, ops = node[1], node[2]
    if ops == ("in",):
        return _pieces(sides[1])
    if ops == ("notin",):
        inner = _pieces(sides[1])
        return None if inner is None else _complement(inner)
    names = _symbols(node)
    if len(names) != 1 or not set(ops) <= {"<", ">", "<=", ">=", "!=", "="} or set(ops) == {"="}:
        return None
    name = next(iter(names))
    result = [(minus, False, inf, False)]
    at = (0, 1, 2, -3, 17, -400)  # on a line at all of these is taken for a line
    for left, op, right in zip(sides, ops, sides[1:]):
        if _infinity(left) or _infinity(right):
            continue
        try:
            f = [_Exact({name: Fraction(x)})(left) - _Exact({name: Fraction(x)})(right) for x in at]
            slope = f[1] - f[0]
            if not slope or any(y != f[0] + slope * x for x, y in zip(at, f)):
                return None
            bound: tuple = ("num", -f[0] / slope)
        except (_NotRational, Limit):
            if left == ("sym", name) and not _symbols(right):
                bound, slope = right, Fraction(1)
            elif right == ("sym", name) and not _symbols(left):
                bound, slope = left, Fraction(-1)
            else:
                return None
        if op == "=":
            part = [(bound, True, bound, True)]
        elif op == "!=":
            part = [(minus, False, bound, False), (bound, False, inf, False)]
        elif (op[0] == "<") == (slope > 0):
            part = [(minus, False, bound, len(op) == 2)]
        else:
            part = [(bound, len(op) == 2, inf, False)]
        result = _meet(result, part)
    return result


def _complement(pieces: list[tuple]) -> list[tuple]:
    result = [(("neg", ("inf",)), False, ("inf",), False)]
    for low, low_in, high, high_in in pieces:
        outside = [(("neg", ("inf",)), False, low, not low_in), (high, not high_in, ("inf",), False)]
        result = _meet(result, [p for p in outside if not (_infinity(p[0]) and _infinity(p[0]) == _infinity(p[2]))])
    return result


class _Unordered(Exception):
    """An end of an interval is no number."""


def _at(node: tuple) -> Decimal:
    value = _number(node)
    if value is None:
        raise _Unordered
    return value


def _meet(left: list[tuple], right: list[tuple]) -> list[tuple]:
    """The intersection of two sets of pieces."""
    out = []
    for a in left:
        for b in right:
            low, low_in = max((a[:2], b[:2]), key=lambda end: (_at(end[0]), not end[1]))
            high, high_in = min((a[2:], b[2:]), key=lambda end: (_at(end[0]), end[1]))
            if _at(low) < _at(high) or (_at(low) == _at(high) and low_in and high_in):
                out.append((low, low_in, high, high_in))
    return out


def _merged(pieces: list[tuple]) -> list[list]:
    """Pieces in order, those that touch made one. A reversed interval stays as it is."""
    out: list[list] = []
    for piece in sorted(map(list, pieces), key=lambda p: (_at(p[0]), not p[1])):
        if out and _at(out[-1][0]) <= _at(out[-1][2]):
            last, here = _at(out[-1][2]), _at(piece[0])
            if here < last or (here == last and (piece[1] or out[-1][3])):
                if (_at(piece[2]), piece[3]) > (last, out[-1][3]):
                    out[-1][2:] = piece[2:]
                continue
        out.append(piece)
    return out


def _same_pieces(a: list[tuple], b: list[tuple]) -> bool | None:
    try:
        a, b = _merged(a), _merged(b)
    except _Unordered:
        return None
    if len(a) != len(b):
        return False
    results = [
        False if (p[1], p[3]) != (q[1], q[3]) else _all([_same(p[0], q[0]), _same(p[2], q[2])]) for p, q in zip(a, b)
    ]
    return _all(results)


def _all(results: Iterable) -> bool | None:
    """False beats None beats True."""
    results = list(results)
    return False if False in results else None if None in results else True


def _same_members(gold: list[tuple], found: list[tuple], as_set: bool) -> bool | None:
    """Whether two collections hold the same, in any order."""
    if len(gold) != len(found) and not as_set:
        return False
    if len(gold) * len(found) > 2500:
        raise Limit("more than 50 values")
    table = [[_same(g, f) for f in found] for g in gold]
    if as_set:
        rows = all(True in row for row in table)
        columns = all(True in column for column in zip(*table))
        if rows and columns:
            return True
        return None if any(None in row for row in table) else False
    free = set(range(len(found)))
    for row in table:
        match = next((k for k in sorted(free) if row[k] is True), None)
        if match is None:
            return None if None in row else False
        free.discard(match)
    return True


def _same(gold: tuple, found: tuple) -> bool | None:
    """Whether two answers mean the same; None if that was not found out."""
    if gold == found:
        return True
    kinds = {gold[0], found[0]}
    if "approx" in kinds:
        return _same_rounded(gold, found)
    if "qty" in kinds or "deg" in kinds or "pct" in kinds:
        return _same_quantity(gold, found)
    if "mod" in kinds:
        if gold[0] == found[0]:
            if _same(gold[2], found[2]) is not True:
                return False
            values = [_value_of(node[1])[0] or node[1] for node in (gold, found)]
            return _same(("fn", "mod", (values[0], gold[2])), ("fn", "mod", (values[1], gold[2])))
        return _same(gold[1], found) if gold[0] == "mod" else _same(gold, found[1])
    if "base" in kinds and kinds <= {"base", "num"}:
        if gold[0] == found[0]:
            return gold[1:] == found[1:]
        if gold[0] == "base":
            return found[1] == int(gold[1])
    if "matrix" in kinds:
        return _same_matrix(gold, found)
    if "rel" in kinds:
        return _same_relation(gold, found)
    if "text" in kinds or "empty" in kinds:
        return _same_words(gold, found)
    if kinds & {"list", "set"} or (kinds <= _VALUE and (_has(gold, "pm") or _has(found, "pm"))):
        return _same_list(gold, found)
    if "sets" in kinds or kinds == {"seq", "sets"}:
        a, b = _pieces(gold), _pieces(found)
        return None if a is None and b is None else False if a is None or b is None else _same_pieces(a, b)
    if "seq" in kinds:
        if gold[0] != found[0] or len(gold[3]) != len(found[3]):
            return False
        if len(gold[3]) == 2 and gold[1:3] != found[1:3]:
            return False
        return _all(_same(a, b) for a, b in zip(gold[3], found[3]))
    if kinds <= _VALUE:
        return _same_value(gold, found)
    return None


def _same_rounded(gold: tuple, found: tuple) -> bool | None:
    """`2 sqrt(2) = 2.83, about`: an exact value and what it comes to; either may be the one that is wanted."""
    if found[0] == "approx":
        exact, rounded = found[1], found[2]
        value = _value_of(exact)[0]
        ends = [_number(_split_unit(node)[0]) for node in (value or exact, rounded)]
        if value is None or value[0] == "num" or None in ends or abs(ends[0] - ends[1]) > abs(ends[0]) / 20:
            return False
        found = exact if _same(gold, rounded) is not True else rounded
    if gold[0] == "approx":
        return _same(gold[1], found) or _same(gold[2], found)
    return _same(gold, found)


def _same_list(gold: tuple, found: tuple) -> bool | None:
    a, b = _items(gold), _items(found)
    if len(a) == 1 and gold[0] in _VALUE and found[0] == "list":  # one value, written more than once
        return _all(_same(gold, item) for item in b)
    if found[0] == "list" and (gold[0] == "seq" or (gold[0] != "list" and _pieces(found) and gold[0] == "sets")):
        if gold[0] == "seq" and all(item[0] != "rel" for item in found[1]):
            return len(gold[3]) == len(found[1]) and _all(_same(x, y) for x, y in zip(gold[3], found[1]))
        if gold[0] == "seq" and all(item[0] == "rel" and item[2] == ("=",) for item in found[1]):
            return _same_point(gold, found)
    if gold[0] == "list" and found[0] == "seq":
        if all(item[0] != "rel" for item in gold[1]):
            return len(gold[1]) == len(found[3]) and _all(_same(x, y) for x, y in zip(gold[1], found[3]))
        if all(item[0] == "rel" and item[2] == ("=",) for item in gold[1]):
            return _same_point(found, gold)
    named = _same_named(gold, found)
    if named is not NotImplemented:
        return named
    pieces = [_pieces(node) for node in (gold, found)]
    if None not in pieces and any(item[0] in ("rel", "sets") for item in (*a, *b)):
        return _same_pieces(*pieces)
    if "set" in (gold[0], found[0]) and {gold[0], found[0]} & {"seq", "sets"}:
        return False if "seq" in (gold[0], found[0]) or None in pieces else _same_pieces(*pieces)
    values = [[_value_of(item) for item in side] for side in (a, b)]
    for side in values:  # x = 1, 2 names both
        if any(value is None for value, _ in side):
            return False
    names = [{name for _, name in side if name} for side in values]
    if all(names) and len(names[0]) == len(names[1]) == 1 and _clash(*names[0], *names[1]):
        return False
    bare = [[value for value, _ in side] for side in values]
    return _same_members(*bare, as_set="set" in (gold[0], found[0]))


def _same_point(point: tuple, named: tuple) -> bool | None:
    """Whether (2, 3) is x = 2, y = 3: the names in their alphabetical order."""
    pairs = sorted((name, value) for value, name in map(_value_of, named[1]) if value is not None and name)
    if len(pairs) != len(point[3]) or len({name for name, _ in pairs}) != len(pairs):
        return False
    return _all(_same(value, item) for (_, value), item in zip(pairs, point[3]))


def _same_named(gold: tuple, found: tuple):
    """Compare `x = 2, y = 3` by name; NotImplemented if the two are not of that form."""
    sides = []
    for node in (gold, found):
        if node[0] != "list" or len(node[1]) < 2:
            return NotImplemented
        pairs = [_value_of(item) for item in node[1]]
        names = [name for _, name in pairs]
        if any(value is None or not name for value, name in pairs) or len(set(names)) < len(names):
            return NotImplemented
        sides.append({name: value for value, name in pairs})
    if sides[0].keys() != sides[1].keys():
        return False
    return _all(_same(sides[0][name], sides[1][name]) for name in sides[0])


def _clash(a: str, b: str) -> bool:
    """Whether two names of a value are different variables."""
    simple = re.compile(r"sym\(([A-Za-z]|[a-z]+)(?:_\w+)?\)")
    one, two = simple.fullmatch(a), simple.fullmatch(b)
    return bool(one and two and one[1].lower() != two[1].lower())


def _same_relation(gold: tuple, found: tuple) -> bool | None:
    values = [_value_of(node) for node in (gold, found)]
    if gold[0] == found[0] == "rel":
        if values[0][0] is not None and values[1][0] is not None:
            if not _clash(values[0][1], values[1][1]):
                same = _same(values[0][0], values[1][0])
                if (
                    same is not False
                    or set(gold[2] + found[2]) != {"="}
                    or not {values[0][0][0], values[1][0][0]} <= _VALUE
                ):
                    return same
            elif not _symbols(values[0][0]) and not _symbols(values[1][0]):
                return False
        if set(gold[2]) == set(found[2]) == {"="}:
            return _same_equation(gold, found)
        pieces = [_pieces(node) for node in (gold, found)]
        if None not in pieces:
            return _same_pieces(*pieces) and len({*_symbols(gold), *_symbols(found)}) <= 1
        if "=" not in gold[2] + found[2] and len(gold[2]) == len(found[2]) == 1:
            same = _same_equation(gold, found)
            if same or pieces == [None, None]:
                return same
        return _same_solutions(pieces, gold, found)
    relation, other = (gold, found) if gold[0] == "rel" else (found, gold)
    value = _value_of(relation)[0]
    if value is not None:
        return _same(value, found) if relation is gold else _same(gold, value)
    pieces = _pieces(relation)
    if pieces is not None:
        others = _pieces(other)
        return False if others is None else _same_pieces(pieces, others)
    return _same_solutions([_pieces(gold), _pieces(found)], gold, found)


def _same_solutions(pieces: list, gold: tuple, found: tuple) -> bool | None:
    """Whether an inequality that is not solved here, such as |x| < 1, holds exactly on a set of pieces: at the ends of
    the pieces, close to them, and at other points."""
    if (pieces[0] is None) == (pieces[1] is None):
        return False
    known, relation = (pieces[1], gold) if pieces[0] is None else (pieces[0], found)
    names = sorted(_symbols(relation))
    if relation[0] != "rel" or len(names) != 1 or not set(relation[2]) <= {"<", ">", "<=", ">=", "!="}:
        return False
    seed, points = random.Random("members"), []
    for end in {end for piece in known for end in (_at(piece[0]), _at(piece[2])) if end.is_finite()}:
        points += [end + sign * Decimal(d) for d in ("0", "1e-9", "0.001", "0.3", "1", "7", "90") for sign in (-1, 1)]
    points += [Decimal(seed.randrange(-500_000, 500_000)) / 9973 for _ in range(40)]
    sides, ops = relation[1], relation[2]
    with decimal.localcontext(_CONTEXT):
        for point in points:
            member = any(
                (_at(low) < point or (low_in and _close_reals(_at(low), point)))
                and (point < _at(high) or (high_in and _close_reals(_at(high), point)))
                and (low_in or not _close_reals(_at(low), point))
                and (high_in or not _close_reals(_at(high), point))
                for low, low_in, high, high_in in known
            )
            try:
                values = [_Numeric({names[0]: point})(side) for side in sides]
                real = all(abs(value[1]) < _TINY for value in values)
                holds = real and all(_holds(a[0], op, b[0]) for a, op, b in zip(values, ops, values[1:]))
            except (_NotRational, ArithmeticError, ValueError):
                holds = False
            if holds != member:
                return False
    return True


def _close_reals(a: Decimal, b: Decimal) -> bool:
    return a == b or (a.is_finite() and b.is_finite() and _close((a, _ZERO), (b, _ZERO)))


def _holds(a: Decimal, op: str, b: Decimal) -> bool:
    if _close_reals(a, b) or abs(a - b) < _CLOSE:
        return "=" in op and op != "!="
    return op == "!=" or (a < b) == (op[0] == "<")


_FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _same_equation(gold: tuple, found: tuple) -> bool | None:
    """Whether two equations or inequalities hold for the same points: their sides' differences are proportional."""
    if len(gold[1]) != 2 or len(found[1]) != 2:
        return False
    names = sorted(_symbols(gold) | _symbols(found))
    if not names or _symbols(gold) != _symbols(found):
        return False
    differences = [("add", (node[1][0], ("neg", node[1][1]))) for node in (gold, found)]
    if any(_has(side, "text", "seq", "set", "list") for side in differences):
        return None if _key(gold) != _key(found) else True
    seed, ratio, agreed = random.Random("line"), None, 0
    with decimal.localcontext(_CONTEXT):
        for _ in range(9):
            env = {name: Decimal(seed.randrange(3_000, 50_000)) / 9973 for name in names}
            try:
                a, b = (_Numeric(env)(d) for d in differences)
                here = _over(b, a)
            except (_NotRational, ArithmeticError, ValueError):
                continue
            if abs(here[0]) + abs(here[1]) < _CLOSE or (ratio is not None and not _close(ratio, here)):
                return False
            ratio = here
            agreed += 1
            if agreed == 4:
                break
    if agreed < 3 or ratio is None:
        return None
    ops = [node[2][0] for node in (gold, found)]
    if set(ops) <= {"=", "!="}:
        return ops[0] == ops[1]
    if abs(ratio[1]) > _CLOSE:
        return False
    return ops[0] == (ops[1] if ratio[0] > 0 else _FLIP.get(ops[1]))


def _same_quantity(gold: tuple, found: tuple) -> bool | None:
    """Values with units: a unit may be left out, but must not differ."""
    (a, unit_a), (b, unit_b) = (_split_unit(node) for node in (gold, found))
    if unit_a and unit_b and unit_a != unit_b:
        if unit_a in _LOOSE or unit_b in _LOOSE or "" != _loose(unit_a) == _loose(unit_b):
            return _same(a, b)
        return False
    if {unit_a, unit_b} == {"deg", ""}:  # pi/6 is 30 degrees, a bare 30 too
        bare, angle = (a, ("deg", b)) if unit_b else (b, ("deg", a))
        if bare[0] in _VALUE and _has_pi(bare) and angle[1][0] in _VALUE:
            return _same_value(bare, angle)
    if unit_a == unit_b or "%" not in (unit_a, unit_b):
        return _same(a, b)
    bare = b if unit_a == "%" else a
    percent = a if unit_a == "%" else b
    hundredth = ("div", percent, ("num", Fraction(100)))
    if _same(*((hundredth, bare) if unit_a == "%" else (bare, hundredth))):
        return True
    value = _number(bare)  # a bare 28 for 28 %; a bare 0.5 is the number itself
    return bool(value is not None and abs(value) > 1 and _same(a, b))


def _has_pi(node: tuple) -> bool:
    return "const(pi)" in _key(node)


def _loose(unit: str) -> str:
    return " ".join(sorted(re.sub(r"\W", " ", unit).split()))


def _split_unit(node: tuple) -> tuple[tuple, str]:
    if node[0] == "qty":
        return node[1], node[2]
    if node[0] in ("pct", "deg"):
        return node[1], "%" if node[0] == "pct" else "deg"
    if node[0] == "rel":
        value, _ = _value_of(node)
        return (node, "") if value is None or value is node else _split_unit(value)
    return node, ""


def _same_matrix(gold: tuple, found: tuple) -> bool | None:
    rows = []
    for node in (gold, found):
        node = _value_of(node)[0] or node
        if node[0] == "matrix":
            rows.append(node[1])
        elif node[0] == "seq" and all(item[0] == "seq" for item in node[3]):
            rows.append(tuple(item[3] for item in node[3]))
        elif node[0] == "seq" and node[1] == "(":  # a point for a column
            rows.append(tuple((item,) for item in node[3]))
        else:
            return False
    if [len(row) for row in rows[0]] != [len(row) for row in rows[1]]:
        return False
    return _all(_same(a, b) for x, y in zip(*rows) for a, b in zip(x, y))


_EMPTY_WORDS = {
    "no solution", "no solutions", "no real solution", "no real solutions", "none", "empty set",
    "no such number", "no such numbers exist", "no solution exists", "does not exist", "no values", "no value",
}  # fmt: skip
_ARTICLES = re.compile(r"^(?:(?:it|that|this|he|she|answer)\s+(?:is|was)\s+|(?:is|on|in|at|the|an|a)\s+)+(?=\w)")


def _words(text: str) -> str:
    text = re.sub(r"\\(?:text|mathrm|textbf|mathbf|textit|mbox|emph)\b|\\[ ,;!]", " ", text)
    text = re.sub(r"[^\w+/-]+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()
    return _ARTICLES.sub("", text)


def _same_words(gold: tuple, found: tuple) -> bool | None:
    """Words, names of sets, and 'no solution'."""
    if "empty" in (gold[0], found[0]):
        other = found if gold[0] == "empty" else gold
        return other[0] == "empty" or (other[0] == "text" and _words(other[1]) in _EMPTY_WORDS)
    pieces = [_pieces(node) for node in (gold, found)]
    if None not in pieces:
        return _same_pieces(*pieces)
    if gold[0] == found[0]:
        return _words(gold[1]) == _words(found[1])
    if gold[0] == "text":
        other = found
    else:
        other = gold
    number = _number_word(_words((gold if gold[0] == "text" else found)[1]))
    if number is not None and other[0] in _VALUE:
        return _same_value(("num", Fraction(number)), other)
    return False


_SENTENCE = re.compile(r"[\w\s,.;:'’!()$\"-]*")
_CLOSED = [  # words of which an answer holds one
    {"yes", "no"}, {"true", "false"}, {"even", "odd"}, {"positive", "negative", "zero"},
    {"north", "south", "east", "west"},
    set(_list("monday tuesday wednesday thursday friday saturday sunday")),
    set(_list("january february march april may june july august september october november december")),
]  # fmt: skip
_ONES = _list(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = dict(zip(_list("twenty thirty forty fifty sixty seventy eighty ninety"), range(20, 100, 10)))


def _number_word(words: str) -> int | None:
    parts = words.replace("-", " ").split()
    if len(parts) == 1:
        return _ONES.index(parts[0]) if parts[0] in _ONES else _TENS.get(parts[0])
    if len(parts) == 2 and parts[0] in _TENS and parts[1] in _ONES[1:10]:
        return _TENS[parts[0]] + _ONES.index(parts[1])
    return None


# --- judging an answer -----------------------------------------------------------------------------------

_CHOICE = re.compile(
    r"\s*(?:\\(?:text|textbf|mathrm|mathbf|textit|mbox)\s*\{\s*)*(?:(?i:option|choice|answer)\s+)?[({\[]?\s*([A-Ja-j])\s*[)}\].:]*\s*"
)
_CHOSEN = re.compile(
    r"\s*(?:\\(?:text|textbf|mathrm|mathbf|textit|mbox)\s*\{\s*)*(?i:(?:the\s+)?(?:correct\s+)?(?:option|choice|answer)\s+(?:is\s+)?)?"
    r"(?:[({\[]\s*([A-Ja-j])\s*[)}\]]+|([A-J])(?:\s*[).:}]+|\s*$|\s+(?=[-–—])|(?=,\s)|\s+is\b))\s*[:.)–—-]*\s*(.*)",
    re.S,
)
_ELSEWHERE = re.compile(r"\b(?:proofs?|proved?|see|var(?:y|ies)|omitted|shown|above|below|figure)\b")
_LETTERED = re.compile(r"\s*\\text(?:bf|rm)?\s*\{\s*\(?([A-J])\)?[.:]?\s*\}(?:\\\s|[\s~:])*(\S.*)", re.S)
_TIME = re.compile(
    r"\s*(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(?:\\text\s*\{)?\s*([ap])?\.?\s*(?:m\b\.?)?[\s}]*(?:o'clock)?\s*", re.I
)
_RATIO = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*:\s*(\d{1,9}(?:\.\d{1,9})?)(?:\s*:\s*(\d{1,9}(?:\.\d{1,9})?))?\s*")
_MONTHS = _list("january february march april may june july august september october november december")
_MONTH = "(" + "|".join(f"{m[:3]}(?:{m[3:]})?" if m != "may" else "may" for m in _MONTHS) + r")\.?"
_DATES = [
    re.compile(rf"(?:[a-z]+day,?\s+)?{_MONTH}\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{{4}}))?", re.I),
    re.compile(
        rf"(?:[a-z]+day,?\s+)?(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}"
        r"(?:,?\s+(?P<y>\d{4}))?",
        re.I,
    ),
    re.compile(r"(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})"),
]  # fmt: skip


def _date(text: str) -> tuple[int | None, int, int] | None:
    text = re.sub(r"\\(?:text|mathrm)\b|[{}$]|\\,", " ", text)
    text = re.sub(r"\s+", " ", text).strip(" .")
    for pattern in _DATES:
        if m := pattern.fullmatch(text):
            named = m.groupdict()
            name = next((group for group in m.groups() if group and group[0].isalpha()), "")[:3].lower()
            month = int(named["m"]) if named.get("m") else [x[:3] for x in _MONTHS].index(name) + 1
            return (int(named["y"]) if named["y"] else None), month, int(named["d"])
    return None


class _Gold(NamedTuple):
    text: str  # as given
    clean: str
    tree: tuple | None
    kind: str  # "value", "choice", "time", "date", "words", "prose", "bad"
    fault: str


@lru_cache(maxsize=4096)
def _gold(text: str) -> _Gold:
    """A gold answer, read once."""
    if not text.strip():
        return _Gold(text, "", None, "bad", "the gold answer is empty")
    try:
        boxes = _boxes(text)
        if boxes and boxes[-1][2]:
            text = boxes[-1][2]
        clean = _clean(text)
    except (Limit, Unreadable) as fault:
        return _Gold(text, text, None, "bad", f"the gold answer is not readable: {fault}")
    if _CHOICE.fullmatch(text) and (text.strip(" $").isupper() or "(" in text or "text" in text):
        return _Gold(text, clean, None, "choice", "")
    if m := _LETTERED.fullmatch(text):
        try:
            return _Gold(m[1], clean, _read(_clean(m[2])), "choice", "")
        except (Limit, Unreadable, RecursionError):
            return _Gold(m[1], clean, None, "choice", "")
    if _TIME.fullmatch(clean) or _RATIO.fullmatch(clean):
        return _Gold(text, clean, None, "time", "")
    if _date(text):
        return _Gold(text, clean, None, "date", "")
    words = _words(text)
    if _ELSEWHERE.search(words):
        return _Gold(text, clean, None, "bad", "the gold answer says that the answer is elsewhere")
    if re.fullmatch(r"[^\W\d_]{2,}(?:[ -][^\W\d_]+){0,4}", words) and _wordy(text):
        return _Gold(text, clean, None, "words", "")
    try:
        tree = _read(clean)
        if tree[0] == "text":
            return _Gold(
                text, clean, tree, "words" if len(words.split()) <= 5 or _pieces(tree) is not None else "prose", ""
            )
        if _has(tree, "text") and len(re.findall(r"[^\W\d_]{2,}", re.sub(r"\\[A-Za-z]+", "", text))) > 5:
            return _Gold(text, clean, None, "prose", "the gold answer is prose")
        return _Gold(text, clean, tree, "value", "")
    except (Limit, Unreadable, RecursionError) as fault:
        plain = len(re.findall(r"[^\W\d_]{2,}", re.sub(r"\\[A-Za-z]+", "", text)))
        if plain >= 3:
            return _Gold(text, clean, None, "prose", "the gold answer is prose")
        return _Gold(text, clean, None, "bad", f"the gold answer is not readable: {fault}")


def _wordy(text: str) -> bool:
    """Whether a text is words and no product of variables or value."""
    if "\\text" in text or "\\mathrm" in text or "\\mbox" in text:
        return True
    if not text.isascii():
        return True
    plain = set(_FUNCTIONS) | {"pi", "inf", "infinity", "infty"}
    words = [word for word in re.findall(r"[A-Za-z]{2,}", text) if word not in plain]
    return not re.search(r"[\\^_=<>+*]", text) and any(len(_split_word(word, True, [])) == 1 for word in words)


def judge_text(gold: str, found: str, form: str = "") -> tuple[float | None, str]:
    """(1.0, 0.0 or None, why) for one answer against the gold one.

    With form "simple" the answer must be worked out as well: 13, not 1 + 12; a whole number as such; no products.
    """
    g = _gold(gold)
    if g.kind == "bad" and not g.clean.strip():
        return None, f"undecided: {g.fault}"
    if boxes := _boxes(found):
        found = boxes[-1][2] or ""
    if g.text.strip(" $") == found.strip(" $") and found.strip(" $?.{}"):
        return 1.0, "right: written as the gold answer"
    if g.kind == "bad" and len(g.text) > LONGEST_ANSWER:
        return None, f"undecided: {g.fault}"
    if len(found) > LONGEST_ANSWER:
        return 0.0, f"wrong answer: over the limits, {len(found)} characters"
    _open_question.why, _open_question.left = "", _SECONDS
    shown = found.strip() if len(found) < 60 else found.strip()[:57] + "..."
    try:
        result, why = _compared(g, found, shown)
    except RecursionError:
        result, why = False, f"over the limits: {shown!r} is nested too deep"
    if result is not False and form == "simple" and not _is_simple(found, g.tree):
        return 0.0, f"wrong answer: {shown!r} is not worked out"
    if result is None:
        return None, f"undecided: {why or f'{shown!r} against {gold[:60]!r}'}"
    return (1.0, "right: " + why) if result else (0.0, "wrong answer: " + why)


def _is_simple(found: str, gold: tuple | None) -> bool:
    """Whether nothing is left to work out in an answer that means what the gold one does."""
    try:
        tree = _read(_clean(found))
    except (Limit, Unreadable, ValueError, RecursionError):
        return True  # a word, a time
    if tree[0] == "rel" and set(tree[2]) == {"="}:
        tree = _value_of(tree)[0] or tree
    return _simple(tree, gold)


def _simple(node: tuple, gold: tuple | None) -> bool:
    kind = node[0]
    if kind in ("list", "set"):
        return all(_simple(item, None) for item in node[1])
    if kind == "seq":
        return all(_simple(item, None) for item in node[3])
    if kind == "rel":
        if set(node[2]) == {"="}:
            return _is_name(node[1][0]) and _simple(node[1][-1], gold)
        return all(side[0] == "sym" or (not _symbols(side) and _simple(side, None)) for side in node[1])
    if kind in ("qty", "pct", "deg"):
        return _simple(node[1], gold)
    if kind == "div" and gold is not None and gold[0] == "num" and gold[1].denominator == 1:
        return False
    if kind == "base":
        return gold is None or gold[0] == "base"
    terms = node[1] if kind == "add" else (node,)
    limit = len(gold[1]) if gold is not None and gold[0] == "add" else 1
    return len(terms) <= limit and all(_term(term) for term in terms)


def _term(node: tuple) -> bool:
    """A number, or a number times roots, pi and powers of variables."""
    while node[0] == "neg":
        node = node[1]
    factors, stack = [], [node]
    while stack:
        part = stack.pop()
        if part[0] == "mul":
            stack += part[1]
        elif part[0] == "div" and part[2][0] == "num":
            if part[1][0] == "num":
                factors.append("num")
            else:
                stack.append(part[1])
        elif (
            part[0] == "pow" and part[1] == ("num", Fraction(10)) and part[2][0] in ("num", "neg") and node[0] == "mul"
        ):
            continue
        else:
            factors.append(part[0] if part[0] != "pow" or (part[1][0] == "sym" and part[2][0] == "num") else "other")
            if part[0] == "fn" and not (part[1] == "root" and part[2][0][0] == "num"):
                return False
    return factors.count("num") <= 1 and set(factors) <= {"num", "const", "sym", "pow", "fn", "inf", "text", "empty"}


def _compared(g: _Gold, found: str, shown: str) -> tuple[bool | None, str]:
    different = f"{shown!r}"
    if g.kind == "choice":
        letter = _CHOICE.fullmatch(g.text)[1].upper()
        if _CHOICE.fullmatch(found):
            return _CHOICE.fullmatch(found)[1].upper() == letter, f"choice {shown!r}"
        m = _CHOSEN.match(found)
        if not m and g.tree is not None:  # the text of the choice, without its letter
            try:
                return _same(g.tree, _read(_clean(found))), f"the text of the choice, {shown!r}"
            except (Limit, Unreadable, ValueError, _Unordered):
                return False, f"{shown!r} is no one choice"
        if (
            not m
            or re.match(r"(?:(?:and|or|,|/|;)\s*)*\(?[A-J]\b(?!\s+[a-z])", m[3] or "")
            or re.match(r"\s*[,/;]", found[m.end(1) if m[1] else m.end(2) :])
        ):
            return False, f"{shown!r} is no one choice"
        return (m[1] or m[2]).upper() == letter, f"choice {(m[1] or m[2]).upper()}"
    if g.kind == "time":
        return _same_time(g, found, different)
    if g.kind == "date":
        a, b = _date(g.text), _date(found)
        if b is None:
            return _words(g.text) == _words(found), different
        return a[1:] == b[1:] and (a[0] is None or b[0] is None or a[0] == b[0]), f"date {shown!r}"
    if g.kind in ("words", "prose"):
        return _same_prose(g, found, shown)
    if g.tree is not None and g.tree[0] == "empty" and _words(found) in _EMPTY_WORDS:
        return True, "no solution"
    try:
        clean = _clean(found)
        if g.clean == clean and clean:
            return True, "the same notation"
        if g.kind == "bad":
            return None, g.fault
        if _RATIO.fullmatch(clean) and not _NUMBER.fullmatch(clean):
            numbers = _RATIO.fullmatch(clean)
            if numbers[3] is None and g.tree[0] in ("div", "num"):
                quotient = ("div", ("num", Fraction(numbers[1])), ("num", Fraction(numbers[2])))
                return _same(g.tree, quotient) is True, different
            return False, different
        tree = _read(clean)
    except Limit as fault:
        return False, f"over the limits: {fault}"
    except (Unreadable, ValueError) as fault:
        return _alternative_reading(g, found, shown, str(fault))
    try:
        result = _same(g.tree, tree)
    except Limit as fault:
        if _over_limits(g.tree):
            return None, f"the gold answer is over the limits: {fault}"
        return False, f"over the limits: {fault}"
    except _Unordered:
        result = None
    except Unreadable as fault:
        return False, f"{shown!r}: {fault}"
    if result is not True and "," in found:
        other = _alternative_reading(g, found, shown, "")
        if other[0]:
            return other
    if result is False and tree[0] in ("list", "set") and g.tree[0] in _VALUE and not _has(g.tree, "pm"):
        return False, f"a list of answers, {shown!r}, where one is wanted"
    if result is False and {g.tree[0], tree[0]} & {"qty", "pct", "deg"}:
        return False, f"{shown!r}: another value or another unit"
    if result is None and _open_question.why:
        return None, _open_question.why
    return result, "the same value" if result else different


class _OpenQuestion(threading.local):
    """Of the pair that this thread judges: why it stays undecided, and the seconds left to ask SymPy."""

    why, left = "", 1.0


_open_question = _OpenQuestion()


def _over_limits(tree: tuple) -> bool:
    try:
        _same_value(tree, ("num", Fraction(7, 3)))
    except Limit:
        return True
    return False


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def _alternative_reading(g: _Gold, found: str, shown: str, fault: str) -> tuple[bool | None, str]:
    """Commas read the other way round: as decimal signs, or as separators of a list."""
    what = f"not readable, {fault}" if fault else ""
    bare = found.strip(" $")
    if re.fullmatch(r"[-+−]?\d+,\d+", bare) and g.tree[0] in ("num", "div", "neg"):
        value = _same(g.tree, ("num", Fraction(bare.replace(",", ".").replace("−", "-"))))
        if value and not re.fullmatch(r"[-+−]?\d{1,3},\d{3}", bare):
            return True, "the same value, with a decimal comma"
    if "," in found and g.tree[0] in ("list", "set"):
        try:
            tree = _read(_clean(found, merge=False))
            if _same(g.tree, tree):
                return True, "the same values"
        except (Limit, Unreadable, ValueError, _Unordered):
            pass
    number = _number_word(_words(found))
    if number is not None and g.tree[0] == "num":
        return g.tree[1] == number, f"{shown!r}"
    if "\\" in found and g.tree[0] not in ("num", "neg", "div") and re.match(r"the command", fault):
        return None, f"{shown!r} is not readable, {fault}"
    return False, f"{shown!r} is {what}" if what else f"{shown!r}"


def _same_time(g: _Gold, found: str, different: str) -> tuple[bool | None, str]:
    try:
        clean = _clean(found)
    except (Limit, Unreadable):
        return False, different
    a, b = _TIME.fullmatch(g.clean), _TIME.fullmatch(clean)
    if a and b and int(a[1]) < 25 and int(b[1]) < 25:
        hours = [int(m[1]) % 12 + 12 * (m[4].lower() == "p") if m[4] else int(m[1]) for m in (a, b)]
        if (a[2], a[3] or "00") == (b[2], b[3] or "00"):
            if hours[0] == hours[1]:
                return True, "the same time"
            if bool(a[4]) != bool(b[4]) and int(a[1]) == int(b[1]):  # a.m. or p.m. left out
                return True, "the same time"
        if a[4] or b[4] or (int(a[2]) < 60 and int(b[2]) < 60):
            return False, different
    a, b = _RATIO.fullmatch(g.clean), _RATIO.fullmatch(clean)
    if a and not b and a[3] is None:
        try:
            quotient = (
                _same(("div", ("num", Fraction(a[1])), ("num", Fraction(a[2]))), _read(clean))
                if Fraction(a[2])
                else False
            )
            return quotient is True and "/" in found + clean.replace("frac", "/"), different
        except (Limit, Unreadable, ValueError, _Unordered):
            return False, different
    if not a or not b:
        return False, different
    x, y = ([Fraction(v) for v in m.groups() if v] for m in (a, b))
    if len(x) != len(y) or not all(x) or not all(y):
        return False, different
    return len({p / q for p, q in zip(x, y)}) == 1, f"ratio {different}"


def _same_prose(g: _Gold, found: str, shown: str) -> tuple[bool | None, str]:
    """Words against words: the same, clearly others, or not for rules to say."""
    a, b = _words(g.text), _words(found)
    if a == b:
        return True, "the same words"
    pair = (a, b)
    try:
        tree = _read(_clean(found))
    except (Limit, Unreadable, ValueError, RecursionError):
        tree = None
    if g.kind == "words":
        if a in _EMPTY_WORDS:
            return b in _EMPTY_WORDS or (tree is not None and tree[0] == "empty"), f"{shown!r}"
        if g.tree is not None and tree is not None and _pieces(g.tree) is not None and _pieces(tree) is not None:
            return _same_pieces(_pieces(g.tree), _pieces(tree)), f"{shown!r}"
        number = _number_word(a)
        if number is not None and tree is not None and tree[0] in _VALUE:
            return _same(("num", Fraction(number)), tree), f"{shown!r}"
        if {"yes": "y", "no": "n", "true": "t", "false": "f"}.get(a) == b:
            return True, "the same word, short"
        words_a, words_b = a.split(), b.split()
        if tree is not None and tree[0] in ("num", "div", "neg", "add", "mul"):
            return False, f"{shown!r}"
        hedged = set(words_b) & {
            "or",
            "not",
            "no",
            "never",
            "neither",
            "nor",
            "and",
            "but",
            "either",
            "maybe",
            "cannot",
        } - set(words_a)
        if kind := next((kind for kind in _CLOSED if a in kind), None):
            plain = _SENTENCE.fullmatch(re.sub(r"\\(?:text|textbf|mathrm|mbox)\s*\{([^{}]*)\}", r"\1", found))
            if plain and set(words_b) & kind == {a} and not hedged - kind and len(words_b) <= 15:
                return True, f"{a!r} in a sentence"
            return False, f"{shown!r}"
        if set(words_a) < set(words_b) and not hedged and len(words_b) <= 40:
            return None, f"{shown!r} says more than {g.text[:60]!r}"
        if set(words_b) < set(words_a) and len(words_a) > 1 and words_b:
            return None, f"{shown!r} says less than {g.text[:60]!r}"
        return False, f"{shown!r}"
    return None, f"the gold answer is prose, {g.text[:60]!r}, and {pair[1][:60]!r} is not the same words"


def equal(gold: str, found: str) -> bool | None:
    """Whether two answers mean the same.

    Args:
        gold: The right answer; LaTeX or plain text.
        found: The answer in question, without words around it.

    Returns:
        True or False, None if the rules cannot tell.
    """
    reward_, _ = judge_text(gold, found)
    return None if reward_ is None else bool(reward_)


def _differs(one: str, two: str) -> bool:
    """Whether the second is a readable value other than the first."""
    try:
        tree = _read(_clean(two))
        first = _read(_clean(one))
    except (Limit, Unreadable, ValueError, RecursionError):
        return False
    if tree[0] == "text" and _words(tree[1]) not in _TRUTH:
        return False
    try:
        return _same(first, tree) is False
    except (Limit, _Unordered, Unreadable, RecursionError):
        return False


def _is_value(text: str) -> bool:
    try:
        tree = _read(_clean(text))
    except (Limit, Unreadable, ValueError, RecursionError):
        return False
    return tree[0] != "text" or _words(tree[1]) in _TRUTH or bool(re.fullmatch(r"[A-Z]", text))


# --- SymPy, for what is left -----------------------------------------------------------------------------

_SECONDS = 1.2  # for all questions about one pair
_START_SECONDS = 30.0  # to import SymPy, the first time
_WORKER = r"""
import json, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
except Exception:
    pass
try:
    import sympy as s
except ImportError:
    print("missing", flush=True)
    sys.exit()
F = {"ln": s.log, "log": s.log, "arcsin": s.asin, "arccos": s.acos, "arctan": s.atan, "arccot": s.acot,
     "arcsec": s.asec, "arccsc": s.acsc, "abs": s.Abs, "ceil": s.ceiling, "binom": s.binomial, "max": s.Max,
     "min": s.Min, "mod": s.Mod, "Re": s.re, "Im": s.im, "sgn": s.sign, "logb": s.log}
for name in "sin cos tan cot sec csc sinh cosh tanh coth exp factorial floor gcd lcm".split():
    F[name] = getattr(s, name)
def build(t):
    k = t[0]
    if k == "num": return s.Rational(int(t[1]), int(t[2]))
    if k == "sym": return s.Symbol(t[1], real=True)
    if k == "const": return {"pi": s.pi, "e": s.E, "i": s.I}[t[1]]
    if k == "inf": return s.oo
    if k == "neg": return -build(t[1])
    if k == "add": return s.Add(*map(build, t[1]))
    if k == "mul": return s.Mul(*map(build, t[1]))
    if k == "div": return build(t[1]) / build(t[2])
    if k == "pct": return build(t[1]) / 100
    if k == "deg": return build(t[1]) * s.pi / 180
    if k == "pow": return build(t[1]) ** build(t[2])
    if k == "base": return s.Integer(int(t[1], t[2]))
    if k == "sum":
        v = s.Symbol(t[2], real=True)
        kind = s.Sum if t[1] == "sum" else s.Product
        return kind(build(t[5]), (v, build(t[3]), build(t[4])))
    if k == "open":
        v = s.Symbol(t[2], real=True)
        if t[1] == "lim": return s.Limit(build(t[5]), v, build(t[3]))
        if t[3] is None or t[4] is None: return s.Integral(build(t[5]), v)
        return s.Integral(build(t[5]), (v, build(t[3]), build(t[4])))
    if k == "fn":
        a = [build(x) for x in t[2]]
        if t[1] == "root": return s.root(a[0], a[1])
        if t[1] == "log10": return s.log(a[0], 10)
        return F[t[1]](*a)
    raise ValueError(k)
x, n = s.symbols("x n")
for warm in (s.Integral(x**2 * s.sin(x), (x, 0, 1)), s.Limit(s.sin(x) / x, x, 0), s.Sum(1 / n**2, (n, 1, s.oo))):
    s.simplify(warm.doit() - x)
print("ready", flush=True)
for line in sys.stdin:
    try:
        a, b = (build(t).doit() for t in json.loads(line))
        d = a - b
        if d.has(s.Integral, s.Sum, s.Limit, s.Product):
            answer = "unknown"
        elif d == 0 or s.simplify(d) == 0: answer = "same"
        else:
            d = s.simplify(d)
            if d.free_symbols:
                points = [{v: s.Rational(7 + 3 * i + 5 * n, 11) for i, v in enumerate(sorted(d.free_symbols, key=str))}
                          for n in range(3)]
            else: points = [{}]
            sizes = [abs(complex(s.N(d.subs(p), 30))) for p in points]
            answer = "other" if max(sizes) > 1e-20 else "same" if max(sizes) < 1e-25 and d.free_symbols else "unknown"
    except MemoryError: answer = "unknown"
    except Exception: answer = "unknown"
    print(answer, flush=True)
"""


class _Worker:
    """SymPy in a process of its own; asked by one thread at a time, ended when it takes too long."""

    def __init__(self):
        self.lock, self.process, self.lines, self.owner = threading.Lock(), None, None, 0
        self.ready = self.missing = self.again = False

    def start(self, seconds: float) -> bool:
        if self.missing:
            return False
        if self.process is None or self.owner != os.getpid() or self.process.poll() is not None:
            self.launch()
        if not self.ready:
            first = self.line(seconds if self.again else _START_SECONDS)
            self.ready, self.missing = first == "ready", first == "missing"
            if not self.ready and first != "late":
                self.stop()
        return self.ready

    def launch(self) -> None:
        self.ready = False
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C in a notebook is not meant for it
        )
        self.owner, self.lines = os.getpid(), queue.Queue()
        threading.Thread(target=_pump, args=(self.process.stdout, self.lines), daemon=True).start()

    def line(self, seconds: float) -> str:
        try:
            return self.lines.get(timeout=seconds).strip()
        except queue.Empty:
            return "late"

    def stop(self) -> None:
        if self.process is not None and self.owner == os.getpid():
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        self.process = None

    def ask(self, question: str, seconds: float) -> str:
        with self.lock:
            if not self.start(seconds):
                return "missing" if self.missing else "late"
            try:
                self.process.stdin.write(question + "\n")
                self.process.stdin.flush()
            except OSError:
                self.stop()
                return "late"
            line = self.line(seconds)
            if line in ("late", ""):
                self.stop()
                self.launch()  # so that it has imported SymPy when the next question comes
                self.again = True
                return "late"
            return line


def _pump(stream, lines: queue.Queue) -> None:
    try:
        for line in stream:
            lines.put(line)
    except ValueError:
        pass  # closed
    lines.put("")


_worker = _Worker()
atexit.register(lambda: _worker.stop())
if hasattr(os, "register_at_fork"):  # a child starts its own, with a lock that nobody holds
    os.register_at_fork(after_in_child=lambda: _worker.__init__())


def _plain(node):
    """A tree as JSON lists."""
    if isinstance(node, tuple):
        if node and node[0] == "num":
            return ["num", str(node[1].numerator), str(node[1].denominator)]
        return [_plain(part) for part in node]
    return node


def _ask_sympy(a: tuple, b: tuple) -> bool | None:
    question = json.dumps([_plain(a), _plain(b)])
    if question in _asked:
        said = _asked[question]
    elif _open_question.left <= 0:
        said = "late"
    else:
        start = time.monotonic()
        said = _worker.ask(question, _open_question.left)
        _open_question.left -= time.monotonic() - start
        if said in ("same", "other"):
            while len(_asked) > 1000:
                _asked.pop(next(iter(_asked)), None)
            _asked[question] = said
    if said in ("same", "other"):
        return said == "same"
    why = {"missing": "SymPy is not installed, and only it could tell", "late": "SymPy took too long"}
    _open_question.why = why.get(said, "SymPy could not tell")
    return None


_asked: dict[str, str] = {}


# --- the environment -------------------------------------------------------------------------------------


class MathEnv:
    """One problem. `calculate` helps, `submit` hands in the answer; reward 1 if it means what the gold one does."""

    def reset(self, *, prompt=None, task: str | None = None, **_) -> str | None:
        """Start the problem in `task`; without one, a small built-in problem."""
        fields = _task(task or _SMALL)
        self._gold, self._form = fields["answer"], str(fields.get("form") or "")
        self._answer: str | None = None
        self._verdict: tuple[float | None, str] = (0.0, "no answer: nothing was handed in")
        if not self._gold.strip():
            self._verdict = (None, "undecided: the gold answer is empty")
        self._calls = 0
        self.metrics: dict[str, float] = {}
        return None if prompt else fields.get("question") or _SMALL_PROMPT

    def calculate(self, expression: str) -> str:
        """Work out an expression exactly, or with 15 digits where the value is no fraction.

        Args:
            expression: Numbers, + - * / ^ ( ), and functions such as sqrt, sin, ln, factorial as n!, gcd(a, b).

        Returns:
            The value.
        """
        self._count(30)
        if type(expression) is not str:
            raise ValueError(f"expression must be text such as (3 + 4)/2, got {expression!r:.40}")
        return calculate(expression)

    def submit(self, answer: str) -> str:
        """Hand in the final answer. The first answer handed in is final.

        Args:
            answer: The answer and nothing else: a number, an expression, a set, a word.

        Returns:
            A confirmation.
        """
        self._count(40)
        if type(answer) is not str:
            raise ValueError(f"answer must be text such as 3/4, got {answer!r:.40}")
        if not answer.strip():
            raise ValueError("answer is empty; hand in a number, an expression or a word")
        self._answer = answer
        self._verdict = self._judged(answer)
        return "Answer recorded."

    def get_reward(self) -> float | None:
        """1.0 if the answer handed in is right, 0.0 if it is wrong or missing, None if the rules cannot tell."""
        reward_, reason = self._verdict
        self.metrics = {
            "answered": float(self._answer is not None),
            "undecided": float(reward_ is None),
            "unreadable": float("not readable" in reason or "over the limits" in reason),
            "calls": float(self._calls),
        }
        return reward_

    def _judged(self, found: str) -> tuple[float | None, str]:
        if "\\boxed" in found or "\\fbox" in found:
            inner, rule = extract(found, boxed_only=True)
            if inner is None:
                return 0.0, f"no answer: {rule}"
            found = inner
        return _remembered(self._gold, found, self._form)

    def _count(self, limit: int) -> None:
        if self._answer is not None:
            raise ValueError("the answer is handed in; stop without a tool call")
        if self._calls >= limit:
            raise ValueError(f"{limit} calls are used up; {'submit an answer' if limit < 40 else 'stop here'}")
        self._calls += 1


ENV = MathEnv
_SMALL_PROMPT = "What is 2 + 3? Answer in \\boxed{}."
_SMALL = json.dumps({"answer": "5", "question": _SMALL_PROMPT})


class _Undecided(Exception):
    """A verdict of None, which is not remembered: SymPy may have been late."""


@lru_cache(maxsize=4096)  # a policy says the same thing again and again in a group
def _decided(gold: str, found: str, form: str) -> tuple[float, str]:
    result = judge_text(gold, found, form)
    if result[0] is None:
        raise _Undecided(result[1])
    return result


def _remembered(gold: str, found: str, form: str) -> tuple[float | None, str]:
    try:
        return _decided(gold, found, form)
    except _Undecided as why:
        return None, str(why)


@lru_cache(maxsize=4096)
def _task(task: str) -> dict:
    fields = json.loads(task)
    gold = fields.get("answer")
    if isinstance(gold, list | tuple):
        gold = gold[0] if len(gold) == 1 else ", ".join(map(str, gold))
    return {**fields, "answer": "" if gold is None else str(gold)}


def calculate(expression: str) -> str:
    """The value of an expression as text: exact if it is rational, else 15 digits.

    Raises:
        ValueError: it is not an expression, has variables, or is over the limits.
    """
    try:
        tree = _read(_clean(expression))
    except (ValueError, RecursionError) as fault:
        raise ValueError(f"cannot read {expression!r:.60}: {fault}; write something like (3 + 4)/2") from None
    if tree[0] in ("qty", "deg"):
        tree = tree[1]
    if tree[0] not in _VALUE or _symbols(tree) or tree[0] == "open":
        raise ValueError(f"{expression!r:.60} is not an expression in numbers; write something like (3 + 4)/2")
    try:
        try:
            return _written(_Exact()(tree))
        except _NotRational:
            with decimal.localcontext(_CONTEXT):
                re_, im = _Numeric({})(tree)
            digits = decimal.Context(prec=15)
            shown = (
                f"{digits.plus(re_).normalize():f}"
                if Decimal("1e-9") < abs(re_) < 10**15
                else f"{digits.plus(re_).normalize()}"
            )
            if abs(im) < _TINY:
                return shown
            return f"{shown} + {digits.plus(im).normalize()}i"
    except (_NotRational, ArithmeticError, ValueError) as fault:
        raise ValueError(f"{expression!r:.60} has no value here: {str(fault) or 'it is not defined'}") from None


def _written(value: Fraction) -> str:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 2000:
        raise Limit("a number of more than 600 digits")
    if value.denominator == 1:
        return str(value.numerator)
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest == 1 and places <= 12:
        scaled = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
        return f"{'-' if value < 0 else ''}{scaled[:-places]}.{scaled[-places:]} = {value}"
    digits = decimal.Context(prec=12)
    return f"{value}, about {digits.divide(Decimal(value.numerator), Decimal(value.denominator))}"


# --- grading ---------------------------------------------------------------------------------------------


def answer(row: dict) -> str | list[dict]:
    """A right answer as a model would write it: the steps, then the boxed answer; tool calls for a row with tools."""
    fields = _task(row["task"])
    steps, gold = fields.get("steps", ""), fields["answer"]
    if not fields.get("tools"):
        return f"{steps} \\boxed{{{gold}}}".strip()
    calls = [("calculate", {"expression": e}) for e in fields.get("calculations", [])] + [("submit", {"answer": gold})]
    env, messages = MathEnv(), []
    env.reset(**row)
    for i, (name, arguments) in enumerate(calls):
        call = {"type": "function", "id": f"call_{i}", "function": {"name": name, "arguments": arguments}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        said = getattr(env, name)(**arguments)
        messages.append({"role": "tool", "name": name, "tool_call_id": f"call_{i}", "content": said})
    return [*messages, {"role": "assistant", "content": f"\\boxed{{{gold}}}"}]


def parse(text: str, row: dict) -> list[tuple[str, dict]]:
    """The tool calls that a text stands for: tagged calls as they are written, else one `submit` of its answer."""
    if not isinstance(text, str):
        return []
    return _calls_in(text, row.get("task"))[0]


def _calls_in(text: str, task: str | None) -> tuple[list[tuple[str, dict]], str]:
    """The tool calls that a text stands for, and the rule by which its answer was found, or why there is none."""
    if "<tool_call>" in text and (calls := _tagged_calls(text)):
        return calls, ""
    found, rule = extract(text, _boxed_only(task))
    return ([("submit", {"answer": found})] if found and found.strip() else []), rule


def _boxed_only(task: str | None) -> bool:
    return bool(task) and _task(task).get("extract") == "boxed"


def score(
    completion: str | list[dict] | None, row: dict, judge: Callable[[str, str, str], bool | None] | None = None
) -> Verdict:
    """Grade a completion: text, or chat messages. Their tool calls are replayed; else the text counts.

    Args:
        completion: What the model said.
        row: The row it answers; the field `answer` of its task is the gold answer.
        judge: Asked only where the rules cannot tell, with the question, the gold answer and the one found; it says
            True, False, or None if it cannot tell either.
    """
    calls, text = _calls_and_text(completion)
    task = row.get("task") or _SMALL
    env = MathEnv()
    env.reset(prompt=True, task=task)
    rule = ""
    if not calls:
        calls, rule = _calls_in(text, task)
    refusal = ""
    for name, arguments in calls:
        try:
            if name not in ("calculate", "submit"):
                raise ValueError(f"there is no tool {name!r:.40}; the tools are calculate and submit")
            getattr(env, name)(**arguments)
        except (ValueError, TypeError) as fault:  # a refused call changes nothing, live as here
            refusal = refusal or str(fault)
    reward_ = env.get_reward()
    _, reason = env._verdict
    if env._answer is None:
        reason = (
            reason
            if reward_ is None
            else f"tool fault: {refusal}"
            if refusal
            else f"no answer: {rule or 'nothing was handed in'}"
        )
    else:
        reason += f" (read from {rule})" if rule else ""
    metrics = dict(env.metrics)
    if reward_ is None and judge is not None and env._answer is not None:
        said = judge(_question(row), env._gold, env._answer)
        if said is not None:
            reward_, reason = float(bool(said)), f"judged {'right' if said else 'wrong'}: {reason}"
        metrics["judged"] = float(said is not None)
    return Verdict(reward_, reason, metrics)


def _question(row: dict) -> str:
    prompt = row.get("prompt")
    if isinstance(prompt, str):
        return prompt
    return next((str(m.get("content") or "") for m in reversed(prompt or []) if m.get("role") == "user"), "")


def reward(completions: list, task: list[str], **_) -> list[float | None]:
    """Reward function for TRL: one float or None for each completion and its `task` column."""
    return [score(completion, {"task": one}).reward for completion, one in zip(completions, task)]


def _calls_and_text(completion) -> tuple[list[tuple[str, dict]], str]:
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
            if found := _json_call(call.get("function", call) if isinstance(call, dict) else call):
                calls.append(found)
    if calls and not any(name == "submit" for name, _ in calls) and text:
        calls += parse(text, {})
    return calls, text


def _tagged_calls(text: str) -> list[tuple[str, dict]]:
    parts = _without_reasoning(text).split("<tool_call>")[1:]
    return [call for part in parts if (call := _json_call(part.partition("</tool_call>")[0]))]


def _json_call(call) -> tuple[str, dict] | None:
    """(name, arguments) of a call given as JSON text or as a dict, or None if it is broken."""
    try:
        call = json.loads(call) if isinstance(call, str) else call
        arguments = call.get("arguments") or {}
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        return (call["name"], arguments) if isinstance(call["name"], str) and isinstance(arguments, dict) else None
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None


# --- problems --------------------------------------------------------------------------------------------


class _Problem(NamedTuple):
    values: tuple  # what the problem is about; its hash decides the split
    wordings: tuple[str, ...]
    answer: object  # int, Fraction or text
    steps: str  # the worked solution, without the final box
    calculations: tuple[str, ...] = ()


FAMILIES: dict[str, Callable[[random.Random, int], _Problem]] = {}
_NAMES = _list("Ada Ben Chloe Dev Ella Finn Grace Hugo Ines Jonas Kira Liam Mia Noor Omar Pia Quinn Rosa Sam Tara")
_THINGS = _list("apples books coins pencils stickers shells marbles cards stamps beads")
_SHOP = (("pen", "pens"), ("notebook", "notebooks"), ("mug", "mugs"), ("cap", "caps"), ("ticket", "tickets"))
_DAYS = _list("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")


def _family(make: Callable) -> Callable:
    FAMILIES[make.__name__.strip("_")] = make
    return make


def _n(rng: random.Random, level: int, *spans: tuple[int, int]) -> int:
    """A number from the span of the level, 0 to 2."""
    return rng.randint(*spans[level])


def _signed_term(n: int, first: bool = False, unit: str = "") -> str:
    """+ 3x, - x, or 3x at the start."""
    size = unit if abs(n) == 1 and unit else f"{abs(n)}{unit}"
    return f"{'-' if n < 0 else ''}{size}" if first else f"{'-' if n < 0 else '+'} {size}"


def _chain(fraction: str, value: Fraction) -> str:
    """A fraction and what it comes to, once if it is the same."""
    return fraction if fraction == str(value) else f"{fraction} = {value}"


@_family
def _addition(rng, level):
    a, b = (_n(rng, level, (1, 20), (20, 999), (1_000, 99_999)) for _ in "ab")
    asks = (f"What is {a} + {b}?", f"What is {a} plus {b}?", f"Add {a} and {b}.", f"Compute {a} + {b}.")
    return _Problem((a, b), asks, a + b, f"{a} + {b} = {a + b}.", (f"{a} + {b}",))


@_family
def _subtraction(rng, level):
    a, b = (_n(rng, level, (1, 20), (20, 999), (1_000, 99_999)) for _ in "ab")
    a, b = (max(a, b), min(a, b)) if level < 2 else (a, b)
    asks = (f"What is {a} - {b}?", f"What is {a} minus {b}?", f"Subtract {b} from {a}.", f"Compute {a} - {b}.")
    return _Problem((a, b), asks, a - b, f"{a} - {b} = {a - b}.", (f"{a} - {b}",))


@_family
def _multiplication(rng, level):
    a, b = _n(rng, level, (2, 12), (11, 99), (101, 999)), _n(rng, level, (2, 12), (3, 99), (11, 999))
    asks = (f"What is {a} * {b}?", f"What is {a} times {b}?", f"Multiply {a} by {b}.", f"Compute {a} * {b}.")
    return _Problem((a, b), asks, a * b, f"{a} * {b} = {a * b}.", (f"{a} * {b}",))


@_family
def _division(rng, level):
    b, q = _n(rng, level, (2, 10), (3, 30), (12, 99)), _n(rng, level, (2, 10), (5, 60), (21, 999))
    a = b * q
    asks = (f"What is {a} / {b}?", f"What is {a} divided by {b}?", f"Divide {a} by {b}.", f"Compute {a} / {b}.")
    return _Problem((a, b), asks, q, f"{b} * {q} = {a}, so {a} / {b} = {q}.", (f"{a} / {b}",))


@_family
def _order_of_operations(rng, level):
    a, b, c, d = (_n(rng, level, (1, 9), (2, 20), (5, 40)) for _ in "abcd")
    if level == 0:
        text, steps, value = f"{a} + {b} * {c}", f"{b} * {c} = {b * c}, {a} + {b * c} = {a + b * c}.", a + b * c
    elif level == 1:
        value = (a + b) * c - d
        text = f"({a} + {b}) * {c} - {d}"
        steps = f"{a} + {b} = {a + b}, {a + b} * {c} = {(a + b) * c}, {(a + b) * c} - {d} = {value}."
    else:
        value = (a - b) * c + d * d
        text = f"({a} - {b}) * {c} + {d}^2"
        steps = (
            f"{a} - {b} = {a - b}, ({a - b}) * {c} = {(a - b) * c}, {d}^2 = {d * d}, {(a - b) * c} + {d * d} = {value}."
        )
    asks = (f"What is {text}?", f"Compute {text}.", f"Evaluate {text}.")
    return _Problem((level, a, b, c, d if level else 0), asks, value, steps, (text,))


@_family
def _decimals(rng, level):
    places = (1, 2, 3)[level]
    a, b = (Fraction(rng.randrange(1, 10 ** (places + 1)), 10**places) for _ in "ab")
    x, y = _decimal(a), _decimal(b)
    if level == 2:
        asks = (f"What is {x} * {y}?", f"Multiply {x} by {y}.", f"Compute the product {x} * {y} exactly.")
        return _Problem(
            (level, str(a), str(b)), asks, _decimal(a * b), f"{x} * {y} = {_decimal(a * b)}.", (f"{x} * {y}",)
        )
    asks = (f"What is {x} + {y}?", f"Add {x} and {y}.", f"Compute {x} + {y}.")
    return _Problem((level, str(a), str(b)), asks, _decimal(a + b), f"{x} + {y} = {_decimal(a + b)}.", (f"{x} + {y}",))


def _decimal(value: Fraction) -> str:
    """A fraction whose denominator divides a power of ten, as a decimal."""
    return _written(value).split(" ")[0]


@_family
def _shopping(rng, level):
    """Two to four steps: prices, amounts, change, a discount."""
    name, (one, many), (other, others) = rng.choice(_NAMES), *rng.sample(_SHOP, 2)
    n, p = _n(rng, level, (2, 6), (3, 12), (6, 25)), _n(rng, level, (2, 9), (3, 20), (11, 40))
    if level == 0:
        asks = (
            f"{name} buys {n} {many} at ${p} each. How many dollars is that?",
            f"One {one} costs ${p}. How much do {n} {many} cost, in dollars?",
            f"{name} pays for {n} {many}, ${p} each. How many dollars?",
        )
        return _Problem((level, n, p), asks, n * p, f"{n} * {p} = {n * p}.", (f"{n} * {p}",))
    m, q = _n(rng, level, (1, 5), (2, 9), (3, 15)), _n(rng, level, (1, 5), (2, 15), (7, 35))
    first, second = n * p, m * q
    total = first + second
    if level == 1:
        paid = (total // 50 + 1) * 50
        asks = (
            f"{name} buys {n} {many} at ${p} each and {m} {others} at ${q} each and pays with ${paid}. "
            "How many dollars of change does the shop give back?",
            f"A {one} costs ${p} and a {other} ${q}. {name} takes {n} {many} and {m} {others} and hands over ${paid}. "
            "How much change is due, in dollars?",
        )
        steps = (
            f"{n} * {p} = {first}, {m} * {q} = {second}, {first} + {second} = {total}, {paid} - "
            f"{total} = {paid - total}."
        )
        return _Problem((level, n, p, m, q), asks, paid - total, steps, (f"{n} * {p} + {m} * {q}", f"{paid} - {total}"))
    off = rng.choice((10, 15, 20, 25, 40))
    saved = Fraction(total * off, 100)
    value = total - saved
    asks = (
        f"{name} orders {n} {many} at ${p} each and {m} {others} at ${q} each. A voucher takes {off}% off the bill. "
        "How many dollars does the order cost then?",
        f"A club buys {n} {many} (${p} each) and {m} {others} (${q} each) with {off}% off everything. "
        "How many dollars does it pay?",
    )
    steps = (
        f"{n} * {p} = {first}, {m} * {q} = {second}, {first} + {second} = {total}, "
        f"{off}/100 * {total} = {_decimal(saved)}, {total} - {_decimal(saved)} = {_decimal(value)}."
    )
    return _Problem(
        (level, n, p, m, q, off), asks, _decimal(value), steps, (f"{n} * {p} + {m} * {q}", f"{total} * (1 - {off}/100)")
    )


@_family
def _giving(rng, level):
    """One to four steps of getting and giving away."""
    (name, friend), thing = rng.sample(_NAMES, 2), rng.choice(_THINGS)
    a, b = _n(rng, level, (3, 20), (20, 90), (60, 400)), _n(rng, level, (1, 10), (5, 40), (20, 90))
    if level == 0:
        asks = (
            f"{name} has {a} {thing} and gets {b} more. How many now?",
            f"{name} has {a} {thing}. {friend} gives {name} {b}. How many {thing} has {name}?",
            f"There are {a} {thing} in a box. {name} adds {b}. How many are in it?",
        )
        return _Problem((level, a, b), asks, a + b, f"{a} + {b} = {a + b}.", (f"{a} + {b}",))
    k, c = _n(rng, level, (2, 3), (2, 4), (3, 9)), _n(rng, level, (1, 5), (3, 15), (10, 60))
    got = a + k * b
    if got <= c:
        c = got // 2
    left = got - c
    if level == 1:
        asks = (
            f"{name} has {a} {thing}, buys {k} bags of {b} and gives {c} to {friend}. How many "
            f"{thing} has {name} left?",
            f"{friend} asks {name} for {c} {thing}. {name} had {a} and just opened {k} packs of {b}. "
            f"How many does {name} keep?",
        )
        steps = f"{k} * {b} = {k * b}, {a} + {k * b} = {got}, {got} - {c} = {left}."
        return _Problem((level, a, b, k, c), asks, left, steps, (f"{a} + {k} * {b} - {c}",))
    part = rng.choice((2, 3, 4, 5))
    c += left % part
    left = got - c
    asks = (
        f"{name} has {a} {thing}, buys {k} bags of {b}, loses {c}, and puts the rest into {part} equal piles. "
        "How many are in each pile?",
        f"After adding {k} boxes of {b} to {a} {thing} and throwing {c} away, {name} and {part - 1} "
        f"friends share what is "
        f"left equally. How many {thing} does each get?",
    )
    steps = f"{k} * {b} = {k * b}, {a} + {k * b} = {got}, {got} - {c} = {left}, {left} / {part} = {left // part}."
    return _Problem((level, a, b, k, c, part), asks, left // part, steps, (f"({a} + {k} * {b} - {c}) / {part}",))


@_family
def _travel(rng, level):
    name = rng.choice(_NAMES)
    v, t = _n(rng, level, (2, 12), (20, 90), (35, 120)), _n(rng, level, (2, 6), (2, 9), (2, 8))
    if level == 0:
        asks = (
            f"{name} walks {v} km a day. How many km in {t} days?",
            f"{name} rides {v} km each hour. How many km in {t} hours?",
            f"A boat goes {v} km an hour for {t} hours. How many km?",
        )
        return _Problem((level, v, t), asks, v * t, f"{v} * {t} = {v * t}.", (f"{v} * {t}",))
    w, u = _n(rng, level, (1, 2), (15, 80), (30, 110)), _n(rng, level, (1, 2), (1, 6), (2, 8))
    far = v * t + w * u
    if level == 1:
        asks = (
            f"{name} drives {t} hours at {v} km/h and {u} hours at {w} km/h. How many km does {name} drive?",
            f"A train runs at {v} km/h for {t} hours, then at {w} km/h for {u} hours. How many kilometers does it run?",
        )
        return _Problem(
            (level, v, t, w, u),
            asks,
            far,
            f"{v} * {t} = {v * t}, {w} * {u} = {w * u}, {v * t} + {w * u} = {far}.",
            (f"{v} * {t} + {w} * {u}",),
        )
    speed = Fraction(far, t + u)
    asks = (
        f"{name} drives {t} hours at {v} km/h and {u} hours at {w} km/h. Find the average speed of "
        f"the whole trip in km/h, as "
        "an exact number.",
        f"A truck goes at {v} km/h for {t} hours and at {w} km/h for {u} hours. What average speed in "
        f"km/h is that, exactly?",
    )
    steps = f"{v} * {t} + {w} * {u} = {far}, {t} + {u} = {t + u}, {far} / {t + u} = {speed}."
    return _Problem((level, v, t, w, u), asks, speed, steps, (f"({v} * {t} + {w} * {u}) / ({t} + {u})",))


@_family
def _ages(rng, level):
    one, two = rng.sample(_NAMES, 2)
    a, d, k = (
        _n(rng, level, (3, 20), (5, 30), (6, 25)),
        _n(rng, level, (1, 9), (2, 20), (2, 15)),
        _n(rng, level, (2, 2), (2, 9), (2, 4)),
    )
    if level == 0:
        asks = (
            f"{one} is {a} and {two} is {d} years older. How old is {two}?",
            f"{two} is {d} years older than {one}, who is {a}. How old is {two}?",
        )
        return _Problem((level, a, d), asks, a + d, f"{a} + {d} = {a + d}.", (f"{a} + {d}",))
    if level == 1:
        asks = (
            f"{one} is {a} years old and {two} is {d} years older. How old will {two} be in {k} years?",
            f"{two} is {d} years older than {one}, who is {a} now. What age does {two} reach {k} years from now?",
        )
        return _Problem(
            (level, a, d, k),
            asks,
            a + d + k,
            f"{a} + {d} = {a + d}, {a + d} + {k} = {a + d + k}.",
            (f"{a} + {d} + {k}",),
        )
    both = a + k * a + 2 * d
    asks = (
        f"{one} is {k} times as old as {two}. In {d} years their ages will add up to {both}. How old is {two} now?",
        f"{d} years from now {one} and {two} will be {both} years old together, and today {one} is "
        f"{k} times as old as {two}. "
        f"Find {two}'s age today.",
    )
    steps = f"{both} - 2 * {d} = {both - 2 * d}, 1 + {k} = {1 + k}, {both - 2 * d} / {1 + k} = {a}."
    return _Problem((level, a, d, k), asks, a, steps, (f"({both} - 2 * {d}) / (1 + {k})",))


@_family
def _fraction_sum(rng, level):
    b, d = _n(rng, level, (3, 9), (3, 12), (7, 30)), _n(rng, level, (3, 9), (3, 12), (7, 30))
    d = b if level == 0 else d
    a, c = rng.randint(1, b - 1), rng.randint(1, d - 1)
    minus = level == 2 and rng.random() < 0.5
    value = Fraction(a, b) - Fraction(c, d) if minus else Fraction(a, b) + Fraction(c, d)
    text = f"{a}/{b} {'-' if minus else '+'} {c}/{d}"
    whole = lcm(b, d)
    top = a * (whole // b) - c * (whole // d) if minus else a * (whole // b) + c * (whole // d)
    steps = f"{text} = {_chain(f'{top}/{whole}', value)}."
    asks = (f"What is {text}?", f"Compute {text} as a fraction.", f"Work out {text}.")
    return _Problem((level, a, b, c, d, minus), asks, value, steps, (text,))


@_family
def _fraction_product(rng, level):
    a, b, c, d = (_n(rng, level, (1, 6), (2, 15), (5, 40)) for _ in "abcd")
    b, d = b + 1, d + 1
    over = level > 0 and rng.random() < 0.5
    value = Fraction(a, b) / Fraction(c, d) if over else Fraction(a, b) * Fraction(c, d)
    sign = "/" if over else "*"
    text = f"({a}/{b}) {sign} ({c}/{d})"
    top, bottom = (a * d, b * c) if over else (a * c, b * d)
    asks = (f"What is {text}?", f"Compute {text} as a fraction.", f"Work out {text}.")
    return _Problem((level, a, b, c, d, over), asks, value, f"{text} = {_chain(f'{top}/{bottom}', value)}.", (text,))


@_family
def _fraction_of(rng, level):
    b = _n(rng, level, (2, 5), (3, 9), (6, 16))
    a, k = rng.randint(1, b - 1), _n(rng, level, (2, 10), (4, 25), (12, 60))
    n, thing, name = b * k, rng.choice(_THINGS), rng.choice(_NAMES)
    asks = (
        f"What is {a}/{b} of {n}?",
        f"{name} has {n} {thing} and gives away {a}/{b} of them. How many are given away?",
        f"Find {a}/{b} of {n}.",
    )
    return _Problem((level, a, b, n), asks, a * k, f"{n} / {b} = {k}, {k} * {a} = {a * k}.", (f"{a}/{b} * {n}",))


@_family
def _percent_of(rng, level):
    p = rng.choice(((10, 20, 25, 50), (5, 15, 30, 40, 60, 75), (7, 12, 17, 33, 62, 84, 125))[level])
    n = _n(rng, level, (1, 10), (2, 30), (10, 300)) * (20 if level < 2 else 5)
    value = Fraction(n * p, 100)
    shown = _decimal(value)
    asks = (f"What is {p}% of {n}?", f"Find {p}% of {n}.", f"Compute {p} percent of {n}.")
    return _Problem((level, p, n), asks, shown, f"{n} * {p} / 100 = {shown}.", (f"{n} * {p} / 100",))


@_family
def _percent_change(rng, level):
    p = rng.choice(((10, 20, 25, 50), (5, 20, 30, 40, 60), (12, 15, 35, 45, 80))[level])
    n, up = _n(rng, level, (1, 15), (2, 20), (3, 60)) * 20, rng.random() < 0.5
    step = Fraction(n * p, 100)
    value = n + step if up else n - step
    verb = "rises" if up else "falls"
    if level < 2:
        asks = (
            f"A price of ${n} {verb} by {p}%. What is the new price in dollars?",
            f"{n} {'grows' if up else 'shrinks'} by {p}%. What number does it become?",
        )
        steps = f"{n} * {p} / 100 = {_decimal(step)}, {n} {'+' if up else '-'} {_decimal(step)} = {_decimal(value)}."
        return _Problem((level, p, n, up), asks, _decimal(value), steps, (f"{n} * (1 {'+' if up else '-'} {p}/100)",))
    asks = (
        f"After it {'rose' if up else 'fell'} by {p}%, a rent is ${_decimal(value)}. How many dollars was it before?",
        f"A tank holds {_decimal(value)} liters after its content {'grew' if up else 'shrank'} by "
        f"{p}%. How many liters "
        "did it hold before?",
    )
    factor = _decimal(1 + Fraction(p, 100) if up else 1 - Fraction(p, 100))
    return _Problem(
        (level, p, n, up),
        asks,
        n,
        f"1 {'+' if up else '-'} {p}/100 = {factor}, {_decimal(value)} / {factor} = {n}.",
        (f"{_decimal(value)} / {factor}",),
    )


@_family
def _linear_equation(rng, level):
    x, a, b = (
        _n(rng, level, (1, 10), (-12, 12), (-30, 30)),
        _n(rng, level, (2, 5), (2, 12), (6, 25)),
        _n(rng, level, (1, 10), (-20, 20), (-60, 60)) or 1,
    )
    if level < 2:
        right = a * x + b
        left = f"{a}x {_signed_term(b)}"
        asks = (
            f"Solve {left} = {right} for x.",
            f"Find x if {left} = {right}.",
            f"What x makes {left} equal to {right}?",
        )
        steps = f"{a}x = {right - b}, x = {x}."
        return _Problem((level, a, b, x), asks, x, steps, (f"({right} - ({b})) / {a}",))
    c = rng.choice([v for v in range(-15, 16) if v not in (a, 0)])
    d = (a - c) * x + b
    left, right = (
        f"{a}x {_signed_term(b)}",
        f"{_signed_term(c, True, 'x')} {_signed_term(d)}" if d else _signed_term(c, True, "x"),
    )
    asks = (
        f"Solve {left} = {right} for x.",
        f"For which x do {left} and {right} have the same value?",
        f"Find x if {left} = {right}.",
    )
    steps = f"{a - c}x = {d - b}, x = {x}."
    return _Problem((level, a, b, c, x), asks, x, steps, (f"({d} - ({b})) / ({a} - ({c}))",))


@_family
def _quadratic_equation(rng, level):
    p, q = (_n(rng, level, (1, 9), (-9, 9), (-15, 15)) for _ in "pq")
    a = 1 if level < 2 else rng.randint(2, 4)
    b, c = -a * (p + q), a * p * q
    text = (
        f"{_signed_term(a, True, 'x^2')}"
        + (f" {_signed_term(b, False, 'x')}" if b else "")
        + (f" {_signed_term(c)}" if c else "")
    )
    roots = sorted({p, q})
    gold = str(roots[0]) if len(roots) == 1 else f"{roots[0]}, {roots[1]}"
    asks = (
        f"Find all x with {text} = 0.",
        f"Solve {text} = 0; give all solutions.",
        f"Which numbers x satisfy {text} = 0? List all.",
    )
    factors = "".join(f"(x {_signed_term(-r)})" if r else "x" for r in (p, q))
    steps = f"{text} = {a if a > 1 else ''}{factors}, so " + " or ".join(f"x = {r}" for r in roots) + "."
    return _Problem((level, a, *sorted((p, q))), asks, gold, steps)


@_family
def _linear_system(rng, level):
    x, y = (_n(rng, level, (1, 15), (-9, 9), (-20, 20)) for _ in "xy")
    if level == 0:
        x, y = max(x, y), min(x, y)
        a, b, c, d = 1, 1, 1, -1
    else:
        while True:
            a, b, c, d = (rng.choice([v for v in range(-7, 8) if v]) for _ in "abcd")
            if a * d != b * c:
                break
    e, f = a * x + b * y, c * x + d * y
    one = f"{_signed_term(a, True, 'x')} {_signed_term(b, False, 'y')} = {e}"
    two = f"{_signed_term(c, True, 'x')} {_signed_term(d, False, 'y')} = {f}"
    asks = (
        f"Solve {one}, {two}. Answer as (x, y).",
        f"Find (x, y) with {one} and {two}.",
        f"Which pair (x, y) satisfies both {one} and {two}?",
    )
    det = a * d - b * c
    steps = f"x = ({e * d} - ({b * f})) / ({det}) = {x}, y = ({a * f} - ({e * c})) / ({det}) = {y}."
    return _Problem((a, b, c, d, x, y), asks, f"({x}, {y})", steps)


@_family
def _inequality(rng, level):
    a, b, x = (
        _n(rng, level, (2, 5), (2, 9), (2, 12)),
        _n(rng, level, (1, 9), (-15, 15), (-40, 40)) or 2,
        _n(rng, level, (1, 9), (-9, 9), (-20, 20)),
    )
    op = rng.choice(("<", ">", "<=", ">="))
    minus = level == 2
    right = (-a if minus else a) * x + b
    left = f"{_signed_term(-a if minus else a, True, 'x')} {_signed_term(b)}"
    result = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}[op] if minus else op
    asks = (
        f"Solve {left} {op} {right} for x.",
        f"For which x is {left} {op} {right}? Answer as an inequality.",
        f"Find all x with {left} {op} {right}.",
    )
    steps = f"{-a if minus else a}x {op} {right - b}, x {result} {x}."
    return _Problem((level, a, b, x, op), asks, f"x {result} {x}", steps)


@_family
def _arithmetic_sequence(rng, level):
    a, d, n = (
        _n(rng, level, (1, 15), (2, 40), (-30, 60)),
        _n(rng, level, (1, 9), (3, 15), (-14, 14)) or 3,
        _n(rng, level, (5, 5), (8, 30), (20, 90)),
    )
    terms = [a + d * k for k in range(4)]
    value = a + d * (n - 1)
    shown = ", ".join(map(str, terms))
    if level == 0:
        asks = (f"What comes next: {shown}?", f"Continue {shown} by one number.", f"Give the next number: {shown}, ...")
        return _Problem(
            (level, a, d),
            asks,
            value,
            f"{terms[1]} - {terms[0]} = {d}, {terms[3]} + {d} = {value}.",
            (f"{terms[3]} + {d}",),
        )
    asks = (
        f"An arithmetic sequence begins {shown}. What is term number {n}?",
        f"Find the {n}th member of the arithmetic sequence {shown}, ...",
    )
    return _Problem(
        (level, a, d, n),
        asks,
        value,
        f"{terms[1]} - ({terms[0]}) = {d}, {a} + {n - 1} * ({d}) = {value}.",
        (f"{a} + {n - 1} * ({d})",),
    )


@_family
def _geometric_sequence(rng, level):
    a, q, n = (
        _n(rng, level, (1, 12), (2, 9), (2, 12)),
        _n(rng, level, (2, 5), (2, 5), (2, 4)),
        _n(rng, level, (4, 4), (6, 8), (9, 12)),
    )
    shown = ", ".join(str(a * q**k) for k in range(3))
    value = a * q ** (n - 1)
    if level == 0:
        asks = (f"What comes next: {shown}?", f"Continue {shown} by one number.", f"Give the next number: {shown}, ...")
        return _Problem((level, a, q), asks, value, f"{a * q**2} * {q} = {value}.", (f"{a * q**2} * {q}",))
    if level == 1:
        asks = (
            f"A geometric sequence begins {shown}. What is term number {n}?",
            f"Find the {n}th member of the geometric sequence {shown}, ...",
        )
        return _Problem((level, a, q, n), asks, value, f"{a} * {q}^{n - 1} = {value}.", (f"{a} * {q}^{n - 1}",))
    value = a * (q**n - 1) // (q - 1)
    asks = (
        f"Add up the first {n} terms of the geometric sequence {shown}, ...",
        f"A geometric sequence begins {shown}. What do its first {n} terms add up to?",
    )
    return _Problem(
        (level, a, q, n),
        asks,
        value,
        f"{a} * ({q}^{n} - 1) / ({q} - 1) = {value}.",
        (f"{a} * ({q}^{n} - 1) / ({q} - 1)",),
    )


@_family
def _average(rng, level):
    k = (2, 4, 6)[level]
    values = [_n(rng, level, (1, 20), (5, 60), (20, 400)) for _ in range(k)]
    values[0] += k * (len(set(values)) == 1)
    if level < 2:
        values[-1] += -sum(values) % k
    values[0] += k * (len(set(values)) == 1)
    mean = Fraction(sum(values), k)
    shown = " and ".join(map(str, values)) if k == 2 else ", ".join(map(str, values))
    asks = (
        f"What is the average of {shown}?",
        f"Find the mean of {shown}.",
        f"Compute the mean of the numbers {shown} exactly.",
    )
    added = " + ".join(map(str, values))
    return _Problem(
        (level, *sorted(values)),
        asks,
        mean,
        f"{added} = {sum(values)}, {sum(values)} / {k} = {mean}.",
        (f"({added}) / {k}",),
    )


@_family
def _arrangements(rng, level):
    n = _n(rng, level, (3, 45), (4, 40), (6, 30))
    k = (2, rng.randint(3, 4), rng.randint(3, 5))[level]
    value = 1
    for i in range(k):
        value *= n - i
    product = " * ".join(str(n - i) for i in range(k))
    asks = (
        f"In how many ways can {k} of {n} runners finish first to {('', '', 'second', 'third', 'fourth', 'fifth')[k]}?",
        f"How many codes of {k} different letters can be made from {n} letters?",
        f"{k} different prizes go to {k} of {n} people. In how many ways?",
    )
    return _Problem((n, k), asks, value, f"{product} = {value}.", (product,))


@_family
def _choices(rng, level):
    n = _n(rng, level, (3, 45), (5, 18), (8, 20))
    k = (2, rng.randint(2, 4), rng.randint(3, 6))[level]
    if level < 2:
        asks = (
            f"How many ways are there to choose {k} of {n} people?",
            f"How many groups of {k} can be picked from {n} cards?",
            f"A team of {k} is picked from {n} players. In how many ways?",
        )
        return _Problem((level, n, k), asks, comb(n, k), f"C({n}, {k}) = {comb(n, k)}.", (f"{n}! / ({k}! * {n - k}!)",))
    m, j = rng.randint(4, 9), rng.randint(1, 3)
    value = comb(n, k) * comb(m, j)
    asks = (
        f"A committee has {k} of {n} teachers and {j} of {m} students. How many committees are possible?",
        f"In how many ways can one pick {k} of {n} red cards and {j} of {m} blue cards?",
    )
    steps = f"C({n}, {k}) = {comb(n, k)}, C({m}, {j}) = {comb(m, j)}, {comb(n, k)} * {comb(m, j)} = {value}."
    return _Problem((level, n, k, m, j), asks, value, steps, (f"{comb(n, k)} * {comb(m, j)}",))


@_family
def _probability(rng, level):
    red, blue = (_n(rng, level, (1, 9), (2, 12), (3, 15)) for _ in "rb")
    n = red + blue
    if level == 0:
        asks = (
            f"A bag has {red} red and {blue} blue balls. One is drawn. How likely is red, as a fraction?",
            f"{red} of {n} cards win. One card is drawn. How likely is a win, as a fraction?",
        )
        return _Problem(
            (level, red, blue),
            asks,
            Fraction(red, n),
            f"{red} + {blue} = {n}, {_chain(f'{red}/{n}', Fraction(red, n))}.",
            (f"{red}/{n}",),
        )
    if level == 1:
        value = Fraction(red * (red - 1), n * (n - 1))
        asks = (
            f"A bag has {red} red and {blue} blue balls. Two are drawn without putting back. How "
            f"likely are two red ones, as a fraction?",
            f"Of {n} parts {red} are good. Two different parts are picked at random. With what "
            f"probability are both good? "
            "Answer with a fraction.",
        )
        return _Problem(
            (level, red, blue),
            asks,
            value,
            f"{red}/{n} * {red - 1}/{n - 1} = {value}.",
            (f"{red}/{n} * {red - 1}/{n - 1}",),
        )
    value = Fraction(2 * red * blue, n * (n - 1))
    asks = (
        f"A bag has {red} red and {blue} blue balls. Two are drawn without putting back. How likely "
        f"are they to differ in color, "
        "as a fraction?",
        f"Two of {n} guests, {red} from Peru and {blue} from Kenya, are picked at random. With what "
        f"probability do they come from "
        "different countries? Answer with a fraction.",
    )
    return _Problem(
        (level, red, blue),
        asks,
        value,
        f"2 * {red}/{n} * {blue}/{n - 1} = {value}.",
        (f"2 * {red}/{n} * {blue}/{n - 1}",),
    )


@_family
def _dice(rng, level):
    sides = rng.choice((4, 6, 8, 10, 12, 20))
    target = rng.randint(2, 2 * sides)
    if level == 0:
        target = rng.randint(1, sides - 1)
        value = Fraction(sides - target, sides)
        asks = (
            f"A die has {sides} sides. How likely is more than {target}, as a fraction?",
            f"A die with {sides} sides is rolled. How likely is more than {target}? Answer with a fraction.",
        )
        steps = f"{sides} - {target} = {sides - target}, {_chain(f'{sides - target}/{sides}', value)}."
        return _Problem((level, sides, target), asks, value, steps, (f"({sides} - {target})/{sides}",))
    ways = sum(1 for i in range(1, sides + 1) if 1 <= target - i <= sides)
    value = Fraction(ways, sides**2)
    asks = (
        f"Two fair dice with {sides} sides are rolled. With what probability do they add up to "
        f"{target}? Answer with a fraction.",
        f"How likely is {target} as the points of two {sides}-sided dice together, as a fraction?",
    )
    return _Problem(
        (1, sides, target),
        asks,
        value,
        f"{sides}^2 = {sides**2}, {ways} pairs, {_chain(f'{ways}/{sides**2}', value)}.",
        (f"{ways}/{sides**2}",),
    )


@_family
def _greatest_common_divisor(rng, level):
    g, a, b = (
        _n(rng, level, (2, 6), (3, 20), (12, 90)),
        _n(rng, level, (1, 6), (2, 15), (7, 60)),
        _n(rng, level, (1, 6), (2, 15), (7, 60)),
    )
    a, b = g * a, g * (b + (a == b))
    value = gcd(a, b)
    asks = (
        f"What is gcd({a}, {b})?",
        f"Find the greatest common divisor of {a} and {b}.",
        f"Which number is the largest that divides both {a} and {b}?",
    )
    return _Problem(
        tuple(sorted((a, b))),
        asks,
        value,
        f"{a} = {value} * {a // value}, {b} = {value} * {b // value}.",
        (f"gcd({a}, {b})",),
    )


@_family
def _least_common_multiple(rng, level):
    a, b = (_n(rng, level, (2, 12), (4, 30), (12, 90)) for _ in "ab")
    b += a == b
    value = lcm(a, b)
    asks = (
        f"What is lcm({a}, {b})?",
        f"Find the least common multiple of {a} and {b}.",
        f"Which positive number is the smallest that both {a} and {b} divide?",
    )
    return _Problem(tuple(sorted((a, b))), asks, value, f"{a} * {b} / {gcd(a, b)} = {value}.", (f"lcm({a}, {b})",))


@_family
def _divisors(rng, level):
    n = _n(rng, level, (4, 60), (61, 400), (401, 3_000))
    powers, rest, p = [], n, 2
    while rest > 1:
        k = 0
        while rest % p == 0:
            rest, k = rest // p, k + 1
        if k:
            powers.append((p, k))
        p += 1
    value = 1
    for _, k in powers:
        value *= k + 1
    shown = " * ".join(f"{p}^{k}" if k > 1 else str(p) for p, k in powers)
    product = " * ".join(f"({k} + 1)" for _, k in powers)
    asks = (
        f"How many positive divisors does {n} have?",
        f"How many positive whole numbers divide {n}?",
        f"Count the divisors of {n}, 1 and {n} among them.",
    )
    return _Problem((n,), asks, value, f"{n} = {shown}, {product} = {value}.", (product,))


@_family
def _remainder(rng, level):
    m, a = _n(rng, level, (2, 9), (5, 30), (7, 60)), _n(rng, level, (5, 60), (50, 900), (2, 30))
    if level < 2:
        asks = (
            f"What is {a} mod {m}?",
            f"What remains when {a} is divided by {m}?",
            f"{a} sweets are packed in bags of {m}. How many are left over?",
        )
        return _Problem((level, a, m), asks, a % m, f"{a} = {a // m} * {m} + {a % m}.", (f"{a} mod {m}",))
    k = rng.randint(5, 40)
    value = pow(a, k, m)
    steps, power, at = [], a % m, 1
    while at * 2 <= k:
        power, at = power * power % m, at * 2
        steps.append(f"{a}^{at} = {power}")
    asks = (f"What is {a}^{k} mod {m}?", f"What remains when {a}^{k} is divided by {m}?")
    worked = ", ".join(steps)
    return _Problem((level, a, k, m), asks, value, f"Mod {m}: {worked}, {a}^{k} = {value}.", (f"{a}^{k} mod {m}",))


@_family
def _base(rng, level):
    n, b = (
        _n(rng, level, (4, 99), (30, 300), (200, 5_000)),
        (rng.choice((2, 3)), rng.choice((2, 3, 5)), rng.choice((3, 6, 7)))[level],
    )
    digits, rest = "", n
    while rest:
        digits, rest = str(rest % b) + digits, rest // b
    if rng.random() < 0.5:
        asks = (f"Write {n} in base {b}.", f"What is {n} in base {b}?", f"Convert {n} to base {b}.")
        gold = f"{digits}_{b}"
    else:
        asks = (f"What is {digits} in base {b} as a decimal number?", f"Convert {digits} from base {b} to base ten.")
        gold = str(n)
    parts = " + ".join(f"{d} * {b ** (len(digits) - 1 - i)}" for i, d in enumerate(digits))
    return _Problem((n, b), asks, gold, f"{parts} = {n}.", (parts,))


@_family
def _rectangle(rng, level):
    a, b = (_n(rng, level, (2, 12), (5, 60), (12, 90)) for _ in "ab")
    if level < 2:
        if rng.random() < 0.5:
            asks = (
                f"A rectangle is {a} by {b}. What area has it?",
                f"A field is {a} m long and {b} m wide. How many square meters is it?",
            )
            return _Problem((level, *sorted((a, b)), "area"), asks, a * b, f"{a} * {b} = {a * b}.", (f"{a} * {b}",))
        asks = (
            f"A rectangle is {a} by {b}. What perimeter has it?",
            f"A garden is {a} m long and {b} m wide. How many meters of fence go around it?",
        )
        return _Problem(
            (level, *sorted((a, b)), "around"),
            asks,
            2 * (a + b),
            f"{a} + {b} = {a + b}, 2 * {a + b} = {2 * (a + b)}.",
            (f"2 * ({a} + {b})",),
        )
    asks = (
        f"A rectangle has area {a * b} and one side of length {a}. What perimeter has it?",
        f"A field of {a * b} square meters is {a} m long. How many meters of fence go around it?",
    )
    return _Problem(
        (level, a, b),
        asks,
        2 * (a + b),
        f"{a * b} / {a} = {b}, 2 * ({a} + {b}) = {2 * (a + b)}.",
        (f"2 * ({a} + {a * b} / {a})",),
    )


@_family
def _triangle(rng, level):
    if level == 0:
        a, b = rng.randint(2, 12), rng.randint(2, 12)
        value = Fraction(a * b, 2)
        asks = (
            f"A triangle has base {a} and height {b}. What area has it?",
            f"Find the area of a triangle of base {a} and height {b}.",
        )
        return _Problem(
            (level, a, b), asks, _decimal(value), f"{a} * {b} / 2 = {_decimal(value)}.", (f"{a} * {b} / 2",)
        )
    if level == 1:
        a, b = rng.randint(20, 100), rng.randint(10, 79)
        asks = (
            f"Two angles of a triangle are {a} and {b} degrees. How many degrees has the third?",
            f"A triangle has angles of {a} and {b} degrees. Find its third angle in degrees.",
        )
        return _Problem(
            (level, *sorted((a, b))), asks, 180 - a - b, f"180 - {a} - {b} = {180 - a - b}.", (f"180 - {a} - {b}",)
        )
    a, b = rng.randint(2, 24), rng.randint(2, 24)
    square = a * a + b * b
    root = isqrt(square)
    gold = str(root) if root * root == square else f"\\sqrt{{{square}}}"
    asks = (
        f"The legs of a right triangle are {a} and {b}. How long is its hypotenuse, exactly?",
        f"A rectangle is {a} by {b}. Give the exact length of its diagonal.",
    )
    return _Problem((level, *sorted((a, b))), asks, gold, f"{a}^2 + {b}^2 = {square}.", (f"sqrt({a}^2 + {b}^2)",))


@_family
def _circle(rng, level):
    r, around = _n(rng, level, (1, 40), (2, 60), (3, 60)), rng.random() < 0.5
    if level == 0:
        if around:
            asks = (
                f"A circle has radius {r}. How long is it around, in terms of pi?",
                f"Find the circumference of a circle of radius {r}, in terms of pi.",
            )
            return _Problem((level, r, around), asks, f"{2 * r}\\pi", f"2 * {r} = {2 * r}.")
        asks = (
            f"A circle has radius {r}. Give its area in terms of pi.",
            f"Find the area of a circle of radius {r}, in terms of pi.",
        )
        return _Problem((level, r, around), asks, f"{r * r}\\pi", f"{r}^2 = {r * r}.")
    d = 2 * r + 1
    if level == 1:
        if around:
            asks = (
                f"Find the perimeter of a half disk {d} across, in terms of pi.",
                f"A half disk is {d} across. How long is its edge, in terms of pi?",
            )
            return _Problem(
                (level, r, around),
                asks,
                f"{d} + \\frac{{{d}}}{{2}}\\pi",
                f"the arc has {d}/2 pi, the straight edge {d}.",
            )
        asks = (
            f"A circle has diameter {d}. Give its area in terms of pi.",
            f"Find the area, in terms of pi, of a circle that is {d} across.",
        )
        return _Problem((level, r, around), asks, f"\\frac{{{d**2}}}{{4}}\\pi", f"({d}/2)^2 = {d**2}/4.")
    h = rng.randint(2, 30)
    asks = (
        f"A cylinder has radius {r} and height {h}. Give its whole surface in terms of pi.",
        f"Find the surface of a closed can of radius {r} and height {h}, in terms of pi.",
    )
    value = 2 * r * (r + h)
    return _Problem(
        (level, r, h),
        asks,
        f"{value}\\pi",
        f"2 * {r}^2 = {2 * r * r}, 2 * {r} * {h} = {2 * r * h}, {2 * r * r} + {2 * r * h} = {value}.",
    )


@_family
def _units(rng, level):
    table = (
        (("meters", "centimeters", 100), ("hours", "minutes", 60), ("weeks", "days", 7), ("minutes", "seconds", 60)),
        (("kilometers", "meters", 1000), ("days", "hours", 24), ("feet", "inches", 12), ("pounds", "ounces", 16)),
        (
            ("kilometers per hour", "meters per second", Fraction(5, 18)),
            ("square meters", "square centimeters", 10_000),
            ("days", "minutes", 1440), ("miles", "feet", 5280),
        ),
    )  # fmt: skip
    many, few, k = rng.choice(table[level])
    n = _n(rng, level, (2, 12), (2, 40), (3, 90))
    value = n * k
    asks = (f"How many {few} are {n} {many}?", f"Convert {n} {many} to {few}.", f"Express {n} {many} in {few}.")
    return _Problem((level, many, few, n), asks, value, f"{n} * {k} = {value}.", (f"{n} * {k}",))


@_family
def _weekday(rng, level):
    at, n = rng.randrange(7), _n(rng, level, (1, 7), (8, 60), (70, 999))
    n += n % 7 == 0  # the day asked for is not the day given
    if level < 2:
        day = _DAYS[(at + n) % 7]
        asks = (
            f"Today is {_DAYS[at]}. What day is it in {n} days?",
            f"Which weekday comes {n} days after {_DAYS[at]}?",
            f"It is {_DAYS[at]} now. What weekday will it be {n} days later?",
        )
        return _Problem(
            (at, n),
            asks,
            day,
            f"{n} = {n // 7} * 7 + {n % 7}, and {_DAYS[at]} plus {n % 7} gives {day}.",
            (f"{n} mod 7",),
        )
    start = date(rng.randint(1990, 2040), 1, 1) + timedelta(days=rng.randrange(365))
    day, end = _DAYS[(start + timedelta(days=n)).weekday()], start + timedelta(days=n)
    asks = (
        f"{_spoken(start)} is a {_DAYS[start.weekday()]}. What weekday is {_spoken(end)}?",
        f"Given that {_spoken(start)} falls on a {_DAYS[start.weekday()]}, on which weekday does {_spoken(end)} fall?",
    )
    steps = f"{n} days later, {n} = {n // 7} * 7 + {n % 7}, and {_DAYS[start.weekday()]} plus {n % 7} gives {day}."
    return _Problem((start.isoformat(), n), asks, day, steps, (f"{n} mod 7",))


def _spoken(day: date) -> str:
    return f"{_MONTHS[day.month - 1].capitalize()} {day.day}, {day.year}"


@_family
def _days_between(rng, level):
    start = date(2000 + rng.randrange(40), 1, 1) + timedelta(days=rng.randrange(365))
    n = _n(rng, level, (1, 20), (30, 150), (200, 900))
    if level == 0:
        start = start.replace(day=rng.randint(1, 8))
    end = start + timedelta(days=n)
    one, two = _spoken(start), _spoken(end)
    if level == 0:
        one, two = (text.rpartition(",")[0] for text in (one, two))
    asks = (
        f"How many days after {one} is {two}?",
        f"Count the days from {one} to {two}, without the first.",
        f"How many days pass from {one} to {two}?",
    )
    parts, at = [], start
    while (at.year, at.month) != (end.year, end.month):
        following = date(at.year + at.month // 12, at.month % 12 + 1, 1)
        parts.append((following - at).days)
        at = following
    parts.append((end - at).days)
    added = " + ".join(map(str, parts))
    return _Problem(
        (start.isoformat() if level else one, n),
        asks,
        n,
        f"{added} = {n}." if len(parts) > 1 else f"{end.day} - {start.day} = {n}.",
        (added,),
    )


@_family
def _clock(rng, level):
    start, n = rng.randrange(8 * 60, 11 * 60) // 5 * 5, _n(rng, level, (1, 11), (1, 40), (40, 150)) * 5
    end = start + n
    one, two = (f"{t // 60}:{t % 60:02d}" for t in (start, end))
    asks = (
        f"It is {one} on a 24-hour clock. What time is it {n} minutes later?",
        f"A film starts at {one} and takes {n} minutes. When does it end, on a 24-hour clock?",
    )
    if end >= 24 * 60:
        two = f"{end // 60 - 24}:{end % 60:02d}"
    return _Problem(
        (start, n), asks, two, f"{n} = {n // 60} * 60 + {n % 60}, and {one} plus {n // 60} h {n % 60} min gives {two}."
    )


@_family
def _expand(rng, level):
    a, b = (_n(rng, level, (1, 9), (-9, 9), (-12, 12)) or 2 for _ in "ab")
    p, q = (1, 1) if level == 0 else (_n(rng, level, (1, 1), (1, 3), (2, 5)) for _ in "pq")
    left = f"({_signed_term(p, True, 'x')} {_signed_term(a)})({_signed_term(q, True, 'x')} {_signed_term(b)})"
    middle = p * b + a * q
    gold = (
        _signed_term(p * q, True, "x^2")
        + (f" {_signed_term(middle, False, 'x')}" if middle else "")
        + f" {_signed_term(a * b)}"
    )
    asks = (f"Expand {left}.", f"Multiply out {left}.", f"Write {left} without brackets.")
    steps = f"{p} * ({b}) + ({a}) * {q} = {middle}, ({a}) * ({b}) = {a * b}."
    return _Problem((p, a, q, b), asks, gold, steps)


@_family
def _polynomial_value(rng, level):
    a, b, c, x = (_n(rng, level, (1, 5), (-6, 9), (-12, 12)) or 1 for _ in "abcx")
    power = 2 if level < 2 else 3
    text = f"{_signed_term(a, True, f'x^{power}')} {_signed_term(b, False, 'x')} {_signed_term(c)}"
    value = a * x**power + b * x + c
    asks = (f"Evaluate {text} at x = {x}.", f"What value does {text} take for x = {x}?", f"Put x = {x} into {text}.")
    worked = f"{a} * ({x})^{power} + ({b}) * ({x}) + ({c})"
    return _Problem((power, a, b, c, x), asks, value, f"({x})^{power} = {x**power}, {worked} = {value}.", (worked,))


@_family
def _rate_of_work(rng, level):
    one, two = rng.sample(_NAMES, 2)
    a, b = (_n(rng, level, (2, 12), (3, 15), (6, 40)) for _ in "ab")
    if level == 0:
        asks = (
            f"{one} paints {a} doors an hour. How many in {b} hours?",
            f"A press prints {a} pages a minute. How many in {b} minutes?",
        )
        return _Problem((level, a, b), asks, a * b, f"{a} * {b} = {a * b}.", (f"{a} * {b}",))
    value = 1 / (Fraction(1, a) + Fraction(1, b))
    asks = (
        f"{one} paints a fence in {a} hours and {two} in {b}. How many hours do they need together? Answer exactly.",
        f"One pipe fills a tank in {a} hours, another in {b}. In how many hours do both fill it? Answer exactly.",
    )
    return _Problem(
        (level, *sorted((a, b))),
        asks,
        value,
        f"1/{a} + 1/{b} = {1 / value}, 1 / ({1 / value}) = {value}.",
        (f"1 / (1/{a} + 1/{b})",),
    )


@_family
def _digit_sum(rng, level):
    n = _n(rng, level, (10, 99), (1_000, 99_999), (10**7, 10**10))
    digits = list(map(int, str(n)))
    added = " + ".join(map(str, digits))
    asks = (f"Add up the digits of {n}.", f"What do the digits of {n} add up to?", f"Compute the digit sum of {n}.")
    return _Problem((n,), asks, sum(digits), f"{added} = {sum(digits)}.", (added,))


@_family
def _comparison(rng, level):
    b, d = (_n(rng, level, (2, 6), (5, 20), (11, 60)) for _ in "bd")
    a, c = rng.randint(1, b), rng.randint(1, d)
    left, right = a * d, c * b
    word = "yes" if left > right else "no"
    asks = (
        f"Is {a}/{b} greater than {c}/{d}? Answer yes or no.",
        f"Yes or no: {a}/{b} > {c}/{d}?",
        f"Yes or no: is {a}/{b} more than {c}/{d}?",
    )
    return _Problem((a, b, c, d), asks, word, f"{a} * {d} = {left}, {c} * {b} = {right}.", (f"{a}/{b} - {c}/{d}",))


def split_of(family: str, values: tuple) -> str:
    """The split that a problem belongs to: 70 % train, 10 % validation, 20 % test, by a hash of family and values."""
    share = int.from_bytes(sha256(json.dumps([family, *values]).encode()).digest()[:4], "big") / 2**32
    return "train" if share < 0.7 else "validation" if share < 0.8 else "test"


def make_rows(
    n: int,
    seed: int = 0,
    split: str = "train",
    *,
    difficulty: str = "easy",
    families: Iterable[str] | None = None,
    tools: bool = False,
) -> list[dict]:
    """Make `n` different problems with exact answers.

    Args:
        n: How many.
        seed: Same arguments, same rows, on every platform.
        split: "train", "validation" or "test"; they share no problem, whatever its wording.
        difficulty: "easy" (one step, small numbers, short texts), "medium" or "hard".
        families: Names out of `FAMILIES`; None takes all of them, in turn.
        tools: Ask for the answer through the tools `calculate` and `submit`, not in a box.

    Raises:
        ValueError: an argument is out of range, or there are not `n` such problems.
    """
    if type(n) is not int or n < 0:
        raise ValueError(f"n must be a whole number, 0 or more, got {n!r}")
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    if difficulty not in DIFFICULTIES:
        raise ValueError(f"difficulty must be one of {', '.join(DIFFICULTIES)}, got {difficulty!r}")
    names = [families] if isinstance(families, str) else list(FAMILIES) if families is None else list(families)
    if unknown := [name for name in names if name not in FAMILIES] or ([] if names else ["nothing"]):
        raise ValueError(f"families holds {unknown[0]!r}; choose among {', '.join(FAMILIES)}")
    level = DIFFICULTIES.index(difficulty)
    rng = random.Random(f"math {seed} {split} {difficulty} {' '.join(names)}")
    order = rng.sample(names, len(names))
    rows, seen, turn, misses = [], set(), 0, 0
    while len(rows) < n:
        name = order[turn % len(order)]
        turn += 1
        for _ in range(60):
            problem = FAMILIES[name](rng, level)
            key = (name, json.dumps(problem.values))
            if key not in seen and split_of(name, problem.values) == split:
                seen.add(key)
                rows.append(_row(name, difficulty, problem, rng.choice(problem.wordings), tools))
                misses = 0
                break
        else:
            misses += 1
            if misses > len(order):
                raise ValueError(
                    f"found only {len(rows)} of {n} {difficulty} problems in {', '.join(names)}; ask for fewer"
                )
    return rows


def _row(name: str, difficulty: str, problem: _Problem, question: str, tools: bool) -> dict:
    how = "Hand in the answer with the submit tool." if tools else "Answer in \\boxed{}."
    task = {
        "answer": str(problem.answer),
        "steps": problem.steps,
        "form": "simple",
        "family": name,
        "difficulty": difficulty,
    }
    if tools:
        task |= {"tools": True, "calculations": list(problem.calculations)}
    digest = sha256(json.dumps([name, *problem.values]).encode()).hexdigest()[:12]
    return {
        "prompt": [{"role": "user", "content": f"{question} {how}"}],
        "environment": "math",
        "task_id": f"math-{name}-{'tools-' if tools else ''}{difficulty}-{digest}",
        "task": json.dumps(task),
    }


# --- problems of others ----------------------------------------------------------------------------------


def read_rows(records: str | os.PathLike | Iterable[dict], instruction: str = "Answer in \\boxed{}.") -> list[dict]:
    r"""Rows from records in the shape of GSM8K, MATH, AIME or NeMo Gym's math sets.

    Args:
        records: A JSONL file, or dicts. The question is `question` or `problem`; the gold answer is `expected_answer`,
            `answer` (the part after `####` if there is one), or the last box of `solution`. A record with
            `responses_create_params` keeps its own messages.
        instruction: Put after the question where the record brings no messages; says how to answer.

    Returns:
        One row for each record, in order. A record whose gold answer is empty makes a row that scores None.

    Raises:
        ValueError: a record has no question, or no field that holds an answer.
    """
    if isinstance(records, str | os.PathLike):
        with open(records, encoding="utf-8") as file:
            records = [json.loads(line) for line in file if line.strip()]
    rows = []
    for i, record in enumerate(records):
        low = {str(key).lower(): value for key, value in record.items()}
        messages = (low.get("responses_create_params") or {}).get("input")
        question = low.get("question") or low.get("problem")
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        if not question and not messages:
            raise ValueError(f"record {i} has no question; expected one of question, problem, responses_create_params")
        gold = next(
            (low[k] for k in ("expected_answer", "answer", "solution", "final_answer") if low.get(k) is not None), None
        )
        if gold is None:
            raise ValueError(f"record {i} has no answer; expected one of expected_answer, answer, solution")
        gold = str(gold[0] if isinstance(gold, list) and len(gold) == 1 else gold)
        steps = ""
        if "####" in gold:
            steps, _, gold = gold.rpartition("####")
            steps = re.sub(r"<<[^<>]{0,200}>>", "", steps)
        elif (boxes := _boxes(gold)) and boxes[-1][2] is not None:
            steps, gold = "", boxes[-1][2]
        gold = gold.strip()
        prompt = [{"role": m["role"], "content": m["content"]} for m in messages or []] or [
            {"role": "user", "content": f"{question}\n\n{instruction}"}
        ]
        digest = sha256(f"{question or prompt[-1]['content']}\n{gold}".encode()).hexdigest()[:12]
        task = {"answer": gold} | ({"steps": " ".join(steps.split())} if steps.strip() else {})
        rows.append(
            {"prompt": prompt, "environment": "math", "task_id": f"math-read-{digest}", "task": json.dumps(task)}
        )
    return rows
