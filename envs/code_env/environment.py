# SPDX-License-Identifier: Apache-2.0
"""The environment: one problem, with the tools `run` and `submit`."""

import json

from .extraction import blocks_in
from .judging import SandboxError, Unjudged, judge, try_examples
from .tasks import Task, task_of


class CodeEnv:
    """One problem. `run` tries code on the public examples, `submit` hands it in; reward 1 if all hidden tests pass."""

    def reset(self, *, prompt=None, task: str | None = None, **_) -> str | None:
        """Start the problem in `task`; without one, a small built-in problem."""
        self._text = task or SMALL
        self._task = task_of(self._text)
        self._verdict: tuple[float | None, str] = (0.0, "no answer: nothing was handed in")
        self._share = 0.0
        self._done = False
        self._calls = 0
        self.metrics: dict[str, float] = {}
        return None if prompt else self._task.question or _bare_question(self._task)

    def run(self, code: str) -> str:
        """Run code on the public examples and see what it returns, prints or raises.

        Args:
            code: The whole solution, as Python source.

        Returns:
            For each example the call, the result and the result that is wanted, or the error.
        """
        self._count(20)
        code = source_of(code)
        try:
            return try_examples(code, self._task)
        except SandboxError as error:
            return f"The code could not be run here: {error}"

    def submit(self, code: str) -> str:
        """Hand in the solution. The first one handed in is final.

        Args:
            code: The whole solution, as Python source.

        Returns:
            Whether it passes the hidden tests, or the first failure.
        """
        self._count(30)
        code = source_of(code)
        self._done = True
        try:
            reward_, reason, self._share = judge(code, self._text)
        except Unjudged as why:
            reward_, reason, self._share = None, f"unjudged: {why}", 0.0
        self._verdict = reward_, reason
        return reason

    def get_reward(self) -> float | None:
        """1.0 if the code handed in passes every hidden test, 0.0 if not, None if it could not be judged."""
        reward_, _ = self._verdict
        self.metrics = {
            "answered": float(self._done),
            "passed_before_first_failure": self._share,
            "unjudged": float(reward_ is None),
            "calls": float(self._calls),
        }
        return reward_

    def _count(self, limit: int) -> None:
        if self._done:
            raise ValueError("the code is handed in; stop without a tool call")
        if self._calls >= limit:
            raise ValueError(f"{limit} calls are used up; {'submit your code' if limit < 30 else 'stop here'}")
        self._calls += 1


ENV = CodeEnv
_SMALL_PROMPT = (
    "Write f(xs) for a list of integers xs: keep only the even numbers, then take the sum. Return the result."
)
SMALL = json.dumps(
    {
        "entry_point": "f",
        "tests": [
            {"args": "[[1, 2, 3, 4]]", "expected": "6"},
            {"args": "[[]]", "expected": "0"},
            {"args": "[[-2, 7, 8]]", "expected": "6"},
        ],
        "examples": [{"args": "[[5, 6, 10]]", "expected": "16"}],
        "solution": "def f(xs): return sum([x for x in xs if x % 2 == 0])",
        "question": f"{_SMALL_PROMPT}\n\nf([5, 6, 10]) == 16",
    }
)


def _bare_question(task: Task) -> str:
    what = (
        f"the Python function {task.entry_point}" if task.entry_point else "a Python program that reads standard input"
    )
    return f"Write {what}; it is graded by hidden tests."


def source_of(code: object) -> str:
    """The code that a tool was given; a fence around it, which many models add, does not count."""
    if type(code) is not str:
        raise ValueError(f"code must be the text of the whole solution, got {code!r:.40}")
    if not code.strip():
        raise ValueError("code is empty; give the whole solution as Python source")
    if code.lstrip().startswith(("```", "~~~")):
        blocks = blocks_in(code)
        code = blocks[-1] if blocks else code
    return code.replace("\r\n", "\n").lstrip("\ufeff")
