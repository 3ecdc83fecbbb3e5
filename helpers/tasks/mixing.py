# SPDX-License-Identifier: Apache-2.0
"""Several environments in one training run: whose turn it is, who pays an answer, and what became of each."""

import math
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType


def shares(environments: str, weights: str | None = None) -> dict[str, Fraction]:
    """What part of the rows each environment gets.

    Args:
        environments: Names with commas between them, such as "sudoku,math".
        weights: A number for each, in the same order, such as "2,1"; None for equal parts.

    Returns:
        Parts by name; they add up to 1.

    Raises:
        ValueError: one name only, a name twice, another number of weights than of names, or a weight that is no number
            above 0.
    """
    names = [name.strip() for name in environments.split(",")]
    if len(names) < 2:
        raise ValueError(f"environments={environments!r} names one environment: give several, such as 'one,other'")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"environment {twice!r} is named twice in {environments!r}: give it more weight instead")
    given = weights.split(",") if weights is not None else ["1"] * len(names)
    if len(given) != len(names):
        raise ValueError(f"weights={weights!r} has {len(given)} numbers for {len(names)} environments ({environments})")
    try:
        parts = [Fraction(number.strip()) for number in given]
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"weights must be numbers with commas between them, such as '2,1'; got {weights!r}") from None
    if min(parts) <= 0:
        raise ValueError(f"every weight must be above 0, got {weights!r}; leave out an environment that gets no rows")
    return {name: part / sum(parts) for name, part in zip(names, parts)}


def interleave(rows: dict[str, list[dict]], parts: dict[str, Fraction], n: int) -> list[dict]:
    """`n` rows in turns: at every place the environment that is furthest behind its part gives its next row.

    So any stretch of the rows, such as those of one training step, holds the parts to within a row or two, and the
    whole holds them as exactly as whole rows can. Train with `shuffle_dataset=False`, or the order is lost.

    Args:
        rows: Tasks of each environment, in the order in which they are to come.
        parts: From `shares`.
        n: How many in all.

    Raises:
        ValueError: an environment has too few rows; the message says how many are wanted.
    """
    owed, taken, mixed = dict.fromkeys(parts, Fraction(0)), dict.fromkeys(parts, 0), []
    for _ in range(n):
        owed = {name: owed[name] + part for name, part in parts.items()}
        name = max(owed, key=owed.get)  # the first of those that are equal
        owed[name] -= 1
        if taken[name] == len(rows[name]):
            raise ValueError(
                f"{name} has {len(rows[name])} rows, its part of {n} is {math.ceil(n * parts[name])}: make more of them"
            )
        mixed.append(rows[name][taken[name]])
        taken[name] += 1
    return mixed


def dispatch(modules: dict[str, ModuleType], group_size: int) -> Callable:
    """A reward function for rows of several environments: each answer is paid by the environment that its row names.

    An answer that could not be judged stays None. Where the trainer has an environment object for the row that pays
    by itself (`get_reward`), the row is left to it, with None. Mean reward, share of groups whose rewards are all the
    same, and share of unjudged answers are logged for each environment: "reward/NAME", "dead/NAME", "unjudged/NAME".

    Args:
        modules: Environments by name.
        group_size: Answers to a prompt; they stand side by side.
    """

    def reward(completions, environment, environments=None, log_metric=None, **columns) -> list[float | None]:
        columns = {"completions": completions, "environment": environment} | columns
        rewards: list[float | None] = [None] * len(completions)
        for name in dict.fromkeys(environment):
            at = [i for i, other in enumerate(environment) if other == name and not _pays(environments, i)]
            if not at:
                continue
            if name not in modules:
                raise ValueError(f"a row is of environment {name!r}, rewards are here for {', '.join(modules)}")
            for i, paid in zip(at, modules[name].reward(**_picked(columns, at, len(completions)))):
                rewards[i] = paid
            if log_metric:
                for key, value in _course([rewards[i] for i in at], group_size).items():
                    log_metric(f"{key}/{name}", value)
        return rewards

    return reward


def _pays(environments: list | None, i: int) -> bool:
    return environments is not None and hasattr(environments[i], "get_reward")


def _picked(columns: dict, at: list[int], n: int) -> dict:
    """The entries `at` of every column; what is no column of `n` entries is passed on whole."""
    return {
        key: [value[i] for i in at] if isinstance(value, list) and len(value) == n else value
        for key, value in columns.items()
    }


def _course(rewards: list[float | None], group_size: int) -> dict[str, float]:
    """The numbers to log. A group is dead if its judged rewards are all the same, or none was judged."""
    groups = [{r for r in rewards[i : i + group_size] if r is not None} for i in range(0, len(rewards), group_size)]
    judged = [r for r in rewards if r is not None]
    mean = {"reward": sum(judged) / len(judged)} if judged else {}
    dead = sum(len(group) < 2 for group in groups) / len(groups)
    return mean | {"dead": dead, "unjudged": 1 - len(judged) / len(rewards)}


class TextTask:
    """An environment object without tools and without a reward, for a trainer that wants one for every row: rows that
    are answered in text stand beside rows that are played, and a reward function pays them."""

    def reset(self, **_) -> None:
        """Nothing to set up: the row brings its prompt."""


def to_draw(parts: dict[str, float], wanted: int) -> dict[str, int]:
    """How many rows to make of each environment for a mix of `wanted`: a quarter more than its share, since long
    prompts drop out.

    Args:
        parts: The share of each, from `shares`.
        wanted: Rows in all.
    """
    return {name: math.ceil(1.25 * wanted * part) for name, part in parts.items()}


def balance(parts: dict[str, Fraction], rows: list[dict], history: list[dict]) -> list[dict]:
    """What each environment got of a run and gave to it.

    Args:
        parts: From `shares`.
        rows: The rows that were trained on.
        history: Entries of `Recorder`, of a run with `dispatch`.

    Returns:
        For each environment: `name`, `asked` and `drawn` (shares of the rows), `rows` (how many), `live` (share of its
        groups that there was something to select from), `teaching` (its share of all such groups), `first` and `last`
        (mean reward in the first and the last tenth of the steps that had rows of it).
    """
    drawn = {name: sum(row["environment"] == name for row in rows) for name in parts}
    live = {name: 1 - _mean([entry[f"dead/{name}"] for entry in history if f"dead/{name}" in entry]) for name in parts}
    taught = {name: live[name] * drawn[name] for name in parts}
    table = []
    for name, part in parts.items():
        rewards = [entry[f"reward/{name}"] for entry in history if f"reward/{name}" in entry]
        tenth = max(1, len(rewards) // 10)
        table.append({
            "name": name, "asked": float(part), "drawn": drawn[name] / len(rows), "rows": drawn[name],
            "live": live[name], "teaching": taught[name] / (sum(taught.values()) or 1),
            "first": _mean(rewards[:tenth]), "last": _mean(rewards[-tenth:]),
        })  # fmt: skip
    return table


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan
