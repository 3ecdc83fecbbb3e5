# SPDX-License-Identifier: Apache-2.0
"""Exercises of the notebooks 05 to 07: GRPO, validation, several environments."""

from collections.abc import Callable, Sequence
from pathlib import Path

from helpers.measure import evaluation
from helpers.run import results
from helpers.run.exercises.answers import (
    COURSE,
    MOVED,
    SHOWN,
    NotYet,
    check,
    clearly,
    confirm,
    course,
    gain,
    near,
    other_run,
    prediction,
    same_names,
)
from helpers.tasks import mixing


def grpo(answers: Sequence, group_size: int, history: list[dict], here: Path) -> None:
    """Exercises of notebook 05.

    Args:
        answers: A factor, a share, a pair (folder of a run, one of `COURSE`).
        group_size: Answers in a group.
        history: Entries of `Recorder`.
        here: This run's result.json.
    """

    def pushed(factor):
        rewards = [1.0] + [0.0] * (group_size - 1)
        mean = sum(rewards) / group_size
        near(factor, (rewards[0] - mean) / (mean - rewards[1]), "what is each reward less the mean of the group?")
        return "the pushes add up to zero: one right answer gets as much as all wrong ones lose together"

    def for_nothing(share):
        dead = [entry["dead_groups"] for entry in history]
        hint = "the mean over all steps of what the panel of dead groups shows, dead_groups in recorder.rows"
        near(share, sum(dead) / len(dead), hint)
        return f"{share:.1%} was sampled for nothing; {dead[0]:.1%} in the first step, {dead[-1]:.1%} in the last"

    def smaller_groups(answer):
        folder, said = prediction(answer, COURSE)
        mine, other = other_run(folder, here, ("environment", "seed", "difficulty", "start"))
        shapes = [(result["prompts_per_step"], result["group_size"]) for result in (mine, other)]
        if shapes[1] != (2 * shapes[0][0], shapes[0][1] // 2):
            raise NotYet("prompts times group size are {} x {} here and {} x {} there".format(*shapes[0], *shapes[1]))
        shares = [result["dead_groups"] for result in (mine, other)]
        figures = (
            f"{shares[0]:.3f} of the groups of {shapes[0][1]} are dead and {shares[1]:.3f} of those of {shapes[1][1]}"
        )
        return confirm(said, course(*shares), figures)

    check(answers, [pushed, for_nothing, smaller_groups])


def validate(answers: Sequence, pairs: dict[str, tuple[list[dict], list[dict]]], here: Path) -> None:
    """Exercises of notebook 06.

    Args:
        answers: A number, names of sets of tasks, a pair (folder of a run, one of `MOVED`).
        pairs: Episodes before and after, by the set of tasks.
        here: This run's result.json.
    """

    def by_chance(number):
        near(number, 0.05 * len(pairs), f"each of {len(pairs)} intervals misses in 5 of 100 such studies")
        return f"with {len(pairs)} sets of tasks a lone finding may be chance; with 14 one is more likely than not"

    def halved(names):
        shown = set()
        for name, (before, after) in pairs.items():
            ids = list(dict.fromkeys(e["task_id"] for e in before))
            kept = set(ids[: max(1, len(ids) // 2)])
            change = evaluation.compare(*([e for e in part if e["task_id"] in kept] for part in (before, after)))
            shown |= {name} if evaluation.moved(change) != "not shown" else set()
        hint = "evaluation.compare the episodes of the first half of the task ids, before and after, set by set"
        same_names(names, shown, list(pairs), hint)
        lost = [c["tasks"] for c in results.load_result(here)["changes"] if c["moved"] != "not shown"]
        return f"with all tasks it was {', '.join(lost) or 'none'}: half the tasks widen an interval by a factor of 1.4"

    def outside(answer):
        folder, said = prediction(answer, MOVED)
        _, other = other_run(folder, here)
        files = [change for change in other["changes"] if change["tasks"].endswith(".jsonl")]
        if not files:
            raise NotYet("it has no benchmark file: benchmark=environment:file.jsonl")
        one = files[0]
        return confirm(said, one["moved"], f"{one['tasks']}: {one['gain']:+.3f}, {one['interval']}, {one['moved']}")

    check(answers, [by_chance, halved, outside])


def multi_environment(answers: Sequence, balance: list[dict], reward: Callable, columns: dict, here: Path) -> None:
    """Exercises of notebook 07.

    Args:
        answers: Completions, weights as text, a pair (folder of a run, one of `SHOWN`).
        balance: From `mixing.balance`.
        reward: From `mixing.dispatch`.
        columns: A row of each environment, as columns.
        here: This run's result.json.
    """
    names = [part["name"] for part in balance]

    def last_only(completions):
        if len(completions) != len(names):
            raise NotYet(f"give {len(names)} completions, for {', '.join(names)}")
        paid = reward(list(completions), **columns)
        if paid != [0.0] * (len(names) - 1) + [1.0]:
            raise NotYet(f"they earn {paid}")
        return "each is judged by the environment that its row names, whatever stands beside it"

    def as_much_each(weights):
        parts = mixing.shares(",".join(names), weights)
        if any(part["live"] == 0 for part in balance):
            raise NotYet("no weights can do it: an environment had no live group at all")
        taught = [float(parts[part["name"]]) * part["live"] for part in balance]
        told = ", ".join(f"{name} {part / sum(taught):.0%}" for name, part in zip(names, taught))
        if max(taught) > 1.1 * min(taught):
            raise NotYet(f"live groups would come from {told}: an environment with fewer live groups needs more rows")
        return f"live groups would come from {told}"

    def twice_the_rows(answer):
        folder, said = prediction(answer, SHOWN)
        mine, other = other_run(folder, here, ("environments", "seed", "levels"))
        name = min(mine["balance"], key=lambda part: part["live"])["name"]
        asked = {part["name"]: part["asked"] for part in other["balance"]}
        if asked[name] < 2 * max(share for key, share in asked.items() if key != name) - 1e-9:
            raise NotYet(f"{name} has the most dead groups here: give it at least twice the weight of the others")
        here_, there = mine["changes"], other["changes"]
        figures = ", ".join(f"{key} gains {gain(here_[key])} here and {gain(there[key])} there" for key in here_)
        return confirm(said, clearly(here_[name], there[name]), figures)

    check(answers, [last_only, as_much_each, twice_the_rows])
