# SPDX-License-Identifier: Apache-2.0
"""Exercises of the notebooks 08 to 10: tools, an environment of one's own, serving."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from helpers.episodes import store
from helpers.here import ROOT
from helpers.measure import contract
from helpers.measure.reward_profile import stress_set
from helpers.rollout import monitor
from helpers.run.exercises.answers import NotYet, check, confirm, near, other_run


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
        if verdict.kind != "side effect":
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
        mine, other = other_run(answer[0], here)
        if mine["difficulty"] == other["difficulty"]:
            raise NotYet(f"it has the same difficulty, {mine['difficulty']}")
        kinds = other["failures"]
        told = ", ".join(f"{kind['kind']} {kind['share']:.1%}" for kind in kinds[:3])
        return confirm(answer[1], kinds[0]["kind"], f"on {other['difficulty']} tasks it is {told}")

    check(answers, [one_too_many, another_way, harder])


def own_environment(answers: Sequence, rows: list[dict]) -> None:
    """Exercises of notebook 09.

    Args:
        answers: Three files: the environment with larger squares, with partial credit, and a new one.
        rows: Tasks of the environment as it is.
    """

    def larger(path):
        module = load_env(path)
        began = time.perf_counter()
        made = module.make_rows(100, seed=1, size=5)
        took = time.perf_counter() - began
        if took > 1:
            raise NotYet(f"100 rows take {took:.1f} s: draw a square, do not list all of them")
        if any(len(module.answer(row).split("\n")) != 5 for row in made):
            raise NotYet("with size=5 an answer must have five lines")
        load_env(path, size=5)
        return f"100 rows in {took:.2f} s, and the contract holds for both sizes"

    def in_part(path):
        module = load_env(path)
        refuse_paid_stress(module)
        for row in rows:
            gold, puzzle = module.answer(row), json.loads(row["task"])["puzzle"]
            at = puzzle.index("_")
            wrong = gold[:at] + ("2" if gold[at] == "1" else "1") + gold[at + 1 :]
            paid = module.score(wrong, row).reward
            if not 0 < paid < 1:
                raise NotYet(f"an answer with one wrong cell earns {paid}")
        return f"one wrong cell earns {paid:.2f}, and nothing is paid for nothing"

    def new(path):
        module = load_env(path)
        if module.make_rows(1)[0]["environment"] == rows[0]["environment"]:
            raise NotYet(f"its rows say {rows[0]['environment']!r}: take another task, and another name")
        refuse_paid_stress(module)
        return "the contract holds and the stress set earns nothing: run this notebook with it"

    check(answers, [larger, in_part, new])


def load_env(path: Path | str, **knobs) -> ModuleType:
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


def refuse_paid_stress(module: ModuleType) -> None:
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
        near(rate, 500 / 20 * per_episode, hint)
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
