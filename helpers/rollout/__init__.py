# SPDX-License-Identifier: Apache-2.0
"""How does a policy play the tasks of an environment?"""

from helpers.rollout.policies import LocalPolicy, OraclePolicy, RandomPolicy, model_path, open_model
from helpers.rollout.rollouts import Sampling, rollout

__all__ = ["LocalPolicy", "OraclePolicy", "RandomPolicy", "Sampling", "model_path", "open_model", "rollout"]
