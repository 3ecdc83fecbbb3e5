# SPDX-License-Identifier: Apache-2.0
"""Is my answer to an exercise of a notebook right, and if not, what should I look at?"""

from helpers.run.exercises.answers import NotYet, check
from helpers.run.exercises.notebooks_00_to_04 import benchmark, quickstart, reward_profile, sft_warmup, task_generation
from helpers.run.exercises.notebooks_05_to_07 import grpo, multi_environment, validate
from helpers.run.exercises.notebooks_08_to_10 import own_environment, serve_and_scale, workplace_agent

__all__ = [
    "NotYet", "benchmark", "check", "grpo", "multi_environment", "own_environment", "quickstart", "reward_profile",
    "serve_and_scale", "sft_warmup", "task_generation", "validate", "workplace_agent",
]  # fmt: skip
