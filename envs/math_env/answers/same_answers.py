# SPDX-License-Identifier: Apache-2.0
"""Equality of two answers: sets, lists, intervals, relations, units, matrices and words around values."""

import decimal
import random
import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from .limits import Limit
from .notation import LOOSE_UNITS
from .same_values import nearly, real_value, same_value
from .trees import VALUE_KINDS, free_symbols, has, infinity, is_name, normal_form
from .values import CLOSE, CONTEXT, TINY, ZERO, Exact, NotRational, Numeric, divided

_list = str.split  # of words


def _items(node: tuple) -> list[tuple]:
    """The values that an answer offers: both signs of a plus-minus, the members of a list."""
    if node[0] in ("list", "set"):
        return [value for item in node[1] for value in _items(item)]
    if node[0] == "rel" and node[2] == ("=",) and has(node, "pm"):
        return [("rel", (node[1][0], value), ("=",)) for value in _items(node[1][1])]
    if node[0] in VALUE_KINDS and has(node, "pm"):
        return [_signed(node, 1), _signed(node, -1)]
    return [node]


def _signed(node, sign: int):
    if not isinstance(node, tuple) or not node:
        return node
    if node[0] == "pm":
        inner = _signed(node[2], sign)
        return inner if node[1] * sign > 0 else ("neg", inner)
    return tuple(_signed(part, sign) if isinstance(part, tuple) else part for part in node)


def value_of(node: tuple) -> tuple[tuple | None, str]:
    """(value, name) of `name = value`, or of a chain of equal values; (None, "") for any other relation."""
    if node[0] != "rel":
        return node, ""
    sides, ops = node[1], node[2]
    if ops == ("in",):
        return sides[1], normal_form(sides[0])
    if set(ops) != {"="}:
        return None, ""
    names = [side for side in sides if is_name(side)]
    rest = [side for side in sides if not is_name(side)]
    if not rest:  # y = x, or words
        if len(sides) == 2 and sides[1][0] in ("sym", "text", "const"):
            return sides[1], normal_form(sides[0])
        return None, ""
    if any(free_symbols(name) & free_symbols(value) for name in names if name[0] == "sym" for value in rest):
        return None, ""
    for value in rest[:-1]:
        if same_answer(rest[-1], value) is not True:
            return None, ""
    if len(names) > 1 or (not names and len(rest) > 1 and free_symbols(node)):
        return (None, "") if free_symbols(rest[-1]) else (rest[-1], normal_form(names[0]) if names else "")
    return rest[-1], normal_form(names[0]) if names else ""


def pieces_of(node: tuple) -> list[tuple] | None:
    """A set of real numbers as pieces (low, low is in, high, high is in); None if it is no such set."""
    inf, minus = ("inf",), ("neg", ("inf",))
    if node[0] == "empty":
        return []
    if node[0] == "text":
        return (
            [(minus, False, inf, False)] if node[1] in ("set R", "all real numbers", "all reals", "all real") else None
        )
    if node[0] == "seq" and len(node[3]) == 2:
        return [(node[3][0], node[1] == "[", node[3][1], node[2] == "]")]
    if node[0] == "set":
        return [(item, True, item, True) for item in node[1]]
    if node[0] == "sets":
        left, right = pieces_of(node[2]), pieces_of(node[3])
        if left is None or right is None:
            return None
        if node[1] == "cup":
            return left + right
        return _meet(left, right if node[1] == "cap" else _complement(right))
    if node[0] == "list" and all(item[0] in ("rel", "seq", "sets") for item in node[1]):
        parts = [pieces_of(item) for item in node[1]]
        if any(part is None for part in parts):
            return None
        links = set(node[2]) - {","}
        if links == {"or"}:
            return [piece for part in parts for piece in part]
        meet = parts[0]
        for part in parts[1:]:
            meet = _meet(meet, part)
        return meet if meet or links else [piece for part in parts for piece in part]
    if node[0] == "rel":
        return _solved(node)
    return None


def _solved(node: tuple) -> list[tuple] | None:
    """The solutions of an inequality, or chain of them, in one variable that it holds in first degree."""
    inf, minus = ("inf",), ("neg", ("inf",))
    sides, ops = node[1], node[2]
    if ops == ("in",):
        return pieces_of(sides[1])
    if ops == ("notin",):
        inner = pieces_of(sides[1])
        return None if inner is None else _complement(inner)
    names = free_symbols(node)
    if len(names) != 1 or not set(ops) <= {"<", ">", "<=", ">=", "!=", "="} or set(ops) == {"="}:
        return None
    name = next(iter(names))
    result = [(minus, False, inf, False)]
    at = (0, 1, 2, -3, 17, -400)  # on a line at all of these is taken for a line
    for left, op, right in zip(sides, ops, sides[1:]):
        if infinity(left) or infinity(right):
            continue
        try:
            f = [Exact({name: Fraction(x)})(left) - Exact({name: Fraction(x)})(right) for x in at]
            slope = f[1] - f[0]
            if not slope or any(y != f[0] + slope * x for x, y in zip(at, f)):
                return None
            bound: tuple = ("num", -f[0] / slope)
        except (NotRational, Limit):
            if left == ("sym", name) and not free_symbols(right):
                bound, slope = right, Fraction(1)
            elif right == ("sym", name) and not free_symbols(left):
                bound, slope = left, Fraction(-1)
            else:
                return None
        if op == "=":
            part = [(bound, True, bound, True)]
        elif op == "!=":
            part = [(minus, False, bound, False), (bound, False, inf, False)]
        elif (op[0] == "<") == (slope > 0):
            part = [(minus, False, bound, len(op) == 2)]
        else:
            part = [(bound, len(op) == 2, inf, False)]
        result = _meet(result, part)
    return result


def _complement(pieces: list[tuple]) -> list[tuple]:
    result = [(("neg", ("inf",)), False, ("inf",), False)]
    for low, low_in, high, high_in in pieces:
        outside = [(("neg", ("inf",)), False, low, not low_in), (high, not high_in, ("inf",), False)]
        result = _meet(result, [p for p in outside if not (infinity(p[0]) and infinity(p[0]) == infinity(p[2]))])
    return result


class Unordered(Exception):
    """An end of an interval is no number."""


def _at(node: tuple) -> Decimal:
    value = real_value(node)
    if value is None:
        raise Unordered
    return value


def _meet(left: list[tuple], right: list[tuple]) -> list[tuple]:
    """The intersection of two sets of pieces."""
    out = []
    for a in left:
        for b in right:
            low, low_in = max((a[:2], b[:2]), key=lambda end: (_at(end[0]), not end[1]))
            high, high_in = min((a[2:], b[2:]), key=lambda end: (_at(end[0]), end[1]))
            if _at(low) < _at(high) or (_at(low) == _at(high) and low_in and high_in):
                out.append((low, low_in, high, high_in))
    return out


def _merged(pieces: list[tuple]) -> list[list]:
    """Pieces in order, those that touch made one. A reversed interval stays as it is."""
    out: list[list] = []
    for piece in sorted(map(list, pieces), key=lambda p: (_at(p[0]), not p[1])):
        if out and _at(out[-1][0]) <= _at(out[-1][2]):
            last, here = _at(out[-1][2]), _at(piece[0])
            if here < last or (here == last and (piece[1] or out[-1][3])):
                if (_at(piece[2]), piece[3]) > (last, out[-1][3]):
                    out[-1][2:] = piece[2:]
                continue
        out.append(piece)
    return out


def same_pieces(a: list[tuple], b: list[tuple]) -> bool | None:
    """Whether two lists of pieces are one set."""
    try:
        a, b = _merged(a), _merged(b)
    except Unordered:
        return None
    if len(a) != len(b):
        return False
    results = [
        False if (p[1], p[3]) != (q[1], q[3]) else _all([same_answer(p[0], q[0]), same_answer(p[2], q[2])])
        for p, q in zip(a, b)
    ]
    return _all(results)


def _all(results: Iterable) -> bool | None:
    """False beats None beats True."""
    results = list(results)
    return False if False in results else None if None in results else True


def _same_members(gold: list[tuple], found: list[tuple], as_set: bool) -> bool | None:
    """Whether two collections hold the same, in any order."""
    if len(gold) != len(found) and not as_set:
        return False
    if len(gold) * len(found) > 2500:
        raise Limit("more than 50 values")
    table = [[same_answer(g, f) for f in found] for g in gold]
    if as_set:
        rows = all(True in row for row in table)
        columns = all(True in column for column in zip(*table))
        if rows and columns:
            return True
        return None if any(None in row for row in table) else False
    free = set(range(len(found)))
    for row in table:
        match = next((k for k in sorted(free) if row[k] is True), None)
        if match is None:
            return None if None in row else False
        free.discard(match)
    return True


def same_answer(gold: tuple, found: tuple) -> bool | None:
    """Whether two answers mean the same; None if that was not found out."""
    if gold == found:
        return True
    kinds = {gold[0], found[0]}
    if "approx" in kinds:
        return _same_rounded(gold, found)
    if "qty" in kinds or "deg" in kinds or "pct" in kinds:
        return _same_quantity(gold, found)
    if "mod" in kinds:
        if gold[0] == found[0]:
            if same_answer(gold[2], found[2]) is not True:
                return False
            values = [value_of(node[1])[0] or node[1] for node in (gold, found)]
            return same_answer(("fn", "mod", (values[0], gold[2])), ("fn", "mod", (values[1], gold[2])))
        return same_answer(gold[1], found) if gold[0] == "mod" else same_answer(gold, found[1])
    if "base" in kinds and kinds <= {"base", "num"}:
        if gold[0] == found[0]:
            return gold[1:] == found[1:]
        if gold[0] == "base":
            return found[1] == int(gold[1])
    if "matrix" in kinds:
        return _same_matrix(gold, found)
    if "rel" in kinds:
        return _same_relation(gold, found)
    if "text" in kinds or "empty" in kinds:
        return _same_words(gold, found)
    if kinds & {"list", "set"} or (kinds <= VALUE_KINDS and (has(gold, "pm") or has(found, "pm"))):
        return _same_list(gold, found)
    if "sets" in kinds or kinds == {"seq", "sets"}:
        a, b = pieces_of(gold), pieces_of(found)
        return None if a is None and b is None else False if a is None or b is None else same_pieces(a, b)
    if "seq" in kinds:
        if gold[0] != found[0] or len(gold[3]) != len(found[3]):
            return False
        if len(gold[3]) == 2 and gold[1:3] != found[1:3]:
            return False
        return _all(same_answer(a, b) for a, b in zip(gold[3], found[3]))
    if kinds <= VALUE_KINDS:
        return same_value(gold, found)
    return None


def _same_rounded(gold: tuple, found: tuple) -> bool | None:
    """`2 sqrt(2) = 2.83, about`: an exact value and what it comes to; either may be the one that is wanted."""
    if found[0] == "approx":
        exact, rounded = found[1], found[2]
        value = value_of(exact)[0]
        ends = [real_value(_split_unit(node)[0]) for node in (value or exact, rounded)]
        if value is None or value[0] == "num" or None in ends or abs(ends[0] - ends[1]) > abs(ends[0]) / 20:
            return False
        found = exact if same_answer(gold, rounded) is not True else rounded
    if gold[0] == "approx":
        return same_answer(gold[1], found) or same_answer(gold[2], found)
    return same_answer(gold, found)


def _same_list(gold: tuple, found: tuple) -> bool | None:
    a, b = _items(gold), _items(found)
    if len(a) == 1 and gold[0] in VALUE_KINDS and found[0] == "list":  # one value, written more than once
        return _all(same_answer(gold, item) for item in b)
    if found[0] == "list" and (gold[0] == "seq" or (gold[0] != "list" and pieces_of(found) and gold[0] == "sets")):
        if gold[0] == "seq" and all(item[0] != "rel" for item in found[1]):
            return len(gold[3]) == len(found[1]) and _all(same_answer(x, y) for x, y in zip(gold[3], found[1]))
        if gold[0] == "seq" and all(item[0] == "rel" and item[2] == ("=",) for item in found[1]):
            return _same_point(gold, found)
    if gold[0] == "list" and found[0] == "seq":
        if all(item[0] != "rel" for item in gold[1]):
            return len(gold[1]) == len(found[3]) and _all(same_answer(x, y) for x, y in zip(gold[1], found[3]))
        if all(item[0] == "rel" and item[2] == ("=",) for item in gold[1]):
            return _same_point(found, gold)
    named = _same_named(gold, found)
    if named is not NotImplemented:
        return named
    pieces = [pieces_of(node) for node in (gold, found)]
    if None not in pieces and any(item[0] in ("rel", "sets") for item in (*a, *b)):
        return same_pieces(*pieces)
    if "set" in (gold[0], found[0]) and {gold[0], found[0]} & {"seq", "sets"}:
        return False if "seq" in (gold[0], found[0]) or None in pieces else same_pieces(*pieces)
    values = [[value_of(item) for item in side] for side in (a, b)]
    for side in values:  # x = 1, 2 names both
        if any(value is None for value, _ in side):
            return False
    names = [{name for _, name in side if name} for side in values]
    if all(names) and len(names[0]) == len(names[1]) == 1 and _clash(*names[0], *names[1]):
        return False
    one, other = ([value for value, _ in side] for side in values)
    return _same_members(one, other, as_set="set" in (gold[0], found[0]))


def _same_point(point: tuple, named: tuple) -> bool | None:
    """Whether (2, 3) is x = 2, y = 3: the names in their alphabetical order."""
    pairs = sorted((name, value) for value, name in map(value_of, named[1]) if value is not None and name)
    if len(pairs) != len(point[3]) or len({name for name, _ in pairs}) != len(pairs):
        return False
    return _all(same_answer(value, item) for (_, value), item in zip(pairs, point[3]))


def _same_named(gold: tuple, found: tuple):
    """Compare `x = 2, y = 3` by name; NotImplemented if the two are not of that form."""
    sides = []
    for node in (gold, found):
        if node[0] != "list" or len(node[1]) < 2:
            return NotImplemented
        pairs = [value_of(item) for item in node[1]]
        names = [name for _, name in pairs]
        if any(value is None or not name for value, name in pairs) or len(set(names)) < len(names):
            return NotImplemented
        sides.append({name: value for value, name in pairs})
    if sides[0].keys() != sides[1].keys():
        return False
    return _all(same_answer(sides[0][name], sides[1][name]) for name in sides[0])


def _clash(a: str, b: str) -> bool:
    """Whether two names of a value are different variables."""
    simple = re.compile(r"sym\(([A-Za-z]|[a-z]+)(?:_\w+)?\)")
    one, two = simple.fullmatch(a), simple.fullmatch(b)
    return bool(one and two and one[1].lower() != two[1].lower())


def _same_relation(gold: tuple, found: tuple) -> bool | None:
    values = [value_of(node) for node in (gold, found)]
    if gold[0] == found[0] == "rel":
        if values[0][0] is not None and values[1][0] is not None:
            if not _clash(values[0][1], values[1][1]):
                same = same_answer(values[0][0], values[1][0])
                if (
                    same is not False
                    or set(gold[2] + found[2]) != {"="}
                    or not {values[0][0][0], values[1][0][0]} <= VALUE_KINDS
                ):
                    return same
            elif not free_symbols(values[0][0]) and not free_symbols(values[1][0]):
                return False
        if set(gold[2]) == set(found[2]) == {"="}:
            return _same_equation(gold, found)
        pieces = [pieces_of(node) for node in (gold, found)]
        if None not in pieces:
            return same_pieces(*pieces) and len({*free_symbols(gold), *free_symbols(found)}) <= 1
        if "=" not in gold[2] + found[2] and len(gold[2]) == len(found[2]) == 1:
            same = _same_equation(gold, found)
            if same or pieces == [None, None]:
                return same
        return _same_solutions(pieces, gold, found)
    relation, other = (gold, found) if gold[0] == "rel" else (found, gold)
    value = value_of(relation)[0]
    if value is not None:
        return same_answer(value, found) if relation is gold else same_answer(gold, value)
    pieces = pieces_of(relation)
    if pieces is not None:
        others = pieces_of(other)
        return False if others is None else same_pieces(pieces, others)
    return _same_solutions([pieces_of(gold), pieces_of(found)], gold, found)


def _same_solutions(pieces: list, gold: tuple, found: tuple) -> bool | None:
    """Whether an inequality that is not solved here, such as |x| < 1, holds exactly on a set of pieces: at the ends of
    the pieces, close to them, and at other points."""
    if (pieces[0] is None) == (pieces[1] is None):
        return False
    known, relation = (pieces[1], gold) if pieces[0] is None else (pieces[0], found)
    names = sorted(free_symbols(relation))
    if relation[0] != "rel" or len(names) != 1 or not set(relation[2]) <= {"<", ">", "<=", ">=", "!="}:
        return False
    seed, points = random.Random("members"), []
    for end in {end for piece in known for end in (_at(piece[0]), _at(piece[2])) if end.is_finite()}:
        points += [end + sign * Decimal(d) for d in ("0", "1e-9", "0.001", "0.3", "1", "7", "90") for sign in (-1, 1)]
    points += [Decimal(seed.randrange(-500_000, 500_000)) / 9973 for _ in range(40)]
    sides, ops = relation[1], relation[2]
    with decimal.localcontext(CONTEXT):
        for point in points:
            member = any(
                (_at(low) < point or (low_in and _close_reals(_at(low), point)))
                and (point < _at(high) or (high_in and _close_reals(_at(high), point)))
                and (low_in or not _close_reals(_at(low), point))
                and (high_in or not _close_reals(_at(high), point))
                for low, low_in, high, high_in in known
            )
            try:
                values = [Numeric({names[0]: point})(side) for side in sides]
                real = all(abs(value[1]) < TINY for value in values)
                holds = real and all(_holds(a[0], op, b[0]) for a, op, b in zip(values, ops, values[1:]))
            except (NotRational, ArithmeticError, ValueError):
                holds = False
            if holds != member:
                return False
    return True


def _close_reals(a: Decimal, b: Decimal) -> bool:
    return a == b or (a.is_finite() and b.is_finite() and nearly((a, ZERO), (b, ZERO)))


def _holds(a: Decimal, op: str, b: Decimal) -> bool:
    if _close_reals(a, b) or abs(a - b) < CLOSE:
        return "=" in op and op != "!="
    return op == "!=" or (a < b) == (op[0] == "<")


_FLIP = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _same_equation(gold: tuple, found: tuple) -> bool | None:
    """Whether two equations or inequalities hold for the same points: their sides' differences are proportional."""
    if len(gold[1]) != 2 or len(found[1]) != 2:
        return False
    names = sorted(free_symbols(gold) | free_symbols(found))
    if not names or free_symbols(gold) != free_symbols(found):
        return False
    differences = [("add", (node[1][0], ("neg", node[1][1]))) for node in (gold, found)]
    if any(has(side, "text", "seq", "set", "list") for side in differences):
        return None if normal_form(gold) != normal_form(found) else True
    seed, ratio, agreed = random.Random("line"), None, 0
    with decimal.localcontext(CONTEXT):
        for _ in range(9):
            env = {name: Decimal(seed.randrange(3_000, 50_000)) / 9973 for name in names}
            try:
                a, b = (Numeric(env)(d) for d in differences)
                here = divided(b, a)
            except (NotRational, ArithmeticError, ValueError):
                continue
            if abs(here[0]) + abs(here[1]) < CLOSE or (ratio is not None and not nearly(ratio, here)):
                return False
            ratio = here
            agreed += 1
            if agreed == 4:
                break
    if agreed < 3 or ratio is None:
        return None
    ops = [node[2][0] for node in (gold, found)]
    if set(ops) <= {"=", "!="}:
        return ops[0] == ops[1]
    if abs(ratio[1]) > CLOSE:
        return False
    return ops[0] == (ops[1] if ratio[0] > 0 else _FLIP.get(ops[1]))


def _same_quantity(gold: tuple, found: tuple) -> bool | None:
    """Values with units: a unit may be left out, but must not differ."""
    (a, unit_a), (b, unit_b) = (_split_unit(node) for node in (gold, found))
    if unit_a and unit_b and unit_a != unit_b:
        if unit_a in LOOSE_UNITS or unit_b in LOOSE_UNITS or "" != _loose(unit_a) == _loose(unit_b):
            return same_answer(a, b)
        return False
    if {unit_a, unit_b} == {"deg", ""}:  # pi/6 is 30 degrees, a bare 30 too
        bare, angle = (a, ("deg", b)) if unit_b else (b, ("deg", a))
        if bare[0] in VALUE_KINDS and _has_pi(bare) and angle[1][0] in VALUE_KINDS:
            return same_value(bare, angle)
    if unit_a == unit_b or "%" not in (unit_a, unit_b):
        return same_answer(a, b)
    bare = b if unit_a == "%" else a
    percent = a if unit_a == "%" else b
    hundredth = ("div", percent, ("num", Fraction(100)))
    if same_answer(*((hundredth, bare) if unit_a == "%" else (bare, hundredth))):
        return True
    value = real_value(bare)  # a bare 28 for 28 %; a bare 0.5 is the number itself
    return bool(value is not None and abs(value) > 1 and same_answer(a, b))


def _has_pi(node: tuple) -> bool:
    return "const(pi)" in normal_form(node)


def _loose(unit: str) -> str:
    return " ".join(sorted(re.sub(r"\W", " ", unit).split()))


def _split_unit(node: tuple) -> tuple[tuple, str]:
    if node[0] == "qty":
        return node[1], node[2]
    if node[0] in ("pct", "deg"):
        return node[1], "%" if node[0] == "pct" else "deg"
    if node[0] == "rel":
        value, _ = value_of(node)
        return (node, "") if value is None or value is node else _split_unit(value)
    return node, ""


def _same_matrix(gold: tuple, found: tuple) -> bool | None:
    rows = []
    for node in (gold, found):
        node = value_of(node)[0] or node
        if node[0] == "matrix":
            rows.append(node[1])
        elif node[0] == "seq" and all(item[0] == "seq" for item in node[3]):
            rows.append(tuple(item[3] for item in node[3]))
        elif node[0] == "seq" and node[1] == "(":  # a point for a column
            rows.append(tuple((item,) for item in node[3]))
        else:
            return False
    if [len(row) for row in rows[0]] != [len(row) for row in rows[1]]:
        return False
    return _all(same_answer(a, b) for x, y in zip(*rows) for a, b in zip(x, y))


def _same_words(gold: tuple, found: tuple) -> bool | None:
    """Words, names of sets, and 'no solution'."""
    if "empty" in (gold[0], found[0]):
        other = found if gold[0] == "empty" else gold
        return other[0] == "empty" or (other[0] == "text" and bare_words(other[1]) in NO_SOLUTION)
    pieces = [pieces_of(node) for node in (gold, found)]
    if None not in pieces:
        return same_pieces(*pieces)
    if gold[0] == found[0]:
        return bare_words(gold[1]) == bare_words(found[1])
    if gold[0] == "text":
        other = found
    else:
        other = gold
    number = number_word(bare_words((gold if gold[0] == "text" else found)[1]))
    if number is not None and other[0] in VALUE_KINDS:
        return same_value(("num", Fraction(number)), other)
    return False


NO_SOLUTION = {
    "no solution", "no solutions", "no real solution", "no real solutions", "none", "empty set",
    "no such number", "no such numbers exist", "no solution exists", "does not exist", "no values", "no value",
}  # fmt: skip
_ARTICLES = re.compile(r"^(?:(?:it|that|this|he|she|answer)\s+(?:is|was)\s+|(?:is|on|in|at|the|an|a)\s+)+(?=\w)")


def bare_words(text: str) -> str:
    """The words of an answer in lower case, without markup, punctuation and leading articles."""
    text = re.sub(r"\\(?:text|mathrm|textbf|mathbf|textit|mbox|emph)\b|\\[ ,;!]", " ", text)
    text = re.sub(r"[^\w+/-]+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()
    return _ARTICLES.sub("", text)


_ONES = _list(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = dict(zip(_list("twenty thirty forty fifty sixty seventy eighty ninety"), range(20, 100, 10)))


def number_word(words: str) -> int | None:
    """The number that one or two words spell, from zero to ninety-nine."""
    parts = words.replace("-", " ").split()
    if len(parts) == 1:
        return _ONES.index(parts[0]) if parts[0] in _ONES else _TENS.get(parts[0])
    if len(parts) == 2 and parts[0] in _TENS and parts[1] in _ONES[1:10]:
        return _TENS[parts[0]] + _ONES.index(parts[1])
    return None
