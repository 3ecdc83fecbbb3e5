# SPDX-License-Identifier: Apache-2.0
"""Problems with whole numbers, fractions and percentages, bare and in small stories."""

from fractions import Fraction
from math import lcm

from .family import NAMES, Families, Problem, chain, pick, text_of

FAMILIES = Families()
_list = str.split  # of words
THINGS = _list("apples books coins pencils stickers shells marbles cards stamps beads")
SHOP = (("pen", "pens"), ("notebook", "notebooks"), ("mug", "mugs"), ("cap", "caps"), ("ticket", "tickets"))


@FAMILIES.add
def _addition(rng, level):
    a, b = (pick(rng, level, (1, 20), (20, 999), (1_000, 99_999)) for _ in "ab")
    asks = (f"What is {a} + {b}?", f"What is {a} plus {b}?", f"Add {a} and {b}.", f"Compute {a} + {b}.")
    return Problem((a, b), asks, a + b, f"{a} + {b} = {a + b}.", (f"{a} + {b}",))


@FAMILIES.add
def _subtraction(rng, level):
    a, b = (pick(rng, level, (1, 20), (20, 999), (1_000, 99_999)) for _ in "ab")
    a, b = (max(a, b), min(a, b)) if level < 2 else (a, b)
    asks = (f"What is {a} - {b}?", f"What is {a} minus {b}?", f"Subtract {b} from {a}.", f"Compute {a} - {b}.")
    return Problem((a, b), asks, a - b, f"{a} - {b} = {a - b}.", (f"{a} - {b}",))


@FAMILIES.add
def _multiplication(rng, level):
    a, b = pick(rng, level, (2, 12), (11, 99), (101, 999)), pick(rng, level, (2, 12), (3, 99), (11, 999))
    asks = (f"What is {a} * {b}?", f"What is {a} times {b}?", f"Multiply {a} by {b}.", f"Compute {a} * {b}.")
    return Problem((a, b), asks, a * b, f"{a} * {b} = {a * b}.", (f"{a} * {b}",))


@FAMILIES.add
def _division(rng, level):
    b, q = pick(rng, level, (2, 10), (3, 30), (12, 99)), pick(rng, level, (2, 10), (5, 60), (21, 999))
    a = b * q
    asks = (f"What is {a} / {b}?", f"What is {a} divided by {b}?", f"Divide {a} by {b}.", f"Compute {a} / {b}.")
    return Problem((a, b), asks, q, f"{b} * {q} = {a}, so {a} / {b} = {q}.", (f"{a} / {b}",))


@FAMILIES.add
def _order_of_operations(rng, level):
    a, b, c, d = (pick(rng, level, (1, 9), (2, 20), (5, 40)) for _ in "abcd")
    if level == 0:
        text, steps, value = f"{a} + {b} * {c}", f"{b} * {c} = {b * c}, {a} + {b * c} = {a + b * c}.", a + b * c
    elif level == 1:
        value = (a + b) * c - d
        text = f"({a} + {b}) * {c} - {d}"
        steps = f"{a} + {b} = {a + b}, {a + b} * {c} = {(a + b) * c}, {(a + b) * c} - {d} = {value}."
    else:
        value = (a - b) * c + d * d
        text = f"({a} - {b}) * {c} + {d}^2"
        steps = (
            f"{a} - {b} = {a - b}, ({a - b}) * {c} = {(a - b) * c}, {d}^2 = {d * d}, {(a - b) * c} + {d * d} = {value}."
        )
    asks = (f"What is {text}?", f"Compute {text}.", f"Evaluate {text}.")
    return Problem((level, a, b, c, d if level else 0), asks, value, steps, (text,))


@FAMILIES.add
def _decimals(rng, level):
    places = (1, 2, 3)[level]
    a, b = (Fraction(rng.randrange(1, 10 ** (places + 1)), 10**places) for _ in "ab")
    x, y = text_of(a), text_of(b)
    if level == 2:
        asks = (f"What is {x} * {y}?", f"Multiply {x} by {y}.", f"Compute the product {x} * {y} exactly.")
        return Problem((level, str(a), str(b)), asks, text_of(a * b), f"{x} * {y} = {text_of(a * b)}.", (f"{x} * {y}",))
    asks = (f"What is {x} + {y}?", f"Add {x} and {y}.", f"Compute {x} + {y}.")
    return Problem((level, str(a), str(b)), asks, text_of(a + b), f"{x} + {y} = {text_of(a + b)}.", (f"{x} + {y}",))


@FAMILIES.add
def _shopping(rng, level):
    """Two to four steps: prices, amounts, change, a discount."""
    name = rng.choice(NAMES)
    (one, many), (other, others) = rng.sample(SHOP, 2)
    n, p = pick(rng, level, (2, 6), (3, 12), (6, 25)), pick(rng, level, (2, 9), (3, 20), (11, 40))
    if level == 0:
        asks = (
            f"{name} buys {n} {many} at ${p} each. How many dollars is that?",
            f"One {one} costs ${p}. How much do {n} {many} cost, in dollars?",
            f"{name} pays for {n} {many}, ${p} each. How many dollars?",
        )
        return Problem((level, n, p), asks, n * p, f"{n} * {p} = {n * p}.", (f"{n} * {p}",))
    m, q = pick(rng, level, (1, 5), (2, 9), (3, 15)), pick(rng, level, (1, 5), (2, 15), (7, 35))
    first, second = n * p, m * q
    total = first + second
    if level == 1:
        paid = (total // 50 + 1) * 50
        asks = (
            f"{name} buys {n} {many} at ${p} each and {m} {others} at ${q} each and pays with ${paid}. "
            "How many dollars of change does the shop give back?",
            f"A {one} costs ${p} and a {other} ${q}. {name} takes {n} {many} and {m} {others} and hands over ${paid}. "
            "How much change is due, in dollars?",
        )
        steps = (
            f"{n} * {p} = {first}, {m} * {q} = {second}, {first} + {second} = {total}, {paid} - "
            f"{total} = {paid - total}."
        )
        return Problem((level, n, p, m, q), asks, paid - total, steps, (f"{n} * {p} + {m} * {q}", f"{paid} - {total}"))
    off = rng.choice((10, 15, 20, 25, 40))
    saved = Fraction(total * off, 100)
    value = total - saved
    asks = (
        f"{name} orders {n} {many} at ${p} each and {m} {others} at ${q} each. A voucher takes {off}% off the bill. "
        "How many dollars does the order cost then?",
        f"A club buys {n} {many} (${p} each) and {m} {others} (${q} each) with {off}% off everything. "
        "How many dollars does it pay?",
    )
    steps = (
        f"{n} * {p} = {first}, {m} * {q} = {second}, {first} + {second} = {total}, "
        f"{off}/100 * {total} = {text_of(saved)}, {total} - {text_of(saved)} = {text_of(value)}."
    )
    return Problem(
        (level, n, p, m, q, off), asks, text_of(value), steps, (f"{n} * {p} + {m} * {q}", f"{total} * (1 - {off}/100)")
    )


@FAMILIES.add
def _giving(rng, level):
    """One to four steps of getting and giving away."""
    (name, friend), thing = rng.sample(NAMES, 2), rng.choice(THINGS)
    a, b = pick(rng, level, (3, 20), (20, 90), (60, 400)), pick(rng, level, (1, 10), (5, 40), (20, 90))
    if level == 0:
        asks = (
            f"{name} has {a} {thing} and gets {b} more. How many now?",
            f"{name} has {a} {thing}. {friend} gives {name} {b}. How many {thing} has {name}?",
            f"There are {a} {thing} in a box. {name} adds {b}. How many are in it?",
        )
        return Problem((level, a, b), asks, a + b, f"{a} + {b} = {a + b}.", (f"{a} + {b}",))
    k, c = pick(rng, level, (2, 3), (2, 4), (3, 9)), pick(rng, level, (1, 5), (3, 15), (10, 60))
    got = a + k * b
    if got <= c:
        c = got // 2
    left = got - c
    if level == 1:
        asks = (
            f"{name} has {a} {thing}, buys {k} bags of {b} and gives {c} to {friend}. How many "
            f"{thing} has {name} left?",
            f"{friend} asks {name} for {c} {thing}. {name} had {a} and just opened {k} packs of {b}. "
            f"How many does {name} keep?",
        )
        steps = f"{k} * {b} = {k * b}, {a} + {k * b} = {got}, {got} - {c} = {left}."
        return Problem((level, a, b, k, c), asks, left, steps, (f"{a} + {k} * {b} - {c}",))
    part = rng.choice((2, 3, 4, 5))
    c += left % part
    left = got - c
    asks = (
        f"{name} has {a} {thing}, buys {k} bags of {b}, loses {c}, and puts the rest into {part} equal piles. "
        "How many are in each pile?",
        f"After adding {k} boxes of {b} to {a} {thing} and throwing {c} away, {name} and {part - 1} "
        f"friends share what is "
        f"left equally. How many {thing} does each get?",
    )
    steps = f"{k} * {b} = {k * b}, {a} + {k * b} = {got}, {got} - {c} = {left}, {left} / {part} = {left // part}."
    return Problem((level, a, b, k, c, part), asks, left // part, steps, (f"({a} + {k} * {b} - {c}) / {part}",))


@FAMILIES.add
def _travel(rng, level):
    name = rng.choice(NAMES)
    v, t = pick(rng, level, (2, 12), (20, 90), (35, 120)), pick(rng, level, (2, 6), (2, 9), (2, 8))
    if level == 0:
        asks = (
            f"{name} walks {v} km a day. How many km in {t} days?",
            f"{name} rides {v} km each hour. How many km in {t} hours?",
            f"A boat goes {v} km an hour for {t} hours. How many km?",
        )
        return Problem((level, v, t), asks, v * t, f"{v} * {t} = {v * t}.", (f"{v} * {t}",))
    w, u = pick(rng, level, (1, 2), (15, 80), (30, 110)), pick(rng, level, (1, 2), (1, 6), (2, 8))
    far = v * t + w * u
    if level == 1:
        asks = (
            f"{name} drives {t} hours at {v} km/h and {u} hours at {w} km/h. How many km does {name} drive?",
            f"A train runs at {v} km/h for {t} hours, then at {w} km/h for {u} hours. How many kilometers does it run?",
        )
        return Problem(
            (level, v, t, w, u),
            asks,
            far,
            f"{v} * {t} = {v * t}, {w} * {u} = {w * u}, {v * t} + {w * u} = {far}.",
            (f"{v} * {t} + {w} * {u}",),
        )
    speed = Fraction(far, t + u)
    asks = (
        f"{name} drives {t} hours at {v} km/h and {u} hours at {w} km/h. Find the average speed of "
        f"the whole trip in km/h, as "
        "an exact number.",
        f"A truck goes at {v} km/h for {t} hours and at {w} km/h for {u} hours. What average speed in "
        f"km/h is that, exactly?",
    )
    steps = f"{v} * {t} + {w} * {u} = {far}, {t} + {u} = {t + u}, {far} / {t + u} = {speed}."
    return Problem((level, v, t, w, u), asks, speed, steps, (f"({v} * {t} + {w} * {u}) / ({t} + {u})",))


@FAMILIES.add
def _ages(rng, level):
    one, two = rng.sample(NAMES, 2)
    a, d, k = (
        pick(rng, level, (3, 20), (5, 30), (6, 25)),
        pick(rng, level, (1, 9), (2, 20), (2, 15)),
        pick(rng, level, (2, 2), (2, 9), (2, 4)),
    )
    if level == 0:
        asks = (
            f"{one} is {a} and {two} is {d} years older. How old is {two}?",
            f"{two} is {d} years older than {one}, who is {a}. How old is {two}?",
        )
        return Problem((level, a, d), asks, a + d, f"{a} + {d} = {a + d}.", (f"{a} + {d}",))
    if level == 1:
        asks = (
            f"{one} is {a} years old and {two} is {d} years older. How old will {two} be in {k} years?",
            f"{two} is {d} years older than {one}, who is {a} now. What age does {two} reach {k} years from now?",
        )
        return Problem(
            (level, a, d, k),
            asks,
            a + d + k,
            f"{a} + {d} = {a + d}, {a + d} + {k} = {a + d + k}.",
            (f"{a} + {d} + {k}",),
        )
    both = a + k * a + 2 * d
    asks = (
        f"{one} is {k} times as old as {two}. In {d} years their ages will add up to {both}. How old is {two} now?",
        f"{d} years from now {one} and {two} will be {both} years old together, and today {one} is "
        f"{k} times as old as {two}. "
        f"Find {two}'s age today.",
    )
    steps = f"{both} - 2 * {d} = {both - 2 * d}, 1 + {k} = {1 + k}, {both - 2 * d} / {1 + k} = {a}."
    return Problem((level, a, d, k), asks, a, steps, (f"({both} - 2 * {d}) / (1 + {k})",))


@FAMILIES.add
def _fraction_sum(rng, level):
    b, d = pick(rng, level, (3, 9), (3, 12), (7, 30)), pick(rng, level, (3, 9), (3, 12), (7, 30))
    d = b if level == 0 else d
    a, c = rng.randint(1, b - 1), rng.randint(1, d - 1)
    minus = level == 2 and rng.random() < 0.5
    value = Fraction(a, b) - Fraction(c, d) if minus else Fraction(a, b) + Fraction(c, d)
    text = f"{a}/{b} {'-' if minus else '+'} {c}/{d}"
    whole = lcm(b, d)
    top = a * (whole // b) - c * (whole // d) if minus else a * (whole // b) + c * (whole // d)
    steps = f"{text} = {chain(f'{top}/{whole}', value)}."
    asks = (f"What is {text}?", f"Compute {text} as a fraction.", f"Work out {text}.")
    return Problem((level, a, b, c, d, minus), asks, value, steps, (text,))


@FAMILIES.add
def _fraction_product(rng, level):
    a, b, c, d = (pick(rng, level, (1, 6), (2, 15), (5, 40)) for _ in "abcd")
    b, d = b + 1, d + 1
    over = level > 0 and rng.random() < 0.5
    value = Fraction(a, b) / Fraction(c, d) if over else Fraction(a, b) * Fraction(c, d)
    sign = "/" if over else "*"
    text = f"({a}/{b}) {sign} ({c}/{d})"
    top, bottom = (a * d, b * c) if over else (a * c, b * d)
    asks = (f"What is {text}?", f"Compute {text} as a fraction.", f"Work out {text}.")
    return Problem((level, a, b, c, d, over), asks, value, f"{text} = {chain(f'{top}/{bottom}', value)}.", (text,))


@FAMILIES.add
def _fraction_of(rng, level):
    b = pick(rng, level, (2, 5), (3, 9), (6, 16))
    a, k = rng.randint(1, b - 1), pick(rng, level, (2, 10), (4, 25), (12, 60))
    n, thing, name = b * k, rng.choice(THINGS), rng.choice(NAMES)
    asks = (
        f"What is {a}/{b} of {n}?",
        f"{name} has {n} {thing} and gives away {a}/{b} of them. How many are given away?",
        f"Find {a}/{b} of {n}.",
    )
    return Problem((level, a, b, n), asks, a * k, f"{n} / {b} = {k}, {k} * {a} = {a * k}.", (f"{a}/{b} * {n}",))


@FAMILIES.add
def _percent_of(rng, level):
    p = rng.choice(((10, 20, 25, 50), (5, 15, 30, 40, 60, 75), (7, 12, 17, 33, 62, 84, 125))[level])
    n = pick(rng, level, (1, 10), (2, 30), (10, 300)) * (20 if level < 2 else 5)
    value = Fraction(n * p, 100)
    shown = text_of(value)
    asks = (f"What is {p}% of {n}?", f"Find {p}% of {n}.", f"Compute {p} percent of {n}.")
    return Problem((level, p, n), asks, shown, f"{n} * {p} / 100 = {shown}.", (f"{n} * {p} / 100",))


@FAMILIES.add
def _percent_change(rng, level):
    p = rng.choice(((10, 20, 25, 50), (5, 20, 30, 40, 60), (12, 15, 35, 45, 80))[level])
    n, up = pick(rng, level, (1, 15), (2, 20), (3, 60)) * 20, rng.random() < 0.5
    step = Fraction(n * p, 100)
    value = n + step if up else n - step
    verb = "rises" if up else "falls"
    if level < 2:
        asks = (
            f"A price of ${n} {verb} by {p}%. What is the new price in dollars?",
            f"{n} {'grows' if up else 'shrinks'} by {p}%. What number does it become?",
        )
        steps = f"{n} * {p} / 100 = {text_of(step)}, {n} {'+' if up else '-'} {text_of(step)} = {text_of(value)}."
        return Problem((level, p, n, up), asks, text_of(value), steps, (f"{n} * (1 {'+' if up else '-'} {p}/100)",))
    asks = (
        f"After it {'rose' if up else 'fell'} by {p}%, a rent is ${text_of(value)}. How many dollars was it before?",
        f"A tank holds {text_of(value)} liters after its content {'grew' if up else 'shrank'} by "
        f"{p}%. How many liters "
        "did it hold before?",
    )
    factor = text_of(1 + Fraction(p, 100) if up else 1 - Fraction(p, 100))
    return Problem(
        (level, p, n, up),
        asks,
        n,
        f"1 {'+' if up else '-'} {p}/100 = {factor}, {text_of(value)} / {factor} = {n}.",
        (f"{text_of(value)} / {factor}",),
    )
