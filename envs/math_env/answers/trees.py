# SPDX-License-Identifier: Apache-2.0
"""Trees of tuples, the kind of a node first: what answers are read into, and what can be asked of them.

Values: num, sym, const, inf, add, mul, div, pow, neg, pm, fn, pct, deg, sum, base, open (an integral, limit or
derivative). Around values: seq (in brackets), set, list, rel, sets (union and the like), matrix, text, qty (with a
unit), mod, ratio, empty, approx.
"""

_list = str.split  # of words
VALUE_KINDS = set(_list("num sym const add mul div pow neg pm fn pct deg sum base inf open"))


def normal_form(node) -> str:
    """A normal form as text: the same for trees that differ in order, signs and brackets only."""
    if isinstance(node, tuple) and node and isinstance(node[0], str):
        if node[0] == "num":
            small = node[1].denominator.bit_length() + node[1].numerator.bit_length() < 13_000
            return str(node[1]) if small else f"number {hash(node[1])}"
        if node[0] in ("add", "mul"):
            parts, stack = [], list(node[1])
            while stack:
                part = stack.pop()
                if part[0] == node[0]:
                    stack += part[1]
                else:
                    parts.append(normal_form(part))
            return f"{node[0]}({','.join(sorted(parts))})"
        return f"{node[0]}({','.join(normal_form(part) for part in node[1:])})"
    if isinstance(node, tuple):
        return f"[{','.join(map(normal_form, node))}]"
    return str(node)


def free_symbols(node, found: set | None = None, bound: frozenset = frozenset()) -> set[str]:
    """Names of the free variables."""
    found = set() if found is None else found
    if isinstance(node, tuple) and node:
        if node[0] == "sym" and len(node) == 2 and isinstance(node[1], str):
            if node[1] not in bound:
                found.add(node[1])
        elif node[0] == "sum" and len(node) == 6:
            free_symbols(node[3], found, bound)
            free_symbols(node[4], found, bound)
            free_symbols(node[5], found, bound | {node[2]})
        elif node[0] == "open":
            for part in node[3:]:
                free_symbols(part, found, bound | {node[2]})
        elif node[0] != "num":
            for part in node:
                if isinstance(part, tuple):
                    free_symbols(part, found, bound)
    return found


def has(node, *kinds: str) -> bool:
    """Whether a part is of one of these kinds, or a function with one of these names."""
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple) and part:
            if isinstance(part[0], str) and (part[0] in kinds or (part[0] == "fn" and part[1] in kinds)):
                return True
            stack += [p for p in part if isinstance(p, tuple)]
    return False


def infinity(node: tuple) -> int:
    """1 or -1 for plus or minus infinity, else 0."""
    if node[0] == "inf":
        return 1
    return -1 if node[0] == "neg" and node[1][0] == "inf" else 0


def is_name(node: tuple) -> bool:
    """Whether it can stand before '=' as the name of a value: x, f(x), x_1, (x, y), some words."""
    if node[0] in ("sym", "text"):
        return True
    if node[0] == "const":
        return node[1] != "pi"
    if node[0] == "mul":
        return len(node[1]) == 2 and node[1][0][0] == "sym" and is_name(node[1][1])
    if node[0] in ("seq", "set"):
        return all(is_name(item) for item in node[-1])
    if node[0] == "qty":
        return node[1][0] == "sym"
    if node[0] == "fn":
        return node[1] == "abs" and all(is_name(item) for item in node[2])
    return node[0] == "pow" and is_name(node[1]) and node[2][0] == "sym"
