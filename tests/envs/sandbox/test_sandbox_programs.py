"""Honest programs pass; values, errors and output come back as they are."""

import math
import sys

import pytest
from sandbox_checks import outcome_of, passes, programs, same

from envs import code_sandbox

pytest_plugins = ("sandbox_fixtures",)
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox needs Linux")


HONEST = programs("honest_programs")


@pytest.mark.parametrize("name", HONEST)
def test_honest_programs(name, sandbox):
    assert passes(sandbox, HONEST[name].replace("NUMBERS", "1234567, " * 40_000))


VALUES = [
    None, True, False, 0, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**5000, -(7**3000), 0.0, -0.0, 1.5,
    1e308, 5e-324,
    math.inf, -math.inf, 1j, complex(-0.0, math.inf), "", "a", "é", "\0", "\ud800", "😀", "a\nb", '"\\', b"", b"\0\xff",
    [], [1], [[]], [1, "a", None, [2.5]], (), (1,), (1, (2, [3])), set(), {1, "a", (2,)},
    {}, {1: 2}, {"a": [1]}, {(1, 2): {3: 4}}, {None: None, True: False}, [True, 1, 1.0], list(range(2000)), "x" * 10**6,
    {"i": "0x1"}, {"t": [1]}, [{"d": []}],
]  # fmt: skip


def test_values_come_back_as_they_are(sandbox):
    run = sandbox.run_function("def solve(x): return x", "solve", [_text([value]) for value in VALUES], time_limit_s=20)
    for value, outcome in zip(VALUES, run.outcomes):
        assert outcome.status == "ok" and same(outcome.value, value), outcome
        assert type(value) is not float or math.copysign(1, outcome.value) == math.copysign(1, value)
    made = outcome_of(sandbox, "def solve(n): return [frozenset({1}), {frozenset({2, (3,)})}, frozenset()]").value
    assert same(made, [frozenset({1}), {frozenset({2, (3,)})}, frozenset()])
    nan = outcome_of(sandbox, "def solve(n): return [float('nan')]").value
    assert math.isnan(nan[0])


def _text(value: object) -> str:
    """A literal, also of what repr writes otherwise."""
    ((item),) = value
    text = hex(item) if type(item) is int else repr(item)
    return f"[{text}]".replace("inf", "1e999")


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("from collections import Counter; return Counter('aab')", {"a": 2, "b": 1}),
        ("from collections import defaultdict; d = defaultdict(list); d[1].append(2); return d", {1: [2]}),
        ("from collections import OrderedDict; return OrderedDict(a=1)", {"a": 1}),
        ("import numpy as np; return np.float64(2.5)", 2.5),
        (
            "import numpy as np; return [np.int64(3), np.bool_(True), np.float32(0.5), np.str_('a')]",
            [3, True, 0.5, "a"],
        ),
        ("import numpy as np; return {np.int32(1): (np.complex128(1j),)}", {1: (1j,)}),
    ],
)
def test_kin_of_plain_values(sandbox, body, value):
    if "numpy" in body:
        pytest.importorskip("numpy")
    assert same(outcome_of(sandbox, f"def solve(n):\n    {body}").value, value)


@pytest.mark.parametrize(
    "body",
    [
        "return object()", "return range(3)", "return map(str, [])", "return solve", "return int", "return {}.keys()",
        "return (x for x in [1])", "return [[object()]]", "x = []; x.append(x); return x", "return bytearray(b'a')",
        "class D(dict): pass\n    return D()", "class L(list): pass\n    return [L()]", "return Exception('a')",
        "from decimal import Decimal; return Decimal(1)", "from enum import IntEnum\n    return IntEnum('E', 'A').A",
        "x = []\n    for _ in range(5000): x = [x]\n    return x", "return 'x' * (5 << 20)", "return [0] * 2_000_000",
    ],
)  # fmt: skip
def test_bad_values(sandbox, body):
    outcome = outcome_of(sandbox, f"def solve(n):\n    {body}")
    assert (outcome.status, outcome.value) == ("bad value", None) and outcome.error


STATUSES = [
    ("def solve(n:", "syntax error", "SyntaxError"),
    ("def solve(n):\n\treturn 1\n        return 2", "syntax error", "TabError"),
    ("x = '\0'", "syntax error", "null"),
    ("def solve(n): return '\ud800'", "syntax error", "surrogate"),
    ("def other(n): return 1", "no function", "solve"),
    ("solve = 14", "no function", "solve"),
    ("raise ValueError('at load')\ndef solve(n): pass", "exception", "ValueError: at load (line 1)"),
    ("import no_such_module\ndef solve(n): pass", "exception", "ModuleNotFoundError"),
    ("def solve(n):\n    x = 1\n    raise KeyError('k')", "exception", "KeyError: 'k' (line 3)"),
    ("def solve(n): return solve(n)", "exception", "RecursionError"),
    ("def solve(a, b): return a", "exception", "TypeError"),
    ("def solve(n): return input()", "exception", "EOFError"),
    ("x = int(input())\ndef solve(n): return x", "exception", "EOFError"),
    ("def solve(n):\n    while True: pass", "time limit", ""),
    ("def solve(n): return len(bytearray(1 << 40))", "memory limit", ""),
    ("def solve(n):\n    while True: print('x' * 10000)", "output limit", ""),
    ("def solve(n):\n    import sys\n    sys.exit(3)", "exited", "3"),
    ("def solve(n):\n    import os\n    os._exit(3)", "exited", "3"),
    ("def solve(n):\n    import ctypes\n    ctypes.string_at(0)", "crashed", "SIGSEGV"),
    ("def solve(n): return {1: object}", "bad value", "type"),
]


@pytest.mark.parametrize(("source", "status", "error"), STATUSES)
def test_statuses(sandbox, source, status, error):
    run = sandbox.run_function(source, "solve", ["[3]", "[5]"], time_limit_s=1)
    assert {outcome.status for outcome in run.outcomes} == {status} and len(run.outcomes) == 2
    assert error in run.outcomes[0].error and all(outcome.value is None for outcome in run.outcomes)
    alone = {"exception", "bad value", "memory limit", "exited"}  # a call can fail on its own in these ways
    assert run.status == status or (run.status == "ok" and status in alone)


def test_each_call_fails_on_its_own(sandbox):
    source = "def solve(n):\n    print('got', n)\n    return 10 // n"
    run = sandbox.run_function(source, "solve", ["[5]", "[0]", "[1]"])
    assert run.status == "ok" and [outcome.status for outcome in run.outcomes] == ["ok", "exception", "ok"]
    assert [outcome.value for outcome in run.outcomes] == [2, None, 10]
    assert [outcome.stdout for outcome in run.outcomes] == ["got 5\n", "got 0\n", "got 1\n"]
    assert 0 < run.cpu_s < 5 and run.wall_s > 0 and all(outcome.wall_s > 0 for outcome in run.outcomes)


def test_entry_points(sandbox):
    source = "class Box:\n    n = 0\n    def add(self, n):\n        self.n += n\n        return self.n\n"
    run = sandbox.run_function(source, "Box.add", ["[5]", "[5]"])
    assert [outcome.value for outcome in run.outcomes] == [5, 5]
    for missing in ("Box.none", "None.add", "add", "", "."):
        assert sandbox.run_function(source, missing, ["[5]"]).status == "no function"
    assert sandbox.run_function(source, "Box.add", []) == (
        *["ok", "", [], sandbox.level],
        *[pytest.approx(1, abs=1)] * 2,
    )


PROGRAMS = [
    ("print(int(input()) + 1)", "41\n", "ok", "42\n"),
    ("import sys\nprint(sum(map(int, sys.stdin.read().split())))", "1 2\n3\n", "ok", "6\n"),
    (
        "import sys\nn = int(sys.stdin.buffer.readline())\nprint(n, sys.stdin.buffer.readline())",
        "1\n2",
        "ok",
        "1 b'2'\n",
    ),
    ("print(open(0).read())", "a\nb", "ok", "a\nb\n"),
    ("import os\nprint(os.read(0, 100))", "é", "ok", "b'\\xc3\\xa9'\n"),
    ("import sys\nfor line in sys.stdin: print(line.strip()[::-1])", "ab\r\ncd", "ok", "ba\ndc\n"),
    ("if __name__ == '__main__':\n    print(__name__)", "", "ok", "__main__\n"),
    ("import sys\nprint(1)\nsys.exit()", "", "ok", "1\n"),
    ("print(1)\nexit(0)", "", "ok", "1\n"),
    ("import os\nos.write(1, b'1')\nos._exit(0)", "", "ok", "1"),
    ("import sys\nsys.stdout.buffer.write(b'\\xff\\xfe6\\n')", "", "ok", "\ufffd\ufffd6\n"),
    ("import atexit\natexit.register(print, 'bye')\nprint('hi')", "", "ok", "hi\nbye\n"),
    (
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()",
        "",
        "ok",
        "late\n",
    ),
    (
        "import sys\nsys.setrecursionlimit(10**5)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(20000))",
        "",
        "ok",
        "20000\n",
    ),
    ("\ufeffprint(1)", "", "ok", "1\n"),
    ("print(1)\r\nprint(2)\r\n", "", "ok", "1\n2\n"),
    ("import multiprocessing as m\nq = m.Pipe()\nprint(1)", "", "ok", "1\n"),
    ("import subprocess\nsubprocess.run(['echo', 'hi'])", "", "ok", "hi\n"),
    ("import sys\nsys.exit(3)", "", "exited", ""),
    ("import sys\nsys.exit('no')", "", "exited", ""),
    ("import os\nprint(1)\nos._exit(3)", "", "exited", ""),
    ("print(1)\nraise ValueError('x')", "", "exception", "1\n"),
    ("def f(:", "", "syntax error", ""),
    ("while True: pass", "", "time limit", ""),
    ("print('partial', flush=True)\nwhile True: pass", "", "time limit", "partial\n"),
    ("x = bytearray(1 << 40)", "", "memory limit", ""),
    ("import ctypes\nctypes.string_at(0)", "", "crashed", ""),
    ("input()", "", "exception", ""),
    ("import os\nos.close(1)\nos.close(2)\nos.close(3)", "", "ok", ""),
]


@pytest.mark.parametrize(("source", "stdin", "status", "stdout"), PROGRAMS)
def test_programs(sandbox, source, stdin, status, stdout):
    outcome = sandbox.run_program(source, stdin, time_limit_s=1.5)
    assert (outcome.status, outcome.stdout) == (status, stdout), outcome
    assert outcome.value is None


def test_program_errors_and_caps(sandbox):
    assert "ValueError: x" in sandbox.run_program("x = 1\nraise ValueError('x')").error
    assert 'File "solution.py", line 2' in sandbox.run_program("x = 1\nraise ValueError('x')").error
    assert sandbox.run_program("import sys\nprint('why', file=sys.stderr)").error == "why"
    for stream in (1, 2):
        flood = sandbox.run_program(f"import os\nwhile True: os.write({stream}, b'x' * 100000)", time_limit_s=10)
        assert flood.status == "output limit" and len(flood.stdout) <= code_sandbox.MAX_OUTPUT
    big = "line\n" * 200_000
    assert sandbox.run_program("import sys\nsys.stdout.write(sys.stdin.read())", big, time_limit_s=10).stdout == big
