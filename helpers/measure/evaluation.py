# SPDX-License-Identifier: Apache-2.0
"""What rollouts say: pass@k, intervals, before against after, kinds of failure.

A group is all episodes of one task under one policy. Every number comes with its interval and its n.
"""

import json
from collections import Counter

from helpers.episodes.estimates import bootstrap, groups, pass_at_k, wilson
from helpers.episodes.record import kind_of

# What a kind of failure says that the policy cannot do yet, where the environment does not say it in words of its own.
CAPABILITIES = {
    "no answer": "gives an answer at all",
    "truncated": "finishes within the token budget",
    "format": "writes the answer in the asked form",
    "several answers": "commits to one answer",
    "incomplete": "finishes the whole task",
    "wrong answer": "gets the result right",
    "tool fault": "calls tools with valid arguments",
    "undecided": "(the verifier could not decide)",
    "unjudged": "(the verifier could not judge)",
}


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


def capability(environment: str, kind: str) -> str:
    """What a kind of failure says that the policy cannot do yet, by the environment's `CAPABILITIES` where it has them;
    else the kind itself."""
    from envs import NAMES, load

    named = getattr(load(environment), "CAPABILITIES", {}) if environment in NAMES else {}
    return (CAPABILITIES | named).get(kind, kind)


def failures(rollouts: list[dict]) -> list[dict]:
    """Kinds of failure, most frequent first: {"kind", "count", "share", "ci95" (Wilson), "capability", "example"}."""
    failed = [e for e in rollouts if e["reward"] is None or e["reward"] < 1]
    first = {kind_of(episode): episode for episode in reversed(failed)}
    return [
        {
            "kind": name,
            "count": count,
            "share": count / len(rollouts),
            "ci95": wilson(count, len(rollouts)),
            "capability": capability(first[name].get("environment", ""), name),
            "example": first[name]["reason"],
        }
        for name, count in Counter(map(kind_of, failed)).most_common()
    ]


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
