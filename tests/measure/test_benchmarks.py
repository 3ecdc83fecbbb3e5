"""External benchmarks: files in the shapes that others publish become tasks that the environments grade."""

import json
from pathlib import Path

import pytest

from envs import load
from helpers.here import ROOT
from helpers.measure import benchmarks

NEMO = ROOT / "tests" / "data" / "nemo_gym"

GSM8K = [
    {"question": "Ann has 3 pens and buys 4. How many has she?", "answer": "3 + 4 = <<3+4=7>>7\n#### 7"},
    {"question": "A box holds 6 eggs. How many do 5 boxes hold?", "answer": "6 * 5 = <<6*5=30>>30\n#### 30"},
]
MATH = [{"problem": "Solve $2x = 6$.", "solution": "Halve both sides: $x = \\boxed{3}$.", "level": "Level 1"}]
AIME = [{"ID": "1983-1", "Problem": "Find the last digit of 7^2.", "Answer": 9}]
HUMAN_EVAL = [
    {"task_id": "HumanEval/0", "prompt": 'def twice(x):\n    """Return x twice."""\n', "entry_point": "twice",
     "canonical_solution": "    return 2 * x\n", "test": "def check(candidate):\n    assert candidate(3) == 6\n"},
]  # fmt: skip
MBPP = [
    {"task_id": 1, "text": "Write a function to add one.", "code": "def inc(x):\n    return x + 1",
     "test_list": ["assert inc(1) == 2", "assert inc(5) == 6"]},
]  # fmt: skip


def written(path: Path, records: list[dict]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "environment, records, right, wrong",
    [
        ("math", GSM8K, "So it is \\boxed{7}", "\\boxed{8}"),
        ("math", MATH, "\\boxed{3}", "\\boxed{6}"),
        ("math", AIME, "\\boxed{9}", "\\boxed{7}"),
        ("code", HUMAN_EVAL, "```python\ndef twice(x):\n    return x + x\n```", "def twice(x): return x"),
        ("code", MBPP, "def inc(n): return n + 1", "def inc(n): return n"),
    ],
    ids=["GSM8K", "MATH", "AIME", "HumanEval", "MBPP"],
)
def test_a_file_becomes_tasks_that_the_environment_grades(environment, records, right, wrong, tmp_path):
    found = benchmarks.read(f"{environment}:{written(tmp_path / 'set.jsonl', records)}", 100)
    rows = found[environment, "set.jsonl"]
    assert list(found) == [(environment, "set.jsonl")] and len(rows) == len(records)
    module = load(environment)
    assert module.score(right, rows[0]).reward == 1.0 and module.score(wrong, rows[0]).reward == 0.0


@pytest.mark.parametrize(
    "environment, name",
    [("math", "math_with_judge_rows"), ("code", "code_gen_rows"), ("workplace", "workplace_assistant_rows")],
)
def test_rows_of_nemo_gym_are_read(environment, name):
    ((key, rows),) = benchmarks.read(f"{environment}:{NEMO / name}.jsonl", 100).items()
    assert key == (environment, f"{name}.jsonl") and len(rows) == 5
    assert all(load(environment).score("", row).reward == 0.0 for row in rows)


def test_puzzles_of_reasoning_gym_are_read(tmp_path):
    puzzle = [[0, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]]
    record = {"responses_create_params": {"input": [{"role": "user", "content": "Solve it."}]},
              "metadata": {"source_dataset": "mini_sudoku", "puzzle": puzzle}}  # fmt: skip
    (rows,) = benchmarks.read(f"sudoku:{written(tmp_path / 'mini.jsonl', [record])}", 10).values()
    assert load("sudoku").score("1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", rows[0]).reward == 1.0


def test_several_files_one_of_them_twice_the_same_task(tmp_path):
    one, two = written(tmp_path / "one.jsonl", GSM8K + GSM8K[:1]), written(tmp_path / "two.jsonl", MBPP)
    found = benchmarks.read(f" math:{one} , code:{two},", 100)
    assert {key: len(rows) for key, rows in found.items()} == {("math", "one.jsonl"): 2, ("code", "two.jsonl"): 1}
    assert benchmarks.read(None, 5) == benchmarks.read("", 5) == {}


def test_of_a_long_file_the_same_tasks_are_drawn_each_time(tmp_path):
    many = [{"question": f"What is {i} + 1?", "answer": f"#### {i + 1}"} for i in range(200)]
    entry = f"math:{written(tmp_path / 'many.jsonl', many)}"
    (drawn,) = benchmarks.read(entry, 20, seed=3).values()
    assert [drawn] == list(benchmarks.read(entry, 20, seed=3).values())
    places = [int(row["prompt"][0]["content"].split()[2]) for row in drawn]
    assert len(set(places)) == 20 and max(places) > 100  # of the whole file, not its head


def test_what_cannot_be_read_is_refused_by_name(tmp_path):
    fine, odd, empty = (tmp_path / name for name in ("fine.jsonl", "odd.jsonl", "empty.jsonl"))
    written(fine, GSM8K), written(odd, [{"text": "no question here"}]), written(empty, [])
    (tmp_path / "broken.jsonl").write_text("{not json\n")
    (tmp_path / "other").mkdir()
    written(tmp_path / "other" / "fine.jsonl", GSM8K)
    for entry, says in (
        ("gsm8k.jsonl", "written environment:file with one of sudoku, math, code, workplace, got 'gsm8k.jsonl'"),
        (f"chess:{fine}", "with one of sudoku, math, code, workplace"),
        (f"sudoku:{fine}", "fine.jsonl is not in a shape that sudoku reads"),
        ("math:", "environment:file"),
        ("math:nowhere.jsonl", "there is no file .*nowhere.jsonl"),
        (f"math:{tmp_path}", "there is no file"),
        (f"math:{odd}", "odd.jsonl is not in a shape that math reads: record 0 has no question"),
        (f"code:{fine}", "fine.jsonl is not in a shape that code reads"),
        (f"workplace:{fine}", "fine.jsonl is not in a shape that workplace reads"),
        (f"math:{tmp_path / 'broken.jsonl'}", "broken.jsonl is not in a shape that math reads"),
        (f"math:{empty}", "empty.jsonl holds no task that math can grade"),
        (f"math:{fine},math:{tmp_path / 'other' / 'fine.jsonl'}", "two benchmark files for math are called fine.jsonl"),
    ):
        with pytest.raises(ValueError, match=says):
            benchmarks.read(entry, 10)
