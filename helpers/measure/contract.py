# SPDX-License-Identifier: Apache-2.0
"""Check an environment module against the contract, without a model.

>>> from envs import load
>>> from helpers.measure.contract import check_env
>>> check_env(load("sudoku"))["gold"]
'8 of 8 gold answers score 1'

The contract is docs/contract.md. Each check is one small function, in `contract_module_checks` or
`contract_episode_checks`, that returns what it saw, or raises what it saw and what to do.
"""

import sys
import types
from pathlib import Path

from helpers.measure import contract_episode_checks as episodes
from helpers.measure import contract_module_checks as modules
from helpers.measure.contract_subject import Broken, Subject

CHECKS = (
    modules.check_surface, modules.check_documented, modules.check_rows, modules.check_arrow, modules.check_seed,
    modules.check_splits, modules.check_difficulties, modules.check_optional_names, episodes.check_reset,
    episodes.check_gold, episodes.check_no_credit, episodes.check_verdict, episodes.check_parse,
    episodes.check_reasoning, episodes.check_replay, episodes.check_view, episodes.check_get_reward,
    episodes.check_bad_arguments, episodes.check_interleave, episodes.check_reward,
)  # fmt: skip


def load_file(path: Path | str) -> types.ModuleType:
    """Import an environment from a file of its own, anew each time, so that an edit counts at once.

    Args:
        path: The file, such as "runs/mine/change_env.py"; the module is called like it.

    Raises:
        FileNotFoundError: there is none.
    """
    path = Path(path).resolve()
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    code = compile(path.read_text(encoding="utf-8"), path, "exec")
    sys.modules[path.stem] = module
    exec(code, module.__dict__)
    return module


class ContractError(AssertionError):
    """The environment breaks its contract; the message names the check, what was seen, and the remedy."""


def check_env(module: types.ModuleType, n: int = 8, **knobs) -> dict[str, str]:
    """Run every check on an environment module.

    Args:
        module: The environment, as `envs.load(name)` returns it.
        n: Rows to make for each split and seed.
        **knobs: Passed on to the module's `make_rows`.

    Returns:
        What each check saw, by the check's name.

    Raises:
        ContractError: the environment breaks the contract; the first check that fails is named.
    """
    if n < 2:
        raise ValueError(f"n must be at least 2, to compare rows with each other; got {n!r}")
    subject = Subject(module, n, knobs)
    report = {}
    for check in CHECKS:
        name = check.__name__.removeprefix("check_")
        try:
            report[name] = check(subject)
        except Broken as fault:
            raise ContractError(f"{module.__name__}: {name}: {fault}") from fault.__cause__
        except Exception as error:
            raise ContractError(
                f"{module.__name__}: {name}: raised {type(error).__name__}: {error}; nothing here may raise, "
                "the traceback above shows where it comes from"
            ) from error
    return report
