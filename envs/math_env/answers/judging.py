# SPDX-License-Identifier: Apache-2.0
"""Judging one answer by the gold one: choices, times, dates, prose, and whatever has a tree."""

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from .grammar import read_tree
from .limits import LONGEST_ANSWER, Limit, Unreadable
from .notation import FUNCTIONS, TRUTH, clean_text, find_boxes, split_word
from .same_answers import NO_SOLUTION, Unordered, bare_words, number_word, pieces_of, same_answer, same_pieces, value_of
from .same_values import same_value
from .sympy_process import SECONDS, open_question
from .trees import VALUE_KINDS, free_symbols, has, is_name

_list = str.split  # of words
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
MONTHS = _list("january february march april may june july august september october november december")
_MONTH = "(" + "|".join(f"{m[:3]}(?:{m[3:]})?" if m != "may" else "may" for m in MONTHS) + r")\.?"
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
            month = int(named["m"]) if named.get("m") else [x[:3] for x in MONTHS].index(name) + 1
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
        boxes = find_boxes(text)
        if boxes and boxes[-1][2]:
            text = boxes[-1][2]
        clean = clean_text(text)
    except (Limit, Unreadable) as fault:
        return _Gold(text, text, None, "bad", f"the gold answer is not readable: {fault}")
    if _CHOICE.fullmatch(text) and (text.strip(" $").isupper() or "(" in text or "text" in text):
        return _Gold(text, clean, None, "choice", "")
    if m := _LETTERED.fullmatch(text):
        try:
            return _Gold(m[1], clean, read_tree(clean_text(m[2])), "choice", "")
        except (Limit, Unreadable, RecursionError):
            return _Gold(m[1], clean, None, "choice", "")
    if _TIME.fullmatch(clean) or _RATIO.fullmatch(clean):
        return _Gold(text, clean, None, "time", "")
    if _date(text):
        return _Gold(text, clean, None, "date", "")
    words = bare_words(text)
    if _ELSEWHERE.search(words):
        return _Gold(text, clean, None, "bad", "the gold answer says that the answer is elsewhere")
    if re.fullmatch(r"[^\W\d_]{2,}(?:[ -][^\W\d_]+){0,4}", words) and _wordy(text):
        return _Gold(text, clean, None, "words", "")
    try:
        tree = read_tree(clean)
        if tree[0] == "text":
            return _Gold(
                text, clean, tree, "words" if len(words.split()) <= 5 or pieces_of(tree) is not None else "prose", ""
            )
        if has(tree, "text") and len(re.findall(r"[^\W\d_]{2,}", re.sub(r"\\[A-Za-z]+", "", text))) > 5:
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
    plain = set(FUNCTIONS) | {"pi", "inf", "infinity", "infty"}
    words = [word for word in re.findall(r"[A-Za-z]{2,}", text) if word not in plain]
    return not re.search(r"[\\^_=<>+*]", text) and any(len(split_word(word, True, [])) == 1 for word in words)


def judge_text(gold: str, found: str, form: str = "") -> tuple[float | None, str]:
    """(1.0, 0.0 or None, why) for one answer against the gold one.

    With form "simple" the answer must be worked out as well: 13, not 1 + 12; a whole number as such; no products.
    """
    g = _gold(gold)
    if g.kind == "bad" and not g.clean.strip():
        return None, f"undecided: {g.fault}"
    if boxes := find_boxes(found):
        found = boxes[-1][2] or ""
    if g.text.strip(" $") == found.strip(" $") and found.strip(" $?.{}"):
        return 1.0, "right: written as the gold answer"
    if g.kind == "bad" and len(g.text) > LONGEST_ANSWER:
        return None, f"undecided: {g.fault}"
    if len(found) > LONGEST_ANSWER:
        return 0.0, f"wrong answer: over the limits, {len(found)} characters"
    open_question.why, open_question.left = "", SECONDS
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
    tree = tree_of(found)
    if tree is None:
        return True  # a word, a time
    if tree[0] == "rel" and set(tree[2]) == {"="}:
        tree = value_of(tree)[0] or tree
    return _simple(tree, gold)


def _simple(node: tuple, gold: tuple | None) -> bool:
    kind = node[0]
    if kind in ("list", "set"):
        return all(_simple(item, None) for item in node[1])
    if kind == "seq":
        return all(_simple(item, None) for item in node[3])
    if kind == "rel":
        if set(node[2]) == {"="}:
            return is_name(node[1][0]) and _simple(node[1][-1], gold)
        return all(side[0] == "sym" or (not free_symbols(side) and _simple(side, None)) for side in node[1])
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
    different = repr(shown)
    if g.kind == "choice":
        return _same_choice(g, found, shown)
    if g.kind == "time":
        return _same_time(g, found, different)
    if g.kind == "date":
        a, b = _date(g.text), _date(found)
        if b is None:
            return bare_words(g.text) == bare_words(found), different
        return a[1:] == b[1:] and (a[0] is None or b[0] is None or a[0] == b[0]), f"date {shown!r}"
    if g.kind in ("words", "prose"):
        return _same_prose(g, found, different)
    if g.tree is not None and g.tree[0] == "empty" and bare_words(found) in NO_SOLUTION:
        return True, "no solution"
    try:
        clean = clean_text(found)
        if g.clean == clean and clean:
            return True, "the same notation"
        if g.kind == "bad":
            return None, g.fault
        if _RATIO.fullmatch(clean) and not _NUMBER.fullmatch(clean):
            numbers = _RATIO.fullmatch(clean)
            if numbers[3] is None and g.tree[0] in ("div", "num"):
                quotient = ("div", ("num", Fraction(numbers[1])), ("num", Fraction(numbers[2])))
                return same_answer(g.tree, quotient) is True, different
            return False, different
        tree = read_tree(clean)
    except Limit as fault:
        return False, f"over the limits: {fault}"
    except ValueError as fault:
        return _alternative_reading(g, found, shown, str(fault))
    try:
        result = same_answer(g.tree, tree)
    except Limit as fault:
        if _over_limits(g.tree):
            return None, f"the gold answer is over the limits: {fault}"
        return False, f"over the limits: {fault}"
    except Unordered:
        result = None
    except Unreadable as fault:
        return False, f"{shown!r}: {fault}"
    if result is not True and "," in found:
        other = _alternative_reading(g, found, shown, "")
        if other[0]:
            return other
    if result is False and tree[0] in ("list", "set") and g.tree[0] in VALUE_KINDS and not has(g.tree, "pm"):
        return False, f"a list of answers, {shown!r}, where one is wanted"
    if result is False and {g.tree[0], tree[0]} & {"qty", "pct", "deg"}:
        return False, f"{shown!r}: another value or another unit"
    if result is None and open_question.why:
        return None, open_question.why
    return result, "the same value" if result else different


def _same_choice(g: _Gold, found: str, shown: str) -> tuple[bool | None, str]:
    letter = _CHOICE.fullmatch(g.text)[1].upper()
    if m := _CHOICE.fullmatch(found):
        return m[1].upper() == letter, f"choice {shown!r}"
    m = _CHOSEN.match(found)
    if not m and g.tree is not None:  # the text of the choice, without its letter
        try:
            return same_answer(g.tree, read_tree(clean_text(found))), f"the text of the choice, {shown!r}"
        except (ValueError, Unordered):
            return False, f"{shown!r} is no one choice"
    if (
        not m
        or re.match(r"(?:(?:and|or|,|/|;)\s*)*\(?[A-J]\b(?!\s+[a-z])", m[3] or "")
        or re.match(r"\s*[,/;]", found[m.end(1) if m[1] else m.end(2) :])
    ):
        return False, f"{shown!r} is no one choice"
    return (m[1] or m[2]).upper() == letter, f"choice {(m[1] or m[2]).upper()}"


def _over_limits(tree: tuple) -> bool:
    try:
        same_value(tree, ("num", Fraction(7, 3)))
    except Limit:
        return True
    return False


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def _alternative_reading(g: _Gold, found: str, shown: str, fault: str) -> tuple[bool | None, str]:
    """Commas read the other way round: as decimal signs, or as separators of a list."""
    what = f"not readable, {fault}" if fault else ""
    bare = found.strip(" $")
    if re.fullmatch(r"[-+−]?\d+,\d+", bare) and g.tree[0] in ("num", "div", "neg"):
        value = same_answer(g.tree, ("num", Fraction(bare.replace(",", ".").replace("−", "-"))))
        if value and not re.fullmatch(r"[-+−]?\d{1,3},\d{3}", bare):
            return True, "the same value, with a decimal comma"
    if "," in found and g.tree[0] in ("list", "set"):
        try:
            tree = read_tree(clean_text(found, merge=False))
            if same_answer(g.tree, tree):
                return True, "the same values"
        except (ValueError, Unordered):
            pass
    number = number_word(bare_words(found))
    if number is not None and g.tree[0] == "num":
        return g.tree[1] == number, f"{shown!r}"
    if "\\" in found and g.tree[0] not in ("num", "neg", "div") and re.match(r"the command", fault):
        return None, f"{shown!r} is not readable, {fault}"
    return False, f"{shown!r} is {what}" if what else f"{shown!r}"


def _same_time(g: _Gold, found: str, different: str) -> tuple[bool | None, str]:
    try:
        clean = clean_text(found)
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
                same_answer(("div", ("num", Fraction(a[1])), ("num", Fraction(a[2]))), read_tree(clean))
                if Fraction(a[2])
                else False
            )
            return quotient is True and "/" in found + clean.replace("frac", "/"), different
        except (ValueError, Unordered):
            return False, different
    if not a or not b:
        return False, different
    x, y = ([Fraction(v) for v in m.groups() if v] for m in (a, b))
    if len(x) != len(y) or not all(x) or not all(y):
        return False, different
    return len({p / q for p, q in zip(x, y)}) == 1, f"ratio {different}"


def _same_prose(g: _Gold, found: str, different: str) -> tuple[bool | None, str]:
    """Words against words: the same, clearly others, or not for rules to say."""
    a, b = bare_words(g.text), bare_words(found)
    if a == b:
        return True, "the same words"
    if g.kind == "prose":
        return None, f"the gold answer is prose, {g.text[:60]!r}, and {b[:60]!r} is not the same words"
    tree = tree_of(found)
    if a in NO_SOLUTION:
        return b in NO_SOLUTION or (tree is not None and tree[0] == "empty"), different
    if g.tree is not None and tree is not None and None not in (pieces := [pieces_of(g.tree), pieces_of(tree)]):
        return same_pieces(*pieces), different
    number = number_word(a)
    if number is not None and tree is not None and tree[0] in VALUE_KINDS:
        return same_answer(("num", Fraction(number)), tree), different
    if {"yes": "y", "no": "n", "true": "t", "false": "f"}.get(a) == b:
        return True, "the same word, short"
    if tree is not None and tree[0] in ("num", "div", "neg", "add", "mul"):
        return False, different
    words_a, words_b = a.split(), b.split()
    hedged = set(words_b) & _HEDGES - set(words_a)
    if kind := next((kind for kind in _CLOSED if a in kind), None):
        plain = _SENTENCE.fullmatch(re.sub(r"\\(?:text|textbf|mathrm|mbox)\s*\{([^{}]*)\}", r"\1", found))
        if plain and set(words_b) & kind == {a} and not hedged - kind and len(words_b) <= 15:
            return True, f"{a!r} in a sentence"
        return False, different
    if set(words_a) < set(words_b) and not hedged and len(words_b) <= 40:
        return None, f"{different} says more than {g.text[:60]!r}"
    if set(words_b) < set(words_a) and len(words_a) > 1 and words_b:
        return None, f"{different} says less than {g.text[:60]!r}"
    return False, different


_SENTENCE = re.compile(r"[\w\s,.;:'’!()$\"-]*")
_CLOSED = [  # words of which an answer holds one
    {"yes", "no"}, {"true", "false"}, {"even", "odd"}, {"positive", "negative", "zero"},
    {"north", "south", "east", "west"}, set(_list("monday tuesday wednesday thursday friday saturday sunday")),
    set(MONTHS),
]  # fmt: skip
_HEDGES = set(_list("or not no never neither nor and but either maybe cannot"))


def tree_of(text: str) -> tuple | None:
    """The tree of an answer, None if it is not readable."""
    try:
        return read_tree(clean_text(text))
    except (ValueError, RecursionError):
        return None


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


def differs(one: str, two: str) -> bool:
    """Whether the second is a readable value other than the first."""
    first, tree = tree_of(one), tree_of(two)
    if first is None or tree is None or (tree[0] == "text" and bare_words(tree[1]) not in TRUTH):
        return False
    try:
        return same_answer(first, tree) is False
    except (Limit, Unordered, Unreadable, RecursionError):
        return False


def is_value(text: str) -> bool:
    """Whether a text is an answer and no more."""
    tree = tree_of(text)
    if tree is None:
        return False
    return tree[0] != "text" or bare_words(tree[1]) in TRUTH or bool(re.fullmatch(r"[A-Z]", text))
