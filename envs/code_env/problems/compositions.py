# SPDX-License-Identifier: Apache-2.0
"""Compositions: chains of blocks, the split of each, and the fingerprint of the function that it computes."""

import random
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256

from .blocks import BLOCKS, Block, Step
from .inputs import DRAWS, EDGES
from .solutions import load_solution, write_solution

SPLITS = ("train", "validation", "test")
DIFFICULTIES = ("easy", "medium", "hard")


_STARTS = {  # types that a problem starts from, with their weights
    "easy": {"ints": 8, "str": 5, "strs": 5, "int": 2},
    "medium": {"ints": 6, "str": 4, "strs": 4, "int": 2, "dict": 3, "date": 3, "dates": 1},
    "hard": {"ints": 7, "str": 3, "strs": 3, "int": 2, "dict": 2, "date": 2, "dates": 2, "moves": 3},
}  # fmt: skip
_LENGTHS = {"easy": (2,), "medium": (2, 3), "hard": (3, 4)}
_LAST_ONLY = ("bool", "float", "groups")
# Steps whose work grows with a number take it from the input, or from a step whose results stay small whatever a mutant
# does to it; otherwise a problem might run for hours.
_COUNTING = ("up_to", "divisors", "primes", "squares", "change", "bars")
_SMALL = (
    "count_above", "length", "count_char", "count_vowels", "count_capitals", "count_words", "letters", "month",
    "month_day", "streak", "visited", "chain", "digit_total", "lengths", "positions", "months", "month_days",
)  # fmt: skip


@cache
def _after(kind: str, level: int, last: bool) -> tuple[Block, ...]:
    """Blocks of at most that level that take `kind`; only the last step may give what no block takes."""
    return tuple(
        block
        for block in BLOCKS.values()
        if block.takes == kind
        and block.level <= level
        and (last or (block.gives not in _LAST_ONLY and block.compare == "eq"))
    )


def _may_follow(block: Block, before: Block) -> bool:
    return block.name != before.name and (block.name not in _COUNTING or before.name in _SMALL)


def draw_chain(rng: random.Random, difficulty: str) -> tuple[Step, ...] | None:
    """Draw a composition of the difficulty, or None if this draw led nowhere."""
    level = DIFFICULTIES.index(difficulty)
    starts = _STARTS[difficulty]
    at = rng.choices(list(starts), list(starts.values()))[0]
    length = rng.choice(_LENGTHS[difficulty])
    steps: list[Step] = []
    for i in range(length):
        blocks = _after(at, level, i == length - 1)
        if not blocks:
            return None
        block = rng.choice(blocks)
        if steps and not _may_follow(block, steps[-1].block):
            return None
        steps.append(Step(block, rng.choice(block.values) if block.values else None))
        at = block.gives
    if level and max(step.block.level for step in steps) < level and not (difficulty == "medium" and length == 3):
        return None
    able = [i for i, step in enumerate(steps) if step.block.values]
    if level and able and rng.random() < 0.35:
        i = rng.choice(able)
        steps[i] = steps[i]._replace(lifted=True)
    return tuple(steps)


def split_of(names: Iterable[str], takes: str) -> str:
    """The split of a composition: 60 % train, 20 % validation, 20 % test, by a hash of what it takes and of the names
    of its blocks, whatever their order and their numbers."""
    return _by_hash(f"{takes}: {' '.join(sorted(names))}", 0.6, 0.8)


def _by_hash(text: str, validation_from: float, test_from: float) -> str:
    share = int.from_bytes(sha256(text.encode()).digest()[:4], "big") / 2**32
    return "train" if share < validation_from else "validation" if share < test_from else "test"


@cache
def _easy_owners() -> dict[str, str]:
    """The split of every function that an easy composition computes, by its fingerprint. Where compositions of two
    splits compute the same one, the first keeps it."""
    owners: dict[str, str] = {}
    for takes in _STARTS["easy"]:
        for first in _after(takes, 0, False):
            for second in _after(first.gives, 0, True):
                if not _may_follow(second, first):
                    continue
                split = split_of((first.name, second.name), takes)
                for one in first.values or (None,):
                    for other in second.values or (None,):
                        steps = (Step(first, one), Step(second, other))
                        call = load_solution(write_solution(steps, "function", "easy", "f"), "function", "f")
                        owners.setdefault(fingerprint_of(steps, call) or "", split)
    return owners


def split_of_function(fingerprint: str, difficulty: str) -> str:
    """The split that a function belongs to, so that two compositions of the same function never stand in two splits."""
    easy = _easy_owners().get(fingerprint, "")
    if difficulty == "easy":
        return easy
    return "" if easy else _by_hash(fingerprint, 0.5, 0.75)


@cache
def _probes(takes: str) -> tuple:
    rng = random.Random(f"probes {takes}")
    return (*EDGES[takes], *(DRAWS[takes](rng) for _ in range(24)))


def _plain(value) -> object:
    return sorted((repr(k), repr(v)) for k, v in value.items()) if isinstance(value, dict) else value


def fingerprint_of(steps: tuple[Step, ...], call: Callable) -> str | None:
    """A hash of what a function makes of fixed inputs; None if it raises on one of them."""
    takes = steps[0].block.takes
    lifted = next((step for step in steps if step.lifted), None)
    said = [takes, lifted.argument if lifted else ""]
    try:
        for i, value in enumerate(_probes(takes)):
            rest = (lifted.block.values[i % len(lifted.block.values)],) if lifted else ()
            said.append(repr(_plain(call((value, *rest)))))
    except Exception:
        return None
    return sha256("\n".join(said).encode()).hexdigest()[:16]


def rivals_of(steps: tuple[Step, ...], rng: random.Random) -> list[tuple[Step, ...]]:
    """Compositions next to this one: two steps swapped, or one step replaced by another between the same types."""
    level = max(step.block.level for step in steps)
    swapped = [
        (*steps[:i], steps[i + 1], steps[i], *steps[i + 2 :])
        for i, (one, other) in enumerate(zip(steps, steps[1:]))
        if one.block.takes == one.block.gives == other.block.takes == other.block.gives
    ]
    replaced = []
    for i, step in enumerate(steps):
        after = steps[i + 1].block if i + 1 < len(steps) else None
        for block in () if step.lifted else _after(step.block.takes, level, after is None):
            fits = block.gives == step.block.gives and block.name not in (step.block.name, *_COUNTING)
            if fits and (after is None or after.name not in _COUNTING or block.name in _SMALL):
                other = Step(block, rng.choice(block.values) if block.values else None)
                replaced.append((*steps[:i], other, *steps[i + 1 :]))
    return swapped + rng.sample(replaced, min(16 if level == 0 else 8, len(replaced)))
