# SPDX-License-Identifier: Apache-2.0
"""Working out an expression for a model that asks."""

import decimal
from decimal import Decimal
from fractions import Fraction

from .answers.grammar import read_tree
from .answers.limits import Limit
from .answers.notation import clean_text
from .answers.trees import VALUE_KINDS, free_symbols
from .answers.values import CONTEXT, TINY, Exact, NotRational, Numeric


def calculate(expression: str) -> str:
    """The value of an expression as text: exact if it is rational, else 15 digits.

    Raises:
        ValueError: it is not an expression, has variables, or is over the limits.
    """
    try:
        tree = read_tree(clean_text(expression))
    except (ValueError, RecursionError) as fault:
        raise ValueError(f"cannot read {expression!r:.60}: {fault}; write something like (3 + 4)/2") from None
    if tree[0] in ("qty", "deg"):
        tree = tree[1]
    if tree[0] not in VALUE_KINDS or free_symbols(tree) or tree[0] == "open":
        raise ValueError(f"{expression!r:.60} is not an expression in numbers; write something like (3 + 4)/2")
    try:
        try:
            return written(Exact()(tree))
        except NotRational:
            with decimal.localcontext(CONTEXT):
                re_, im = Numeric({})(tree)
            digits = decimal.Context(prec=15)
            shown = (
                f"{digits.plus(re_).normalize():f}"
                if Decimal("1e-9") < abs(re_) < 10**15
                else f"{digits.plus(re_).normalize()}"
            )
            if abs(im) < TINY:
                return shown
            return f"{shown} + {digits.plus(im).normalize()}i"
    except (NotRational, ArithmeticError, ValueError) as fault:
        raise ValueError(f"{expression!r:.60} has no value here: {str(fault) or 'it is not defined'}") from None


def written(value: Fraction) -> str:
    """A fraction in full: as it is, with its decimal if that ends soon, else with 12 digits."""
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
