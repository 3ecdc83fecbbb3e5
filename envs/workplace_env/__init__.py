# SPDX-License-Identifier: Apache-2.0
"""An office assistant: five databases, 27 tools, requests that need look-ups and writes over several steps.

Standard library only; copy this folder into any project. A row's task says which calls would do the job, and the
reward is 1 if the company ends up as those calls leave it, whatever the way there.
"""

from .actions import DOMAINS
from .grading import CAPABILITIES, Verdict, changes, parse, reward, score
from .larkfield import company
from .matching import Change
from .nemo_gym import rows_from_nemo_gym, schema, to_nemo_gym
from .office import ENV, WorkplaceEnv, env_for, tools_for
from .rows import SPLITS, answer, make_rows
from .tables import Tables, load_tables
from .templates import CATEGORIES, DIFFICULTIES
from .view import view

__all__ = (
    "CAPABILITIES", "CATEGORIES", "DIFFICULTIES", "DOMAINS", "ENV", "SPLITS", "Change", "Tables", "Verdict",
    "WorkplaceEnv", "answer", "changes", "company", "env_for", "load_tables", "make_rows", "parse", "reward",
    "rows_from_nemo_gym", "schema", "score", "to_nemo_gym", "tools_for", "view",
)  # fmt: skip
