# SPDX-License-Identifier: Apache-2.0
"""The index page of a batch: a table of all runs that sorts by a click, means over seeds, curves, examples, and what
each run ran with."""

import json
from collections import defaultdict
from pathlib import Path
from statistics import mean

from helpers.episodes import store
from helpers.here import ROOT, mask
from helpers.run import report
from helpers.show.page import Markup, figure, render, tags


def write(out: Path, states: list[dict]) -> None:
    """Write index.html, leaderboard.json and curves.png for the runs so far.

    Args:
        out: Folder of the batch.
        states: Runs as `batch.run_batch` gives them.
    """
    entries = [state | _measured(ROOT / state["folder"]) for state in states]
    board = [{k: v for k, v in entry.items() if k not in ("history", "code", "needs")} for entry in entries]
    text = mask(json.dumps(board, indent=1, ensure_ascii=False))
    (out / "leaderboard.json").write_text(text + "\n", encoding="utf-8")
    examples = {entry["id"]: report.examples(ROOT / entry["folder"]) for entry in entries}
    page = render(
        "leaderboard.html", title=f"Runs: {out.name}", name=out.name, counts=_counts(states), runs=_rows(entries, out),
        means=_over_seeds(entries), curves=_curves(entries, out), origins=_origins(entries),
        examples={name: shown for name, shown in examples.items() if shown},
    )  # fmt: skip
    part = out / "index.html.part"  # renamed when whole: someone may be reading the page
    part.write_text(mask(page), encoding="utf-8")
    part.rename(out / "index.html")


def _counts(states: list[dict]) -> str:
    counts: dict[str, int] = defaultdict(int)
    for state in states:
        counts[state["status"]] += 1
    return f"{len(states)} runs: " + ", ".join(f"{n} {status}" for status, n in counts.items())


def _measured(folder: Path) -> dict:
    """What a run measured: `before`, `after`, `gain`, `ci95`, `n` where it has them, its `history` and `versions`."""
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        result = {}
    change = result.get("change") or next(iter((result.get("gains") or {}).values()), None)
    change = change or next(iter(result.get("changes") or []), {})
    if not isinstance(change, dict):
        change = {}
    found = {k: change[k] for k in ("before", "after", "gain", "ci95", "n") if k in change}
    return found | {"history": _history(folder), "versions": report.versions(result)}


def _history(folder: Path) -> list[dict]:
    path = folder / "history.jsonl"
    return store.read(path) if path.is_file() else []


def _rows(entries: list[dict], out: Path) -> list[list]:
    """The cells of the leaderboard, best gain first."""
    head = ["notebook", "model", "environment", "seed", "status", "before", "after", "gain", "95 % interval", "tasks",
            "seconds", "open", "what went wrong"]  # fmt: skip
    rows: list[list] = [head]
    for entry in sorted(entries, key=lambda e: -e.get("gain", float("-inf"))):
        numbers = [f"{entry[k]:.3f}" if k in entry else "" for k in ("before", "after")]
        gain = f"{entry['gain']:+.3f}" if "gain" in entry else ""
        interval = "{:+.3f} to {:+.3f}".format(*entry["ci95"]) if "ci95" in entry else ""
        status = {"text": entry["status"], "look": entry["status"]}
        axes = [Path(entry["notebook"]).stem, *(entry[k] for k in ("model", "environment", "seed"))]
        ends = [entry.get("n", ""), entry.get("seconds", ""), _links(entry, out), entry.get("error", "")]
        rows.append([*axes, status, *numbers, gain, interval, *ends])
    return rows


def _links(entry: dict, out: Path) -> Markup:
    stem, name = Path(entry["notebook"]).stem, Path(entry["folder"]).name
    files = {"page": f"{stem}.html", "notebook": f"{stem}.ipynb", "result": "result.json", "log": "log.txt"}
    found = {label: f"{name}/{file}" for label, file in files.items() if (out / name / file).is_file()}
    return tags.links(found)


def _over_seeds(entries: list[dict]) -> list[list]:
    """A table of means over seeds, where there are several."""
    groups = defaultdict(list)
    for entry in entries:
        if "gain" in entry:
            groups[Path(entry["notebook"]).stem, entry["model"], entry["environment"]].append(entry)
    if all(len(group) < 2 for group in groups.values()):
        return []
    head = ["notebook", "model", "environment", "seeds", "before", "after", "gain", "least gain", "most gain"]
    rows: list[list] = [head]
    for key, group in groups.items():
        gains = [entry["gain"] for entry in group]
        means = [f"{mean(entry[k] for entry in group):.3f}" for k in ("before", "after")]
        spread = [f"{value:+.3f}" for value in (mean(gains), min(gains), max(gains))]
        rows.append([*key, len(group), *means, *spread])
    return rows


def _curves(entries: list[dict], out: Path) -> list[Markup]:
    """The training curves of all runs side by side, on one scale for each kind."""
    body = []
    for key, label in (("reward", "mean reward"), ("loss", "loss")):
        drawn = [entry for entry in entries if _has(entry, key) and not (key == "loss" and _has(entry, "reward"))]
        if drawn:
            _draw(drawn, key, label, out / f"curves_{key}.png")
            body.append(figure(out / f"curves_{key}.png", f"{label.capitalize()} over the steps, every run."))
    return body


def _origins(entries: list[dict]) -> list[list]:
    """What each run ran with: parameters and versions."""
    rows = [["run", "parameters", "versions"]]
    for entry in entries:
        given = ", ".join(f"{name}={value!r}" for name, value in _parameters(entry).items())
        rows.append([entry["id"], given, entry["versions"]])
    return rows


def _parameters(entry: dict) -> dict:
    """Those of the executed copy, with its defaults, once there is one."""
    copy = ROOT / entry["folder"] / Path(entry["notebook"]).name
    try:
        return report.parameters(copy)
    except (OSError, ValueError, KeyError):  # not there yet, or just being written
        return entry.get("parameters") or {}


def _has(entry: dict, key: str) -> bool:
    return sum(key in row for row in entry["history"]) > 1


def _draw(entries: list[dict], key: str, label: str, path: Path) -> None:
    from matplotlib.figure import Figure  # no pyplot: batches draw from several threads

    from helpers.show.plots import curves

    columns = min(4, len(entries))
    rows = -(-len(entries) // columns)
    figure = Figure(figsize=(3.4 * columns, 2.6 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, entry in zip(grid.flat, entries):
        curves({"run": entry["history"]}, key, label, "", axes)
        axes.set_title("\n".join(_title(entry)), fontsize=8, loc="left")
        axes.get_legend().remove()
        axes.label_outer()
    values = [row[key] for entry in entries for row in entry["history"] if key in row]
    grid.flat[0].set_ylim(min(0, *values), max(values) * 1.08 or 1)
    for axes in grid.flat[len(entries) :]:
        axes.set_visible(False)
    figure.savefig(path, dpi=110)


def _title(entry: dict) -> list[str]:
    axes = [str(entry[k]) for k in ("model", "environment") if entry[k] is not None]
    return [Path(entry["notebook"]).stem, ", ".join([*axes, f"seed {entry['seed']}"])]
