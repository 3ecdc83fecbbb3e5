# SPDX-License-Identifier: Apache-2.0
"""Families of problems: what one is made of, and what their makers share."""

import random
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from ..calculator import written

_list = str.split  # of words


class Problem(NamedTuple):
    values: tuple  # what the problem is about; its hash decides the split
    wordings: tuple[str, ...]
    answer: object  # int, Fraction or text
    steps: str  # the worked solution, without the final box
    calculations: tuple[str, ...] = ()


NAMES = _list("Ada Ben Chloe Dev Ella Finn Grace Hugo Ines Jonas Kira Liam Mia Noor Omar Pia Quinn Rosa Sam Tara")


class Families(dict):
    """Makers of problems by the name of their family: each takes a random generator and a level, 0 to 2."""

    def add(self, make: Callable[[random.Random, int], Problem]) -> Callable:
        self[make.__name__.strip("_")] = make
        return make


def pick(rng: random.Random, level: int, *spans: tuple[int, int]) -> int:
    """A number from the span of the level, 0 to 2."""
    return rng.randint(*spans[level])


def signed_term(n: int, first: bool = False, unit: str = "") -> str:
    """+ 3x, - x, or 3x at the start."""
    size = unit if abs(n) == 1 and unit else f"{abs(n)}{unit}"
    return f"{'-' if n < 0 else ''}{size}" if first else f"{'-' if n < 0 else '+'} {size}"


def chain(fraction: str, value: Fraction) -> str:
    """A fraction and what it comes to, once if it is the same."""
    return fraction if fraction == str(value) else f"{fraction} = {value}"


def text_of(value: Fraction) -> str:
    """A fraction whose denominator divides a power of ten, as a decimal."""
    return written(value).split(" ")[0]
