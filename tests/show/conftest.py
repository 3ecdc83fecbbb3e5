"""Fixtures of several test files here."""

import pytest
from widget_pages import tasks

from envs import NAMES
from helpers.rollout.policies import OraclePolicy, RandomPolicy
from helpers.rollout.rollouts import Sampling, rollout


@pytest.fixture(scope="module")
def episodes():
    """Right and wrong answers in every environment."""
    found = []
    for name in NAMES:
        module, rows, tools = tasks(name)
        for policy, who in ((OraclePolicy(module, rows), "oracle"), (RandomPolicy(module, rows), "random")):
            found += rollout(module, rows, policy, Sampling(samples=2, tools=tools), name=who, quiet=True)
    return found
