# SPDX-License-Identifier: Apache-2.0
r"""Math: problems with one final answer, graded by what it means and not by how it is written.

Standard library only, copy this folder into any project; SymPy is asked about integrals, limits and open sums if it is
there, in a process of its own, and nothing else needs it.

>>> row = make_rows(1, seed=3, families=["addition"])[0]
>>> print(row["prompt"][0]["content"])
What is 14 + 10? Answer in \boxed{}.
>>> score(r"14 + 10 = 24, so \boxed{24.0}", row).reward
1.0
>>> verdict = score("The answer is 24 or 25.", row)
>>> verdict.reward, verdict.reason
(0.0, "wrong answer: a list of answers, '24 or 25', where one is wanted (read from a phrase)")
>>> equal(r"\frac{\sqrt{2}}{2}", "2^{-1/2}"), equal("(2, 5]", "2 < x <= 5"), equal("5 cm", "5 m")
(True, True, False)
"""

from .answers.judging import equal, judge_text
from .answers.limits import Limit, Unreadable
from .calculator import calculate
from .environment import CAPABILITIES, ENV, MathEnv, Verdict, answer, parse, reward, score, tools_for
from .extraction import extract
from .rows import DIFFICULTIES, FAMILIES, SPLITS, STARTER, make_rows, read_rows, split_of
from .view import view

__all__ = (
    "CAPABILITIES", "DIFFICULTIES", "ENV", "FAMILIES", "SPLITS", "STARTER", "Limit", "MathEnv", "Unreadable", "Verdict",
    "answer", "calculate", "equal", "extract", "judge_text", "make_rows", "parse", "read_rows", "reward", "score",
    "split_of", "tools_for", "view",
)  # fmt: skip
