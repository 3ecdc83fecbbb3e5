# SPDX-License-Identifier: Apache-2.0
"""The types that problems start from: names of arguments, values at the boundaries, and drawn ones."""

import random
from collections.abc import Callable
from datetime import date, timedelta

NAMES = {
    "ints": "xs", "strs": "words", "str": "s", "int": "n", "dict": "d", "date": "day", "dates": "days",
    "moves": "moves", "bool": "result", "float": "result",
}  # fmt: skip
_split = str.split
_WORDS = _split(
    "apple river stone cloud level noon green tiger otter moon sun a kayak paper oak plum ice echo robot civic tree "
    "eel banana window orange ink up it on sea door radar lemon umbrella east"
)
_PEOPLE = ("Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Ivy")
_TEXTS = (
    "", "a", "Hello World", "level", "racecar", "aaa", "Zebra crossing 42", "The quick brown fox", "x1y22z333", "noon",
    "UPPER lower", "a b c d", "banana", "I see 3 eels", "Queue of 8 bees", "1234", "Oh no", "tea", "eieio", "sky high",
)  # fmt: skip
EDGES = {
    "ints": ([], [0], [5], [-3], [1, 2, 3, 4, 5, 6], [4, 4, 4], [-2, -7, -2], [9, 7, 5, 3, 1], [2, 2, 3, 3, 3, 8]),
    "strs": ([], ["a"], ["tree", "tree"], ["noon", "oak", "eel"], ["ice", "apple", "ink", "apple"]),
    "str": ("", "a", "aaa", "Hello World", "x1y22z333", "level"),
    "int": (0, 1, 2, 7, 10, 12),
    "dict": ({}, {"Bo": 3}, {"Ada": 5, "Bo": 5}, {"Cy": -2, "Ada": 0}),
    "date": ("2024-02-29", "2023-12-31", "2000-01-01", "1900-03-01", "2025-02-28"),
    "dates": ([], ["2024-02-29"], ["2023-12-31", "2024-01-01"], ["2025-05-05", "2025-05-05"]),
    "moves": ("", "U", "LR", "UUDD", "RRR", "URDL"),
}  # fmt: skip


def _date(rng: random.Random) -> str:
    return (date(1998, 1, 1) + timedelta(days=rng.randrange(12_000))).isoformat()


def _near(rng: random.Random) -> list[str]:
    start = date.fromisoformat(_date(rng))
    return [(start + timedelta(days=rng.randrange(-40, 40))).isoformat() for _ in range(rng.randint(2, 5))]


def _text(rng: random.Random) -> str:
    if rng.random() < 0.4:
        return rng.choice(_TEXTS)
    words = [rng.choice(_WORDS) for _ in range(rng.randint(1, 4))]
    words = [rng.choice((w, w, w.upper(), w.capitalize(), w + str(rng.randint(0, 99)))) for w in words]
    return " ".join(words)


DRAWS: dict[str, Callable] = {
    "ints": lambda rng: [rng.randint(-9, rng.choice((9, 20, 40))) for _ in range(rng.randint(2, 7))],
    "strs": lambda rng: [rng.choice(_WORDS) for _ in range(rng.randint(2, 7))],
    "str": _text,
    "int": lambda rng: rng.randint(0, 60),
    "dict": lambda rng: {name: rng.randint(-5, 20) for name in rng.sample(_PEOPLE, rng.randint(1, 5))},
    "date": _date,
    "dates": _near,
    "moves": lambda rng: "".join(rng.choices("UDLR", k=rng.randint(2, 10))),
}
