"""The sandbox: hostile programs do no harm and earn nothing, honest ones pass, at every level that this machine offers.

Programs come from the shared suite where it is present, and from the tables below, by kind of attack.
"""

import ast
import asyncio
import json
import math
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from envs import code_sandbox
from envs.code_sandbox import Sandbox, SandboxError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox needs Linux")

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT.parent / "shared" / "data" / "sandbox_attacks"
LIMIT_S = 3.0
SQUARES = [("[3]", 14), ("[5]", 55), ("[10]", 385)]
RIGHT = "def solve(n):\n    return sum(i * i for i in range(1, n + 1))\n"


def _sandbox_at(level: str) -> Sandbox:
    try:
        return Sandbox(level=level, allow_unisolated=level == "none")
    except SandboxError as error:
        pytest.skip(f"level {level} is not to be had here: {error}")


@pytest.fixture(scope="module", params=["namespaces", "landlock"])
def sandbox(request):
    with _sandbox_at(request.param) as made:
        yield made


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


# --- harms, by name ----------------------------------------------------------------------------------------------


def family(pid: int) -> dict[int, int]:
    """Process number -> bytes of memory, of everything below `pid`, and of everything that runs as a user of a box."""
    parents, users = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            parents[int(name)] = int(fields[1])
            users[int(name)] = os.stat(f"/proc/{name}").st_uid
        except OSError:
            continue
    found = {one for one, user in users.items() if 50_000 <= user < 59_100}
    for one in parents:
        line = one
        while line in parents and line != pid:
            line = parents[line]
        if line == pid and one != pid:
            found.add(one)
    return {one: _pss(one) for one in found}


def _pss(pid: int) -> int:
    """Bytes of memory, those that several processes share divided between them."""
    try:
        line = next(line for line in open(f"/proc/{pid}/smaps_rollup") if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0
    return 1024 * int(line.split()[1])


class World:
    """What a program could harm, and whether it did."""

    def __init__(self, folder: Path, sandbox: Sandbox):
        self.folder, self.sandbox = folder, sandbox
        self.scratch, self.home = folder / "scratch", folder / "home"
        self.scratch.mkdir()
        self.home.mkdir()
        self.canary = folder / "canary.txt"
        self.canary.write_text("alive")
        self.canary.chmod(0o666)  # so that only the sandbox protects it
        folder.chmod(0o777)
        (self.home / "token").write_text("hunter2-from-home")
        self.listeners = [socket.socket(socket.AF_UNIX), socket.socket(socket.AF_INET)]
        self.listeners[0].bind("\0study_abs")
        self.listeners[1].bind(("127.0.0.1", 0))
        for listener in self.listeners:
            listener.listen()
            listener.setblocking(False)
        self.port = self.listeners[1].getsockname()[1]

    def fill(self, source: str) -> str:
        marks = {"@CANARY@": self.canary, "@FAKEHOME@": self.home, "@SCRATCH@": self.scratch, "@PORT@": self.port}
        for mark, value in marks.items():
            source = source.replace(mark, str(value))
        return source

    def __enter__(self) -> "World":
        self.before = self._state()
        self.servers = {server._process.pid for server in self.sandbox._servers.values()}
        self.peak, self._watching = 0, True
        self._watch = threading.Thread(target=self._sample)
        self._watch.start()
        self.start = time.monotonic()
        return self

    def _sample(self) -> None:
        while self._watching:
            self.peak = max(self.peak, sum(family(os.getpid()).values()))
            time.sleep(0.05)

    def _state(self) -> tuple:
        mask = os.umask(0o22)
        os.umask(mask)
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM, signal.SIGTERM)]
        modules = {name: id(sys.modules.get(name)) for name in ("json", "os", "builtins", "signal")}
        builtins = [id(x) for x in (len, isinstance, all, any, abs, sum, type, repr, str, open)]
        return os.getcwd(), mask, dict(os.environ), handlers, modules, builtins, list(sys.path), id(sys.stdout)

    def __exit__(self, *failure) -> None:
        self.elapsed = time.monotonic() - self.start
        self._watching = False
        self._watch.join()
        for listener in self.listeners:
            listener.close() if failure[0] else None
        if failure[0]:
            return
        self.harms = dict(self._harms())
        for listener in self.listeners:
            listener.close()

    def _harms(self):
        if self.canary.read_text() != "alive" or os.listdir(self.scratch) or os.listdir(self.home) != ["token"]:
            yield "canary_changed", sorted(map(str, self.folder.rglob("*")))
        if left := self._survivors():
            yield "procs_left", left
        if self.peak > 1 << 30:
            yield "memory", self.peak
        if shutil.disk_usage(self.folder).free < 1 << 30:
            yield "disk", "full"
        for listener in self.listeners:
            try:
                listener.accept()
                yield "network", listener.getsockname()
            except BlockingIOError:
                pass
        if self._state() != self.before:
            yield "harness_tampered", self.before
        if not all(server.alive() for server in self.sandbox._servers.values()):
            yield "harness_killed", "server"
        if not self.servers <= {server._process.pid for server in self.sandbox._servers.values()}:
            yield "harness_killed", "server replaced"

    def _survivors(self) -> dict[int, int]:
        """Processes that are neither a server nor its keeper."""
        ours = {server._process.pid for server in self.sandbox._servers.values()}
        for _ in range(20):
            left = family(os.getpid())
            left = {pid for pid in left if pid not in ours and _parent(pid) not in ours}
            if not left:
                return {}
            time.sleep(0.01)
        return {pid: _command(pid) for pid in left}


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") + Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "gone"


@pytest.fixture
def world(sandbox, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2-from-environ")
    for parent in tmp_path.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)
    return World(tmp_path, sandbox)


# --- the shared suite ----------------------------------------------------------------------------------------------


def _suite() -> list[dict]:
    if not (SUITE / "attacks.jsonl").is_file():
        return []
    return [json.loads(line) for line in (SUITE / "attacks.jsonl").read_text().splitlines()]


def _literal(text: str) -> object:
    return eval(text, {"__builtins__": {"list": list, "range": range}})  # the suite writes long lists so


@pytest.mark.skipif(not _suite(), reason=f"{SUITE} is absent")
@pytest.mark.parametrize("case", _suite(), ids=lambda case: case["id"])
def test_shared_suite(case, sandbox, world, capfd):
    source = (SUITE / case["file"]).read_bytes().decode("utf-8", "surrogatepass")
    source = world.fill(source)
    with world:
        if case["kind"] == "stdio":
            ran = [sandbox.run_program(source, test["stdin"], time_limit_s=LIMIT_S) for test in case["tests"]]
            passed = all(r.status == "ok" and r.stdout == t["stdout"] for r, t in zip(ran, case["tests"]))
        else:
            tests = [(repr(_literal(test["args"])), _literal(test["expected"])) for test in case["tests"]]
            passed = passes(sandbox, source, tests, case["entry"])
    assert world.harms == {}
    assert world.elapsed < LIMIT_S * (1 if case["group"] != "benign" else 3) + 2
    assert "FORGED_MARKER" not in capfd.readouterr().out
    assert case["expect"] == "any" or passed == (case["expect"] == "pass")
