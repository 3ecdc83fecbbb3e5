"""The set-up cell and what the repository shows of its notebooks: badges, thumbnails, README's snippets."""

import io
import json
import re
import shutil
import subprocess
import sys
import types

import pytest

from helpers.here import ROOT
from helpers.run import headless, kernel, publish
from helpers.train import pins

ADDRESS = "https://github.com/somebody/rlvr-workbook"


@pytest.fixture
def copy(tmp_path):
    """A copy of what `publish` writes to."""
    (tmp_path / "notebooks").mkdir()
    for name in ("README.md", "pyproject.toml", *(f"notebooks/{p.name}" for p in (ROOT / "notebooks").glob("*.ipynb"))):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def name_address(copy, address):
    settings = copy / "pyproject.toml"
    settings.write_text(re.sub('repository = ".*?"', f'repository = "{address}"', settings.read_text()))


# --- badges, set-up cells, thumbnails ---


def test_what_is_committed_is_what_publish_writes(copy):
    assert [p for p in publish.publish(copy) if p.suffix != ".png"] == []
    thumbs = {p.name for p in (copy / "docs" / "thumbs").iterdir()}
    assert thumbs == {p.name for p in (ROOT / "docs" / "thumbs").iterdir()}


def test_one_address_reaches_every_notebook_and_the_readme_and_goes_again(copy):
    name_address(copy, "")
    publish.publish(copy)
    name_address(copy, ADDRESS)
    publish.publish(copy)
    readme = (copy / "README.md").read_text()
    for path in sorted((copy / "notebooks").iterdir()):
        link = f"https://colab.research.google.com/github/somebody/rlvr-workbook/blob/main/notebooks/{path.name}"
        cells = json.loads(path.read_text())["cells"]
        assert "".join(cells[0]["source"]).split("\n")[0].count(link) == 1 == readme.count(f"({link})")
        assert f'"RLVR_WORKBOOK_URL", "{ADDRESS}"' in "".join(cells[4]["source"])
    assert publish.publish(copy) == []  # nothing is added twice
    name_address(copy, "")
    publish.publish(copy)
    assert all(
        b"colab-badge" not in path.read_bytes() for path in (copy / "README.md", *(copy / "notebooks").iterdir())
    )


@pytest.mark.parametrize("address", ["github.com/a/b", "https://gitlab.com/a/b", "https://github.com/a", "x"])
def test_an_address_that_colab_cannot_open_is_refused(copy, address):
    name_address(copy, address)
    with pytest.raises(ValueError, match="such as https://github"):
        publish.publish(copy)


def test_a_notebook_that_opens_otherwise_is_refused(copy):
    path = copy / "notebooks" / "00_quickstart.ipynb"
    content = json.loads(path.read_text())
    del content["cells"][3]
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"00_quickstart\.ipynb must open with"):
        publish.publish(copy)


def test_thumbnails_are_small_pictures_also_of_tables():
    from PIL import Image

    for path in (ROOT / "docs" / "thumbs").iterdir():
        assert path.stat().st_size < publish.THUMB_BYTES and Image.open(path).width == publish.THUMB_WIDTH
    table = {"text/html": "<table>", "text/plain": "policy  pass@1\nrandom  0.01\ntiny    0.21"}
    drawn = publish.thumbnail({"cells": [{"cell_type": "code", "outputs": [{"data": table}]}]})
    assert publish.thumbnail({"cells": [{"cell_type": "code", "outputs": []}, {"cell_type": "markdown"}]}) is None
    colours = Image.open(io.BytesIO(drawn)).convert("L").getextrema()
    assert colours[0] < 60 and colours[1] > 240  # ink on paper


# --- the set-up cell ---

FIND = publish.SETUP_CELL.replace("ADDRESS", "")
COLAB = "import sys, types; sys.modules['google.colab'] = types.ModuleType('google.colab'); sys.prefix = '/usr'\n"
AFTER = "\nimport envs; print(envs.load('sudoku').BOX)"


def run_cell(code, cwd, **environment):
    environment = {"PATH": "/usr/bin:/bin"} | environment
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True)


def test_the_repository_is_found_from_anywhere(tmp_path):
    for cwd in (ROOT / "notebooks", ROOT):
        assert "(2, 2)" in run_cell(FIND + AFTER, cwd).stdout
    elsewhere = "import sys; sys.prefix = '/usr'\n"
    assert "(2, 2)" in run_cell(elsewhere + FIND + AFTER, tmp_path, RLVR_WORKBOOK_HOME=str(ROOT)).stdout
    inside = f"import sys; sys.prefix = {str(ROOT / '.venv')!r}\n"  # a kernel of the repository's own environment
    assert "(2, 2)" in run_cell(inside + FIND + AFTER, tmp_path).stdout
    lost = run_cell(elsewhere + FIND + AFTER, tmp_path)
    assert "set RLVR_WORKBOOK_HOME" in lost.stderr and "RLVR_WORKBOOK_URL" in lost.stderr
    assert list(tmp_path.iterdir()) == []


def test_on_colab_the_repository_is_fetched_once(tmp_path):
    origin = tmp_path / "origin"
    (origin / "envs").mkdir(parents=True)
    for name in ("envs/__init__.py", "envs/sudoku_env.py", "requirements.txt", "requirements-nodeps.txt",
                 "requirements-gpu.txt", "helpers/__init__.py", "helpers/here.py",
                 "helpers/run/kernel.py", "helpers/run/colab.py", "helpers/train/pins.py"):  # fmt: skip
        (origin / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, origin / name)
    for name in ("requirements.txt", "requirements-nodeps.txt", "requirements-gpu.txt"):
        (origin / name).write_text("")  # nothing to install
    with (origin / "helpers" / "run" / "colab.py").open("a") as file:
        file.write("NEWER = {}\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], cwd=origin, check=True)
    colab = tmp_path / "content"
    colab.mkdir()
    for _ in range(2):  # the second run finds what the first one fetched
        done = run_cell(COLAB + FIND + AFTER, colab, RLVR_WORKBOOK_URL=f"file://{origin}")
        assert "(2, 2)" in done.stdout, done.stderr
    assert "installing" not in done.stdout
    without = run_cell(COLAB + FIND, tmp_path)
    assert "RLVR_WORKBOOK_URL" in without.stderr.strip().split("\n")[-1]


def test_a_restart_is_asked_for_only_where_another_version_is_loaded(monkeypatch, capsys):
    kernel.prepare()
    assert "Python 3" in capsys.readouterr().out
    for tag in ("", "+cpu", "+cu130"):  # torch says how it was built, its package may not
        same = pins.installed("torch").partition("+")[0] + tag
        monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__=same))
        kernel.prepare()
    monkeypatch.setitem(sys.modules, "numpy", types.SimpleNamespace(__version__="0.1"))
    with pytest.raises(kernel.RestartNeeded, match=r"restart the kernel.*numpy 0\.1 is loaded, .* is installed"):
        kernel.prepare()


def test_torch_shares_the_cores_unless_the_reader_said_otherwise():
    """In a process of its own, since torch reads it once, when it is loaded."""
    code = "import os; from helpers.run import kernel; kernel.prepare(); print(os.environ['GOMP_SPINCOUNT'])"
    assert run_cell(code, ROOT).stdout.endswith(f"\n{kernel.SPIN_ROUNDS}\n")
    assert run_cell(code, ROOT, GOMP_SPINCOUNT="7").stdout.endswith("\n7\n")


# --- errors in a notebook ---


def failing(tmp_path, *sources):
    """Run cells in a real kernel; the output of the failing one."""
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {"tags": ["parameters"]} if not n else {},
         "source": text, "outputs": [], "execution_count": None}
        for n, text in enumerate(("hardware = 'cpu'", publish.SETUP_CELL, *sources))
    ]  # fmt: skip
    path = tmp_path / "made.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    with pytest.raises(RuntimeError) as raised:
        headless.run(path, {}, tmp_path / "out.ipynb", stdout=None)
    saved = json.loads((tmp_path / "out.ipynb").read_text())["cells"]
    return str(raised.value), next(o for c in saved for o in c.get("outputs", []) if o["output_type"] == "error")


@pytest.mark.parametrize(
    "cell, says",
    [
        ("from envs import load\nload('chess')", "no environment called 'chess'; choose one of sudoku, math"),
        ("from helpers.train import profiles\nprofiles.settings('t5')", "hardware must be auto or one of cpu, t4"),
        ("import envs\nenvs.load('sudoku').make_rows(1, difficulty='nightmare')", "easy"),
        ("print(never_made)", "name 'never_made' is not defined: run the cells above"),
    ],
)
def test_an_error_of_ours_is_one_line_and_still_fails_the_run(tmp_path, cell, says):
    message, output = failing(tmp_path, cell)
    assert says in message and says in output["evalue"]
    assert len(output["traceback"]) == 1 and "\n" not in output["traceback"][0]


def test_any_other_error_keeps_its_traceback(tmp_path):
    message, output = failing(tmp_path, "int('x')")
    assert "invalid literal" in message and len(output["traceback"]) > 1


def test_the_traceback_is_still_to_be_had(tmp_path):
    sources = ("from envs import load\ntry:\n    get_ipython().run_cell(\"load('chess')\")\nfinally:\n    pass",
               "%tb", "1 / 0")  # fmt: skip
    failing(tmp_path, *sources)
    text = (tmp_path / "out.ipynb").read_text()
    assert "Traceback (most recent call last)" in text and "envs/__init__.py" in text


# --- silent cells ---


@pytest.mark.parametrize("watched", [True, False])
def test_a_silent_cell_gives_a_sign_of_life_where_someone_watches(tmp_path, monkeypatch, watched):
    monkeypatch.setenv("TQDM_DISABLE", "0" if watched else "1")
    soon = "from helpers.run import kernel\nimport time\nkernel.SILENT_S = 3.0"
    silent, talking = "time.sleep(4)", "for _ in range(40):\n    print('.')\n    time.sleep(0.1)"
    loop = "for step in range(40):\n    progress.step()\n    time.sleep(0.1)"
    renewing = f"from helpers.rollout.monitor import Progress\nprogress = Progress('steps', 40)\n{loop}"
    failing(tmp_path, soon, silent, talking, renewing, "1 / 0")
    cells = json.loads((tmp_path / "out.ipynb").read_text())["cells"]
    said = {
        "".join(cell["source"]): "".join("".join(o["text"]) for o in cell["outputs"] if o.get("name") == "stderr")
        for cell in cells if cell["cell_type"] == "code"
    }  # fmt: skip
    assert bool(re.fullmatch(r"still at work, \d+ s\n", said[silent])) is watched
    assert not said[talking] and not said[renewing]


# --- README ---

ON_CPU = 'args=GRPOConfig("out", use_cpu=True, bf16=False, report_to="none")'


@pytest.fixture
def snippets(tmp_path):
    """The snippets of README that are to be copied, and a runner of one in a folder that holds the copied file only."""
    shutil.copy(ROOT / "envs" / "sudoku_env.py", tmp_path)

    def run(code):
        (tmp_path / "snippet.py").write_text(code, encoding="utf-8")
        command = [sys.executable, "snippet.py"]
        return subprocess.run(command, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)

    return re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S | re.M), run


def test_the_plain_snippet_of_the_readme_runs_in_an_empty_folder(snippets):
    (plain, _, _), run = snippets
    done = run(plain)
    said = re.search(r"# (Verdict\(.*?), \.\.\.\)", plain)[1]
    assert done.returncode == 0 and said in done.stdout and "4x4" in done.stdout, done.stderr


def small(code):
    """The snippet with what needs a GPU or a network replaced: the model, and that TRL may use the CPU."""
    from helpers.rollout.policies import TINY

    code = code.replace("Qwen/Qwen2.5-1.5B-Instruct", str(TINY)).replace("make_rows(1000)", "make_rows(8)")
    code = code.replace("import GRPOTrainer", "import GRPOConfig, GRPOTrainer").replace("trainer.train()\n", "")
    return code.replace("train_dataset=rows)", f"train_dataset=rows, {ON_CPU})")


def test_the_trl_snippets_of_the_readme_make_trainers(snippets):
    (_, with_trl, with_unsloth), run = snippets
    through_tools = with_trl.replace("reward_funcs=[sudoku_env.reward]", "environment_factory=sudoku_env.SudokuEnv")
    through_tools = through_tools.replace("make_rows(1000)", "make_rows(8, interactive=True)")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "`make_rows(1000, interactive=True)`" in text and "`environment_factory=sudoku_env.SudokuEnv`" in text
    done = run(small(with_trl) + "print(type(trainer).__name__)\n" + small(through_tools) + "print(len(trainer.tools))")
    assert done.stdout.split() == ["GRPOTrainer", "2"], done.stderr[-2000:]
    first, *rest = with_unsloth.split("\n")
    done = run("\n".join([first, small(with_trl), *small("\n".join(rest)).split("\n"), "print(trainer.model)"]))
    assert "lora_A" in done.stdout, done.stderr[-2000:]


def test_the_readme_links_to_what_there_is():
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        links = re.findall(r"\]\(([^)#:]+)\)|src=\"([^\"]+)\"", text)
        assert links and all((ROOT / (link or image)).exists() for link, image in links)
