# SPDX-License-Identifier: Apache-2.0
"""Values: plain ones as tagged JSON, read and written on both sides."""

import json
import sys
from collections import Counter, OrderedDict, defaultdict
from typing import Any

from .limits import MAX_DEPTH, MAX_ITEMS, MAX_VALUE

_ATOMS = {type(None), bool, float, str}
_LISTS: dict[type, str] = {tuple: "t", set: "s", frozenset: "z"}
_DICTS = (dict, OrderedDict, defaultdict, Counter)
_BIG = 1 << 63
_TO_JSON = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode  # `MAX_DEPTH` ends any circle


class NotPlain(ValueError):
    pass


def encode(value: object, items: int = MAX_ITEMS) -> str:
    """JSON in which lists, text and ordinary numbers stand for themselves and one-key objects for the rest."""
    return _TO_JSON(_tag(value, [items], MAX_DEPTH))


def _tag(value, room: list[int], depth: int):
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is int:
        return value if -_BIG < value < _BIG else {"i": hex(value)}
    if depth == 0:
        raise NotPlain("nested too deep")
    if kind is list or kind in _LISTS:
        room[0] -= len(value)
        if room[0] < 0:
            raise NotPlain("too many items")
        kinds = set(map(type, value))
        if kinds <= _ATOMS or (kinds == {int} and min(value) > -_BIG and max(value) < _BIG):
            items = list(value)
        else:
            items = [_tag(item, room, depth - 1) for item in value]
        return items if kind is list else {_LISTS[kind]: items}
    if kind in _DICTS:
        return {"d": _tag([list(pair) for pair in dict.items(value)], room, depth)}
    if kind is bytes:
        import binascii

        return {"b": binascii.b2a_base64(value, newline=False).decode()}
    if kind is complex:
        return {"c": [value.real, value.imag]}
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        item = value.item()
        if type(item) in _ATOMS or type(item) in (int, complex, bytes):
            return _tag(item, room, depth)
    raise NotPlain(f"a value of type {kind.__module__}.{kind.__qualname__}"[:200])


def decode(text: bytes | bytearray) -> tuple[str, object, str]:
    """Status, value and error of what a box wrote."""
    try:
        if len(text) > MAX_VALUE:
            raise ValueError("too large")
        return "ok", TAGGED_JSON.decode(text.decode()), ""
    except RecursionError:
        return "bad value", None, "nested too deep"
    except (ValueError, TypeError, LookupError, MemoryError) as error:
        return "bad value", None, str(error)[:200]


def _untag(pairs: list[tuple[str, Any]]) -> object:
    ((tag, body),) = pairs
    if tag == "i":
        return int(body, 16)
    if tag == "b":
        import binascii

        return binascii.a2b_base64(body)
    if type(body) is not list:
        raise ValueError("not a value")
    if tag == "t":
        return tuple(body)
    if tag == "c":
        real, imaginary = body
        return complex(float(real), float(imaginary))
    keys = [key for key, _ in body] if tag == "d" else body
    # Keys made to collide would keep this side busy for minutes.
    if len(keys) > 1000 and max(Counter(map(hash, keys)).values()) > 50:
        raise ValueError("too many keys of one hash")
    return {"s": set, "z": frozenset, "d": dict}[tag](body)


JSON, TAGGED_JSON = json.JSONDecoder(), json.JSONDecoder(object_pairs_hook=_untag)
