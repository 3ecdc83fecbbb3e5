# SPDX-License-Identifier: Apache-2.0
"""Problems about arrangements, chances, divisors, remainders and bases."""

from fractions import Fraction
from math import comb, gcd, lcm

from .family import Families, Problem, chain, pick

FAMILIES = Families()


@FAMILIES.add
def _arrangements(rng, level):
    n = pick(rng, level, (3, 45), (4, 40), (6, 30))
    k = (2, rng.randint(3, 4), rng.randint(3, 5))[level]
    value = 1
    for i in range(k):
        value *= n - i
    product = " * ".join(str(n - i) for i in range(k))
    asks = (
        f"In how many ways can {k} of {n} runners finish first to {('', '', 'second', 'third', 'fourth', 'fifth')[k]}?",
        f"How many codes of {k} different letters can be made from {n} letters?",
        f"{k} different prizes go to {k} of {n} people. In how many ways?",
    )
    return Problem((n, k), asks, value, f"{product} = {value}.", (product,))


@FAMILIES.add
def _choices(rng, level):
    n = pick(rng, level, (3, 45), (5, 18), (8, 20))
    k = (2, rng.randint(2, 4), rng.randint(3, 6))[level]
    if level < 2:
        asks = (
            f"How many ways are there to choose {k} of {n} people?",
            f"How many groups of {k} can be picked from {n} cards?",
            f"A team of {k} is picked from {n} players. In how many ways?",
        )
        return Problem((level, n, k), asks, comb(n, k), f"C({n}, {k}) = {comb(n, k)}.", (f"{n}! / ({k}! * {n - k}!)",))
    m, j = rng.randint(4, 9), rng.randint(1, 3)
    value = comb(n, k) * comb(m, j)
    asks = (
        f"A committee has {k} of {n} teachers and {j} of {m} students. How many committees are possible?",
        f"In how many ways can one pick {k} of {n} red cards and {j} of {m} blue cards?",
    )
    steps = f"C({n}, {k}) = {comb(n, k)}, C({m}, {j}) = {comb(m, j)}, {comb(n, k)} * {comb(m, j)} = {value}."
    return Problem((level, n, k, m, j), asks, value, steps, (f"{comb(n, k)} * {comb(m, j)}",))


@FAMILIES.add
def _probability(rng, level):
    red, blue = (pick(rng, level, (1, 9), (2, 12), (3, 15)) for _ in "rb")
    n = red + blue
    if level == 0:
        asks = (
            f"A bag has {red} red and {blue} blue balls. One is drawn. How likely is red, as a fraction?",
            f"{red} of {n} cards win. One card is drawn. How likely is a win, as a fraction?",
        )
        return Problem(
            (level, red, blue),
            asks,
            Fraction(red, n),
            f"{red} + {blue} = {n}, {chain(f'{red}/{n}', Fraction(red, n))}.",
            (f"{red}/{n}",),
        )
    if level == 1:
        value = Fraction(red * (red - 1), n * (n - 1))
        asks = (
            f"A bag has {red} red and {blue} blue balls. Two are drawn without putting back. How "
            f"likely are two red ones, as a fraction?",
            f"Of {n} parts {red} are good. Two different parts are picked at random. With what "
            f"probability are both good? "
            "Answer with a fraction.",
        )
        return Problem(
            (level, red, blue),
            asks,
            value,
            f"{red}/{n} * {red - 1}/{n - 1} = {value}.",
            (f"{red}/{n} * {red - 1}/{n - 1}",),
        )
    value = Fraction(2 * red * blue, n * (n - 1))
    asks = (
        f"A bag has {red} red and {blue} blue balls. Two are drawn without putting back. How likely "
        f"are they to differ in color, "
        "as a fraction?",
        f"Two of {n} guests, {red} from Peru and {blue} from Kenya, are picked at random. With what "
        f"probability do they come from "
        "different countries? Answer with a fraction.",
    )
    return Problem(
        (level, red, blue),
        asks,
        value,
        f"2 * {red}/{n} * {blue}/{n - 1} = {value}.",
        (f"2 * {red}/{n} * {blue}/{n - 1}",),
    )


@FAMILIES.add
def _dice(rng, level):
    sides = rng.choice((4, 6, 8, 10, 12, 20))
    target = rng.randint(2, 2 * sides)
    if level == 0:
        target = rng.randint(1, sides - 1)
        value = Fraction(sides - target, sides)
        asks = (
            f"A die has {sides} sides. How likely is more than {target}, as a fraction?",
            f"A die with {sides} sides is rolled. How likely is more than {target}? Answer with a fraction.",
        )
        steps = f"{sides} - {target} = {sides - target}, {chain(f'{sides - target}/{sides}', value)}."
        return Problem((level, sides, target), asks, value, steps, (f"({sides} - {target})/{sides}",))
    ways = sum(1 for i in range(1, sides + 1) if 1 <= target - i <= sides)
    value = Fraction(ways, sides**2)
    asks = (
        f"Two fair dice with {sides} sides are rolled. With what probability do they add up to "
        f"{target}? Answer with a fraction.",
        f"How likely is {target} as the points of two {sides}-sided dice together, as a fraction?",
    )
    return Problem(
        (1, sides, target),
        asks,
        value,
        f"{sides}^2 = {sides**2}, {ways} pairs, {chain(f'{ways}/{sides**2}', value)}.",
        (f"{ways}/{sides**2}",),
    )


@FAMILIES.add
def _greatest_common_divisor(rng, level):
    g, a, b = (
        pick(rng, level, (2, 6), (3, 20), (12, 90)),
        pick(rng, level, (1, 6), (2, 15), (7, 60)),
        pick(rng, level, (1, 6), (2, 15), (7, 60)),
    )
    a, b = g * a, g * (b + (a == b))
    value = gcd(a, b)
    asks = (
        f"What is gcd({a}, {b})?",
        f"Find the greatest common divisor of {a} and {b}.",
        f"Which number is the largest that divides both {a} and {b}?",
    )
    return Problem(
        tuple(sorted((a, b))),
        asks,
        value,
        f"{a} = {value} * {a // value}, {b} = {value} * {b // value}.",
        (f"gcd({a}, {b})",),
    )


@FAMILIES.add
def _least_common_multiple(rng, level):
    a, b = (pick(rng, level, (2, 12), (4, 30), (12, 90)) for _ in "ab")
    b += a == b
    value = lcm(a, b)
    asks = (
        f"What is lcm({a}, {b})?",
        f"Find the least common multiple of {a} and {b}.",
        f"Which positive number is the smallest that both {a} and {b} divide?",
    )
    return Problem(tuple(sorted((a, b))), asks, value, f"{a} * {b} / {gcd(a, b)} = {value}.", (f"lcm({a}, {b})",))


@FAMILIES.add
def _divisors(rng, level):
    n = pick(rng, level, (4, 60), (61, 400), (401, 3_000))
    powers, rest, p = [], n, 2
    while rest > 1:
        k = 0
        while rest % p == 0:
            rest, k = rest // p, k + 1
        if k:
            powers.append((p, k))
        p += 1
    value = 1
    for _, k in powers:
        value *= k + 1
    shown = " * ".join(f"{p}^{k}" if k > 1 else str(p) for p, k in powers)
    product = " * ".join(f"({k} + 1)" for _, k in powers)
    asks = (
        f"How many positive divisors does {n} have?",
        f"How many positive whole numbers divide {n}?",
        f"Count the divisors of {n}, 1 and {n} among them.",
    )
    return Problem((n,), asks, value, f"{n} = {shown}, {product} = {value}.", (product,))


@FAMILIES.add
def _remainder(rng, level):
    m, a = pick(rng, level, (2, 9), (5, 30), (7, 60)), pick(rng, level, (5, 60), (50, 900), (2, 30))
    if level < 2:
        asks = (
            f"What is {a} mod {m}?",
            f"What remains when {a} is divided by {m}?",
            f"{a} sweets are packed in bags of {m}. How many are left over?",
        )
        return Problem((level, a, m), asks, a % m, f"{a} = {a // m} * {m} + {a % m}.", (f"{a} mod {m}",))
    k = rng.randint(5, 40)
    value = pow(a, k, m)
    steps, power, at = [], a % m, 1
    while at * 2 <= k:
        power, at = power * power % m, at * 2
        steps.append(f"{a}^{at} = {power}")
    asks = (f"What is {a}^{k} mod {m}?", f"What remains when {a}^{k} is divided by {m}?")
    worked = ", ".join(steps)
    return Problem((level, a, k, m), asks, value, f"Mod {m}: {worked}, {a}^{k} = {value}.", (f"{a}^{k} mod {m}",))


@FAMILIES.add
def _base(rng, level):
    n, b = (
        pick(rng, level, (4, 99), (30, 300), (200, 5_000)),
        (rng.choice((2, 3)), rng.choice((2, 3, 5)), rng.choice((3, 6, 7)))[level],
    )
    digits, rest = "", n
    while rest:
        digits, rest = str(rest % b) + digits, rest // b
    if rng.random() < 0.5:
        asks = (f"Write {n} in base {b}.", f"What is {n} in base {b}?", f"Convert {n} to base {b}.")
        gold = f"{digits}_{b}"
    else:
        asks = (f"What is {digits} in base {b} as a decimal number?", f"Convert {digits} from base {b} to base ten.")
        gold = str(n)
    parts = " + ".join(f"{d} * {b ** (len(digits) - 1 - i)}" for i, d in enumerate(digits))
    return Problem((n, b), asks, gold, f"{parts} = {n}.", (parts,))
