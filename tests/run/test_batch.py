"""Batches: the matrix of a plan, refusals before anything runs, resuming, and runs that fail or die."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers import here
from helpers.here import ROOT
from helpers.run import batch, leaderboard
from helpers.show.page import clean

PARAMETERS = 'environment = "sudoku"\nmodel = None\nhardware = "auto"\nseed = 0\nsteps = 3\nwarm = ""\nout_dir = None'
TRAIN = """import json, os, pathlib
out = pathlib.Path(out_dir)
rows = [{"step": n + 1, "reward": (n + seed) / 10} for n in range(steps)]
(out / "history.jsonl").write_text("".join(json.dumps(row) + "\\n" for row in rows))
with open(out / "count", "a") as file:
    file.write("x")
print(model, environment, seed, "with", os.environ.get("HF_TOKEN"))"""
RESULT = """change = {"before": 0.2, "after": 0.2 + seed / 10, "gain": seed / 10, "ci95": [0.0, 0.3], "n": 96}
(out / "result.json").write_text(json.dumps({"environment": environment, "change": change}))"""
FAIL = "if seed == 1:\n    raise ValueError('no luck with ' + str(os.environ.get('HF_TOKEN')))"
DIE = "import signal\nif seed == 1 and not (out / 'revived').exists():\n    os.kill(os.getpid(), signal.SIGKILL)"


def made(folder: Path, name: str, *sources: str) -> str:
    """A notebook whose first cell holds the parameters; its path."""
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {"tags": ["parameters"]} if not n else {}, "source": text,
         "outputs": [], "execution_count": None} for n, text in enumerate((PARAMETERS, *sources))
    ]  # fmt: skip
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return str(path)


def plan(tmp_path, notebooks, **changes) -> dict:
    """A plan as it is read from a file."""
    import yaml

    given = {"notebooks": notebooks, "models": ["tiny"], "environments": ["sudoku"], "seeds": [0, 1]}
    file = tmp_path / "night.yaml"
    file.write_text(yaml.safe_dump(given | {"out": str(tmp_path / "out")} | changes))
    return batch.read_plan(file)


def run_folders(tmp_path):
    return sorted(path.parent.name for path in (tmp_path / "out").glob("*/run.json"))


# --- plans ---


def test_the_matrix_has_every_combination_and_a_folder_for_each(tmp_path):
    path = made(tmp_path, "train", TRAIN)
    chains = batch.expand(plan(tmp_path, [path], models=["tiny", "Qwen/Qwen2.5-1.5B"], seeds=[0, 1, 2]))
    runs = [one for chain in chains for one in chain]
    assert len(runs) == 6 and len({one["folder"] for one in runs}) == 6
    assert runs[5]["id"] == "train-Qwen_Qwen2.5_1.5B-sudoku-seed2"
    assert runs[5]["parameters"] == {
        "model": "Qwen/Qwen2.5-1.5B", "environment": "sudoku", "seed": 2, "out_dir": runs[5]["folder"]
    }  # fmt: skip


def test_a_notebook_takes_results_from_those_before_it(tmp_path):
    text = """
notebooks: [04, "05"]
models: [tiny]
seeds: [7]
parameters:
  hardware: cpu
  05: {steps: 9, model: "{04}/model"}
"""
    (tmp_path / "road.yaml").write_text(text)
    chains = batch.expand(batch.read_plan(tmp_path / "road.yaml"))
    first, second = chains[0]
    assert first["parameters"]["model"] == "tiny" and "steps" not in first["parameters"]
    assert second["parameters"]["model"] == "runs/road/04_sft_warmup-tiny-seed7/model"
    assert second["parameters"]["steps"] == 9 and second["parameters"]["hardware"] == "cpu"
    assert second["needs"] == [first["id"]] and first["needs"] == []


def test_the_plan_that_the_documentation_shows_is_a_plan():
    chains = batch.expand(batch.read_plan(ROOT / "docs" / "plan.yaml"))
    assert len(chains) == 3 and [len(one["needs"]) for one in chains[0]] == [0, 1, 2]
    assert chains[2][2]["parameters"]["trained"] == "runs/plan/05_grpo-tiny-sudoku-seed2/model"


@pytest.mark.parametrize(
    "changes, says",
    [
        ({"parameters": {"stepz": 3}}, "no.* parameter 'stepz'; did you mean 'steps'"),
        ({"parameters": {"train": {"stepz": 3}}}, "no parameter 'stepz'; did you mean 'steps'"),
        ({"parameters": {"steps": "many"}}, "steps must be of type int"),
        ({"parameters": {"tain": {"steps": 3}}}, "none of the plan's notebooks"),
        ({"parameters": {"warm": "{09}/model"}}, r"there is no \{09\} before this notebook"),
        ({"seed": [1]}, "a plan has no 'seed'; did you mean 'seeds'"),
        ({"seeds": 3}, "seeds must be a list"),
        ({"models": ["a/b", "a_b"]}, "would share the folder"),
        ({"at_once": 2}, "needs hardware: cpu"),
        ({"at_once": 0}, "at_once must be"),
        ({"environments": [3]}, "environment must be of type str"),
    ],
)
def test_a_wrong_plan_is_refused_before_anything_runs(tmp_path, monkeypatch, changes, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").mkdir()
    monkeypatch.setattr(batch, "find", lambda name: Path(made(tmp_path, name, TRAIN)))
    with pytest.raises(ValueError, match=says):
        batch.run_batch(plan(tmp_path, ["train"], **changes))
    assert not run_folders(tmp_path)


def test_the_command_line_says_what_is_wrong(tmp_path):
    for text, says in (("notebooks: [99]", "no notebook '99'"), ("[]", "is no plan"), ("notes: 1", "'notebooks'")):
        (tmp_path / "p.yaml").write_text(text)
        command = [sys.executable, "-m", "helpers.run.batch", str(tmp_path / "p.yaml")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr


# --- running ---


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """A batch of three notebooks and two seeds, two combinations at once; with seed 1 one fails and one dies."""
    tmp_path = tmp_path_factory.mktemp("night")
    first, second = made(tmp_path, "first", TRAIN, RESULT), made(tmp_path, "second", TRAIN, FAIL, RESULT)
    third = made(tmp_path, "third", TRAIN, DIE, RESULT)
    asked = plan(tmp_path, [first, second, third], at_once=2, parameters={"hardware": "cpu"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", 'hf_"secret"_0123456789')
        states = {state["id"]: state for state in batch.run_batch(asked)}
    return tmp_path, asked, states


def test_a_failed_a_dead_and_a_finished_run_are_told_apart(night):
    status = {name.replace("-tiny-sudoku-", " "): state["status"] for name, state in night[2].items()}
    assert status == {
        "first seed0": "complete", "second seed0": "complete", "third seed0": "complete",
        "first seed1": "complete", "second seed1": "failed", "third seed1": "dead",
    }  # fmt: skip
    assert "ValueError: no luck" in night[2]["second-tiny-sudoku-seed1"]["error"]
    assert "kernel died" in night[2]["third-tiny-sudoku-seed1"]["error"]


def test_each_run_leaves_notebook_page_log_and_result(night):
    folder = night[0] / "out" / "first-tiny-sudoku-seed1"
    assert {"first.ipynb", "first.html", "log.txt", "result.json", "run.json"} <= {p.name for p in folder.iterdir()}
    assert "tiny sudoku 1 with" in (folder / "log.txt").read_text()
    page = (folder / "first.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html") and "tiny sudoku 1 with" in page


def test_secrets_are_in_no_file(night):
    files = [path for path in (night[0] / "out").rglob("*") if path.is_file()]
    assert len(files) > 20
    for path in files:
        assert "secret" not in path.read_text(encoding="utf-8", errors="replace"), path
    assert "***HF_TOKEN***" in (night[0] / "out" / "first-tiny-sudoku-seed0" / "log.txt").read_text()


def test_the_page_ranks_all_runs_and_links_to_what_is_there(night):
    page = (night[0] / "out" / "index.html").read_text()
    rows = re.findall(r"<tr><td>(.*)", page.split("<tbody>")[1].split("</tbody>")[0])
    assert len(rows) == 6 and "first" in rows[0] and "+0.100" in rows[0]  # seed 1 gained most
    for link in re.findall(r'href="([^"]+)"', page):
        assert (night[0] / "out" / link).is_file()
    assert page.count("data:image/png") == 1 and "addEventListener" in page and "Means over seeds" in page
    board = json.loads((night[0] / "out" / "leaderboard.json").read_text())
    assert {entry["status"] for entry in board} == {"complete", "failed", "dead"}


def test_a_second_batch_runs_only_what_is_not_complete(night):
    tmp_path, asked, _ = night
    out = tmp_path / "out"
    (out / "third-tiny-sudoku-seed1" / "revived").touch()
    states = {state["id"]: state["status"] for state in batch.run_batch(asked)}
    assert states["third-tiny-sudoku-seed1"] == "complete" and states["second-tiny-sudoku-seed1"] == "failed"
    counts = {path.parent.name: path.read_text() for path in out.glob("*/count")}
    again = {"second-tiny-sudoku-seed1", "third-tiny-sudoku-seed1"}
    assert all(count == ("xx" if name in again else "x") for name, count in counts.items())


def test_a_complete_run_is_not_overwritten_by_another_plan(night):
    asked = night[1]
    with pytest.raises(ValueError, match="holds a complete run with other parameters"):
        batch.run_batch(asked | {"parameters": {"hardware": "cpu", "steps": 5}})


def test_a_run_whose_source_failed_is_skipped_and_the_others_go_on(tmp_path):
    fails, takes, free = made(tmp_path, "fails", "1 / 0"), made(tmp_path, "takes", TRAIN), made(tmp_path, "free", TRAIN)
    asked = plan(tmp_path, [fails, takes, free], seeds=[0], parameters={takes: {"warm": "{fails}/model"}})
    states = batch.run_batch(asked)
    assert [state["status"] for state in states] == ["failed", "skipped", "complete"]
    assert states[1]["error"] == "needs fails-tiny-sudoku-seed0, which is failed"


def as_soon_as_free(asked, within=60):
    """Run a batch once the kernel of a killed one has noticed that it is alone."""
    deadline = time.monotonic() + within
    while True:
        try:
            return batch.run_batch(asked)
        except ValueError as error:
            if "another batch" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def test_a_killed_batch_goes_on_where_it_was(tmp_path):
    slow = made(
        tmp_path, "slow", TRAIN, "import time\nif seed == 1 and not (out / 'go').exists():\n    time.sleep(600)"
    )
    asked = plan(tmp_path, [slow])
    command = [sys.executable, "-m", "helpers.run.batch", str(tmp_path / "night.yaml")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    out, deadline = tmp_path / "out", time.monotonic() + 600
    while not (out / "slow-tiny-sudoku-seed1" / "count").is_file() and time.monotonic() < deadline:
        time.sleep(0.05)
    with pytest.raises(ValueError, match="another batch is running"):
        batch.run_batch(asked)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert json.loads((out / "slow-tiny-sudoku-seed1" / "run.json").read_text())["status"] == "running"
    (out / "slow-tiny-sudoku-seed1" / "go").touch()
    assert [state["status"] for state in as_soon_as_free(asked)] == ["complete", "complete"]
    assert [(out / f"slow-tiny-sudoku-seed{seed}" / "count").read_text() for seed in (0, 1)] == ["x", "xx"]


# --- the parts ---


def test_what_a_model_wrote_is_escaped_on_the_page(tmp_path):
    evil = "<script>alert(1)</script>"
    state = {"id": "a", "notebook": "x.ipynb", "folder": str(tmp_path / "a"), "status": "failed", "error": evil,
             "model": evil, "environment": None, "seed": 0, "seconds": 1.0}  # fmt: skip
    leaderboard.write(tmp_path, [state])
    assert evil not in (tmp_path / "index.html").read_text()


def test_the_page_shows_examples_parameters_and_versions_of_each_run(tmp_path):
    evil, folder = "<img src=x>", tmp_path / "a"
    folder.mkdir()
    made(folder, "x", TRAIN)
    saved = json.loads((folder / "x.ipynb").read_text())
    saved["metadata"]["papermill"] = {"parameters": {"steps": 77}}
    (folder / "x.ipynb").write_text(json.dumps(saved))
    born = {"python": "3.12.1", "versions": {"trl": "9.8.7"}, "commit": "abc1234", "written": "2030-01-01"}
    (folder / "result.json").write_text(json.dumps({"change": {"gain": 0.1}} | born))
    prompt = [{"role": "user", "content": f"solve {evil}"}]
    call = {"function": {"name": "submit", "arguments": '{"answer": "7"}'}}
    episodes = [
        {"prompt": prompt, "messages": [{"role": "assistant", "content": "", "tool_calls": [call]}], "reward": 1.0},
        {"prompt": prompt, "completion": f"nonsense {evil}", "reward": 0.0, "reason": "no answer"},
        {"prompt": prompt, "completion": "not judged", "reward": None},
    ]
    (folder / "episodes.jsonl").write_text("\n".join(map(json.dumps, episodes)) + '\n{"prompt": "cut o')
    state = {"id": "a", "notebook": "x.ipynb", "folder": str(folder), "status": "complete", "model": "tiny",
             "environment": "sudoku", "seed": 0, "seconds": 1.0, "parameters": {"steps": 77}}  # fmt: skip
    leaderboard.write(tmp_path, [state])
    page = (tmp_path / "index.html").read_text()
    for said in (
        "submit({&quot;answer",
        "nonsense &lt;img",
        "no answer",
        "steps=77",
        "warm=&#x27;&#x27;",
        "trl 9.8.7",
        "abc1234",
    ):
        assert said in page, said
    assert evil not in page and "not judged" not in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)  # it opens offline


def test_scripts_in_a_notebooks_output_do_not_reach_its_page(tmp_path):
    output = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"text/html": "<b>kept</b><script>alert(7)</script>"},
    }
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "1", "outputs": [output], "execution_count": 1}
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    page = batch.as_html(path)
    assert "<b>kept</b>" in page and "<script>alert(7)" not in page


@pytest.mark.parametrize(
    "markup, kept",
    [
        ("<table class='board'><thead><tr><th scope='col'>a</th></tr></thead></table>", '<th scope="col">a</th>'),
        ("<details><summary>x</summary><pre>y</pre></details>", "<details><summary>x</summary><pre>y</pre></details>"),
        ("<style>.a { color: red }</style><p>z</p>", "<p>z</p>"),
        ("<img src='data:image/png;base64,AAAA' alt='b'>", 'src="data:image/png;base64,AAAA"'),
        ("<a href='https://a.example'>b</a>", 'href="https://a.example"'),
    ],
)
def test_tables_and_pictures_of_an_output_stay_on_its_page(markup, kept):
    assert kept in clean(markup) and "red" not in clean(markup)


@pytest.mark.parametrize(
    "markup",
    [
        "<img src=x onerror=alert(1)>", "<a href='javascript:alert(1)'>a</a>", "<iframe src='https://a.example'></iframe>",
        "<img src='https://a.example/x.png'>", "<a href='data:text/html,<script>alert(1)</script>'>a</a>",
        "<p style='background:url(https://a.example)'>", "<svg onload=alert(1)>", "<style>@import 'https://a.example'",
        "<form action='https://a.example'><input></form>", "<img src='data:image/svg+xml;base64,AAAA'>",
    ],
)  # fmt: skip
def test_nothing_of_an_output_runs_or_loads_on_its_page(markup):
    live = re.findall(r"<[a-z][^>]*>", clean(markup))
    assert not re.search(r"on\w+=|javascript:|https:|data:|url\(|<(script|iframe|style|form|input|svg)", "".join(live))


def test_secrets_are_known_by_their_whole_name_or_their_shape(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "a&b\"c'd/e+f")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false-and-long")
    monkeypatch.setenv("MAX_TOKENS", "123456789")
    given = "a&b\"c'd/e+f a&amp;b&quot;c&#x27;d/e+f false-and-long 123456789 hf_abcdefghijklmnopqrstuvwxyz sk-short"
    assert here.mask(given) == "***MY_API_KEY*** ***MY_API_KEY*** false-and-long 123456789 *** sk-short"
    assert here.mask(json.dumps("a&b\"c'd/e+f")) == '"***MY_API_KEY***"'
