"""An office assistant: five databases, 27 tools, requests that need look-ups and writes over several steps.

Standard library only; copy this folder into any project. A row's task says which calls would do the job, and the
reward is 1 if the company ends up as those calls leave it, whatever the way there.
"""

from .actions import DOMAINS
from .desk import CATEGORIES, DIFFICULTIES
from .diff import Change, changes
from .grading import CAPABILITIES, Verdict, parse, reward, score
from .larkfield import company
from .nemo_gym import rows_from_nemo_gym, to_nemo_gym
from .office import ENV, WorkplaceEnv, env_for, tools_for
from .rows import SPLITS, answer, make_rows
from .schemas import schema
from .tables import Tables, load_tables

__all__ = (
    "CAPABILITIES", "CATEGORIES", "DIFFICULTIES", "DOMAINS", "ENV", "SPLITS", "Change", "Tables", "Verdict", "WorkplaceEnv",
    "answer", "changes", "company", "env_for", "load_tables", "make_rows", "parse", "reward", "rows_from_nemo_gym", "schema",
    "score", "to_nemo_gym", "tools_for",
)  # fmt: skip
