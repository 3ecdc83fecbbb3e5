# SPDX-License-Identifier: Apache-2.0
"""Equality of two values: by exact arithmetic, then at random points, and by SymPy for what is left."""

import decimal
import random
from decimal import Decimal

from .limits import Limit
from .sympy_process import ask_sympy
from .trees import VALUE_KINDS, free_symbols, has, infinity, normal_form
from .values import CLOSE, CONTEXT, TINY, Complex, Exact, Modular, NotRational, Numeric

_PRIMES = (2**61 - 1, 2**89 - 1)


def nearly(a: Complex, b: Complex) -> bool:
    """Whether two numbers of 60 digits agree in the first 38."""
    size = max(abs(a[0]), abs(a[1]), abs(b[0]), abs(b[1]))
    return size < TINY or max(abs(a[0] - b[0]), abs(a[1] - b[1])) <= size * CLOSE


def same_value(a: tuple, b: tuple, sign_a: int = 1, sign_b: int = 1) -> bool | None:
    """Whether two values are equal; None if that was not found out. Raises Limit where a value is over the limits."""
    if a == b and sign_a == sign_b:
        return True
    ends = [infinity(node) for node in (a, b)]
    if any(ends):
        return ends[0] == ends[1]
    if not {a[0], b[0]} <= VALUE_KINDS:
        return None
    symbols = sorted(free_symbols(a) | free_symbols(b))
    exact = []
    if not symbols:
        for node, sign in ((a, sign_a), (b, sign_b)):
            try:
                exact.append(Exact({}, sign)(node))
            except (NotRational, Limit):
                exact.append(None)
        if None not in exact:
            return exact[0] == exact[1]
    if normal_form(a) == normal_form(b) and sign_a == sign_b:
        return True
    seed = random.Random("points")
    if (modular := _by_primes(a, b, sign_a, sign_b, symbols, seed)) is not None:
        return modular
    if has(a, "open") or has(b, "open"):
        return ask_sympy(a, b)
    same = _by_points(a, b, sign_a, sign_b, symbols, seed)
    return ask_sympy(a, b) if same is None and (has(a, "sum") or has(b, "sum")) else same


def _by_primes(a, b, sign_a, sign_b, symbols, seed) -> bool | None:
    """Compare as rational functions, at random points modulo two primes; None if one of them is none."""
    agreed = 0
    for prime in _PRIMES:
        for _ in range(2):
            env = {name: seed.randrange(2, prime) for name in symbols}
            try:
                if Modular(prime, env, sign_a)(a) != Modular(prime, env, sign_b)(b):
                    return False
                agreed += 1
            except (NotRational, Limit, ValueError):
                break
    return True if agreed == 4 else None


def _by_points(a, b, sign_a, sign_b, symbols, seed) -> bool | None:
    """Compare with 60 digits at random points. A log on one side only may be the natural one or that to base 10."""
    whole = any(has(node, "factorial", "binom", "sum", "floor", "ceil", "mod") for node in (a, b))
    for log_base in (0, 1) if has(a, "log") != has(b, "log") else (0,):
        one, two = ((node, sign, log_base) for node, sign in ((a, sign_a), (b, sign_b)))
        if (agree := _agree(one, two, symbols, whole, seed)) is not False:
            return agree
        if not whole and _alternating(a, b) and _at_integers(a, b, symbols):
            return True
    return False


def _agree(one: tuple, two: tuple, symbols: list[str], whole: bool, seed: random.Random) -> bool | None:
    """Whether two (tree, sign, base of log) agree at random points: first at positive ones, where all must agree."""
    agreed = misses = 0
    wanted = 6 if symbols else 1
    first_fault: Limit | None = None
    while agreed < wanted and misses < 6:
        env = {}
        for name in symbols:
            if whole:
                env[name] = Decimal(seed.randrange(1, 9))
            else:
                value = Decimal(seed.randrange(3_000, 29_000)) / 9973
                env[name] = -value if agreed >= 4 and seed.random() < 0.6 else value
        numeric = [Numeric(env, sign, log_base) for _, sign, log_base in (one, two)]
        with decimal.localcontext(CONTEXT):
            try:
                values = [work_out(tree) for work_out, (tree, _, _) in zip(numeric, (one, two))]
            except (Limit, decimal.Overflow, decimal.InvalidOperation) as fault:
                if not isinstance(fault, Limit):
                    fault = None if symbols else Limit("a number too large or too small to work out")
                if not symbols:
                    raise fault from None
                first_fault = first_fault or fault
                misses += 1
                continue
            except (NotRational, ArithmeticError, ValueError, MemoryError):
                if agreed >= 4:
                    agreed += 1  # outside the domain of one of them
                else:
                    misses += 1
                continue
            branch = agreed >= 4 and not whole and not all(work_out.real for work_out in numeric)
            if not nearly(*values) and not branch:  # complex on the way: another branch, not another function
                return False
        agreed += 1
    if agreed < wanted and first_fault:
        raise first_fault
    return True if agreed >= wanted else None


def _alternating(a, b) -> bool:
    return "pow(neg(1)" in normal_form(a) + normal_form(b) or (
        has(a, "pi", "const") and has(b, "const", "pow") and "n" in free_symbols(a) | free_symbols(b)
    )


def _at_integers(a, b, symbols) -> bool:
    """Equality for whole n, k, m: (-1)^n = cos(n pi)."""
    if not symbols or not set(symbols) <= {"n", "k", "m", "j"}:
        return False
    with decimal.localcontext(CONTEXT):
        for n in range(1, 7):
            env = {name: Decimal(n + i) for i, name in enumerate(symbols)}
            try:
                if not nearly(Numeric(env)(a), Numeric(env)(b)):
                    return False
            except (NotRational, ArithmeticError, ValueError):
                return False
    return True


def real_value(node: tuple) -> Decimal | None:
    """The value of a real number without variables, for ordering."""
    if end := infinity(node):
        return Decimal("Infinity") * end
    if node[0] not in VALUE_KINDS or free_symbols(node):
        return None
    with decimal.localcontext(CONTEXT):
        try:
            re_, im = Numeric({})(node)
        except (NotRational, ArithmeticError, ValueError):
            return None
        return re_ if abs(im) < TINY else None
