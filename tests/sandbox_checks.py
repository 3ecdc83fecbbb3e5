"""How the tests of the sandbox run programs in it, and what they look for."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envs import code_sandbox
from envs.code_sandbox import Sandbox, SandboxError

DATA = Path(__file__).parent / "data"
FOLDER = Path(code_sandbox.__file__).parent
LIMIT_S = 3.0
SQUARES = [("[3]", 14), ("[5]", 55), ("[10]", 385)]
RIGHT = "def solve(n):\n    return sum(i * i for i in range(1, n + 1))\n"


def sandbox_at(level: str) -> Sandbox:
    try:
        return Sandbox(level=level, allow_unisolated=level == "none")
    except SandboxError as error:
        pytest.skip(f"level {level} is not to be had here: {error}")


def programs(folder: str) -> dict[str, str]:
    """Name -> source of the programs in a folder of the tests' data."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted((DATA / folder).glob("*.py"))}


def same(a: object, b: object) -> bool:
    """Equal in value and type, all the way down."""
    if type(a) is not type(b):
        return False
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is dict:
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def passes(sandbox: Sandbox, source: str, tests=SQUARES, entry_point: str = "solve", limit: float = LIMIT_S) -> bool:
    run = sandbox.run_function(source, entry_point, [call for call, _ in tests], time_limit_s=limit)
    assert len(run.outcomes) == len(tests) and run.level == sandbox.level
    assert run.status != "sandbox" and all(outcome.status != "sandbox" for outcome in run.outcomes), run
    answers = [outcome.status == "ok" and same(outcome.value, want) for outcome, (_, want) in zip(run.outcomes, tests)]
    return run.status == "ok" and all(answers)


def outcome_of(sandbox: Sandbox, source: str, call: str = "[3]", **options):
    return sandbox.run_function(source, "solve", [call], **options).outcomes[0]


SCRIPT = """
import json, os, sys, time
sys.path.insert(0, {folder!r})
from code_sandbox import Sandbox
"""


def run_script(tmp_path: Path, body: str, **options) -> subprocess.Popen:
    """Python that has no main file, as in a notebook, with only a copy of the folder."""
    shutil.copytree(FOLDER, tmp_path / "code_sandbox")
    program = SCRIPT.format(folder=str(tmp_path)) + body
    return subprocess.Popen([options.pop("python", sys.executable), "-c", program], stdout=subprocess.PIPE, **options)


def gone(pids: set[int], within_s: float = 10) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):
            return True
        time.sleep(0.05)
    return False


def below(pid: int) -> set[int]:
    found = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
            found |= {int(child)} | (below(int(child)) if os.path.exists(f"/proc/{child}") else set())
    return found
