# SPDX-License-Identifier: Apache-2.0
"""From tokens to a tree, by recursive descent with limits on depth and size."""

import re
from collections.abc import Callable
from fractions import Fraction

from .limits import DEPTH, DIGITS, NODES, Limit, Unreadable
from .notation import (
    CURRENCIES,
    FILLERS,
    FUNCTIONS,
    GREEK,
    REFUSED,
    RELATIONS,
    SCALES,
    TIMES,
    Token,
    read_tokens,
    unit_name,
)
from .trees import is_name, normal_form

_list = str.split  # of words


class _Parser:
    """Recursive descent over tokens, with limits on depth and size."""

    def __init__(self, tokens: list[Token]):
        self.tokens, self.at, self.depth, self.nodes = tokens, 0, 0, 0
        self.bars = 0  # open absolute values

    def peek(self, ahead: int = 0) -> Token:
        i = self.at + ahead
        return self.tokens[i] if i < len(self.tokens) else Token("end", "", False)

    def take(self, *values: str) -> bool:
        if self.peek().kind in ("op", "cmd", "word", "text") and self.peek().value in values:
            self.at += 1
            return True
        return False

    def need(self, value: str) -> None:
        if not self.take(value):
            raise Unreadable(f"no {value!r} where it is needed")

    def node(self, *parts) -> tuple:
        self.nodes += 1
        if self.nodes > NODES:
            raise Limit(f"more than {NODES} parts")
        return parts

    def nested(self, work: Callable):
        self.depth += 1
        if self.depth > DEPTH:
            raise Limit(f"nested more than {DEPTH} deep")
        result = work()
        self.depth -= 1
        return result

    # lists and relations

    def whole(self) -> tuple:
        parts = self.listed(("end",))
        if self.peek().kind != "end":
            raise Unreadable(f"{self.peek().value!r} where nothing can stand")
        return parts

    def listed(self, ends: tuple) -> tuple:
        """Parts with commas, 'and' or 'or' between them."""
        items, links = [], []
        while True:
            items.append(self.part())
            link = ""
            while self.take(",", ";", "and", "or", "land", "lor", "\\"):
                value = self.tokens[self.at - 1].value
                link = "or" if value in ("or", "lor") else "and" if value in ("and", "land") else link or ","
            if not link or self.peek().kind == "end" or self.peek().value in ends:
                break
            links.append(link)
        return items[0] if len(items) == 1 else self.node("list", tuple(items), tuple(links))

    def part(self) -> tuple:
        """A relation, a value or some words."""
        start = self.at
        while self.peek().kind in ("text", "word") and self.peek().value.lower() in FILLERS:
            self.at += 1
        if self.peek().kind == "end" and self.at > start:
            self.at = start
        self.take("approx", "cong", "simeq", "sim", "=", "therefore", "implies")
        sides, ops = [self.quantity()], []
        while self.peek().kind in ("op", "cmd") and self.peek().value in RELATIONS:
            op = RELATIONS[self.peek().value]
            self.at += 1
            if op == "implies":
                sides, ops = [self.quantity()], []
                continue
            ops.append(op)
            sides.append(self.quantity())
        if "approx" in ops and set(ops) <= {"approx", "="}:
            at = ops.index("approx")
            if at or not is_name(sides[0]):
                exact = self.node("rel", tuple(sides[: at + 1]), tuple(ops[:at])) if at else sides[0]
                return self.node("approx", exact, sides[-1])
            ops = ["="] * len(ops)
        result = sides[0] if not ops else self.node("rel", tuple(sides), tuple(ops))
        if self.peek().value in ("pmod", "bmod", "mod") or (
            self.peek().value == "(" and self.peek(1).value in ("mod", "bmod")
        ):
            bracket = self.take("(")
            self.at += 1
            modulus = self.unary()
            if bracket:
                self.need(")")
            if ops and ops[-1] in ("mod", "="):
                return self.node("mod", sides[-1], modulus)
            return self.node("mod", result, modulus)
        return result

    def quantity(self) -> tuple:
        """Set operations over values, or words, or a value and its unit."""
        left = self.measured()
        while self.peek().value in ("cup", "cap", "setminus", "backslash") and self.peek().kind == "cmd":
            op = self.peek().value
            self.at += 1
            left = self.node("sets", op, left, self.measured())
        return left

    def measured(self) -> tuple:
        token = self.peek()
        if token.kind == "op" and token.value in ("\x01", "€", "£", "¥", "₹"):
            self.at += 1
            value = self.sum()
            words = self.unit_words()
            return self.scaled(value, words, "$" if token.value == "\x01" else token.value)
        if token.value == "-" and self.peek(1).value in ("\x01", "€", "£", "¥", "₹"):
            self.at += 2
            value = self.sum()
            return self.scaled(self.node("neg", value), self.unit_words(), "$" if self.tokens[self.at - 1] else "")
        if token.kind == "text" and token.value.upper() in CURRENCIES and self.peek(1).kind == "num":
            self.at += 1
            value = self.sum()
            return self.scaled(value, self.unit_words(), CURRENCIES[token.value.upper()])
        if token.kind == "text" or (token.kind == "word" and token.value in ("no", "none")):
            words = []
            while self.peek().value not in ("and", "or") and (
                self.peek().kind == "text"
                or self.peek().value in ("no", "none")
                or (words and self.peek().kind == "word")
            ):
                words.append(self.peek().value)
                self.at += 1
            if self.peek().kind in ("num",) or self.peek().value in ("\x01", "cmd"):
                raise Unreadable(f"words before a value: {' '.join(words)[:40]!r}")
            return self.node("text", " ".join(words))
        value = self.sum()
        return self.scaled(value, self.unit_words(), "")

    def unit_words(self) -> str:
        """Words and their powers after a value, as text."""
        words = []
        if self.peek().kind not in ("text", "cmd", "op") and self.peek().value != "percent":
            return ""
        while True:
            token = self.peek()
            if token.value in ("and", "or"):
                break
            if token.kind == "text" or (token.kind == "word" and words):
                words.append(token.value)
                self.at += 1
            elif token.value in ("percent", "%"):
                words.append("%")
                self.at += 1
            elif token.value in ("\x01", "€", "£", "¥", "₹"):
                words.append("$" if token.value == "\x01" else token.value)
                self.at += 1
            elif words and token.value == "^":
                mark = self.at
                self.at += 1
                braced = self.take("{")
                minus = self.take("-")
                if self.peek().kind == "num" and self.peek().value in "123":
                    words.append("^" + "-" * minus + self.peek().value)
                    self.at += 1
                    if braced:
                        self.need("}")
                else:
                    self.at = mark
                    break
            elif words and token.value in ("/", "cdot") and self.peek(1).kind in ("text", "word"):
                words.append("/" if token.value == "/" else "*")
                self.at += 1
            elif words and token.value == "." and token.kind == "op":
                self.at += 1
            else:
                break
        return " ".join(words)

    def scaled(self, value: tuple, words: str, currency: str) -> tuple:
        names = words.lower().split()
        while names and names[0] in SCALES:
            value = self.node("mul", (value, ("num", Fraction(SCALES[names.pop(0)]))))
        if set(names) & REFUSED:
            raise Unreadable(f"words after a value: {words[:40]!r}")
        if len(names) > 8:
            raise Unreadable(f"a sentence after a value: {words[:40]!r}")
        rest = " ".join(names)
        if currency and unit_name(rest) != currency and "/" not in unit_name(rest):
            rest = currency
        if not rest:
            return value
        if rest in ("%", "per cent", "pct", "percentage"):
            return self.node("pct", value)
        unit = unit_name(rest)
        if unit == "deg":
            return self.node("deg", value)
        return self.node("qty", value, unit) if unit else value

    # values

    def sum(self) -> tuple:
        terms = []
        if self.take("+"):
            pass
        terms.append(self.signed())
        while True:
            if self.peek().kind == "op" and self.peek().value in "+-" and self.peek().value:
                sign = self.peek().value
                self.at += 1
                term = self.signed()
                terms.append(term if sign == "+" else self.node("neg", term))
            elif self.peek().kind == "cmd" and self.peek().value in ("pm", "mp"):
                sign = 1 if self.peek().value == "pm" else -1
                self.at += 1
                terms.append(self.node("pm", sign, self.signed()))
            else:
                break
        return terms[0] if len(terms) == 1 else self.node("add", tuple(terms))

    def signed(self) -> tuple:
        """A product, perhaps with signs before it."""
        if self.take("-"):
            return self.nested(lambda: self.node("neg", self.signed()))
        if self.take("+"):
            return self.nested(self.signed)
        if self.peek().kind == "cmd" and self.peek().value in ("pm", "mp"):
            sign = 1 if self.peek().value == "pm" else -1
            self.at += 1
            return self.nested(lambda: self.node("pm", sign, self.signed()))
        return self.product()

    def product(self) -> tuple:
        left = self.unary()
        while True:
            token = self.peek()
            op = token.value if token.kind == "op" else TIMES.get(token.value, "") if token.kind == "cmd" else ""
            if op == "*" or op == "/":
                self.at += 1
                right = self.factor_signed()
                left = self.node("mul", (left, right)) if op == "*" else self.node("div", left, right)
            elif token.kind in ("cmd", "word") and token.value in ("bmod", "mod"):
                self.at += 1
                left = self.node("fn", "mod", (left, self.factor_signed()))
            elif self.starts_factor():
                left = self.implicit(left)
            else:
                return left

    def factor_signed(self) -> tuple:
        if self.take("-"):
            return self.nested(lambda: self.node("neg", self.factor_signed()))
        if self.take("+"):
            return self.nested(self.factor_signed)
        return self.unary()

    def implicit(self, left: tuple) -> tuple:
        """A factor with no sign before it: a product, or the fraction of a mixed number."""
        token, before = self.peek(), self.tokens[self.at - 1]
        if token.kind == "num":
            after = [self.peek(k) for k in (1, 2)]
            if (
                before.kind == "num" and token.spaced and left[0] == "num" and left[1].denominator == 1
                and after[0].value == "/" and after[1].kind == "num"
            ):  # fmt: skip
                self.at += 3
                part = Fraction(_fraction(token.value), _fraction(after[1].value) or 1)
                if 0 < part < 1:
                    return self.node("num", left[1] + part)
            raise Unreadable("two numbers side by side")
        right = self.unary()
        if (
            before.kind == "num" and left[0] == "num" and left[1].denominator == 1 and token.value == "frac"
            and right[0] == "div" and right[1][0] == right[2][0] == "num" and right[2][1]
            and right[1][1].denominator == right[2][1].denominator == 1
        ):  # fmt: skip
            return self.node("num", left[1] + right[1][1] / right[2][1])
        return self.node("mul", (left, right))

    def starts_factor(self) -> bool:
        token = self.peek()
        if token.kind == "num":
            return True
        if token.kind == "word":
            return token.value not in ("and", "or", "percent", "to", "of", "is", "mod", "the", "no", "none")
        if token.kind == "op":
            return token.value in ("(", "{", "[") or (token.value == "|" and not self.bars)
        if token.kind == "cmd":
            value = token.value
            if value == "dd":
                return False
            return value in _ATOMS or value in GREEK or value in FUNCTIONS or value in ("{", "lbrace")
        return False

    def unary(self) -> tuple:
        return self.nested(self.power)

    def power(self) -> tuple:
        base = self.postfix(self.atom())
        if self.take("^", "**"):
            if self.peek().value in ("circ", "degree"):
                self.at += 1
                return self.postfix(self.node("deg", base))
            if self.peek().value == "{" and self.peek(1).value in ("circ", "degree") and self.peek(2).value == "}":
                self.at += 3
                return self.postfix(self.node("deg", base))
            exponent = self.exponent()
            return self.postfix(self.node("pow", base, exponent))
        return base

    def exponent(self) -> tuple:
        if self.take("-"):
            return self.nested(lambda: self.node("neg", self.exponent()))
        if self.take("+"):
            return self.exponent()
        return self.nested(self.power)

    def postfix(self, value: tuple) -> tuple:
        while True:
            token = self.peek()
            if token.value == "!" and token.kind == "op":
                self.at += 1
                value = self.node("fn", "factorial", (value,))
            elif token.value == "%" and token.kind == "op":
                self.at += 1
                value = self.node("pct", value)
            elif token.kind == "cmd" and token.value in ("degree", "circ"):
                self.at += 1
                value = self.node("deg", value)
            elif token.value == "_" and value[0] == "num":
                self.at += 1
                token = self.peek()
                self.at += token.kind == "num"
                base = self.node("num", _fraction(token.value)) if token.kind == "num" else self.group_or_token()
                digits = self.written(value)
                if base[0] != "num" or base[1].denominator != 1:
                    raise Unreadable("a base that is no number")
                value = self.node("base", digits, int(base[1]))
            elif token.value == "'" and value[0] == "sym":
                self.at += 1
                value = self.node("sym", value[1] + "'")
            else:
                return value

    def written(self, value: tuple) -> str:
        if value[1].denominator != 1 or value[1] < 0:
            raise Unreadable("a base under a number that is not whole")
        return str(value[1])

    def group_or_token(self) -> tuple:
        """The argument of a command: braces, or one digit, letter or command."""
        token = self.peek()
        if token.value == "{" and token.kind == "op":
            return self.braces()
        if token.kind == "num" and len(token.value) > 1 and token.value.isdigit():
            head, tail = token.value[0], token.value[1:]  # \frac12 takes one digit
            self.tokens[self.at : self.at + 1] = [Token("num", head, token.spaced), Token("num", tail, False)]
        return self.nested(self.atom)

    def braces(self) -> tuple:
        self.need("{")
        start = self.at
        value = self.nested(lambda: self.listed(("}",)))
        if self.peek().kind == "cmd" and self.peek().value in ("over", "choose"):
            how = self.peek().value
            self.at += 1
            other = self.nested(lambda: self.listed(("}",)))
            value = self.node("div", value, other) if how == "over" else self.node("fn", "binom", (value, other))
        self.need("}")
        if value[0] == "list" and self.at - start > 2:
            return self.node("set", value[1])
        return value

    def symbol(self, name: str) -> tuple:
        if self.peek().value == "_" and self.peek().kind == "op":
            self.at += 1
            if self.take("{"):
                parts, depth = [], 1
                while depth:
                    token = self.peek()
                    if token.kind == "end":
                        raise Unreadable("a subscript that is not closed")
                    depth += (token.value == "{") - (token.value == "}")
                    if depth:
                        parts.append(token.value)
                    self.at += 1
                name += "_" + "".join(parts)
            else:
                name += "_" + self.peek().value
                self.at += 1
        return self.node("sym", name)

    def atom(self) -> tuple:
        token = self.peek()
        self.at += 1
        kind, value = token.kind, token.value
        if kind == "num":
            return self.node("num", _fraction(value))
        if kind == "word":
            if value == "pi":
                return self.node("const", "pi")
            if value in ("infinity", "inf", "infty"):
                return self.node("inf")
            if value in FUNCTIONS and len(value) > 1:
                return self.function(value)
            if value == "e" or value == "i":
                if self.peek().value == "_":
                    return self.symbol(value)
                return self.node("const", value)
            if len(value) == 1:
                return self.symbol(value)
            if value in ("none", "no"):
                return self.node("text", value)
        if kind == "op":
            if value in ("(", "["):
                return self.bracketed(value, (")", "]"))
            if value == "{":
                self.at -= 1
                return self.braces()
            if value == "|":
                self.bars += 1
                inner = self.nested(self.sum)
                self.bars -= 1
                self.need("|")
                return self.node("fn", "abs", (inner,))
        if kind == "cmd":
            return self.command(value)
        raise Unreadable(f"{value!r} where a value is needed" if value else "the end where a value is needed")

    def bracketed(self, opened: str, closers: tuple) -> tuple:
        if self.peek().value in closers:
            raise Unreadable("empty brackets")
        bars, self.bars = self.bars, 0
        inner = self.nested(lambda: self.listed(closers))
        self.bars = bars
        closed = self.peek().value
        if closed not in closers:
            raise Unreadable("a bracket that is not closed")
        self.at += 1
        if inner[0] == "list":
            return self.node("seq", opened, closed, inner[1])
        if opened == "[" and closed == "]" and inner[0] == "seq":
            return self.node("seq", opened, closed, (inner,))
        return inner

    def command(self, name: str) -> tuple:
        if name == "frac":
            top = self.group_or_token()
            bottom = self.group_or_token()
            return self.node("div", top, bottom)
        if name == "sqrt":
            return self.root()
        if name in ("binom", "dbinom", "tbinom"):
            top = self.group_or_token()
            return self.node("fn", "binom", (top, self.group_or_token()))
        if name == "pi":
            return self.node("const", "pi")
        if name == "infty":
            return self.node("inf")
        if name in ("emptyset", "varnothing"):
            return self.node("empty")
        if name in ("{", "lbrace"):
            return self.set()
        if name == "langle":
            return self.bracketed("(", ("rangle",))
        if name in ("lfloor", "lceil"):
            inner = self.nested(self.sum)
            self.need("r" + name[1:])
            return self.node("fn", "floor" if name == "lfloor" else "ceil", (inner,))
        if name in ("lvert", "vert", "|", "lVert", "Vert"):
            inner = self.nested(self.sum)
            if not self.take("rvert", "vert", "|", "rVert", "Vert"):
                raise Unreadable("an absolute value that is not closed")
            return self.node("fn", "abs", (inner,))
        if name == "mathbb":
            self.take("{")
            letter = self.peek().value
            self.at += 1
            self.take("}")
            return self.node("text", f"set {letter}")
        if name in FUNCTIONS:
            return self.function(name)
        if name in ("sum", "prod"):
            return self.series(name)
        if name in ("int", "lim"):
            return self.open(name)
        if name in ("overline", "bar", "vec", "hat", "widehat", "overrightarrow", "tilde", "mathcal", "mathfrak"):
            inner = self.group_or_token()
            return self.node("sym", f"{name} {normal_form(inner)}")
        if name == "begin":
            return self.matrix()
        if name in ("angle", "triangle", "measuredangle"):
            return self.nested(self.atom)
        if name in GREEK:
            return self.symbol(name)
        if name == "mathrm":
            return self.group_or_token()
        raise Unreadable(f"the command \\{name}")

    def root(self) -> tuple:
        degree = None
        if self.peek().value == "[":
            self.at += 1
            degree = self.nested(self.sum)
            self.need("]")
        token = self.peek()
        if token.kind == "num":
            self.at += 1
            inner = self.node("num", _fraction(token.value))
        else:
            inner = self.group_or_token()
        if inner[0] in ("seq", "list", "set", "rel", "text"):
            raise Unreadable("a root of what is no value")
        return self.node("fn", "root", (inner, degree or ("num", Fraction(2))))

    def set(self) -> tuple:
        if self.take("}", "rbrace"):
            return self.node("empty")
        inner = self.nested(lambda: self.listed(("}", "rbrace", "mid", ":", "|")))
        if self.take("mid", ":", "|", "vert"):  # the condition says it all
            inner = self.nested(lambda: self.listed(("}", "rbrace")))
        if not self.take("}", "rbrace"):
            raise Unreadable("a set that is not closed")
        if inner[0] == "rel" or (inner[0] == "list" and all(item[0] == "rel" for item in inner[1])):
            return inner
        return self.node("set", inner[1] if inner[0] == "list" else (inner,))

    def function(self, name: str) -> tuple:
        name = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "lg": "log10"}.get(name, name)
        base = power = None
        for _ in range(2):
            if self.peek().value == "_" and name == "log":
                self.at += 1
                token = self.peek()
                base = self.node("num", _fraction(token.value)) if token.kind == "num" else None
                if base:
                    self.at += 1
                else:
                    base = self.group_or_token()
            elif self.peek().value in ("^", "**"):
                self.at += 1
                token = self.peek()
                power = self.group_or_token() if token.value != "-" else self.exponent()
        argument = self.argument(name)
        if name == "sqrt":
            value = self.node("fn", "root", (argument, ("num", Fraction(2))))
        elif name == "cbrt":
            value = self.node("fn", "root", (argument, ("num", Fraction(3))))
        elif name in ("gcd", "lcm", "max", "min"):
            value = self.node("fn", name, argument[3] if argument[0] == "seq" else (argument,))
        elif name == "log" and base is not None:
            value = self.node("fn", "logb", (argument, base))
        elif power == ("neg", ("num", Fraction(1))) or power == ("num", Fraction(-1)):
            inverse = {"sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot"}
            if name not in inverse:
                raise Unreadable(f"{name} to the power -1")
            return self.node("fn", inverse[name], (argument,))
        else:
            if argument[0] in ("seq", "set", "list", "rel", "text"):
                raise Unreadable(f"{name} of what is no value")
            value = self.node("fn", name, (argument,))
        return value if power is None else self.node("pow", value, power)

    def argument(self, name: str) -> tuple:
        """What a function is applied to: brackets, or the factors that follow up to the next function or sign."""
        token = self.peek()
        if token.value == "(" or (token.value == "{" and token.kind == "op"):
            value = self.nested(self.atom)
            return self.powered(value) if token.value == "{" else value
        if token.value == "-":
            self.at += 1
            return self.nested(lambda: self.node("neg", self.argument(name)))
        left = self.unary()
        while self.starts_factor():
            token = self.peek()
            if token.value in FUNCTIONS or token.value in ("(", "[", "sum", "prod", "int"):
                break
            if token.spaced and token.kind == "num":
                break
            left = self.implicit(left)
        return left

    def powered(self, value: tuple) -> tuple:
        return self.node("pow", value, self.exponent()) if self.take("^", "**") else value

    def series(self, name: str) -> tuple:
        low = high = None
        for _ in range(2):
            if self.take("_"):
                low = self.group_or_token()
            elif self.take("^"):
                token = self.peek()
                high = self.node("num", _fraction(token.value)) if token.kind == "num" else self.group_or_token()
                self.at += token.kind == "num"
        if low is None or high is None or low[0] != "rel" or low[2] != ("=",):
            raise Unreadable(f"a {name} without its bounds")
        variable = low[1][0]
        variable = variable[1] if variable[0] == "sym" or variable == ("const", "i") else None
        if variable is None:
            raise Unreadable(f"a {name} over what is no variable")
        body = self.nested(self.product)
        return self.node("sum", name, variable, low[1][1], high, body)

    def open(self, name: str) -> tuple:
        low = high = None
        for _ in range(2):
            if self.take("_"):
                low = self.limit() if name == "lim" else self.group_or_token()
            elif self.take("^"):
                high = self.exponent() if self.peek().value == "-" else self.group_or_token()
        body = self.nested(self.sum if name == "int" else self.product)
        if name == "lim":
            if low is None:
                raise Unreadable("a limit without its point")
            return self.node("open", "lim", low[0], low[1], None, body)
        self.need("dd")
        variable = self.peek()
        self.at += 1
        return self.node("open", "int", variable.value, low, high, body)

    def limit(self) -> tuple:
        self.need("{")
        variable = self.peek().value
        self.at += 1
        if not self.take("to", "rightarrow"):
            raise Unreadable("a limit without its point")
        point = self.sum()
        self.need("}")
        return variable, point

    def matrix(self) -> tuple:
        self.need("{")
        kind = ""
        while not self.take("}"):
            if self.peek().kind == "end":
                raise Unreadable("an environment without a name")
            kind += self.peek().value
            self.at += 1
        if kind == "array":
            while not self.take("}"):
                if self.peek().kind == "end":
                    raise Unreadable("an array without columns")
                self.at += 1
        if kind not in ("matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "array", "smallmatrix", "cases"):
            raise Unreadable(f"the environment {kind!r}")
        rows, row = [], []
        while True:
            if self.take("end"):
                break
            row.append(self.nested(self.part if kind == "cases" else self.sum))
            if self.take("&"):
                continue
            rows.append(tuple(row))
            row = []
            self.take("\\")
            if self.peek().kind == "end":
                raise Unreadable("an environment that is not closed")
        while not self.take("}"):
            if self.peek().kind == "end":
                raise Unreadable("an environment that is not closed")
            self.at += 1
        if kind == "vmatrix":
            return self.node("fn", "det", (self.node("matrix", tuple(rows)),))
        if kind == "cases":
            return self.node("list", tuple(item for row in rows for item in row), (",",) * (len(rows) - 1))
        if len({len(r) for r in rows}) != 1:
            raise Unreadable("a matrix with rows of different length")
        return self.node("matrix", tuple(rows))


_ATOMS = set(
    _list(
        "frac sqrt binom dbinom tbinom pi infty langle lfloor lceil lvert vert | lVert mathbb sum prod "
        "int lim overline bar vec "
        "hat widehat begin mathrm angle overrightarrow tilde emptyset varnothing"
    )
)


def _fraction(text: str) -> Fraction:
    """A written number, exactly. A huge power of ten is refused before it is worked out."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) + abs(int(exponent or 0)) > DIGITS:
        raise Limit(f"the number {text[:20]!r}")
    return Fraction(text)


def read_tree(text: str) -> tuple:
    """The tree of a cleaned text."""
    if "\\int" in text:
        text = re.sub(r"d([a-z]|\\theta)(?![A-Za-z])", r" \\dd \1", text)
    tokens = read_tokens(text)
    if not tokens:
        raise Unreadable("nothing")
    return _Parser(tokens).whole()
