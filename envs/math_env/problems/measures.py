# SPDX-License-Identifier: Apache-2.0
"""Problems about shapes, units, dates and clocks, and expressions."""

from datetime import date, timedelta
from fractions import Fraction
from math import isqrt

from ..answers.judging import MONTHS
from .family import NAMES, Families, Problem, pick, signed_term, text_of

FAMILIES = Families()


_list = str.split  # of words
DAYS = _list("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")


@FAMILIES.add
def _rectangle(rng, level):
    a, b = (pick(rng, level, (2, 12), (5, 60), (12, 90)) for _ in "ab")
    if level < 2:
        if rng.random() < 0.5:
            asks = (
                f"A rectangle is {a} by {b}. What area has it?",
                f"A field is {a} m long and {b} m wide. How many square meters is it?",
            )
            return Problem((level, *sorted((a, b)), "area"), asks, a * b, f"{a} * {b} = {a * b}.", (f"{a} * {b}",))
        asks = (
            f"A rectangle is {a} by {b}. What perimeter has it?",
            f"A garden is {a} m long and {b} m wide. How many meters of fence go around it?",
        )
        return Problem(
            (level, *sorted((a, b)), "around"),
            asks,
            2 * (a + b),
            f"{a} + {b} = {a + b}, 2 * {a + b} = {2 * (a + b)}.",
            (f"2 * ({a} + {b})",),
        )
    asks = (
        f"A rectangle has area {a * b} and one side of length {a}. What perimeter has it?",
        f"A field of {a * b} square meters is {a} m long. How many meters of fence go around it?",
    )
    return Problem(
        (level, a, b),
        asks,
        2 * (a + b),
        f"{a * b} / {a} = {b}, 2 * ({a} + {b}) = {2 * (a + b)}.",
        (f"2 * ({a} + {a * b} / {a})",),
    )


@FAMILIES.add
def _triangle(rng, level):
    if level == 0:
        a, b = rng.randint(2, 12), rng.randint(2, 12)
        value = Fraction(a * b, 2)
        asks = (
            f"A triangle has base {a} and height {b}. What area has it?",
            f"Find the area of a triangle of base {a} and height {b}.",
        )
        return Problem((level, a, b), asks, text_of(value), f"{a} * {b} / 2 = {text_of(value)}.", (f"{a} * {b} / 2",))
    if level == 1:
        a, b = rng.randint(20, 100), rng.randint(10, 79)
        asks = (
            f"Two angles of a triangle are {a} and {b} degrees. How many degrees has the third?",
            f"A triangle has angles of {a} and {b} degrees. Find its third angle in degrees.",
        )
        return Problem(
            (level, *sorted((a, b))), asks, 180 - a - b, f"180 - {a} - {b} = {180 - a - b}.", (f"180 - {a} - {b}",)
        )
    a, b = rng.randint(2, 24), rng.randint(2, 24)
    square = a * a + b * b
    root = isqrt(square)
    gold = str(root) if root * root == square else f"\\sqrt{{{square}}}"
    asks = (
        f"The legs of a right triangle are {a} and {b}. How long is its hypotenuse, exactly?",
        f"A rectangle is {a} by {b}. Give the exact length of its diagonal.",
    )
    return Problem((level, *sorted((a, b))), asks, gold, f"{a}^2 + {b}^2 = {square}.", (f"sqrt({a}^2 + {b}^2)",))


@FAMILIES.add
def _circle(rng, level):
    r, around = pick(rng, level, (1, 40), (2, 60), (3, 60)), rng.random() < 0.5
    if level == 0:
        if around:
            asks = (
                f"A circle has radius {r}. How long is it around, in terms of pi?",
                f"Find the circumference of a circle of radius {r}, in terms of pi.",
            )
            return Problem((level, r, around), asks, f"{2 * r}\\pi", f"2 * {r} = {2 * r}.")
        asks = (
            f"A circle has radius {r}. Give its area in terms of pi.",
            f"Find the area of a circle of radius {r}, in terms of pi.",
        )
        return Problem((level, r, around), asks, f"{r * r}\\pi", f"{r}^2 = {r * r}.")
    d = 2 * r + 1
    if level == 1:
        if around:
            asks = (
                f"Find the perimeter of a half disk {d} across, in terms of pi.",
                f"A half disk is {d} across. How long is its edge, in terms of pi?",
            )
            return Problem(
                (level, r, around),
                asks,
                f"{d} + \\frac{{{d}}}{{2}}\\pi",
                f"the arc has {d}/2 pi, the straight edge {d}.",
            )
        asks = (
            f"A circle has diameter {d}. Give its area in terms of pi.",
            f"Find the area, in terms of pi, of a circle that is {d} across.",
        )
        return Problem((level, r, around), asks, f"\\frac{{{d**2}}}{{4}}\\pi", f"({d}/2)^2 = {d**2}/4.")
    h = rng.randint(2, 30)
    asks = (
        f"A cylinder has radius {r} and height {h}. Give its whole surface in terms of pi.",
        f"Find the surface of a closed can of radius {r} and height {h}, in terms of pi.",
    )
    value = 2 * r * (r + h)
    return Problem(
        (level, r, h),
        asks,
        f"{value}\\pi",
        f"2 * {r}^2 = {2 * r * r}, 2 * {r} * {h} = {2 * r * h}, {2 * r * r} + {2 * r * h} = {value}.",
    )


@FAMILIES.add
def _units(rng, level):
    table = (
        (("meters", "centimeters", 100), ("hours", "minutes", 60), ("weeks", "days", 7), ("minutes", "seconds", 60)),
        (("kilometers", "meters", 1000), ("days", "hours", 24), ("feet", "inches", 12), ("pounds", "ounces", 16)),
        (
            ("kilometers per hour", "meters per second", Fraction(5, 18)),
            ("square meters", "square centimeters", 10_000),
            ("days", "minutes", 1440), ("miles", "feet", 5280),
        ),
    )  # fmt: skip
    many, few, k = rng.choice(table[level])
    n = pick(rng, level, (2, 12), (2, 40), (3, 90))
    value = n * k
    asks = (f"How many {few} are {n} {many}?", f"Convert {n} {many} to {few}.", f"Express {n} {many} in {few}.")
    return Problem((level, many, few, n), asks, value, f"{n} * {k} = {value}.", (f"{n} * {k}",))


@FAMILIES.add
def _weekday(rng, level):
    at, n = rng.randrange(7), pick(rng, level, (1, 7), (8, 60), (70, 999))
    n += n % 7 == 0  # the day asked for is not the day given
    if level < 2:
        day = DAYS[(at + n) % 7]
        asks = (
            f"Today is {DAYS[at]}. What day is it in {n} days?",
            f"Which weekday comes {n} days after {DAYS[at]}?",
            f"It is {DAYS[at]} now. What weekday will it be {n} days later?",
        )
        return Problem(
            (at, n),
            asks,
            day,
            f"{n} = {n // 7} * 7 + {n % 7}, and {DAYS[at]} plus {n % 7} gives {day}.",
            (f"{n} mod 7",),
        )
    start = date(rng.randint(1990, 2040), 1, 1) + timedelta(days=rng.randrange(365))
    day, end = DAYS[(start + timedelta(days=n)).weekday()], start + timedelta(days=n)
    asks = (
        f"{_spoken(start)} is a {DAYS[start.weekday()]}. What weekday is {_spoken(end)}?",
        f"Given that {_spoken(start)} falls on a {DAYS[start.weekday()]}, on which weekday does {_spoken(end)} fall?",
    )
    steps = f"{n} days later, {n} = {n // 7} * 7 + {n % 7}, and {DAYS[start.weekday()]} plus {n % 7} gives {day}."
    return Problem((start.isoformat(), n), asks, day, steps, (f"{n} mod 7",))


def _spoken(day: date) -> str:
    return f"{MONTHS[day.month - 1].capitalize()} {day.day}, {day.year}"


@FAMILIES.add
def _days_between(rng, level):
    start = date(2000 + rng.randrange(40), 1, 1) + timedelta(days=rng.randrange(365))
    n = pick(rng, level, (1, 20), (30, 150), (200, 900))
    if level == 0:
        start = start.replace(day=rng.randint(1, 8))
    end = start + timedelta(days=n)
    one, two = _spoken(start), _spoken(end)
    if level == 0:
        one, two = (text.rpartition(",")[0] for text in (one, two))
    asks = (
        f"How many days after {one} is {two}?",
        f"Count the days from {one} to {two}, without the first.",
        f"How many days pass from {one} to {two}?",
    )
    parts, at = [], start
    while (at.year, at.month) != (end.year, end.month):
        following = date(at.year + at.month // 12, at.month % 12 + 1, 1)
        parts.append((following - at).days)
        at = following
    parts.append((end - at).days)
    added = " + ".join(map(str, parts))
    return Problem(
        (start.isoformat() if level else one, n),
        asks,
        n,
        f"{added} = {n}." if len(parts) > 1 else f"{end.day} - {start.day} = {n}.",
        (added,),
    )


@FAMILIES.add
def _clock(rng, level):
    start, n = rng.randrange(8 * 60, 11 * 60) // 5 * 5, pick(rng, level, (1, 11), (1, 40), (40, 150)) * 5
    end = start + n
    one, two = (f"{t // 60}:{t % 60:02d}" for t in (start, end))
    asks = (
        f"It is {one} on a 24-hour clock. What time is it {n} minutes later?",
        f"A film starts at {one} and takes {n} minutes. When does it end, on a 24-hour clock?",
    )
    if end >= 24 * 60:
        two = f"{end // 60 - 24}:{end % 60:02d}"
    return Problem(
        (start, n), asks, two, f"{n} = {n // 60} * 60 + {n % 60}, and {one} plus {n // 60} h {n % 60} min gives {two}."
    )


@FAMILIES.add
def _expand(rng, level):
    a, b = (pick(rng, level, (1, 9), (-9, 9), (-12, 12)) or 2 for _ in "ab")
    p, q = (1, 1) if level == 0 else (pick(rng, level, (1, 1), (1, 3), (2, 5)) for _ in "pq")
    left = f"({signed_term(p, True, 'x')} {signed_term(a)})({signed_term(q, True, 'x')} {signed_term(b)})"
    middle = p * b + a * q
    gold = (
        signed_term(p * q, True, "x^2")
        + (f" {signed_term(middle, False, 'x')}" if middle else "")
        + f" {signed_term(a * b)}"
    )
    asks = (f"Expand {left}.", f"Multiply out {left}.", f"Write {left} without brackets.")
    steps = f"{p} * ({b}) + ({a}) * {q} = {middle}, ({a}) * ({b}) = {a * b}."
    return Problem((p, a, q, b), asks, gold, steps)


@FAMILIES.add
def _polynomial_value(rng, level):
    a, b, c, x = (pick(rng, level, (1, 5), (-6, 9), (-12, 12)) or 1 for _ in "abcx")
    power = 2 if level < 2 else 3
    text = f"{signed_term(a, True, f'x^{power}')} {signed_term(b, False, 'x')} {signed_term(c)}"
    value = a * x**power + b * x + c
    asks = (f"Evaluate {text} at x = {x}.", f"What value does {text} take for x = {x}?", f"Put x = {x} into {text}.")
    worked = f"{a} * ({x})^{power} + ({b}) * ({x}) + ({c})"
    return Problem((power, a, b, c, x), asks, value, f"({x})^{power} = {x**power}, {worked} = {value}.", (worked,))


@FAMILIES.add
def _rate_of_work(rng, level):
    one, two = rng.sample(NAMES, 2)
    a, b = (pick(rng, level, (2, 12), (3, 15), (6, 40)) for _ in "ab")
    if level == 0:
        asks = (
            f"{one} paints {a} doors an hour. How many in {b} hours?",
            f"A press prints {a} pages a minute. How many in {b} minutes?",
        )
        return Problem((level, a, b), asks, a * b, f"{a} * {b} = {a * b}.", (f"{a} * {b}",))
    value = 1 / (Fraction(1, a) + Fraction(1, b))
    asks = (
        f"{one} paints a fence in {a} hours and {two} in {b}. How many hours do they need together? Answer exactly.",
        f"One pipe fills a tank in {a} hours, another in {b}. In how many hours do both fill it? Answer exactly.",
    )
    return Problem(
        (level, *sorted((a, b))),
        asks,
        value,
        f"1/{a} + 1/{b} = {1 / value}, 1 / ({1 / value}) = {value}.",
        (f"1 / (1/{a} + 1/{b})",),
    )


@FAMILIES.add
def _digit_sum(rng, level):
    n = pick(rng, level, (10, 99), (1_000, 99_999), (10**7, 10**10))
    digits = list(map(int, str(n)))
    added = " + ".join(map(str, digits))
    asks = (f"Add up the digits of {n}.", f"What do the digits of {n} add up to?", f"Compute the digit sum of {n}.")
    return Problem((n,), asks, sum(digits), f"{added} = {sum(digits)}.", (added,))


@FAMILIES.add
def _comparison(rng, level):
    b, d = (pick(rng, level, (2, 6), (5, 20), (11, 60)) for _ in "bd")
    a, c = rng.randint(1, b), rng.randint(1, d)
    left, right = a * d, c * b
    word = "yes" if left > right else "no"
    asks = (
        f"Is {a}/{b} greater than {c}/{d}? Answer yes or no.",
        f"Yes or no: {a}/{b} > {c}/{d}?",
        f"Yes or no: is {a}/{b} more than {c}/{d}?",
    )
    return Problem((a, b, c, d), asks, word, f"{a} * {d} = {left}, {c} * {b} = {right}.", (f"{a}/{b} - {c}/{d}",))
