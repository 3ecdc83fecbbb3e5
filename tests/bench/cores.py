"""What a training step costs alone and beside another one on the same cores, with and without `kernel.SPIN_ROUNDS`.

    python tests/bench/cores.py

Trains the embedded policy for a few steps of GRPO, alone and then twice at once, with torch's own waiting threads and
with those that the set-up cell asks for. Exits with 1 unless the latter are no slower alone (10 % for noise) and at
least twice as quick side by side. Takes some ten minutes on two cores.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from helpers.run.kernel import SPIN_ROUNDS  # noqa: E402

TORCHS_OWN = "300000"  # libgomp's number of rounds where nothing is said: gcc.gnu.org, libgomp, GOMP_SPINCOUNT
STEPS, TIMES = 10, 2


def seconds_a_step(rounds: str, at_once: int) -> float:
    """The mean over trainings that run at the same time, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        outs = [Path(folder) / str(i) for i in range(at_once)]
        sizes = ["--hardware", "cpu", "--steps", str(STEPS), "--eval-rows", "8", "--seconds", "600"]
        running = [
            subprocess.Popen(
                [sys.executable, "tests/gpu/measure.py", *sizes, "--out", str(out)], cwd=ROOT,
                env=os.environ | {"GOMP_SPINCOUNT": rounds}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            for out in outs
        ]  # fmt: skip
        codes = [process.wait() for process in running]
        if any(codes):
            raise RuntimeError("a training failed: run tests/gpu/measure.py --hardware cpu to see why")
        return sum(json.loads((out / "measured.json").read_text())[0]["s_per_step"] for out in outs) / at_once


def main() -> int:
    ratios = {}
    for at_once, what in ((1, "alone"), (2, "two at once")):
        pairs = [(seconds_a_step(TORCHS_OWN, at_once), seconds_a_step(SPIN_ROUNDS, at_once)) for _ in range(TIMES)]
        theirs, ours = (mean(column) for column in zip(*pairs))
        ratios[what] = theirs / ours
        print(f"{what:12} {theirs:6.2f} s a step by itself, {ours:6.2f} s with {SPIN_ROUNDS} rounds: "
              f"{ratios[what]:.2f} times as quick", flush=True)  # fmt: skip
    return 0 if ratios["alone"] > 0.9 and ratios["two at once"] > 2 else 1


if __name__ == "__main__":
    raise SystemExit(main())
