# SPDX-License-Identifier: Apache-2.0
"""Limits on what is read and worked out. They bound the time: about 0.1 s for the worst pair of answers."""

LONGEST = 2_000_000  # characters of a completion that are read, from its end
LONGEST_ANSWER = 4_000  # characters of an answer
DEPTH = 30  # nested groups
NODES = 1_500  # of an expression
DIGITS = 4_000  # of a written number
BITS = 40_000  # of an exact number on the way
TERMS = 500  # of a sum or product that is worked out
WORK = 30_000  # steps to work out one expression once


class Limit(ValueError):
    """An expression over the limits: too long, too deep, or too large to work out."""


class Unreadable(ValueError):
    """Text that is not an answer in any notation known here."""
