# SPDX-License-Identifier: Apache-2.0
"""Building blocks, and steps: a block with the number or text that it takes."""

from typing import NamedTuple

from .lists import lists
from .scalars import dates, dicts, numbers
from .simulations import simulations
from .strings import strings, word_lists


class Block(NamedTuple):
    """A step from a value of one type to a value of another."""

    name: str
    takes: str
    gives: str
    level: int  # 0 easy, 1 medium, 2 hard
    code: str  # an expression in {x} and {k}, or lines that end in an assignment to {y}
    says: tuple[str, ...]  # what to do, in several wordings
    noun: str = ""  # the result as a phrase that ends in {x}, where one reads well
    values: tuple = ()  # for {k}
    compare: str = "eq"  # how its result is to be compared when it is the last step


class Step(NamedTuple):
    block: Block
    value: object = None  # for {k}
    lifted: bool = False  # whether the value is an argument of the function

    def code(self, x: str, y: str = "") -> str:
        k = self.argument if self.lifted else repr(self.value)
        return self.block.code.replace("{x}", x).replace("{k}", k).replace("{y}", y)

    def text(self, template: str) -> str:
        return template.replace("{k}", self.argument if self.lifted else repr(self.value))

    @property
    def argument(self) -> str:
        return "k" if isinstance(self.value, int) else "part"


BLOCKS: dict[str, Block] = {}


def _add(name, takes, gives, level, code, says, noun="", values=(), compare="eq") -> None:
    """`says` holds the wordings, separated by |."""
    assert name not in BLOCKS, name
    BLOCKS[name] = Block(name, takes, gives, level, code, tuple(says.split("|")), noun, values, compare)


for _family in (lists, simulations, strings, word_lists, numbers, dicts, dates):
    _family(_add)
