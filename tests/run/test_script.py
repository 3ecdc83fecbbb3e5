"""A notebook as a script: the same cells, parameters from the command line, one run on several processes."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.here import ROOT
from helpers.run import results, script

# What the test looks at in each process when the script has ended.
LOOK = """
from hashlib import sha256
trained = {{n: w.detach() for n, w in policy.named_parameters() if w.requires_grad}}
digest = sha256(b"".join(w.numpy().tobytes() for w in trained.values())).hexdigest()
moved = any(w.abs().sum() > 0 for n, w in trained.items() if "lora_B" in n)
with open({folder!r} + "/rank" + os.environ["RANK"], "w") as file:
    file.write(" ".join((digest, str(moved), str(out))))
"""


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_a_script_holds_every_cell_of_its_notebook(path, tmp_path):
    made = script.make(path.stem[:2], tmp_path / "made.py").read_text()
    body = ast.dump(ast.parse(made))
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            assert all(f"# {line}".rstrip() in made for line in text.split("\n"))
        else:
            assert all(ast.dump(node) in body for node in ast.parse(text).body[:-1])


def test_what_a_notebook_shows_a_script_prints(tmp_path):
    cells = [
        ("parameters", "alpha = 1  # a number"),
        (None, "def f(x):\n    return x\n\nf(alpha)"),
        (None, "f(\n    'several lines'\n)"),
        (None, "f('hidden');"),
        (None, "print('said')"),
        (None, "beta = 2"),
    ]
    path = tmp_path / "07_made.ipynb"
    path.write_text(json.dumps({"cells": [
        {"cell_type": "code", "metadata": {"tags": [tag] if tag else []}, "source": text} for tag, text in cells
    ]}))  # fmt: skip
    made = script.make(str(path), tmp_path / "made.py")
    done = subprocess.run([sys.executable, made, "alpha=7"], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.split("\n") == ["7", "several lines", "said", ""], done.stderr


@pytest.mark.parametrize(
    "given, says",
    [("stepz=3", "did you mean 'steps'"), ("steps", "written name=value"), ("hardware=3", "must be of type str")],
)
def test_a_wrong_parameter_ends_a_script_before_anything_is_loaded(given, says, tmp_path):
    made = script.make("05", tmp_path / "made.py")
    done = subprocess.run([sys.executable, made, given], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and says in done.stderr and "Traceback" not in done.stderr


def test_the_command_line_makes_a_script_and_says_where(tmp_path):
    command = [sys.executable, "-m", "helpers.run.script"]
    out = tmp_path / "deep" / "grpo.py"
    done = subprocess.run([*command, "05", "--out", str(out)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == str(out) and "accelerate launch" in out.read_text()
    done = subprocess.run([*command, "42"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "no notebook '42'" in done.stderr and "Traceback" not in done.stderr


def test_two_processes_train_one_model_and_leave_one_result(tmp_path):
    made, out = script.make("05", tmp_path / "grpo.py"), tmp_path / "out"
    often = made.read_text().replace("every=cfg.save_steps", "every=2")  # measure on the way, in so short a run too
    made.write_text(often + LOOK.format(folder=str(tmp_path)))
    launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
              "--main_process_port", "0", "--mixed_precision", "no", "--dynamo_backend", "no"]  # fmt: skip
    sizes = ["hardware=cpu", "model=tiny", "steps=3", "eval_rows=16", "contrast=False", f"out_dir={out}"]
    done = subprocess.run(
        [sys.executable, *launch, str(made), *sizes], capture_output=True, text=True, timeout=900, cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    (first, moved, where), (second, _, aside) = ((tmp_path / f"rank{n}").read_text().split(" ") for n in (0, 1))
    assert first == second and moved == "True"  # both hold the same weights, and these were trained
    assert where == str(out) and not Path(aside).exists()  # the other's folder is gone
    assert [path.parent.name for path in tmp_path.rglob("result.json")] == ["out"]
    assert len(list(tmp_path.rglob("model.safetensors"))) == 1
    assert len(list(tmp_path.rglob("checkpoint-*"))) == 1
    history = [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]
    assert [row["step"] for row in history] == [1, 2, 3] and "held_out" in history[1]
    said = done.stdout
    assert "in 1 pass of 32 on each of 2 processes" in said and len(re.findall("pass@1 .* gain", said)) == 1
    assert results.load_result(out / "result.json", steps=3)
