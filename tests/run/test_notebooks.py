"""Notebooks: rules that keep them readable, real headless runs, and errors that say what to do."""

import ast
import json
import re
import subprocess
import sys
import time
import urllib.request
from itertools import pairwise

import psutil
import pytest

from envs import NAMES, load
from helpers.here import ROOT
from helpers.measure import contract
from helpers.run import demo, headless, results
from helpers.train import profiles

PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SMALL = {"hardware": "cpu", "eval_rows": 16, "model": "tiny"}


def cells(path, kind=None):
    return [c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if kind in (None, c["cell_type"])]


def source(cell):
    return "".join(cell["source"])


def tags(cell):
    return cell["metadata"].get("tags", [])


# --- rules ---


@pytest.fixture(params=PATHS, ids=lambda p: p.stem)
def path(request):
    return request.param


def test_names_and_opening_cells(path):
    assert re.fullmatch(r"\d\d_[a-z_]+", path.stem)
    title, _, parameters, _, setup = cells(path)[:5]
    assert source(title).startswith("# ") and tags(parameters) == ["parameters"]
    assert source(setup) == source(cells(PATHS[0])[4])
    assert sum("parameters" in tags(c) for c in cells(path)) == 1


def test_parameters_are_commented_literals(path):
    code = source(next(c for c in cells(path) if "parameters" in tags(c)))
    for line in code.split("\n"):
        name, value, comment = re.fullmatch(r"(\w+) = (.+?)  # (.+)", line).groups()
        ast.literal_eval(value)
        assert comment and name != "token"
    known = set(headless.parameters_of(path))
    what = {"domains"} if path.stem == "08_workplace_agent" else {"environment", "environments"}
    assert {"hardware", "seed", "out_dir"} <= known and known & what


def test_cells_are_few_short_and_introduced(path):
    assert len(cells(path, "code")) <= 15
    before = None
    for cell in cells(path):
        if cell["cell_type"] == "code":
            assert before == "markdown", f"no sentence before: {source(cell)[:80]}"
            limit = {"parameters": 15, "file": 35}.get("".join(tags(cell)), 12)  # a part of a file is read as a whole
            lines = [line for line in source(cell).split("\n") if line.strip()]
            assert len(lines) <= limit, source(cell)
            assert max(map(len, lines)) <= 120
            ast.parse(source(cell))
            assert not re.search(r"^\s*[%!]|input\(|matplotlib\.use", source(cell), re.M)
        before = cell["cell_type"]


def test_outputs_are_committed_clean_and_without_paths(path):
    text = path.read_text(encoding="utf-8")
    assert str(ROOT) not in text and "/root/" not in text and "/home/" not in text
    saved = json.loads(text)
    assert "widgets" not in saved["metadata"] and "papermill" not in saved["metadata"]
    assert saved["metadata"]["kernelspec"]["name"] == "python3"
    for cell in cells(path, "code"):
        assert cell["execution_count"], f"never run: {source(cell)[:60]}"
        assert "injected-parameters" not in tags(cell)
        names = [output.get("name") for output in cell["outputs"]]
        assert "stderr" not in names and ("stdout", "stdout") not in pairwise(names)  # what was printed is in one piece
        assert all(output["output_type"] != "error" for output in cell["outputs"])
        if "nbval-check-output" in tags(cell):
            assert cell["outputs"]
            for output in cell["outputs"]:  # text that is the same on every machine: no pictures, no addresses
                assert "image/png" not in output.get("data", {}) and " at 0x" not in json.dumps(output)
    assert any("image/png" in o.get("data", {}) for c in cells(path, "code") for o in c["outputs"])
    assert len(text) < 1_000_000


def test_tags_in_the_text_are_shown_and_not_taken_for_html(path):
    for cell in cells(path, "markdown"):
        assert not re.search(r"<[a-zA-Z/]", re.sub(r"```.*?```|`[^`]*`", "", source(cell), flags=re.S)), source(cell)


# --- wrong parameters ---


@pytest.mark.parametrize(
    "given, says",
    [
        ({"step": 9}, "no parameter 'step'; did you mean 'steps'"),
        ({"enviroment": "sudoku"}, "did you mean 'environment'"),
        ({"hardware": 3}, "hardware must be of type str"),
        ({"contrast": "False"}, "contrast must be of type bool"),
        ({"seed": True}, "seed must be of type int"),
    ],
)
def test_a_wrong_parameter_is_refused_before_anything_runs(given, says, tmp_path):
    with pytest.raises(ValueError, match=says):
        headless.run("05", given, tmp_path / "out.ipynb")
    assert not (tmp_path / "out.ipynb").exists()


def made(tmp_path, *sources, tagged=True):
    """A notebook of the given cells, the first tagged as parameters."""
    built = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {"tags": ["parameters"]} if not n and tagged else {},
         "source": text, "outputs": [], "execution_count": None} for n, text in enumerate(sources)
    ]  # fmt: skip
    path = tmp_path / "made.ipynb"
    path.write_text(json.dumps({"cells": built, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_a_notebook_without_a_parameters_cell_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no cell tagged 'parameters'"):
        headless.run(made(tmp_path, "alpha = 1", tagged=False), {"alpha": 7})


def test_secrets_are_refused_as_parameters(tmp_path):
    with pytest.raises(ValueError, match="set it in the environment"):
        headless.run(made(tmp_path, "hf_token = ''"), {"hf_token": "hf_abc"})


def test_parameters_arrive_and_types_are_kept(tmp_path):
    path = made(tmp_path, "alpha = 1\nbeta = 0.5\nwhere = 'x'\nsize = None", "print(alpha + beta, where, size)")
    given = {"alpha": 7, "beta": 2, "where": "C:\\new\\runs", "size": 4}
    done = headless.run(path, given, tmp_path / "deep" / "o.ipynb")
    assert "9 C:\\new\\runs 4" in json.dumps(json.loads(done.read_text())["cells"]).replace("\\\\", "\\")


def test_a_failing_cell_fails_the_run_and_names_the_file(tmp_path):
    path = made(tmp_path, "alpha = 1", "print('so far')", "1 / 0", "print('never')")
    with pytest.raises(RuntimeError, match=r"ZeroDivisionError[\s\S]*out\.ipynb"):
        headless.run(path, {}, tmp_path / "out.ipynb")
    saved = (tmp_path / "out.ipynb").read_text()
    assert "so far" in saved and "never\\n" not in saved


def test_refreshed_outputs_are_of_a_run_from_the_start_and_in_one_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(headless, "ROOT", tmp_path)
    left = tmp_path / "runs" / "made" / "result.json"
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    pieces = "for i in range(3): print(i, flush=True); time.sleep(0.5)"
    noise = f"print('noise', file=sys.stderr); print({str(left)!r}, os.path.exists({str(left)!r}))"
    path = made(tmp_path, "alpha = 1", "import os, sys, time", pieces, noise)
    headless.refresh([str(path)])
    printed = [cell["outputs"] for cell in json.loads(path.read_text())["cells"]]
    assert [[o["name"] for o in outputs] for outputs in printed] == [[], [], ["stdout"], ["stdout"]]
    assert ["".join(o["text"]) for outputs in printed for o in outputs] == [
        "0\n1\n2\n",
        "runs/made/result.json False\n",
    ]
    assert (tmp_path / "runs" / "made.before" / "result.json").read_text() == "{}"


def test_a_killed_kernel_is_told_from_a_finished_run(tmp_path):
    kill = "import os, signal\nprint('dying', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
    path = made(tmp_path, "alpha = 1", "print('so far')", kill, "print('never')")
    with pytest.raises(RuntimeError, match="the kernel died"):
        headless.run(path, {}, tmp_path / "out.ipynb")
    saved = json.loads((tmp_path / "out.ipynb").read_text())["cells"]
    assert "kernel died" in source(saved[0])
    status = [c["metadata"].get("papermill", {}).get("status") for c in saved if c["cell_type"] == "code"]
    assert status[-2:] == ["failed", "pending"] and "completed" in status


def test_without_the_kernel_the_installed_ones_are_named_and_no_copy_claims_to_have_run(tmp_path, monkeypatch):
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    def missing(self, name):
        raise NoSuchKernel(name)

    monkeypatch.setattr(KernelSpecManager, "get_kernel_spec", missing)
    monkeypatch.setattr(KernelSpecManager, "find_kernel_specs", lambda self: {"julia": "there"})
    with pytest.raises(RuntimeError, match="no kernel python3 is installed; there are julia"):
        headless.run(made(tmp_path, "alpha = 1"), {}, tmp_path / "out.ipynb")
    assert not (tmp_path / "out.ipynb").exists()


def test_a_relative_copy_lands_where_the_command_was_started(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = made(tmp_path, "alpha = 1", "print('here')")
    assert headless.run(path, {}, "deep/out.ipynb") == tmp_path / "deep" / "out.ipynb"
    assert "here" in (tmp_path / "deep" / "out.ipynb").read_text()


def test_the_command_line_says_what_is_wrong():
    done = subprocess.run(
        [sys.executable, "-m", "helpers.run.headless", "run", "05", "stepz=3"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1 and "did you mean 'steps'" in done.stderr and "Traceback" not in done.stderr


def test_an_unknown_notebook_lists_the_known_ones():
    with pytest.raises(ValueError, match="there are 00_quickstart"):
        headless.find("42")


# --- difficulty ---


@pytest.mark.parametrize("name", NAMES)
def test_every_environment_names_its_difficulties_and_makes_rows_of_each(name):
    env = load(name)
    assert isinstance(env.DIFFICULTIES, tuple)
    if name in ("sudoku", "math", "code", "workplace"):
        assert {"easy", "medium", "hard"} <= set(env.DIFFICULTIES)
    made = {level: env.make_rows(3, difficulty=level) for level in env.DIFFICULTIES}
    assert len({row["task_id"] for rows in made.values() for row in rows}) == 3 * len(made)
    with pytest.raises(ValueError, match=f"one of {', '.join(env.DIFFICULTIES)}.*got 'impossible'"):
        env.make_rows(3, difficulty="impossible")


@pytest.mark.parametrize(
    "name, on_cpu", [("sudoku", "easy"), ("math", "starter"), ("code", "easy"), ("workplace", "starter")]
)
def test_the_starting_level_is_the_lowest_on_a_cpu_and_easy_on_a_gpu(name, on_cpu):
    env = load(name)
    assert profiles.choose_level(env, None, "cpu") == on_cpu == env.DIFFICULTIES[0]
    assert {profiles.choose_level(env, None, gpu) for gpu in profiles.PROFILES if gpu != "cpu"} == {"easy"}
    assert profiles.choose_level(env, "hard", "cpu") == profiles.choose_level(env, "hard", "t4") == "hard"
    assert profiles.choose_levels(env, None, "cpu") == list(env.DIFFICULTIES)
    assert profiles.choose_levels(env, None, "l4") == ["easy", "medium", "hard"]
    assert profiles.choose_levels(env, "hard, easy", "cpu") == ["hard", "easy"]


@pytest.mark.parametrize("wrong", ["impossible", "", "Easy", "easy,medium", 3])
def test_an_unknown_difficulty_is_refused_and_the_known_ones_are_named(wrong):
    with pytest.raises(ValueError, match="None or one of starter, easy, medium, hard, got"):
        profiles.choose_level(load("math"), wrong, "cpu")


# --- running ---


@pytest.fixture(scope="module")
def road(tmp_path_factory):
    """Folders of one small run of each notebook, in order, each fed by those before it."""
    out = tmp_path_factory.mktemp("road")
    folders = {path.stem[:2]: out / path.stem for path in PATHS}
    gsm8k = out / "gsm8k.jsonl"
    small = {
        "00": SMALL | {"steps": 2},
        "01": SMALL | {"samples": 2, "difficulties": "easy,medium"},
        "02": SMALL | {"group_size": 4},
        "03": {"hardware": "cpu", "model": "tiny", "rows": 3, "samples": 2},
        "04": SMALL | {"steps": 2},
        "05": SMALL | {"steps": 3, "prompts_per_step": 2, "model": str(folders["04"] / "model")},
        "06": {"hardware": "cpu", "eval_rows": 16, "base": "tiny", "others": "math", "benchmark": f"math:{gsm8k}",
               "warmup": str(folders["04"] / "model"), "trained": str(folders["05"] / "model")},
        "07": SMALL | {"steps": 2, "prompts_per_step": 3, "tool_steps": 2},
        "08": {"hardware": "cpu", "model": "tiny", "eval_rows": 8, "sft_steps": 2, "steps": 2, "prompts_per_step": 2,
               "group_size": 4},
        "09": SMALL | {"train_rows": 64, "sft_steps": 2, "steps": 2},
        "10": {"hardware": "cpu", "model": "tiny", "eval_rows": 6, "samples": 2, "concurrency": "1,4", "sessions": 20},
    }  # fmt: skip
    gsm8k.write_text('{"question": "What is 2 + 3?", "answer": "2 + 3 = <<2+3=5>>5\\n#### 5"}\n', encoding="utf-8")
    for number, parameters in small.items():
        headless.run(number, parameters | {"out_dir": str(folders[number])}, stdout=None)
    return folders


@pytest.mark.parametrize("number", [p.stem[:2] for p in PATHS])
def test_each_notebook_runs_headless_and_leaves_its_result(road, number):
    result = json.loads((road[number] / "result.json").read_text())
    made = {"08": "workplace", "09": "latin", "10": "workplace"}.get(number, "sudoku")
    assert made in (result.get("environment"), *result.get("environments", [])) and result["versions"]["trl"]
    pictures = list(road[number].glob("*.png"))
    assert pictures and all(picture.stat().st_size > 5000 for picture in pictures)


def test_run_all_twice_in_one_kernel_gives_the_same_result_twice(tmp_path):
    original = json.loads(PATHS[0].read_text(encoding="utf-8"))
    keep = f"import shutil; shutil.copy({str(tmp_path / 'result.json')!r}, {str(tmp_path / 'first.json')!r})"
    again = [cell for cell in original["cells"] if cell["cell_type"] == "code" and "parameters" not in tags(cell)]
    kept = {"cell_type": "code", "metadata": {}, "source": keep, "outputs": [], "execution_count": None}
    original["cells"] += [kept, *map(dict, again)]
    for n, cell in enumerate(original["cells"]):
        cell["id"] = f"cell-{n}"
    twice = tmp_path / "twice.ipynb"
    twice.write_text(json.dumps(original), encoding="utf-8")
    headless.run(twice, SMALL | {"steps": 2, "out_dir": str(tmp_path)}, stdout=None)
    first, second = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("first", "result"))
    for result in (first, second):
        del result["written"], result["commit"]
    assert first == second


def test_the_report_of_the_demo_is_one_page_with_pictures_examples_parameters_and_versions(road):
    results = {number: json.loads((folder / "result.json").read_text()) for number, folder in road.items()
               if (folder / "result.json").is_file()}  # fmt: skip
    page = demo._report(demo._summary("sudoku", 0, results, 60.0), results, road)
    assert page.count("data:image/png;base64,") >= 8 and "pass@1" in page
    assert page.count("<pre>") >= 4 and "prompts_per_step=2" in page and "samples=2" in page
    assert f"trl {results['06']['versions']['trl']}" in page and results["06"]["commit"] in page
    assert not re.search(r'(src|href)="(?!data:)', page)  # it opens offline, alone


def test_training_leaves_a_history_an_adapter_and_a_model(road):
    history = [json.loads(line) for line in (road["05"] / "history.jsonl").read_text().splitlines()]
    assert [row["step"] for row in history] == [1, 2, 3] and {"reward", "entropy", "group_spread"} <= set(history[0])
    assert (road["05"] / "adapter" / "adapter_config.json").is_file()
    assert (road["05"] / "model" / "model.safetensors").is_file()


def test_one_run_trains_on_several_environments_and_mixes_tools_with_text(road):
    result = json.loads((road["07"] / "result.json").read_text())
    assert [row["rows"] for row in result["balance"]] == [2, 2, 2]
    assert set(result["changes"]) == {"sudoku", "math", "code"}
    history = [json.loads(line) for line in (road["07"] / "history.jsonl").read_text().splitlines()]
    for step in history:  # every step holds every environment, and the mean over all of them is theirs
        each = [step[f"reward/{name}"] for name in ("sudoku", "math", "code")]
        assert step["reward"] == pytest.approx(sum(each) / 3, abs=1e-6)
    tools = [json.loads(line) for line in (road["07"] / "history_tools.jsonl").read_text().splitlines()]
    assert len(tools) == 2
    for step in tools:  # one paid by its environment object, the other by the reward function
        assert 0 <= step["rewards/SudokuEnv/mean"] <= 1 and 0 <= step["reward/math"] <= 1
        assert "reward/sudoku" not in step and step["tools/call_frequency"] > 0


def printed(path):
    """What a notebook's cells printed."""
    return "".join("".join(output.get("text", "")) for cell in cells(path, "code") for output in cell["outputs"])


def test_an_environment_fails_its_check_is_mended_and_carried_out(road):
    said = printed(road["09"] / "09_your_own_environment.ipynb")
    faults = ("LatinEnv.filled is a property", "_grid keeps what the last episode left", "the prompt scores 1.0 on",
              "the gold answer of latin-")  # fmt: skip
    assert [said.count(fault) for fault in faults] == [1, 1, 1, 1]
    result = json.loads((road["09"] / "result.json").read_text())
    assert set(result["stress"].values()) == {0.0} and result["change"]["n"] == 16
    for file in (road["09"] / "latin_env.py", road["09"] / "elsewhere" / "latin_env.py"):
        assert len(contract.check_env(contract.load_file(file))) == len(contract.CHECKS)
    assert "reason='filled in'" in said and "reason='no answer: nothing was handed in'" in said


def test_a_served_environment_pays_what_the_local_one_pays_and_its_server_ends(road):
    said = printed(road["10"] / "10_serve_and_scale.ipynb")
    assert "12 episodes, the same here and there" in said and "12 rollouts, unchanged by the trip" in said
    assert "[2, 2, 2] episodes, joined: 6" in said and "'reward': 1.0" in said
    url = re.search(r"http://127\.0\.0\.1:\d+", said)[0]
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=5)
    result = json.loads((road["10"] / "result.json").read_text())
    assert [point["at_once"] for point in result["sweep"]] == [1, 4] and all(p["rate"] > 0 for p in result["sweep"])


def test_a_server_ends_with_a_notebook_that_fails(tmp_path):
    log = str(tmp_path / "server.log")
    start = f"from helpers.serve import background\nserver = background.start('sudoku', {log!r})\nprint(server.pid)"
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        headless.run(made(tmp_path, "alpha = 1", start, "1 / 0"), {}, tmp_path / "out.ipynb")
    pid = int(printed(tmp_path / "out.ipynb"))
    end = time.monotonic() + 20
    while psutil.pid_exists(pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert not psutil.pid_exists(pid)


def test_a_cell_is_kept_as_a_part_of_a_file_and_replaced_when_it_runs_again(tmp_path):
    file = tmp_path / "made_env.py"
    save = f"from pathlib import Path\nfrom helpers.run import results\nresults.save_cell(Path({str(file)!r}), PART)\n"
    parts = [save.replace("PART", part) + code for part, code in (("2", "b = a"), ("1", "a = 1"), ("2", "b = a + 1"))]
    headless.run(made(tmp_path, "a = 0", *parts), {}, tmp_path / "out.ipynb")
    found = {}
    exec(file.read_text(), found)
    assert found["b"] == 2 and "save_cell" not in file.read_text() and file.read_text().count("b = a") == 1


def test_training_leaves_completions_with_what_was_read_out_of_them(road):
    samples = [json.loads(line) for line in (road["05"] / "history.samples.jsonl").read_text().splitlines()]
    assert {sample["step"] for sample in samples} == {1, 2, 3}
    assert all({"messages", "extracted", "reward", "reason", "kind"} <= set(sample) for sample in samples)
    (shown,) = [o["data"]["text/html"] for c in cells(road["05"] / "05_grpo.ipynb", "code") for o in c["outputs"]
                if "extracted answer" in str(o.get("data", {}).get("text/html"))]  # fmt: skip
    assert "computing rewards took" in (road["05"] / "05_grpo.ipynb").read_text()
    assert "none found" in "".join(shown) or any(sample["extracted"] for sample in samples)


def test_validation_measures_the_next_level_other_environments_and_benchmark_files(road):
    result = json.loads((road["06"] / "result.json").read_text())
    wanted = ["sudoku easy", "sudoku medium", "math starter", "math gsm8k.jsonl"]
    assert [c["tasks"] for c in result["changes"]] == wanted
    assert [c["n"] for c in result["changes"]] == [16, 16, 16, 1]
    assert {c["moved"] for c in result["changes"]} <= {"gained", "lost", "not shown"}
    assert {p.stem for p in road["06"].glob("*.png")} == {"transfer", "steps", "what_fails"}


@pytest.mark.parametrize("method, columns", [("rejection", "prompt, completion"), ("dpo", "prompt, chosen, rejected")])
def test_a_warm_up_on_the_models_own_answers_trains_and_saves_a_model(method, columns, tmp_path):
    sizes = {"steps": 2, "group_size": 4, "eval_rows": 8, "hardware": "cpu", "model": "tiny"}
    done = headless.run("04", sizes | {"method": method, "out_dir": str(tmp_path)}, stdout=None)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["method"] == method and result["rows"] > 0 and result["change"]["n"] == 8
    assert f"{method}: {result['rows']} rows from 128 tasks, {columns}" in done.read_text()
    history = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert [row["step"] for row in history] == [1, 2] and ("rewards/accuracies" in history[0]) == (method == "dpo")
    from helpers.rollout.policies import TINY

    trained, base = ((folder / "model.safetensors").read_bytes() for folder in (tmp_path / "model", TINY))
    assert trained != base and (tmp_path / "model" / "tokenizer.json").is_file()


def test_an_unknown_method_is_refused_in_one_line(tmp_path):
    with pytest.raises(RuntimeError, match="method must be one of demonstrations, rejection, dpo, got 'ppo'"):
        headless.run("04", {"method": "ppo", "hardware": "cpu", "out_dir": str(tmp_path)}, stdout=None)


def test_benchmark_episodes_are_on_disk_and_a_second_run_adds_none(road):
    files = {path: path.read_text() for path in road["01"].glob("*.jsonl")}
    assert len(files) == 2 and all(text.count("\n") == 32 for text in files.values())
    headless.run("01", SMALL | {"samples": 2, "difficulties": "easy,medium", "out_dir": str(road["01"])}, stdout=None)
    assert {path: path.read_text() for path in road["01"].glob("*.jsonl")} == files


@pytest.mark.parametrize("name", ["01_benchmark", "02_reward_profile", "03_task_generation", "04_sft_warmup"])
def test_deterministic_cells_still_print_what_is_committed(name):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env", "-q", "-p", "no:cacheprovider",
         f"notebooks/{name}.ipynb"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_notebook_finds_what_an_earlier_one_or_the_demo_left(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "ROOT", tmp_path)
    assert results.earlier("04_sft_warmup", environment="sudoku") is None
    for where, model in (("runs/demo/04_sft_warmup", "demo"), ("runs/04_sft_warmup", "own")):
        (tmp_path / where).mkdir(parents=True)
        (tmp_path / where / "result.json").write_text(json.dumps({"environment": "sudoku", "model": model}))
        assert results.earlier("04_sft_warmup", environment="sudoku")["model"] == model
    assert results.earlier("04_sft_warmup", environment="math") is None
