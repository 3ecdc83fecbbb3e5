# SPDX-License-Identifier: Apache-2.0
"""Working out a tree: exactly, modulo a prime, or with 60 digits. Limits bound the time, and nothing is evaluated."""

import decimal
from decimal import Decimal
from fractions import Fraction
from math import comb, factorial, gcd, isqrt, lcm

from .limits import BITS, TERMS, WORK, Limit, Unreadable


class NotRational(Exception):
    """No exact rational value here: a root, a function, a variable."""


def _int(value: Fraction) -> int:
    if value.denominator != 1:
        raise NotRational
    return value.numerator


def _small(value: Fraction) -> Fraction:
    if value.numerator.bit_length() + value.denominator.bit_length() > BITS:
        raise Limit(f"a number of more than {BITS} bits")
    return value


class Exact:
    """Rational arithmetic on a tree, with values for its variables."""

    def __init__(self, env: dict | None = None, sign: int = 1):
        self.env, self.sign, self.work = env or {}, sign, 0

    def __call__(self, node: tuple) -> Fraction:
        self.work += 1
        if self.work > WORK:
            raise Limit(f"more than {WORK} steps to work out")
        kind = node[0]
        if kind == "num":
            return node[1]
        if kind == "sym":
            if node[1] in self.env:
                return self.env[node[1]]
            raise NotRational
        if kind == "const" and node[1] in self.env:
            return self.env[node[1]]
        if kind == "neg":
            return -self(node[1])
        if kind == "pm":
            return self(node[2]) if node[1] * self.sign > 0 else -self(node[2])
        if kind == "add":
            total = Fraction(0)
            for part in node[1]:
                total = _small(total + self(part))
            return total
        if kind == "mul":
            total = Fraction(1)
            for part in node[1]:
                total = _small(total * self(part))
            return total
        if kind == "div":
            bottom = self(node[2])
            if not bottom:
                raise NotRational
            return _small(self(node[1]) / bottom)
        if kind == "pct":
            return self(node[1]) / 100
        if kind == "base":
            try:
                return Fraction(int(node[1], node[2]))
            except ValueError:
                raise Unreadable(f"the digits {node[1][:20]} in base {node[2]}") from None
        if kind == "pow":
            return self.power(self(node[1]), self(node[2]))
        if kind == "sum":
            return self.series(node)
        if kind == "fn":
            return self.function(node[1], node[2])
        raise NotRational

    def power(self, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator != 1:
            if exponent.denominator > 1000 or base < 0:
                raise NotRational
            base, exponent = _root(base, exponent.denominator), Fraction(exponent.numerator)
        size = base.numerator.bit_length() + base.denominator.bit_length()
        if base in (0, 1, -1):
            if not base and exponent <= 0:
                raise NotRational
            return base if base != -1 or exponent.numerator % 2 else Fraction(1)
        if size * abs(exponent.numerator) > 2 * BITS:
            raise Limit(f"a power of more than {BITS} bits")
        return _small(base**exponent.numerator)

    def series(self, node: tuple) -> Fraction:
        _, name, variable, low, high, body = node
        if high[0] == "inf" or low[0] == "neg":
            raise NotRational
        first, last = _int(self(low)), _int(self(high))
        if last - first >= TERMS:
            raise Limit(f"a {name} of more than {TERMS} terms")
        inner = Exact({**self.env, variable: Fraction(0)}, self.sign)
        inner.work = self.work
        total = Fraction(0 if name == "sum" else 1)
        for k in range(first, last + 1):
            inner.env[variable] = Fraction(k)
            value = inner(body)
            total = _small(total + value if name == "sum" else total * value)
        self.work = inner.work
        return total

    def function(self, name: str, arguments: tuple) -> Fraction:
        if name == "det":
            return self.determinant([[self(cell) for cell in row] for row in arguments[0][1]])
        if name == "root":
            value, degree = self(arguments[0]), _int(self(arguments[1]))
            if not 1 <= degree <= 1000:
                raise NotRational
            if value < 0:
                if degree % 2 == 0:
                    raise NotRational
                return -_root(-value, degree)
            return _root(value, degree)
        if name not in ("factorial", "binom", "abs", "floor", "ceil", "gcd", "lcm", "max", "min", "mod"):
            if name in ("ln", "log", "log10") and self(arguments[0]) == 1:
                return Fraction(0)
            if name in ("sin", "tan") and self(arguments[0]) == 0:
                return Fraction(0)
            if name in ("cos", "exp") and self(arguments[0]) == 0:
                return Fraction(1)
            raise NotRational
        values = [self(argument) for argument in arguments]
        if name == "factorial":
            n = _int(values[0])
            if n < 0:
                raise NotRational
            if n > 2000:
                raise Limit(f"the factorial of {str(n)[:20]}")
            return Fraction(factorial(n))
        if name == "binom":
            n, k = _int(values[0]), _int(values[1])
            if n < 0 or k < 0:
                raise NotRational
            if n > 5000:
                raise Limit("a binomial coefficient of more than 5000")
            return Fraction(comb(n, k))
        if name == "mod":
            if not values[1]:
                raise NotRational
            return values[0] % values[1]
        if name in ("gcd", "lcm"):
            numbers = [_int(value) for value in values]
            return Fraction(gcd(*numbers) if name == "gcd" else lcm(*numbers))
        if name in ("max", "min"):
            return max(values) if name == "max" else min(values)
        if name == "abs":
            return abs(values[0])
        return Fraction(_floor(values[0]) if name == "floor" else _ceil(values[0]))

    def determinant(self, rows: list[list[Fraction]]) -> Fraction:
        if len(rows) != len(rows[0]) or len(rows) > 6:
            raise NotRational
        if len(rows) == 1:
            return rows[0][0]
        total = Fraction(0)
        for k, value in enumerate(rows[0]):
            total += (-1) ** k * value * self.determinant([row[:k] + row[k + 1 :] for row in rows[1:]])
        return _small(total)


def _floor(value: Fraction) -> int:
    return value.numerator // value.denominator


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _root(value: Fraction, degree: int) -> Fraction:
    """The exact root of a number that is not negative, if it is rational."""
    return Fraction(_int_root(value.numerator, degree), _int_root(value.denominator, degree))


def _int_root(n: int, degree: int) -> int:
    if n < 2 or degree == 1:
        return n
    if degree == 2:
        root = isqrt(n)
    elif degree > n.bit_length():
        raise NotRational
    else:
        root = 1 << -(-n.bit_length() // degree)
        while True:
            better = ((degree - 1) * root + n // root ** (degree - 1)) // degree
            if better >= root:
                break
            root = better
    if root**degree != n:
        raise NotRational
    return root


class Modular(Exact):
    """Arithmetic modulo a prime, for numbers too large to write down and for polynomials."""

    def __init__(self, prime: int, env: dict, sign: int = 1):
        super().__init__(env, sign)
        self.prime = prime

    def __call__(self, node: tuple) -> int:  # type: ignore[override]  # a residue is the number it stands for
        self.work += 1
        kind, p = node[0], self.prime
        if kind == "num":
            return self.fraction(node[1])
        if kind in ("sym", "const"):
            if kind == "sym" and node[1] in self.env:
                return self.env[node[1]]
            raise NotRational
        if kind == "neg":
            return -self(node[1]) % p
        if kind == "pm":
            return node[1] * self.sign * self(node[2]) % p
        if kind == "add":
            return sum(map(self, node[1])) % p
        if kind == "mul":
            total = 1
            for part in node[1]:
                total = total * self(part) % p
            return total
        if kind == "div":
            bottom = self(node[2])
            if not bottom:
                raise NotRational
            return self(node[1]) * pow(bottom, -1, p) % p
        if kind == "pow":
            exponent = Exact({}, self.sign)(node[2])
            base = self(node[1])
            if not base and exponent <= 0:
                raise NotRational
            return pow(base, _int(exponent), p)
        return self.fraction(Exact({}, self.sign)(node))

    def fraction(self, value: Fraction) -> int:
        return value.numerator * pow(value.denominator, -1, self.prime) % self.prime


_PRECISION = 60
CONTEXT = decimal.Context(
    prec=_PRECISION, Emax=400_000, Emin=-400_000,
    traps=[decimal.Overflow, decimal.InvalidOperation, decimal.DivisionByZero],
)  # fmt: skip
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
ZERO, _ONE = Decimal(0), Decimal(1)
TINY = Decimal("1e-50")
CLOSE = Decimal("1e-38")


def _sin_cos(x: Decimal) -> tuple[Decimal, Decimal]:
    if abs(x) > 10**20:
        raise Limit("the sine of a huge number")
    with decimal.localcontext(CONTEXT) as context:
        context.prec = _PRECISION + 25
        x = x % (2 * _PI) / 64
        term, s, c = _ONE, ZERO, ZERO
        for k in range(0, 60, 2):
            c += term
            term = term * x / (k + 1)
            s += term
            term = -term * x / (k + 2)
            if abs(term) < Decimal("1e-90"):
                break
        for _ in range(6):
            s, c = 2 * s * c, c * c - s * s
    return +s, +c


def _arctan(x: Decimal) -> Decimal:
    with decimal.localcontext(CONTEXT) as context:
        context.prec = _PRECISION + 10
        if abs(x) > 1:
            half = _PI / 2 if x > 0 else -_PI / 2
            return half - _arctan(1 / x)
        for _ in range(5):
            x = x / (1 + (1 + x * x).sqrt())
        square, term, total = x * x, x, x
        for k in range(3, 80, 2):
            term = -term * square
            total += term / k
            if abs(term) < Decimal("1e-75"):
                break
        return total * 32


def _angle(re_: Decimal, im: Decimal) -> Decimal:
    if re_ > 0:
        return _arctan(im / re_)
    if re_ < 0:
        return _arctan(im / re_) + (_PI if im >= 0 else -_PI)
    if not im:
        raise NotRational
    return _PI / 2 if im > 0 else -_PI / 2


Complex = tuple[Decimal, Decimal]


class Numeric:
    """Complex arithmetic with 60 digits. `real` tells whether every step stayed real."""

    def __init__(self, env: dict[str, Decimal], sign: int = 1, log_base: int = 0):
        self.env, self.sign, self.log_base = env, sign, log_base
        self.work, self.real = 0, True

    def __call__(self, node: tuple) -> Complex:
        self.work += 1
        if self.work > WORK:
            raise Limit(f"more than {WORK} steps to work out")
        kind = node[0]
        if kind == "num":
            return Decimal(node[1].numerator) / Decimal(node[1].denominator), ZERO
        if kind == "sym":
            if node[1] in self.env:
                return self.env[node[1]], ZERO
            raise NotRational
        if kind == "const":
            if node[1] in self.env:
                return self.env[node[1]], ZERO
            if node[1] == "i":
                self.real = False
                return ZERO, _ONE
            return +_PI if node[1] == "pi" else _ONE.exp(), ZERO
        if kind == "neg":
            a, b = self(node[1])
            return -a, -b
        if kind == "pm":
            a, b = self(node[2])
            return (a, b) if node[1] * self.sign > 0 else (-a, -b)
        if kind == "add":
            values = [self(part) for part in node[1]]
            return sum((v[0] for v in values), ZERO), sum((v[1] for v in values), ZERO)
        if kind == "mul":
            total = (_ONE, ZERO)
            for part in node[1]:
                total = _times(total, self(part))
            return total
        if kind == "div":
            return divided(self(node[1]), self(node[2]))
        if kind == "pct":
            return divided(self(node[1]), (Decimal(100), ZERO))
        if kind == "deg":
            return _times(self(node[1]), (_PI / 180, ZERO))
        if kind == "pow":
            if node[1] == ("const", "e"):
                return self.exp(self(node[2]))
            return self.power(self(node[1]), self(node[2]))
        if kind == "base":
            return Decimal(Exact()(node).numerator), ZERO
        if kind == "sum":
            return self.series(node)
        if kind == "fn":
            return self.function(node[1], node[2])
        raise NotRational

    def whole(self, node: tuple) -> int:
        re_, im = self(node)
        if im or re_ != re_.to_integral_value():
            raise NotRational
        return int(re_)

    def series(self, node: tuple) -> Complex:
        _, name, variable, low, high, body = node
        if high[0] == "inf":
            raise NotRational
        first, last = self.whole(low), self.whole(high)
        if last - first >= TERMS:
            raise Limit(f"a {name} of more than {TERMS} terms")
        before, total = self.env, (ZERO, ZERO) if name == "sum" else (_ONE, ZERO)
        for k in range(first, last + 1):
            self.env = {**before, variable: Decimal(k)}
            value = self(body)
            total = (total[0] + value[0], total[1] + value[1]) if name == "sum" else _times(total, value)
        self.env = before
        return total

    def exp(self, z: Complex) -> Complex:
        size = z[0].exp()
        if not z[1]:
            return size, ZERO
        s, c = _sin_cos(z[1])
        return size * c, size * s

    def ln(self, z: Complex) -> Complex:
        if not z[1] and z[0] > 0:
            return z[0].ln(), ZERO
        if not z[0] and not z[1]:
            raise NotRational
        self.real = False
        return (z[0] * z[0] + z[1] * z[1]).ln() / 2, _angle(*z)

    def power(self, z: Complex, w: Complex) -> Complex:
        if not w[1] and w[0] == w[0].to_integral_value() and abs(w[0]) < 10**6:
            n = int(w[0])
            if not z[1]:
                if not z[0] and n <= 0:
                    raise NotRational
                return z[0] ** n, ZERO
            total, base, k = (_ONE, ZERO), z, abs(n)
            while k:
                if k & 1:
                    total = _times(total, base)
                base, k = _times(base, base), k >> 1
            return total if n >= 0 else divided((_ONE, ZERO), total)
        if not z[1] and not w[1] and z[0] > 0:
            return z[0] ** w[0], ZERO
        if not z[0] and not z[1]:
            if w[0] > 0:
                return ZERO, ZERO
            raise NotRational
        return self.exp(_times(w, self.ln(z)))

    def function(self, name: str, arguments: tuple) -> Complex:
        if name in ("factorial", "binom", "gcd", "lcm", "mod", "det", "floor", "ceil", "max", "min"):
            values = []
            if name in ("floor", "ceil", "max", "min"):
                reals = [self(argument) for argument in arguments]
                if any(abs(v[1]) > TINY for v in reals):
                    raise NotRational
                if name in ("max", "min"):
                    return (max if name == "max" else min)(v[0] for v in reals), ZERO
                near = reals[0][0].to_integral_value()  # so that the floor of a whole number survives rounding
                if abs(near - reals[0][0]) < CLOSE:
                    return near, ZERO
                how = decimal.ROUND_FLOOR if name == "floor" else decimal.ROUND_CEILING
                return reals[0][0].to_integral_value(how), ZERO
            if name == "det":
                return Decimal(0) + Decimal(
                    str(Exact({k: Fraction(v) for k, v in self.env.items()})(("fn", name, arguments)))
                ), ZERO
            for argument in arguments:
                values.append(("num", Fraction(self.whole(argument))))
            exact = Exact({}, self.sign).function(name, tuple(values))
            return Decimal(exact.numerator) / Decimal(exact.denominator), ZERO
        z = self(arguments[0])
        if name == "root":
            degree = self(arguments[1])
            if not z[1] and z[0] < 0 and not degree[1] and degree[0] % 2 == 1:
                return -self.power((-z[0], ZERO), (1 / degree[0], ZERO))[0], ZERO
            if not z[1] and z[0] < 0 and degree == (2, 0):
                self.real = False
                return ZERO, (-z[0]).sqrt()
            if not z[1] and degree == (2, 0):
                return z[0].sqrt(), ZERO
            return self.power(z, divided((_ONE, ZERO), degree))
        if name == "abs":
            return (abs(z[0]) if not z[1] else (z[0] * z[0] + z[1] * z[1]).sqrt()), ZERO
        if name == "Re":
            return z[0], ZERO
        if name == "Im":
            return z[1], ZERO
        if name == "sgn":
            return Decimal((z[0] > 0) - (z[0] < 0)), ZERO
        if name == "exp":
            return self.exp(z)
        if name == "ln":
            return self.ln(z)
        if name in ("log", "log10"):
            value = self.ln(z)
            return value if name == "log" and not self.log_base else divided(value, (Decimal(10).ln(), ZERO))
        if name == "logb":
            return divided(self.ln(z), self.ln(self(arguments[1])))
        return self.trigonometry(name, z)

    def trigonometry(self, name: str, z: Complex) -> Complex:
        one = (_ONE, ZERO)
        if name in ("sin", "cos", "tan", "cot", "sec", "csc"):
            s, c = _sin_cos(z[0])
            s, c = (ZERO if abs(s) < TINY else s), (ZERO if abs(c) < TINY else c)
            sine, cosine = (s, ZERO), (c, ZERO)
            if z[1]:
                up = z[1].exp()
                sinh, cosh = (up - 1 / up) / 2, (up + 1 / up) / 2
                sine, cosine = (s * cosh, c * sinh), (c * cosh, -s * sinh)
            return {
                "sin": lambda: sine, "cos": lambda: cosine, "tan": lambda: divided(sine, cosine),
                "cot": lambda: divided(cosine, sine), "sec": lambda: divided(one, cosine),
                "csc": lambda: divided(one, sine),
            }[name]()  # fmt: skip
        if name in ("sinh", "cosh", "tanh", "coth"):
            up = self.exp(z)
            down = divided(one, up)
            sinh = ((up[0] - down[0]) / 2, (up[1] - down[1]) / 2)
            cosh = ((up[0] + down[0]) / 2, (up[1] + down[1]) / 2)
            return {"sinh": sinh, "cosh": cosh}.get(name) or (
                divided(sinh, cosh) if name == "tanh" else divided(cosh, sinh)
            )
        if name in ("arcsec", "arccsc", "arccot"):
            z, name = divided(one, z), {"arcsec": "arccos", "arccsc": "arcsin", "arccot": "arctan"}[name]
        if name == "arctan" and not z[1]:
            return +_arctan(z[0]), ZERO
        if name in ("arcsin", "arccos") and not z[1] and abs(z[0]) <= 1:
            if abs(z[0]) == 1:
                sine = z[0] * _PI / 2
            else:
                sine = +_arctan(z[0] / (1 - z[0] * z[0]).sqrt())
            return (sine if name == "arcsin" else _PI / 2 - sine), ZERO
        raise NotRational


def _times(a: Complex, b: Complex) -> Complex:
    if not a[1] and not b[1]:
        return a[0] * b[0], ZERO
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def divided(a: Complex, b: Complex) -> Complex:
    """The quotient; raises NotRational for a division by zero."""
    if not b[0] and not b[1]:
        raise NotRational
    if not a[1] and not b[1]:
        return a[0] / b[0], ZERO
    size = b[0] * b[0] + b[1] * b[1]
    return (a[0] * b[0] + a[1] * b[1]) / size, (a[1] * b[0] - a[0] * b[1]) / size
