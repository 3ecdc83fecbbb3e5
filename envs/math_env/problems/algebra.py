# SPDX-License-Identifier: Apache-2.0
"""Problems about equations, inequalities, sequences and averages."""

from fractions import Fraction

from .family import Families, Problem, pick, signed_term

FAMILIES = Families()


@FAMILIES.add
def _linear_equation(rng, level):
    x, a, b = (
        pick(rng, level, (1, 10), (-12, 12), (-30, 30)),
        pick(rng, level, (2, 5), (2, 12), (6, 25)),
        pick(rng, level, (1, 10), (-20, 20), (-60, 60)) or 1,
    )
    if level < 2:
        right = a * x + b
        left = f"{a}x {signed_term(b)}"
        asks = (
            f"Solve {left} = {right} for x.",
            f"Find x if {left} = {right}.",
            f"What x makes {left} equal to {right}?",
        )
        steps = f"{a}x = {right - b}, x = {x}."
        return Problem((level, a, b, x), asks, x, steps, (f"({right} - ({b})) / {a}",))
    c = rng.choice([v for v in range(-15, 16) if v not in (a, 0)])
    d = (a - c) * x + b
    left, right = (
        f"{a}x {signed_term(b)}",
        f"{signed_term(c, True, 'x')} {signed_term(d)}" if d else signed_term(c, True, "x"),
    )
    asks = (
        f"Solve {left} = {right} for x.",
        f"For which x do {left} and {right} have the same value?",
        f"Find x if {left} = {right}.",
    )
    steps = f"{a - c}x = {d - b}, x = {x}."
    return Problem((level, a, b, c, x), asks, x, steps, (f"({d} - ({b})) / ({a} - ({c}))",))


@FAMILIES.add
def _quadratic_equation(rng, level):
    p, q = (pick(rng, level, (1, 9), (-9, 9), (-15, 15)) for _ in "pq")
    a = 1 if level < 2 else rng.randint(2, 4)
    b, c = -a * (p + q), a * p * q
    text = (
        f"{signed_term(a, True, 'x^2')}"
        + (f" {signed_term(b, False, 'x')}" if b else "")
        + (f" {signed_term(c)}" if c else "")
    )
    roots = sorted({p, q})
    gold = str(roots[0]) if len(roots) == 1 else f"{roots[0]}, {roots[1]}"
    asks = (
        f"Find all x with {text} = 0.",
        f"Solve {text} = 0; give all solutions.",
        f"Which numbers x satisfy {text} = 0? List all.",
    )
    factors = "".join(f"(x {signed_term(-r)})" if r else "x" for r in (p, q))
    steps = f"{text} = {a if a > 1 else ''}{factors}, so " + " or ".join(f"x = {r}" for r in roots) + "."
    return Problem((level, a, *sorted((p, q))), asks, gold, steps)


@FAMILIES.add
def _linear_system(rng, level):
    x, y = (pick(rng, level, (1, 15), (-9, 9), (-20, 20)) for _ in "xy")
    if level == 0:
        x, y = max(x, y), min(x, y)
        a, b, c, d = 1, 1, 1, -1
    else:
        while True:
            a, b, c, d = (rng.choice([v for v in range(-7, 8) if v]) for _ in "abcd")
            if a * d != b * c:
                break
    e, f = a * x + b * y, c * x + d * y
    one = f"{signed_term(a, True, 'x')} {signed_term(b, False, 'y')} = {e}"
    two = f"{signed_term(c, True, 'x')} {signed_term(d, False, 'y')} = {f}"
    asks = (
        f"Solve {one}, {two}. Answer as (x, y).",
        f"Find (x, y) with {one} and {two}.",
        f"Which pair (x, y) satisfies both {one} and {two}?",
    )
    det = a * d - b * c
    steps = f"x = ({e * d} - ({b * f})) / ({det}) = {x}, y = ({a * f} - ({e * c})) / ({det}) = {y}."
    return Problem((a, b, c, d, x, y), asks, f"({x}, {y})", steps)


@FAMILIES.add
def _inequality(rng, level):
    a, b, x = (
        pick(rng, level, (2, 5), (2, 9), (2, 12)),
        pick(rng, level, (1, 9), (-15, 15), (-40, 40)) or 2,
        pick(rng, level, (1, 9), (-9, 9), (-20, 20)),
    )
    op = rng.choice(("<", ">", "<=", ">="))
    minus = level == 2
    right = (-a if minus else a) * x + b
    left = f"{signed_term(-a if minus else a, True, 'x')} {signed_term(b)}"
    result = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}[op] if minus else op
    asks = (
        f"Solve {left} {op} {right} for x.",
        f"For which x is {left} {op} {right}? Answer as an inequality.",
        f"Find all x with {left} {op} {right}.",
    )
    steps = f"{-a if minus else a}x {op} {right - b}, x {result} {x}."
    return Problem((level, a, b, x, op), asks, f"x {result} {x}", steps)


@FAMILIES.add
def _arithmetic_sequence(rng, level):
    a, d, n = (
        pick(rng, level, (1, 15), (2, 40), (-30, 60)),
        pick(rng, level, (1, 9), (3, 15), (-14, 14)) or 3,
        pick(rng, level, (5, 5), (8, 30), (20, 90)),
    )
    terms = [a + d * k for k in range(4)]
    value = a + d * (n - 1)
    shown = ", ".join(map(str, terms))
    if level == 0:
        asks = (f"What comes next: {shown}?", f"Continue {shown} by one number.", f"Give the next number: {shown}, ...")
        return Problem(
            (level, a, d),
            asks,
            value,
            f"{terms[1]} - {terms[0]} = {d}, {terms[3]} + {d} = {value}.",
            (f"{terms[3]} + {d}",),
        )
    asks = (
        f"An arithmetic sequence begins {shown}. What is term number {n}?",
        f"Find the {n}th member of the arithmetic sequence {shown}, ...",
    )
    return Problem(
        (level, a, d, n),
        asks,
        value,
        f"{terms[1]} - ({terms[0]}) = {d}, {a} + {n - 1} * ({d}) = {value}.",
        (f"{a} + {n - 1} * ({d})",),
    )


@FAMILIES.add
def _geometric_sequence(rng, level):
    a, q, n = (
        pick(rng, level, (1, 12), (2, 9), (2, 12)),
        pick(rng, level, (2, 5), (2, 5), (2, 4)),
        pick(rng, level, (4, 4), (6, 8), (9, 12)),
    )
    shown = ", ".join(str(a * q**k) for k in range(3))
    value = a * q ** (n - 1)
    if level == 0:
        asks = (f"What comes next: {shown}?", f"Continue {shown} by one number.", f"Give the next number: {shown}, ...")
        return Problem((level, a, q), asks, value, f"{a * q**2} * {q} = {value}.", (f"{a * q**2} * {q}",))
    if level == 1:
        asks = (
            f"A geometric sequence begins {shown}. What is term number {n}?",
            f"Find the {n}th member of the geometric sequence {shown}, ...",
        )
        return Problem((level, a, q, n), asks, value, f"{a} * {q}^{n - 1} = {value}.", (f"{a} * {q}^{n - 1}",))
    value = a * (q**n - 1) // (q - 1)
    asks = (
        f"Add up the first {n} terms of the geometric sequence {shown}, ...",
        f"A geometric sequence begins {shown}. What do its first {n} terms add up to?",
    )
    return Problem(
        (level, a, q, n),
        asks,
        value,
        f"{a} * ({q}^{n} - 1) / ({q} - 1) = {value}.",
        (f"{a} * ({q}^{n} - 1) / ({q} - 1)",),
    )


@FAMILIES.add
def _average(rng, level):
    k = (2, 4, 6)[level]
    values = [pick(rng, level, (1, 20), (5, 60), (20, 400)) for _ in range(k)]
    values[0] += k * (len(set(values)) == 1)
    if level < 2:
        values[-1] += -sum(values) % k
    values[0] += k * (len(set(values)) == 1)
    mean = Fraction(sum(values), k)
    shown = " and ".join(map(str, values)) if k == 2 else ", ".join(map(str, values))
    asks = (
        f"What is the average of {shown}?",
        f"Find the mean of {shown}.",
        f"Compute the mean of the numbers {shown} exactly.",
    )
    added = " + ".join(map(str, values))
    return Problem(
        (level, *sorted(values)),
        asks,
        mean,
        f"{added} = {sum(values)}, {sum(values)} / {k} = {mean}.",
        (f"({added}) / {k}",),
    )
