"""Gates: what falls and why, mutants, exports."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs import load
from helpers.tasks import gates
from helpers.tasks.mutants import mutants_of
from helpers.tasks.scripted_writer import KNOWN


def row(text, number=0, **task):
    prompt, name = [{"role": "user", "content": text}], f"made-{number}-{text[:9]}"
    return {"prompt": prompt, "environment": "made", "task_id": name, "task": json.dumps({"text": text} | task)}


def rows(*texts):
    return [row(text, i) for i, text in enumerate(texts)]


LONG = "The ferry leaves the island every forty minutes and takes a quarter of an hour. When does the fifth one arrive?"


class Env:
    """A made-up environment: pays the word of the row, and what a test tells it to."""

    def __init__(self, pays=(), flips=False, gold="word"):
        self.pays, self.flips, self.gold, self.calls = pays, flips, gold, 0

    def answer(self, row):
        return self.gold

    def score(self, completion, row):
        self.calls += 1
        text = completion if isinstance(completion, str) else completion[-1]["content"]
        paid = text.strip() == "word" or any(word == text.strip() for word in self.pays)
        paid = paid and not (self.flips and self.calls % 2)
        return Verdict(1.0 if paid else 0.0)


class Verdict:
    def __init__(self, reward):
        self.reward, self.reason, self.metrics = reward, "wrong answer: no", {}


# --- duplicates ---


def test_the_same_prompt_or_task_falls_whatever_its_case_and_spaces():
    same = rows("Add 2 and 3.", "add  2 and\n3.", "Add 2 and 4.")
    moved = row("Please add 2 and 3.", 9) | {"task": same[0]["task"]}
    reasons = gates.duplicate([*same, moved])
    assert [bool(why) for why in reasons] == [False, True, False, True]
    assert same[0]["task_id"] in reasons[1] and same[0]["task_id"] in reasons[3]


def test_near_copies_fall_and_other_tasks_stay():
    other = "A train needs two hours for the way there and three back. How long are four round trips without a stop?"
    reasons = gates.near_duplicate(rows(LONG, LONG.replace("ferry", "boat"), other, LONG.upper()))
    assert [bool(why) for why in reasons] == [False, True, False, True]
    assert "like made-0" in reasons[1] and reasons[3].startswith("100%")


def test_a_frame_that_all_tasks_share_makes_no_two_alike():
    frame = "Read the following puzzle with care, take your time, think about it step by step, check "
    frame += "what you found once more, and then answer with one whole number in a box at the very end of your reply. "
    ends = ("side", "land", "man", "less", "top", "fall", "bed")
    words = [start + end for start in ("river", "stone", "cloud") for end in ends]
    tasks = rows(*(frame + f"How many letters are in {w}, {v}?" for w, v in zip(words, words[1:])))
    assert len(tasks) == 20 and not any(gates.near_duplicate(tasks))
    assert any(gates.near_duplicate(tasks[:5]))  # too few to tell the frame from the tasks


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=12), max_size=18),
    st.sampled_from((0.3, 0.5, 0.55, 0.8, 1.0)),
)
def test_the_quick_search_finds_what_comparing_all_pairs_finds(texts, threshold):
    tasks = rows(*map(" ".join, texts))
    sets, kept, expected = [gates._grams(words, 3) for words in texts], [], []
    for i, mine in enumerate(sets):
        twin = any(len(mine & sets[j]) >= threshold * len(mine | sets[j]) - 1e-12 for j in kept)
        expected.append(twin)
        kept += [] if twin else [i]
    assert [bool(why) for why in gates.near_duplicate(tasks, threshold)] == expected


@pytest.mark.parametrize("share", [0, -1, 1.01])
def test_shares_out_of_range_are_refused(share):
    with pytest.raises(ValueError, match="near must be a share"):
        gates.near_duplicate([], share)
    with pytest.raises(ValueError, match="overlap must be a share"):
        gates.contaminated([], [], share)


# --- contamination ---


@pytest.mark.parametrize(
    "text",
    [
        KNOWN,
        "Solve this for me:\n" + KNOWN + "\nAnswer with a number.",
        KNOWN.upper().replace(" ", "  "),
        KNOWN.replace("closing", "daily"),
        KNOWN[: len(KNOWN) * 2 // 3],
        KNOWN + "\n\n" + "Other examples: " + ", ".join(f"solve([{i}, {i + 3}, {i % 7}]) == {i}" for i in range(30)),
    ],
)
def test_a_benchmark_text_is_found_whole_embedded_retyped_and_cut(text):
    reason = gates.contaminated(rows(text), ["Something else that has nothing to do with it at all.", KNOWN])[0]
    assert "8-grams stand in the benchmark" in reason and "closing prices" in reason


def test_what_only_shares_a_phrase_or_an_answer_is_no_contamination():
    tasks = rows(
        LONG, "You are given a list of closing prices. Return the mean of the three lowest, rounded down, or 0."
    )
    assert not any(gates.contaminated(tasks, [KNOWN, "42", "a quarter of", "HumanEval/3"]))


def test_a_short_question_counts_where_it_stands_as_a_whole():
    tasks = rows("What is 25% of 200? Answer in \\boxed{}.", "What is 25% of 300? Answer in \\boxed{}.")
    assert [bool(why) for why in gates.contaminated(tasks, ["What is 25% of 200?"])] == [True, False]


def test_a_benchmark_file_gives_its_texts_whatever_its_fields_are_called(tmp_path):
    path = tmp_path / "bench.jsonl"
    lines = [{"task_id": "Bench/0", "prompt": KNOWN}, {"q": {"parts": [LONG, "short one"]}, "answer": 42}]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    assert set(gates.read_benchmark(path)) == {KNOWN, LONG}
    path.write_text('{"prompt": "cut of')
    with pytest.raises(ValueError, match="line 1 is not JSON"):
        gates.read_benchmark(path)
    path.write_text('{"prompt": "too short"}')
    with pytest.raises(ValueError, match="holds no text"):
        gates.read_benchmark(path)


# --- gates that ask the verifier ---


@pytest.mark.parametrize(
    "env, gate",
    [
        (Env(gold="other"), "gold fails"),
        (Env(flips=True), None),  # the draw decides whether the first or a later verdict is wrong
        (Env(pays=("",)), "trivial"),
        (Env(pays=(LONG,)), "trivial"),
        (Env(), "kept"),
    ],
)
def test_each_fault_of_a_task_falls_at_its_gate(env, gate):
    table = gates.sift(env, rows(LONG)).table
    if gate:
        assert table[gate] == 1 and sum(table.values()) == 2  # made, and there
    else:
        assert table["gold fails"] + table["flaky"] == 1 and table["kept"] == 0


def test_a_task_without_a_gold_answer_falls_and_stops_nothing():
    class Unanswered(Env):
        def answer(self, row):
            if "none" in row["task"]:
                raise ValueError("the task has no solution")
            return "word"

    result = gates.sift(Unanswered(), rows(LONG, "none: " + KNOWN))
    assert result.table["gold fails"] == 1 and result.table["kept"] == 1
    assert result.fallen[0]["reason"] == "there is no gold answer: the task has no solution"


def test_an_unstable_verdict_is_flaky_and_the_judge_cannot_answer_from_memory():
    asked = []

    class Remembering(Env):
        def score(self, completion, row):
            asked.append(completion)
            return Verdict(1.0)

    assert gates.flaky(Remembering(), rows(LONG)) == [None] and len(set(asked)) == len(asked) == 2
    assert "earned 0.0, 1.0" in gates.flaky(Env(flips=True), rows(LONG))[0]


@pytest.mark.parametrize("name", ["sudoku", "math", "workplace"])
def test_the_generators_of_all_environments_pass_and_every_row_is_counted(name):
    module = load(name)
    made = module.make_rows(12, difficulty="medium")
    result = gates.sift(module, [*made, made[0]], benchmark=[KNOWN])
    made_n, kept_n = result.table["made"], result.table["kept"]
    assert made_n == 13 and kept_n == len(result.kept) and made_n - kept_n == len(result.fallen)
    assert sum(result.table.values()) == 2 * made_n and result.table["exact duplicate"] == 1
    assert all(result.table[gate] == 0 for gate in ("gold fails", "flaky", "trivial", "weak tests"))
    assert Counter(e["gate"] for e in result.fallen)["exact duplicate"] == len(result.by_gate()["exact duplicate"])


def test_the_table_of_several_sources_has_one_column_a_gate():
    one = gates.Sifted([], [], {"made": 3, "trivial": 1, "kept": 2})
    other = gates.Sifted([], [], {"made": 5, "does not run": 4, "trivial": 1, "kept": 0})
    table = gates.yields({"a": one, "b": other})
    assert list(table[0]) == ["source", "made", "does not run", "trivial", "kept"]
    assert [list(entry.values()) for entry in table] == [["a", 3, 0, 1, 2], ["b", 5, 4, 1, 0]]


def test_mutants_are_programs_that_differ_and_nothing_of_them_runs(tmp_path):
    source = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    source += "def f(xs, k):\n    return [x for x in sorted(xs)[:k] if x > 2 and x % 3]"
    mutants = mutants_of(source, "a")
    assert len(mutants) == len(set(mutants)) >= 8 and mutants == mutants_of(source, "a")
    assert any("xs[:k]" in m for m in mutants) and any("x > 3" in m or "x > 1" in m for m in mutants)
    for mutant in mutants:
        compile(mutant, "m", "exec")
    assert not (tmp_path / "ran").exists()
    assert mutants_of("def f(:") == mutants_of("(" * 5000) == mutants_of("\0") == []


def test_weak_and_lazy_programs_are_caught_by_the_gates():
    code = pytest.importorskip("envs.code_env")

    def task(tests, solution, entry="solve"):
        return row("Do the thing.", solution, entry_point=entry, tests=tests, solution=solution)

    def tests(*pairs):
        return [{"args": repr([given]), "expected": repr(said)} for given, said in pairs]

    constant = task(tests((1, 5), (2, 5)), "def solve(x):\n    return 5")
    echo = task(tests((1, 1), ([2], [2])), "def solve(x):\n    return x")
    weak = task(tests((0, 0), (0, 0)), "def solve(x):\n    return x * 2")
    fine = task(tests(*((x, 3 * x + 1) for x in range(6))), "def solve(x):\n    return 3 * x + 1")
    method = task(tests((1, 5), (2, 5)), "class Solution:\n    def run(self, x):\n        return 5", "Solution.run")
    lazy = gates.trivial(code, [constant, echo, fine, method])
    lazy = [why and why.removesuffix(" earns a reward") for why in lazy]
    assert lazy == ["a constant", "argument 1 handed back", None, "a constant"]
    reasons = gates.weak_tests(code, [weak, fine])
    assert reasons == ["only 1 of 3 mutants of the reference fail", None]
    program = row("Print.", "p", tests=[{"stdin": "1\n", "stdout": "1\n"}, {"stdin": "2\n", "stdout": "2\n"}],
                  solution="print(input())")  # fmt: skip
    assert gates.trivial(code, [program]) == ["the input handed back earns a reward"]


@pytest.mark.parametrize("kind", ["function", "program", "class"])
def test_generated_programming_tasks_pass_the_same_gates(kind):
    code = pytest.importorskip("envs.code_env")
    result = gates.sift(code, code.make_rows(4, difficulty="medium", kind=kind))
    assert result.table["made"] == 4
    assert all(result.table[gate] == 0 for gate in ("gold fails", "flaky", "trivial")), result.fallen


# --- export ---


def test_an_export_reads_back_from_json_lines_and_from_the_datasets_folder(tmp_path):
    from datasets import load_dataset, load_from_disk

    made = [r | {"difficulty": "easy"} for r in load("workplace").make_rows(4)]
    made[0]["prompt"][-1]["content"] += "\u2028```\nand more"
    table = [{"source": "workplace", "made": 4, "kept": 4}]
    folder = gates.export(
        {"train": made[:3], "test": made[3:]}, tmp_path / "out", title="Tasks", about="Not compared.", table=table
    )
    lines = [json.loads(line) for line in (folder / "train.jsonl").read_text().split("\n")[:-1]]
    assert lines == made[:3]
    assert load_from_disk(str(folder / "dataset"))["train"].to_list() == made[:3]
    read = load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert read["test"].to_list() == made[3:] and read["train"].to_list() == made[:3]
    module = load("workplace")
    assert all(module.score(module.answer(r), r).reward == 1.0 for r in read["train"].to_list())
    card = (folder / "README.md").read_text()
    assert (
        "| train | workplace | easy | 3 |" in card
        and "| workplace | 4 | 4 |" in card
        and "````text" in card
        and "Not compared." in card
    )


def test_a_second_export_replaces_the_first(tmp_path):
    made = load("sudoku").make_rows(4)
    gates.export({"train": made[:2], "test": made[2:]}, tmp_path, title="one")
    gates.export({"all": made}, tmp_path, title="two")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["README.md", "all.jsonl", "dataset"]


def test_what_cannot_be_exported_is_refused_with_the_reason(tmp_path):
    made = load("sudoku").make_rows(3)
    for splits, says in (
        ({"train": []}, "train: 0"),
        ({"train": made, "test": made[:1]}, "twice"),
        ({"train": [made[0], made[1] | {"difficulty": "easy"}]}, "differ in their columns"),
    ):
        with pytest.raises(ValueError, match=says):
            gates.export(splits, tmp_path / "out", title="x")
    assert not (tmp_path / "out").exists()
