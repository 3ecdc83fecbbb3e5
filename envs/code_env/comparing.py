# SPDX-License-Identifier: Apache-2.0
"""How a result is compared with the expected one; the package's docstring has the rules."""

import math
import re
from collections import Counter

TOLERANCE = 1e-6


def same(expected: object, found: object, comparison: str = "eq", tolerance: float = TOLERANCE) -> bool:
    """Whether a plain value counts as the expected one; the package's docstring says how."""
    try:
        if comparison == "approx":
            return _close(expected, found, tolerance)
        if comparison == "unordered":
            if not isinstance(expected, _SEQUENCE) or not isinstance(found, _SEQUENCE):
                return _key(expected) == _key(found)
            return Counter(map(_key, expected)) == Counter(map(_key, found))
        exact, nan = comparison == "exact", comparison in ("nan", "exact")
        return _key(expected, exact, nan) == _key(found, exact, nan)
    except RecursionError:
        return False


_SEQUENCE = (list, tuple, set, frozenset)


def _key(value: object, exact: bool = False, nan: bool = False) -> object:
    """Something hashable that is equal for values that count as equal."""
    kind = type(value).__name__ if exact else ""
    if isinstance(value, list | tuple):
        return (kind or "items", tuple([_key(item, exact, nan) for item in value]))
    if isinstance(value, dict):
        return (kind or "dict", frozenset((_key(k, exact, nan), _key(v, exact, nan)) for k, v in value.items()))
    if isinstance(value, set | frozenset):
        return (kind or "set", frozenset(_key(item, exact, nan) for item in value))
    if isinstance(value, float | complex) and value != value:
        return ("nan",) if nan else ("nan", object())
    return (kind, value)


def _close(expected: object, found: object, tolerance: float) -> bool:
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        return len(expected) == len(found) and all(_close(a, b, tolerance) for a, b in zip(expected, found))
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(_close(v, found[k], tolerance) for k, v in expected.items())
    if isinstance(expected, float | complex) or isinstance(found, float | complex):
        numbers = (int, float, complex)
        if not isinstance(expected, numbers) or not isinstance(found, numbers):
            return False
        if expected != expected or found != found:
            return expected != expected and found != found
        try:
            far = abs(expected - found)
            return expected == found or (far <= tolerance * max(1.0, abs(expected)) and far != math.inf)
        except OverflowError:  # an int beyond every float
            return False
    return _key(expected) == _key(found)


def same_output(expected: str, found: str, comparison: str) -> bool:
    if comparison == "approx":
        one, other = expected.split(), found.split()
        return len(one) == len(other) and all(a == b or _close_words(a, b) for a, b in zip(one, other))
    one, other = _lines(expected), _lines(found)
    return sorted(one) == sorted(other) if comparison == "unordered" else one == other


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.replace("\r\n", "\n").rstrip().split("\n")]


def _close_words(one: str, other: str) -> bool:
    if len(one) > 400 or len(other) > 400 or not (_NUMBER.fullmatch(one) and _NUMBER.fullmatch(other)):
        return False
    if _WHOLE_NUMBER.fullmatch(one) and _WHOLE_NUMBER.fullmatch(other):
        return int(one) == int(other)
    return _close(float(one), float(other), TOLERANCE)


_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?:nan|inf(?:inity)?)", re.I)
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]+")
