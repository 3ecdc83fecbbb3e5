"""Exercises: an untouched one says so, a right answer passes with its reason, a wrong one gets a hint, and none of them
tells the solution."""

import ast
import inspect
import json

import pytest

from envs import NAMES, load
from helpers.episodes import estimates, training_rows
from helpers.episodes.record import kind_of
from helpers.here import ROOT
from helpers.measure import contract, evaluation
from helpers.rollout import rollouts
from helpers.rollout.policies import OraclePolicy, RandomPolicy
from helpers.run import exercises, results
from helpers.tasks import mixing
from helpers.tasks.scripted_writer import ScriptedWriter
from helpers.tasks.synthesis import build, write

PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
UNTRIED = "1: not tried yet\n2: not tried yet\n3: not tried yet\n"


@pytest.fixture
def said(capsys):
    """What an exercise says of an answer, while the other two are left as they are."""

    def ask(exercise, number, answer, *facts):
        capsys.readouterr()  # what was printed before
        exercise([answer if n == number else None for n in (1, 2, 3)], *facts)
        lines = capsys.readouterr().out.splitlines()
        line = lines.pop(number - 1)
        assert lines == [f"{n}: not tried yet" for n in (1, 2, 3) if n != number]
        return line.removeprefix(f"{number}: ")

    return ask


def result(folder, **fields):
    folder.mkdir(parents=True, exist_ok=True)
    return results.save_result(folder, environment="sudoku", seed=0, **fields)


def change(gain, low, high):
    return {"gain": gain, "ci95": [low, high]}


def mixed(env, rows, samples=8):
    """Episodes of which some are right, more in the earlier tasks."""
    play = rollouts.Sampling(samples=samples)
    wrong = rollouts.rollout(env, rows, RandomPolicy(env, rows, 0), play, name="random", quiet=True)
    right = rollouts.rollout(env, rows, OraclePolicy(env, rows), play, name="oracle", quiet=True)
    place = {row["task_id"]: n for n, row in enumerate(rows)}
    pick = {(e["task_id"], e["sample"]): e for e in right if e["sample"] >= place[e["task_id"]]}
    return [pick.get((e["task_id"], e["sample"]), e) for e in wrong]


@pytest.fixture(scope="module")
def sudoku():
    env = load("sudoku")
    rows = env.make_rows(12, split="test")
    return env, rows, mixed(env, rows)


# --- in the notebooks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_notebook_ends_with_exercises_that_nobody_has_tried(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    cell, where = [c for c in cells if c["cell_type"] == "code"][-1], "".join(cells[-1]["source"])
    assert where.startswith("**Where next:** ") and cells[-2] is cell
    told = "".join(cells[-3]["source"])
    assert "## Exercises\n" in told and [f"\n{n}. *" in told for n in (1, 2, 3, 4)] == [True, True, True, False]
    code = "".join(cell["source"])
    assert [f"answer_{n} = None  # " in code for n in (1, 2, 3)] == [True] * 3
    assert "".join(text for output in cell["outputs"] for text in output["text"]).endswith(UNTRIED)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_notebook_gives_its_exercises_the_facts_that_they_ask_for(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = "".join([c for c in cells if c["cell_type"] == "code"][-1]["source"])
    (call,) = [
        node for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("exercises.")
    ]  # fmt: skip
    exercise = getattr(exercises, call.func.attr)
    assert f"Exercises of notebook {path.stem[:2]}." in exercise.__doc__
    assert len(call.args) == len(inspect.signature(exercise).parameters) and not call.keywords


def test_an_answer_of_a_wrong_kind_gets_a_hint_and_stops_nothing(capsys):
    def fussy(answer):
        return answer["a"]

    exercises.check([None, 3, 4, {"a": "b"}], [fussy, fussy, str, fussy])
    assert capsys.readouterr().out.splitlines() == [
        "1: not tried yet",
        "2: not yet: 3 raised TypeError: 'int' object is not subscriptable",
        "3: right: 4",
        "4: right: b",
    ]


# --- other runs ------------------------------------------------------------------------------------------


def test_a_run_that_is_missing_the_same_or_changed_elsewhere_too_is_told(said, tmp_path):
    here = result(tmp_path / "here", difficulty="easy", steps=80, change=change(0.2, 0.1, 0.3))
    facts = (load("sudoku"), {}, [], here)
    ask = lambda answer: said(exercises.quickstart, 3, answer, *facts)  # noqa: E731
    assert "this run" in ask((str(tmp_path / "here"), "gained"))
    assert "run it with out_dir=" in ask((str(tmp_path / "nowhere"), "gained"))
    assert "give a pair" in ask(str(tmp_path / "here"))
    assert "one of gained, lost, not shown" in ask((str(tmp_path / "here"), "more"))
    result(tmp_path / "hard", difficulty="hard", steps=20, change=change(0.1, 0.0, 0.2))
    assert "difficulty was 'easy' here and 'hard' there" in ask((str(tmp_path / "hard"), "gained"))


# --- 00 to 04 --------------------------------------------------------------------------------------------


FORMS = {"sudoku": lambda gold: gold.replace(" ", ""), "math": lambda gold: "It is " + gold[gold.index("\\boxed") :]}


@pytest.mark.parametrize("name", FORMS)
def test_quickstart_pays_another_form_and_not_the_gold_text(name, said, tmp_path):
    env = load(name)
    row = env.make_rows(1)[0]
    ask = lambda text: said(exercises.quickstart, 1, text, env, row, [], tmp_path)  # noqa: E731
    assert ask(FORMS[name](env.answer(row))).startswith("right: the grader reads the outcome")
    assert "word for word" in ask("Here:\n" + env.answer(row))
    assert ask("no idea").startswith("not yet: it earns 0.0: ") and env.answer(row) not in ask("no idea")


def test_quickstart_counts_dead_groups_and_compares_a_shorter_run(sudoku, said, tmp_path):
    env, rows, episodes = sudoku
    here = result(tmp_path / "here", difficulty="easy", steps=80, change=change(0.2, 0.1, 0.3))
    facts = (env, rows[0], episodes, here)
    groups = estimates.groups(episodes).values()
    dead = sum(len(set(group)) == 1 for group in groups) / len(groups)
    assert 0 < dead < 1
    assert said(exercises.quickstart, 2, dead, *facts).startswith("right")
    assert said(exercises.quickstart, 2, 1 - dead, *facts).startswith("not yet: a group is dead")
    assert "give a number, got 'half'" in said(exercises.quickstart, 2, "half", *facts)
    result(tmp_path / "short", difficulty="easy", steps=20, change=change(0.05, -0.01, 0.1))
    result(tmp_path / "long", difficulty="easy", steps=40, change=change(0.1, 0.05, 0.2))
    assert said(exercises.quickstart, 3, (tmp_path / "short", "not shown"), *facts).startswith(
        "right: 20 steps gain +0.05"
    )
    assert "you said gained, but 20 steps" in said(exercises.quickstart, 3, (tmp_path / "short", "gained"), *facts)
    assert "at most a quarter of 80" in said(exercises.quickstart, 3, (tmp_path / "long", "gained"), *facts)


def test_benchmark(sudoku, said):
    episodes = sudoku[2]
    ask = lambda n, answer: said(exercises.benchmark, n, answer, episodes)  # noqa: E731
    assert ask(1, 1 - (6 * 5 * 4 * 3) / (8 * 7 * 6 * 5)).startswith("right")
    assert ask(1, 1 - 0.75**4).startswith("not yet: draw 4 of the 8")
    worst = evaluation.failures(episodes)[0]["kind"]
    fine = [e["reward"] == 1 or kind_of(e) == worst for e in episodes]
    assert ask(2, sum(fine) / len(fine)).startswith(f"right: '{worst}' is all")
    assert ask(2, 0.0).startswith("not yet: each answer")
    assert ask(3, 4).startswith("right: 48 tasks instead of 12") and "of the width" in ask(3, 2)


def test_reward_profile(sudoku, said, tmp_path):
    env, rows, _ = sudoku
    mine = {
        "verdict": "recalibrate",
        "reasons": ["why"],
        "policies": {"model": {"pass_at_1": 0.2, "samples": 8, "dead_groups": 0.4}},
    }
    here = result(tmp_path / "here", profile=mine)
    ask = lambda n, answer: said(exercises.reward_profile, n, answer, env, rows, mine, here)  # noqa: E731
    assert ask(1, ["spray of answers", "gold inside reasoning", "unclosed reasoning"]).startswith("right")
    assert ask(1, "spray of answers").startswith("not yet: in which kinds")
    assert "there is no 'prayer'; there are empty, echo" in ask(1, ["prayer"])
    assert ask(2, 0.2**8 + 0.8**8).startswith("right: 0.400 were measured") and ask(2, 0.5).startswith("not yet: all 8")
    result(tmp_path / "more", profile=mine | {"verdict": "go", "reasons": ["so"]})
    result(tmp_path / "same", profile=mine)
    assert ask(3, tmp_path / "more") == "right: go there: so"
    assert ask(3, tmp_path / "same") == "not yet: it says recalibrate as well: why"


@pytest.mark.parametrize("name", NAMES)
def test_a_lenient_grader_pays_what_holds_the_answer_in_every_environment(name, said, tmp_path):
    env = load(name)
    rows = env.make_rows(24, split="validation")
    facts = (env, rows, {"policies": {}}, tmp_path)
    kinds = ["unclosed reasoning", "spray of answers", "gold inside reasoning"]
    assert said(exercises.reward_profile, 1, kinds, *facts).startswith("right")


def test_task_generation(said):
    code = load("code")
    written, _ = build(write(ScriptedWriter(), 3, name="scripted", seed=0))
    row = load("math").make_rows(1)[0]
    prompt = row["prompt"][-1]["content"]
    facts = (row, code, written, [[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    ask = lambda n, answer, facts=facts: said(exercises.task_generation, n, answer, *facts)  # noqa: E731
    assert ask(1, prompt + " Please.").startswith("right: it falls")
    assert ask(1, prompt.upper()).startswith("not yet: that falls at the gate before")
    assert ask(1, "What is two and two?").startswith("not yet: it stays")
    task = json.loads(written[0]["task"])
    first = task["tests"][0]
    wrong = f"def {task['entry_point']}(*a):\n    return {first['expected']}"
    assert ask(2, wrong).startswith("right: a single test would have paid it")
    assert ask(2, code.answer(written[0])).startswith("not yet: it earns 1.0")
    assert ask(2, f"def {task['entry_point']}(*a):\n    return 'no'").startswith("not yet: no test lets it through")
    assert ask(2, wrong, (row, code, [], [])) == "not yet: no problem was written in this run"
    assert ask(3, 0.5).startswith("right: 50.0% of 4 tasks") and ask(3, 0.75).startswith("not yet: count")


def test_sft_warmup(sudoku, said, tmp_path):
    env, _, episodes = sudoku

    def run(name, method, steps, gain, at_k):
        made = {
            "difficulty": "easy",
            "method": method,
            "steps": steps,
            "change": change(gain, gain - 0.04, gain + 0.04),
        }
        return result(tmp_path / name, **made, summaries={f"after {method}": {"pass_at_k": at_k}})

    here = run("here", "demonstrations", 12, 0.2, {"1": 0.3, "4": 0.6})
    run("own", "rejection", 12, 0.1, {"1": 0.2, "4": 0.5})
    run("near", "dpo", 12, 0.25, {"1": 0.2, "4": 0.5})
    run("long", "demonstrations", 60, 0.4, {"1": 0.6, "4": 0.7})
    ask = lambda n, answer: said(exercises.sft_warmup, n, answer, env, episodes, here)  # noqa: E731
    pairs = sum(len(set(group)) > 1 for group in estimates.groups(episodes).values())
    assert pairs == len(training_rows.dpo_rows(episodes, env)) > 1
    assert ask(1, pairs).startswith("right") and ask(1, pairs - 1).startswith("not yet: a pair needs")
    assert ask(2, (tmp_path / "own", "lower")).startswith("right: demonstrations gains +0.200 (+0.160 to")
    assert ask(2, (tmp_path / "own", "higher")).startswith("not yet: you said higher, but")
    assert ask(2, (tmp_path / "near", "not shown")).startswith("right: ")
    assert ask(2, (tmp_path / "near", "higher")).startswith("not yet: you said higher")
    assert "the same method" in ask(2, (tmp_path / "long", "higher"))
    assert ask(3, (tmp_path / "long", "lower")).startswith("right: 12 steps lead to pass@1 0.300, the gap is 0.300; 60")
    assert ask(3, (tmp_path / "long", "same")).startswith("not yet: you said same")


# --- 05 to 07 --------------------------------------------------------------------------------------------


def test_grpo(said, tmp_path):
    shape = {"difficulty": "easy", "start": "tiny"}
    here = result(tmp_path / "here", **shape, prompts_per_step=8, group_size=8, dead_groups=0.4)
    result(tmp_path / "small", **shape, prompts_per_step=16, group_size=4, dead_groups=0.6)
    result(tmp_path / "other", **shape, prompts_per_step=8, group_size=4, dead_groups=0.6)
    history = [{"dead_groups": share} for share in (0.2, 0.4, 0.6)]
    ask = lambda n, answer: said(exercises.grpo, n, answer, 8, history, here)  # noqa: E731
    assert ask(1, 7).startswith("right") and ask(1, 8).startswith("not yet: what is each reward less")
    assert ask(2, 0.4).startswith("right") and ask(2, 0.6).startswith("not yet: the mean over all steps")
    assert ask(3, (tmp_path / "small", "higher")).startswith("right: 0.400 of the groups of 8")
    assert ask(3, (tmp_path / "small", "lower")).startswith("not yet: you said lower")
    assert "are 8 x 8 here and 8 x 4 there" in ask(3, (tmp_path / "other", "higher"))


def test_validate(said, tmp_path):
    env = load("sudoku")
    rows = env.make_rows(20, split="test")
    play = rollouts.Sampling(samples=2)
    low = rollouts.rollout(env, rows, RandomPolicy(env, rows, 0), play, name="low", quiet=True)
    high = rollouts.rollout(env, rows, OraclePolicy(env, rows), play, name="high", quiet=True)
    pairs = {"sudoku easy": (low, high), "sudoku medium": (low, low)}
    moved = [{"tasks": "sudoku easy", "moved": "gained"}, {"tasks": "sudoku medium", "moved": "not shown"}]
    here = result(tmp_path / "here", changes=moved)
    file = {"tasks": "math gsm8k.jsonl", "moved": "not shown", "gain": 0.01, "interval": "-0.1 to +0.1"}
    result(tmp_path / "file", changes=[*moved, file])
    result(tmp_path / "none", changes=moved)
    ask = lambda n, answer: said(exercises.validate, n, answer, pairs, here)  # noqa: E731
    assert ask(1, 0.1).startswith("right") and ask(1, 2).startswith("not yet: each of 2 intervals")
    assert ask(2, ["sudoku easy"]).startswith("right: with all tasks it was sudoku easy")
    assert ask(2, []).startswith("not yet: evaluation.compare") and "there is no 'math'" in ask(2, ["math"])
    assert ask(3, (tmp_path / "file", "not shown")).startswith("right: math gsm8k.jsonl: +0.010")
    assert ask(3, (tmp_path / "file", "gained")).startswith("not yet: you said gained")
    assert "no benchmark file" in ask(3, (tmp_path / "none", "gained"))


def test_multi_environment(said, tmp_path):
    names = ("sudoku", "math", "code")
    envs = {name: load(name) for name in names}
    rows = [envs[name].make_rows(1)[0] for name in names]
    columns = {key: [row[key] for row in rows] for key in ("environment", "task", "task_id")}
    reward = mixing.dispatch(envs, 1)
    balance = [{"name": name, "live": live} for name, live in zip(names, (0.8, 0.4, 0.2))]

    def run(name, asked, gains):
        parts = [part | {"asked": share} for part, share in zip(balance, asked)]
        moved = {name: change(gain, gain - 0.02, gain + 0.02) for name, gain in zip(names, gains)}
        return result(tmp_path / name, environments=list(names), levels={}, balance=parts, changes=moved)

    here = run("here", (1 / 3, 1 / 3, 1 / 3), (0.1, 0.1, 0.0))
    run("more", (0.25, 0.25, 0.5), (0.1, 0.05, 0.05))
    run("less", (0.5, 0.25, 0.25), (0.1, 0.05, 0.05))
    ask = lambda n, answer: said(exercises.multi_environment, n, answer, balance, reward, columns, here)  # noqa: E731
    gold = envs["code"].answer(rows[2])
    assert ask(1, ["", "no idea", gold]).startswith("right")
    assert ask(1, [gold] * 3).startswith("right") and "they earn [0.0, 0.0, 0.0]" in ask(1, ["", "", ""])
    assert "give 3 completions, for sudoku, math, code" in ask(1, [gold])
    assert ask(2, "1,2,4").startswith("right: live groups would come from sudoku 33%")
    assert ask(2, "1,1,1").startswith("not yet: live groups would come from sudoku 57%")
    assert "has 2 numbers for 3 environments" in ask(2, "1,2")
    assert ask(3, (tmp_path / "more", "higher")).startswith("right: sudoku gains +0.100 (+0.080 to")
    assert ask(3, (tmp_path / "more", "lower")).startswith("not yet: you said lower")
    assert "code has the most dead groups here" in ask(3, (tmp_path / "less", "higher"))


# --- 08 to 10 --------------------------------------------------------------------------------------------


def calling(name, **arguments):
    call = {"type": "function", "id": "more", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def test_workplace_agent(said, tmp_path):
    env = load("workplace")
    row = env.make_rows(1, domain=("email", "calendar"), difficulty="easy")[0]
    here = results.save_result(tmp_path, environment="workplace", seed=0, difficulty="starter", failures=[])
    (tmp_path / "easy").mkdir()
    kinds = [{"kind": "missing write", "share": 0.5}, {"kind": "wrong value", "share": 0.1}]
    results.save_result(tmp_path / "easy", environment="workplace", seed=0, difficulty="easy", failures=kinds)
    ask = lambda n, answer: said(exercises.workplace_agent, n, answer, env, row, here)  # noqa: E731
    gold = env.answer(row)
    more = calling("email_send_email", recipient="ada.lindqvist@larkfield.example", subject="Hello", body="Hello")
    assert ask(1, [more, *gold]).startswith("right: it earns 0.0: side effect")
    assert ask(1, gold).startswith("not yet: it earns 1.0") and ask(1, []).startswith("not yet: it earns 0.0")
    assert ask(3, (tmp_path / "easy", "missing write")) == (
        "right: on easy tasks it is missing write 50.0%, wrong value 10.0%"
    )
    assert ask(3, (tmp_path / "easy", "wrong value")).startswith("not yet: you said wrong value")
    event, (_, name, *_) = next(iter(env.company()["events"].rows.items()))
    there_and_back = [
        calling("calendar_update_event", event_id=event, field="event_name", new_value=new) for new in ("x", name)
    ]
    assert ask(2, [*there_and_back, *gold]).startswith(
        "right: by the state it earns 1, by the way there 0: side effect"
    )
    assert ask(2, [calling("email_search_emails", query="Ada"), *gold]).startswith("not yet: it earns 1 either way")
    assert ask(2, [more, *gold]).startswith("not yet: by the state it earns 0.0: side effect")


@pytest.fixture(scope="module")
def latin(tmp_path_factory):
    """The environment of notebook 09 as the notebook leaves it: its cells, its mends."""
    file = tmp_path_factory.mktemp("latin") / "latin_env.py"
    cells = [c for c in json.loads(PATHS[9].read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    code = ["".join(cell["source"]) for cell in cells]
    parts = [text for text in code if text.startswith("results.save_cell(")]
    assert len(parts) == 3
    file.write_text("\n\n".join(text.partition("\n")[2] for text in parts), encoding="utf-8")
    names = {"file": file, "check": lambda path: None}
    mend = next(text for text in code if "def mend(" in text)
    exec(mend[mend.index("def mend(") : mend.index("row = ")], names)
    exec(next(text for text in code if text.startswith("mends = ")), names)
    last = next(text for text in code if text.startswith("def stressed("))
    exec(last[last.index("mend({") : last.index("env = contract")], names)
    return file


def test_own_environment(latin, said, tmp_path):
    text = latin.read_text(encoding="utf-8")
    rows = contract.load_file(latin).make_rows(20)
    ask = lambda n, answer: said(exercises.own_environment, n, answer, rows)  # noqa: E731

    def variant(name, changes):
        changed = text
        for old, new in changes.items():
            assert old in changed, old
            changed = changed.replace(old, new)
        (tmp_path / name).write_text(changed, encoding="utf-8")
        return tmp_path / name

    assert "there is no file" in ask(1, tmp_path / "nothing.py")
    assert "unexpected keyword argument 'size'" in ask(1, latin)
    assert ask(1, variant("five_env.py", FIVE)).startswith("right: 100 rows in")
    slow = FIVE | {"    while len(made) < n:": "    import time\n    time.sleep(1.1)\n    while len(made) < n:"}
    assert "draw a square, do not list" in ask(1, variant("slow_env.py", slow))
    assert ask(2, latin) == "not yet: an answer with one wrong cell earns 0.0"
    assert ask(2, variant("part_env.py", PART)).startswith("right: one wrong cell earns 0.")
    assert ask(2, variant("echo_env.py", ECHO)).startswith("not yet: echo_env: no_credit: the prompt scores")
    assert ask(3, latin) == "not yet: its rows say 'latin': take another task, and another name"
    assert ask(3, ROOT / "envs" / "sudoku_env.py").startswith("right: the contract holds")
    assert ask(3, variant("sloppy_env.py", SLOPPY)).startswith("not yet: answers of the kind 'spray of answers' earn")


# What a reader might change in the file of notebook 09: {what stood there: what stands there now}.
FIVE = {
    "this 4x4 Latin square so that every row and column holds 1 to 4.": "this Latin square, no digit twice in a line.",
    """SQUARES = [()]
for _ in range(4):
    SQUARES = [(*above, row) for above in SQUARES for row in permutations("1234")
               if not any(a == b for other in above for a, b in zip(other, row))]
SQUARES = ["\\n".join(map(" ".join, square)) for square in SQUARES]
""": """

def drawn(rng, size):
    rows, columns, digits = (rng.sample(range(size), size) for _ in range(3))
    return "\\n".join(" ".join(str(digits[(r + c) % size] + 1) for c in columns) for r in rows)
""",
    'split="train", difficulty="easy"):': 'split="train", difficulty="easy", size=4):',
    """    rng, pool, made = random.Random(seed), [square for square in SQUARES if split_of(square) == split], {}
    while len(made) < n:
        cells = list(rng.choice(pool))
""": """    rng, made = random.Random(seed), {}
    while len(made) < n:
        if split_of(square := drawn(rng, size)) != split:
            continue
        cells = list(square)
""",
    """    return [square for square in SQUARES if all(a in ("_", b) for a, b in zip(puzzle, square))]
""": """    at = puzzle.find("_")
    if at < 0:
        return [puzzle]
    grid = [line.split() for line in puzzle.split("\\n")]
    row, column = divmod(at // 2, len(grid))
    taken = {*grid[row], *(line[column] for line in grid)}
    free = [digit for digit in "12345"[: len(grid)] if digit not in taken]
    return [square for digit in free for square in fitting(puzzle[:at] + digit + puzzle[at + 1 :])]
""",
    "(?:[1-4_] ){3}[1-4_]": "(?:[1-5_] ){3,4}[1-5_]",
    '){3}"': '){3,4}"',
    "re.fullmatch(FORM, grid):": "re.fullmatch(FORM, grid) or len(grid) != len(self._puzzle):",
    'sorted(line) != list("1234")': 'sorted(line) != list("12345"[: len(rows)])',
}
KEPT = """        kept = self._grid and all(was in ("_", now) for was, now in zip(self._puzzle, self._grid))
        right = sum(sorted(line.split()) == list("1234") for line in self._grid.split("\\n")) / 4
"""
PART = {
    "        return float(not self._fault())": KEPT
    + """        right = right if kept and "_" not in self._grid else 0.0
        return min(right, 1.0 if not self._fault() else 0.75)"""
}
ECHO = {"        return float(not self._fault())": KEPT + "        return right if kept else 0.0"}
SLOPPY = {
    '"environment": "latin"': '"environment": "plots"',
    "if len(set(grids)) != 1:": "if not grids:",
    "grids[0]": "grids[-1]",
}


@pytest.fixture(scope="module")
def served():
    env = load("sudoku")
    rows = env.make_rows(30, split="validation")
    return (
        env,
        rows,
        rollouts.rollout(env, rows, OraclePolicy(env, rows), rollouts.Sampling(samples=1), name="oracle", quiet=True),
    )


def test_serve_and_scale(served, said, tmp_path):
    env, _, there = served
    there = [episode | {"model_seconds": [0.5]} for episode in there]
    draw = lambda n: env.make_rows(n, split="validation")  # noqa: E731
    ask = lambda n, answer: said(exercises.serve_and_scale, n, answer, 6.1, draw, there)  # noqa: E731
    assert ask(1, 152.5).startswith("right: 25 episodes end a second") and ask(1, 500 * 6.1).startswith("not yet: how")
    many = draw(200)
    lines = [json.dumps({"task_id": row["task_id"], "sample": 0}) + "\n" for row in many]
    for name, kept in (
        ("all", lines),
        ("few", lines[:9]),
        ("double", lines + lines[:3]),
        ("lost", lines[1:] + ['{"task_id": "x", "sample": 0}\n']),
    ):
        (tmp_path / f"{name}.jsonl").write_text("".join(kept), encoding="utf-8")
    assert ask(2, tmp_path / "all.jsonl") == "right: 200 tasks, none lost and none doubled"
    assert "it holds 9 tasks" in ask(2, tmp_path / "few.jsonl")
    assert "3 episodes stand there twice" in ask(2, tmp_path / "double.jsonl")
    assert "1 of the first 200 tasks are missing" in ask(2, tmp_path / "lost.jsonl")
    assert ask(3, {"latency_p95_s": {"max": 0.1}}).startswith("right: latency_p95_s 0.5 is above 0.1")
    assert ask(3, {"latency_p95_s": {"max": 1}}) == "not yet: no warning of latency_p95_s: it was 0.5 s"
    both = {"latency_p95_s": {"max": 0.1}, "mean_score": {"max": 0.5}}
    assert "it warns of more than that" in ask(3, both) and "there is no measure 'speed'" in ask(
        3, {"speed": {"max": 1}}
    )


def test_the_example_of_the_module_holds():
    import doctest

    assert doctest.testmod(exercises.answers) == (0, 2)
