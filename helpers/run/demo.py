# SPDX-License-Identifier: Apache-2.0
"""The whole road, headless: `python -m helpers.run.demo [environment=sudoku] [seed=0]`.

Runs the notebooks 01, 02, 04, 05 and 06 on the embedded policy and leaves under runs/demo/ the executed notebooks,
summary.json and report.html, a page that needs no other file.
"""

import json
import shutil
import sys
import time
from pathlib import Path

from envs import load
from helpers.here import ROOT, show_path
from helpers.run import report
from helpers.run.headless import find, run
from helpers.show.page import figure, render, rows

# Notebook, what it does, seconds it took on two cores.
STEPS = [
    ("01", "benchmark", 40),
    ("02", "reward profile", 45),
    ("04", "SFT warm-up", 40),
    ("05", "GRPO", 310),
    ("06", "validation", 190),
]


class _Lines:
    """Passes on only a notebook's lines of progress."""

    def __init__(self):
        self.rest = ""

    def write(self, text: str) -> None:
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            if "rollouts: " in line or "steps: " in line:  # of sampling and of every training
                print(f"      {line}", flush=True)

    def flush(self) -> None:
        pass


def demo(environment: str = "sudoku", seed: int = 0, out: Path | None = None) -> dict:
    """Run all steps.

    Args:
        environment: Name of the environment.
        seed: Of tasks, sampling and training.
        out: Folder of the results, made anew; None is runs/demo.

    Returns:
        The content of summary.json: `environment`, `policy`, `seed`, `n`, `before` and `after` (`pass_at_1` and
        `ci95`, sampled on held-out tasks; before is the embedded policy, after the one trained by SFT and GRPO), the
        same `after_sft`, `gain` with its `ci95`, `greedy` (pass@1 of greedy answers by model), `grpo_s` and `wall_s`.

    Raises:
        ValueError: there is no such environment.
        RuntimeError: a notebook failed.
    """
    load(environment)  # an unknown name is refused before anything is removed
    out = out or ROOT / "runs" / "demo"
    shutil.rmtree(out, ignore_errors=True)
    folders = {number: out / find(number).stem for number, _, _ in STEPS}
    common = {"environment": environment, "hardware": "cpu", "seed": seed}
    model, trained = show_path(folders["04"] / "model"), show_path(folders["05"] / "model")
    extra = {
        "01": {"model": "tiny"},
        "02": {"model": "tiny"},
        "04": {"model": "tiny"},
        "05": {"model": model},
        "06": {"base": "tiny", "warmup": model, "trained": trained},
    }
    began, pace, spent = time.perf_counter(), 1.0, 0
    total = sum(seconds for _, _, seconds in STEPS)
    for at, (number, what, seconds) in enumerate(STEPS, 1):
        left = (total - spent) * pace
        print(f"[{at}/{len(STEPS)}] {what} ({folders[number].name}), about {_minutes(left)} left in all", flush=True)
        run(number, common | extra[number] | {"out_dir": show_path(folders[number])}, stdout=_Lines())
        spent += seconds
        pace = (time.perf_counter() - began) / spent
    results = {n: json.loads((f / "result.json").read_text(encoding="utf-8")) for n, f in folders.items()}
    summary = _summary(environment, seed, results, round(time.perf_counter() - began, 1))
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    (out / "report.html").write_text(_report(summary, results, folders), encoding="utf-8")
    return summary


def _summary(environment: str, seed: int, results: dict, wall_s: float) -> dict:
    """The content of summary.json, from the result.json of each notebook by its number."""
    sums, moved = results["06"]["summaries"], results["06"]["changes"][0]
    return {
        "environment": environment,
        "policy": "tiny",
        "seed": seed,
        "n": sums["base"]["n"],
        "before": {k: sums["base"][k] for k in ("pass_at_1", "ci95")},
        "after_sft": {k: sums["after SFT"][k] for k in ("pass_at_1", "ci95")},
        "after": {k: sums["after GRPO"][k] for k in ("pass_at_1", "ci95")},
        "gain": {"pass_at_1": moved["gain"], "ci95": moved["ci95"]},
        "greedy": {g["model"]: g["greedy"] for g in results["06"]["greedy"]},
        "grpo_s": results["05"]["training_s"],
        "wall_s": wall_s,
    }


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _report(summary: dict, results: dict, folders: dict) -> str:
    """The page: what happened, pictures inside, in the order of the road."""
    models = {name: f"{{{name}:.1%}}" for name in summary["greedy"]}
    used = [(find(n).stem, report.parameters(folders[n] / find(n).name)) for n, _, _ in STEPS]
    tables = {
        "failures": rows(
            results["01"]["failures"],
            {"kind of failure": "{kind}", "cannot yet": "{capability}", "share": "{share:.1%}", "example": "{example}"},
        ),
        "stress": [
            ["undeserving answer", "mean reward"],
            *([name, f"{mean:.2f}"] for name, mean in results["02"]["profile"]["stress"].items()),
        ],
        "gains": rows(
            [gain | {"warm-up": name} for name, gain in results["05"]["gains"].items()],
            {"warm-up": "{warm-up}", "n": "{n}", "before GRPO": "{before:.3f}", "after GRPO": "{after:.3f}",
             "gain": "{gain:+.3f}", "95 % interval": "{ci95[0]:+.3f} to {ci95[1]:+.3f}"},
        ),
        "changes": rows(
            results["06"]["changes"],
            {"tasks": "{tasks}", "n": "{n}", "before": "{before:.3f}", "after": "{after:.3f}", "gain": "{gain:+.3f}",
             "95 % interval": "{interval}", "fixed": "{fixed}", "broken": "{broken}"},
        ),
        "greedy": rows(
            results["06"]["greedy"],
            {"model": "{model}", "sampled pass@1": "{sampled:.3f}", "pass@samples": "{best:.3f}",
             "greedy": "{greedy:.3f}"},
        ),
        "kinds": rows(results["06"]["kinds"], {"kind of failure": "{kind}", "capability": "{capability}"} | models),
        "parameters": [
            ["notebook", "parameters"],
            *([name, ", ".join(f"{key}={value!r}" for key, value in given.items())] for name, given in used),
        ],
    }  # fmt: skip
    return render(
        "demo.html", title=f"RLVR Workbook: {summary['environment']}", summary=summary, tables=tables,
        profile=results["02"]["profile"], versions=report.versions(results["06"]),
        examples={number: report.examples(folders[number], 2) for number in ("01", "05")},
        picture=lambda number, name, caption: figure(folders[number] / f"{name}.png", caption),
    )  # fmt: skip


def main(arguments: list[str]) -> int:
    """The command line. Returns the exit code."""
    given = dict(pair.partition("=")[::2] for pair in arguments)
    if odd := set(given) - {"environment", "seed"}:
        print(f"error: the demo takes environment= and seed=, not {', '.join(sorted(odd))}", file=sys.stderr)
        return 2
    try:
        summary = demo(given.get("environment", "sudoku"), int(given.get("seed", 0)))
    except (RuntimeError, ValueError) as error:
        print(f"\nthe demo failed: {error}", file=sys.stderr)
        return 1
    print(
        f"\nheld-out pass@1 {summary['before']['pass_at_1']:.2f} -> {summary['after_sft']['pass_at_1']:.2f} (SFT) -> "
        f"{summary['after']['pass_at_1']:.2f} (GRPO), n={summary['n']}, {summary['wall_s']:.0f} s\n"
        f"open {show_path(ROOT / 'runs' / 'demo' / 'report.html')}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
