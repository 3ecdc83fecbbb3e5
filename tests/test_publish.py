"""The set-up cell and what the repository shows of its notebooks: badges, thumbnails, README's snippets."""

import io
import json
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from helpers import kernel, notebook, publish

ROOT = Path(__file__).resolve().parents[1]
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
    before = {p: p.read_bytes() for p in (copy / "notebooks").iterdir()} | {copy / "README.md": b""}
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
    assert "colab-badge" not in (copy / "README.md").read_text()
    assert all(b"colab-badge" not in path.read_bytes() for path in before)


@pytest.mark.parametrize("address", ["github.com/a/b", "https://gitlab.com/a/b", "https://github.com/a", "x"])
def test_an_address_that_colab_cannot_open_is_refused(copy, address):
    name_address(copy, address)
    with pytest.raises(ValueError, match="such as https://github.com/owner/name"):
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
                 "requirements-gpu.txt", "helpers/__init__.py", "helpers/kernel.py"):  # fmt: skip
        (origin / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, origin / name)
    for name in ("requirements.txt", "requirements-nodeps.txt", "requirements-gpu.txt"):
        (origin / name).write_text("")  # nothing to install
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


def test_colab_installs_what_differs_from_the_pins_and_nothing_else(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    monkeypatch.setattr(kernel, "which", lambda name: None)
    asked, have = [], {}
    for name in ("requirements.txt", "requirements-nodeps.txt"):
        have |= kernel.pins(ROOT / name)
    monkeypatch.setattr(kernel, "_pip", asked.append)
    monkeypatch.setattr(kernel, "_installed", have.get)
    monkeypatch.setattr(kernel, "_outdated", lambda: [])
    kernel.prepare()
    assert asked == [] and have["torch"] and have["unsloth"]
    have["unsloth"] = "2020.1"
    kernel.prepare()
    assert asked == [["--no-deps", "-r", str(ROOT / "requirements-nodeps.txt")]]


def test_a_failed_installation_stops_and_shows_why():
    with pytest.raises(RuntimeError, match=r"pip install failed:\n[\s\S]*no-such-file"):
        kernel._pip(["-r", "no-such-file.txt"])


def test_a_restart_is_asked_for_only_where_another_version_is_loaded(monkeypatch, capsys):
    kernel.prepare()
    assert "Python 3" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "numpy", types.SimpleNamespace(__version__="0.1"))
    with pytest.raises(kernel.RestartNeeded, match=r"restart the kernel.*numpy 0\.1 is loaded, .* is installed"):
        kernel.prepare()


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
        notebook.run(path, {}, tmp_path / "out.ipynb", stdout=None)
    saved = json.loads((tmp_path / "out.ipynb").read_text())["cells"]
    return str(raised.value), next(o for c in saved for o in c.get("outputs", []) if o["output_type"] == "error")


@pytest.mark.parametrize(
    "cell, says",
    [
        ("from envs import load\nload('chess')", "no environment called 'chess'; choose one of sudoku, math"),
        ("from helpers import training\ntraining.settings('t5')", "hardware must be auto or one of cpu, t4"),
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
