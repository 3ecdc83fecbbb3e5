"""What the demo learns, over several seeds, and how long it takes.

    python tests/bench/learning.py --seeds 0 1 2

Runs the whole demo for each seed (about five minutes each on two cores), into runs/bench/learning/. Exits with 1 unless
every seed gains at least 0.20 in held-out pass@1 with an interval off zero, and SFT and GRPO both add to it.
"""

import argparse
import json
import os
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from helpers.run.demo import demo  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--environment", default="sudoku")
    args = parser.parse_args()
    out = ROOT / "runs" / "bench" / "learning"
    runs = [demo(args.environment, seed, out / f"seed{seed}") for seed in args.seeds]
    (out / "learning.json").write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    print(f"\n{args.environment}, n={runs[0]['n']} held-out tasks, 4 samples each, python {platform.python_version()}, "
          f"{os.cpu_count()} cores")  # fmt: skip
    print("seed  before  after SFT  after GRPO  gain [95 % interval]     greedy: before, SFT, GRPO  GRPO s  all s")
    for run in runs:
        before, warm, after = (run[k]["pass_at_1"] for k in ("before", "after_sft", "after"))
        low, high = run["gain"]["ci95"]
        greedy = ", ".join(f"{value:.3f}" for value in run["greedy"].values())
        print(f"{run['seed']:4}  {before:6.3f}  {warm:9.3f}  {after:10.3f}  {run['gain']['pass_at_1']:+.3f} "
              f"[{low:+.3f}, {high:+.3f}]  {greedy:>25}  {run['grpo_s']:6.0f}  {run['wall_s']:5.0f}")  # fmt: skip
    good = [
        run["gain"]["pass_at_1"] >= 0.2
        and run["gain"]["ci95"][0] > 0
        and run["before"]["pass_at_1"] < run["after_sft"]["pass_at_1"] < run["after"]["pass_at_1"]
        for run in runs
    ]
    print(f"{sum(good)} of {len(good)} seeds gain at least 0.20")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
