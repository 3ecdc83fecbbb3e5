# SPDX-License-Identifier: Apache-2.0
"""Gates: which of many tasks are worth training on, and how many fell where.

>>> from envs import load
>>> from helpers.tasks import gates
>>> sudoku = load("sudoku")
>>> gates.sift(sudoku, sudoku.make_rows(20)).table["kept"]
20

A gate takes rows and says of each why it falls, or None. `sift` puts the gates in a row, cheap ones first; every
environment passes the same ones.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from copy import deepcopy
from math import ceil
from pathlib import Path
from typing import NamedTuple

from helpers.episodes.store import read
from helpers.tasks.mutants import lazy_programs, mutants_of

NEAR = 0.8  # Jaccard overlap of 3-grams of words from which two tasks are near duplicates
OVERLAP = 0.5  # share of common n-grams from which a task is contaminated
NGRAM = 8  # words, for contamination
SHORTEST = 5  # words: shorter benchmark texts are ids and bare answers, which prove nothing


class Sifted(NamedTuple):
    """What came through the gates.

    `kept` holds rows, `fallen` entries {"gate", "reason", "row"}, `table` the counts: {"made": n, gate: fallen there,
    ..., "kept": m}.
    """

    kept: list[dict]
    fallen: list[dict]
    table: dict[str, int]

    def by_gate(self) -> dict[str, list[dict]]:
        """What fell, by the gate where it did: {gate: entries}."""
        found: dict[str, list[dict]] = defaultdict(list)
        for entry in self.fallen:
            found[entry["gate"]].append(entry)
        return dict(found)


def sift(
    module,
    rows: list[dict],
    *,
    benchmark: Iterable[str] = (),
    near: float = NEAR,
    overlap: float = OVERLAP,
    fallen: Iterable[dict] = (),
) -> Sifted:
    """Send rows through all gates.

    Args:
        module: The environment, as `envs.load` returns it.
        rows: Its tasks.
        benchmark: Texts that no task may overlap with, see `read_benchmark`.
        near: For `near_duplicate`.
        overlap: For `contaminated`.
        fallen: What fell before there were rows, as `synthesis.build` returns it; it counts in the table.
    """
    out = list(fallen)
    table = {"made": len(rows) + len(out), **Counter(entry["gate"] for entry in out)}
    texts = list(benchmark)
    gates = {
        "exact duplicate": duplicate,
        "near duplicate": lambda left: near_duplicate(left, near),
        "contaminated": lambda left: contaminated(left, texts, overlap),
        "gold fails": lambda left: gold_fails(module, left),
        "flaky": lambda left: flaky(module, left),
        "trivial": lambda left: trivial(module, left),
        "weak tests": lambda left: weak_tests(module, left),
    }
    for name, gate in gates.items():
        reasons = gate(rows)
        fell = [{"gate": name, "reason": why, "row": row} for row, why in zip(rows, reasons) if why]
        rows = [row for row, why in zip(rows, reasons) if not why]
        out += fell
        table[name] = table.get(name, 0) + len(fell)
    return Sifted(rows, out, table | {"kept": len(rows)})


def yields(sifted: dict[str, Sifted]) -> list[dict]:
    """One table of several environments' counts, a row each, for `notebook.table`; what one lacks is 0."""
    longest_first = sorted((list(one.table) for one in sifted.values()), key=len, reverse=True)
    names = [name for name in dict.fromkeys(name for names in longest_first for name in names) if name != "kept"]
    return [
        {"source": source} | {name: one.table.get(name, 0) for name in [*names, "kept"]}
        for source, one in sifted.items()
    ]


# --- what a task says ------------------------------------------------------------------------------------


def asked(row: dict) -> str:
    """What the user asks for; a system message, the same in many rows, is left out."""
    return "\n".join(m["content"] for m in row["prompt"] if m["role"] == "user")


def level(row: dict) -> str:
    """The difficulty that the row or its task names, or "unknown"."""
    return row.get("difficulty") or json.loads(row["task"]).get("difficulty") or "unknown"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text.casefold())


def _grams(words: list[str], n: int) -> set[tuple]:
    """All runs of `n` words; a shorter text is one run."""
    return {tuple(words[i : i + n]) for i in range(max(1, len(words) - n + 1))} if words else set()


def _frame(sets: list[set]) -> set:
    """What more than half of the sets hold: the frame that a generator puts around its tasks. Few sets tell no frame
    from content, so theirs is empty."""
    counts = Counter(gram for one in sets for gram in one)
    return {gram for gram, count in counts.items() if count > len(sets) / 2} if len(sets) >= 20 else set()


# --- gates that read -------------------------------------------------------------------------------------


def duplicate(rows: list[dict]) -> list[str | None]:
    """Tasks that an earlier row holds: the same task, or the same prompt but for case and spaces."""
    seen: dict[str, str] = {}
    reasons: list[str | None] = []
    for row in rows:
        said = " ".join(" ".join(m["content"] for m in row["prompt"]).casefold().split())
        twin = seen.get(said) or seen.get(row["task"])
        reasons.append(f"the same as {twin}" if twin else None)
        seen.setdefault(said, row["task_id"])
        seen.setdefault(row["task"], row["task_id"])
    return reasons


def near_duplicate(rows: list[dict], threshold: float = NEAR) -> list[str | None]:
    """Tasks whose words nearly repeat an earlier one that stays: Jaccard overlap of the sets of 3-grams.

    Runs of words that more than half of the rows hold are left out, so that a common frame makes no two tasks alike.
    The search is exact: two sets overlap by `threshold` only if their rarest members do (prefix filtering, Chaudhuri et
    al. 2006), so only those are looked up.

    Raises:
        ValueError: `threshold` is not in (0, 1].
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"near must be a share above 0 and at most 1, got {threshold!r}")
    sets = [_grams(_words(asked(row)), 3) for row in rows]
    frame = _frame(sets)
    sets = [one - frame or one for one in sets]
    counts = Counter(gram for one in sets for gram in one)
    index: dict[tuple, list[int]] = defaultdict(list)
    reasons: list[str | None] = []
    for i, mine in enumerate(sets):
        rarest = sorted(mine, key=lambda gram: (counts[gram], gram))
        rarest = rarest[: len(mine) - ceil(threshold * len(mine) - 1e-9) + 1]
        rivals = sorted({j for gram in rarest for j in index.get(gram, ())})
        likeness = ((_jaccard(mine, sets[j]), j) for j in rivals if len(sets[j]) >= threshold * len(mine) - 1e-9)
        twin = next(((share, j) for share, j in likeness if share >= threshold), None)
        reasons.append(twin and f"{twin[0]:.0%} like {rows[twin[1]]['task_id']}")
        for gram in rarest if twin is None else ():
            index[gram].append(i)
    return reasons


def _jaccard(one: set, other: set) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def read_benchmark(path: Path | str) -> list[str]:
    """The texts of a benchmark in a JSONL file: every string of five words or more in it, whatever its field is called.

    Raises:
        ValueError: the file is not JSONL, or holds no such text.
    """
    texts: list[str] = []
    stack: list = [*reversed(read(path, strict=True))]
    while stack:
        value = stack.pop()
        stack += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        if isinstance(value, str) and len(_words(value)) >= SHORTEST:
            texts.append(value)
    if not texts:
        raise ValueError(f"{path} holds no text of {SHORTEST} words or more to compare with")
    return texts


def contaminated(rows: list[dict], benchmark: list[str], share: float = OVERLAP, n: int = NGRAM) -> list[str | None]:
    """Tasks that overlap with a benchmark: of the n-grams of the shorter text, at least `share` stand in the other.

    Args:
        rows: The tasks; their prompts are compared, as a whole and by paragraphs, without the frame that more than half
            of them hold.
        benchmark: Its texts. One shorter than `n` words counts where it stands in a task as a whole; those under five
            words are left out.
        share: 0.5 as in Tülu 3 (2024).
        n: 8 words as there.

    Raises:
        ValueError: `share` is not in (0, 1].
    """
    if not 0 < share <= 1:
        raise ValueError(f"overlap must be a share above 0 and at most 1, got {share!r}")
    texts = [words for words in map(_words, benchmark) if len(words) >= SHORTEST]
    theirs = [_grams(words, n) for words in texts]
    index: dict[tuple, list[int]] = defaultdict(list)
    for at, grams in enumerate(theirs):
        for gram in grams:
            index[gram].append(at)
    pieces = [[words for words in map(_words, _pieces(asked(row))) if words] for row in rows]
    overlaps: list[dict[int, float]] = [{} for _ in rows]
    for size in sorted({len(gram) for gram in index}):
        frame = _frame([_grams(whole[0], size) for whole in pieces if whole])
        for found, of_row in zip(overlaps, pieces):
            for mine in (_grams(words, size) - frame for words in of_row):
                shared = Counter(at for gram in mine for at in index.get(gram, ()))
                for at, count in shared.items():
                    found[at] = max(found.get(at, 0.0), count / min(len(mine), len(theirs[at])))
    best = [max(found.items(), key=lambda pair: (pair[1], -pair[0]), default=(0, 0.0)) for found in overlaps]
    return [
        f"{much:.0%} of its {n}-grams stand in the benchmark: {' '.join(texts[at])[:80]!r}" if much >= share else None
        for at, much in best
    ]


def _pieces(text: str) -> list[str]:
    """A text, and those of its paragraphs that are long enough to be a problem of their own: a statement may be copied
    and its examples not."""
    parts = [part for part in re.split(r"\n\s*\n", text) if len(_words(part)) >= 2 * NGRAM]
    return [text, *(part for part in parts if part != text)]


# --- gates that ask the verifier -------------------------------------------------------------------------


def gold_fails(module, rows: list[dict]) -> list[str | None]:
    """Tasks whose own gold answer does not earn 1, or that have none."""
    reasons: list[str | None] = []
    for row in rows:
        try:
            verdict = module.score(module.answer(row), row)
        except (ValueError, KeyError) as error:  # tasks from elsewhere may come without an answer
            reasons.append(f"there is no gold answer: {error}")
            continue
        fine = verdict.reward == 1.0
        reasons.append(None if fine else f"the gold answer earns {verdict.reward}: {verdict.reason}")
    return reasons


def flaky(module, rows: list[dict], times: int = 2) -> list[str | None]:
    """Tasks whose gold answer does not earn the same each time. It is written a little longer each time, so that a
    verifier which remembers its verdicts has to judge anew."""
    reasons: list[str | None] = []
    for row in rows:
        answer, source = module.answer(row), json.loads(row["task"]).get("solution")
        again = [f"```python\n{source}\n# {i}\n```" if source else _longer(answer, i) for i in range(1, times + 1)]
        rewards = [module.score(completion, row).reward for completion in again]
        shown = ", ".join(map(str, rewards))
        reasons.append(f"the same answer earned {shown}" if len(set(rewards)) > 1 or rewards[0] != 1.0 else None)
    return reasons


def _longer(answer: str | list[dict], by: int) -> str | list[dict]:
    if isinstance(answer, str):
        return answer + "\n" * by
    answer = deepcopy(answer)
    answer[-1]["content"] = (answer[-1].get("content") or "") + "\n" * by
    return answer


def trivial(module, rows: list[dict]) -> list[str | None]:
    """Tasks that pay an answer which does not do them: none at all, the prompt repeated, and for programs a constant,
    an argument handed back, and the examples learned by heart."""
    reasons: list[str | None] = []
    for row in rows:
        tried = {"nothing at all": "", "the prompt repeated": asked(row), **lazy_programs(json.loads(row["task"]))}
        paid = (name for name, answer in tried.items() if (module.score(answer, row).reward or 0) > 0)
        name = next(paid, None)
        reasons.append(name and f"{name} earns a reward")
    return reasons


def weak_tests(module, rows: list[dict], mutants: int = 3) -> list[str | None]:
    """Programming tasks whose tests are no proof: fewer than `mutants` mutants of the reference fail them. Tasks
    without a `solution` pass."""
    reasons: list[str | None] = []
    for row in rows:
        source, killed, tried = json.loads(row["task"]).get("solution"), 0, 0
        for mutant in mutants_of(source, row["task_id"]) if source else ():
            if killed == mutants:
                break
            tried += 1
            killed += module.score(f"```python\n{mutant}\n```", row).reward == 0.0
        weak = source and killed < mutants
        reasons.append(f"only {killed} of {tried} mutants of the reference fail" if weak else None)
    return reasons


# --- what stays ------------------------------------------------------------------------------------------


def export(
    splits: dict[str, list[dict]], folder: Path | str, *, title: str, about: str = "", table: Sequence[dict] = ()
) -> Path:
    """Write rows as JSONL, as a `datasets` folder and with a card.

    `datasets.load_from_disk(folder / "dataset")` and `datasets.load_dataset(str(folder))` both read it.

    Args:
        splits: {"train": rows, ...}; all rows have the same columns.
        folder: Made if missing; what an earlier export left there is replaced.
        title: Of the card.
        about: What else the card shall say, such as which benchmark the tasks were compared with.
        table: Counts to show on the card, as `yields` gives them.

    Returns:
        The folder.

    Raises:
        ValueError: no rows, rows with different columns, or a task in two splits.
    """
    from datasets import Dataset, DatasetDict

    folder, rows = Path(folder), [row for part in splits.values() for row in part]
    if not rows or not all(splits.values()):
        raise ValueError(f"a split holds no rows: {', '.join(f'{name}: {len(part)}' for name, part in splits.items())}")
    if odd := next((row for row in rows if set(row) != set(rows[0])), None):
        raise ValueError(f"rows differ in their columns: {sorted(odd)} and {sorted(rows[0])}; give all the same")
    if twice := [task for task, count in Counter(row["task_id"] for row in rows).items() if count > 1]:
        raise ValueError(f"task {twice[0]} is in the export twice; a task belongs to one split")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.jsonl"):
        old.unlink()
    for name, part in splits.items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in part)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    DatasetDict({name: Dataset.from_list(part) for name, part in splits.items()}).save_to_disk(folder / "dataset")
    (folder / "README.md").write_text(_card(splits, title, about, list(table)), encoding="utf-8")
    return folder


def _card(splits: dict[str, list[dict]], title: str, about: str, table: list[dict]) -> str:
    files = "\n".join(f"      - split: {name}\n        path: {name}.jsonl" for name in splits)
    counts = Counter((name, row["environment"], level(row)) for name, part in splits.items() for row in part)
    tasks = [{"split": s, "environment": e, "difficulty": d, "tasks": c} for (s, e, d), c in counts.items()]
    example = asked(next(iter(splits.values()))[0])
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", example)), default=0))
    return f"""---
configs:
  - config_name: default
    data_files:
{files}
---
# {title}

Each row holds `prompt` (chat messages), `environment`, `task_id` and `task` (JSON text that the environment's verifier
reads); `helpers.tasks.gates` sifted them. {about}

{_markdown(tasks)}
{"## What fell where" + chr(10) * 2 + _markdown(table) if table else ""}
## An example

{fence}text
{example}
{fence}

## Reading it

    from datasets import load_from_disk
    rows = load_from_disk("dataset")["{next(iter(splits))}"]
"""


def _markdown(rows: list[dict]) -> str:
    names = list(rows[0])
    lines = [" | ".join(names), " | ".join("---" for _ in names), *(" | ".join(map(str, r.values())) for r in rows)]
    return "".join(f"| {line} |\n" for line in lines)
