"""An office assistant: five databases, 27 tools, requests that need look-ups and writes over several steps.

Standard library only; copy this folder into any project. A row's task says which calls would do the job, and the
reward is 1 if the company ends up as those calls leave it, whatever the way there.
"""

from .actions import DOMAINS
from .company import company
from .grading import Verdict, parse, reward, score
from .office import ENV, WorkplaceEnv, tools_for
from .tables import Tables, load_tables

__all__ = (
    "DOMAINS", "ENV", "Tables", "Verdict", "WorkplaceEnv", "company", "load_tables", "parse", "reward", "score",
    "tools_for",
)  # fmt: skip
