# SPDX-License-Identifier: Apache-2.0
"""TODO measure.reward_profile."""

import json
import random
import time
from itertools import pairwise

from helpers.measure.evaluation import _mean, compare, moved, summary
from helpers.measure.reasoning import FORMS, closed


def stress_set(module, rows: list[dict], seed: int = 0) -> dict[str, list[str]]:
    """Completions that deserve nothing, a list for each row of `rows` under each name.

    Args:
        module: The environment.
        rows: At least two tasks with different answers.
        seed: Of the draws.
    """
    rng = random.Random(seed)
    gold = [answer_text(module.answer(row)) for row in rows]
    asked = [row["prompt"][-1]["content"] for row in rows]

    def others(i: int, n: int) -> list[str]:
        pool = [g for g in dict.fromkeys(gold) if g != gold[i]]
        return rng.sample(pool, min(n, len(pool)))

    def another(i: int) -> str:
        """A gold answer that is wrong here. Two tasks whose answers pass for each other have the same one: draw again;
        a verifier that pays them all is found out, since the last one drawn is kept."""
        for other in (drawn := others(i, 7)):
            there = gold.index(other)
            if not (module.score(other, rows[i]).reward and module.score(gold[i], rows[there]).reward):
                return other
        return drawn[-1]

    every, forms = range(len(rows)), list(FORMS)
    return {
        "empty": ["" for _ in every],
        "echo of the prompt": asked,
        "another row's gold": [another(i) for i in every],
        "spray of answers": ["\n\n".join([*others(i, 7), gold[i]]) for i in every],
        "gold inside reasoning": [closed(forms[i % len(forms)], gold[i]) for i in every],
        "unclosed reasoning": [f"<think>\n{gold[i]}" for i in every],
        "very long": [(asked[i] + "\nwait, ") * (100_000 // len(asked[i])) for i in every],
    }


def answer_text(answer: str | list[dict]) -> str:
    """A gold answer as one text, tool calls in their usual tags."""
    if isinstance(answer, str):
        return answer
    calls = [c["function"] for m in answer for c in m.get("tool_calls") or []]
    return "\n".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls)


def reward_profile(module, rows: list[dict], rollouts: dict[str, list[dict]], train: str, seed: int = 0) -> dict:
    """Whether an environment's reward can be trusted to train a policy.

    Args:
        module: The environment.
        rows: Tasks for the stress set and the timing.
        rollouts: Episodes by policy on the same tasks, the policy expected to be weakest first, the strongest last.
        train: Which of these policies is to be trained.
        seed: Of the draws.

    Returns:
        `policies` (a `summary` each), `stress` (mean reward of each kind of undeserving answer),
        `deterministic`, `latency_ms` (median and p99 of one `score` of an answer that it has not seen), `verdict`
        ("go" or "recalibrate") and `reasons`, a list of sentences, each naming what to change.

    Raises:
        ValueError: the policies were given different tasks.
    """
    policies = {name: summary(episodes) for name, episodes in rollouts.items()}
    stress, times, same = {}, [], True
    for name, completions in stress_set(module, rows, seed).items():
        rewards = [module.score(completion, row).reward for completion, row in zip(completions, rows)]
        again = [module.score(completion, row).reward for completion, row in zip(completions, rows)]
        same &= rewards == again
        stress[name] = _mean([r or 0.0 for r in rewards])
    for episodes in rollouts.values():
        same &= all(module.score(e["messages"], e).reward == e["reward"] for e in episodes[:200])
        for episode, other in zip(episodes[:200], episodes[-200:]):  # pairs that no verifier can have seen before
            start = time.perf_counter()
            module.score(episode["messages"], other)
            times.append(1000 * (time.perf_counter() - start))
    times.sort()
    profile = {
        "policies": policies,
        "stress": stress,
        "deterministic": same,
        "latency_ms": {"median": times[len(times) // 2], "p99": times[int(len(times) * 0.99)]},
    }
    better = {(weak, strong): compare(rollouts[weak], rollouts[strong], seed) for weak, strong in pairwise(rollouts)}
    reasons = _doubts(profile, better, train)
    return profile | {"verdict": "recalibrate" if reasons else "go", "reasons": reasons or [_why_go(policies[train])]}


def _doubts(profile: dict, better: dict[tuple[str, str], dict], train: str) -> list[str]:
    """Sentences that speak against training with this reward now; `better` compares neighbours, weak and strong."""
    doubts, policies = [], profile["policies"]
    for name, mean in profile["stress"].items():
        if mean > 0:
            doubts.append(f"answers of the kind '{name}' earn {mean:.2f}: the verifier can be gamed, mend it first")
    if not profile["deterministic"]:
        doubts.append("the same answer got two rewards: remove the chance from the verifier")
    for (weak, strong), change in better.items():
        if moved(change) != "gained":
            doubts.append(
                f"{strong} ({change['after']:.2f}) does not clearly beat {weak} ({change['before']:.2f}) on the same "
                "tasks: the reward does not tell a strong policy from a weak one"
            )
    mine = policies[train]
    if mine["unjudged"] > 0.02:
        doubts.append(f"{mine['unjudged']:.0%} of the answers could not be judged: look at their reasons")
    if mine["dead_groups"] > 0.9:
        level = "easier rows or SFT first" if mine["pass_at_1"] < 0.5 else "harder rows"
        doubts.append(f"{mine['dead_groups']:.0%} of {train}'s groups have one reward only: take {level}")
    best = max(mine["pass_at_k"].values())
    if 0 < mine["pass_at_1"] < 0.9 and mine["samples"] > 1 and best - mine["pass_at_1"] < 0.05:
        doubts.append(
            f"{train} is sure rather than unsure (best of {mine['samples']} {best:.2f}, one {mine['pass_at_1']:.2f}): "
            "there is nothing to select from, so warm it up or raise the temperature"
        )
    return doubts


def _why_go(mine: dict) -> str:
    best = max(mine["pass_at_k"].values())
    return (
        f"no undeserving answer is paid, stronger policies earn more, and {1 - mine['dead_groups']:.0%} of the groups "
        f"have something to select from (pass@1 {mine['pass_at_1']:.2f}, best of {mine['samples']} {best:.2f})"
    )
