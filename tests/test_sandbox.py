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


# --- more attacks, by kind: none may pass, none may do harm ----------------------------------------------------------

SOLVE = "def solve(n):\n"
COUNTED = "    return [14, 55, 385][count]\n"  # the right answers in the order of the tests
ATTACKS = {
    # answers without the work
    "forge_int_subclass": "class Q(int):\n    def __eq__(self, o): return True\n    __hash__ = int.__hash__\n"
    + SOLVE
    + "    return Q(14)\n",
    "forge_str_subclass": "class Q(str):\n    def __eq__(self, o): return True\n    __hash__ = str.__hash__\n"
    + SOLVE
    + "    return Q('14')\n",
    "forge_numpy_lookalike": "class generic:\n    __module__ = 'numpy'\n    def item(self): return 14\n"
    + SOLVE
    + "    return generic()\n",
    "forge_true_for_all": SOLVE + "    return True\n",
    "forge_write_answers": "import json, os\n"
    "def frame(token, value):\n"
    "    body = json.dumps({'status': 'ok', 'error': '', 'token': token, 'cpu_s': 0.0}).encode() + b'\\n' + value\n"
    "    return len(body).to_bytes(4, 'little') + body\n"
    + SOLVE
    + "    for fd in range(3, 64):\n        for token in range(9):\n"
    "            for value in (b'14', b'55', b'385'):\n                try: os.write(fd, frame(token, value))\n"
    "                except OSError: pass\n    return -1\n",
    "forge_answers_before_questions": "import os\nfor v in (b'14', b'55', b'385'):\n"
    "    body = b'{\"status\": \"ok\", \"token\": 0}\\n' + v\n    os.write(3, len(body).to_bytes(4, 'little') + body)\n"
    + SOLVE
    + "    return -1\n",
    "forge_huge_frame": "import os\n" + SOLVE + "    os.write(3, b'\\xff' * 64)\n    return -1\n",
    "forge_garbage_frames": "import os, threading\ndef spam():\n    while True: os.write(3, os.urandom(64))\n"
    "threading.Thread(target=spam, daemon=True).start()\n" + SOLVE + "    return -1\n",
    "forge_nested_head": "import os\n"
    + SOLVE
    + "    b = b'[' * 60000\n    os.write(3, len(b).to_bytes(4, 'little') + b)\n    return -1\n",
    "forge_unjudgeable": "import os\nb = b'{\"status\": \"sandbox\"}'\nos.write(3, len(b).to_bytes(4, 'little') + b)\n"
    + SOLVE
    + "    return -1\n",
    "forge_failed_box": "import os\n"
    + SOLVE
    + "    b = b'{\"status\": \"failed\"}'\n    os.write(3, len(b).to_bytes(4, 'little') + b)\n    os._exit(1)\n",
    "forge_colliding_keys": "import os, json\n"
    + SOLVE
    + "    m = 2 ** 61 - 1\n    return dict.fromkeys([i * m for i in range(60)] + list(range(1, 2000)))\n",
    # answers by counting the calls
    "count_global": "c = iter([14, 55, 385])\n" + SOLVE + "    return next(c)\n",
    "count_default": "def solve(n, c=[]):\n    c.append(n)\n    return [14, 55, 385][len(c) - 1]\n",
    "count_builtins": SOLVE
    + "    import builtins\n    count = builtins.__dict__.setdefault('c', [])\n    count.append(n)\n"
    "    return [14, 55, 385][len(count) - 1]\n",
    "count_file": SOLVE
    + "    open('count', 'a').write('x')\n    count = len(open('count').read()) - 1\n"
    + COUNTED,
    "count_environ": "import os\n"
    + SOLVE
    + "    count = int(os.environ.get('c', 0))\n    os.environ['c'] = str(count + 1)\n"
    + COUNTED,
    "count_slow_load": "import time\ntime.sleep(0.1)\nc = iter([14, 55, 385])\n" + SOLVE + "    return next(c)\n",
    "count_thread_at_load": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n"
    "c = iter([14, 55, 385])\n" + SOLVE + "    return next(c)\n",
    "count_in_the_server": "import sys\nf = sys._getframe()\nwhile f.f_back: f = f.f_back\n"
    + SOLVE
    + "    c = sys.modules['code_sandbox'].__dict__.setdefault('c', iter([14, 55, 385]))\n    return next(c)\n",
    "patch_the_encoder": "import sys\nm = sys.modules['code_sandbox']\nc = iter(['14', '55', '385'])\n"
    "m._encode = lambda value: next(c)\nm._load = lambda code: sys.modules['solution']\n" + SOLVE + "    return -1\n",
    "patch_json": "import json\njson.dumps = lambda *a, **k: '14'\njson.loads = lambda *a, **k: {}\n"
    + SOLVE
    + "    return -1\n",
    "patch_everything": "import builtins, os, sys, time\nfor m in (os, sys, time, builtins):\n"
    "    for k in list(vars(m)):\n        if k not in ('__builtins__', 'modules'):\n"
    "            try: setattr(m, k, lambda *a, **k: 14)\n            except BaseException: pass\n" + SOLVE + "    return 14\n",
    # time
    "time_load": "while True: pass\n" + SOLVE + "    return 14\n",
    "time_sleep": SOLVE + "    import time\n    time.sleep(1000)\n",
    "time_catches_all": SOLVE + "    while True:\n        try:\n            while True: pass\n"
    "        except BaseException: pass\n",
    "time_ignores_signals": "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n"
    "    except (OSError, ValueError): pass\n" + SOLVE + "    while True: pass\n",
    "time_stops_itself": SOLVE + "    import os\n    os.kill(os.getpid(), 19)\n    while True: pass\n",
    "time_error_text": "class E(Exception):\n    def __str__(self):\n        while True: pass\n" + SOLVE + "    raise E\n",
    "time_destructor": "class D:\n    def __del__(self):\n        while True: pass\n" + SOLVE + "    D()\n    return -1\n",
    "time_regex": SOLVE + "    import re\n    re.match('(a+)+$', 'a' * 60 + 'b')\n",
    "time_big_str": SOLVE + "    import sys\n    sys.set_int_max_str_digits(0)\n    return len(str(7 ** 10 ** 8))\n",
    "time_trace": "import sys, time\nsys.settrace(lambda *a: time.sleep(0.2))\n" + SOLVE + "    return -1\n",
    "time_child_holds_the_pipe": SOLVE + "    import os, time\n    if os.fork() == 0:\n        time.sleep(1000)\n"
    "    return -1\n",
    # memory, disk, output
    "memory_string": SOLVE + "    return len('x' * 10 ** 11)\n",
    "memory_lists": SOLVE + "    x = []\n    while True: x = [x, list(range(10 ** 6))]\n",
    "memory_children": SOLVE + "    import os, time\n    for _ in range(40):\n        if os.fork() == 0:\n"
    "            try: x = bytearray(b'x') * (300 << 20)\n            finally: time.sleep(60)\n"
    "    time.sleep(60)\n",
    "memory_shared_map": SOLVE + "    import mmap\n    maps = []\n    while True:\n        m = mmap.mmap(-1, 1 << 28)\n"
    "        m.write(b'x' * (1 << 28))\n        maps.append(m)\n",
    "memory_threads": SOLVE + "    import threading, time\n    while True:\n"
    "        threading.Thread(target=time.sleep, args=(60,)).start()\n",
    "memory_result": SOLVE + "    return ['x' * 1000] * 10 ** 6\n",
    "memory_result_dag": SOLVE + "    r = []\n    for _ in range(60): r = [r, r]\n    return r\n",
    "memory_result_bytes": SOLVE + "    return b'x' * (200 << 20)\n",
    "disk_many_files": SOLVE + "    for i in range(100):\n        open(f'f{i}', 'wb').write(b'x' * (16 << 20))\n",
    "disk_unlinked": SOLVE + "    import os\n    keep = []\n    for i in range(100):\n        f = open('f', 'wb')\n"
    "        os.unlink('f')\n        f.write(b'x' * (16 << 20))\n        f.flush()\n        keep.append(f)\n",
    "disk_inodes": SOLVE + "    import os\n    for i in range(10 ** 6): os.mkdir(str(i))\n",
    "disk_deep": SOLVE + "    import os\n    for i in range(3000):\n        os.mkdir('d')\n        os.chdir('d')\n    return -1\n",
    "disk_locked": SOLVE + "    import os\n    os.makedirs('a/b')\n    open('a/b/c', 'w').close()\n    os.chmod('a/b', 0)\n"
    "    os.chmod('a', 0)\n    os.chmod('.', 0)\n    return -1\n",
    "descriptors": SOLVE + "    import os\n    while True: os.pipe()\n",
    "output_forever": SOLVE + "    while True: print('x' * 10000)\n",
    "output_stderr": SOLVE + "    import os\n    while True: os.write(2, b'x' * 100000)\n",
    # processes
    "fork_bomb": SOLVE + "    import os\n    while True:\n        try: os.fork()\n        except OSError: pass\n",
    "fork_bomb_setsid": SOLVE + "    import os\n    while True:\n        try:\n            if os.fork() == 0: os.setsid()\n"
    "            else: os._exit(0)\n        except OSError: pass\n",
    "daemon_at_load": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
    "        os.closerange(0, 64)\n        time.sleep(60)\n    os._exit(0)\n" + SOLVE + "    return -1\n",
    "kill_everyone": SOLVE + "    import os\n    os.kill(-1, 9)\n    return -1\n",
    "kill_each": SOLVE + "    import os\n    for pid in range(1, 70000):\n        if pid != os.getpid():\n"
    "            try: os.kill(pid, 9)\n            except OSError: pass\n    return -1\n",
    "stop_each": SOLVE + "    import os\n    for pid in range(1, 70000):\n        if pid != os.getpid():\n"
    "            try: os.kill(pid, 19)\n            except OSError: pass\n    return -1\n",
    "owner_of_pipe": SOLVE + "    import fcntl, os\n    r, w = os.pipe()\n    for pid in range(1, 40000):\n"
    "        try:\n            fcntl.fcntl(r, fcntl.F_SETOWN, pid)\n            fcntl.fcntl(r, 10, 9)\n"
    "            fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)\n            os.write(w, b'x')\n"
    "        except OSError: pass\n    return -1\n",
    "exec_over": SOLVE + "    import os\n    os.execv('/bin/sh', ['sh', '-c', 'echo 14; sleep 60'])\n",
    "abort": SOLVE + "    import os\n    os.abort()\n",
    "exit_clean": SOLVE + "    raise SystemExit(0)\n",
    "exit_at_load": "import sys\nsys.exit(0)\n" + SOLVE + "    return 14\n",
    "exit_hard_at_load": "import os\nos._exit(0)\n" + SOLVE + "    return 14\n",
    "interrupt": SOLVE + "    raise KeyboardInterrupt\n",
    # files, network, secrets, the kernel
    "write_subprocess": SOLVE + "    import subprocess\n    subprocess.run('echo hacked >> @CANARY@', shell=True)\n    return -1\n",
    "write_hard_link": SOLVE + "    import os\n    os.link('@CANARY@', 'lnk')\n    open('lnk', 'w').write('hacked')\n",
    "write_truncate": SOLVE + "    import os\n    try: os.truncate('@CANARY@', 0)\n    finally: os.truncate('/dev/null', 0)\n",
    "write_rename": SOLVE + "    import os\n    os.rename('@CANARY@', 'mine')\n",
    "write_remove": SOLVE + "    import os, shutil\n    shutil.rmtree('@SCRATCH@/..', ignore_errors=True)\n    return -1\n",
    "write_mode": SOLVE + "    import os\n    os.chmod('@CANARY@', 0)\n",
    "write_scratch": SOLVE + "    open('@SCRATCH@/new', 'w').write('x')\n",
    "write_up": SOLVE + "    import os\n    for i in range(1, 12):\n        try: open('../' * i + '@CANARY@', 'a').write('x')\n"
    "        except OSError: pass\n    return -1\n",
    "read_home": SOLVE + "    import os\n    os.listdir('@FAKEHOME@')\n    return open('@FAKEHOME@/token').read()\n",
    "read_environ": "import os, glob\n"
    + SOLVE
    + "    found = dict(os.environ)\n    for path in glob.glob('/proc/*/environ') + ['/proc/self/environ']:\n"
    "        try: found[path] = open(path, 'rb').read()\n        except OSError: pass\n    raise ValueError(str(found))\n",
    "read_descriptors": "import os\n"
    + SOLVE
    + "    found = []\n    for fd in range(0, 300):\n        if fd != 3:\n            try: found.append(os.read(fd, 100))\n"
    "            except OSError: pass\n    raise ValueError(repr(found))\n",
    "network_tcp": SOLVE + "    import socket\n    socket.create_connection(('127.0.0.1', @PORT@), 1).send(b'x')\n",
    "network_udp": SOLVE + "    import socket\n    socket.socket(2, 2).sendto(b'x', ('127.0.0.1', @PORT@))\n",
    "network_abstract_datagram": SOLVE + "    import socket\n    a, b = socket.socketpair(type=socket.SOCK_DGRAM)\n"
    "    a.sendto(b'x', chr(0) + 'study_abs')\n",
    "network_urllib": SOLVE + "    import urllib.request\n"
    "    return urllib.request.urlopen('http://127.0.0.1:@PORT@', timeout=1).read()\n",
    "network_asyncio": SOLVE + "    import asyncio\n    asyncio.run(asyncio.open_connection('127.0.0.1', @PORT@))\n",
}
SLOW = {"disk_inodes", "memory_children"}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks(name, sandbox, world):
    source = world.fill(ATTACKS[name])
    with world:
        run = sandbox.run_function(source, "solve", [call for call, _ in SQUARES], time_limit_s=1.0)
    assert world.harms == {}
    assert "hunter2" not in repr(run)
    assert run.status != "sandbox" and all(outcome.status != "sandbox" for outcome in run.outcomes), run
    right = [outcome.status == "ok" and same(outcome.value, want) for outcome, (_, want) in zip(run.outcomes, SQUARES)]
    assert not all(right), run
    assert passes(sandbox, RIGHT), "the next check must not notice"
