# SPDX-License-Identifier: Apache-2.0
"""What a notebook leaves and shows: its folder, its result.json, tables of numbers and of episodes."""

import json
import re
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

from helpers.episodes.record import as_text
from helpers.here import ROOT, show_path
from helpers.show.page import tags

__all__ = [
    "earlier", "folder", "load_result", "save_cell", "save_result", "show_path", "show_rollouts", "show_samples",
    "table", "versions",
]  # fmt: skip


def folder(out_dir: str | None, name: str) -> Path:
    """The folder that a notebook writes to: `out_dir`, from the repository's root, or runs/<name>. Made if missing."""
    path = ROOT / (out_dir or f"runs/{name}")
    path.mkdir(parents=True, exist_ok=True)
    return path


def versions() -> dict[str, str]:
    """Versions of the libraries that results depend on, by name."""
    return {name: version(name) for name in ("torch", "transformers", "trl", "unsloth", "peft")}


def save_result(out: Path, **fields) -> Path:
    """Write result.json: the fields, and versions, commit and time as their birth certificate."""
    born = {
        "python": sys.version.split()[0],
        "versions": versions(),
        "commit": _commit(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    path = out / "result.json"
    path.write_text(json.dumps(fields | born, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def load_result(path: Path | str, **wanted) -> dict | None:
    """The result.json of an earlier notebook, or None if it is not there or differs from the `wanted` fields."""
    path = Path(path)
    if not path.is_file():
        return None
    result = json.loads(path.read_text(encoding="utf-8"))
    return result if all(result.get(key) == value for key, value in wanted.items()) else None


def earlier(name: str, **wanted) -> dict | None:
    """What notebook `name` left, by its own run or by the demo's, or None. See `load_result` for `wanted`."""
    spots = (ROOT / "runs" / name / "result.json", ROOT / "runs" / "demo" / name / "result.json")
    return next((result for path in spots if (result := load_result(path, **wanted))), None)


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def save_cell(path: Path | str, part: int) -> None:
    """Keep the source of the running cell, without this call, as a part of a Python file.

    Args:
        path: The file; made if missing.
        part: The place of the cell in it. A cell that runs again replaces its part.
    """
    from IPython import get_ipython

    source = get_ipython().history_manager.input_hist_raw[-1]
    lines = [line for line in source.split("\n") if "save_cell(" not in line]
    path = Path(path)
    found = path.read_text(encoding="utf-8") if path.is_file() else ""
    pieces = re.split(r"^# --- part (\d+) ---\n", found, flags=re.M)
    parts = dict(zip(map(int, pieces[1::2]), pieces[2::2])) | {part: "\n".join(lines).strip("\n") + "\n"}
    whole = "\n\n".join(f"# --- part {n} ---\n{parts[n].strip()}\n" for n in sorted(parts))
    path.write_text(whole, encoding="utf-8")


def table(rows: list[dict], columns: dict[str, str]):
    """A table to show: one row a dict, numbers with three digits, or more where they are tiny.

    Args:
        rows: The rows.
        columns: key: heading.
    """
    import pandas

    def text(value):
        if not isinstance(value, float):
            return value
        return f"{value:.4f}" if 0 < abs(value) < 0.0005 else f"{value:.3f}"

    cells = [[text(row[key]) for key in columns] for row in rows]
    return pandas.DataFrame(cells, columns=list(columns.values()), index=[""] * len(cells))


def show_rollouts(rollouts: list[dict], n: int = 3):
    """The first `n` episodes as a table to read: policy, prompt, answer, verdict. What a model wrote is escaped."""
    names = ("policy", "prompt", "answer", "reward", "reason")
    rows = []
    for episode in rollouts[:n]:
        said = "\n".join(as_text(message) for message in episode["messages"])
        rows.append((episode["policy"], episode["prompt"][-1]["content"], said, episode["reward"], episode["reason"]))
    return _reading(names, rows)


def show_samples(samples: list[dict]):
    """Answers that a `Recorder` kept, as a table to read: step, prompt, completion, what the verifier read out of it,
    verdict. What a model wrote is escaped."""
    names = ("step", "prompt", "completion", "extracted answer", "reward", "reason")
    rows = []
    for s in samples:
        read = s["extracted"] or "none found"
        said = "\n".join(as_text(message) for message in s["messages"])
        rows.append((s["step"], s["prompt"][-1]["content"], said, read, s["reward"], s["reason"]))
    return _reading(names, rows)


def _reading(names: tuple[str, ...], rows: list[tuple]):
    """A table of texts; those of short lines keep their shape."""
    from IPython.display import HTML

    def cell(value):
        lines = str(value).split("\n")
        return tags.mono(value, "pre" if len(lines) > 1 and max(map(len, lines)) < 60 else "pre-wrap")

    cells = [[cell(value) for value in row] for row in rows]
    return HTML(tags.table([names, *cells], style="text-align:left;vertical-align:top"))
