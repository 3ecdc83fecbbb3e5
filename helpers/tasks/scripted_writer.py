# SPDX-License-Identifier: Apache-2.0
"""Plays a model that writes programming problems: fixed replies, good ones and one of each fault that is looked for.

For notebook 03 and the tests, where there is no endpoint. It says nothing about what a real model would write.
"""

import json

NUMBERS = {"name": "xs", "type": "list[int]", "low": -9, "high": 20}
WORDS = {"name": "words", "type": "list[str]", "alphabet": "abeilmnorst"}
TEXT = {"name": "text", "type": "str", "alphabet": "abcAB 12", "max_length": 12}

# A text of a benchmark that one of the replies repeats, for showing the contamination gate.
KNOWN = (
    "You are given a list of closing prices. Find the largest profit that buying once and selling once later "
    "could have made, or zero if every sale would have made a loss."
)


def _problem(statement, parameters, examples, solution, name="solve", **more) -> dict:
    shown = [{"arguments": arguments, "result": result} for arguments, result in examples]
    return {"statement": statement, "entry_point": name, "parameters": parameters, "examples": shown,
            "solution": solution, **more}  # fmt: skip


GOOD = [
    _problem(
        "Return how many items of xs are larger than the item just before them. The first item has none before"
        " it and does not count.",
        [NUMBERS], [([[1, 3, 2, 5]], 2), ([[4, 4]], 0), ([[7]], 0)],
        "def solve(xs):\n    return sum(b > a for a, b in zip(xs, xs[1:]))",
    ),
    _problem(
        "A baker packs loaves into boxes of k. Given the loaves baked each day in a list, and loaves left over"
        " are kept for the next day, return the number of full boxes packed on each day.",
        [{"name": "baked", "type": "list[int]", "low": 0, "high": 30},
         {"name": "k", "type": "int", "low": 1, "high": 8}],
        [([[5, 5, 5], 4], [1, 1, 1]), ([[3, 1], 4], [0, 1]), ([[9], 3], [3])],
        "def solve(baked, k):\n    boxes, left = [], 0\n    for loaves in baked:\n        left += loaves\n"
        "        boxes.append(left // k)\n        left %= k\n    return boxes",
        precondition="k >= 1",
    ),
    _problem(
        "Squeeze a text: every run of the same character becomes that character followed by the length of the "
        "run, runs of one become the character alone. Upper and lower case are different characters.",
        [TEXT], [(["aaab"], "a3b"), (["AaA"], "AaA"), (["  11"], " 212")],
        "from itertools import groupby\n\ndef solve(text):\n    parts = []\n    for char, run in groupby(text):\n"
        "        n = len(list(run))\n        parts.append(char + (str(n) if n > 1 else ''))\n    return ''.join(parts)",
    ),
    _problem(
        "Count the words by their first letter. Return a dict from each first letter that occurs to the number"
        " of words that start with it; empty words are ignored.",
        [WORDS], [([["tea", "ale", "tin"]], {"t": 2, "a": 1}), ([[]], {}), ([["rome"]], {"r": 1})],
        "def solve(words):\n    counts = {}\n    for word in words:\n        if word:\n"
        "            counts[word[0]] = counts.get(word[0], 0) + 1\n    return counts",
    ),
    _problem(
        "Return the longest stretch of neighbouring items in xs whose sum is not negative, as a list. If "
        "several are equally long, return the one that starts first; if there is none, the empty list.",
        [NUMBERS], [([[-5, 2, 3, -4, 1]], [2, 3, -4, 1]), ([[-1]], []), ([[3, -9]], [3])],
        "def solve(xs):\n    for n in range(len(xs), 0, -1):\n        for i in range(len(xs) - n + 1):\n"
        "            if sum(xs[i:i + n]) >= 0:\n                return xs[i:i + n]\n    return []",
    ),
    _problem(
        "A robot starts at the left end of a corridor of n tiles, numbered from 0. Each move in the list says "
        "how far it goes, to the right if positive; it stops at the walls. Return the number of the tile it "
        "ends on.",
        [{"name": "n", "type": "int", "low": 1, "high": 12},
         {"name": "moves", "type": "list[int]", "low": -5, "high": 5}],
        [([5, [3, 3, -1]], 3), ([1, [2]], 0), ([9, [4, -2]], 2)],
        "def solve(n, moves):\n    at = 0\n    for move in moves:\n        at = max(0, min(n - 1, at + move))\n"
        "    return at",
        precondition="n >= 1",
    ),
    _problem(
        "Return the mean of the marks after the single lowest and the single highest mark are struck out, "
        "rounded to two places. There are at least three marks.",
        [{"name": "marks", "type": "list[int]", "low": 0, "high": 15, "min_length": 3}],
        [([[1, 2, 3]], 2.0), ([[0, 10, 10, 15]], 10.0), ([[4, 4, 5, 9, 1]], 4.33)],
        "def solve(marks):\n    kept = sorted(marks)[1:-1]\n    return round(sum(kept) / len(kept), 2)",
    ),
    _problem(
        "The rows of a garden are lists of plant heights. Return the indices of the rows in which no plant is "
        "lower than the one before it. An empty row counts.",
        [{"name": "rows", "type": "list[list[int]]", "low": 0, "high": 9}],
        [([[[1, 2, 2], [3, 1]]], [0]), ([[[4], [5, 5]]], [0, 1]), ([[[2, 1]]], [])],
        "def solve(rows):\n    return [i for i, row in enumerate(rows) if row == sorted(row)]",
    ),
    _problem(
        "Check the brackets of a text made of ( ) [ ] and letters: return the index of the first bracket that "
        "closes nothing or the wrong kind, or -1 if there is no such bracket. Brackets that stay open are no "
        "fault.",
        [{"name": "text", "type": "str", "alphabet": "()[]ab", "max_length": 10}],
        [(["(a]"], 2), (["([])"], -1), ([")("], 0)],
        "def solve(text):\n    opened = []\n    for i, char in enumerate(text):\n        if char in '([':\n"
        "            opened.append(char)\n        elif char in ')]':\n"
        "            if not opened or opened.pop() != {')': '(', ']': '['}[char]:\n                return i\n"
        "    return -1",
    ),
    _problem(
        "Turn a number of minutes into text such as '2h 05m': hours without leading zeros, minutes with two "
        "digits. Below one hour leave out the hours, as in '45m' or '5m', then without a leading zero.",
        [{"name": "minutes", "type": "int", "low": 0, "high": 3000}],
        [([125], "2h 05m"), ([45], "45m"), ([600], "10h 00m")],
        "def solve(minutes):\n    hours, rest = divmod(minutes, 60)\n"
        "    return f'{hours}h {rest:02d}m' if hours else f'{rest}m'",
    ),
]  # fmt: skip

_SEVENS = [([[7, 14]], 2), ([[1]], 0), ([[21, 5]], 1)]
FAULTY = {
    "exact duplicate": GOOD[0],
    "near duplicate": GOOD[1] | {"statement": GOOD[1]["statement"].replace("A baker packs", "Some baker packs")},
    "contaminated": _problem(
        KNOWN, [{"name": "prices", "type": "list[int]", "low": 0, "high": 40}],
        [([[3, 8, 1]], 5), ([[5, 4]], 0), ([[2, 9, 1, 9]], 8)],
        "def solve(prices):\n    best, low = 0, None\n    for p in prices:\n"
        "        low = p if low is None else min(low, p)\n"
        "        best = max(best, p - low)\n    return best",
    ),
    "wrong example": _problem(
        "Return how many items of xs can be divided by seven without a rest, not counting zeros.", [NUMBERS],
        [([[7, 14]], 2), ([[0, 21]], 2), ([[5]], 0)],
        "def solve(xs):\n    return sum(x != 0 and x % 7 == 0 for x in xs)",
    ),
    "does not run": _problem(
        "Return the number of sevenths that fit into the sum of xs, rounded down to a whole number.",
        [NUMBERS], _SEVENS,
        "def solve(xs):\n    return sum(xs) // sevenths",
    ),
    "flaky": _problem(
        "Return any two different letters of the text as a string in the order you like, or an empty string.", [TEXT],
        [(["a"], ""), (["aa"], ""), ([""], "")],
        "import random\n\ndef solve(text):\n    letters = sorted(set(text))\n"
        "    return ''.join(random.sample(letters, 2)) if len(letters) > 1 else ''",
    ),
    "trivial": _problem(
        "Return the sum of xs minus the sum of xs sorted the other way round, which a checker prints in a log.",
        [NUMBERS], [([[1, 2]], 0), ([[5]], 0), ([[3, 3]], 0)],
        "def solve(xs):\n    return sum(xs) - sum(sorted(xs, reverse=True))",
    ),
    "weak tests": _problem(
        "Return the items of xs from the smallest to the largest; items that occur several times stay so.",
        [NUMBERS], [([[3, 1]], [1, 3]), ([[]], []), ([[2, 2, 0]], [0, 2, 2])],
        "def solve(xs):\n    return sorted(xs)",
    ),
    "result not plain": _problem(
        "Return the set of those items of xs that stand in it at least twice, each of them once.", [NUMBERS],
        [([[1, 1, 2]], [1]), ([[3]], []), ([[2, 2]], [2])],
        "def solve(xs):\n    return {x for x in xs if xs.count(x) > 1}",
    ),
}  # fmt: skip

_FENCED = "Here is the problem.\n\n```json\n{}\n```"
_LOOSE = GOOD[9] | {"parameters": [{"name": "minutes", "type": "number"}]}  # a type that the schema does not know

# The replies to each request, in order: the first, and those after it is told what is wrong.
SCRIPT: list[list[str]] = [
    *([json.dumps(problem, indent=1)] for problem in GOOD[:9]),
    [json.dumps(_LOOSE), _FENCED.format(json.dumps(GOOD[9]))],
    *([json.dumps(problem)] for problem in FAULTY.values()),
    ["I would rather talk about something else."],
]


class ScriptedWriter:
    """A policy that answers the n-th request for a problem with the n-th entry of `SCRIPT`, then starts again."""

    def __init__(self):
        self._asked = 0

    def generate(self, conversations: list[list[dict]], tools=None, **_) -> list[dict]:
        """The scripted reply to each conversation; one that holds replies already gets the next of its entry."""
        return [{"role": "assistant", "content": self._reply(c), "finish_reason": "stop"} for c in conversations]

    def _reply(self, conversation: list[dict]) -> str:
        said = [message["content"] for message in conversation if message["role"] == "assistant"]
        if said:
            script = next(entry for entry in SCRIPT if entry[0] == said[0])
            return script[min(len(said), len(script) - 1)]
        self._asked += 1
        return SCRIPT[(self._asked - 1) % len(SCRIPT)][0]
