"""Gates and synthesis: what falls and why, tests made in the sandbox, resuming, the road through a real endpoint."""

import importlib
import json
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs import load
from helpers.tasks import gates, synthesis
from helpers.tasks.scripted_writer import FAULTY, GOOD, KNOWN, NUMBERS, SCRIPT, ScriptedWriter, _problem


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
    mutants = gates.mutants_of(source, "a")
    assert len(mutants) == len(set(mutants)) >= 8 and mutants == gates.mutants_of(source, "a")
    assert any("xs[:k]" in m for m in mutants) and any("x > 3" in m or "x > 1" in m for m in mutants)
    for mutant in mutants:
        compile(mutant, "m", "exec")
    assert not (tmp_path / "ran").exists()
    assert gates.mutants_of("def f(:") == gates.mutants_of("(" * 5000) == gates.mutants_of("\0") == []


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


# --- what a model writes ---


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(GOOD[0]),
        "Sure!\n```json\n" + json.dumps(GOOD[0], indent=2) + "\n```\nAnything else?",
        "<think>maybe {\"statement\": 1}</think>\n" + json.dumps(GOOD[0]),
        json.dumps(GOOD[0] | {"comment": "an extra field"}),
        json.dumps(GOOD[0]).replace("\\n", "\n"),  # line feeds inside a string, as models write them
    ],
)  # fmt: skip
def test_a_problem_is_found_in_a_reply(reply):
    problem, fault = synthesis.parse(reply)
    assert problem is not None, fault
    assert problem.entry_point == "solve" and problem.parameters[0].type == "list[int]"


@pytest.mark.parametrize(
    "change, says",
    [
        ({"entry_point": "os.system"}, "entry_point"),
        ({"entry_point": "class"}, "entry_point"),
        ({"statement": "Short."}, "statement"),
        ({"parameters": []}, "parameters"),
        ({"parameters": [NUMBERS, NUMBERS]}, "same name"),
        ({"parameters": [NUMBERS | {"type": "list[set]"}]}, "list[set]"),
        ({"parameters": [NUMBERS | {"type": "list[list[int]"}]}, "list[list[int]"),
        ({"parameters": [NUMBERS | {"low": 5, "high": 1}]}, "smallest"),
        ({"parameters": [NUMBERS | {"max_length": 10**9}]}, "max_length"),
        ({"examples": [{"arguments": [["a"]], "result": 1}]}, "not of the types list[int]"),
        ({"examples": [{"arguments": [[True]], "result": 1}]}, "not of the types list[int]"),
        ({"examples": [{"arguments": [], "result": 1}]}, "not of the types list[int]"),
        ({"solution": None}, "solution"),
    ],
)
def test_what_does_not_fit_the_schema_is_told_by_field(change, says):
    problem, fault = synthesis.parse(json.dumps(GOOD[0] | change))
    assert problem is None and says in fault


@pytest.mark.parametrize(
    "reply",
    ["", "no", "[1, 2]", "{", '{"statement": ' + "[" * 100_000, json.dumps(GOOD[0])[:-20], "{\"a\": NaN}", "<think>{}",
     json.dumps(GOOD[0] | {"statement": "\ud800 and more than twenty characters"}), "{}" * 1000,
     json.dumps(GOOD[0]).replace("2", "1e999")],
)  # fmt: skip
def test_broken_replies_are_faults_and_never_raise(reply):
    problem, fault = synthesis.parse(reply)
    assert problem is None and fault and len(fault) <= 500


def test_halves_of_characters_break_neither_files_nor_prompts(tmp_path):
    broken = json.dumps(GOOD[0] | {"entry_point": "\ud800"}).replace("\\ud800", "\ud800")
    writer = Writer(lambda number, said: broken if said == 0 else numbered(number))
    drafts = synthesis.write(writer, 1, name="m", out=tmp_path / "d.jsonl", quiet=True)
    assert drafts[0]["problem"] and drafts[0]["calls"] == 2
    json.dumps(writer.talks, ensure_ascii=False).encode()
    lost = synthesis.write(Writer(lambda *_: broken), 1, name="m", out=tmp_path / "e.jsonl", quiet=True)
    assert synthesis.write(None, 1, name="m", out=tmp_path / "e.jsonl", quiet=True) == lost


# --- inputs ---

KINDS = st.sampled_from(
    [
        "int",
        "float",
        "bool",
        "str",
        "list[int]",
        "list[str]",
        "list[list[int]]",
        "dict[str,int]",
        "dict[str,list[float]]",
    ]
)


@settings(max_examples=120, deadline=None)
@given(KINDS, st.integers(-50, 50), st.integers(0, 60), st.integers(0, 6), st.integers(0, 6), st.integers(0, 10**6))
def test_inputs_have_the_types_and_keep_the_bounds(kind, low, span, shortest, more, seed):
    p = synthesis.Parameter(name="x", type=kind, low=low, high=low + span, min_length=shortest,
                            max_length=shortest + more, alphabet="abc")  # fmt: skip
    rng = Random(seed)
    values = [synthesis._draw(p, rng) for _ in range(5)]
    values += synthesis._edges(p, rng) + [synthesis._changed(value, p, rng) for value in values]
    for value in values:
        assert synthesis._fits(value, kind), value
        if isinstance(value, list | str):
            assert shortest <= len(value) <= shortest + more
        flat = [value]
        while flat:
            item = flat.pop()
            flat += item if isinstance(item, list) else item.values() if isinstance(item, dict) else ()
            if isinstance(item, int | float) and not isinstance(item, bool):
                assert low <= item <= low + span
            if isinstance(item, str):
                assert set(item) <= set("abc")


def test_the_same_problem_has_the_same_inputs_with_boundaries_and_no_repeats():
    problem = synthesis.Problem.model_validate(GOOD[0])
    made = synthesis.inputs(problem)
    assert made == synthesis.inputs(problem) and [[]] in made and [[-9]] in made and [[20]] in made
    assert len({repr(arguments) for arguments in made}) == len(made) > 20


# --- asking ---


class Writer:
    """Answers by a function of (request number, attempt), and counts; a request is known by its prompt."""

    def __init__(self, reply, stop_after=None):
        self.reply, self.stop_after, self.calls, self.talks, self.known = reply, stop_after, 0, [], {}

    def generate(self, conversations, tools=None, **sampling):
        if self.stop_after is not None and self.calls >= self.stop_after:
            raise KeyboardInterrupt
        self.talks += [list(talk) for talk in conversations]
        made = []
        for talk in conversations:
            self.calls += 1
            number = self.known.setdefault(talk[1]["content"], len(self.known))
            said = sum(m["role"] == "assistant" for m in talk)
            usage = {"input_tokens": 100, "output_tokens": 10, "cost_usd": 0.5, "seconds": 1.0}
            made.append({"role": "assistant", "content": self.reply(number, said), "finish_reason": "stop",
                         "usage": usage})  # fmt: skip
        return made


def numbered(number, said=0):
    return json.dumps(GOOD[0] | {"statement": GOOD[0]["statement"] + f" Variant {number}."})


def test_a_reply_that_does_not_fit_is_asked_again_with_the_fault():
    writer = Writer(lambda number, said: "no idea" if said < 2 else numbered(number))
    drafts = synthesis.write(writer, 1, name="m", quiet=True)
    assert drafts[0]["problem"] and drafts[0]["calls"] == 3 and not drafts[0]["fault"]
    assert [m["role"] for m in writer.talks[-1]] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "there is no JSON object in it" in writer.talks[-1][-1]["content"]
    lost = synthesis.write(Writer(lambda *_: "no idea"), 2, name="m", retries=1, quiet=True)
    assert [(d["problem"], d["calls"]) for d in lost] == [(None, 2)] * 2


def test_the_cost_counts_every_attempt_and_is_shown(capsys):
    writer = Writer(lambda number, said: "no" if number == 0 and said == 0 else numbered(number))
    drafts = synthesis.write(writer, 3, name="gpt")
    spent = {"calls": 4, "retries": 1, "input_tokens": 400, "output_tokens": 40, "cost_usd": 2.0}
    assert synthesis.cost(drafts) == spent
    assert "gpt: 4 calls, 1 of them retries, 400 tokens read, 40 written, $2.0000" in capsys.readouterr().out
    assert "tokens not reported" in synthesis.cost_line(synthesis.write(ScriptedWriter(), 2, name="s", quiet=True))


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    out = tmp_path / "deep" / "drafts.jsonl"
    with pytest.raises(KeyboardInterrupt):
        synthesis.write(Writer(numbered, stop_after=4), 10, name="m", at_once=2, out=out, quiet=True)
    with out.open("a") as file:
        file.write('{"request": 4, "prob')  # killed while it wrote
    writer = Writer(numbered)
    drafts = synthesis.write(writer, 10, name="m", at_once=2, out=out, quiet=True)
    assert writer.calls == 6 and [d["request"] for d in drafts] == list(range(10))
    more = Writer(numbered)
    assert len(synthesis.write(more, 12, name="m", out=out, quiet=True)) == 12 and more.calls == 2
    assert [json.loads(line)["request"] for line in out.read_text().splitlines()] == list(range(12))


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"name": "n"}, {"temperature": 0.5}, {"max_tokens": 9}, {"topics": ("x",)}]
)
def test_drafts_of_other_settings_are_never_mixed(other, tmp_path):
    out = tmp_path / "drafts.jsonl"
    synthesis.write(Writer(numbered), 2, name="m", out=out, quiet=True)
    with pytest.raises(ValueError, match="give another file"):
        synthesis.write(Writer(numbered), 2, **{"name": "m", "out": out, "quiet": True} | other)


def test_a_refused_request_takes_no_others_along_and_a_wrong_key_stops_the_run():
    class Fault(RuntimeError):
        def __init__(self, kind):
            super().__init__(f"model 'm': {kind}")
            self.kind = kind

    class Refusing(Writer):
        def generate(self, conversations, tools=None, **sampling):
            if any(self.refused in talk[1]["content"] for talk in conversations):
                raise Fault(self.kind)
            return super().generate(conversations, tools, **sampling)

    writer = Refusing(numbered)
    writer.refused, writer.kind = "grids", "http 400"
    drafts = synthesis.write(writer, 6, name="m", topics=("grids", "intervals"), quiet=True)
    assert {d["topic"] for d in drafts if d["problem"]} == {"intervals"}
    assert {d["fault"] for d in drafts if not d["problem"]} == {"model 'm': http 400"}
    writer.kind = "http 401"
    with pytest.raises(Fault, match="401"):
        synthesis.write(writer, 6, name="m", topics=("grids", "intervals"), quiet=True)


def test_an_unknown_engine_and_a_missing_one_are_named(monkeypatch):
    with pytest.raises(ValueError, match="engine must be None or 'data-designer', got 'magic'"):
        synthesis.write(Writer(numbered), 1, name="m", engine="magic")
    with pytest.raises(ValueError, match="give an EndpointPolicy"):
        synthesis.write(Writer(numbered), 1, name="m", engine="data-designer", quiet=True)
    endpoint = Writer(numbered)
    endpoint.base_url = "http://localhost:1/v1"
    monkeypatch.setitem(sys.modules, "data_designer", None)
    monkeypatch.setitem(sys.modules, "data_designer.config", None)
    with pytest.raises(ModuleNotFoundError, match="pip install data-designer"):
        synthesis.write(endpoint, 1, name="m", engine="data-designer", quiet=True)


# --- making tests, in the sandbox ---


def _sandbox() -> bool:
    try:
        importlib.import_module("envs.code_sandbox")
    except ModuleNotFoundError:
        return False
    return True


needs_sandbox = pytest.mark.skipif(not _sandbox(), reason="envs/code_sandbox is not there")


def draft(problem, request=0):
    return {
        "request": request,
        "topic": "lists",
        "level": "easy",
        "problem": problem,
        "fault": "",
        "calls": 1,
        "usage": {},
    }


def fate(problem):
    made, fell = synthesis.build([draft(problem)], quiet=True)
    return (fell[0]["gate"], fell[0]["reason"]) if fell else ("row", made[0])


@pytest.fixture(scope="module")
def road(tmp_path_factory):
    """The scripted writer's problems through the whole road, once."""
    code = pytest.importorskip("envs.code_env")
    out = tmp_path_factory.mktemp("road")
    drafts = synthesis.write(ScriptedWriter(), len(SCRIPT), name="scripted", quiet=True)
    made, fell = synthesis.build(drafts, out=out / "built.jsonl", quiet=True)
    return code, out, drafts, made, gates.sift(code, made, fallen=fell, benchmark=[KNOWN])


def test_every_scripted_fault_falls_at_its_gate_and_every_good_problem_stays(road):
    *_, sifted = road
    fallen = {gate: len(entries) for gate, entries in sifted.by_gate().items()}
    assert fallen == dict.fromkeys(FAULTY, 1) | {"unusable reply": 1}
    assert len(sifted.kept) == len(GOOD) and sifted.table["made"] == len(SCRIPT)


def test_rows_of_written_problems_are_rows_of_the_code_environment(road):
    code, *_, sifted = road
    for one in sifted.kept:
        task = json.loads(one["task"])
        assert set(one) == {"prompt", "environment", "task_id", "task"} and one["environment"] == "code"
        assert synthesis.FEWEST <= len(task["tests"]) <= synthesis.TESTS
        assert not {t["args"] for t in task["tests"]} & {t["args"] for t in task["examples"]}
        assert code.score(f"```python\n{task['solution']}\n```", one).reward == 1.0
        assert code.score(code.answer(one), one).reward == 1.0
        hidden = {t["args"] for t in task["tests"]}
        assert not any(f"{task['entry_point']}({args[1:-1]}) ==" in gates.asked(one) for args in hidden)


def test_the_same_drafts_give_the_same_rows_and_a_second_call_runs_nothing(road, monkeypatch):
    _, out, drafts, made, _ = road
    assert synthesis.build(drafts[:3], quiet=True)[0] == made[:3]
    monkeypatch.setattr(synthesis, "_tests", lambda *_: pytest.fail("ran again"))
    assert synthesis.build(drafts, out=out / "built.jsonl", quiet=True)[0] == made


LIST = [NUMBERS]


@needs_sandbox
@pytest.mark.parametrize(
    "solution, more, gate, says",
    [
        ("def solve(xs):\n    return sum(xs", {}, "does not run", "syntax error"),
        ("def other(xs):\n    return sum(xs)", {}, "does not run", "no function"),
        ("def solve(xs):\n    return xs[0]", {}, "wrong example", "returns 1, not 3"),
        ("def solve(xs):\n    while True:\n        pass", {}, "does not run", "time limit"),
        ("import os\ndef solve(xs):\n    os._exit(0)", {}, "does not run", "exited"),
        ("def solve(xs):\n    return sum(xs) if len(xs) == 2 else 1 // 0", {}, "does not run", "inputs: exception"),
        ("import time\ndef solve(xs):\n    return sum(xs) if xs == [1, 2] else time.time_ns()", {}, "flaky", "then"),
        ("def solve(xs):\n    return 3 if xs == [1, 2] else hash(str(xs))", {}, "flaky", "then"),
        ("def solve(xs):\n    return (sum(xs),)", {}, "result not plain", "tuple"),
        ("def solve(xs):\n    raise ValueError(chr(0xd800))", {}, "does not run", "ValueError"),
        ("def solve(xs):\n    return sum(xs)", {"precondition": "len(xs) > 5"}, "wrong example", "breaks"),
        ("def solve(xs):\n    return sum(xs)", {"precondition": "len(xs"}, "does not run", "precondition"),
        ("def solve(xs):\n    return sum(xs)", {"precondition": "xs == [1, 2]"}, "too few tests", "only 0"),
        ("def solve(xs):\n    return sum(xs)", {"precondition": "len(xs) > 1"}, "row", ""),
    ],
)
def test_what_is_wrong_with_a_solution_is_told(solution, more, gate, says):
    found, why = fate(
        _problem("Return the sum of the list xs, whatever it holds.", LIST, [([[1, 2]], 3)], solution, **more)
    )
    assert found == gate and (gate == "row" or says in why), why


@needs_sandbox
def test_a_precondition_keeps_inputs_out_of_the_tests():
    problem = _problem("Return how often the sum of xs fits into k, rounded down to a whole number.",
                       [{"name": "k", "type": "int", "low": -5, "high": 50}, NUMBERS], [([9, [1, 2]], 3)],
                       "def solve(k, xs):\n    return k // sum(xs)", precondition="k > 0 and sum(xs) > 0")  # fmt: skip
    kind, made = fate(problem)
    assert kind == "row"
    for test in json.loads(made["task"])["tests"]:
        k, xs = json.loads(test["args"])
        assert k > 0 and sum(xs) > 0 and json.loads(test["expected"]) == k // sum(xs)


@needs_sandbox
def test_results_with_fractions_are_compared_with_a_tolerance():
    kinds = {}
    for result, solution in ((1.5, "sum(xs) / 2"), (1, "sum(xs) // 2")):
        made = fate(_problem("Return half of the sum of the list.", LIST, [([[1, 2]], result)],
                             f"def solve(xs):\n    return {solution}"))[1]  # fmt: skip
        kinds[type(result)] = json.loads(made["task"])["comparison"]
    assert kinds == {float: "approx", int: "eq"}


@needs_sandbox
@pytest.mark.parametrize("place", ["solution", "precondition", "statement"])
def test_nothing_that_a_model_wrote_runs_out_here(place, tmp_path):
    canary = tmp_path / "canary"
    harm = f"__import__('pathlib').Path({str(canary)!r}).write_text('x')"
    problem = _problem(
        "Return the sum of the list of numbers.", LIST, [([[1, 2]], 3)], "def solve(xs):\n    return sum(xs)"
    )
    problem |= {
        "solution": {"solution": f"{harm}\ndef solve(xs):\n    return sum(xs)"},
        "precondition": {"precondition": f"{harm} or True"},
        "statement": {"statement": "{" + harm + "} %s {0} return the sum"},
    }[place]
    fate(problem)
    assert not canary.exists()


@needs_sandbox
def test_a_killed_build_goes_on_where_it_stopped(tmp_path, monkeypatch):
    out, real, ran = tmp_path / "built.jsonl", synthesis._built, []

    def counted(one, first, second):
        ran.append(one["request"])
        if len(ran) == 3 and not out.exists():
            raise KeyboardInterrupt
        return real(one, first, second)

    monkeypatch.setattr(synthesis, "_built", counted)
    drafts = [draft(GOOD[0] | {"statement": GOOD[0]["statement"] + f" Variant {i}."}, i) for i in range(4)]
    synthesis.build(drafts[:2], out=out, quiet=True)
    made, _ = synthesis.build(drafts, out=out, quiet=True)
    assert ran == [0, 1, 2, 3] and len(made) == 4 and len(out.read_text().splitlines()) == 4


@needs_sandbox
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


@needs_sandbox
@pytest.mark.parametrize("kind", ["function", "program", "class"])
def test_generated_programming_tasks_pass_the_same_gates(kind):
    code = pytest.importorskip("envs.code_env")
    result = gates.sift(code, code.make_rows(4, difficulty="medium", kind=kind))
    assert result.table["made"] == 4
    assert all(result.table[gate] == 0 for gate in ("gold fails", "flaky", "trivial")), result.fallen


# --- through a real endpoint ---


class Served:
    """An OpenAI-compatible server in a thread, with Chat Completions only, that a policy answers for."""

    def __init__(self, policy, faults=()):
        self.seen, faults = [], list(faults)
        outer, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with lock:
                    outer.seen.append((self.path, self.headers.get("authorization"), body))
                    if not self.path.endswith("/chat/completions"):
                        return self.reply(404, {"error": "not here"})
                    if faults:
                        return self.reply(faults.pop(0), {"error": "busy"})
                    said = policy.generate([[m | {"content": _text(m)} for m in body["messages"]]])[0]["content"]
                message = {"role": "assistant", "content": said}
                usage = {"prompt_tokens": 300, "completion_tokens": 200, "total_tokens": 500}
                choice = {"index": 0, "finish_reason": "stop", "message": message}
                return self.reply(200, {"id": "c", "object": "chat.completion", "model": "m", "created": 0,
                                        "choices": [choice], "usage": usage})  # fmt: skip

            def reply(self, status, body):
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def _text(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


KEY = "sk-not-to-be-seen-anywhere"


@needs_sandbox
def test_from_an_endpoint_to_an_exported_data_set(tmp_path):
    endpoints = pytest.importorskip("helpers.rollout.endpoints")
    code = pytest.importorskip("envs.code_env")
    from datasets import load_from_disk

    with Served(ScriptedWriter(), faults=[503, 429]) as server:
        policy = endpoints.EndpointPolicy("m", server.url, api_key=KEY, price={"input": 1.0, "output": 2.0}, at_once=1,
                                          backoff_s=0.01)  # fmt: skip
        drafts = synthesis.write(policy, len(SCRIPT), name="m", out=tmp_path / "drafts.jsonl", quiet=True)
    spent = synthesis.cost(drafts)
    assert spent["calls"] == len(SCRIPT) + 1 + 2 and spent["retries"] == 3  # one mended, one lost after two retries
    assert spent["input_tokens"] == 300 * spent["calls"] and spent["cost_usd"] == pytest.approx(7e-4 * spent["calls"])
    made, fell = synthesis.build(drafts, out=tmp_path / "built.jsonl", quiet=True)
    sifted = gates.sift(code, made, fallen=fell, benchmark=[KNOWN])
    assert sifted.table["kept"] == len(GOOD) and sifted.table["made"] == len(SCRIPT)
    folder = gates.export({"train": sifted.kept}, tmp_path / "out", title="Written", table=gates.yields({"m": sifted}))
    back = load_from_disk(str(folder / "dataset"))["train"].to_list()
    assert back == sifted.kept and code.score(code.answer(back[0]), back[0]).reward == 1.0
    assert {key for _, key, _ in server.seen} == {f"Bearer {KEY}"}
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_the_same_call_through_data_designer(tmp_path):
    pytest.importorskip("data_designer")
    endpoints = pytest.importorskip("helpers.rollout.endpoints")
    with Served(ScriptedWriter()) as server:
        policy = endpoints.EndpointPolicy("m", server.url, api_key=KEY, at_once=1)
        drafts = synthesis.write(
            policy, len(SCRIPT), name="m", engine="data-designer", out=tmp_path / "d.jsonl", quiet=True
        )
        again = synthesis.write(
            policy, len(SCRIPT), name="m", engine="data-designer", out=tmp_path / "d.jsonl", quiet=True
        )
    assert again == drafts and [d["request"] for d in drafts] == list(range(len(SCRIPT)))
    usable = [d for d in drafts if d["problem"]]
    assert len(usable) >= len(SCRIPT) - 2
    assert all(synthesis.Problem.model_validate(d["problem"]) for d in usable)
    assert all(key == f"Bearer {KEY}" for _, key, _ in server.seen)
    assert KEY not in (tmp_path / "d.jsonl").read_text()
