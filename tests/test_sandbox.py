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
import struct
import subprocess
import sys
import threading
import time
import types
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from envs import code_sandbox
from envs.code_sandbox import Sandbox, SandboxError, check, interface, resources, syscalls

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox needs Linux")

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(code_sandbox.__file__).parent
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


def family(pid: int, uids: range) -> dict[int, int]:
    """Process number -> bytes of memory, of everything below `pid`, and of everything that runs as a user of a box."""
    parents, users = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            parents[int(name)] = int(fields[1])
            users[int(name)] = os.stat(f"/proc/{name}").st_uid
        except OSError:
            continue
    found = {one for one, user in users.items() if user in uids}
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
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


class World:
    """What a program could harm, and whether it did."""

    def __init__(self, folder: Path, sandbox: Sandbox):
        self.folder, self.sandbox = folder, sandbox
        user = int(sandbox.run_program("import os\nprint(os.getuid())").stdout)
        first = user - (user - resources.FIRST_UID) % (code_sandbox.MAX_TASKS + 1)
        self.uids = range(first, first + code_sandbox.MAX_TASKS) if user < resources.LAST_UID + 100 else range(0)
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
        self.others = set(family(os.getpid(), self.uids))  # such as the servers of sandboxes in other tests
        self.peak, self._watching = 0, True
        self._watch = threading.Thread(target=self._sample)
        self._watch.start()
        self.start = time.monotonic()
        return self

    def _sample(self) -> None:
        while self._watching:
            self.peak = max(self.peak, sum(family(os.getpid(), self.uids).values()))
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
        for _ in range(1500):  # files may still be on their way out
            left = family(os.getpid(), self.uids)
            left = {pid for pid in left if pid not in ours | self.others and _parent(pid) not in ours}
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
def test_shared_suite(case, sandbox, world, capfd, monkeypatch):
    if case["expect"] == "fail":
        monkeypatch.setattr(check, "MAX_STRETCH", 1)
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
    busy = 1 if os.getloadavg()[0] < 2 * len(os.sched_getaffinity(0)) else 6  # then even making a box takes seconds
    assert world.elapsed < busy * (LIMIT_S * (3 if case["group"] == "benign" else 1) + 2)
    assert "FORGED_MARKER" not in capfd.readouterr().out
    assert case["expect"] == "any" or passed == (case["expect"] == "pass")


# --- more attacks, by kind: none may pass, none may do harm ----------------------------------------------------------

ATTACKS = {
    # answers without the work
    "forge_int_subclass": r"""
class Q(int):
    def __eq__(self, o): return True
    __hash__ = int.__hash__
def solve(n):
    return Q(14)
""",
    "forge_str_subclass": r"""
class Q(str):
    def __eq__(self, o): return True
    __hash__ = str.__hash__
def solve(n):
    return Q('14')
""",
    "forge_numpy_lookalike": r"""
class generic:
    __module__ = 'numpy'
    def item(self): return 14
def solve(n):
    return generic()
""",
    "forge_true_for_all": r"""
def solve(n):
    return True
""",
    "forge_write_answers": r"""
import json, os
def frame(token, value):
    body = json.dumps({'status': 'ok', 'error': '', 'token': token, 'cpu_s': 0.0}).encode() + b'\n' + value
    return len(body).to_bytes(4, 'little') + body
def solve(n):
    for fd in range(3, 64):
        for token in range(9):
            for value in (b'14', b'55', b'385'):
                try: os.write(fd, frame(token, value))
                except OSError: pass
    return -1
""",
    "forge_answers_before_questions": r"""
import os
for v in (b'14', b'55', b'385'):
    body = b'{"status": "ok", "token": 0}\n' + v
    os.write(3, len(body).to_bytes(4, 'little') + body)
def solve(n):
    return -1
""",
    "forge_huge_frame": r"""
import os
def solve(n):
    os.write(3, b'\xff' * 64)
    return -1
""",
    "forge_garbage_frames": r"""
import os, threading
def spam():
    while True: os.write(3, os.urandom(64))
threading.Thread(target=spam, daemon=True).start()
def solve(n):
    return -1
""",
    "forge_nested_head": r"""
import os
def solve(n):
    b = b'[' * 60000
    os.write(3, len(b).to_bytes(4, 'little') + b)
    return -1
""",
    "forge_unjudgeable": r"""
import os
b = b'{"status": "sandbox"}'
os.write(3, len(b).to_bytes(4, 'little') + b)
def solve(n):
    return -1
""",
    "forge_failed_box": r"""
import os
def solve(n):
    b = b'{"status": "failed"}'
    os.write(3, len(b).to_bytes(4, 'little') + b)
    os._exit(1)
""",
    "forge_colliding_keys": r"""
import os, json
def solve(n):
    m = 2 ** 61 - 1
    return dict.fromkeys([i * m for i in range(60)] + list(range(1, 2000)))
""",
    # answers by counting the calls
    "count_global": r"""
c = iter([14, 55, 385])
def solve(n):
    return next(c)
""",
    "count_default": r"""
def solve(n, c=[]):
    c.append(n)
    return [14, 55, 385][len(c) - 1]
""",
    "count_builtins": r"""
def solve(n):
    import builtins
    count = builtins.__dict__.setdefault('c', [])
    count.append(n)
    return [14, 55, 385][len(count) - 1]
""",
    "count_file": r"""
def solve(n):
    open('count', 'a').write('x')
    count = len(open('count').read()) - 1
    return [14, 55, 385][count]
""",
    "count_environ": r"""
import os
def solve(n):
    count = int(os.environ.get('c', 0))
    os.environ['c'] = str(count + 1)
    return [14, 55, 385][count]
""",
    "count_slow_load": r"""
import time
time.sleep(0.1)
c = iter([14, 55, 385])
def solve(n):
    return next(c)
""",
    "count_thread_at_load": r"""
import threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
c = iter([14, 55, 385])
def solve(n):
    return next(c)
""",
    "count_in_the_server": r"""
import sys
f = sys._getframe()
while f.f_back: f = f.f_back
def solve(n):
    c = sys.modules['code_sandbox.server'].__dict__.setdefault('c', iter([14, 55, 385]))
    return next(c)
""",
    "patch_the_encoder": r"""
import sys
m = sys.modules['code_sandbox.box']
c = iter(['14', '55', '385'])
assert m.encode and m._load
m.encode = lambda value: next(c)
m._load = lambda code, loader: sys.modules['solution']
def solve(n):
    return -1
""",
    "patch_json": r"""
import json
json.dumps = lambda *a, **k: '14'
json.loads = lambda *a, **k: {}
def solve(n):
    return -1
""",
    "patch_everything": r"""
import builtins, os, sys, time
for m in (os, sys, time, builtins):
    for k in list(vars(m)):
        if k not in ('__builtins__', 'modules'):
            try: setattr(m, k, lambda *a, **k: 14)
            except BaseException: pass
def solve(n):
    return 14
""",
    # time
    "time_load": r"""
while True: pass
def solve(n):
    return 14
""",
    "time_sleep": r"""
def solve(n):
    import time
    time.sleep(1000)
""",
    "time_catches_all": r"""
def solve(n):
    while True:
        try:
            while True: pass
        except BaseException: pass
""",
    "time_ignores_signals": r"""
import signal
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
def solve(n):
    while True: pass
""",
    "time_stops_itself": r"""
def solve(n):
    import os
    os.kill(os.getpid(), 19)
    while True: pass
""",
    "time_error_text": r"""
class E(Exception):
    def __str__(self):
        while True: pass
def solve(n):
    raise E
""",
    "time_destructor": r"""
class D:
    def __del__(self):
        while True: pass
def solve(n):
    D()
    return -1
""",
    "time_regex": r"""
def solve(n):
    import re
    re.match('(a+)+$', 'a' * 60 + 'b')
""",
    "time_big_str": r"""
def solve(n):
    import sys
    sys.set_int_max_str_digits(0)
    return len(str(7 ** 10 ** 8))
""",
    "time_trace": r"""
import sys, time
sys.settrace(lambda *a: time.sleep(0.2))
def solve(n):
    return -1
""",
    "time_child_holds_the_pipe": r"""
def solve(n):
    import os, time
    if os.fork() == 0:
        time.sleep(1000)
    return -1
""",
    # memory, disk, output
    "memory_string": r"""
def solve(n):
    return len('x' * 10 ** 11)
""",
    "memory_lists": r"""
def solve(n):
    x = []
    while True: x = [x, list(range(10 ** 6))]
""",
    "memory_children": r"""
def solve(n):
    import os, time
    for _ in range(40):
        if os.fork() == 0:
            try: x = bytearray(b'x') * (300 << 20)
            finally: time.sleep(60)
    time.sleep(60)
""",
    "memory_shared_map": r"""
def solve(n):
    import mmap
    maps = []
    while True:
        m = mmap.mmap(-1, 1 << 28)
        m.write(b'x' * (1 << 28))
        maps.append(m)
""",
    "memory_threads": r"""
def solve(n):
    import threading, time
    while True:
        threading.Thread(target=time.sleep, args=(60,)).start()
""",
    "memory_result": r"""
def solve(n):
    return ['x' * 1000] * 10 ** 6
""",
    "memory_result_dag": r"""
def solve(n):
    r = []
    for _ in range(60): r = [r, r]
    return r
""",
    "memory_result_bytes": r"""
def solve(n):
    return b'x' * (200 << 20)
""",
    "disk_many_files": r"""
def solve(n):
    for i in range(100):
        open(f'f{i}', 'wb').write(b'x' * (16 << 20))
""",
    "disk_unlinked": r"""
def solve(n):
    import os
    keep = []
    for i in range(100):
        f = open('f', 'wb')
        os.unlink('f')
        f.write(b'x' * (16 << 20))
        f.flush()
        keep.append(f)
""",
    "disk_inodes": r"""
def solve(n):
    import os
    for i in range(10 ** 6): os.mkdir(str(i))
""",
    "disk_deep": r"""
def solve(n):
    import os
    for i in range(3000):
        os.mkdir('d')
        os.chdir('d')
    return -1
""",
    "disk_locked": r"""
def solve(n):
    import os
    os.makedirs('a/b')
    open('a/b/c', 'w').close()
    os.chmod('a/b', 0)
    os.chmod('a', 0)
    os.chmod('.', 0)
    return -1
""",
    "descriptors": r"""
def solve(n):
    import os
    while True: os.pipe()
""",
    "output_forever": r"""
def solve(n):
    while True: print('x' * 10000)
""",
    "output_stderr": r"""
def solve(n):
    import os
    while True: os.write(2, b'x' * 100000)
""",
    # processes
    "fork_bomb": r"""
def solve(n):
    import os
    while True:
        try: os.fork()
        except OSError: pass
""",
    "fork_bomb_setsid": r"""
def solve(n):
    import os
    while True:
        try:
            if os.fork() == 0: os.setsid()
            else: os._exit(0)
        except OSError: pass
""",
    "daemon_at_load": r"""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        time.sleep(60)
    os._exit(0)
def solve(n):
    return -1
""",
    "kill_everyone": r"""
def solve(n):
    import os
    os.kill(-1, 9)
    return -1
""",
    "kill_each": r"""
def solve(n):
    import os
    for pid in range(1, 70000):
        if pid != os.getpid():
            try: os.kill(pid, 9)
            except OSError: pass
    return -1
""",
    "stop_each": r"""
def solve(n):
    import os
    for pid in range(1, 70000):
        if pid != os.getpid():
            try: os.kill(pid, 19)
            except OSError: pass
    return -1
""",
    "owner_of_pipe": r"""
def solve(n):
    import fcntl, os
    r, w = os.pipe()
    for pid in range(1, 40000):
        try:
            fcntl.fcntl(r, fcntl.F_SETOWN, pid)
            fcntl.fcntl(r, 10, 9)
            fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)
            os.write(w, b'x')
        except OSError: pass
    return -1
""",
    "exec_over": r"""
def solve(n):
    import os
    os.execv('/bin/sh', ['sh', '-c', 'echo 14; sleep 60'])
""",
    "abort": r"""
def solve(n):
    import os
    os.abort()
""",
    "exit_clean": r"""
def solve(n):
    raise SystemExit(0)
""",
    "exit_at_load": r"""
import sys
sys.exit(0)
def solve(n):
    return 14
""",
    "exit_hard_at_load": r"""
import os
os._exit(0)
def solve(n):
    return 14
""",
    "interrupt": r"""
def solve(n):
    raise KeyboardInterrupt
""",
    # files, network, secrets
    "write_subprocess": r"""
def solve(n):
    import subprocess
    subprocess.run('echo hacked >> @CANARY@', shell=True)
    return -1
""",
    "write_hard_link": r"""
def solve(n):
    import os
    os.link('@CANARY@', 'lnk')
    open('lnk', 'w').write('hacked')
""",
    "write_truncate": r"""
def solve(n):
    import os
    try: os.truncate('@CANARY@', 0)
    finally: os.truncate('/dev/null', 0)
""",
    "write_rename": r"""
def solve(n):
    import os
    os.rename('@CANARY@', 'mine')
""",
    "write_remove": r"""
def solve(n):
    import os, shutil
    shutil.rmtree('@SCRATCH@/..', ignore_errors=True)
    return -1
""",
    "write_mode": r"""
def solve(n):
    import os
    os.chmod('@CANARY@', 0)
""",
    "write_scratch": r"""
def solve(n):
    open('@SCRATCH@/new', 'w').write('x')
""",
    "write_up": r"""
def solve(n):
    import os
    for i in range(1, 12):
        try: open('../' * i + '@CANARY@', 'a').write('x')
        except OSError: pass
    return -1
""",
    "read_home": r"""
def solve(n):
    import os
    os.listdir('@FAKEHOME@')
    return open('@FAKEHOME@/token').read()
""",
    "read_environ": r"""
import os, glob
def solve(n):
    found = dict(os.environ)
    for path in glob.glob('/proc/*/environ') + ['/proc/self/environ']:
        try: found[path] = open(path, 'rb').read()
        except OSError: pass
    raise ValueError(str(found))
""",
    "read_descriptors": r"""
import os
def solve(n):
    found = []
    for fd in range(0, 300):
        if fd != 3:
            try: found.append(os.read(fd, 100))
            except OSError: pass
    raise ValueError(repr(found))
""",
    "network_tcp": r"""
def solve(n):
    import socket
    socket.create_connection(('127.0.0.1', @PORT@), 1).send(b'x')
""",
    "network_udp": r"""
def solve(n):
    import socket
    socket.socket(2, 2).sendto(b'x', ('127.0.0.1', @PORT@))
""",
    "network_abstract_datagram": r"""
def solve(n):
    import socket
    a, b = socket.socketpair(type=socket.SOCK_DGRAM)
    a.sendto(b'x', chr(0) + 'study_abs')
""",
    "network_urllib": r"""
def solve(n):
    import urllib.request
    return urllib.request.urlopen('http://127.0.0.1:@PORT@', timeout=1).read()
""",
    "network_asyncio": r"""
def solve(n):
    import asyncio
    asyncio.run(asyncio.open_connection('127.0.0.1', @PORT@))
""",
}


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


FORBIDDEN = {  # name: numbers on x86_64 and aarch64
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "fsopen": (430, 430), "move_mount": (429, 429), "open_tree": (428, 428), "clone3": (435, 435),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "keyctl": (250, 219),
    "add_key": (248, 217), "request_key": (249, 218), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (180, 180),
    "open_by_handle_at": (304, 265), "kexec_load": (246, 104), "init_module": (175, 105), "reboot": (169, 142),
    "swapon": (167, 224), "acct": (163, 89), "quotactl": (179, 60), "syslog": (103, 116), "settimeofday": (164, 170),
    "sethostname": (170, 161), "personality": (135, 92), "seccomp": (317, 277), "setuid": (105, 146),
    "capset": (126, 91),
    "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept4": (288, 242), "fanotify_init": (300, 262),
    "inotify_init1": (294, 26), "mbind": (237, 235), "migrate_pages": (256, 238), "vmsplice": (278, 75),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "kcmp": (312, 272), "lookup_dcookie": (212, 18),
}  # fmt: skip


def test_no_way_to_the_kernel(sandbox):
    """Each call is refused before its arguments are looked at; a denied capability would give another error."""
    column = ("x86_64", "aarch64").index(os.uname().machine)
    numbers = {name: both[column] for name, both in FORBIDDEN.items()}
    source = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\ndef solve(numbers):\n    found = {}\n"
        "    for name, number in numbers.items():\n        result = libc.syscall(number, 0, 0, 0, 0, 0, 0)\n"
        "        found[name] = ctypes.get_errno() if result == -1 else 0\n    return found\n"
    )
    found = outcome_of(sandbox, source, repr([numbers])).value
    assert found == dict.fromkeys(FORBIDDEN, 38)
    sifted = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\ndef solve(calls):\n"
        "    return [(libc.syscall(*map(ctypes.c_long, call)), ctypes.get_errno()) for call in calls]\n"
    )
    socket_, clone, prctl, prlimit = ((41, 56, 157, 302), (198, 220, 167, 261))[column]
    calls = [
        (socket_, 2, 1, 0),
        (socket_, 1, 1, 0),
        (socket_, 16, 3, 0),
        (clone, 0x10000011, 0),
        (clone, 0x20000011, 0),
    ]
    calls += [(prctl, 4, 1), (prctl, 22, 2), (prctl, 38, 0), (prlimit, 1, 0, 0, 0)]
    assert outcome_of(sandbox, sifted, repr([calls])).value == [(-1, 1)] * len(calls)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the other instruction set is one of x86_64")
def test_calls_of_another_instruction_set(sandbox, world):
    """The 32-bit and x32 doors to the same kernel."""
    code = "b8{}0000cd80c3"  # mov eax, number; int 0x80; ret
    source = (
        "import ctypes, mmap\ndef solve(code):\n    m = mmap.mmap(-1, 4096, prot=7)\n    m.write(bytes.fromhex(code))\n"
        "    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()\n"
    )
    with world:
        assert outcome_of(sandbox, source, repr([code.format("6701")])).status == "crashed"  # socket, as 0x167
        x32 = "import ctypes\ndef solve(n): return ctypes.CDLL(None).syscall(0x40000000 + n, 2, 1, 0)\n"
        assert outcome_of(sandbox, x32, "[41]").value == -1
    assert world.harms == {}


def test_boxes_do_not_see_each_other(sandbox):
    writer = (
        "import os, time\nopen('mine', 'w').write('secret')\nos.chmod('mine', 0o666)\n"
        "def solve(n):\n    time.sleep(1)\n    return os.getcwd()\n"
    )
    reader = (
        "import os, time\ndef solve(folder):\n    time.sleep(0.3)\n    seen = []\n"
        "    for path in ('mine', folder, '/tmp/mine', '..', '/tmp', '/dev/shm', '../0/mine', '../1/mine'):\n"
        "        try: seen.append(open(path).read())\n        except OSError: pass\n"
        "        try: seen += [name for name in os.listdir(path) if name == 'mine']\n        except OSError: pass\n"
        "    for pid in range(2, 70000):\n        if pid != os.getpid():\n            try: os.kill(pid, 9)\n"
        "            except OSError: pass\n    return seen\n"
    )
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(outcome_of, sandbox, writer)
        second = pool.submit(outcome_of, sandbox, reader, "['/tmp/mine']")
        assert first.result().status == "ok"
        assert second.result().value == []


def test_nothing_stays_from_one_check_to_the_next(sandbox):
    leave = "import os, tempfile\ndef solve(n):\n    open('left', 'w').write('x')\n    os.symlink('/', 'root')\n" + (
        "    os.makedirs('a/b')\n    tempfile.mkstemp()\n    import json\n    json.left = 1\n    return os.umask(0)\n"
    )
    look = "import os, json\ndef solve(n):\n    return [os.listdir('.'), hasattr(json, 'left'), os.umask(18)]\n"
    for _ in range(3):
        assert outcome_of(sandbox, leave).status == "ok"
        assert outcome_of(sandbox, look).value == [[], False, 0o22]


TRACES = {
    "file": "open('left', 'w').write('x')",
    "file_beside": "open('../left', 'w').write('x')",
    "folder": "os.makedirs('a/b')",
    "link": "os.symlink('/', 'root')",
    "moved": "os.rename(os.getcwd(), os.getcwd() + '-moved')",
    "replaced": "here = os.getcwd(); os.rmdir(here); os.mkdir(here)",
    "gone": "os.rmdir(os.getcwd())",
    "closed": "os.chmod('.', 0)",
    "opened": "os.chmod('..', 0o777)",
    "aged": "os.utime('.', (1, 1))",
    "unnamed": "os.open('.', os.O_TMPFILE | os.O_RDWR)",
    "made_and_removed": "open('left', 'w').close(); os.unlink('left')",
}


@pytest.mark.parametrize("name", TRACES)
def test_the_next_box_finds_its_folder_as_the_first_did(name, sandbox):
    """Folders serve one box after another, so whatever can be done to them has to be noticed."""
    look = (
        "import os\ndef solve(n):\n    about = os.stat('.')\n    open('new', 'w').write('x')\n"
        "    return [os.listdir('.'), os.listdir('..') if os.access('..', 4) else [], about.st_mode, about.st_uid,\n"
        "        about.st_nlink, about.st_mtime > 1]\n"
    )
    with Sandbox(level=sandbox.level) as fresh:
        first = outcome_of(fresh, look)
        for _ in range(fresh._slots + 1):
            left = f"import os\ntry:\n    {TRACES[name]}\nexcept OSError: pass\ndef solve(n): return n\n"
            assert outcome_of(fresh, left).status == "ok"
            assert outcome_of(fresh, look)[:3] == first[:3]
    assert first.status == "ok" and first.value[0] == ["new"]


def _decides(code: bytes, machine: int, number: int, arguments=(0,) * 6) -> int:
    """What a program for seccomp answers."""
    lines = [struct.unpack_from("HBBI", code, at) for at in range(0, len(code), 8)]
    data = struct.pack("IIQ6Q", number, machine, 0, *arguments)
    at = held = 0
    while True:
        operation, yes, no, value = lines[at]
        at += 1
        if operation == 0x20:
            held = struct.unpack_from("I", data, value)[0]
        elif operation == 0x54:
            held &= value
        elif operation == 0x06:
            return value
        else:
            met = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[operation]
            at += yes if met else no


@pytest.mark.parametrize("kill", [True, False])
@pytest.mark.parametrize("name", ["x86_64", "aarch64"])
def test_the_filter_permits_what_is_listed_and_nothing_else(name, kill, monkeypatch):
    """On the machine that this is not, too."""
    monkeypatch.setattr(os, "uname", lambda: types.SimpleNamespace(machine=name))
    code, (column, machine) = syscalls._filter(kill), syscalls._MACHINES[name]
    listed = (syscalls._PERMITTED + "," + syscalls._KILL * kill).split(",")
    columns = [entry.split()[1 + column] for entry in listed if entry.strip()]
    permitted = {int(number) for number in columns if number != "-"}
    sifted = {numbers[column] for *numbers, _, _, _ in syscalls._SIFTED}
    allow, no_such, no_permission = 0x7FFF0000, 0x50000 | 38, 0x50000 | 1
    for number in (*range(1200), 0x40000000, 0x40000001, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
        if number not in sifted:
            refused = no_permission if number == (41, 198)[column] else no_such
            assert _decides(code, machine, number) == (allow if number in permitted else refused), number
    assert _decides(code, machine ^ 1, 0) == 0x80000000
    calls = {
        (16, 29): {(0, 0x5401): allow, (0, 0x5412): no_permission, (0, 0): no_permission},
        (72, 25): {(0, 1): allow, (0, 8): no_permission, (0, 10): no_permission, (0, 15): no_permission},
        (157, 167): {(15,): allow, (22,): no_permission, (38,): no_permission},
        (302, 261): {(0,): allow, (1,): no_permission},
        (56, 220): {(0x11,): allow, (0x3D0F00,): allow, (0x10000011,): no_permission, (0x20000011,): no_permission},
        (53, 199): {(1, 1): allow, (1, 0x80001): allow, (1, 2): no_permission, (1, 5): no_permission},
    }
    assert {numbers[column] for numbers in calls} == sifted
    for numbers, cases in calls.items():
        for given, answer in cases.items():
            arguments = (*given, *(0,) * (6 - len(given)))
            assert _decides(code, machine, numbers[column], arguments) == answer, (numbers, given)


def test_many_processes_of_one_box_are_held_while_others_wait(sandbox):
    """Boxes of one process are left to their own limit; one that has several is measured, whatever else there is."""
    hog = (
        "import os, time\ndef solve(n):\n    for _ in range(6):\n        if not os.fork():\n"
        "            held = bytearray(90 << 20)\n            time.sleep(5)\n            os._exit(0)\n"
        "    time.sleep(4)\n    return n\n"
    )
    with Sandbox(level=sandbox.level, memory_mb=128) as small, ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            waiting = pool.submit(outcome_of, small, "import time\ndef solve(n): return time.sleep(2)", time_limit_s=10)
            time.sleep(0.2)
            assert pool.submit(outcome_of, small, hog, time_limit_s=10).result().status == "memory limit"
            assert waiting.result().status == "ok"


def test_a_box_is_not_made_dearer_by_what_few_programs_use(sandbox):
    """A module with a hook for forks, as threading, costs every check; so does a large one."""
    spared = ["threading", "socket", "traceback", "subprocess", "random", "asyncio", "inspect"]
    source = f"import sys\nfound = [name for name in {spared!r} if name in sys.modules]\ndef solve(n): return found"
    assert outcome_of(sandbox, source).value == []
    assert outcome_of(sandbox, "import threading\ndef solve(n): return threading.active_count()").value == 1


# --- honest programs -----------------------------------------------------------------------------------------------

HONEST = {
    "async": r"""
import asyncio
async def part(i):
    await asyncio.sleep(0)
    return i * i
async def solve(n):
    return sum(await asyncio.gather(*(part(i) for i in range(1, n + 1))))
""",
    "asyncio_run": r"""
import asyncio
async def main(n):
    return sum(i * i for i in range(1, n + 1))
def solve(n):
    return asyncio.run(main(n))
""",
    "generator_inside": r"""
def squares(n):
    for i in range(1, n + 1): yield i * i
def solve(n):
    return sum(squares(n))
""",
    "bound_name": r"""
import functools
solve = functools.partial(lambda e, n: sum(i ** e for i in range(1, n + 1)), 2)
""",
    "solution_class": r"""
class Solution:
    def __init__(self): self.total = 0
    def solve(self, n):
        self.total += sum(i * i for i in range(1, n + 1))
        return self.total
""",
    "nested_solution_helper": r"""
class Solution:
    def helper(self, i): return i * i
    def solve(self, n):
        return sum(map(self.helper, range(1, n + 1)))
""",
    "dataclass": r"""
from dataclasses import dataclass
@dataclass(order=True)
class P:
    x: int
def solve(n):
    return sum(P(i * i).x for i in range(1, n + 1))
""",
    "enum_typing": r"""
from enum import Enum
from typing import List, NamedTuple
class C(Enum):
    A = 1
class T(NamedTuple):
    v: int
def solve(n: int) -> int:
    return sum(T(i * i).v * C.A.value for i in range(1, n + 1))
""",
    "lru_cache": r"""
from functools import lru_cache
@lru_cache(None)
def f(i): return 0 if i == 0 else i * i + f(i - 1)
def solve(n): return f(n)
""",
    "deep_recursion_thread": r"""
import sys, threading
sys.setrecursionlimit(10 ** 6)
threading.stack_size(64 << 20)
def rec(i): return 0 if i == 0 else 1 + rec(i - 1)
def solve(n):
    out = []
    t = threading.Thread(target=lambda: out.append(rec(20000)))
    t.start()
    t.join()
    assert out == [20000]
    return sum(i * i for i in range(1, n + 1))
""",
    "process_pool": r"""
import multiprocessing, subprocess, sys
def solve(n):
    code = f'print(sum(i * i for i in range({n} + 1)))'
    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    return int(out.stdout)
""",
    "fork_and_pipe": r"""
import os
def solve(n):
    r, w = os.pipe()
    if os.fork() == 0:
        os.write(w, str(sum(i * i for i in range(n + 1))).encode())
        os._exit(0)
    os.wait()
    return int(os.read(r, 100))
""",
    "alarm_of_its_own": r"""
import signal
def solve(n):
    def ring(*_): raise TimeoutError
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        while n: n += 0
    except TimeoutError:
        return sum(i * i for i in range(1, n + 1))
""",
    "tempfile_named": r"""
import tempfile, os
def solve(n):
    with tempfile.NamedTemporaryFile('w+', delete=False) as f:
        f.write(str(sum(i * i for i in range(n + 1))))
    with open(f.name) as g: r = int(g.read())
    os.remove(f.name)
    return r
""",
    "sqlite": r"""
import sqlite3
def solve(n):
    db = sqlite3.connect('x.db')
    db.execute('create table t(x)')
    db.executemany('insert into t values (?)', [(i,) for i in range(1, n + 1)])
    r = db.execute('select sum(x * x) from t').fetchone()[0]
    db.close()
    import os
    os.remove('x.db')
    return r
""",
    "network_tried": r"""
import socket
def solve(n):
    try: socket.create_connection(('127.0.0.1', 80), 1)
    except OSError: pass
    return sum(i * i for i in range(1, n + 1))
""",
    "chdir_and_environ": r"""
import os
os.chdir('/usr')
os.environ.clear()
def solve(n): return sum(i * i for i in range(1, n + 1))
""",
    "child_left_at_load": r"""
import subprocess, sys
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
def solve(n): return sum(i * i for i in range(1, n + 1))
""",
    "random_seeded": r"""
import random
random.seed(4)
x = random.random()
def solve(n):
    assert x == random.Random(4).random()
    return sum(i * i for i in range(1, n + 1))
""",
    "prints_a_lot": r"""
def solve(n):
    print('x' * 100000)
    return sum(i * i for i in range(1, n + 1))
""",
    "closes_stdout": r"""
import sys
def solve(n):
    sys.stdout.close()
    return sum(i * i for i in range(1, n + 1))
""",
    "raises_limits": r"""
import resource, sys
def solve(n):
    try: resource.setrlimit(resource.RLIMIT_STACK, (-1, -1))
    except (ValueError, OSError): pass
    sys.setrecursionlimit(10 ** 9)
    return sum(i * i for i in range(1, n + 1))
""",
    "magic_comment": r"""
# -*- coding: latin-1 -*-
Ü = 'é'
def solve(n):
    assert len(Ü) == 1
    return sum(i * i for i in range(1, n + 1))
""",
    "future_import": r"""
from __future__ import annotations
def solve(n: Nothing) -> Never: return sum(i * i for i in range(1, n + 1))
""",
    "two_hundred_mb": r"""
def solve(n):
    x = bytearray(200 << 20)
    return sum(i * i for i in range(1, n + 1))
""",
    "long_source": r"""
DATA = [NUMBERS]
def solve(n): return sum(i * i for i in range(1, n + 1))
""",
}


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


# --- how it is called --------------------------------------------------------------------------------------------


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


SCRIPT = """
import json, os, sys, time
sys.path.insert(0, {folder!r})
from code_sandbox import Sandbox
"""


def _script(tmp_path: Path, body: str, **options) -> subprocess.Popen:
    """Python that has no main file, as in a notebook, with only a copy of the folder."""
    shutil.copytree(FOLDER, tmp_path / "code_sandbox")
    program = SCRIPT.format(folder=str(tmp_path)) + body
    return subprocess.Popen([options.pop("python", sys.executable), "-c", program], stdout=subprocess.PIPE, **options)


def _gone(pids: set[int], within_s: float = 10) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):
            return True
        time.sleep(0.05)
    return False


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
    caller = _script(tmp_path, body, stderr=subprocess.DEVNULL)
    assert caller.stdout.readline() == b"ready\n"
    end = time.monotonic() + 20
    while len(_below(caller.pid)) < 6 and time.monotonic() < end:
        time.sleep(0.05)
    everyone = _below(caller.pid)
    assert len(everyone) >= 6  # keeper, server, box and its children
    caller.send_signal(number)
    caller.wait()
    assert _gone(everyone)
    assert set(Path("/tmp").glob("code-sandbox-*")) <= folders


def _below(pid: int) -> set[int]:
    found = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
            found |= {int(child)} | (_below(int(child)) if os.path.exists(f"/proc/{child}") else set())
    return found


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
        assert _gone({server})


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
    before = len(os.listdir("/proc/self/fd")), len(_below(os.getpid())), threading.active_count()
    for _ in range(8):
        for source in endings:
            sandbox.run_function(source, "solve", ["[3]"], time_limit_s=0.05)
            sandbox.run_program(source, "3", time_limit_s=0.05)
    assert (len(os.listdir("/proc/self/fd")), len(_below(os.getpid())), threading.active_count()) == before


def test_closing():
    made = Sandbox(level=_some_level())
    pids = _below(os.getpid())
    made.close()
    made.close()
    assert _gone(pids - _below(os.getpid()))
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
    assert _gone(pids)


# --- refusals and arguments ----------------------------------------------------------------------------------------


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
    with _sandbox_at("none") as made:
        assert passes(made, RIGHT)
        assert outcome_of(made, "def solve(n):\n    while True: pass", time_limit_s=0.3).status == "time limit"
        below = _below(os.getpid())
        survivor = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\ndef solve(n): return 1"
        assert outcome_of(made, survivor).value == 1
        assert _below(os.getpid()) == below
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


# --- as an ordinary user -------------------------------------------------------------------------------------------


def _ordinary_python() -> str | None:
    """An interpreter that user 1234 can execute."""
    if os.getuid() != 0:
        return None
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        check = "import sys; sys.exit(sys.version_info < (3, 11))"
        try:
            done = subprocess.run([python, "-c", check], user=1234, group=1234, extra_groups=[], capture_output=True)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None


@pytest.mark.skipif(_ordinary_python() is None, reason="needs root, to become somebody else, and a Python they can run")
def test_as_an_ordinary_user(tmp_path):
    canary = tmp_path / "canary"
    canary.write_text("alive")
    os.chown(canary, 1234, 1234)
    attacks = {
        name: source.replace("@CANARY@", str(canary)).replace("@SCRATCH@", "/nowhere").replace("@PORT@", "1")
        for name, source in ATTACKS.items()
        if name.startswith(("write", "kill", "fork", "daemon", "forge", "memory_children", "disk", "network_abstract"))
    }
    (tmp_path / "attacks.json").write_text(json.dumps(attacks))
    body = f"""
try:
    sandbox = Sandbox(level="namespaces")
except Exception as error:
    print(json.dumps(str(error)))
    sys.exit()
found = {{}}
for name, source in json.load(open({str(tmp_path / "attacks.json")!r})).items():
    run = sandbox.run_function(source, "solve", ["[3]", "[5]", "[10]"], time_limit_s=1)
    found[name] = [run.status, [outcome.value for outcome in run.outcomes]]
run = sandbox.run_function({RIGHT!r}, "solve", ["[3]", "[5]", "[10]"])
found["right"] = [run.status, [outcome.value for outcome in run.outcomes]]
print(json.dumps(found), flush=True)
print(json.dumps([line for line in os.popen("ps -o pid,args -u 1234") if "sleep" in line]))
"""
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)
    python = _ordinary_python()
    done = _script(tmp_path, body, python=python, user=1234, group=1234, extra_groups=[], cwd="/tmp", env={})
    lines = [json.loads(line) for line in done.communicate()[0].splitlines()]
    if isinstance(lines[0], str):
        pytest.skip(f"no user namespaces here: {lines[0]}")
    found = lines[0]
    assert found.pop("right") == ["ok", [14, 55, 385]]
    assert [name for name, (_, values) in found.items() if values == [14, 55, 385]] == []
    assert [name for name, (status, _) in found.items() if status == "sandbox"] == []
    assert canary.read_text() == "alive"


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
