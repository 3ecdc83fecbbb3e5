# SPDX-License-Identifier: Apache-2.0
"""What a reader filled in, compared with what the notebook measured or the environment says.

>>> from helpers.run import exercises
>>> exercises.check([None, 3], [str, str])
1: not tried yet
2: right: 3

There is one function for each notebook. Its `answers` are the values of the notebook's last cell, None for an exercise
that was not tried. No solution is written down: each is worked out once there is an answer to judge.
"""

from collections.abc import Callable, Sequence
from numbers import Real
from pathlib import Path

from helpers.here import ROOT
from helpers.run import results


class NotYet(Exception):
    """An answer that is not right yet; the message is the hint."""


def check(answers: Sequence, judges: Sequence[Callable]) -> None:
    """Print a line for each exercise: not tried yet, right and why it is so, or not yet and a hint.

    Args:
        answers: What the reader filled in, None where there is nothing yet.
        judges: For each exercise a function of its answer that returns why it is right or raises `NotYet`.
    """
    for number, (answer, judge) in enumerate(zip(answers, judges, strict=True), 1):
        if answer is None:
            print(f"{number}: not tried yet")
            continue
        try:
            print(f"{number}: right: {judge(answer)}")
        except NotYet as hint:
            print(f"{number}: not yet: {hint}")
        except Exception as error:  # an answer can be anything
            print(f"{number}: not yet: {answer!r:.60} raised {type(error).__name__}: {error}")


# --- kinds of answers ------------------------------------------------------------------------------------


def near(answer, truth: float, hint: str) -> None:
    """A count must be the true one, another number to within two parts in a hundred, or 0.005 where that is more."""
    if isinstance(answer, bool) or not isinstance(answer, Real):
        raise NotYet(f"give a number, got {answer!r}")
    if not abs(float(answer) - truth) <= (0 if isinstance(truth, int) else max(0.005, 0.02 * abs(truth))):
        raise NotYet(hint)


def same_names(answer, truth: set[str], known: Sequence[str], hint: str) -> None:
    """Names, one or several, must be the true ones."""
    given = {answer} if isinstance(answer, str) else set(answer)
    if unknown := sorted(map(str, given - set(known))):
        raise NotYet(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
    if given != truth:
        raise NotYet(hint)


def other_run(folder, here: Path, keep: Sequence[str] = ("environment", "seed")) -> tuple[dict, dict]:
    """The results of this run and of another one, alike in what was to be kept."""
    path = ROOT / folder / "result.json"
    if path.resolve() == Path(here).resolve():
        raise NotYet(f"{folder} is this run: give the other one an out_dir of its own")
    other, mine = results.load_result(path), results.load_result(here)
    if other is None:
        raise NotYet(f"there is no {folder}/result.json yet: run it with out_dir={folder}")
    for key in keep:
        if mine.get(key) != other.get(key):
            raise NotYet(f"change one thing at a time: {key} was {mine.get(key)!r} here and {other.get(key)!r} there")
    return mine, other


def prediction(answer, words: Sequence[str]) -> tuple[str, str]:
    """An answer that is a folder and what the reader expects of the run in it, one of the words."""
    if not isinstance(answer, tuple | list) or len(answer) != 2 or answer[1] not in words:
        raise NotYet(f"give a pair, the folder of the run and one of {', '.join(words)}; got {answer!r}")
    return answer[0], answer[1]


def confirm(said: str, was: str, figures: str) -> str:
    """What a comparison came to, right or not: an expectation that fails teaches as much."""
    if said != was:
        raise NotYet(f"you said {said}, but {figures}: what may be the reason?")
    return figures


COURSE, SHOWN, MOVED = ("higher", "lower", "same"), ("higher", "lower", "not shown"), ("gained", "lost", "not shown")


def course(mine: float, other: float) -> str:
    """One of `COURSE`: whether the other share is higher, to within 0.02."""
    return "same" if abs(other - mine) < 0.02 else "higher" if other > mine else "lower"


def clearly(mine: dict, other: dict) -> str:
    """One of `SHOWN`: whether the other gain is higher, so that the intervals do not touch."""
    (low, high), (its_low, its_high) = mine["ci95"], other["ci95"]
    return "higher" if its_low > high else "lower" if its_high < low else "not shown"


def gain(change: dict) -> str:
    return "{:+.3f} ({:+.3f} to {:+.3f})".format(change["gain"], *change["ci95"])
