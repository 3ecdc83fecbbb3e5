# SPDX-License-Identifier: Apache-2.0
"""The whole road, headless: `python -m helpers.run.demo [environment=sudoku] [seed=0]`.

Runs the notebooks 01, 02, 04, 05 and 06 on the embedded policy and leaves under runs/demo/ the executed notebooks,
summary.json and report.html, a page that needs no other file.
"""

import html
import json
import shutil
import sys
import time
from pathlib import Path

from envs import load
from helpers.here import ROOT, show_path
from helpers.run import report
from helpers.run.headless import find, run
from helpers.show.page import page, table
from helpers.show.page import picture as embedded

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

    def share(part: dict) -> str:
        return f"{part['pass_at_1']:.2f} [{part['ci95'][0]:.2f}, {part['ci95'][1]:.2f}]"

    def picture(number: str, name: str, caption: str) -> str:
        return embedded(folders[number] / f"{name}.png", caption)

    kinds = [["kind of failure", "cannot yet", "share", "example"]]
    kinds += [[k["kind"], k["capability"], f"{k['share']:.1%}", k["example"]] for k in results["01"]["failures"]]
    moved = [["tasks", "n", "before", "after", "gain", "95 % interval", "fixed", "broken"]]
    moved += [
        [c["tasks"], c["n"], f"{c['before']:.3f}", f"{c['after']:.3f}", f"{c['gain']:+.3f}", c["interval"], c["fixed"],
         c["broken"]] for c in results["06"]["changes"]
    ]  # fmt: skip
    greedy = [["model", "sampled pass@1", "pass@samples", "greedy"]]
    greedy += [[g["model"], *(f"{g[k]:.3f}" for k in ("sampled", "best", "greedy"))] for g in results["06"]["greedy"]]
    learned = [["kind of failure", "capability", *summary["greedy"]]]
    learned += [
        [k["kind"], k["capability"], *(f"{k[name]:.1%}" for name in summary["greedy"])] for k in results["06"]["kinds"]
    ]
    gains = [["warm-up", "n", "before GRPO", "after GRPO", "gain", "95 % interval"]]
    gains += [
        [
            name,
            g["n"],
            f"{g['before']:.3f}",
            f"{g['after']:.3f}",
            f"{g['gain']:+.3f}",
            "{:+.3f} to {:+.3f}".format(*g["ci95"]),
        ]
        for name, g in results["05"]["gains"].items()
    ]
    profile = results["02"]["profile"]
    doubts = "".join(f"<li>{html.escape(reason)}" for reason in profile["reasons"])
    stress = [["undeserving answer", "mean reward"]] + [
        [name, f"{mean:.2f}"] for name, mean in profile["stress"].items()
    ]
    given = [["notebook", "parameters"]]
    for number, _, _ in STEPS:
        used = report.parameters(folders[number] / find(number).name)
        given.append([find(number).stem, ", ".join(f"{name}={value!r}" for name, value in used.items())])
    body = f"""<h1>A small policy learns {html.escape(summary["environment"])} from verdicts</h1>
<p class="big">Held-out pass@1: <b>{share(summary["before"])}</b> before, {share(summary["after_sft"])} after the SFT
warm-up, <b>{share(summary["after"])}</b> after GRPO.</p>
<p>pass@1 is the chance that one answer is right. These are sampled answers: {summary["gain"]["pass_at_1"]:+.2f}
[{summary["gain"]["ci95"][0]:+.2f}, {summary["gain"]["ci95"][1]:+.2f}] in all. Greedy answers, the likeliest ones, went
{" &rarr; ".join(f"{value:.2f}" for value in summary["greedy"].values())}: a part of the gain is that the policy became
surer of what it knew, and a part is new.</p>
<p class="small">Sampled at temperature 1, n={summary["n"]} tasks whose solutions were in no training, 95 % intervals
over tasks, seed {summary["seed"]}. GRPO took {summary["grpo_s"]:.0f} s, everything {summary["wall_s"]:.0f} s on a CPU.
The embedded policy is a small model that ships with the repository so that this runs anywhere; nothing claims that it
is good.</p>
{picture("05", "training", "The learning curve: reward, its spread, answer length and dead groups, step by step.")}
{picture("06", "steps", "What SFT and GRPO each added, on held-out tasks.")}
<h2>1. Benchmark: where it failed before</h2>
{picture("01", "benchmark", "The untrained policy at each level of difficulty.")}
{table(kinds)}
<h2>2. Reward profile: can the reward be trusted?</h2>
<p>Verdict: <b>{html.escape(profile["verdict"])}</b></p><ul>{doubts}</ul>
{table(stress)}
{picture("02", "strength", "Stronger policies earn more.")}
{picture("02", "groups", "Right answers in a group: only groups between the ends teach anything.")}
<h2>3. SFT warm-up</h2>
{picture("04", "pass_at_k", "More right answers among the samples: what GRPO can select from.")}
<h2>4. GRPO</h2>
<p>The same GRPO after a short and after a long warm-up of five times the demonstrations. The long one starts
higher, and GRPO adds little to it: it is sure of itself from the start (low entropy), so there is little left to
select. Read the table crosswise too, the long one before GRPO beside the short one after it: where right answers
can be shown, showing more of them may do as much; GRPO is for what can only be checked.</p>
{table(gains)}
{picture("05", "contrast_reward", "Reward in training, after a short and after a long warm-up.")}
{picture("05", "contrast_entropy", "Entropy tells the two apart from the first step.")}
<h2>5. Validation: what moved</h2>
{table(moved)}
<p>Sampled answers show the policy when it explores, greedy ones what it holds most likely. Where the first rise towards
the second, the policy became surer of what it already knew; where the second rise too, it learned something new.</p>
{table(greedy)}
<p>What was learned, as the share of all sampled answers that failed in each way:</p>
{table(learned)}
{picture("06", "transfer", "What transferred to tasks that were never trained on, and what was forgotten.")}
<h2>Examples</h2>
<p>Before training, from the benchmark:</p>
{report.examples(folders["01"], 2)}
<p>Towards the end of GRPO:</p>
{report.examples(folders["05"], 2)}
<h2>Parameters and versions</h2>
{table(given)}
<p class="small">{html.escape(report.versions(results["06"]))}. The executed notebooks lie beside this page.</p>"""
    return page(f"RLVR Workbook: {summary['environment']}", body)


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
