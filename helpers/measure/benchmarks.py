# SPDX-License-Identifier: Apache-2.0
"""External benchmarks: JSONL files in the shapes that others publish, as tasks of the environments here."""

import random
from pathlib import Path
from types import SimpleNamespace

from envs import NAMES, load
from helpers.episodes import store
from helpers.episodes.environment import needs_tools, reader_of
from helpers.here import ROOT
from helpers.rollout.policies import model_path
from helpers.tasks import selection


def read(benchmark: str | None, n: int, seed: int = 0) -> dict[tuple[str, str], list[dict]]:
    """Tasks out of one or more files.

    Args:
        benchmark: "environment:path", several with commas between, such as "math:gsm8k.jsonl,code:mbpp.jsonl"; None or
            "" for none. The environment grades the answers; math reads the shapes of GSM8K, MATH, AIME and NeMo Gym,
            code those of HumanEval, MBPP, LiveCodeBench and NeMo Gym, workplace and sudoku that of NeMo Gym. A path is
            taken from the repository's root.
        n: Most tasks of a file; of a longer one that many are drawn.
        seed: Of the draw.

    Returns:
        {(environment, file name): rows}. A task that stands in a file twice is taken once.

    Raises:
        ValueError: no such environment, one that reads no files, no such file, two of one name, or a file in none of
            the shapes; the message names the entry.
    """
    found: dict[tuple[str, str], list[dict]] = {}
    for part in filter(None, (part.strip() for part in (benchmark or "").split(","))):
        name, path = _entry(part)
        if (name, path.name) in found:
            raise ValueError(f"two benchmark files for {name} are called {path.name}: rename one, results go by name")
        rows = _rows(name, path)
        found[name, path.name] = rows if len(rows) <= n else random.Random(seed).sample(rows, n)
    return found


def fitting(
    tasks: dict[tuple[str, str], list[dict]], model: str, cfg: SimpleNamespace
) -> dict[tuple[str, str], list[dict]]:
    """The tasks whose prompts leave a model room for an answer, see `selection.fitting`.

    Args:
        tasks: Rows by (environment, name of the set).
        model: Name or folder of the model, see `policies.model_path`; its tokenizer counts.
        cfg: From `profiles.settings`.

    Raises:
        ValueError: no task of a set is left.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_path(model))
    return {key: selection.fitting(module, rows, tokenizer, cfg, tools=needs_tools(module))
            for key, rows in tasks.items() for module in [load(key[0])]}  # fmt: skip


def _entry(part: str) -> tuple[str, Path]:
    name, _, path = part.partition(":")
    able = [other for other in NAMES if reader_of(load(other))]
    if name not in able or not path:
        raise ValueError(f"a benchmark is written environment:file with one of {', '.join(able)}, got {part!r}")
    path = ROOT / Path(path.strip()).expanduser()
    if not path.is_file():
        raise ValueError(f"benchmark {part!r}: there is no file {path}")
    return name, path


def _rows(name: str, path: Path) -> list[dict]:
    try:
        rows = reader_of(load(name))(store.read(path, strict=True))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"benchmark {path.name} is not in a shape that {name} reads: {error}") from error
    if not rows:
        raise ValueError(f"benchmark {path.name} holds no task that {name} can grade")
    return list({row["task_id"]: row for row in rows}.values())
