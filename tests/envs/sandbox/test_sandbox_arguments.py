"""Levels that are not to be had, and arguments that make no sense."""

import ast
import math
import os
import sys

import pytest
from sandbox_checks import (
    RIGHT,
    below,
    outcome_of,
    passes,
    same,
    sandbox_at,
)

from envs import code_sandbox
from envs.code_sandbox import Sandbox, SandboxError, interface

pytest_plugins = ("sandbox_fixtures",)
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox needs Linux")


def test_refuses_where_nothing_isolates(monkeypatch):
    with pytest.raises(SandboxError, match="allow_unisolated"):
        Sandbox(level="none")
    monkeypatch.setattr(interface, "LEVELS", ("none",))
    with pytest.raises(SandboxError, match="allow_unisolated"):
        Sandbox()


def test_falls_to_the_next_level_and_says_what_is_lost(monkeypatch):
    real, refused = interface.Server, set()

    def server(level, *rest):
        if level in refused:
            raise SandboxError("not here")
        return real(level, *rest)

    monkeypatch.setattr(interface, "Server", server)
    monkeypatch.setattr(interface, "_warned", set())
    for level, lost in (("landlock", "/tmp is not private"), ("none", "run as you")):
        refused.add(code_sandbox.LEVELS[code_sandbox.LEVELS.index(level) - 1])
        try:
            with pytest.warns(RuntimeWarning, match=lost) as seen, Sandbox(allow_unisolated=True) as made:
                assert made.level == level
                Sandbox(allow_unisolated=True).close()
                assert outcome_of(made, RIGHT).level == level
        except pytest.fail.Exception:
            if os.getuid() == 0:
                raise
            pytest.skip("landlock needs root")
        assert len(seen) == 1


def test_unisolated_still_limits(tmp_path):
    with sandbox_at("none") as made:
        assert passes(made, RIGHT)
        assert outcome_of(made, "def solve(n):\n    while True: pass", time_limit_s=0.3).status == "time limit"
        before = below(os.getpid())
        survivor = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\ndef solve(n): return 1"
        assert outcome_of(made, survivor).value == 1
        assert below(os.getpid()) == before
        kill = "import os\ndef solve(n): os.kill(os.getppid(), 9)"
        assert outcome_of(made, kill).status == "exception"
        assert outcome_of(made, "import socket\ndef solve(n): socket.socket()").status == "exception"


def test_not_on_other_systems(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxError, match="needs Linux and this is darwin"):
        Sandbox()


@pytest.mark.parametrize("knobs", [{"level": "chroot"}, {"memory_mb": 0}, {"memory_mb": "512"}, {"memory_mb": 1.5}])
def test_bad_knobs(knobs):
    with pytest.raises(ValueError, match=str(next(iter(knobs.values())))):
        Sandbox(**knobs)


@pytest.mark.parametrize("call", ["3", "[x]", "[1", "", "{'a': 1}", "[open('x')]", "__import__('os')", "[1] + [2]"])
def test_bad_calls(sandbox, call):
    with pytest.raises(ValueError, match="call"):
        sandbox.run_function(RIGHT, "solve", [call])


def test_bad_arguments(sandbox):
    with pytest.raises(TypeError, match="source is bytes"):
        sandbox.run_function(b"", "solve", [])
    with pytest.raises(TypeError, match="call is list"):
        sandbox.run_function(RIGHT, "solve", [[3]])
    with pytest.raises(TypeError, match="stdin is NoneType"):
        sandbox.run_program("", None)
    for limit in (0, -1, math.inf, math.nan):
        with pytest.raises(ValueError, match="time_limit_s"):
            sandbox.run_program("", time_limit_s=limit)


def test_number_lists_read_as_python_reads_them():
    for text in [
        "[3]",
        "[-1, [2,3 , [ ]]]",
        "[00]",
        "[01]",
        "[1,]",
        "[]",
        "[[1], 2, -3]",
        "[1 2]",
        "[--1]",
        "[9" + "9" * 30 + "]",
    ]:
        try:
            want = ast.literal_eval(text)
        except (SyntaxError, ValueError):
            assert interface._number_lists(text) is None
        else:
            got = interface._number_lists(text)
            assert got is None or same(got, want)
