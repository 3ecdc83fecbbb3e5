# SPDX-License-Identifier: Apache-2.0
"""What the caller gets."""

from typing import NamedTuple


class Outcome(NamedTuple):
    """What became of one call, or of one program.

    `status` is "ok", "syntax error", "exception", "no function", "time limit", "memory limit", "output limit",
    "exited" (it ended itself), "crashed" (by a signal), "bad value" (the result holds something else than plain builtin
    values, or is too large) or "sandbox" (not the program's fault: it could not be judged).
    """

    status: str
    value: object  # of a call; None for a program
    error: str  # what went wrong, with the line; for a program the tail of its stderr
    stdout: str
    level: str
    cpu_s: float  # as the box measured it: information, not evidence
    wall_s: float


class Run(NamedTuple):
    """What became of a function and its calls.

    `status` is "ok" when the source loaded and every call was answered or failed on its own, else the reason why the
    whole run stopped. `outcomes` has an entry for each call, in the order given; those that never ran carry the reason.
    """

    status: str
    error: str
    outcomes: list[Outcome]
    level: str
    cpu_s: float
    wall_s: float
