"""CPU time to make and to score Sudoku puzzles, beside reasoning-gym where that is installed.

    python tests/bench/sudoku.py --n 100 --seed 0

Needs only envs/. Both sides get the same number of blanks: reasoning-gym's own defaults. Each sample of ours is timed
next to one of theirs, so that a busy machine slows both. Each answer is scored twice: a policy's group of samples
repeats itself, and ours remembers the verdict.
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
    """Rows (what, our milliseconds, theirs or None) for one size."""
    other = theirs(name, n, seed)
    if other is not None:
        blanks = other.config.min_empty, other.config.max_empty
    if size == 4:
        blanks = blanks[0], min(blanks[1], 11)  # 12 blanks leave one 4x4 solution too rarely to ask for
    make: list[list[float]] = [[], []]
    score: dict[str, list[list[float]]] = {f"{form}{when}": [[], []] for form in FORMS for when in ("", ", again")}
    sudoku_env.make_rows(1, size=size, blanks=blanks)  # tables that are built once
    for i in range(n):
        spent, (row,) = timed(lambda i=i: sudoku_env.make_rows(1, seed=seed + i, size=size, blanks=blanks))
        make[0].append(spent)
        if other is not None:
            spent, entry = timed(lambda i=i: other[i])
            make[1].append(spent)
            for form, text in zip(FORMS, spread(entry["answer"])):
                for when in ("", ", again"):
                    spent, _ = timed(lambda t=text, e=entry: other.score_answer(t, e))
                    score[form + when][1].append(spent)
        for form, text in zip(FORMS, spread(sudoku_env.answer(row))):
            for when in ("", ", again"):
                spent, verdict = timed(lambda t=text, r=row: sudoku_env.score(t, r))
                assert verdict.reward == float(form != FORMS[-1]), (form, text)
                score[form + when][0].append(spent)
    blank = f"{blanks[0]} to {blanks[1]} blanks"
    both = [[t for times in score.values() for t in times[side]] for side in (0, 1)]
    score["all of these"] = both
    return [(f"make {label}, {blank}", *make), *((f"score {label}, {form}", *times) for form, times in score.items())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=int, default=100, help="puzzles of each size")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--repeat", type=int, default=5, help="scorings of each answer; nothing is remembered between them"
    )
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
