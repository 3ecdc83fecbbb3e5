# SPDX-License-Identifier: Apache-2.0
"""Families of problems: each makes problems of one kind, at three levels."""

from .algebra import FAMILIES as ALGEBRA
from .arithmetic import FAMILIES as ARITHMETIC
from .counting import FAMILIES as COUNTING
from .family import Problem
from .measures import FAMILIES as MEASURES

FAMILIES: dict = ARITHMETIC | ALGEBRA | COUNTING | MEASURES

__all__ = ("FAMILIES", "Problem")
