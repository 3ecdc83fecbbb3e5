# SPDX-License-Identifier: Apache-2.0
"""Statements: what is asked, in several wordings."""

from .blocks import Step
from .inputs import NAMES

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


def write_statement(steps: tuple[Step, ...], kind: str, difficulty: str, entry: str, rng) -> str:
    """What is asked, in one of several wordings; an easy problem has one wording only."""
    takes, gives = steps[0].block.takes, steps[-1].block.gives
    plain = difficulty == "easy"
    says = [step.text(step.block.says[0] if plain else rng.choice(step.block.says)) for step in steps]
    wording = 0 if plain else rng.randrange(4)
    lifted = next((step.argument for step in steps if step.lifted), "")
    extra = {"k": "a whole number k", "part": "a string part"}.get(lifted, "")
    call = f"{entry.rpartition('.')[2]}({NAMES[takes]}{', ' + lifted if lifted else ''})"
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
            phrase = NAMES[takes]
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
