"""What is for a GPU, as far as it can be checked without one: its requirements resolve, its script runs."""

import json
import os
import shutil
import subprocess
import sys

from packaging.utils import canonicalize_name
from resolving import compile_command, resolved, skip_without_index

from helpers.here import ROOT
from helpers.train import guards, pins


def test_the_gpu_requirements_resolve(tmp_path):
    skip_without_index(tmp_path)
    running = {
        version: subprocess.Popen(
            compile_command("requirements-gpu.txt", version), cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for version in ("3.11", "3.12", "3.13")
    }  # fmt: skip
    for version, process in running.items():
        said, wrong = process.communicate(timeout=600)
        assert process.returncode == 0, f"Python {version}: {wrong[-2000:]}"
        found = resolved(said)
        pinned = pins.pins(ROOT / "requirements-gpu.txt")
        assert pinned and {canonicalize_name(name): pin for name, pin in pinned.items()}.items() <= found.items()
        assert len(found) > 150


def test_both_locks_agree_on_what_training_rests_on():
    cpu, gpu = guards.lock(gpu=False), guards.lock(gpu=True)
    assert {name: cpu[name] for name in guards.CORE} == {name: gpu[name] for name in guards.CORE}


def test_the_script_says_so_where_there_is_no_gpu(tmp_path):
    for tool in ("bash", "mkdir", "dirname", "tee", "grep"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    environment = {"PATH": str(tmp_path), "OUT": str(tmp_path / "out")}
    command = [shutil.which("bash"), "tests/gpu/run.sh"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "no NVIDIA GPU found" in done.stderr


def test_the_measurement_runs_and_prints_its_table(tmp_path):
    sizes = ["--hardware", "cpu", "--steps", "2", "--eval-rows", "8", "--out", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "tests/gpu/measure.py", *sizes], cwd=ROOT, env=os.environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (result,) = json.loads((tmp_path / "measured.json").read_text())
    assert result["model"] == "tiny" and result["steps"] == 2 and result["tokens_per_s"] > 0 and result["n"] == 8
    assert done.stdout.split("\n")[-3].split()[:3] == ["model", "steps", "s/step"]
