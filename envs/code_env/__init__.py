# SPDX-License-Identifier: Apache-2.0
r"""Code: functions, stdin programs and classes, graded by hidden tests that run in a sandbox.

Standard library only; copy this folder and `code_sandbox` (which runs what the model wrote, Linux) side by side into
any project. A Hub name given to `read_rows` needs `datasets`.

>>> row = make_rows(1, seed=16)[0]
>>> print(row["prompt"][0]["content"])
Write f(s) for a string s: drop the first character, then swap upper and lower case. Return the result.
<BLANKLINE>
f('ROBOT kayak') == 'obot KAYAK'
>>> score("def f(s): return s[1:].swapcase()", row).reward
1.0
>>> score("Like this: `def f(s): return s.swapcase()`", row).reason
"wrong answer: test 1 of 8: f('noon') returned 'NOON'"

How answers are compared (`comparison` of a row). A value counts by what it is worth: 1 equals 1.0 and True, as == says
and as people's test suites have it, and a tuple equals a list of the same items.

  eq         equal in that sense; a NaN equals nothing. Output of programs: line by line, blanks at the ends of lines
             and empty lines at the end left out.
  approx     numbers within 1e-6 of each other, relative or absolute, whole numbers exactly; a NaN equals a NaN.
             Output of programs: word by word.
  nan        as eq, and a NaN equals a NaN.
  unordered  as eq, the items of a list, tuple or set (the lines of output) in any order.
  exact      as eq, but types count: 1 is not True, 1.0 or (1,) for [1].
"""

from .comparing import TOLERANCE, same
from .environment import ENV, CodeEnv
from .extraction import extract
from .grading import CAPABILITIES, Verdict, answer, parse, reward, score
from .judging import use_sandbox
from .problems import DIFFICULTIES, KINDS, SPLITS
from .readers import read_rows
from .rows import make_rows
from .tasks import COMPARISONS, TIME_LIMIT_S
from .view import view

__all__ = (
    "CAPABILITIES", "COMPARISONS", "DIFFICULTIES", "ENV", "KINDS", "SPLITS", "TIME_LIMIT_S", "TOLERANCE", "CodeEnv",
    "Verdict", "answer", "extract", "make_rows", "parse", "read_rows", "reward", "same", "score", "use_sandbox", "view",
)  # fmt: skip
