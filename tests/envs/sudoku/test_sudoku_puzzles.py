"""Puzzles read and made: levels, splits, limits, the same everywhere."""

import itertools
import json
import shutil
import subprocess
import sys

import pytest
from sudoku_cases import (
    BANK,
    cells_of,
    text_of,
)

from envs import sudoku_env
from envs.sudoku_env import BOX, LEVELS, SPLITS, make_rows, score, solve, split_of
from helpers.here import ROOT


def test_every_blank_sign_reads_the_same():
    for size, pairs in BANK.items():
        puzzle = pairs[0][0]
        for sign in ("_", ".", "0", "*", "x", "X", "?"):
            text = "\n".join(" ".join(str(v or sign) for v in line) for line in puzzle)
            assert solve(text, size) == solve(text_of(puzzle)), (size, sign)
            if size < 10:
                assert solve(text.replace(" ", ""), size) == solve(text_of(puzzle)), (size, sign, "tight")
        for sign in ("", " ", "_", "."):
            table = "\n".join("| " + " | ".join(str(v or sign) for v in line) + " |" for line in puzzle)
            assert solve(table, size) == solve(text_of(puzzle)), (size, sign, "table")
    drawn = "+-----+-----+\n| 1 . | 3 . |\n| . 4 | . 2 |\n+-----+-----+\n| . 1 | . . |\n| 4 . | . 1 |\n+-----+-----+"
    assert solve(drawn) == ["1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1"]


@pytest.mark.parametrize("text", ["", "hello", "1 2 3", "1 2 3 4\n" * 3, "1 2 3 9\n" * 4, None, 7, ["1"]])
def test_what_is_no_puzzle_is_refused(text):
    with pytest.raises(ValueError, match="puzzle"):
        solve(text)


def test_contradicting_givens_have_no_solution_and_cost_no_time():
    for size in BOX:
        rows = [["_"] * size for _ in range(size)]
        rows[0][0] = rows[0][-1] = "1"
        assert solve("\n".join(map(" ".join, rows)), size, max_steps=1) == []
    assert solve("1 2 3 _\n_ _ _ 4\n_ _ _ _\n_ _ _ _", max_steps=1) == []  # no value left for a cell


HARD = (
    "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",  # against brute force
    "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
    ".....6....59.....82....8....45........3........6..3.54...325..6..................",
    "." * 81,
)


@pytest.mark.parametrize("line", HARD)
def test_hard_puzzles_end_within_the_limit(line):
    puzzle = "\n".join(line[i : i + 9] for i in range(0, 81, 9))
    found = solve(puzzle, 9, at_most=2)
    assert found is None or found
    if not by_singles("\n".join(" ".join(row.replace(".", "_")) for row in puzzle.split("\n")), 9):
        assert solve(puzzle, 9, at_most=2, max_steps=1) is None  # unknown, not "none" and not "unique"


def test_16x16_search_stops_at_its_limit():
    empty = "\n".join([" ".join("_" * 16)] * 16)
    assert solve(empty, 16, at_most=3, max_steps=5) is None
    found = solve(empty, 16, at_most=3, max_steps=3_000)
    assert found is None or len(found) == 3


@pytest.mark.parametrize("size, difficulty", [(s, d) for s in LEVELS for d in LEVELS[s]])
def test_levels_are_honoured(size, difficulty):
    fewest, most, singles = LEVELS[size][difficulty]
    for row in make_rows({4: 20, 6: 12, 9: 6, 16: 1}[size], seed=2, size=size, difficulty=difficulty):
        puzzle = json.loads(row["task"])["puzzle"]
        assert fewest <= puzzle.count("_") <= most
        found = solve(puzzle, size, at_most=2)
        assert found is not None and len(found) == 1
        assert score(found[0], row).reward == 1.0 and split_of(found[0]) == "train"
        if singles is not None:
            assert by_singles(puzzle, size) is singles
        assert puzzle in row["prompt"][0]["content"] and f"{size}x{size}" in row["prompt"][0]["content"]


def by_singles(puzzle: str, size: int) -> bool:
    """Whether naked and hidden singles solve it; written apart from the generator, from the rules."""
    height, width = BOX[size]
    grid = {(r, c): v for r, line in enumerate(cells_of(puzzle)) for c, v in enumerate(line)}
    units = [[(r, c) for c in range(size)] for r in range(size)] + [[(r, c) for r in range(size)] for c in range(size)]
    units += [[(r + i, c + j) for i in range(height) for j in range(width)]
              for r in range(0, size, height) for c in range(0, size, width)]  # fmt: skip
    while True:
        options = {at: set(range(1, size + 1)) - {grid[p] for u in units if at in u for p in u}
                   for at in grid if not grid[at]}  # fmt: skip
        if not options:
            return True
        hit = next(((at, min(o)) for at, o in options.items() if len(o) == 1), None)
        for unit, value in itertools.product(units, range(1, size + 1)):
            places = [at for at in unit if value in options.get(at, ())]
            if len(places) == 1:
                hit = hit or (places[0], value)
        if not hit:
            return False
        grid[hit[0]] = hit[1]


@pytest.mark.parametrize("blanks, singles", [(30, None), ((40, 50), True), (50, False), (52, None), ((1, 80), None)])
def test_blanks_and_singles_can_be_asked_for(blanks, singles):
    for row in make_rows(2, size=9, blanks=blanks, singles=singles):
        puzzle = json.loads(row["task"])["puzzle"]
        low, high = (blanks, blanks) if isinstance(blanks, int) else blanks
        assert low <= puzzle.count("_") <= high and len(solve(puzzle, 9, at_most=2)) == 1
        assert singles is None or by_singles(puzzle, 9) is singles


def test_splits_share_no_solution_grid():
    owner = {}
    for split, seed in itertools.product(SPLITS, range(3)):
        for row in make_rows(60, seed=seed, split=split):
            solution = solve(json.loads(row["task"])["puzzle"])[0]
            assert owner.setdefault(solution, split) == split == split_of(solution)
    assert set(owner.values()) == set(SPLITS)


def test_rows_are_different_and_more_rows_extend_fewer():
    rows = make_rows(200)
    assert len({row["task"] for row in rows}) == len({row["task_id"] for row in rows}) == 200
    assert make_rows(50) == rows[:50] and make_rows(0) == []
    assert make_rows(5, seed=1) != rows[:5] and make_rows(5, split="test") != rows[:5]


def test_same_rows_in_a_new_process_with_another_hash_seed():
    code = (
        "import json, hashlib; from envs.sudoku_env import make_rows; "
        "rows = [make_rows(3, seed=1, size=s, difficulty=d) for s, d in ((4, 'easy'), (6, 'hard'), (9, 'hard'))]; "
        "print(hashlib.sha256(json.dumps(rows).encode()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(seen) == 1


@pytest.mark.parametrize(
    "knobs, message",
    [
        ({"size": 5}, "size must be 4, 6, 9 or 16, got 5"),
        ({"size": "9"}, "size must be"),
        ({"size": [9]}, "size must be"),
        ({"size": 9.0}, "size must be"),
        ({"difficulty": ["easy"]}, "difficulty must be"),
        ({"singles": "yes"}, "singles must be True, False or None, got 'yes'"),
        ({"split": "dev"}, "split must be one of train, validation, test, got 'dev'"),
        ({"difficulty": "evil"}, "difficulty must be one of easy, medium, hard, got 'evil'"),
        ({"blanks": 0}, "blanks must be a number from 1 to 15"),
        ({"blanks": 16}, "blanks must be a number from 1 to 15"),
        ({"blanks": (5, 3)}, "blanks .* got .5, 3."),
        ({"blanks": "many"}, "blanks"),
        ({"blanks": (1, 2, 3)}, "blanks"),
        ({"blanks": 15}, "found only 0 of 2 .*; ask for fewer puzzles or other blanks"),
        ({"n": 100_000, "blanks": 1}, "found only .* of 100000 .*; ask for fewer puzzles"),
        ({"n": -1}, "n must be"),
        ({"n": "two"}, "n must be"),
    ],
)  # fmt: skip
def test_bad_knobs_are_named(knobs, message):
    with pytest.raises(ValueError, match=message):
        make_rows(**{"n": 2, **knobs})


@pytest.mark.parametrize("size, blanks", [(9, 50), (9, 54), (16, 120)])
def test_puzzles_with_many_blanks_are_found(size, blanks):
    (row,) = make_rows(1, size=size, blanks=blanks)
    assert json.loads(row["task"])["puzzle"].count("_") == blanks


def test_one_file_works_alone(tmp_path):
    shutil.copy(ROOT / "envs" / "sudoku_env.py", tmp_path)
    code = (
        "import sys; sys.path.insert(0, '.'); import sudoku_env as s\n"
        "for size in (4, 6, 9):\n"
        "    for row in s.make_rows(3, size=size) + s.make_rows(1, size=size, interactive=True):\n"
        "        assert s.score(s.answer(row), row).reward == 1.0 and s.score('', row).reward == 0.0\n"
        "print('fine', s.__file__)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("fine"), done.stderr


@pytest.mark.parametrize(
    "calls, kind",
    [
        ([("place", {"row": 9, "column": 1, "value": 1})], "tool fault: row must be"),
        ([("place", {"row": 1})], "tool fault: "),
        ([("solve", {})], "tool fault: there is no tool 'solve'"),
        ([("submit", {"grid": "1 2 3 4"})], "no answer: "),
        ([("submit", {"grid": 5})], "tool fault: grid must be text"),
        ([("place", {"row": 1, "column": 2, "value": 2})], "incomplete: "),
    ],
)
def test_reason_of_calls_that_lead_nowhere(calls, kind):
    row = {"task": json.dumps({"puzzle": "1 _ 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 _", "size": 4})}
    made = [{"type": "function", "function": {"name": name, "arguments": given}} for name, given in calls]
    verdict = sudoku_env.score([{"role": "assistant", "content": "", "tool_calls": made}], row)
    assert verdict.reward == 0.0 and verdict.reason.startswith(kind), verdict
