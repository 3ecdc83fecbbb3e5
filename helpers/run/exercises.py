# SPDX-License-Identifier: Apache-2.0
"""The notebooks' exercises: what a reader filled in, held against what the notebook measured or the environment says.

>>> from helpers import exercises
>>> exercises.check([None, 3], [str, str])
1: not tried yet
2: right: 3

No solution stands here or in a notebook: each is worked out once there is an answer to judge. One function for each
notebook; its `answers` are the values of the notebook's last cell, None for an exercise that was not tried.
"""

import json
import time
from collections.abc import Callable, Sequence
from numbers import Real
from pathlib import Path
from types import ModuleType

from helpers.episodes import estimates, store, training_rows
from helpers.here import ROOT
from helpers.measure import contract, evaluation
from helpers.measure.reward_profile import answer_text, stress_set
from helpers.rollout import monitor
from helpers.run import results
from helpers.tasks import gates, mixing


class NotYet(Exception):
    """An answer that is not right yet; the message is the hint."""


def check(answers: Sequence, judges: Sequence[Callable]) -> None:
    """Print a line for each exercise: not tried yet, right and why it is so, or not yet and a hint.

    Args:
        answers: What the reader filled in, None where there is nothing yet.
        judges: For each exercise a function of its answer that returns why it is right or raises `NotYet`.
    """
    for number, (answer, judge) in enumerate(zip(answers, judges, strict=True), 1):
        if answer is None:
            print(f"{number}: not tried yet")
            continue
        try:
            print(f"{number}: right: {judge(answer)}")
        except NotYet as hint:
            print(f"{number}: not yet: {hint}")
        except Exception as error:  # an answer can be anything
            print(f"{number}: not yet: {answer!r:.60} raised {type(error).__name__}: {error}")


# --- kinds of answers ------------------------------------------------------------------------------------


def _near(answer, truth: float, hint: str) -> None:
    """A count must be the true one, another number to within two parts in a hundred, or 0.005 where that is more."""
    if isinstance(answer, bool) or not isinstance(answer, Real):
        raise NotYet(f"give a number, got {answer!r}")
    if not abs(float(answer) - truth) <= (0 if isinstance(truth, int) else max(0.005, 0.02 * abs(truth))):
        raise NotYet(hint)


def _same(answer, truth: set[str], known: Sequence[str], hint: str) -> None:
    """Names, one or several, must be the true ones."""
    given = {answer} if isinstance(answer, str) else set(answer)
    if unknown := sorted(map(str, given - set(known))):
        raise NotYet(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
    if given != truth:
        raise NotYet(hint)


def _other(folder, here: Path, keep: Sequence[str] = ("environment", "seed")) -> tuple[dict, dict]:
    """The results of this run and of another one, alike in what was to be kept."""
    path = ROOT / folder / "result.json"
    if path.resolve() == Path(here).resolve():
        raise NotYet(f"{folder} is this run: give the other one an out_dir of its own")
    other, mine = results.load_result(path), results.load_result(here)
    if other is None:
        raise NotYet(f"there is no {folder}/result.json yet: run it with out_dir={folder}")
    for key in keep:
        if mine.get(key) != other.get(key):
            raise NotYet(f"change one thing at a time: {key} was {mine.get(key)!r} here and {other.get(key)!r} there")
    return mine, other


def _foreseen(answer, words: Sequence[str]) -> tuple[str, str]:
    """An answer that is a folder and what the reader expects of the run in it, one of the words."""
    if not isinstance(answer, tuple | list) or len(answer) != 2 or answer[1] not in words:
        raise NotYet(f"give a pair, the folder of the run and one of {', '.join(words)}; got {answer!r}")
    return answer[0], answer[1]


def _borne_out(said: str, was: str, figures: str) -> str:
    """What a comparison came to, right or not: an expectation that fails teaches as much."""
    if said != was:
        raise NotYet(f"you said {said}, but {figures}: what may be the reason?")
    return figures


COURSE, SHOWN, MOVED = ("higher", "lower", "same"), ("higher", "lower", "not shown"), ("gained", "lost", "not shown")


def _course(mine: float, other: float) -> str:
    """One of `COURSE`: whether the other share is higher, to within 0.02."""
    return "same" if abs(other - mine) < 0.02 else "higher" if other > mine else "lower"


def _clearly(mine: dict, other: dict) -> str:
    """One of `SHOWN`: whether the other gain is higher, so that the intervals do not touch."""
    (low, high), (its_low, its_high) = mine["ci95"], other["ci95"]
    return "higher" if its_low > high else "lower" if its_high < low else "not shown"


def _gain(change: dict) -> str:
    return "{:+.3f} ({:+.3f} to {:+.3f})".format(change["gain"], *change["ci95"])


# --- 00 to 04 --------------------------------------------------------------------------------------------


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
        _near(share, found["dead_groups"], "a group is dead where all rewards of one task_id are the same, 0 or 1")
        return f"{share:.1%} of {found['n']} groups hold nothing above or below their mean, and teach nothing"

    def shorter(answer):
        folder, said = _foreseen(answer, MOVED)
        mine, other = _other(folder, here, ("environment", "seed", "difficulty"))
        if 4 * other["steps"] > mine["steps"]:
            raise NotYet(f"it took {other['steps']} steps: take at most a quarter of {mine['steps']}")
        figures = (
            f"{other['steps']} steps gain {_gain(other['change'])} and {mine['steps']} gain {_gain(mine['change'])}"
        )
        return _borne_out(said, evaluation.moved(other["change"]), figures)

    check(answers, [in_words_of_your_own, dead, shorter])


def benchmark(answers: Sequence, first: list[dict]) -> None:
    """Exercises of notebook 01.

    Args:
        answers: pass@4 seeing 2 right of 8, pass@1 with the commonest fault mended, a factor on the number of tasks.
        first: Episodes of one policy at one level.
    """

    def two_of_eight(chance):
        hint = "draw 4 of the 8 answers without putting any back: in how many of the draws are both right ones missing?"
        _near(chance, estimates.pass_at_k(8, 2, 4), hint)
        return f"1 - C(6, 4) / C(8, 4); drawing with replacement would give {1 - 0.75**4:.3f}, which is too low"

    def mended(share):
        worst = evaluation.failures(first)[0]
        judged = [e for e in first if e["reward"] is not None]
        right = sum(e["reward"] >= 1 for e in judged) / len(judged)
        hint = "each answer has one first fault: those that are mended come on top of those that are right already"
        _near(share, right + worst["count"] / len(judged), hint)
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
        _same(kinds, paid, list(stress), hint)
        return "they hold the right answer without giving it; a policy would soon write nothing else"

    def alike(share):
        mine = profile["policies"]["model"]
        p, n = mine["pass_at_1"], mine["samples"]
        _near(share, p**n + (1 - p) ** n, f"all {n} right, or all {n} wrong, each answer right with {p:.3f}")
        return f"{mine['dead_groups']:.3f} were measured: tasks differ, and the easy and the hard ones die first"

    def otherwise(folder):
        mine, other = (result["profile"] for result in _other(folder, here, ("environment",)))
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
        _near(share, live, "count the tasks of the first level of which some answers were right and some wrong")
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
        _near(n, len(training_rows.dpo_rows(before, env)), hint)
        return f"the same answers give {len(training_rows.sft_rows(before, env))} rows for rejection"

    def own_answers(answer):
        folder, said = _foreseen(answer, SHOWN)
        mine, other = _other(folder, here, ("environment", "seed", "difficulty"))
        if mine["method"] == other["method"]:
            raise NotYet(f"it has the same method, {mine['method']}")
        figures = " and ".join(f"{result['method']} gains {_gain(result['change'])}" for result in (mine, other))
        return _borne_out(said, _clearly(mine["change"], other["change"]), figures)

    def longer(answer):
        folder, said = _foreseen(answer, COURSE)
        mine, other = _other(folder, here, ("environment", "seed", "difficulty", "method"))
        if other["steps"] < 5 * mine["steps"]:
            raise NotYet(f"it took {other['steps']} steps: take five times {mine['steps']} or more")
        after = [result["summaries"][f"after {result['method']}"]["pass_at_k"] for result in (mine, other)]
        gaps = [max(at_k.values()) - at_k["1"] for at_k in after]
        told = [
            f"{result['steps']} steps lead to pass@1 {at_k['1']:.3f}, the gap is {gap:.3f}"
            for result, at_k, gap in zip((mine, other), after, gaps)
        ]
        figures = "; ".join(told)
        return _borne_out(said, _course(*gaps), figures)

    check(answers, [pairs, own_answers, longer])


# --- 05 to 07 --------------------------------------------------------------------------------------------


def grpo(answers: Sequence, group_size: int, history: list[dict], here: Path) -> None:
    """Exercises of notebook 05.

    Args:
        answers: A factor, a share, a pair (folder of a run, one of `COURSE`).
        group_size: Answers in a group.
        history: Entries of `training.recorder`.
        here: This run's result.json.
    """

    def pushed(factor):
        rewards = [1.0] + [0.0] * (group_size - 1)
        mean = sum(rewards) / group_size
        _near(factor, (rewards[0] - mean) / (mean - rewards[1]), "what is each reward less the mean of the group?")
        return "the pushes add up to zero: one right answer gets as much as all wrong ones lose together"

    def for_nothing(share):
        dead = [entry["dead_groups"] for entry in history]
        hint = "the mean over all steps of what the panel of dead groups shows, dead_groups in recorder.rows"
        _near(share, sum(dead) / len(dead), hint)
        return f"{share:.1%} was sampled for nothing; {dead[0]:.1%} in the first step, {dead[-1]:.1%} in the last"

    def smaller_groups(answer):
        folder, said = _foreseen(answer, COURSE)
        mine, other = _other(folder, here, ("environment", "seed", "difficulty", "start"))
        shapes = [(result["prompts_per_step"], result["group_size"]) for result in (mine, other)]
        if shapes[1] != (2 * shapes[0][0], shapes[0][1] // 2):
            raise NotYet("prompts times group size are {} x {} here and {} x {} there".format(*shapes[0], *shapes[1]))
        shares = [result["dead_groups"] for result in (mine, other)]
        figures = (
            f"{shares[0]:.3f} of the groups of {shapes[0][1]} are dead and {shares[1]:.3f} of those of {shapes[1][1]}"
        )
        return _borne_out(said, _course(*shares), figures)

    check(answers, [pushed, for_nothing, smaller_groups])


def validate(answers: Sequence, pairs: dict[str, tuple[list[dict], list[dict]]], here: Path) -> None:
    """Exercises of notebook 06.

    Args:
        answers: A number, names of sets of tasks, a pair (folder of a run, one of `MOVED`).
        pairs: Episodes before and after, by the set of tasks.
        here: This run's result.json.
    """

    def by_chance(number):
        _near(number, 0.05 * len(pairs), f"each of {len(pairs)} intervals misses in 5 of 100 such studies")
        return f"with {len(pairs)} sets of tasks a lone finding may be chance; with 14 one is more likely than not"

    def halved(names):
        shown = set()
        for name, (before, after) in pairs.items():
            ids = list(dict.fromkeys(e["task_id"] for e in before))
            kept = set(ids[: max(1, len(ids) // 2)])
            change = evaluation.compare(*([e for e in part if e["task_id"] in kept] for part in (before, after)))
            shown |= {name} if evaluation.moved(change) != "not shown" else set()
        hint = "evaluation.compare the episodes of the first half of the task ids, before and after, set by set"
        _same(names, shown, list(pairs), hint)
        lost = [c["tasks"] for c in results.load_result(here)["changes"] if c["moved"] != "not shown"]
        return f"with all tasks it was {', '.join(lost) or 'none'}: half the tasks widen an interval by a factor of 1.4"

    def outside(answer):
        folder, said = _foreseen(answer, MOVED)
        _, other = _other(folder, here)
        files = [change for change in other["changes"] if change["tasks"].endswith(".jsonl")]
        if not files:
            raise NotYet("it has no benchmark file: benchmark=environment:file.jsonl")
        one = files[0]
        return _borne_out(said, one["moved"], f"{one['tasks']}: {one['gain']:+.3f}, {one['interval']}, {one['moved']}")

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
        folder, said = _foreseen(answer, SHOWN)
        mine, other = _other(folder, here, ("environments", "seed", "levels"))
        name = min(mine["balance"], key=lambda part: part["live"])["name"]
        asked = {part["name"]: part["asked"] for part in other["balance"]}
        if asked[name] < 2 * max(share for key, share in asked.items() if key != name) - 1e-9:
            raise NotYet(f"{name} has the most dead groups here: give it at least twice the weight of the others")
        here_, there = mine["changes"], other["changes"]
        figures = ", ".join(f"{key} gains {_gain(here_[key])} here and {_gain(there[key])} there" for key in here_)
        return _borne_out(said, _clearly(here_[name], there[name]), figures)

    check(answers, [last_only, as_much_each, twice_the_rows])


# --- 08 to 10 --------------------------------------------------------------------------------------------


def workplace_agent(answers: Sequence, env: ModuleType, row: dict, here: Path) -> None:
    """Exercises of notebook 08.

    Args:
        answers: Two conversations, a pair (folder of a run, kind of failure).
        env: The environment.
        row: The task to answer.
        here: This run's result.json.
    """

    def one_too_many(messages):
        verdict = env.score(messages, row)
        if not verdict.reason.startswith("side effect"):
            raise NotYet(f"it earns {verdict.reward}: {verdict.reason}; do all that is asked, and write one thing more")
        return f"it earns {verdict.reward}: {verdict.reason}"

    def another_way(messages):
        strict = row | {"task": json.dumps(json.loads(row["task"]) | {"match": "trajectory"})}
        by_state, by_way = env.score(messages, row), env.score(messages, strict)
        if by_state.reward != 1.0:
            raise NotYet(f"by the state it earns {by_state.reward}: {by_state.reason}")
        if by_way.reward != 0.0:
            raise NotYet("it earns 1 either way: write something more, and undo it")
        return f"by the state it earns 1, by the way there 0: {by_way.reason}"

    def harder(answer):
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise NotYet(f"give a pair, the folder of the run and a kind of failure; got {answer!r}")
        mine, other = _other(answer[0], here)
        if mine["difficulty"] == other["difficulty"]:
            raise NotYet(f"it has the same difficulty, {mine['difficulty']}")
        kinds = other["failures"]
        told = ", ".join(f"{kind['kind']} {kind['share']:.1%}" for kind in kinds[:3])
        return _borne_out(answer[1], kinds[0]["kind"], f"on {other['difficulty']} tasks it is {told}")

    check(answers, [one_too_many, another_way, harder])


def own_environment(answers: Sequence, rows: list[dict]) -> None:
    """Exercises of notebook 09.

    Args:
        answers: Three files: the environment with larger squares, with partial credit, and a new one.
        rows: Tasks of the environment as it is.
    """

    def larger(path):
        module = _kept(path)
        began = time.perf_counter()
        made = module.make_rows(100, seed=1, size=5)
        took = time.perf_counter() - began
        if took > 1:
            raise NotYet(f"100 rows take {took:.1f} s: draw a square, do not list all of them")
        if any(len(module.answer(row).split("\n")) != 5 for row in made):
            raise NotYet("with size=5 an answer must have five lines")
        _kept(path, size=5)
        return f"100 rows in {took:.2f} s, and the contract holds for both sizes"

    def in_part(path):
        module = _kept(path)
        _unpaid(module)
        for row in rows:
            gold, puzzle = module.answer(row), json.loads(row["task"])["puzzle"]
            at = puzzle.index("_")
            wrong = gold[:at] + ("2" if gold[at] == "1" else "1") + gold[at + 1 :]
            paid = module.score(wrong, row).reward
            if not 0 < paid < 1:
                raise NotYet(f"an answer with one wrong cell earns {paid}")
        return f"one wrong cell earns {paid:.2f}, and nothing is paid for nothing"

    def new(path):
        module = _kept(path)
        if module.make_rows(1)[0]["environment"] == rows[0]["environment"]:
            raise NotYet(f"its rows say {rows[0]['environment']!r}: take another task, and another name")
        _unpaid(module)
        return "the contract holds and the stress set earns nothing: run this notebook with it"

    check(answers, [larger, in_part, new])


def _kept(path: Path | str, **knobs) -> ModuleType:
    """The environment in a file, if it keeps the contract."""
    path = ROOT / path
    if not path.is_file():
        raise NotYet(f"there is no file {path}")
    module = contract.load_file(path)
    try:
        contract.check_env(module, **knobs)
    except contract.ContractError as broken:
        raise NotYet(str(broken)) from None
    return module


def _unpaid(module: ModuleType) -> None:
    """Nothing in the stress set may be paid."""
    rows = module.make_rows(24, split="validation")
    for kind, texts in stress_set(module, rows).items():
        paid = sum(module.score(text, row).reward for text, row in zip(texts, rows)) / len(rows)
        if paid:
            raise NotYet(f"answers of the kind '{kind}' earn {paid:.2f}")


def serve_and_scale(answers: Sequence, per_episode: float, draw: Callable, there: list[dict]) -> None:
    """Exercises of notebook 10.

    Args:
        answers: Requests a second, a file of episodes, thresholds.
        per_episode: Requests that an episode makes.
        draw: Makes the first n tasks.
        there: Episodes of the remote run.
    """

    def by_little(rate):
        hint = "how many of 500 end in a second if each takes 20 s, and how many requests does each make?"
        _near(rate, 500 / 20 * per_episode, hint)
        return f"25 episodes end a second, with {per_episode:.1f} requests each: Little's law"

    def joined(path):
        found = [(e["task_id"], e["sample"]) for e in store.read(ROOT / path)]
        tasks = {task for task, _ in found}
        if len(tasks) < 200:
            raise NotYet(f"it holds {len(tasks)} tasks: take 200 or more")
        if doubled := len(found) - len(set(found)):
            raise NotYet(f"{doubled} episodes stand there twice: join the parts with `merge`")
        if missing := {row["task_id"] for row in draw(len(tasks))} - tasks:
            raise NotYet(f"{len(missing)} of the first {len(tasks)} tasks are missing: did every part end?")
        return f"{len(tasks)} tasks, none lost and none doubled"

    def slow(thresholds):
        watch = monitor.Monitor(thresholds)
        for episode in there:
            watch.add(episode)
        warned = watch.check()
        if not any(text.startswith("latency_p95_s") for text in warned):
            raise NotYet(f"no warning of latency_p95_s: it was {watch.report()['latency_p95_s']} s")
        if len(warned) > 1:
            raise NotYet(f"it warns of more than that: {'; '.join(warned)}")
        return warned[0]

    check(answers, [by_little, joined, slow])
