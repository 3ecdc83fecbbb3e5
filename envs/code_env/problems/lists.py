# SPDX-License-Identifier: Apache-2.0
"""Building blocks on lists of integers."""

from collections.abc import Callable

# fmt: off


def lists(add: Callable[..., None]) -> None:
    def keep(name, level, test, what, values=()):
        add(f"keep_{name}", "ints", "ints", level, f"[x for x in {{x}} if {test}]",
               f"keep only the {what}|throw away all but the {what}|filter for the {what}", f"the {what} among {{x}}",
               values)

    def each(name, level, value, says, noun="", values=()):
        add(f"{name}_each", "ints", "ints", level, f"[{value} for x in {{x}}]", says, noun, values)

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
        add(name, "ints", gives, level, code, says, noun, values, compare)

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
        add(name, "ints", gives, level, code, says, noun, values, compare)

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
