# SPDX-License-Identifier: Apache-2.0
"""Building blocks on numbers, dicts and dates."""

from collections.abc import Callable

# fmt: off


def numbers(add: Callable[..., None]) -> None:
    def number(name, gives, level, code, says, noun="", values=()):
        add(name, "int", gives, level, code, says, noun, values)

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


def dicts(add: Callable[..., None]) -> None:
    def names(name, gives, level, code, says, noun="", values=()):
        add(name, "dict", gives, level, code, says, noun, values)

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
    names("by_value", "groups", 2, "{v: sorted(n for n in {x} if {x}[n] == v) for v in {x}.values()}",
          "turn it around: a dict from each value to the sorted list of keys that have it"
          "|group the keys by value in a dict, each group a sorted list")
    names("shares", "dict", 2, "{n: 100 * v // max(1, sum({x}.values())) for n, v in {x}.items()}",
          "replace each value by its percentage of the sum of all values, rounded down, a sum below 1 counting as 1"
          "|turn the values into whole percentages of their sum (or of 1 if that is larger), rounding down")


def dates(add: Callable[..., None]) -> None:
    day = "date.fromisoformat({x})"

    def dated(name, gives, level, code, says, values=()):
        add(name, "date", gives, level, code, says, "", values)

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
        add(name, "dates", gives, level, code, says, "", values)

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
