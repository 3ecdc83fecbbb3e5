# SPDX-License-Identifier: Apache-2.0
"""Environments: tasks with a verifier, one module each.

>>> from envs import load
>>> sudoku = load("sudoku")
>>> row = sudoku.make_rows(1)[0]
>>> sudoku.score(sudoku.answer(row), row).reward
1.0
"""

from importlib import import_module
from types import ModuleType

NAMES = ("sudoku", "math", "code", "workplace")


def load(name: str) -> ModuleType:
    """Import the environment called `name`, one of `NAMES`.

    Raises:
        ValueError: there is no such environment.
    """
    if name not in NAMES:
        raise ValueError(f"no environment called {name!r}; choose one of {', '.join(NAMES)}")
    return import_module(f"{__name__}.{name}_env")
