"""What a program in the sandbox could harm, and whether it did."""

import os
import shutil
import signal
import socket
import sys
import threading
import time
from pathlib import Path

from envs import code_sandbox
from envs.code_sandbox import Sandbox
from envs.code_sandbox.system import resources


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
