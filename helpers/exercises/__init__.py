# SPDX-License-Identifier: Apache-2.0
"""The notebooks' exercises: what a reader filled in, held against what the notebook measured or the environment says.

>>> from helpers import exercises
>>> exercises.check([None, 3], [str, str])
1: not tried yet
2: right: 3

No solution stands here or in a notebook: each is worked out once there is an answer to judge. One function for each
notebook; its `answers` are the values of the notebook's last cell, None for an exercise that was not tried.
"""

from helpers.exercises.answers import NotYet, check
from helpers.exercises.notebooks_00_to_04 import benchmark, quickstart, reward_profile, sft_warmup, task_generation
from helpers.exercises.notebooks_05_to_07 import grpo, multi_environment, validate
from helpers.exercises.notebooks_08_to_10 import own_environment, serve_and_scale, workplace_agent

__all__ = [
    "NotYet", "benchmark", "check", "grpo", "multi_environment", "own_environment", "quickstart", "reward_profile",
    "serve_and_scale", "sft_warmup", "task_generation", "validate", "workplace_agent",
]  # fmt: skip
