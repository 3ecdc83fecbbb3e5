# SPDX-License-Identifier: Apache-2.0
"""Exercises of the notebooks 00 to 04: the first look, benchmark, reward profile, tasks, warm-up."""

from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from types import ModuleType

from helpers.episodes import estimates, training_rows
from helpers.measure import evaluation
from helpers.measure.reward_profile import answer_text, stress_set
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
from helpers.tasks import gates


def quickstart(answers: Sequence, env: ModuleType, row: dict, before: list[dict], here: Path) -> None:
    """Exercises of notebook 00.

    Args:
        answers: A completion, a share, a pair (folder of a run, one of `MOVED`).
        env: The environment.
        row: The task to answer.
        before: Episodes before training.
        here: This run's result.json.
    """

    def in_words_of_your_own(completion):
        if answer_text(env.answer(row)) in answer_text(completion):
            raise NotYet("env.answer(row) stands in it word for word: say the same in another form")
        verdict = env.score(completion, row)
        if verdict.reward != 1.0:
            raise NotYet(f"it earns {verdict.reward}: {verdict.reason}")
        return "the grader reads the outcome, not the wording, so a model may find a form of its own"

    def dead(share):
        found = evaluation.summary(before)
        near(share, found["dead_groups"], "a group is dead where all rewards of one task_id are the same, 0 or 1")
        return f"{share:.1%} of {found['n']} groups hold nothing above or below their mean, and teach nothing"

    def shorter(answer):
        folder, said = prediction(answer, MOVED)
        mine, other = other_run(folder, here, ("environment", "seed", "difficulty"))
        if 4 * other["steps"] > mine["steps"]:
            raise NotYet(f"it took {other['steps']} steps: take at most a quarter of {mine['steps']}")
        figures = f"{other['steps']} steps gain {gain(other['change'])} and {mine['steps']} gain {gain(mine['change'])}"
        return confirm(said, evaluation.moved(other["change"]), figures)

    check(answers, [in_words_of_your_own, dead, shorter])


def benchmark(answers: Sequence, first: list[dict]) -> None:
    """Exercises of notebook 01.

    Args:
        answers: pass@4 seeing 2 right of 8, pass@1 with the commonest fault mended, a factor on the number of tasks.
        first: Episodes of one policy at one level.
    """

    def two_of_eight(chance):
        hint = "draw 4 of the 8 answers without putting any back: in how many of the draws are both right ones missing?"
        near(chance, estimates.pass_at_k(8, 2, 4), hint)
        return f"1 - C(6, 4) / C(8, 4); drawing with replacement would give {1 - 0.75**4:.3f}, which is too low"

    def mended(share):
        worst = evaluation.failures(first)[0]
        judged = [e for e in first if e["reward"] is not None]
        right = sum(e["reward"] >= 1 for e in judged) / len(judged)
        hint = "each answer has one first fault: those that are mended come on top of those that are right already"
        near(share, right + worst["count"] / len(judged), hint)
        return f"'{worst['kind']}' is all that stands between {right:.3f} and {share:.3f}"

    def half_as_wide(factor):
        if not isinstance(factor, Real) or not 1 <= float(factor) <= 20:
            raise NotYet(f"give a factor between 1 and 20, got {factor!r}")
        shares = [
            sum(reward >= 1 for reward in group) / len(group) for group in estimates.groups(first).values() if group
        ]
        more = [shares[i % len(shares)] for i in range(round(factor * len(shares)))]  # as many more tasks like these
        now, then = (high - low for low, high in map(estimates.bootstrap, (shares, more)))
        if not now:
            raise NotYet("the interval has no width: all tasks here were solved as often as each other")
        if not 0.45 <= then / now <= 0.55:
            raise NotYet(f"{factor} times the tasks leave {then / now:.0%} of the width")
        return f"{len(more)} tasks instead of {len(shares)}: the width falls as one over the root of their number"

    check(answers, [two_of_eight, mended, half_as_wide])


def reward_profile(answers: Sequence, env: ModuleType, rows: list[dict], profile: dict, here: Path) -> None:
    """Exercises of notebook 02.

    Args:
        answers: Names of the stress set, a share, the folder of a run.
        env: The environment.
        rows: The tasks of the stress set.
        profile: This run's.
        here: This run's result.json.
    """

    def lenient(kinds):
        stress = stress_set(env, rows)
        gold = [answer_text(env.answer(row)) for row in rows]
        paid = {kind for kind, texts in stress.items() if any(map(str.__contains__, texts, gold))}
        hint = "in which kinds does the right answer stand somewhere? stress_set(env, rows) has the texts"
        same_names(kinds, paid, list(stress), hint)
        return "they hold the right answer without giving it; a policy would soon write nothing else"

    def alike(share):
        mine = profile["policies"]["model"]
        p, n = mine["pass_at_1"], mine["samples"]
        near(share, p**n + (1 - p) ** n, f"all {n} right, or all {n} wrong, each answer right with {p:.3f}")
        return f"{mine['dead_groups']:.3f} were measured: tasks differ, and the easy and the hard ones die first"

    def otherwise(folder):
        mine, other = (result["profile"] for result in other_run(folder, here, ("environment",)))
        if mine["verdict"] == other["verdict"]:
            raise NotYet(f"it says {other['verdict']} as well: {other['reasons'][0]}")
        return f"{other['verdict']} there: {other['reasons'][0]}"

    check(answers, [lenient, alike, otherwise])


def task_generation(
    answers: Sequence, row: dict, code: ModuleType, written: list[dict], groups: list[list[float]]
) -> None:
    """Exercises of notebook 03.

    Args:
        answers: A prompt, a program, a share.
        row: A task.
        code: The environment of the written problems.
        written: Those problems, as rows.
        groups: Rewards of the answers to each task of one level.
    """

    def nearly(prompt):
        twin = {"prompt": [{"role": "user", "content": prompt}], "task": "another", "task_id": "yours"}
        if gates.duplicate([row, twin])[1]:
            raise NotYet("that falls at the gate before: it is the same but for case and spaces")
        reason = gates.near_duplicate([row, twin])[1]
        if not reason:
            raise NotYet("it stays: change fewer of the words, each one changes three 3-grams")
        return f"it falls, {reason.split(' like ')[0]} of its 3-grams are in both"

    def half_right(program):
        if not written:
            raise NotYet("no problem was written in this run")
        verdict = code.score(program, written[0])
        if verdict.reward != 0.0:
            raise NotYet(f"it earns {verdict.reward}: {verdict.reason}")
        if not verdict.metrics["passed_before_first_failure"]:
            raise NotYet(f"no test lets it through: {verdict.reason}")
        return f"a single test would have paid it; {verdict.reason}"

    def between(share):
        live = sum(len(set(group)) > 1 for group in groups) / len(groups)
        near(share, live, "count the tasks of the first level of which some answers were right and some wrong")
        return f"{share:.1%} of {len(groups)} tasks would teach this model something now"

    check(answers, [nearly, half_right, between])


def sft_warmup(answers: Sequence, env: ModuleType, before: list[dict], here: Path) -> None:
    """Exercises of notebook 04.

    Args:
        answers: A number of pairs, two pairs (folder of a run, one of `SHOWN`) and (folder of a run, one of `COURSE`).
        env: The environment.
        before: Episodes before the warm-up.
        here: This run's result.json.
    """

    def pairs(n):
        hint = "a pair needs a better and a worse answer to the same task"
        near(n, len(training_rows.dpo_rows(before, env)), hint)
        return f"the same answers give {len(training_rows.sft_rows(before, env))} rows for rejection"

    def own_answers(answer):
        folder, said = prediction(answer, SHOWN)
        mine, other = other_run(folder, here, ("environment", "seed", "difficulty"))
        if mine["method"] == other["method"]:
            raise NotYet(f"it has the same method, {mine['method']}")
        figures = " and ".join(f"{result['method']} gains {gain(result['change'])}" for result in (mine, other))
        return confirm(said, clearly(mine["change"], other["change"]), figures)

    def longer(answer):
        folder, said = prediction(answer, COURSE)
        mine, other = other_run(folder, here, ("environment", "seed", "difficulty", "method"))
        if other["steps"] < 5 * mine["steps"]:
            raise NotYet(f"it took {other['steps']} steps: take five times {mine['steps']} or more")
        after = [result["summaries"][f"after {result['method']}"]["pass_at_k"] for result in (mine, other)]
        gaps = [max(at_k.values()) - at_k["1"] for at_k in after]
        told = [
            f"{result['steps']} steps lead to pass@1 {at_k['1']:.3f}, the gap is {gap:.3f}"
            for result, at_k, gap in zip((mine, other), after, gaps)
        ]
        figures = "; ".join(told)
        return confirm(said, course(*gaps), figures)

    check(answers, [pairs, own_answers, longer])
