"""CPU time to make and to score Sudoku puzzles, beside reasoning-gym where that is installed.

    python tests/bench/sudoku.py --n 100 --seed 0

Needs only envs/. Both sides get the same number of blanks: reasoning-gym's own defaults. Puzzles are made first and
scored afterwards, as in training. Each sample of ours is timed next to one of theirs, so that a busy machine slows
both. Each answer is scored twice, since a policy's group of samples repeats itself. `make_rows` scores each row's own
solution, and ours remembers verdicts, as theirs keeps the solution in the entry. "From a file" is without anything
remembered: the first right answer to a row that another process made.
"""

import argparse
import json
import platform
import sys
from pathlib import Path
from statistics import median
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from envs import sudoku_env

FORMS = ("plain", "fence", "table", "one value wrong")
CASES = (("9x9", 9, "sudoku", (30, 50)), ("4x4", 4, "mini_sudoku", (8, 12)))


def theirs(name: str, n: int, seed: int):
    """The reasoning-gym data set of that name, or None where the library is missing."""
    try:
        import reasoning_gym
    except ImportError:
        return None
    return reasoning_gym.create_dataset(name, size=n, seed=seed)


def timed(work) -> tuple[float, object]:
    """Milliseconds of CPU time, and the result."""
    start = process_time()
    result = work()
    return 1000 * (process_time() - start), result


def spread(grid: str) -> list[str]:
    """An answer as models write it: plain, in a code fence after a sentence, as a table; and one with a wrong value."""
    rows = [line.split() for line in grid.split("\n")]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    last = "2" if grid.endswith("1") else "1"
    return [grid, f"Here is the solution:\n```\n{grid}\n```", table, grid[:-1] + last]


def compare(label: str, size: int, name: str, blanks: tuple[int, int], n: int, seed: int) -> list[tuple]:
    """Rows (what, our milliseconds, theirs) for one size; theirs are empty without the library."""
    other = theirs(name, n, seed)
    if other is not None:
        blanks = other.config.min_empty, other.config.max_empty
    if size == 4:
        blanks = blanks[0], min(blanks[1], 11)  # 12 blanks leave one 4x4 solution too rarely to ask for
    result: dict[str, list[list[float]]] = {}

    def keep(what: str, side: int, work):
        spent, value = timed(work)
        result.setdefault(what, [[], []])[side].append(spent)
        return value

    def score(what: str, at: int, i: int, wanted: bool) -> None:
        text, row = ours[i][at], rows[i]
        verdict = keep(what, 0, lambda: sudoku_env.score(text, row))
        assert verdict.reward == float(wanted), text
        if other is not None:
            text, entry = others[i][at], entries[i]
            keep(what, 1, lambda: other.score_answer(text, entry))

    sudoku_env.make_rows(1, size=size, blanks=blanks)  # tables that are built once
    rows, entries = [], []
    for i in range(n):
        what = f"make {label}, {blanks[0]} to {blanks[1]} blanks"
        rows += keep(what, 0, lambda i=i: sudoku_env.make_rows(1, seed=seed + i, size=size, blanks=blanks))
        if other is not None:
            entries.append(keep(what, 1, lambda i=i: other[i]))
    ours = [spread(sudoku_env.answer(row)) for row in rows]
    others = [spread(entry["answer"]) for entry in entries]
    for at, form in enumerate(FORMS):
        for when in ("", ", again"):
            for i in range(n):
                score(f"score {label}, {form}{when}", at, i, form != FORMS[-1])
    both = [[t for what, times in result.items() if what.startswith("score") for t in times[side]] for side in (0, 1)]
    for memory in (sudoku_env._task, sudoku_env._is_usual, sudoku_env._remembered):
        memory.cache_clear()
    for i in range(n):
        score(f"score {label}, plain, from a file", 0, i, True)
    result[f"score {label}, all but the last"] = both
    return [(what, *times) for what, times in result.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=100, help="puzzles of each size")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    args = parser.parse_args()
    try:
        from importlib.metadata import version

        peer = f"reasoning-gym {version('reasoning-gym')}"
    except ImportError:
        peer = "reasoning-gym is not installed, so only our times are shown"
    result = [row for case in CASES for row in compare(*case, args.n, args.seed)]
    head = f"n={args.n} seed={args.seed} python={platform.python_version()} peer: {peer}"
    if args.json:
        print(json.dumps({"head": head, "rows": [(what, sum(a) / len(a), sum(b) / len(b) if b else None)
                                                 for what, a, b in result]}))  # fmt: skip
        return
    print(head)
    print(f"{'CPU milliseconds each':34}{'ours mean':>12}{'median':>9}{'theirs mean':>13}{'median':>9}{'ratio':>8}")
    for what, a, b in result:
        line = f"{what:34}{sum(a) / len(a):12.4f}{median(a):9.4f}"
        if b:
            line += f"{sum(b) / len(b):13.4f}{median(b):9.4f}{sum(b) / sum(a):8.1f}"
        print(line)


if __name__ == "__main__":
    main()
