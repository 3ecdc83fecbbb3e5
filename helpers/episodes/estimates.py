# SPDX-License-Identifier: Apache-2.0
"""Statistics of rewards: groups of episodes, pass@k, intervals."""

from math import comb, sqrt


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
