"""Servers beside a notebook."""

import subprocess
import sys
import time

import psutil
import pytest
from serving import ROOT

from helpers.serve import background
from helpers.serve.remote import RemoteEnv


def gone(pid: int, seconds: float = 15) -> bool:
    """Whether a process ends within the time."""
    end = time.monotonic() + seconds
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_servers_beside_notebooks_have_ports_of_their_own_and_stop(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVER_TOKEN", "of somebody else")
    one, two = (background.start("sudoku", tmp_path / "deep" / f"{n}.log") for n in (1, 2))
    assert one.url != two.url and RemoteEnv(one.url).ENV().reset() and RemoteEnv(two.url).ENV().reset()
    assert one.url in (tmp_path / "deep" / "1.log").read_text() and "running" in repr(one)
    before, after = one.usage(), one.usage()
    assert before["requests"] >= 3 and after["requests"] == before["requests"] + 1  # each looks at /metrics
    assert 10 < after["memory_mb"] < 1000 and 0 < before["cpu_s"] <= after["cpu_s"]
    one.stop()
    one.stop()
    assert gone(one.pid, 0) and "stopped" in repr(one)
    with pytest.raises(ConnectionError):
        RemoteEnv(one.url)
    assert RemoteEnv(two.url)
    pid = two.pid
    del two  # a cell that starts another in its place
    assert gone(pid, 0)


def test_a_server_ends_with_the_process_that_started_it_even_if_that_is_killed(tmp_path):
    code = (
        "import os, signal, sys; from helpers.serve.background import start\n"
        "server = start('sudoku', sys.argv[1]); print(server.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL) if sys.argv[2] == 'killed' else 1 / 0"
    )
    for how in ("killed", "failed"):
        command = [sys.executable, "-c", code, str(tmp_path / "server.log"), how]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert done.returncode == (-9 if how == "killed" else 1)
        assert gone(int(done.stdout))


def test_a_server_that_is_not_ready_says_why_and_is_not_left_over(tmp_path):
    with pytest.raises(RuntimeError, match=r"ended with 2 [\s\S]*invalid choice: 'chess'"):
        background.start("chess", tmp_path / "server.log")
    before = {child.pid for child in psutil.Process().children()}
    with pytest.raises(TimeoutError, match=r"not ready after 0.01 s; it said: nothing"):
        background.start("sudoku", tmp_path / "server.log", timeout_s=0.01)
    assert {child.pid for child in psutil.Process().children()} == before


def test_importing_is_cheap_and_starts_nothing():
    code = (
        "import sys, helpers.serve.server, helpers.serve.background\n"
        "print(sorted({'torch', 'transformers', 'uvicorn', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
