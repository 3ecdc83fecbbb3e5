# SPDX-License-Identifier: Apache-2.0
"""The log entries that a training run leaves: reading them, and what they say."""

import json
from pathlib import Path

from helpers.episodes import store
from helpers.here import ROOT


def samples_path(history: Path | str) -> Path:
    """Where the recorder of this history file keeps its samples."""
    return Path(history).with_suffix(".samples.jsonl")


def cut_at(path: Path, step: int) -> list[dict]:
    """The entries of a file up to a step; the others are removed from the file, which is made if missing."""
    kept = [entry for entry in store.read(path) if entry["step"] <= step] if path.is_file() else []
    store.write(path, kept)
    return kept


def ends(rows: list[dict], keys) -> list[dict]:
    """Means over the first and the last tenth of a history, for a table: {"part": name, key: mean, ...} each."""
    tenth = max(1, len(rows) // 10)
    parts = {"first tenth": rows[:tenth], "last tenth": rows[-tenth:]}
    return [{"part": name} | {key: sum(row[key] for row in part) / len(part) for key in keys}
            for name, part in parts.items()]  # fmt: skip


def plateaued(values: list[float], patience: int, min_gain: float) -> bool:
    """Whether the best of the last `patience` values is less than `min_gain` above the best of those before."""
    return len(values) > patience and max(values[-patience:]) < max(values[:-patience]) + min_gain


def failed_runs(folder: Path | str = ROOT / "docs" / "what_fails") -> dict:
    """Runs that fail, and one that works, as tests/bench/what_fails.py left them.

    Returns:
        `made`, how they were made, and `runs`, the one that works first: each with `name`, `title`, `says` (how the
        failure shows), `sign` (the key of the history in which it does), `history`, and `changes`, an
        `evaluation.compare` of GRPO on held-out tasks by environment. Where they are missing, a line says how to make
        them, and `runs` is empty.
    """
    results = Path(folder) / "results.json"
    found = json.loads(results.read_text(encoding="utf-8")) if results.is_file() else {"made": {}, "runs": []}
    if len(found["runs"]) < 2:
        print("no runs to compare here: python tests/bench/what_fails.py makes them, in about ten minutes on two cores")
        return found | {"runs": []}
    for run in found["runs"]:
        run["history"] = store.read(Path(folder) / f"{run['name']}.jsonl")
    return found
