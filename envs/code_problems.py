r"""Procedural programming problems: chains of typed building blocks, each problem proved before it is handed out.

Standard library only; `code_env.py` makes its rows from these problems, and the file works alone.

>>> problem = draw(1, seed=16)[0]
>>> print(problem.statement)
Write f(s) for a string s: drop the first character, then swap upper and lower case. Return the result.
>>> print(problem.solution)
def f(s): return s[1:].swapcase()
>>> problem.proof.killed >= 3
True

A problem is a composition: blocks in a row, each taking the type that the one before it gives. Its tests are inputs,
drawn and at the boundaries, with what the reference makes of them. `Proof` says what was tried against them. All code
that runs here is this file's own, so it runs in this process.
"""

import ast
import random
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from functools import cache
from hashlib import sha256
from typing import NamedTuple

SPLITS = ("train", "validation", "test")
DIFFICULTIES = ("easy", "medium", "hard")
KINDS = ("function", "program", "class")


class Block(NamedTuple):
    """A step from a value of one type to a value of another."""

    name: str
    takes: str
    gives: str
    level: int  # 0 easy, 1 medium, 2 hard
    code: str  # an expression in {x} and {k}, or lines that end in an assignment to {y}
    says: tuple[str, ...]  # what to do, in several wordings
    noun: str = ""  # the result as a phrase that ends in {x}, where one reads well
    values: tuple = ()  # for {k}
    compare: str = "eq"  # how its result is to be compared when it is the last step


class Proof(NamedTuple):
    """What the tests of a problem were tried on."""

    trivial: tuple[str, ...]  # solutions that do not do the task; each fails
    killed: int  # mutants of the reference that fail
    mutants: int  # mutants that were tried


class Problem(NamedTuple):
    """A problem with its tests. Tests are pairs (arguments, expected); (stdin, stdout) for a program."""

    blocks: tuple[str, ...]
    kind: str
    difficulty: str
    split: str
    entry_point: str  # empty for a program
    statement: str
    examples: tuple[tuple, ...]  # public
    tests: tuple[tuple, ...]  # hidden
    comparison: str
    solution: str
    proof: Proof
    fingerprint: str  # the same for two problems that ask for the same function


# --- types -----------------------------------------------------------------------------------------------

_NAMES = {
    "ints": "xs", "strs": "words", "str": "s", "int": "n", "dict": "d", "date": "day", "dates": "days",
    "moves": "moves", "bool": "result", "float": "result",
}  # fmt: skip
_ABOUT = {
    "ints": "a list of integers xs",
    "strs": "a list of words",
    "str": "a string s",
    "int": "a whole number n (0 or more)",
    "dict": "a dict d from names to integers",
    "date": "a date day, as text YYYY-MM-DD",
    "dates": "a list days of dates, as text YYYY-MM-DD",
    "moves": "a string moves of letters U, D, L and R (one step up, down, left or right on a grid)",
}
_split = str.split
_WORDS = _split(
    "apple river stone cloud level noon green tiger otter moon sun a kayak paper oak plum ice echo robot civic tree "
    "eel banana window orange ink up it on sea door radar lemon umbrella east"
)
_PEOPLE = ("Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Ivy")
_TEXTS = (
    "", "a", "Hello World", "level", "racecar", "aaa", "Zebra crossing 42", "The quick brown fox", "x1y22z333", "noon",
    "UPPER lower", "a b c d", "banana", "I see 3 eels", "Queue of 8 bees", "1234", "Oh no", "tea", "eieio", "sky high",
)  # fmt: skip
_EDGES = {
    "ints": ([], [0], [5], [-3], [1, 2, 3, 4, 5, 6], [4, 4, 4], [-2, -7, -2], [9, 7, 5, 3, 1], [2, 2, 3, 3, 3, 8]),
    "strs": ([], ["a"], ["tree", "tree"], ["noon", "oak", "eel"], ["ice", "apple", "ink", "apple"]),
    "str": ("", "a", "aaa", "Hello World", "x1y22z333", "level"),
    "int": (0, 1, 2, 7, 10, 12),
    "dict": ({}, {"Bo": 3}, {"Ada": 5, "Bo": 5}, {"Cy": -2, "Ada": 0}),
    "date": ("2024-02-29", "2023-12-31", "2000-01-01", "1900-03-01", "2025-02-28"),
    "dates": ([], ["2024-02-29"], ["2023-12-31", "2024-01-01"], ["2025-05-05", "2025-05-05"]),
    "moves": ("", "U", "LR", "UUDD", "RRR", "URDL"),
}  # fmt: skip


def _date(rng: random.Random) -> str:
    return (date(1998, 1, 1) + timedelta(days=rng.randrange(12_000))).isoformat()


def _near(rng: random.Random) -> list[str]:
    start = date.fromisoformat(_date(rng))
    return [(start + timedelta(days=rng.randrange(-40, 40))).isoformat() for _ in range(rng.randint(2, 5))]


def _text(rng: random.Random) -> str:
    if rng.random() < 0.4:
        return rng.choice(_TEXTS)
    words = [rng.choice(_WORDS) for _ in range(rng.randint(1, 4))]
    words = [rng.choice((w, w, w.upper(), w.capitalize(), w + str(rng.randint(0, 99)))) for w in words]
    return " ".join(words)


_DRAWS: dict[str, Callable] = {
    "ints": lambda rng: [rng.randint(-9, rng.choice((9, 20, 40))) for _ in range(rng.randint(2, 7))],
    "strs": lambda rng: [rng.choice(_WORDS) for _ in range(rng.randint(2, 7))],
    "str": _text,
    "int": lambda rng: rng.randint(0, 60),
    "dict": lambda rng: {name: rng.randint(-5, 20) for name in rng.sample(_PEOPLE, rng.randint(1, 5))},
    "date": _date,
    "dates": _near,
    "moves": lambda rng: "".join(rng.choices("UDLR", k=rng.randint(2, 10))),
}


# --- building blocks -------------------------------------------------------------------------------------

BLOCKS: dict[str, Block] = {}


def _block(name, takes, gives, level, code, says, noun="", values=(), compare="eq") -> None:
    """Register a block; `says` holds its wordings, separated by |."""
    assert name not in BLOCKS, name
    BLOCKS[name] = Block(name, takes, gives, level, code, tuple(says.split("|")), noun, values, compare)


# fmt: off
def _lists() -> None:
    def keep(name, level, test, what, values=()):
        _block(f"keep_{name}", "ints", "ints", level, f"[x for x in {{x}} if {test}]",
               f"keep only the {what}|throw away all but the {what}|filter for the {what}", f"the {what} among {{x}}",
               values)

    def each(name, level, value, says, noun="", values=()):
        _block(f"{name}_each", "ints", "ints", level, f"[{value} for x in {{x}}]", says, noun, values)

    keep("even", 0, "x % 2 == 0", "even numbers")
    keep("odd", 0, "x % 2 == 1", "odd numbers")
    keep("positive", 0, "x > 0", "numbers greater than 0")
    keep("negative", 0, "x < 0", "numbers less than 0")
    keep("above", 0, "x > {k}", "numbers greater than {k}", (2, 3, 5, 8))
    keep("below", 0, "x < {k}", "numbers less than {k}", (3, 4, 6, 10))
    keep("multiples", 0, "x % {k} == 0", "multiples of {k}", (3, 4, 5))
    keep("two_digits", 1, "9 < abs(x) < 100", "numbers with exactly two digits")
    each("add", 0, "x + {k}", "add {k} to each number|increase every number by {k}", "", (1, 2, 3, 5, 10))
    each("times", 0, "x * {k}", "multiply each number by {k}|replace every number by {k} times itself", "", (2, 3, 10))
    each("square", 0, "x * x", "square each number|replace every number by its square", "the squares of {x}")
    each("negate", 0, "-x", "flip the sign of each number|negate every number", "the negatives of {x}")
    each("abs", 0, "abs(x)", "take the absolute value of each number|drop every minus sign",
         "the absolute values of {x}")
    each("cap", 1, "min(x, {k})", "replace every number above {k} by {k}|cap each number at {k}", "", (4, 6, 9))
    each("mod", 1, "x % {k}", "replace each number by its remainder modulo {k} (0 to {k} - 1, as % gives it)"
         "|reduce every number modulo {k} (0 to {k} - 1, as % gives it)", "", (3, 4, 7))
    each("digit_sum", 1, "sum(map(int, str(abs(x))))",
         "replace each number by the sum of its digits, ignoring the sign|turn every number into its digit sum (signs "
         "do not matter)", "the digit sums (signs ignored) of {x}")
    each("halve", 1, "x // 2", "halve each number, rounding down|integer-divide every number by 2, rounding down")

    def whole(name, level, code, says, noun="", values=(), gives="ints", compare="eq"):
        _block(name, "ints", gives, level, code, says, noun, values, compare)

    whole("sort_up", 0, "sorted({x})", "sort in ascending order|sort from smallest to largest",
          "the ascending order of {x}")
    whole("sort_down", 0, "sorted({x}, reverse=True)", "sort in descending order|sort from largest to smallest",
          "the descending order of {x}")
    whole("reverse", 0, "{x}[::-1]", "reverse the order|turn the list around", "the reverse of {x}")
    whole("first_k", 0, "{x}[:{k}]", "keep only the first {k} numbers|cut the list after {k} numbers",
          "the first {k} of {x}", (2, 3, 4))
    whole("last_k", 0, "{x}[-{k}:]", "keep only the last {k} numbers|cut the list down to its last {k} numbers",
          "the last {k} of {x}", (2, 3, 4))
    whole("drop_first", 0, "{x}[1:]", "drop the first number|leave out the first number")
    whole("drop_last", 0, "{x}[:-1]", "drop the last number|leave out the last number")
    whole("every_second", 0, "{x}[::2]", "keep every second number, starting with the first"
          "|take the numbers at positions 0, 2, 4 and so on")
    whole("distinct", 0, "sorted(set({x}))", "remove duplicates and sort in ascending order"
          "|list each different value once, in ascending order")
    whole("any_order", 1, "sorted(set({x}))", "list the different values, each once, in any order"
          "|collect each different value once (the order is up to you)", compare="unordered")
    whole("unique", 1, "list(dict.fromkeys({x}))", "remove repeated numbers, keeping the first of each"
          "|drop every number that occurred before")
    whole("running_total", 1, "list(accumulate({x}))", "replace each number by the sum of all numbers up to it"
          "|take the running totals", "the running totals of {x}")
    whole("running_max", 1, "list(accumulate({x}, max))", "replace each number by the largest number up to it"
          "|take the running maximum", "the running maxima of {x}")
    whole("differences", 1, "[b - a for a, b in zip({x}, {x}[1:])]",
          "take the differences between neighbours (each number minus the one before it)"
          "|list how much each number exceeds the one before it", "the differences of neighbours in {x}")
    whole("neighbour_sums", 1, "[a + b for a, b in zip({x}, {x}[1:])]",
          "take the sums of neighbours (each number plus the one after it)|add every number to the one after it, the "
          "last having none", "the sums of neighbours in {x}")
    whole("rotate", 1, "{x}[{k}:] + {x}[:{k}]", "move the first {k} numbers to the end"
          "|rotate the list to the left by {k}, a list of at most {k} numbers staying as it is",
          "", (1, 2, 3))
    whole("by_position", 1, "[i * x for i, x in enumerate({x})]",
          "multiply each number by its position, counting from 0"
          "|weight every number with its index (the first has index 0)")
    whole("sort_abs", 1, "sorted({x}, key=abs)", "sort by absolute value, smallest first, ties in their order"
          "|order by distance from 0, nearest first, equal distances staying as they are")
    whole("group_sums", 1, "[sum({x}[i:i + {k}]) for i in range(0, len({x}), {k})]",
          "split into groups of {k} from the left (the last may be shorter) and take the sum of each group"
          "|replace each run of {k} numbers, from the left, by its sum (a shorter rest counts as a run)",
          "", (2, 3))
    whole("peaks", 2, "[b for a, b, c in zip({x}, {x}[1:], {x}[2:]) if a < b > c]",
          "keep only the peaks: numbers with a neighbour on both sides, both smaller"
          "|keep the inner numbers that are greater than both neighbours")
    whole("run_lengths", 2, "[len(list(run)) for _, run in groupby({x})]",
          "replace each run of equal neighbours by its length|list how long each stretch of equal numbers is")
    whole("sort_digits", 2, "sorted({x}, key=lambda v: (sum(map(int, str(abs(v)))), v))",
          "sort by digit sum (signs ignored), equal digit sums by value"
          "|order by the sum of the digits, ignoring signs, and by value among equals")

    def into(gives, name, level, code, says, noun="", values=(), compare="eq"):
        _block(name, "ints", gives, level, code, says, noun, values, compare)

    into("int", "sum", 0, "sum({x})", "take the sum|add everything up", "the sum of {x}")
    into("int", "count", 0, "len({x})", "count the numbers|take the number of elements", "the number of {x}")
    into("int", "max", 0, "max({x}, default=0)", "take the largest number (0 if there is none)"
         "|take the maximum, or 0 of nothing", "the largest (0 if there is none) of {x}")
    into("int", "min", 0, "min({x}, default=0)", "take the smallest number (0 if there is none)"
         "|take the minimum, or 0 of nothing", "the smallest (0 if there is none) of {x}")
    into("int", "first", 0, "next(iter({x}), 0)", "take the first number (0 if there is none)"
         "|pick the number in front, or 0 from an empty list", "the first (0 if there is none) of {x}")
    into("int", "last", 0, "([0] + {x})[-1]", "take the last number (0 if there is none)"
         "|pick the number at the end, or 0 from an empty list", "the last (0 if there is none) of {x}")
    into("int", "count_distinct", 0, "len(set({x}))", "count the different values|take the number of distinct values",
         "the number of different values among {x}")
    into("str", "join_numbers", 0, "{k}.join(map(str, {x}))", "join the numbers with {k} into one string"
         "|write the numbers as one string with {k} between them", "", ("-", ",", "+"))
    into("bool", "any_negative", 0, "any(x < 0 for x in {x})", "tell whether any number is negative (True or False)"
         "|return True if there is a negative number, else False")
    into("bool", "all_even", 0, "all(x % 2 == 0 for x in {x})", "tell whether all numbers are even (True or False)"
         "|return False if there is an odd number, else True")
    into("bool", "contains", 0, "{k} in {x}", "tell whether {k} is among the numbers (True or False)"
         "|return True if the list holds {k}, else False", "", (3, 4, 6))
    into("int", "count_above", 1, "sum(x > {k} for x in {x})", "count the numbers greater than {k}"
         "|take how many numbers exceed {k}", "the number of values above {k} among {x}", (4, 6, 9))
    into("int", "spread", 1, "max({x}, default=0) - min({x}, default=0)",
         "take the difference between the largest and the smallest number (0 if there is none)"
         "|take the spread, largest minus smallest, which is 0 for an empty list")
    into("int", "second", 1, "(sorted(set({x}))[-2:-1] or [0])[0]",
         "take the second largest of the different values (0 if there are fewer than two)"
         "|pick the runner-up among the distinct values, or 0 without one")
    into("int", "middle", 1, "([0] + {x})[(len({x}) + 1) // 2]",
         "take the middle number (the left one of two middle ones, 0 if there is none)"
         "|pick the number half-way through, the left of two, or 0 from an empty list")
    into("int", "commonest", 1, "min({x}, key=lambda v: (-{x}.count(v), v), default=0)",
         "take the most frequent number (the smallest of several, 0 if there is none)"
         "|pick the number that occurs most often, among equals the smallest, or 0 from nothing")
    into("int", "product", 1, "prod({x})", "multiply all numbers together (1 if there is none)"
         "|take the product, which is 1 for an empty list")
    into("float", "average", 1, "sum({x}) / len({x}) if {x} else 0.0", "take the average (0 if there is none)"
         "|take the arithmetic mean, or 0 of nothing", compare="approx")
    into("bool", "is_sorted", 1, "{x} == sorted({x})", "tell whether it is in ascending order, ties allowed (True or "
         "False)|return True if no number is smaller than the one before it, else False")
    into("bool", "has_repeats", 1, "len(set({x})) < len({x})", "tell whether any number occurs twice (True or False)"
         "|return True if two numbers are the same, else False")
    into("strs", "bars", 1, "['*' * x for x in {x} if x > 0]", "draw each number above 0 as that many * signs, leaving "
         "out the rest|turn every positive number into a string of that many stars and drop the others")
    into("int", "longest_run", 2, "max((len(list(run)) for _, run in groupby({x})), default=0)",
         "take the length of the longest run of equal neighbours (0 if there is none)"
         "|count the numbers in the longest stretch of equal numbers, 0 for an empty list")


def _simulations() -> None:
    def simulate(name, takes, gives, code, says, values=()):
        _block(name, takes, gives, 2, code, says, "", values)

    simulate("account", "ints", "int",
        "total = 0\nfor x in {x}:\n    if total + x >= 0:\n        total += x\n{y} = total",
        "take them in turn as deposits and (if negative) withdrawals on an account that starts at 0, skipping each "
        "withdrawal that would take the balance below 0, and take the final balance"
        "|book them one by one on an account of 0, refusing whatever would make the balance negative, and take what is "
        "on it in the end")
    simulate("tank", "ints", "ints",
        "level, levels = 0, []\nfor x in {x}:\n    level = min({k}, max(0, level + x))\n    levels.append(level)\n"
        "{y} = levels",
        "pour them in turn into (if negative, out of) a tank that is empty at first and holds from 0 to {k}, the rest "
        "being lost, and list the level after each|let a level start at 0, change by each number in turn but stay "
        "between 0 and {k}, and list it after each change", (5, 8, 10))
    simulate("stack", "ints", "ints",
        "stack = []\nfor x in {x}:\n    if x > 0:\n        stack.append(x)\n    elif stack:\n        stack.pop()\n"
        "{y} = stack",
        "go through them with an empty stack: push a number above 0, for any other pop the top if there is one; take "
        "the stack from bottom to top|play them on a stack, where a positive number goes on top and any other number "
        "removes the top one if there is one, and list what is left from the bottom up")
    simulate("circle", "ints", "ints",
        "circle, order, at = list({x}), [], 0\nfor left in range(len({x}), 0, -1):\n    at = (at + {k} - 1) % left\n"
        "    order.append(circle.pop(at))\n{y} = order",
        "stand them in a circle and count off from the first: the one counted {k} leaves, and counting starts "
        "again at 1 with "
        "the one after it, until none is left; list them in the order of leaving|count 1 to {k} again and again around "
        "a circle of them, starting at the first; whoever is counted {k} leaves at once; list them as they leave",
        (2, 3))
    simulate("merge", "ints", "ints",
        "kept = []\nfor x in {x}:\n    if kept and kept[-1] == x:\n        kept[-1] = 2 * x\n    else:\n"
        "        kept.append(x)\n{y} = kept",
        "go from left to right and keep each number, but when it equals the last one kept, double that one instead"
        "|slide them together from the left: a number that equals the last kept one merges with it into their sum, any "
        "other is kept behind it")
    simulate("lift", "ints", "int", "{y} = sum(abs(b - a) for a, b in zip([0] + {x}, {x}))",
        "let a lift start at floor 0 and stop at these floors in turn, and take the number of floors it travels"
        "|add up the distances of a walk on the number line that starts at 0 and visits the numbers in order")
    simulate("bubble", "ints", "ints",
        "row = list({x})\nfor i in range(len(row) - 1):\n    if row[i] > row[i + 1]:\n"
        "        row[i], row[i + 1] = row[i + 1], row[i]\n{y} = row",
        "go once from left to right and swap each two neighbours of which the left one is greater"
        "|make one pass of bubble sort, left to right")
    simulate("best_stretch", "ints", "int",
        "best = here = 0\nfor x in {x}:\n    here = max(0, here + x)\n    best = max(best, here)\n{y} = best",
        "take the largest sum that numbers standing next to each other have (0 if none is above 0)"
        "|find the stretch of neighbours with the greatest sum and take that sum, at least 0")
    simulate("profit", "ints", "int",
        "best, low = 0, None\nfor x in {x}:\n    low = x if low is None else min(low, x)\n"
        "    best = max(best, x - low)\n"
        "{y} = best",
        "take them as prices over time and take the largest gain from buying once and selling later (0 without a gain)"
        "|find the greatest rise from a number to a later one, 0 if there is none")
    simulate("streak", "ints", "int",
        "best = here = 0\nfor x in {x}:\n    here = here + 1 if x > 0 else 0\n    best = max(best, here)\n{y} = best",
        "take the length of the longest streak of numbers above 0|count the most positive numbers in a row")
    simulate("walk", "moves", "ints",
        "x = y = 0\nfor c in {x}:\n    x += (c == 'R') - (c == 'L')\n    y += (c == 'U') - (c == 'D')\n{y} = [x, y]",
        "start at [0, 0] and take the final position as [x, y], x growing to the right and y upwards"
        "|follow the moves from [0, 0] (R adds 1 to x, U adds 1 to y) and take the end as a list [x, y]")
    simulate("distances", "moves", "ints",
        "x = y = 0\nfar = []\nfor c in {x}:\n    x += (c == 'R') - (c == 'L')\n    y += (c == 'U') - (c == 'D')\n"
        "    far.append(abs(x) + abs(y))\n{y} = far",
        "list after each move how many steps the start is away (steps across plus steps up or down)"
        "|after every move note the distance to the start, horizontal plus vertical")
    simulate("visited", "moves", "int",
        "x = y = 0\nseen = {(0, 0)}\nfor c in {x}:\n    x += (c == 'R') - (c == 'L')\n"
        "    y += (c == 'U') - (c == 'D')\n"
        "    seen.add((x, y))\n{y} = len(seen)",
        "count the different squares that are visited, the start included"
        "|take the number of distinct grid squares touched, counting the start")
    simulate("fenced", "moves", "ints",
        "x = y = 0\nfor c in {x}:\n    x = min({k}, max(0, x + (c == 'R') - (c == 'L')))\n"
        "    y = min({k}, max(0, y + (c == 'U') - (c == 'D')))\n{y} = [x, y]",
        "start at [0, 0] on a board whose x and y go from 0 to {k}, ignore moves that would leave it, and take "
        "the final "
        "position as [x, y] (R adds 1 to x, U adds 1 to y)|walk from [0, 0], x to the right and y upwards, staying put "
        "whenever a move would take x or y below 0 or above {k}, and take the end as [x, y]", (2, 3))
    for name, code, says in (
        ("swap_sides", "{x}.translate(str.maketrans('LR', 'RL'))", "swap left and right in all moves"
         "|mirror the moves: L becomes R and R becomes L"),
        ("retrace", "{x}[::-1].translate(str.maketrans('LRUD', 'RLDU'))",
         "make the moves of the way back: the opposite moves in reverse order|turn the way around, last move first and "
         "each one in the opposite direction"),
        ("skip_moves",
         "{x}[::2]", "leave out every second move, the first one staying|use only moves 1, 3, 5 and so on"),
        ("twice", "{x} * 2", "make all the moves twice, one round after the other|repeat the whole sequence once"),
    ):
        _block(name, "moves", "moves", 1, code, says)


def _strings() -> None:
    def text(name, gives, level, code, says, noun="", values=()):
        _block(name, "str", gives, level, code, says, noun, values)

    text("backwards", "str", 0, "{x}[::-1]", "reverse the string|write it backwards", "the reverse of {x}")
    text("upper", "str", 0, "{x}.upper()", "turn it into upper case|make all letters capitals",
         "the upper-case form of {x}")
    text("lower", "str", 0, "{x}.lower()", "turn it into lower case|make all letters small",
         "the lower-case form of {x}")
    text("swap_case", "str", 0, "{x}.swapcase()",
         "swap upper and lower case|make capitals small and small letters capitals")
    text("no_spaces", "str", 0, "{x}.replace(' ', '')", "remove all spaces|take out the spaces")
    text("no_vowels", "str", 0, "''.join(c for c in {x} if c not in 'aeiouAEIOU')",
         "remove the vowels (a, e, i, o, u in either case)|leave out every vowel, a, e, i, o or u in either case")
    text("only_vowels", "str", 0, "''.join(c for c in {x} if c in 'aeiouAEIOU')",
         "keep only the vowels (a, e, i, o, u in either case)|drop all but the vowels, a, e, i, o and u in either case",
         "the vowels (a, e, i, o, u in either case) of {x}")
    text("only_letters", "str", 0, "''.join(c for c in {x} if c.isalpha())",
         "keep only the letters|drop whatever is no letter",
         "the letters of {x}")
    text("only_digits", "str", 0, "''.join(c for c in {x} if c.isdigit())",
         "keep only the digits|drop whatever is no digit",
         "the digits of {x}")
    text("first_chars", "str", 0, "{x}[:{k}]", "keep only the first {k} characters|cut it after {k} characters",
         "the first {k} characters of {x}", (2, 3, 4))
    text("last_chars", "str", 0, "{x}[-{k}:]",
         "keep only the last {k} characters|cut it down to its last {k} characters",
         "the last {k} characters of {x}", (2, 3, 4))
    text("cut_first", "str", 0, "{x}[1:]", "drop the first character|leave out the first character")
    text("cut_last", "str", 0, "{x}[:-1]", "drop the last character|leave out the last character")
    text("second_chars", "str", 0, "{x}[::2]", "keep every second character, starting with the first"
         "|take the characters at positions 0, 2, 4 and so on")
    text("double_chars", "str", 0, "''.join(c * 2 for c in {x})", "write every character twice|double each character")
    text("sort_chars", "str", 0, "''.join(sorted({x}))", "sort its characters in the order that sorted gives"
         "|arrange its characters as sorted does")
    text("star", "str", 0, "{x}.replace({k}, '*')", "replace every {k} by '*'|put '*' in place of each {k}", "",
         ("a", "e", "o"))
    text("exclaim", "str", 0, "{x} + '!'", "add '!' at the end|append an exclamation mark")
    text("again", "str", 0, "{x} * 2", "repeat it twice in a row|append a copy of it to itself")
    text("length", "int", 0, "len({x})", "count the characters|take its length", "the length of {x}")
    text("count_char", "int", 0, "{x}.count({k})", "count how often {k} occurs|take the number of times {k} occurs",
         "the number of {k} in {x}", ("a", "e", "o"))
    text("count_vowels", "int", 0, "sum(c in 'aeiouAEIOU' for c in {x})",
         "count the vowels (a, e, i, o, u in either case)|take the number of vowels, a, e, i, o and u in either case",
         "the number of vowels (a, e, i, o, u in either case) in {x}")
    text("count_capitals", "int", 0, "sum(c.isupper() for c in {x})", "count the capital letters"
         "|take the number of upper-case letters", "the number of capital letters in {x}")
    text("split", "strs", 0, "{x}.split()", "split it into words at the spaces|make a list of its words",
         "the words of {x}")
    text("has_digit", "bool", 0, "any(c.isdigit() for c in {x})", "tell whether it holds a digit (True or False)"
         "|return True if there is a digit in it, else False")
    text("palindrome", "bool", 1, "{x} == {x}[::-1]", "tell whether it reads the same backwards (True or False)"
         "|return True for a palindrome, character by character, else False")
    text("positions", "ints", 1, "[ord(c) - 96 for c in {x}.lower() if 'a' <= c <= 'z']",
         "turn each letter into its place in the alphabet (a and A are 1), leaving out the rest"
         "|list the places of its letters in the alphabet, 1 to 26, whatever their case, ignoring all else")
    text("caesar", "str", 1, "''.join(chr((ord(c) - 97 + {k}) % 26 + 97) if 'a' <= c <= 'z' else c for c in {x})",
         "move every small letter {k} places on in the alphabet, where z is followed by a, and leave all else alone"
         "|shift the letters a to z by {k}, wrapping around after z; other characters stay", "", (1, 3, 13))
    text("unique_chars", "str", 1, "''.join(dict.fromkeys({x}))",
         "remove repeated characters, keeping the first of each"
         "|drop every character that occurred before")
    text("title", "str", 1, "' '.join(w.capitalize() for w in {x}.split())",
         "begin each word with a capital, the rest of it small, one space between words"
         "|capitalise every word, make its other letters small, and put single spaces between words")
    text("turn_words", "str", 1, "' '.join({x}.split()[::-1])", "put its words in reverse order, one space between them"
         "|write the last word first and so on, with single spaces")
    text("digit_total", "int", 1, "sum(int(c) for c in {x} if c.isdigit())", "add up the digits in it (0 without any)"
         "|take the sum of the digits it holds, 0 if there are none")
    text("letter_counts", "dict", 1, "{c: {x}.count(c) for c in {x}}",
         "make a dict from each character to how often it occurs"
         "|count every character in a dict")
    text("chunks", "strs", 1, "[{x}[i:i + {k}] for i in range(0, len({x}), {k})]",
         "cut it into pieces of {k} characters from the left (the last may be shorter)"
         "|list its parts of {k} characters, the last one with what is left", "", (2, 3))
    text("run_length", "str", 2, "''.join(c + str(len(list(run))) for c, run in groupby({x}))",
         "write each run of equal characters as the character and the length of the run, as in a3b1 for aaab"
         "|run-length encode it: every stretch of one character becomes that character and a count, always")
    text("depth", "ints", 2,
         "at, depths = 0, []\nfor c in {x}:\n    at += c.isupper()\n    at -= at > 0 and c.islower()\n"
         "    depths.append(at)\n"
         "{y} = depths",
         "keep a counter from 0: a capital adds 1, a small letter takes 1 away unless it is 0; list it after each "
         "character|after every character note a count that starts at 0, rises with each upper-case letter and falls "
         "with each lower-case one, never below 0")


def _word_lists() -> None:
    def words(name, gives, level, code, says, noun="", values=()):
        _block(name, "strs", gives, level, code, says, noun, values)

    for name, level, test, what, values in (
        ("longer", 0, "len(w) > {k}", "words with more than {k} letters", (2, 3, 4)),
        ("shorter", 0, "len(w) < {k}", "words with fewer than {k} letters", (4, 5)),
        ("with", 0, "{k} in w", "words that contain {k}", ("a", "e", "o", "r")),
        ("without", 0, "{k} not in w", "words that do not contain {k}", ("a", "e", "o")),
        ("vowel", 0, "w.startswith(('a', 'e', 'i', 'o', 'u'))", "words that start with a, e, i, o or u", ()),
        ("mirrored", 1, "w == w[::-1]", "words that read the same backwards", ()),
    ):
        words(f"keep_{name}", "strs", level, f"[w for w in {{x}} if {test}]",
              f"keep only the {what}|throw away all but the {what}", f"the {what} among {{x}}", values)
    words("upper_each", "strs", 0, "[w.upper() for w in {x}]", "turn each word into upper case|make all words capitals",
          "the upper-case forms of {x}")
    words("backwards_each", "strs", 0, "[w[::-1] for w in {x}]", "reverse each word|write every word backwards")
    words("capital_each", "strs", 0, "[w.capitalize() for w in {x}]",
          "capitalise each word (first letter large, rest small)"
          "|give every word a capital first letter and small ones after it")
    words("sort_words", "strs", 0, "sorted({x})", "sort alphabetically, as sorted does|put them in the order of sorted")
    words("sort_length", "strs", 0, "sorted({x}, key=len)", "sort by length, shortest first, ties in their order"
          "|order from short to long, equally long words staying as they are")
    words("turn_list", "strs", 0, "{x}[::-1]", "reverse the order of the words|turn the list around")
    words("first_words", "strs", 0, "{x}[:{k}]", "keep only the first {k} words|cut the list after {k} words",
          "the first {k} of {x}", (2, 3))
    words("skip_word", "strs", 0, "{x}[1:]", "drop the first word|leave out the first word")
    words("lengths", "ints", 0, "[len(w) for w in {x}]",
          "take the length of each word|replace every word by its length",
          "the lengths of {x}")
    words("first_letters", "str", 0, "''.join(w[:1] for w in {x})",
          "join the first letters of the words into one string"
          "|make a string of the words' first letters", "the string of first letters of {x}")
    words("last_letters", "str", 0, "''.join(w[-1:] for w in {x})", "join the last letters of the words into one string"
          "|make a string of the words' last letters", "the string of last letters of {x}")
    words("join", "str", 0, "{k}.join({x})", "join the words with {k}|make one string with {k} between the words", "",
          ("-", " ", ", "))
    words("longest", "str", 0, "max({x}, key=len, default='')",
          "take the longest word (the first of several, '' if none)"
          "|pick the word with most letters, the first one among equals, or '' from nothing")
    words("count_words", "int", 0, "len({x})", "count the words|take the number of words", "the number of {x}")
    words("letters", "int", 0, "sum(len(w) for w in {x})",
          "add up the lengths of the words|take the number of letters in "
          "all words together", "the total length of {x}")
    words("unique_words", "strs", 1, "list(dict.fromkeys({x}))", "remove repeated words, keeping the first of each"
          "|drop every word that occurred before")
    words("sort_endings", "strs", 1, "sorted({x}, key=lambda w: (w[-1:], w))",
          "sort by the last letter, words with the same last letter alphabetically"
          "|order by final letter and, where that is the same, by the whole word")
    words("numbered", "strs", 1, "[f'{i}:{w}' for i, w in enumerate({x}, 1)]",
          "put its position, counting from 1, and ':' before each word|number the words as in 1:first and 2:second")
    words("pairs", "strs", 1, "[a + b for a, b in zip({x}, {x}[1:])]", "join each word with the one after it"
          "|make a word of every two neighbours, the last word starting none")
    words("length_dict", "dict", 1, "{w: len(w) for w in {x}}", "make a dict from each word to its length"
          "|look up the words' lengths in a dict, keyed by word")
    words("word_counts", "dict", 1, "{w: {x}.count(w) for w in {x}}",
          "make a dict from each word to how often it occurs"
          "|count every word in a dict")
    words("initials", "dict", 1, "{w[:1]: sum(v[:1] == w[:1] for v in {x}) for w in {x}}",
          "make a dict from each first letter to the number of words that start with it"
          "|count the words by their first letter in a dict")
    words("chain", "int", 2,
          "best = here = 0\nlast = ''\nfor w in {x}:\n    here = here + 1 if last and w[:1] == last[-1:] else 1\n"
          "    best, last = max(best, here), w\n{y} = best",
          "take the length of the longest stretch in which every word starts with the last letter of the one before it "
          "(0 if there is no word)|play word chain: count the most words in a row of which each begins as the "
          "one before "
          "ends, 0 without words")


def _numbers() -> None:
    def number(name, gives, level, code, says, noun="", values=()):
        _block(name, "int", gives, level, code, says, noun, values)

    number("up_to", "ints", 0, "list(range(1, {x} + 1))",
           "list the numbers from 1 to it|count up from 1 to it in a list",
           "the numbers from 1 to {x}")
    number("digits", "ints", 0, "[int(c) for c in str(abs({x}))]", "list its decimal digits, ignoring the sign"
           "|make a list of its digits, whatever the sign", "the decimal digits (sign ignored) of {x}")
    number("plus", "int", 0, "{x} + {k}", "add {k}|increase it by {k}", "", (3, 7, 10))
    number("times", "int", 0, "{x} * {k}", "multiply by {k}|take {k} times that", "", (2, 5))
    number("square", "int", 0, "{x} ** 2", "square the number|multiply it by itself", "the square of {x}")
    number("digit_sum", "int", 0, "sum(int(c) for c in str(abs({x})))", "take the sum of its digits, ignoring the sign"
           "|add up its decimal digits, whatever the sign", "the digit sum (sign ignored) of {x}")
    number("is_even", "bool", 0, "{x} % 2 == 0", "tell whether it is even (True or False)"
           "|return True if 2 divides it, else False")
    number("binary", "str", 0, "format(abs({x}), 'b')", "write it in binary, ignoring the sign"
           "|make the string of its binary digits, whatever the sign", "the binary form (sign ignored) of {x}")
    number("modulo", "int", 1, "{x} % {k}", "take the remainder modulo {k} (0 to {k} - 1, as % gives it)"
           "|reduce it modulo {k} (0 to {k} - 1, as % gives it)", "", (3, 7, 9))
    number("divisors", "ints", 1, "[i for i in range(1, {x} + 1) if {x} % i == 0]",
           "list its positive divisors in ascending order (none for a number below 1)"
           "|list what divides it, from 1 to the number itself, and nothing if it is below 1")
    number("primes", "ints", 1, "[i for i in range(2, {x} + 1) if all(i % j for j in range(2, i))]",
           "list the primes from 2 up to it|list, in ascending order, the prime numbers that are not above it")
    number("squares", "ints", 1, "[i * i for i in range(1, {x} + 1) if i * i <= {x}]",
           "list the squares 1, 4, 9 and so on up to it|list the square numbers from 1 that are not above it")
    number("classify", "str", 1, "'zero' if {x} == 0 else 'even' if {x} % 2 == 0 else 'odd'",
           "name it: 'zero' for 0, else 'even' or 'odd'|say 'zero' if it is 0, 'even' for other even numbers "
           "and 'odd' for "
           "odd ones")
    number("collatz", "ints", 2,
           "path = [max(1, {x})]\nfor _ in range(15):\n    last = path[-1]\n    if last > 1:\n"
           "        path.append(last // 2 if last % 2 == 0 else 3 * last + 1)\n{y} = path",
           "starting at it (at 1 if it is below 1), halve an even number and turn an odd number m into 3 * m + "
           "1, for at "
           "most 15 steps and only until 1 is reached; list all numbers from the start on"
           "|list its Collatz path (from 1 if it is below 1): m is followed by m // 2 if m is even, else by 3 * "
           "m + 1; stop "
           "at 1 or after 15 steps")
    number("change", "ints", 2,
           "left, coins = {x}, []\nfor coin in (20, 10, 5, 2, 1):\n    for _ in range(max(0, left) // coin):\n"
           "        coins.append(coin)\n        left -= coin\n{y} = coins",
           "pay that amount with coins of 20, 10, 5, 2 and 1, always the largest that fits, and list the coins in that "
           "order (none for an amount below 1)|list the coins, largest first, that make up the amount when the largest "
           "possible out of 20, 10, 5, 2 and 1 is taken each time; nothing if it is below 1")


def _dicts() -> None:
    def names(name, gives, level, code, says, noun="", values=()):
        _block(name, "dict", gives, level, code, says, noun, values)

    names("entries_above", "dict", 1, "{n: v for n, v in {x}.items() if v > {k}}",
          "keep only the entries with a value above {k}|drop all entries whose value is {k} or less", "", (1, 2, 4))
    names("entries_below", "dict", 1, "{n: v for n, v in {x}.items() if v < {k}}",
          "keep only the entries with a value below {k}|drop all entries whose value is {k} or more", "", (3, 5, 8))
    names("raise_values", "dict", 1, "{n: v + {k} for n, v in {x}.items()}", "add {k} to every value"
          "|increase the values by {k}", "", (1, 5))
    names("double_values", "dict", 1, "{n: 2 * v for n, v in {x}.items()}",
          "double every value|multiply the values by 2")
    names("keys", "strs", 1, "sorted({x})", "list the keys, sorted|take the keys in the order of sorted",
          "the sorted keys of {x}")
    names("values", "ints", 1, "sorted({x}.values())", "list the values in ascending order"
          "|take the values from smallest to largest", "the values, in ascending order, of {x}")
    names("total", "int", 1, "sum({x}.values())", "add up the values|take the sum of the values",
          "the sum of the values of {x}")
    names("best_key", "str", 1, "min({x}, key=lambda n: (-{x}[n], n), default='')",
          "take the key with the largest value (the first in sorted order of several, '' if there is none)"
          "|pick whose value is largest, among equals the first in sorted order, or '' from an empty dict")
    names("ranking", "strs", 1, "sorted({x}, key=lambda n: (-{x}[n], n))",
          "list the keys by value, largest first, equal values in the sorted order of their keys"
          "|rank the keys from the largest value down, ties in sorted order")
    names("by_value", "dict", 2, "{v: sorted(n for n in {x} if {x}[n] == v) for v in {x}.values()}",
          "turn it around: a dict from each value to the sorted list of keys that have it"
          "|group the keys by value in a dict, each group a sorted list")
    names("shares", "dict", 2, "{n: 100 * v // max(1, sum({x}.values())) for n, v in {x}.items()}",
          "replace each value by its percentage of the sum of all values, rounded down, a sum below 1 counting as 1"
          "|turn the values into whole percentages of their sum (or of 1 if that is larger), rounding down")
    BLOCKS["by_value"] = BLOCKS["by_value"]._replace(gives="groups")


def _dates() -> None:
    day = "date.fromisoformat({x})"

    def dated(name, gives, level, code, says, values=()):
        _block(name, "date", gives, level, code, says, "", values)

    dated("days_later", "date", 1, f"({day} + timedelta(days={{k}})).isoformat()", "go {k} days forward"
          "|take the date {k} days later", (10, 30, 100))
    dated("days_before", "date", 1, f"({day} - timedelta(days={{k}})).isoformat()", "go {k} days back"
          "|take the date {k} days earlier", (7, 45))
    dated("month_start", "date", 1, "{x}[:8] + '01'", "go to the first day of its month"
          "|replace it by the first of the same month")
    dated("month_end", "date", 2,
          f"(({day}.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)).isoformat()",
          "go to the last day of its month|replace it by the last day of the same month")
    dated("next_monday", "date", 2, f"({day} + timedelta(days=7 - {day}.weekday())).isoformat()",
          "go to the first Monday after it (a Monday goes a week on)|take the next Monday that is strictly later")
    dated("year_later", "date", 2, "(str(int({x}[:4]) + 1) + {x}[4:]).replace('-02-29', '-02-28')",
          "go one year forward, February 29 becoming February 28|take the same day of the next year, the 28th for a "
          "February 29")
    dated("weekday", "str", 1, "('Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday')"
          f"[{day}.weekday()]",
          "name its day of the week in English, as in 'Monday'|take the English name of the weekday, "
          "such as 'Monday'")
    dated("year_day", "int", 1, f"{day}.timetuple().tm_yday", "take its number in the year (January 1 is 1)"
          "|count which day of its year it is, from 1")
    dated("month", "int", 1, "int({x}[5:7])", "take the number of its month (1 to 12)|take its month as a number")
    dated("month_day", "int", 1, "int({x}[8:])",
          "take its day of the month as a number|take the number of the day in its month")
    dated("weekend", "bool", 1, f"{day}.weekday() > 4", "tell whether it is a Saturday or Sunday (True or False)"
          "|return True if it falls on a weekend, else False")
    dated("leap", "bool", 1, "(lambda y: y % 4 == 0 and (y % 100 != 0 or y % 400 == 0))(int({x}[:4]))",
          "tell whether its year is a leap year (True or False)|return True if its year has a February 29, else False")
    dated("year_left", "int", 1, f"(date(int({{x}}[:4]), 12, 31) - {day}).days",
          "count the days left until December 31 of "
          "its year|take the number of days from it to the end of its year")
    dated("slashes", "str", 1, "'/'.join({x}.split('-')[::-1])", "write it as day/month/year with leading zeros, as in "
          "09/03/2024|turn it into the form 09/03/2024, day first")
    dated("next_days", "dates", 1, f"[({day} + timedelta(days=i)).isoformat() for i in range(1, {{k}} + 1)]",
          "list the {k} days that follow it|make a list of the next {k} days", (2, 3, 4))

    def listed(name, gives, level, code, says, values=()):
        _block(name, "dates", gives, level, code, says, "", values)

    listed("sort_dates", "dates", 1, "sorted({x})", "sort from the earliest to the latest|put them in order of time")
    listed("weekends", "dates", 1, "[t for t in {x} if date.fromisoformat(t).weekday() > 4]",
           "keep only the Saturdays and Sundays|throw away all working days, Monday to Friday")
    listed("early_days", "dates", 1, "[t for t in {x} if int(t[8:]) <= {k}]",
           "keep only the dates from the 1st to the {k}th of a month|throw away the dates after the {k}th of "
           "their month",
           (10, 15))
    listed("months", "ints", 1, "[int(t[5:7]) for t in {x}]", "take the month of each as a number (1 to 12)"
           "|replace every date by the number of its month")
    listed("month_days", "ints", 1, "[int(t[8:]) for t in {x}]", "take the day of the month of each as a number"
           "|replace every date by the number of the day in its month")
    listed("weekdays", "strs", 1, "[('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun')[date.fromisoformat(t).weekday()] "
           "for t in {x}]", "name the weekday of each as Mon, Tue, Wed, Thu, Fri, Sat or Sun"
           "|replace every date by its weekday in three letters, Mon to Sun")
    listed("gaps", "ints", 2, "[(date.fromisoformat(b) - date.fromisoformat(a)).days for a, b in zip({x}, {x}[1:])]",
           "list the days from each date to the one after it, negative if that is earlier"
           "|take the number of days between neighbours, the later in the list minus the earlier in it")
    listed("span", "int", 2, "(date.fromisoformat(max({x})) - date.fromisoformat(min({x}))).days if {x} else 0",
           "count the days between the earliest and the latest (0 if there is none)"
           "|take the number of days from the first to the last in time, 0 for no dates")


# fmt: on
for _add in (_lists, _simulations, _strings, _word_lists, _numbers, _dicts, _dates):
    _add()


# --- compositions ----------------------------------------------------------------------------------------

_STARTS = {  # types that a problem starts from, with their weights
    "easy": {"ints": 8, "str": 5, "strs": 5, "int": 2},
    "medium": {"ints": 6, "str": 4, "strs": 4, "int": 2, "dict": 3, "date": 3, "dates": 1},
    "hard": {"ints": 7, "str": 3, "strs": 3, "int": 2, "dict": 2, "date": 2, "dates": 2, "moves": 3},
}  # fmt: skip
_LENGTHS = {"easy": (2,), "medium": (2, 3), "hard": (3, 4)}
_TESTS = {"easy": 8, "medium": 10, "hard": 10}  # hidden ones
_LAST_ONLY = ("bool", "float", "groups")
# Steps whose work grows with a number take it from the input, or from a step whose results stay small whatever a mutant
# does to it; otherwise a problem might run for hours.
_COUNTING = ("up_to", "divisors", "primes", "squares", "change", "bars")
_SMALL = (
    "count_above", "length", "count_char", "count_vowels", "count_capitals", "count_words", "letters", "month",
    "month_day", "streak", "visited", "chain", "digit_total", "lengths", "positions", "months", "month_days",
)  # fmt: skip


class _Step(NamedTuple):
    block: Block
    value: object = None  # for {k}
    lifted: bool = False  # whether the value is an argument of the function

    def code(self, x: str, y: str = "") -> str:
        k = self.argument if self.lifted else repr(self.value)
        return self.block.code.replace("{x}", x).replace("{k}", k).replace("{y}", y)

    def text(self, template: str) -> str:
        return template.replace("{k}", self.argument if self.lifted else repr(self.value))

    @property
    def argument(self) -> str:
        return "k" if isinstance(self.value, int) else "part"


@cache
def _after(kind: str, level: int, last: bool) -> tuple[Block, ...]:
    """Blocks of at most that level that take `kind`; only the last step may give what no block takes."""
    return tuple(
        block
        for block in BLOCKS.values()
        if block.takes == kind
        and block.level <= level
        and (last or (block.gives not in _LAST_ONLY and block.compare == "eq"))
    )


def _may_follow(block: Block, before: Block) -> bool:
    return block.name != before.name and (block.name not in _COUNTING or before.name in _SMALL)


def _chain(rng: random.Random, difficulty: str) -> tuple[_Step, ...] | None:
    """Draw a composition of the difficulty, or None if this draw led nowhere."""
    level = DIFFICULTIES.index(difficulty)
    starts = _STARTS[difficulty]
    at = rng.choices(list(starts), list(starts.values()))[0]
    length = rng.choice(_LENGTHS[difficulty])
    steps: list[_Step] = []
    for i in range(length):
        blocks = _after(at, level, i == length - 1)
        if not blocks:
            return None
        block = rng.choice(blocks)
        if steps and not _may_follow(block, steps[-1].block):
            return None
        steps.append(_Step(block, rng.choice(block.values) if block.values else None))
        at = block.gives
    if level and max(step.block.level for step in steps) < level and not (difficulty == "medium" and length == 3):
        return None
    able = [i for i, step in enumerate(steps) if step.block.values]
    if level and able and rng.random() < 0.35:
        i = rng.choice(able)
        steps[i] = steps[i]._replace(lifted=True)
    return tuple(steps)


def split_of(names: Iterable[str], takes: str) -> str:
    """The split of a composition: 60 % train, 20 % validation, 20 % test, by a hash of what it takes and of the names
    of its blocks, whatever their order and their numbers."""
    return _by_hash(f"{takes}: {' '.join(sorted(names))}", 0.6, 0.8)


def _by_hash(text: str, validation_from: float, test_from: float) -> str:
    share = int.from_bytes(sha256(text.encode()).digest()[:4], "big") / 2**32
    return "train" if share < validation_from else "validation" if share < test_from else "test"


@cache
def _easy_owners() -> dict[str, str]:
    """The split of every function that an easy composition computes, by its fingerprint. Where compositions of two
    splits compute the same one, the first keeps it."""
    owners: dict[str, str] = {}
    for takes in _STARTS["easy"]:
        for first in _after(takes, 0, False):
            for second in _after(first.gives, 0, True):
                if not _may_follow(second, first):
                    continue
                split = split_of((first.name, second.name), takes)
                for one in first.values or (None,):
                    for other in second.values or (None,):
                        steps = (_Step(first, one), _Step(second, other))
                        call = _loaded(_solution(steps, "function", "easy", "f"), "function", "f")
                        owners.setdefault(_fingerprint(steps, call) or "", split)
    return owners


def _owner(fingerprint: str, difficulty: str) -> str:
    """The split that a function belongs to, so that two compositions of the same function never stand in two splits."""
    easy = _easy_owners().get(fingerprint, "")
    if difficulty == "easy":
        return easy
    return "" if easy else _by_hash(fingerprint, 0.5, 0.75)


# --- solutions -------------------------------------------------------------------------------------------

_IMPORTS = (
    ("from itertools import accumulate\n", "accumulate("),
    ("from itertools import groupby\n", "groupby("),
    ("from math import prod\n", "prod("),
    ("from datetime import date, timedelta\n", "date"),
)


@cache
def _is_atom(code: str) -> bool:
    """Whether an expression keeps its meaning with anything around it."""
    return not isinstance(
        ast.parse(code, mode="eval").body, ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.Compare | ast.IfExp | ast.Lambda
    )


def _one_line(steps: tuple[_Step, ...], name: str) -> str:
    code = name
    for step in steps:
        inner = code if _is_atom(code) or "({x})" in step.block.code else f"({code})"
        code = step.code(inner)
    return code


def _body(steps: tuple[_Step, ...], name: str) -> tuple[list[str], str]:
    """Lines of code, and the expression that is the result."""
    lines = []
    for i, step in enumerate(steps):
        last = i == len(steps) - 1
        target = "result" if last else _NAMES[step.block.gives]
        if "{y}" in step.block.code:
            code = step.code(name, target)
            if last and code.splitlines()[-1].startswith("result = "):
                *rest, end = code.splitlines()
                return lines + rest, end.removeprefix("result = ")
            lines += code.splitlines()
        elif last:
            return lines, step.code(name)
        else:
            lines.append(f"{target} = {step.code(name)}")
        name = target
    return lines, name


_READ = {
    "ints": ["xs = list(map(int, input().split()))"],
    "strs": ["words = input().split()"],
    "str": ["s = input()"],
    "int": ["n = int(input())"],
    "date": ["day = input()"],
    "dates": ["days = input().split()"],
    "moves": ["moves = input()"],
    "dict": ["d = {}", "for _ in range(int(input())):", "    n, v = input().split()", "    d[n] = int(v)"],
}
_PRINT = {
    "ints": "print(*{}, sep='\\n')",
    "strs": "print(*{}, sep='\\n')",
    "dates": "print(*{}, sep='\\n')",
    "dict": "for n, v in sorted({}.items()):\n    print(n, v)",
}


def _solution(steps: tuple[_Step, ...], kind: str, difficulty: str, entry: str) -> str:
    takes, gives = steps[0].block.takes, steps[-1].block.gives
    name = _NAMES[takes]
    lifted = next((step.argument for step in steps if step.lifted), None)
    arguments = f"{name}, {lifted}" if lifted else name
    lines, result = ([], _one_line(steps, name)) if difficulty == "easy" else _body(steps, name)
    if kind == "program":
        first = ["k = int(input())" if lifted == "k" else "part = input()"] if lifted else []
        source = "\n".join([*first, *_READ[takes], *lines, _PRINT.get(gives, "print({})").format(result)])
    else:
        own = "self, " if kind == "class" else ""
        if not lines and kind == "function":
            source = f"def {entry}({arguments}): return {result}"
        else:
            source = f"def {entry.rpartition('.')[2]}({own}{arguments}):\n"
            source += "\n".join(f"    {line}" for line in [*lines, f"return {result}"])
        if kind == "class":
            source = "class Solution:\n" + "\n".join(f"    {line}" for line in source.splitlines())
    imports = "".join(line for line, word in _IMPORTS if word in source)
    return imports + ("\n\n" if imports and kind != "program" else "\n" if imports else "") + source


def _loaded(code, kind: str, entry: str) -> Callable:
    """The solution as a function of one test's input. Only this file's own code and its mutants come here."""
    if kind == "program":

        def run(stdin: str) -> str:
            lines, printed = iter(stdin.split("\n")), []
            names = {"input": lambda: next(lines), "print": lambda *a, sep=" ": printed.append(sep.join(map(str, a)))}
            exec(code, names)
            return "".join(line + "\n" for line in printed)

        return run
    names: dict = {}
    exec(code, names)
    if kind == "class":
        method = getattr(names["Solution"](), entry.rpartition(".")[2])
        return lambda arguments: method(*arguments)
    function = names[entry]
    return lambda arguments: function(*arguments)


def _stdin(arguments: tuple) -> str:
    """The arguments as the text that a program reads: the number or part first, if there is one."""
    value, *rest = arguments
    lines = [str(k) for k in rest]
    if isinstance(value, dict):
        lines += [str(len(value)), *(f"{n} {v}" for n, v in value.items())]
    else:
        lines.append(" ".join(map(str, value)) if isinstance(value, list) else str(value))
    return "\n".join(lines) + "\n"


# --- mutants ---------------------------------------------------------------------------------------------

_OTHER_COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OTHER_OPERATOR = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.FloorDiv, ast.FloorDiv: ast.Mod}
_OTHER_NAME = {
    "min": "max", "max": "min", "any": "all", "all": "any", "sum": "len", "sorted": "list", "len": "sum",
    "set": "list", "enumerate": "list", "abs": "int",
}  # fmt: skip
_OTHER_METHOD = {
    "upper": "lower", "lower": "upper", "swapcase": "upper", "isdigit": "isalpha", "isalpha": "isdigit",
    "capitalize": "upper", "isupper": "islower", "islower": "isupper", "append": "count", "keys": "values",
}  # fmt: skip


def _mutants(source: str, rng: random.Random, most: int = 10) -> list:
    """Compiled variants of a source with one small change each, at most `most` of them."""
    tree = ast.parse(source)
    changes: list[tuple[object, str, object]] = []  # node, field, new value
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bool):
                changes.append((node, "value", not node.value))
            elif isinstance(node.value, int):
                changes += [(node, "value", node.value + 1), (node, "value", node.value - 1)]
            elif isinstance(node.value, str) and node.value:
                changes.append((node, "value", node.value[1:]))
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER_COMPARE:
            changes.append((node, "ops", [_OTHER_COMPARE[type(node.ops[0])](), *node.ops[1:]]))
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _OTHER_OPERATOR:
            changes.append((node, "op", _OTHER_OPERATOR[type(node.op)]()))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            changes.append((node, "op", ast.UAdd()))
        elif isinstance(node, ast.Name) and node.id in _OTHER_NAME:
            changes.append((node, "id", _OTHER_NAME[node.id]))
        elif isinstance(node, ast.Attribute) and node.attr in _OTHER_METHOD:
            changes.append((node, "attr", _OTHER_METHOD[node.attr]))
    if len(changes) > most:
        changes = [changes[i] for i in sorted(rng.sample(range(len(changes)), most))]
    compiled = []
    for node, field, value in changes:
        old = getattr(node, field)
        setattr(node, field, value)
        compiled.append(compile(tree, "mutant", "exec"))
        setattr(node, field, old)
    return compiled


def _outcome(call: Callable | None, given) -> object:
    """What a solution makes of an input; an exception equals nothing that the reference returns."""
    try:
        return call(given)
    except Exception as error:
        return error


def _try_load(code, kind: str, entry: str) -> Callable | None:
    try:
        return _loaded(code, kind, entry)
    except Exception:
        return None


def _same(comparison: str, one, other) -> bool:
    if comparison == "approx" and isinstance(one, float) and isinstance(other, int | float):
        return abs(one - other) <= 1e-6 * max(1.0, abs(one))
    if comparison == "unordered" and isinstance(one, list) and isinstance(other, list):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return type(one) is type(other) and one == other


def _trivial(examples: tuple, tests: tuple, kind: str) -> dict[str, Callable]:
    """Solutions that do not do the task, by name: what they return for an input."""
    by_heart = {repr(given): expected for given, expected in examples}
    common = max((t[1] for t in tests), key=lambda e: sum(e == t[1] for t in tests))
    constants = ["", "0\n", "1\n", "True\n", "False\n"] if kind == "program" else [None, 0, 1, "", [], {}, True, False]
    found = {
        "the input unchanged": lambda given: given if kind == "program" else given[0],
        "the first example's answer": lambda given: examples[0][1],
        "the examples by heart": lambda given: by_heart.get(repr(given)),
        "the most frequent answer": lambda given: common,
    }
    return found | {f"always {value!r}": (lambda given, value=value: value) for value in constants}


# --- problems --------------------------------------------------------------------------------------------


def _inputs(steps: tuple[_Step, ...], rng: random.Random, drawn: int) -> list[tuple]:
    """Boundary and drawn arguments, each once, boundary ones first."""
    takes = steps[0].block.takes
    lifted = next((step for step in steps if step.lifted), None)
    values = [*_EDGES[takes], *(_DRAWS[takes](rng) for _ in range(drawn))]
    found = [(value, rng.choice(lifted.block.values)) if lifted else (value,) for value in values]
    return list({repr(arguments): arguments for arguments in found}.values())


@cache
def _probes(takes: str) -> tuple:
    rng = random.Random(f"probes {takes}")
    return (*_EDGES[takes], *(_DRAWS[takes](rng) for _ in range(24)))


def _plain(value) -> object:
    return sorted((repr(k), repr(v)) for k, v in value.items()) if isinstance(value, dict) else value


def _fingerprint(steps: tuple[_Step, ...], call: Callable) -> str | None:
    """A hash of what a function makes of fixed inputs; None if it raises on one of them."""
    takes = steps[0].block.takes
    lifted = next((step for step in steps if step.lifted), None)
    said = [takes, lifted.argument if lifted else ""]
    try:
        for i, value in enumerate(_probes(takes)):
            rest = (lifted.block.values[i % len(lifted.block.values)],) if lifted else ()
            said.append(repr(_plain(call((value, *rest)))))
    except Exception:
        return None
    return sha256("\n".join(said).encode()).hexdigest()[:16]


def _rivals(steps: tuple[_Step, ...], rng: random.Random) -> list[tuple[_Step, ...]]:
    """Compositions next to this one: two steps swapped, or one step replaced by another between the same types."""
    level = max(step.block.level for step in steps)
    swapped = [
        (*steps[:i], steps[i + 1], steps[i], *steps[i + 2 :])
        for i, (one, other) in enumerate(zip(steps, steps[1:]))
        if one.block.takes == one.block.gives == other.block.takes == other.block.gives
    ]
    replaced = []
    for i, step in enumerate(steps):
        after = steps[i + 1].block if i + 1 < len(steps) else None
        for block in () if step.lifted else _after(step.block.takes, level, after is None):
            fits = block.gives == step.block.gives and block.name not in (step.block.name, *_COUNTING)
            if fits and (after is None or after.name not in _COUNTING or block.name in _SMALL):
                other = _Step(block, rng.choice(block.values) if block.values else None)
                replaced.append((*steps[:i], other, *steps[i + 1 :]))
    return swapped + rng.sample(replaced, min(16 if level == 0 else 8, len(replaced)))


def _tests(steps, kind, difficulty, entry, reference: Callable, others: list, mutants: list, rng) -> tuple | None:
    """(examples, tests, killed mutants), or None if the problem cannot be told from its mutants."""
    comparison = steps[-1].block.compare
    pool = []  # (input, expected, whether it can be shown)
    boundary = len(_EDGES[steps[0].block.takes])
    for i, arguments in enumerate(_inputs(steps, rng, 40)):
        given = _stdin(arguments) if kind == "program" else arguments
        expected = reference(given)
        if len(repr(expected)) > 160 or len(repr(given)) > 160:
            continue
        same = expected == (given if kind == "program" else given[0])
        shown = i >= boundary and expected not in ([], "", 0, {}, "\n") and not same and len(repr(given)) < 60
        pool.append((given, expected, shown and len(repr(expected)) < 60))
    candidates = [i for i, test in enumerate(pool) if test[2]]
    public = candidates[:1] if difficulty == "easy" else []
    for i in [] if public else candidates:  # two that differ in their answers
        if all(pool[i][1] != pool[j][1] for j in public):
            public = [*public, i][:2]
    hidden = [i for i in range(len(pool)) if i not in public]
    if len(public) < (1 if difficulty == "easy" else 2) or len(hidden) < _TESTS[difficulty]:
        return None
    chosen, killed = [], 0
    for turn, code in enumerate(others + mutants):
        call = _try_load(code, kind, entry)
        at = next(
            (
                i
                for i in chosen + hidden
                if call is None or not _same(comparison, pool[i][1], _outcome(call, pool[i][0]))
            ),
            None,
        )
        if at is not None:
            killed += turn >= len(others)
            if at not in chosen:
                chosen.append(at)
    order = [i for pair in zip(hidden, reversed(hidden)) for i in pair]  # boundary and drawn in turn
    chosen += [i for i in dict.fromkeys(order) if i not in chosen][: max(0, _TESTS[difficulty] - len(chosen))]
    rng.shuffle(chosen)
    examples = tuple(pool[i][:2] for i in public)
    tests = tuple(pool[i][:2] for i in chosen)
    return examples, tests, killed


def _problem(steps: tuple[_Step, ...], kind: str, difficulty: str, split: str, seen: set, rng) -> Problem | None:
    """The problem of a composition with its proof, or None if it is no good: seen before, a step that makes no
    difference, a trivial solution that passes, or fewer than three mutants killed."""
    comparison = steps[-1].block.compare
    if kind == "program" and (comparison == "unordered" or steps[-1].block.gives == "groups"):
        return None
    entry = {"function": "f" if difficulty == "easy" else "solve", "class": "Solution.solve", "program": ""}[kind]
    plain = _loaded(_solution(steps, "function", difficulty, "f"), "function", "f")
    fingerprint = _fingerprint(steps, plain)
    if fingerprint is None or fingerprint in seen or _owner(fingerprint, difficulty) != split:
        return None
    source = _solution(steps, kind, difficulty, entry)
    shorter = [
        compile(_solution(steps[:i] + steps[i + 1 :], kind, difficulty, entry), "shorter", "exec")
        for i, step in enumerate(steps)
        if step.block.takes == step.block.gives and not step.lifted
    ]
    mutants = _mutants(source, rng)
    reference = _loaded(compile(source, "reference", "exec"), kind, entry)
    rivals = [compile(_solution(other, kind, difficulty, entry), "rival", "exec") for other in _rivals(steps, rng)]
    made = _tests(steps, kind, difficulty, entry, reference, shorter + rivals, mutants, rng)
    if made is None:
        return None
    examples, tests, killed = made
    for code in shorter:
        call = _try_load(code, kind, entry)
        if call and all(_same(comparison, expected, _outcome(call, given)) for given, expected in tests):
            return None
    trivial = _trivial(examples, tests, kind)
    for call in trivial.values():
        if all(_same(comparison, expected, call(given)) for given, expected in tests):
            return None
    passes = all(_same(comparison, expected, reference(given)) for given, expected in (*examples, *tests))
    if not passes or killed < 3:
        return None
    statement = _statement(steps, kind, difficulty, entry, rng)
    names = tuple(step.block.name for step in steps)
    proof = Proof(tuple(trivial), killed, len(mutants))
    return Problem(
        names, kind, difficulty, split, entry, statement, examples, tests, comparison, source, proof, fingerprint
    )


def draw(
    n: int, seed: int = 0, split: str = "train", *, difficulty: str = "easy", kind: str = "function"
) -> list[Problem]:
    """Draw `n` different problems, each proved.

    Args:
        n: How many.
        seed: Same arguments, same problems, on every platform.
        split: "train", "validation" or "test"; they share no composition of blocks, and no function.
        difficulty: "easy" (two simple steps, one line of code), "medium" (two or three) or "hard" (three or four, one
            of them a simulation or the like).
        kind: "function", "program" (reads stdin, prints the result) or "class" (a method of a class Solution).

    Raises:
        ValueError: an argument is out of range, or there are not `n` such problems.
    """
    if type(n) is not int or n < 0:
        raise ValueError(f"n must be a whole number, 0 or more, got {n!r}")
    for name, value, choices in (
        ("split", split, SPLITS),
        ("difficulty", difficulty, DIFFICULTIES),
        ("kind", kind, KINDS),
    ):
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    rng = random.Random(f"code {seed} {split} {difficulty} {kind}")
    problems: list[Problem] = []
    seen: set[str] = set()
    misses = 0
    while len(problems) < n:
        steps = _chain(rng, difficulty)
        if steps is None or split_of((s.block.name for s in steps), steps[0].block.takes) != split:
            continue
        problem = _problem(steps, kind, difficulty, split, seen, rng)
        if problem:
            seen.add(problem.fingerprint)
            problems.append(problem)
            misses = 0
        elif (misses := misses + 1) > 2000:
            raise ValueError(
                f"found only {len(problems)} of {n} {difficulty} problems of the kind {kind!r} in split {split!r}; ask "
                "for fewer, or for a harder level"
            )
    return problems


# --- statements ------------------------------------------------------------------------------------------

_READS = {
    "ints": "one line of integers separated by spaces, xs, which may be empty",
    "strs": "one line of words separated by spaces, which may be empty",
    "str": "one line of text, s, which may be empty",
    "int": "one whole number n, 0 or more",
    "date": "one date, written YYYY-MM-DD",
    "dates": "one line of dates separated by spaces, each written YYYY-MM-DD, which may be empty",
    "moves": "one line of the letters U, D, L and R, moves of one step up, down, left or right on a grid; maybe empty",
    "dict": "a number of entries, then a line with a name and an integer for each, which make a dict d",
}
_PRINTS = {
    "ints": "Print the resulting list, one item a line.",
    "strs": "Print the resulting list, one item a line.",
    "dates": "Print the resulting list, one item a line.",
    "dict": "Print the resulting entries sorted by key, one a line: key, space, value.",
}


def _statement(steps: tuple[_Step, ...], kind: str, difficulty: str, entry: str, rng) -> str:
    """What is asked, in one of several wordings; an easy problem has one wording only."""
    takes, gives = steps[0].block.takes, steps[-1].block.gives
    plain = difficulty == "easy"
    says = [step.text(step.block.says[0] if plain else rng.choice(step.block.says)) for step in steps]
    wording = 0 if plain else rng.randrange(4)
    lifted = next((step.argument for step in steps if step.lifted), "")
    extra = {"k": "a whole number k", "part": "a string part"}.get(lifted, "")
    call = f"{entry.rpartition('.')[2]}({_NAMES[takes]}{', ' + lifted if lifted else ''})"
    if kind == "program":
        about = f"a line with {extra}, then {_READS[takes]}" if extra else _READS[takes]
        opening = (f"Write a program that reads {about}. With that,", f"Write a program that reads {about}",
                   f"A program reads {about}. Write it.", f"From standard input, read {about}. Then")  # fmt: skip
        end = _PRINTS.get(gives, "Print the result.")
    else:
        about = f"{_ABOUT[takes]}, and {extra}" if extra else _ABOUT[takes]
        what = call if kind == "function" else f"a class Solution with a method {call}"
        opening = (f"Write {what} for {about}:", f"Given {about}, implement {what}",
                   f"Write {what}. It gets {about}.", f"Implement {what}, which takes {about}:")  # fmt: skip
        end = "Return the result."
        if wording == 3 and all(step.block.noun for step in steps):
            phrase = _NAMES[takes]
            for step in steps:
                phrase = step.text(step.block.noun).replace("{x}", phrase)
            return f"Implement {what}, which takes {about} and returns {phrase}."
    if wording == 1:
        how = "and takes" if kind == "program" else "in"
        listed = "\n".join(f"{i}. {say[0].upper()}{say[1:]}." for i, say in enumerate(says, 1))
        return f"{opening[1]}, {how} these steps:\n{listed}\n{end}"
    if wording == 2:
        middle = "".join(f" After that, {say}." for say in says[1:-1])
        return f"{opening[2]} First, {says[0]}.{middle} Finally, {says[-1]}. {end}"
    return f"{opening[wording]} {', then '.join(says)}. {end}"
