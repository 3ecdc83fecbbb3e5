"""Fixtures of several test files here."""

import pytest

from envs.math_env import (
    equal,
)


@pytest.fixture(autouse=True, scope="module")
def sympy_is_up():
    """SymPy imported by its worker, which takes seconds on a busy machine, so that no time limit here counts it."""
    equal("7", r"\int_0^7 1\,dx")
