"""What rollouts say: pass@k, intervals, before against after, kinds of failure, and whether a reward can be trusted.

A group is all episodes of one task under one policy. Every number comes with its interval and its n.
"""

import json
import random
import time
from collections import Counter
from itertools import pairwise
from math import comb, sqrt

# What the first words of a verdict's reason say that the policy cannot do yet.
CAPABILITIES = {
    "no answer": "gives an answer at all",
    "truncated": "finishes within the token budget",
    "format": "writes the answer in the asked form",
    "several answers": "commits to one answer",
    "incomplete": "finishes the whole task",
    "wrong given": "copies what the task states",
    "wrong cell": "works out the missing values",
    "wrong answer": "gets the result right",
    "missing write": "carries out the whole request",
    "wrong value": "writes the right values",
    "side effect": "changes nothing else",
    "syntax error": "writes code that parses",
    "no function": "defines what is asked, under its name",
    "exception": "writes code that runs without error",
    "time limit": "writes code that ends in time",
    "memory limit": "writes code that needs little memory",
    "output limit": "prints no more than the answer",
    "bad value": "returns values of the asked kind",
    "exited": "lets the caller go on",
    "crashed": "keeps the interpreter alive",
    "undecided": "(the verifier could not decide)",
    "tool fault": "calls tools with valid arguments",
    "unjudged": "(the verifier could not judge)",
}


# --- statistics ------------------------------------------------------------------------------------------


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased chance that at least one of `k` samples is right, seeing `c` right among `n`.

    1 - C(n - c, k) / C(n, k), from Chen et al., "Evaluating Large Language Models Trained on Code" (2021).

    Raises:
        ValueError: unless 0 <= c <= n and 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@k needs 0 <= c <= n and 1 <= k <= n, got n={n}, c={c}, k={k}")
    return 1 - comb(n - c, k) / comb(n, k)


def wilson(c: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson score interval of the share c / n (Wilson 1927); z=1.96 for 95 %. (0, 1) when n is 0."""
    if n == 0:
        return 0.0, 1.0
    middle, spread = c / n + z * z / (2 * n), z * sqrt(c / n * (1 - c / n) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def bootstrap(values: list[float], seed: int = 0, resamples: int = 2000, level: float = 0.95) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean (Efron 1979). Give one value a task, since a task's samples hang
    together.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("bootstrap needs at least one value")
    import numpy

    draws = numpy.random.default_rng(seed).integers(0, len(values), (resamples, len(values)))
    means = numpy.asarray(values, float)[draws].mean(axis=1)
    low, high = numpy.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def groups(rollouts: list[dict]) -> dict[str, list[float]]:
    """Rewards of each task, unjudged ones left out: {task_id: [reward, ...]}."""
    found: dict[str, list[float]] = {}
    for episode in rollouts:
        found.setdefault(episode["task_id"], [])
        if episode["reward"] is not None:
            found[episode["task_id"]].append(episode["reward"])
    return found


# --- one policy ------------------------------------------------------------------------------------------


def summary(rollouts: list[dict], ks: tuple[int, ...] = (1, 2, 4, 8)) -> dict:
    """How well a policy did.

    Args:
        rollouts: Episodes of one policy on one environment.
        ks: Which pass@k; those above the number of samples are left out.

    Returns:
        `n` tasks, `samples` a task, `pass_at_1` with `ci95` (bootstrap over tasks), `pass_at_k` for each k,
        `dead_groups` (share of tasks whose samples all got the same reward), `variety` (mean share of different
        completions in a group), `truncated` and `unjudged` (shares of episodes).
    """
    by_task = {task: rewards for task, rewards in groups(rollouts).items() if rewards}
    if not by_task:
        raise ValueError(f"none of {len(rollouts)} rollouts could be judged")
    solved = {task: (len(r), sum(x >= 1 for x in r)) for task, r in by_task.items()}
    samples = max(n for n, _ in solved.values())
    shares = [c / n for n, c in solved.values()]
    said: dict[str, list[str]] = {}
    for episode in rollouts:
        said.setdefault(episode["task_id"], []).append(json.dumps(episode["messages"]))
    return {
        "n": len(by_task),
        "samples": samples,
        "pass_at_1": sum(shares) / len(shares),
        "ci95": bootstrap(shares),
        "pass_at_k": {
            k: sum(pass_at_k(n, c, min(k, n)) for n, c in solved.values()) / len(solved) for k in ks if k <= samples
        },
        "dead_groups": sum(len(set(r)) == 1 for r in by_task.values()) / len(by_task),
        "variety": sum(len(set(s)) / len(s) for s in said.values()) / len(said),
        "truncated": sum(e["finish_reason"] == "length" for e in rollouts) / len(rollouts),
        "unjudged": sum(e["reward"] is None for e in rollouts) / len(rollouts),
    }


def failures(rollouts: list[dict]) -> list[dict]:
    """Kinds of failure, most frequent first: {"kind", "count", "share", "ci95" (Wilson), "capability", "example"}."""
    failed = [e for e in rollouts if e["reward"] is None or e["reward"] < 1]
    counts = Counter(kind(e["reason"]) for e in failed)
    return [
        {
            "kind": name,
            "count": count,
            "share": count / len(rollouts),
            "ci95": wilson(count, len(rollouts)),
            "capability": CAPABILITIES.get(name, name),
            "example": next(e["reason"] for e in failed if kind(e["reason"]) == name),
        }
        for name, count in counts.most_common()
    ]


def kind(reason: str) -> str:
    """The kind of failure: the words before the first colon of a verdict's reason."""
    return reason.partition(":")[0]


# --- before and after ------------------------------------------------------------------------------------


def compare(before: list[dict], after: list[dict], seed: int = 0) -> dict:
    """Paired comparison of two sets of rollouts on the same tasks.

    Args:
        before: Episodes of the first policy.
        after: Episodes of the second, on the same tasks.
        seed: Of the resampling.

    Returns:
        `n` tasks, mean reward `before` and `after`, `gain` with `ci95` (bootstrap over tasks), `p_value` (two-sided
        sign-flip permutation test of the per-task differences, 10,000 draws), and the task ids `fixed` (solved less
        than half the time before, at least half after) and `broken` (the other way round).

    Raises:
        ValueError: the tasks differ.
    """
    import numpy

    old, new = groups(before), groups(after)
    if set(old) != set(new):
        odd = sorted(set(old) ^ set(new))
        raise ValueError(f"before and after must hold the same tasks; {len(odd)} stand in one only, such as {odd[0]}")
    pairs = {t: (_mean(old[t]), _mean(new[t])) for t in old if old[t] and new[t]}
    if not pairs:
        raise ValueError("no task was judged both before and after")
    gains = numpy.array([b - a for a, b in pairs.values()])
    flips = numpy.random.default_rng(seed).choice([-1.0, 1.0], (10_000, len(gains)))
    extreme = numpy.abs((flips * gains).mean(axis=1)) >= abs(gains.mean()) - 1e-12
    return {
        "n": len(pairs),
        "before": _mean([a for a, _ in pairs.values()]),
        "after": _mean([b for _, b in pairs.values()]),
        "gain": float(gains.mean()),
        "ci95": bootstrap(gains.tolist(), seed),
        "p_value": float((extreme.sum() + 1) / (len(flips) + 1)),
        "fixed": [t for t, (a, b) in pairs.items() if a < 0.5 <= b],
        "broken": [t for t, (a, b) in pairs.items() if b < 0.5 <= a],
    }


def moved(change: dict) -> str:
    """What a comparison shows: "gained" or "lost" where its interval leaves zero out, else "not shown"."""
    low, high = change["ci95"]
    return "gained" if low > 0 else "lost" if high < 0 else "not shown"


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


# --- can this reward be trusted? -------------------------------------------------------------------------


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

    every = range(len(rows))
    return {
        "empty": ["" for _ in every],
        "echo of the prompt": asked,
        "another row's gold": [another(i) for i in every],
        "spray of answers": ["\n\n".join([*others(i, 7), gold[i]]) for i in every],
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
