# SPDX-License-Identifier: Apache-2.0
r"""Procedural programming problems: chains of typed building blocks, each problem proved before it is handed out.

Standard library only; the code environment makes its rows from these problems, and the folder works alone.

>>> problem = draw(1, seed=16)[0]
>>> print(problem.statement)
Write f(s) for a string s: drop the first character, then swap upper and lower case. Return the result.
>>> print(problem.solution)
def f(s): return s[1:].swapcase()
>>> problem.proof.killed >= 3
True

A problem is a composition: blocks in a row, each taking the type that the one before it gives. Its tests are inputs,
drawn and at the boundaries, with what the reference makes of them. `Proof` says what was tried against them. All code
that runs here is this package's own, so it runs in this process.
"""

from .blocks import BLOCKS, Block
from .compositions import DIFFICULTIES, SPLITS, split_of
from .drawing import KINDS, Problem, Proof, draw

__all__ = ("BLOCKS", "DIFFICULTIES", "KINDS", "SPLITS", "Block", "Problem", "Proof", "draw", "split_of")
