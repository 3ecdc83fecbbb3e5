"""The sandbox and the process that calls it: threads, signals, forks, endings."""

import ast
import asyncio
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sandbox_checks import (
    FOLDER,
    RIGHT,
    below,
    gone,
    outcome_of,
    run_script,
)

from envs.code_sandbox import Sandbox, SandboxError

pytest_plugins = ("sandbox_fixtures",)
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox needs Linux")


def test_from_threads(sandbox):
    """64 at once give what one by one gives."""

    def one(i: int):
        if i % 8 == 7:
            return outcome_of(sandbox, "def solve(n):\n    import os\n    os._exit(1)").status
        return outcome_of(sandbox, f"def solve(n): return n + {i}", f"[{i}]").value

    with ThreadPoolExecutor(64) as pool:
        found = list(pool.map(one, range(64)))
    assert found == ["exited" if i % 8 == 7 else 2 * i for i in range(64)]


def test_the_source_is_where_programs_look_for_it(sandbox):
    source = (
        "import inspect, traceback\ndef solve(n):\n    try:\n        n / 0\n    except ZeroDivisionError:\n"
        "        return [inspect.getsource(solve), traceback.format_exc()]\n"
    )
    text, trace = outcome_of(sandbox, source).value
    assert text == source.partition("\n")[2] and "n / 0" in trace and "line 4" in trace
    program = sandbox.run_program("x = 0\nprint(1 / x)  # by nothing\n")
    assert "print(1 / x)  # by nothing" in program.error


def test_inside_a_running_event_loop(sandbox):
    async def main():
        direct = outcome_of(sandbox, "def solve(n): return n").value
        apart = await asyncio.gather(
            *(asyncio.to_thread(outcome_of, sandbox, "def solve(n): return n") for _ in range(4))
        )
        return [direct, *(outcome.value for outcome in apart)]

    assert asyncio.run(main()) == [3] * 5


def test_signals_of_the_caller_are_left_alone(sandbox):
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        assert outcome_of(sandbox, "import time\ndef solve(n):\n    time.sleep(0.4)\n    return n").value == 3
    finally:
        signal.signal(signal.SIGALRM, before)
    assert rung == [1]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_check_dies_with_its_caller(sandbox, tmp_path, number):
    body = f'''
sandbox = Sandbox(level={sandbox.level!r})
print("ready", flush=True)
source = """
import os, time
def solve(n):
    for _ in range(3):
        if os.fork() == 0: os.setsid()
    time.sleep(60)
"""
sandbox.run_function(source, "solve", ["[1]"], time_limit_s=60)
'''
    folders = set(Path("/tmp").glob("code-sandbox-*"))
    caller = run_script(tmp_path, body, stderr=subprocess.DEVNULL)
    assert caller.stdout.readline() == b"ready\n"
    end = time.monotonic() + 20
    while len(below(caller.pid)) < 6 and time.monotonic() < end:
        time.sleep(0.05)
    everyone = below(caller.pid)
    assert len(everyone) >= 6  # keeper, server, box and its children
    caller.send_signal(number)
    caller.wait()
    assert gone(everyone)
    assert set(Path("/tmp").glob("code-sandbox-*")) <= folders


@pytest.mark.parametrize("whom", ["keeper", "server"])
def test_a_killed_server_is_replaced(whom, tmp_path, sandbox):
    with Sandbox(level=sandbox.level) as mine:
        keeper = next(iter(mine._servers.values()))._process.pid
        (server,) = (int(pid) for pid in Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split())
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(outcome_of, mine, "import time\ndef solve(n):\n    time.sleep(1)\n    return n")
            time.sleep(0.3)
            os.kill({"keeper": keeper, "server": server}[whom], signal.SIGKILL)
            assert running.result().value == 3  # tried again
        assert outcome_of(mine, "def solve(n): return n").value == 3
        assert gone({server})


def test_after_a_fork_the_child_has_a_server_of_its_own(sandbox):
    assert outcome_of(sandbox, "def solve(n): return n").value == 3
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, str(outcome_of(sandbox, "def solve(n): return n + 1").value).encode())
            for (owner, _), server in sandbox._servers.items():
                if owner == os.getpid():
                    server.stop()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    os.close(write)
    assert os.read(read, 10) == b"4"
    os.close(read)
    assert outcome_of(sandbox, "def solve(n): return n").value == 3


def test_nothing_grows(sandbox):
    """Neither descriptors nor processes nor zombies, after endings of every kind."""
    endings = [
        RIGHT,
        "def solve(n):\n    while True: pass",
        "def solve(n):\n    import os\n    os._exit(0)",
        "def solve(",
        "import os\nfor _ in range(3): os.fork()\ndef solve(n): return 1",
    ]
    for source in endings:
        sandbox.run_function(source, "solve", ["[3]"], time_limit_s=0.05)
    before = len(os.listdir("/proc/self/fd")), len(below(os.getpid())), threading.active_count()
    for _ in range(8):
        for source in endings:
            sandbox.run_function(source, "solve", ["[3]"], time_limit_s=0.05)
            sandbox.run_program(source, "3", time_limit_s=0.05)
    assert (len(os.listdir("/proc/self/fd")), len(below(os.getpid())), threading.active_count()) == before


def test_closing():
    made = Sandbox(level=_some_level())
    pids = below(os.getpid())
    made.close()
    made.close()
    assert gone(pids - below(os.getpid()))
    with pytest.raises(SandboxError, match="closed"):
        made.run_program("print(1)")


def _some_level() -> str:
    for level in ("namespaces", "landlock"):
        try:
            Sandbox(level=level).close()
            return level
        except SandboxError:
            pass
    pytest.skip("nothing isolates here")


def test_a_forgotten_sandbox_takes_its_server_along():
    made = Sandbox(level=_some_level())
    pids = {server._process.pid for server in made._servers.values()}
    del made
    assert gone(pids)


def test_uses_only_the_standard_library():
    names = Counter()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names[node.module.split(".")[0]] += 1
    assert len(names) > 9 and set(names) <= sys.stdlib_module_names


def test_memory_of_the_caller_does_not_follow_the_programs(sandbox):
    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = peak()
    for body in (
        "return ['x' * 100] * 10 ** 6",
        "import os\n    while True: os.write(1, b'x' * 10 ** 6)",
        "return b'x' * 10 ** 8",
    ):
        outcome_of(sandbox, f"def solve(n):\n    {body}", time_limit_s=2)
    assert peak() - before < 100_000  # KiB
