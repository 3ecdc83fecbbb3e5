# SPDX-License-Identifier: Apache-2.0
"""What a report shows of one run, read from the files in its folder: examples, parameters, versions."""

import json
from collections import Counter
from pathlib import Path

from helpers.episodes import store
from helpers.episodes.record import as_text, kind_of
from helpers.run.headless import parameters_of
from helpers.show.page import Markup, safe, tags

_READ = 2000  # lines of a file that are read: reports quote, they do not count
_LONGEST = 1500  # characters of a text that are quoted


def examples(folder: Path | str, most: int = 1) -> Markup:
    """Right and wrong answers out of the episodes and training samples in a run's folder, as an HTML table.

    The file that each is from stands beside it, unless all are from the same.

    Args:
        folder: Where the run wrote its JSONL files.
        most: How many of each kind.

    Returns:
        HTML, empty where the run left no answers.
    """
    found: dict[bool, list] = {True: [], False: []}
    for path in sorted(Path(folder).glob("*.jsonl")):
        rows = _rows(path)[::-1]  # the last ones first: what training had arrived at
        wrong = Counter(kind_of(row) for row in rows if row["reward"] != 1)
        for row in sorted(rows, key=lambda row: -wrong[kind_of(row)]):  # the commonest kind first
            shown = found[row["reward"] == 1]
            if len(shown) < most:
                shown.append(
                    [path.stem, *map(_quoted, (_prompt(row), _answer(row))), row["reward"], row.get("reason", "")]
                )
    quoted = [["from", "prompt", "answer", "reward", "why"], *found[True], *found[False]]
    if len({source for source, *_ in quoted[1:]}) == 1:
        quoted = [cells for _, *cells in quoted]
    return tags.table(quoted) if len(quoted) > 1 else Markup("")


def _rows(path: Path) -> list[dict]:
    """The judged answers at the start of a file, which a run may still be writing."""
    rows = store.read(path)[:_READ]
    return [row for row in rows if isinstance(row.get("reward"), int | float) and "prompt" in row]


def _prompt(row: dict) -> str:
    return row["prompt"] if isinstance(row["prompt"], str) else str(row["prompt"][-1].get("content", ""))


def _answer(row: dict) -> str:
    """What the model said and called, as text."""
    said = row.get("messages") or row.get("completion") or ""
    if isinstance(said, str):
        return said
    return "\n".join(as_text(message) for message in said)


def _quoted(text: str) -> Markup:
    return tags.pre(safe(text, _LONGEST))


def parameters(copy: Path) -> dict:
    """The parameters that an executed notebook ran with: its defaults, and what was given in their place."""
    given = json.loads(copy.read_text(encoding="utf-8"))["metadata"].get("papermill", {}).get("parameters", {})
    return parameters_of(copy) | given


def versions(result: dict) -> str:
    """The birth certificate of a result.json in words, or "" where it has none."""
    if "versions" not in result:
        return ""
    named = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    return f"Python {result['python']}, {named}, commit {result['commit']}, {result['written']}"
