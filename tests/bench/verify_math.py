"""Accuracy and time of the math verifier, beside math-verify where that is installed; throughput; memory.

    python tests/bench/verify_math.py --repeat 3 --pairs 100000

Needs only envs/, and the labelled pairs in tests/data/math. Each pair is judged by both, one right after the
other, so that a busy machine slows both; nothing is remembered from one time to the next. The file is not called
math.py, which would hide the library of that name from every script in this folder.
"""

import argparse
import json
import logging
import os
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from envs import math_env
from envs.math_env import environment
from envs.math_env.answers import judging

PAIRS = Path(__file__).resolve().parents[1] / "data" / "math" / "pairs_dev.jsonl"


def theirs():
    """A function like `ours` on math-verify, or None where it is missing."""
    try:
        from math_verify import parse, verify
    except ImportError:
        return None
    logging.disable(logging.ERROR)  # it logs the whole text of every pair that it gives up on

    def judge(gold: str, response: str) -> float:
        try:
            return float(verify(parse(f"${gold}$"), parse(response)))
        except Exception:  # counted as a wrong answer, as a trainer would
            return 0.0

    return judge


def ours(gold: str, response: str) -> float | None:
    return math_env.score(response, {"task": json.dumps({"answer": gold})}).reward


def forget() -> None:
    """Empty what the verifier remembers."""
    for cached in (environment._decided, environment._task, judging._gold):
        cached.cache_clear()


def compare(pairs: list[dict], repeat: int) -> None:
    sides = {"ours": ours} | ({"math-verify": other} if (other := theirs()) else {})
    times: dict[str, dict[bool, list[float]]] = {name: {True: [], False: []} for name in sides}
    wrong: dict[str, dict[str, list[str]]] = {name: {"false positives": [], "false negatives": []} for name in sides}
    for judge in sides.values():
        judge("2", r"\boxed{2}")  # imports
    for turn in range(repeat):
        for pair in pairs:
            for name, judge in sides.items():
                forget()
                start = perf_counter()
                got = judge(pair["gold"], pair["response"])
                times[name][pair["category"] == "malicious"].append(1000 * (perf_counter() - start))
                if not turn and got != pair["expected"]:
                    wrong[name]["false positives" if got == 1 else "false negatives"].append(pair["id"])
    for name in sides:
        bad = sum(map(len, wrong[name].values()))
        plain, hostile = times[name][False], times[name][True]
        print(f"{name}: {100 * (1 - bad / len(pairs)):.1f} % of {len(pairs)} pairs right")
        for kind, ids in wrong[name].items():
            print(f"  {len(ids)} {kind} {' '.join(ids[:60])}")
        print(
            f"  ordinary pairs: median {median(plain):.3f} ms, p99 {quantiles(plain, n=100)[98]:.2f} ms, worst "
            f"{max(plain):.1f} ms; hostile pairs: median {median(hostile):.3f} ms, worst {max(hostile):.1f} ms"
        )
    if len(sides) > 1:
        medians = [median(times[name][False]) for name in ("ours", "math-verify")]
        print(f"median of ours / median of math-verify: {medians[0] / medians[1]:.4f}")


def _many(job: tuple[int, int]) -> tuple[int, float]:
    """Judge `n` fresh pairs: problems of all levels, their gold answers and wrong ones."""
    seed, n = job
    rows = [row for level in math_env.DIFFICULTIES for row in math_env.make_rows(n // 6 + 1, seed, difficulty=level)]
    texts = [(math_env.answer(row), row) for row in rows]
    texts += [(text, rows[i - 1]) for i, (text, _) in enumerate(texts)]
    start = perf_counter()
    for text, row in texts[:n]:
        math_env.score(text, row)
    return len(texts[:n]), perf_counter() - start


def throughput(n: int, workers: int) -> None:
    with ProcessPoolExecutor(workers) as pool:
        done = list(pool.map(_many, [(seed, n // workers) for seed in range(workers)]))
    print(f"throughput: {sum(count / spent for count, spent in done):.0f} pairs/s on {workers} processes ({n} pairs)")


def memory(n: int, step: int = 2_000) -> None:
    """Resident memory before and after `n` pairs that are all different."""
    path = Path("/proc/self/statm")
    if not path.is_file():
        print("memory: not measured, /proc is not there")
        return
    page = os.sysconf("SC_PAGE_SIZE")
    _many((10**6, step))
    before = int(path.read_text().split()[1]) * page
    for seed in range(n // step):
        _many((seed, step))
    grown = int(path.read_text().split()[1]) * page - before
    print(f"memory: {before / 2**20:.0f} MB, {grown / 2**20:+.1f} MB after {n} pairs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=1, help="times that each labelled pair is judged")
    parser.add_argument("--pairs", type=int, default=10_000, help="pairs for throughput and memory")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    compare([json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()], arguments.repeat)
    throughput(arguments.pairs, arguments.workers)
    memory(arguments.pairs)


if __name__ == "__main__":
    main()
