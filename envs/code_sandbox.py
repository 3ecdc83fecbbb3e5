r"""Run Python that a model wrote, all of it hostile, and bring plain values back. Linux, standard library only.

>>> with Sandbox() as sandbox:
...     run = sandbox.run_function("def double(x):\n    return 2 * x", "double", ["[21]", "['ab']"])
...     program = sandbox.run_program("print(int(input()) + 1)", "41\n")
>>> [outcome.value for outcome in run.outcomes]
[42, 'abab']
>>> program.stdout
'42\n'

Expected values never go in: compare `Outcome.value` and `Outcome.stdout` with yours, here, outside. What comes back is
data, whatever the program did to the interpreter it ran in; so a forged answer is only a wrong answer.

How it works. A `Sandbox` executes this file as a small fork server in a clean interpreter. For every check the server
forks a box that shuts itself in and runs the source; caller and box talk over a socket of their own, the deadline is
kept by the caller, and closing its end ends the box with everything that it started. Three levels:

  namespaces  private mounts, network, IPC, host name and process numbers; a root folder that holds the interpreter and
              system libraries, read-only; a /tmp of 64 MB that goes away with the check.
  landlock    for root where namespaces are not to be had, as in most containers: a user id of its own for each check,
              Landlock for files, abstract sockets and signals. Process numbers and file metadata stay visible, /tmp is
              a folder named in TMPDIR, disk and memory are watched rather than bounded.
  none        system-call filter and limits only. Refused unless `allow_unisolated`.

All levels: a list of permitted system calls (no sockets, ptrace, keyrings, io_uring, mounts, ...), no new privileges,
limits on memory, processes, files and output, an empty environment, no descriptor but the four of the check.
It does not guard against faults of the kernel or leaks through timing.
"""

import _socket as socket  # what the public module adds would be copied with each fork of the server
import atexit
import contextlib
import ctypes
import errno
import gc
import json
import os
import re
import resource
import select
import signal
import stat
import struct
import sys
import time
import types
import warnings
import weakref
from collections import Counter, OrderedDict, defaultdict
from functools import lru_cache
from typing import Any, NamedTuple

LEVELS = ("namespaces", "landlock", "none")
MAX_OUTPUT = 8 << 20  # bytes of stdout, and of stderr, of one check
MAX_VALUE = 4 << 20  # bytes of one result as JSON
MAX_ITEMS = 1_000_000  # items of one result, all nested ones together
MAX_DEPTH = 400
MAX_TASKS = 64  # processes and threads of one check
DISK_MB = 64  # files of one check
MAX_STRETCH = 3.0  # of a time limit, where others hold the cores: time that a program waits for one does not count

_LOST = {
    "landlock": "process numbers and file metadata of this machine stay visible to the programs, /tmp is not private, "
    "and disk space is watched instead of bounded",
    "none": "the programs run as you: they can read your files, write where you can, and see your processes",
}


class Outcome(NamedTuple):
    """What became of one call, or of one program.

    `status` is "ok", "syntax error", "exception", "no function", "time limit", "memory limit", "output limit",
    "exited" (it ended itself), "crashed" (by a signal), "bad value" (the result holds something else than plain builtin
    values, or is too large) or "sandbox" (not the program's fault: it could not be judged).
    """

    status: str
    value: object  # of a call; None for a program
    error: str  # what went wrong, with the line; for a program the tail of its stderr
    stdout: str
    level: str
    cpu_s: float  # as the box measured it: information, not evidence
    wall_s: float


class Run(NamedTuple):
    """What became of a function and its calls.

    `status` is "ok" when the source loaded and every call was answered or failed on its own, else the reason why the
    whole run stopped. `outcomes` has an entry for each call, in the order given; those that never ran carry the reason.
    """

    status: str
    error: str
    outcomes: list[Outcome]
    level: str
    cpu_s: float
    wall_s: float


class SandboxError(RuntimeError):
    """No sandbox can be had: not Linux, nothing isolates here, or the server does not start."""


# --- the caller's side -------------------------------------------------------------------------------------------


class Sandbox:
    """A place to run untrusted Python. Serves any number of threads and checks; also a context manager.

    Checks run side by side, as many as there are cores; the others wait their turn, and no clock runs while they do.
    Packages of this interpreter's environment can be imported, the working directory and your home cannot be read.

    Args:
        memory_mb: memory of one check beyond the interpreter's own, in MiB.
        level: one of `LEVELS`, or None for the best that works here.
        allow_unisolated: run even where nothing isolates.

    Raises:
        SandboxError: nothing isolates here and `allow_unisolated` is not set, or `level` is not to be had.
        ValueError: an argument makes no sense.
    """

    def __init__(self, *, memory_mb: int = 512, level: str | None = None, allow_unisolated: bool = False):
        if level is not None and level not in LEVELS:
            raise ValueError(f"no level called {level!r}; choose one of {', '.join(LEVELS)}, or None for the best")
        if type(memory_mb) is not int or memory_mb < 16:
            raise ValueError(f"memory_mb is {memory_mb!r}; give a whole number of MiB, at least 16")
        import threading  # nowhere at the top: every fork of a server that has it costs half a millisecond more

        self._memory_mb, self._allow = memory_mb, allow_unisolated
        self._lock, self._servers, self._closed = threading.Lock(), {}, False
        self._room = threading.BoundedSemaphore(1)
        self.level = self._choose(level)
        # Without namespaces or a user id of its own, a box is known by having the server to itself.
        self._slots = 1 if self.level == "none" else _cores()
        self._room = threading.BoundedSemaphore(self._slots)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server and whatever runs in it. Can be called twice."""
        self._closed = True
        self._stop_servers()

    def _stop_servers(self) -> None:
        with self._lock:
            servers, self._servers = self._servers, {}
        for (pid, _), server in servers.items():
            if pid == os.getpid():
                server.stop()

    def run_function(self, source: str, entry_point: str, calls: list[str], *, time_limit_s: float = 3.0) -> Run:
        """Load `source` and call a function of it.

        Every call sees the module as it was when loaded: what a call leaves in globals is not there for the next,
        except where loading is slow or starts threads or processes. Calls run in a secret order, so that counting them
        tells nothing. A main block does not run; stdin is empty; a coroutine is awaited.

        Args:
            source: Python.
            entry_point: a name, or "Class.method" with the class made without arguments. A plain name that is missing
                is also looked for in a class `Solution`.
            calls: for each call the list of arguments as the text of a Python literal, such as "[[3, 1], 2]".
            time_limit_s: seconds for loading, and for each call; a busy machine can stretch them by `MAX_STRETCH`.

        Raises:
            ValueError: a call is not the literal of a list, or the time limit is not positive.
            TypeError: source, entry point or a call is not text.
        """
        _texts(source=source, entry_point=entry_point)
        _positive(time_limit_s)
        arguments = [_arguments(call) for call in calls]
        request = {"kind": "function", "source": source, "entry_point": entry_point}
        judge = lambda check: _judge_calls(check, request, arguments, time_limit_s)  # noqa: E731
        return self._checked(source, judge)

    def run_program(self, source: str, stdin: str = "", *, time_limit_s: float = 3.0) -> Outcome:
        """Run `source` as a program that reads `stdin` and prints.

        Leaving with code 0 is "ok", also by sys.exit or os._exit; any other code is "exited".

        Args:
            source: Python; its `__name__` is "__main__".
            stdin: what it can read, as text.
            time_limit_s: seconds for the whole.

        Raises:
            ValueError: the time limit is not positive.
            TypeError: source or stdin is not text.
        """
        _texts(source=source, stdin=stdin)
        _positive(time_limit_s)
        request = {"kind": "program", "source": source, "stdin": stdin}
        return self._checked(source, lambda check: _judge_program(check, request, time_limit_s))

    def _checked(self, source: str, judge):
        """The result of `judge` on a fresh check; once more, on a new server, if the first gave no judgement."""
        numpy = "numpy" in source and re.search(r"\bnumpy\b", source) is not None
        with self._room:
            for attempt in range(2):
                server = self._server(numpy)
                with _Check(server, self.level) as check:
                    result = judge(check)
                if result.status != "sandbox" or attempt:
                    return result
                if not check.report:  # the server died
                    self._forget(numpy, server)

    def _choose(self, wanted: str | None) -> str:
        """The best level that works, its server started and tried."""
        if not sys.platform.startswith("linux"):
            raise SandboxError(f"the sandbox needs Linux and this is {sys.platform}; use a container or WSL 2")
        reasons = []
        for level in LEVELS if wanted is None else (wanted,):
            if level == "none" and not self._allow:
                reasons.append("none: needs allow_unisolated=True")
                break
            self.level, self._slots = level, 1 if level == "none" else _cores()
            try:
                self._try()
            except SandboxError as error:
                self._stop_servers()
                reasons.append(f"{level}: {error}")
                continue
            if wanted is None and level != LEVELS[0]:
                _warn_once(f"sandbox level {level!r}: {_LOST[level]} ({'; '.join(reasons)})")
            return level
        raise SandboxError(
            f"no isolation for untrusted programs here ({'; '.join(reasons)}). Run on Linux 5.13 or newer as root or "
            "with user namespaces, or pass allow_unisolated=True if losing what these programs can reach is acceptable"
        )

    def _try(self) -> None:
        run = self.run_function("def double(x):\n    return 2 * x", "double", ["[21]"], time_limit_s=10)
        if run.status != "ok" or run.outcomes[0].value != 42:
            raise SandboxError(run.error or run.outcomes[0].error or run.status)

    def _server(self, numpy: bool) -> "_Server":
        """The running server, with numpy loaded or without; a process that was forked from this one gets its own."""
        key = os.getpid(), numpy
        with self._lock:
            if self._closed:
                raise SandboxError("this sandbox is closed; make a new one")
            if key not in self._servers:
                self._servers[key] = _Server(self.level, self._memory_mb, self._slots, numpy)
            return self._servers[key]

    def _forget(self, numpy: bool, server: "_Server") -> None:
        with self._lock:
            if self._servers.get((os.getpid(), numpy)) is server:
                del self._servers[os.getpid(), numpy]
        server.stop()


_warned = set()


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def _cores() -> int:
    return max(2, min(MAX_TASKS, len(os.sched_getaffinity(0))))


def _texts(**named: object) -> None:
    for name, value in named.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} is {type(value).__name__}, not text: {value!r:.80}")


def _positive(time_limit_s: float) -> None:
    if not 0 < time_limit_s < float("inf"):
        raise ValueError(f"time_limit_s is {time_limit_s!r}; give a positive number of seconds")


def _arguments(call: str) -> bytes:
    """The arguments as JSON."""
    _texts(call=call)
    return _small_arguments(call) if len(call) < 10_000 else _large_arguments(call)


def _large_arguments(call: str) -> bytes:
    import ast  # here and below: what the server does without is imported late, since it makes every fork dearer

    try:
        value = _number_lists(call) or ast.literal_eval(call.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(f"call {call!r:.80} is not a Python literal: {error}") from None
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"call {call!r:.80} is not the list of arguments; write '[{call:.40}]' for one argument")
    try:
        return _encode(list(value), items=1 << 60).encode()
    except _NotPlain as error:
        raise ValueError(f"call {call!r:.80}: {error}") from None


_small_arguments = lru_cache(maxsize=4096)(_large_arguments)


def _number_lists(text: str) -> list | None:
    """A literal of digits, commas and brackets, read as JSON: 50 times faster than as Python, for the same value."""
    if re.fullmatch(r"[\d\[\], -]*", text):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return None


# Loads this file as a module, so that its compiled form is used, and begins at `_serve`.
_EXECUTED = """
import sys
from importlib.machinery import SourceFileLoader
module = sys.modules["code_sandbox"] = type(sys)("code_sandbox")
SourceFileLoader("code_sandbox", sys.argv[1]).exec_module(module)
module._serve(int(sys.argv[2]), module.json.loads(sys.argv[3]))
"""


class _Server:
    """The caller's handle on one fork server."""

    def __init__(self, level: str, memory_mb: int, slots: int, numpy: bool):
        self._control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = {"level": level, "memory_mb": memory_mb, "slots": slots, "numpy": numpy, "caller": os.getpid()}
        import subprocess

        command = [sys.executable, "-I", "-c", _EXECUTED, os.path.abspath(__file__), str(far.fileno())]
        try:
            self._process = subprocess.Popen(
                [*command, json.dumps(settings)],
                pass_fds=[far.fileno()],
                env=_environment(),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            self._control.close()
            raise SandboxError(f"could not execute {sys.executable}: {error}") from None
        finally:
            far.close()
        self.stop = weakref.finalize(self, _stop, self._control, self._process, os.getpid())
        self._control.settimeout(60)
        try:
            answer = self._control.recv(4096).decode()
        except OSError:
            answer = "no answer"
        if answer != "ready":
            self.stop()
            raise SandboxError(answer or "the server did not start")

    def send(self, kind: str, descriptors: list[int]) -> None:
        """Ask for a box that holds these descriptors."""
        try:
            numbers = struct.pack(f"{len(descriptors)}i", *descriptors)
            self._control.sendmsg([kind.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])
        except OSError:
            pass  # the check sees that its lease ends

    def alive(self) -> bool:
        return self._process.poll() is None


def _environment() -> dict[str, str]:
    """All that the programs can see of it; one thread per numerical library keeps the memory limit meaningful."""
    path = os.pathsep.join([os.path.dirname(sys.executable), "/usr/local/bin", "/usr/bin", "/bin"])
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {"PATH": path, "HOME": "/tmp", "TMPDIR": "/tmp", "LC_ALL": "C.UTF-8", **threads}


def _stop(control: socket.socket, process, owner: int) -> None:
    """End the server: it leaves, with all boxes, when its control socket ends."""
    if os.getpid() != owner:
        return
    with contextlib.suppress(OSError):
        control.shutdown(socket.SHUT_RDWR)
    control.close()
    try:
        process.wait(10)
    except Exception:  # TimeoutExpired, whose module may be gone when the interpreter ends
        process.kill()
        process.wait()


class _Check:
    """One check in progress, seen from outside: a conversation with a box, with deadlines and caps.

    `reason` says why the conversation is over, if it is: "time limit", "output limit", "bad value" (nonsense on the
    line) or "ended" (the box is gone; `report` says how).
    """

    def __init__(self, server: _Server, level: str):
        self._server, self.level = server, level
        self.reason: str | None = None
        self.report: dict | None = None
        self.stdout, self.stderr = bytearray(), bytearray()
        self._in, self._leased, self._out = bytearray(), b"", memoryview(b"")
        self._ends, self._pipes, self._chunk = [], {}, _PIPE
        self._waited, self._granted, self._grace, self._most = None, 0.0, 0.0, 0.0  # seconds

    def __enter__(self) -> "_Check":
        self.start, self._poll = time.monotonic(), select.poll()
        return self

    def open(self, kind: str) -> None:
        """Have a box made for a function or a program."""
        far: list[Any] = []
        try:
            for _ in range(2):
                near, other = socket.socketpair()
                self._ends.append(near)
                far.append(other.detach())
                near.setblocking(False)
            os.set_blocking(far[0], False)  # the server waits for no caller
            for sink in (self.stdout, self.stderr) if kind == "program" else (self.stdout,):
                read, write = os.pipe()
                far.append(write)
                self._pipes[read] = sink
                os.set_blocking(read, False)
            self._server.send(kind, far)
        finally:
            for end in far:
                os.close(end)
        self._lease, self._talk = self._ends
        for descriptor in (self._lease, self._talk, *self._pipes):
            self._poll.register(descriptor, select.POLLIN)

    def exchange(self, payload: bytes | None, deadline: float) -> dict | None:
        """Send `payload`, if any, and wait for the next message; None when `reason` is set instead."""
        self._grace, self._most = 0.0, (MAX_STRETCH - 1) * (deadline - time.monotonic())
        if payload is not None:
            self._out = memoryview(len(payload).to_bytes(4, "little") + payload)
            self._say()
            if self._out:
                self._poll.modify(self._talk, select.POLLIN | select.POLLOUT)
        while True:
            message = self._next_message()
            if message is not None and self.reason == "time limit":
                self.reason = None  # it came in time, and was only seen late
            if message is not None or self.reason:
                return message
            self._step(deadline)

    def wait(self, deadline: float) -> None:
        """Wait until `reason` is set."""
        while not self.reason:
            self._step(deadline)

    def _next_message(self) -> dict | None:
        if len(self._in) < 4:
            return None
        size = int.from_bytes(self._in[:4], "little")
        if size <= MAX_VALUE + 65_536 and len(self._in) < 4 + size:
            return None
        head, _, value = self._in[4 : 4 + size].partition(b"\n")
        del self._in[: 4 + size]
        try:
            message = _JSON.decode(head.decode())
            if size > MAX_VALUE + 65_536 or type(message) is not dict or type(message.get("status")) is not str:
                raise ValueError
        except (ValueError, RecursionError):
            self.reason = "bad value"
            return None
        message["value"] = value
        return message

    def _step(self, deadline: float) -> None:
        remaining = deadline + self._grace - time.monotonic()
        self._attend(remaining)
        if remaining <= 0 and not self.reason and not self._excused():
            self.reason = "time limit"
        if max(len(self.stdout), len(self.stderr)) > MAX_OUTPUT:
            self.reason = "output limit"

    def _attend(self, seconds: float) -> None:
        for descriptor, event in self._poll.poll(max(0, 1000 * seconds + 1)):
            if descriptor in self._pipes:
                self._collect(descriptor)
            elif descriptor == self._talk.fileno():
                self._converse(event)
            else:
                self._hear()

    def _excused(self) -> bool:
        """Whether a busy machine kept the box from running, by its count; the deadline then moves by as much."""
        self._waited, until = None, time.monotonic() + 1
        with contextlib.suppress(OSError):
            self._lease.send(b"?")
        while self._waited is None and not self.reason and time.monotonic() < until:
            self._attend(0.1)
        more = (self._waited or 0.0) - self._granted
        self._granted += max(more, 0.0)
        more = min(more, self._most - self._grace)
        self._grace += more
        return not self.reason and more >= 0.02

    def _collect(self, descriptor: int) -> bool:
        """Take what there is on a pipe; False when there is nothing."""
        try:
            data = os.read(descriptor, self._chunk)
        except BlockingIOError:
            return False
        if len(data) == _PIPE and self._chunk == _PIPE:
            self._widen()
        if data:
            self._pipes[descriptor] += data
        else:
            self._drop(descriptor)
        return bool(data)

    def _widen(self) -> None:
        """Let a program that prints much run on while a busy machine keeps this side from reading."""
        import fcntl

        self._chunk = 1 << 20
        for descriptor in self._pipes:
            with contextlib.suppress(OSError):  # a limit of the user
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, self._chunk)

    def _say(self) -> None:
        with contextlib.suppress(OSError):  # no room now; or nobody there, and then there is an end to read
            self._out = self._out[self._talk.send(self._out) :]

    def _converse(self, event: int) -> bool:
        if event & select.POLLOUT:
            self._say()
            if not self._out:
                self._poll.modify(self._talk, select.POLLIN)
        try:
            data = self._talk.recv(1 << 16)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        self._in += data
        if not data:
            self._drop(self._talk.fileno())
        return bool(data)

    def _hear(self) -> None:
        """The server tells how long the box had to wait, when asked, and at the end that nothing of it is left."""
        try:
            self._note(self._lease.recv(4096))
        except BlockingIOError:
            return
        except OSError:
            self._note(b"")
        if self.report is not None:
            self._drop(self._lease.fileno())
            while self._converse(select.POLLIN):
                pass
            self.drain()
            self.reason = "ended"

    def _note(self, data: bytes) -> None:
        """Take what the server wrote; its report is empty if it died before that was complete."""
        *lines, rest = (self._leased + data).split(b"\n")
        self._leased = rest
        for line in map(json.loads, lines):
            if "waited" in line:
                self._waited = line["waited"]
            else:
                self.report = line
        if not data and self.report is None:
            self.report = {}

    def drain(self) -> None:
        """Take what was written to the pipes so far."""
        for descriptor in self._pipes:
            while len(self._pipes[descriptor]) <= MAX_OUTPUT and self._collect(descriptor):
                pass

    def _drop(self, descriptor: int) -> None:
        with contextlib.suppress(KeyError):
            self._poll.unregister(descriptor)

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """End the box, and wait until nothing of it is left. Can be called twice."""
        ends, self._ends = self._ends, []
        try:
            if ends and self.report is None:
                self._end()
        finally:
            for end in ends:
                end.close()
            while self._pipes:
                os.close(self._pipes.popitem()[0])

    def _end(self) -> None:
        # A box that waits for a call leaves by itself when none can come; for any other the server is told to end it.
        if self.reason or not self._ends_by(self._talk, 0.05):
            self._ends_by(self._lease, 10)
        self.report = self.report or {}
        self.drain()

    def _ends_by(self, line: socket.socket, seconds: float) -> bool:
        """Hang up on a line; whether the server then reports the end of the box in time."""
        try:
            line.shutdown(socket.SHUT_WR)
            self._lease.settimeout(seconds)
            while self.report is None:
                self._note(self._lease.recv(4096))
        except OSError:
            return False
        return True

    def verdict(self) -> tuple[str, str]:
        """Status and error of a conversation that is over without an answer."""
        if self.reason == "bad value":
            return "bad value", "the program wrote into the answer line"
        if self.reason != "ended":
            return self.reason, ""
        report = self.report
        if not report or report.get("failed"):
            return "sandbox", report.get("failed") or "the server is gone"
        if report["over"]:
            return report["over"], ""
        if os.WIFSIGNALED(report["code"]):
            number = os.WTERMSIG(report["code"])
            return "crashed", f"killed by {signal.Signals(number).name if number < signal.NSIG else number}"
        return "exited", f"ended itself with code {os.waitstatus_to_exitcode(report['code'])}"

    def cpu_s(self) -> float:
        return (self.report or {}).get("cpu_s", 0.0)


_PIPE = 1 << 16  # bytes that a pipe holds at first
_START_S = 20.0  # to make a box, on a machine that is very busy
_FAILURES = {"exception", "memory limit", "bad value", "exited"}  # of a call, told by the box


def _begin(check: _Check, request: dict) -> tuple[str, str] | None:
    """Send the source; None once it is about to run."""
    check.open(request["kind"])
    message = check.exchange(json.dumps(request).encode(), time.monotonic() + _START_S)
    if message is not None and message["status"] == "started":
        return None
    if message is not None:
        return "sandbox", str(message.get("error"))[:2000]
    if check.reason == "ended" and not check.report.get("failed"):
        return "sandbox", f"the box did not start: {check.verdict()[1]}"
    return "sandbox", check.verdict()[1] or "the box did not start in time"


def _judge_calls(check: _Check, request: dict, arguments: list[bytes], limit: float) -> Run:
    stopped = _begin(check, request)
    if not stopped:
        message = check.exchange(None, time.monotonic() + limit)
        stopped = check.verdict() if message is None else _load_failure(message)
    check.drain()  # what loading printed
    outcomes: list = [None] * len(arguments)
    for index in _secret_order(len(arguments)):
        if stopped:
            break
        outcomes[index], stopped = _judge_call(check, arguments[index], limit)
    check.close()
    stopped = stopped or ("ok", "")
    never = Outcome(*stopped[:1], None, stopped[1], "", check.level, 0.0, 0.0)
    outcomes = [never if outcome is None else outcome for outcome in outcomes]
    return Run(*stopped, outcomes, check.level, check.cpu_s(), time.monotonic() - check.start)


def _load_failure(message: dict) -> tuple[str, str] | None:
    if message["status"] == "loaded":
        return None
    known = message["status"] in _FAILURES | {"syntax error", "no function"}
    return (message["status"] if known else "bad value"), str(message.get("error", ""))[:2000]


def _judge_call(check: _Check, arguments: bytes, limit: float) -> tuple[Outcome, tuple[str, str] | None]:
    """The outcome, and why the run stops if it does."""
    token = int.from_bytes(os.urandom(7), "little")  # so that no answer can be written before its question
    printed, start = len(check.stdout), time.monotonic()
    message = check.exchange(b"%d\n%b" % (token, arguments), start + limit)
    wall = time.monotonic() - start
    check.drain()
    stdout = check.stdout[printed:].decode("utf-8", "replace")
    stopped, value, cpu = None, None, 0.0
    if message is None:
        stopped = status, error = check.verdict()
    elif message.get("token") != token:
        stopped = status, error = "bad value", "the program wrote into the answer line"
    else:
        status, error = message["status"], str(message.get("error", ""))[:2000]
        claimed = message.get("cpu_s")
        cpu = min(max(claimed, 0.0), wall * MAX_TASKS) if type(claimed) is float and claimed == claimed else 0.0
        if status == "ok":
            status, value, error = _decode(message["value"])
        elif status not in _FAILURES:
            status, error = "bad value", "the program wrote into the answer line"
    return Outcome(status, value, error, stdout, check.level, cpu, wall), stopped


def _secret_order(n: int) -> list[int]:
    """Any order but the one given."""
    noise = os.urandom(8 * n)
    order = sorted(range(n), key=lambda index: noise[8 * index : 8 * index + 8])
    return order if n < 2 or order != sorted(order) else order[1:] + order[:1]


def _judge_program(check: _Check, request: dict, limit: float) -> Outcome:
    stopped, start, message = _begin(check, request), time.monotonic(), None
    if not stopped:
        message = check.exchange(None, start + limit)
        if message is not None:
            check.wait(start + limit)
        stopped = check.verdict()
    wall = time.monotonic() - start
    check.close()
    status, error = stopped
    if status == "exited":
        if message is not None and message["status"] in _FAILURES | {"syntax error"}:
            status, error = message["status"], ""
        elif check.report.get("code") == 0:
            status, error = "ok", ""
    stderr = check.stderr[-4000:].decode("utf-8", "replace")[-2000:]
    error = "\n".join(text for text in (stderr.rstrip("\n"), error) if text)
    stdout = check.stdout[:MAX_OUTPUT].decode("utf-8", "replace")
    return Outcome(status, None, error, stdout, check.level, check.cpu_s(), wall)


# --- values: plain ones as tagged JSON, read and written on both sides ---------------------------------------------

_ATOMS = {type(None), bool, float, str}
_LISTS: dict[type, str] = {tuple: "t", set: "s", frozenset: "z"}
_DICTS = (dict, OrderedDict, defaultdict, Counter)
_BIG = 1 << 63


_TO_JSON = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode  # `MAX_DEPTH` ends any circle


class _NotPlain(ValueError):
    pass


def _encode(value: object, items: int = MAX_ITEMS) -> str:
    """JSON in which lists, text and ordinary numbers stand for themselves and one-key objects for the rest."""
    return _TO_JSON(_tag(value, [items], MAX_DEPTH))


def _tag(value, room: list[int], depth: int):
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is int:
        return value if -_BIG < value < _BIG else {"i": hex(value)}
    if depth == 0:
        raise _NotPlain("nested too deep")
    if kind is list or kind in _LISTS:
        room[0] -= len(value)
        if room[0] < 0:
            raise _NotPlain("too many items")
        kinds = set(map(type, value))
        if kinds <= _ATOMS or (kinds == {int} and min(value) > -_BIG and max(value) < _BIG):
            items = list(value)
        else:
            items = [_tag(item, room, depth - 1) for item in value]
        return items if kind is list else {_LISTS[kind]: items}
    if kind in _DICTS:
        return {"d": _tag([list(pair) for pair in dict.items(value)], room, depth)}
    if kind is bytes:
        import binascii

        return {"b": binascii.b2a_base64(value, newline=False).decode()}
    if kind is complex:
        return {"c": [value.real, value.imag]}
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        item = value.item()
        if type(item) in _ATOMS or type(item) in (int, complex, bytes):
            return _tag(item, room, depth)
    raise _NotPlain(f"a value of type {kind.__module__}.{kind.__qualname__}"[:200])


def _decode(text: bytes | bytearray) -> tuple[str, object, str]:
    """Status, value and error of what a box wrote."""
    try:
        if len(text) > MAX_VALUE:
            raise ValueError("too large")
        return "ok", _TAGGED_JSON.decode(text.decode()), ""
    except RecursionError:
        return "bad value", None, "nested too deep"
    except (ValueError, TypeError, LookupError, MemoryError) as error:
        return "bad value", None, str(error)[:200]


def _untag(pairs: list[tuple[str, Any]]) -> object:
    ((tag, body),) = pairs
    if tag == "i":
        return int(body, 16)
    if tag == "b":
        import binascii

        return binascii.a2b_base64(body)
    if type(body) is not list:
        raise ValueError("not a value")
    if tag == "t":
        return tuple(body)
    if tag == "c":
        real, imaginary = body
        return complex(float(real), float(imaginary))
    keys = [key for key, _ in body] if tag == "d" else body
    # Keys made to collide would keep this side busy for minutes.
    if len(keys) > 1000 and max(Counter(map(hash, keys)).values()) > 50:
        raise ValueError("too many keys of one hash")
    return {"s": set, "z": frozenset, "d": dict}[tag](body)


_JSON, _TAGGED_JSON = json.JSONDecoder(), json.JSONDecoder(object_pairs_hook=_untag)


# --- the server: from here on, what runs in the executed process ---------------------------------------------------

_libc = ctypes.CDLL(None, use_errno=True)
_NEW_NS, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_PID, _NEW_NET = 1 << 17, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOATIME, _MS_REMOUNT = 1, 2, 4, 1024, 32
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_PDEATHSIG, _KEEPCAPS, _NO_NEW_PRIVS, _SUBREAPER, _SECCOMP, _AMBIENT = 1, 8, 38, 36, 22, 47
_DAC_READ_SEARCH = 2  # the capability to read whatever Landlock leaves readable
_FIRST_UID, _LAST_UID = 50_000, 59_000


class _Ready:
    """A call of libc; integers are passed as long, a negative result raises.

    Boxes make calls that are made ready in the server: a box pays for each page of memory that it is first to touch.
    """

    def __init__(self, name: str, *arguments):
        self._function, self._name = getattr(_libc, name), name
        self._arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]

    def __call__(self) -> int:
        result = self._function(*self._arguments)
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{self._name}: {os.strerror(number)}")
        return result


def _c(name: str, *arguments) -> int:
    return _Ready(name, *arguments)()


def _syscall(name: str, *arguments):
    return _c("syscall", _OTHER_CALLS[name][os.uname().machine], *arguments)


_OTHER_CALLS = {
    name: {"x86_64": x86, "aarch64": arm}
    for name, x86, arm in (
        ("pivot_root", 155, 41),
        ("mount_setattr", 442, 442),
        ("landlock_create_ruleset", 444, 444),
        ("landlock_add_rule", 445, 445),
        ("landlock_restrict_self", 446, 446),
    )
}


def _serve(control: int, settings: dict) -> None:
    """The executed process: prepare the level, then keep watch over the server proper, a child."""
    line = socket.socket(fileno=control)
    try:
        caller = os.pidfd_open(settings["caller"])
        if os.getppid() != settings["caller"]:
            return
        _preload(settings["numpy"])
        place = _Namespaces(settings) if settings["level"] == "namespaces" else _Users(settings)
        keeper = os.pidfd_open(os.getpid())
        pid = os.fork()
    except (OSError, AttributeError, KeyError, SandboxError) as error:
        line.send(f"{type(error).__name__}: {error}"[:4000].encode())
        return
    if pid:
        line.close()
        os.waitpid(pid, 0)
        place.sweep()
        return
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # where memory runs out, boxes go before the caller
        place.settle()
        line.send(b"ready")
    except (OSError, SandboxError) as error:
        line.send(f"{type(error).__name__}: {error}"[:4000].encode())
    else:
        _Boxes(place, line, settings["memory_mb"]).serve([caller, keeper])
        place.sweep()
    finally:
        os._exit(0)


def _preload(numpy: bool) -> None:
    """What most programs import, so that a box need not; more would make every fork dearer."""
    for name in ["bisect", "collections", "copy", "heapq", "itertools", "math", "string", "typing", *["numpy"] * numpy]:
        with contextlib.suppress(ImportError):
            __import__(name)
    sys.dont_write_bytecode = True
    sys.path[:] = [folder for folder in sys.path if _is_ours(folder)]
    source = "def double(x):\n    return 2 * x"
    module = _load(_compiled(source), _Loader(source))
    for _ in range(20):  # what every box does, so that memory is laid out for it
        _attempt(lambda: _answer(module, "double", _TAGGED_JSON.raw_decode("[21]")[0]))
    gc.collect()
    with contextlib.suppress(AttributeError):  # only glibc has it
        _libc.malloc_trim(0)
    gc.freeze()


def _is_ours(folder: str) -> bool:
    """Whether a folder of sys.path holds installed packages; the others are projects that a .pth file points to."""
    prefixes = tuple(os.path.join(p, part) for p in _prefixes() for part in ("lib", "lib64"))
    return folder.startswith(prefixes) or "site-packages" in folder or "dist-packages" in folder


def _prefixes() -> set[str]:
    return {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}


def _readable() -> list[str]:
    """Folders of the interpreter and of the system's libraries, none inside another."""
    folders = {os.path.join(p, part) for p in _prefixes() for part in ("bin", "lib", "lib64")}
    folders |= {"/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo"}
    folders |= {os.path.dirname(os.path.realpath(sys.executable)), *filter(_is_ours, sys.path)}
    folders = {folder for folder in folders if os.path.isdir(folder) and folder != "/"}
    inside = lambda folder: any(folder.startswith(other + "/") for other in folders)  # noqa: E731
    return sorted(folder for folder in folders if not inside(folder))


_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def _files() -> list[str]:
    """Files that programs need, outside those folders."""
    return [path for path in ("/etc/ld.so.cache", os.path.join(sys.prefix, "pyvenv.cfg")) if os.path.isfile(path)]


class _Box(NamedTuple):
    pid: int
    lease: int  # a descriptor; so is the key that a box is found by, the pidfd
    slot: int
    start: float


class _Boxes:
    """The server's loop: makes boxes on request, ends them when their lease ends, watches their memory."""

    def __init__(self, place, line: socket.socket, memory_mb: int):
        self._place, self._line, self._memory_mb = place, line, memory_mb
        self._poll, self._boxes, self._leases, self._over = select.poll(), {}, {}, {}
        self._free = list(range(place.slots))[::-1]
        self._look_s = _SELDOM_S
        status = _status(place.proc, "self")
        place.own = status["RssAnon"]
        _limit((memory_mb << 20) + status["VmSize"])
        _c("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)

    def serve(self, watched: list[int]) -> None:
        """Until the caller or the keeper dies, or the control socket ends."""
        for descriptor in (self._line.fileno(), *watched):
            self._poll.register(descriptor, select.POLLIN)
        last = time.monotonic()
        while True:
            for descriptor, _ in self._poll.poll(1000 * self._look_s if self._boxes or self._place.tidying() else None):
                if descriptor in watched:
                    return
                if descriptor in self._boxes:
                    self._ended(descriptor)
                elif descriptor in self._leases:
                    self._leased(self._leases[descriptor])
                elif descriptor == self._line.fileno() and not self._request():
                    return
            if not self._free and not self._boxes:
                return  # the caller starts another server
            if self._boxes and time.monotonic() - last > self._look_s:
                self._watch()
                last = time.monotonic()

    def _request(self) -> bool:
        kind, ancillary, _, _ = self._line.recvmsg(64, _FOUR_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
        if not kind:
            return False
        _, _, numbers = ancillary[0]
        lease, *descriptors = struct.unpack(f"{len(numbers) // 4}i", numbers)
        try:
            self._make(lease, descriptors)
        except (OSError, IndexError) as error:
            _tell(lease, json.dumps({"failed": f"could not make a box: {error}"}))
            os.close(lease)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _make(self, lease: int, descriptors: list[int]) -> None:
        slot = self._free.pop()
        pid = self._place.fork()
        if not pid:
            _box(self._place, slot, *descriptors)
        pidfd = os.pidfd_open(pid)
        self._boxes[pidfd] = self._leases[lease] = _Box(pid, lease, slot, time.monotonic())
        self._poll.register(pidfd, select.POLLIN)
        self._poll.register(lease, select.POLLIN)

    def _leased(self, box: _Box) -> None:
        """The caller asks, or has let go."""
        try:
            asked = os.read(box.lease, 16)
        except BlockingIOError:
            return  # the event was for an earlier descriptor of this number
        except OSError:
            asked = b""
        if asked:
            _tell(box.lease, f'{{"waited": {self._waited(box.pid)!r}}}')
            return
        self._poll.unregister(box.lease)
        del self._leases[box.lease]
        os.kill(box.pid, signal.SIGKILL)

    def _ended(self, pidfd: int) -> None:
        """Clear up, then report on the lease."""
        box = self._boxes[pidfd]
        pid, code, usage = os.wait4(box.pid, os.WNOHANG)
        if not pid:
            return  # the event was for an earlier descriptor of this number
        del self._boxes[pidfd]
        self._poll.unregister(pidfd)
        os.close(pidfd)
        if self._leases.pop(box.lease, None):
            self._poll.unregister(box.lease)
        if self._place.clear(box.slot):
            self._free.append(box.slot)  # else something is left that cannot be ended: never use it again
        if not self._boxes:
            self._place.rest()
        over = json.dumps(self._over.pop(box.pid)) if box.pid in self._over else "null"
        _tell(box.lease, f'{{"code": {code}, "cpu_s": {usage.ru_utime + usage.ru_stime!r}, "over": {over}}}')
        os.close(box.lease)

    def _waited(self, pid: int) -> float:
        """Seconds that a box could have run and did not; 0 if it has several tasks, which may wait for one another."""
        try:
            number = self._place.number(pid)
            if len(_tasks(self._place.proc, number)) > 1 or _children(self._place.proc, number):
                return 0.0
            with open(f"{number}/schedstat", opener=_under(self._place.proc)) as file:
                return int(file.read().split()[1]) / 1e9
        except (OSError, LookupError):
            return 0.0

    def _watch(self) -> None:
        """End boxes whose processes together hold too much memory or disk."""
        old = [box for box in self._boxes.values() if time.monotonic() - box.start > _SELDOM_S]
        self._look_s = _SELDOM_S
        if not old or self._place.calm():
            return
        self._look_s = _OFTEN_S
        held = self._place.held(self._boxes.values())
        for box in old:
            memory, disk = held.get(box.pid, (0, 0))
            if memory > (self._memory_mb + 64) << 20 or disk > DISK_MB << 20:
                self._over[box.pid] = "memory limit"
                os.kill(box.pid, signal.SIGKILL)


_SELDOM_S, _OFTEN_S = 0.05, 0.01  # between looks at memory: processes side by side fill it faster than one alone
_FOUR_DESCRIPTORS = socket.CMSG_SPACE(4 * 4)


def _tell(lease: int, message: str) -> None:
    try:  # noqa: SIM105
        os.write(lease, message.encode() + b"\n")
    except OSError:  # the caller is gone, or does not read
        pass


def _status(proc: int, pid: int | str) -> dict:
    """Of /proc/PID/status: memory in bytes, user id, process numbers from the outermost namespace inwards."""
    descriptor = os.open(f"{pid}/status", os.O_RDONLY, dir_fd=proc)
    try:
        text = os.read(descriptor, 8192).decode("ascii", "replace")
    finally:
        os.close(descriptor)
    found = dict(re.findall(r"^(VmSize|RssAnon|RssShmem|Uid|NSpid):\s*(.*)$", text, re.M))
    sizes = {key: 1024 * int(found.get(key, "0").split()[0]) for key in ("VmSize", "RssAnon", "RssShmem")}
    return {**sizes, "Uid": int(found["Uid"].split()[0]), "NSpid": [int(n) for n in found["NSpid"].split()]}


def _under(folder: int):
    """An opener of files below an open folder."""
    return lambda path, flags: os.open(path, flags, dir_fd=folder)


def _tasks(proc: int, pid: int | str) -> list[str]:
    """The threads of a process."""
    folder = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=proc)
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)


def _children(proc: int, pid: int | str) -> list[int]:
    """Process numbers as /proc has them; `pid` can be "self"."""
    found, number = [], os.readlink("self", dir_fd=proc) if pid == "self" else pid
    for task in _tasks(proc, number):
        with contextlib.suppress(OSError), open(f"{number}/task/{task}/children", opener=_under(proc)) as file:
            found += map(int, file.read().split())
    return found


def _descendants(proc: int, pid: int | str) -> list[int]:
    try:
        children = _children(proc, pid)
    except OSError:
        return []
    return children + [below for child in children for below in _descendants(proc, child)]


def _limit(address_space: int) -> None:
    """In the server, for itself and for all boxes; what would hold it up as well is left to `_limits_of_a_box`."""
    for what, value in (
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_FSIZE, DISK_MB << 20),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_STACK, min(address_space, 120 << 20)),
    ):
        _lower(what, value)


def _lower(what: int, value: int) -> None:
    resource.setrlimit(what, (_at_most(what, value),) * 2)


def _at_most(what: int, value: int) -> int:
    hard = resource.getrlimit(what)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _limits_of_a_box(tasks: int) -> list[_Ready]:
    limits = (resource.RLIMIT_NPROC, tasks), (resource.RLIMIT_NOFILE, 64)
    calls = [_Ready("setrlimit", what, struct.pack("2L", *(_at_most(what, value),) * 2)) for what, value in limits]
    return [*calls, _Ready("setpriority", os.PRIO_PROCESS, 0, 4)]  # the server that watches them goes first


class _Uids:
    """A block of user ids that no other server on this machine uses: one to end processes with, one for each slot.

    A name in the abstract socket namespace holds the block, and goes away with the process.
    """

    def __init__(self, slots: int):
        self._lock = socket.socket(socket.AF_UNIX)
        used = _uids_in_use()
        for first in range(_FIRST_UID, _LAST_UID, MAX_TASKS + 1):
            if used.isdisjoint(range(first, first + slots + 1)):
                try:
                    self._lock.bind(f"\0code-sandbox-uids-{first}")
                except OSError:
                    continue
                self.spare, self.of = first, [first + 1 + slot for slot in range(slots)]
                return
        raise SandboxError(f"no free block of user ids between {_FIRST_UID} and {_LAST_UID}")


def _uids_in_use() -> set[int]:
    used = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                used.add(os.stat(f"/proc/{name}").st_uid)
    return used


def _becoming(uid: int, capability: int | None = None) -> list[_Ready]:
    """Give up root for good; `capability` alone is kept, also by programs that are executed."""
    calls = [_Ready("setgroups", 0, None), _Ready("setresgid", uid, uid, uid), _Ready("setresuid", uid, uid, uid)]
    if capability is None:
        return [*calls, _keeping_only(None)]
    keep, pass_on = _Ready("prctl", _KEEPCAPS, 1, 0, 0, 0), _Ready("prctl", _AMBIENT, 2, capability, 0, 0)
    return [keep, *calls, _keeping_only(capability), pass_on]


def _keeping_only(capability: int | None) -> _Ready:
    bits = 0 if capability is None else 1 << capability  # effective, permitted, inheritable
    return _Ready("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("6I", bits, bits, bits, 0, 0, 0))


# --- level "namespaces" -------------------------------------------------------------------------------------------


_WORK = "/tmp/work"  # the working directory of a box


class _Namespaces:
    """Boxes in namespaces of their own, below a read-only root."""

    own: int  # KiB that the server itself takes up

    def __init__(self, settings: dict):
        self.slots, self.filter = settings["slots"], _filtering(kill=True)
        self.proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        self._uids = None
        flags = _NEW_NS | _NEW_PID | _NEW_NET | _NEW_IPC | _NEW_UTS
        if os.getuid() == 0:
            try:
                self._uids = _Uids(self.slots)
                _c("unshare", flags)
                return
            except PermissionError:
                self._uids = None
        uid, gid = os.getuid(), os.getgid()
        _c("unshare", flags | _NEW_USER)
        for file, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{file}", "w") as handle:
                handle.write(text)

    def settle(self) -> None:
        """In the first process of the new namespace: build the root and move there."""
        self._part = _Ready("unshare", _NEW_PID)
        self._rejoin = _Ready("setns", os.open("/proc/self/ns/pid", os.O_RDONLY), _NEW_PID)
        self._pids = None
        with contextlib.suppress(OSError):
            self._pids = os.open("sys/kernel/ns_last_pid", os.O_RDONLY, dir_fd=self.proc)
        about = _status(self.proc, "self")  # by its limit alone, a single process stays below what `_watch` would end
        self._bounded = self._pids is not None and about["VmSize"] - about["RssAnon"] < 64 << 20
        self._last, self._single = 0, False
        self.null = os.open("/dev/null", os.O_RDWR)
        _c("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
        folders = _readable()
        root = next(
            (r for r in ("/sys", "/mnt", "/srv", "/media") if os.path.isdir(r) and not _holds(r, folders)), "/proc"
        )
        links = {path: os.readlink(path) for path in ("/bin", "/lib", "/lib64") if os.path.islink(path)}
        opened = {folder: os.open(folder, os.O_PATH) for folder in folders if folder not in links}
        opened |= {file: os.open(file, os.O_PATH) for file in (*_DEVICES, *_files())}
        _c("mount", b"none", root.encode(), b"tmpfs", _MS_NOSUID | _MS_NODEV, b"size=1m,mode=755")
        self._below_tmp = []  # a virtual environment there: kept elsewhere, and shown in each box's own /tmp
        for path, descriptor in opened.items():
            place = path
            if path.startswith("/tmp/"):
                place = f"/kept/{len(self._below_tmp)}"
                self._below_tmp.append((path, place))
            self._bind(descriptor, root + place, os.path.isdir(path))
        for path, target in links.items():
            os.symlink(target, root + path)
        os.makedirs(root + "/tmp", exist_ok=True)
        os.symlink("/tmp", root + "/dev/shm")
        os.symlink(_WORK + "/.stdin", root + "/dev/stdin")
        os.chdir(root)
        _syscall("pivot_root", b".", b".")
        _c("umount2", b".", 2)
        os.chdir("/")
        _c("mount", b"none", b"/", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV, None)
        socket.sethostname("sandbox")
        self._mounts = os.open("self/ns/mnt", os.O_RDONLY, dir_fd=self.proc)
        self._rooms = [self._room(slot) for slot in range(self.slots)]

    def _room(self, slot: int) -> "_Room":
        """Mounts for the boxes of a slot, with an empty /tmp that no other slot sees."""
        _c("unshare", _NEW_NS)
        try:
            owner = f",uid={self._uids.of[slot]},gid={self._uids.of[slot]}" if self._uids else ""
            options = f"size={DISK_MB}m,nr_inodes=4096,mode=700{owner}"
            _c("mount", b"none", b"/tmp", b"tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOATIME, options.encode())
            os.mkdir(_WORK)
            for path, kept in self._below_tmp:
                _target(path, os.path.isdir(kept))
                _c("mount", kept.encode(), path.encode(), None, _MS_BIND, None)
            if self._uids:
                os.chown(_WORK, self._uids.of[slot], self._uids.of[slot])
                leave = _becoming(self._uids.of[slot])
            else:  # processes are counted for each user namespace, and in a new one nothing is left to gain
                leave = [_Ready("unshare", _NEW_USER), _keeping_only(None)]
            return _Room(os.open("self/ns/mnt", os.O_RDONLY, dir_fd=self.proc), leave)
        finally:
            _c("setns", self._mounts, _NEW_NS)

    @staticmethod
    def _bind(descriptor: int, target: str, folder: bool) -> None:
        _target(target, folder)
        source = f"/proc/self/fd/{descriptor}".encode()
        _c("mount", source, target.encode(), None, _MS_BIND | _MS_REC, None)
        os.close(descriptor)
        _read_only(target, devices=target.rpartition("/")[0].endswith("/dev"))

    def fork(self) -> int:
        """A child that is the first process of its own namespace."""
        self._part()
        pid = -1
        try:
            pid = os.fork()
        finally:
            if pid:
                self._rejoin()
        if pid:
            self._single = self._single and pid == self._last + 1
            self._last = pid
        return pid

    def calm(self) -> bool:
        """Whether no box can hold too much: each is a single process, for no number was given to any other."""
        if self._bounded and self._single:
            self._single = self._last_pid() == self._last
        return self._single

    def rest(self) -> None:
        """There are no boxes now."""
        if self._bounded and not self._single:
            self._last, self._single = self._last_pid(), True

    def _last_pid(self) -> int:
        return int(os.pread(self._pids, 32, 0))

    def enter(self, slot: int) -> None:
        """In the box, before anything untrusted: close all doors."""
        for call in self._rooms[slot].doors:
            call()

    def clear(self, slot: int) -> bool:
        """All processes went with the first; a /tmp that was touched is replaced."""
        room = self._rooms[slot]
        try:
            if not room.untouched():
                room.close()
                self._rooms[slot] = self._room(slot)
        except OSError:
            return False
        return True

    def tidying(self) -> bool:
        return False

    def sweep(self) -> None:
        pass

    def held(self, boxes) -> dict[int, tuple[int, int]]:
        """Bytes of memory and disk (bounded, so not counted) by box."""
        held = {}
        for pid, number in self._numbers():
            processes = number, *_descendants(self.proc, number)
            held[pid] = sum(_memory(self.proc, process, self.own) for process in processes), 0
        return held

    def number(self, pid: int) -> int:
        """The number of a box in /proc, which shows the outermost namespace."""
        return dict(self._numbers())[pid]

    def _numbers(self):
        for number in _children(self.proc, "self"):
            with contextlib.suppress(OSError, KeyError, IndexError):
                yield _status(self.proc, number)["NSpid"][-2], number


class _Room:
    """A mount namespace with a /tmp of its own, which serves one box after another until one leaves a trace there."""

    def __init__(self, mounts: int, leave: list[_Ready]):
        move = _Ready("setns", mounts, _NEW_NS), _Ready("chdir", _WORK.encode())
        self.doors = [*move, *_limits_of_a_box(MAX_TASKS), *leave]  # for a box, to close behind itself
        self._mounts, self._tmp = mounts, os.open("/tmp", os.O_RDONLY | os.O_DIRECTORY)
        self._folders = list(_folders("/tmp"))
        self._before = self._state()

    def _state(self) -> list[tuple]:
        """Of each folder what changes when anything in it does; a change time cannot be put back."""
        found = [os.stat(path, dir_fd=self._tmp, follow_symlinks=False) for path in self._folders]
        return [
            (s.st_ino, s.st_mode, s.st_uid, s.st_gid, s.st_nlink, s.st_size, s.st_mtime_ns, s.st_ctime_ns)
            for s in found
        ]

    def untouched(self) -> bool:
        try:
            return self._state() == self._before
        except OSError:
            return False

    def close(self) -> None:
        os.close(self._mounts)
        os.close(self._tmp)


def _folders(top: str):
    """The folders of one file system, from `top` downwards, as paths from there."""
    device = os.stat(top).st_dev
    for path, names, _ in os.walk(top):
        names[:] = [name for name in names if os.stat(os.path.join(path, name)).st_dev == device]
        yield os.path.relpath(path, top)


def _target(path: str, folder: bool) -> None:
    """Something to mount on."""
    os.makedirs(path if folder else os.path.dirname(path), exist_ok=True)
    if not folder:
        open(path, "a").close()


def _holds(folder: str, others: list[str]) -> bool:
    return any(other == folder or other.startswith(folder + "/") for other in others)


def _memory(proc: int, pid: int, own: int) -> int:
    """Bytes beyond the `own` ones of the server, which a box shares until it writes to them."""
    try:
        status = _status(proc, pid)
    except (OSError, KeyError):
        return 0
    return max(0, status["RssAnon"] - own) + status["RssShmem"]


def _read_only(path: str, devices: bool) -> None:
    """Make a mount and those below it read-only; on a kernel before 5.12 only the mount itself."""
    flags = _MS_RDONLY | _MS_NOSUID | (0 if devices else _MS_NODEV)  # the same bits as MOUNT_ATTR_
    try:
        _syscall("mount_setattr", -100, path.encode(), 0x8000, struct.pack("4Q", flags, 0, 0, 0), 32)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        kept = os.statvfs(path).f_flag & (2 | 4 | 8 | 1024 | 2048)  # a namespace may not take these away
        kept |= (1 << 21) * bool(os.statvfs(path).f_flag & 4096)
        _c("mount", b"none", path.encode(), None, _MS_REMOUNT | _MS_BIND | flags | kept, None)


# --- levels "landlock" and "none" ---------------------------------------------------------------------------------


class _Users:
    """Boxes told apart by user id, each with a folder of its own, shut in by Landlock at that level."""

    own: int  # KiB that the server itself takes up

    def __init__(self, settings: dict):
        self.slots, self.filter = settings["slots"], _filtering(kill=settings["level"] != "none")
        self.proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        self.null = os.open("/dev/null", os.O_RDWR)
        self._landlock = settings["level"] == "landlock"
        if self._landlock and os.getuid() != 0:
            raise SandboxError("a user id for each check needs root")
        self._uids = _Uids(self.slots) if os.getuid() == 0 else None
        self._abi = _landlock_abi()
        if self._landlock and not self._abi:
            raise SandboxError("this kernel has no Landlock")
        self._home = f"/tmp/code-sandbox-{os.getpid()}-{os.urandom(8).hex()}"
        os.mkdir(self._home)
        os.chmod(self._home, 0o711)
        _c("prctl", _SUBREAPER, 1, 0, 0, 0)
        self._capability = self._reading_capability()

    def _reading_capability(self) -> int | None:
        """What a box needs to import from an interpreter below a private folder, such as root's home."""
        if not self._uids:
            return None
        pid = os.fork()
        if not pid:
            code = 1
            try:
                folders = _readable()
                for call in _becoming(self._uids.spare):
                    call()
                for folder in folders:
                    os.listdir(folder)
                code = 0
            finally:
                os._exit(code)
        return _DAC_READ_SEARCH if os.waitpid(pid, 0)[1] else None

    def settle(self) -> None:
        """In the server: a folder for each slot."""
        _c("prctl", _SUBREAPER, 1, 0, 0, 0)
        self._folders = [os.path.join(self._home, str(slot)) for slot in range(self.slots)]
        self._rules: list[int | None] = [None] * self.slots
        self._removers: set[int] = set()
        for slot in range(self.slots):
            self._provide(slot)

    def fork(self) -> int:
        return os.fork()

    def enter(self, slot: int) -> None:
        os.setsid()
        folder = self._folders[slot]
        os.environ.update(HOME=folder, TMPDIR=folder)
        os.chdir(folder)
        others = 0 if self._uids else _tasks_of(self.proc, os.getuid())
        leave = _becoming(self._uids.of[slot], self._capability) if self._uids else []
        for call in (*_limits_of_a_box(MAX_TASKS + others), *leave, _Ready("prctl", _PDEATHSIG, 9, 0, 0, 0)):
            call()
        if self._rules[slot] is not None:
            _syscall("landlock_restrict_self", self._rules[slot], 0)

    def number(self, pid: int) -> int:
        return pid

    def clear(self, slot: int) -> bool:
        """Nothing of the slot is left, neither process nor file; False if that could not be had."""
        return self._clear_processes(slot) and self._clear_folder(slot)

    def _clear_folder(self, slot: int) -> bool:
        """Remove the files; where there are many or hard ones, put the folder aside and have a child do it."""
        folder = self._folders[slot]
        with contextlib.suppress(OSError):
            names = os.listdir(folder)
            if len(names) < 50:
                for name in names:
                    os.unlink(os.path.join(folder, name))
                os.chmod(folder, 0o700)
                os.utime(folder)
                return True
        aside = f"{self._home}/{slot}-{os.urandom(8).hex()}"
        with contextlib.suppress(OSError):
            os.rename(folder, aside)
            self._provide(slot)
            if not self._uids:
                _remove(aside)
            elif not (pid := os.fork()):
                try:
                    _remove(aside)
                finally:
                    os._exit(0)
            else:
                self._removers.add(pid)
        return os.path.isdir(folder)

    def calm(self) -> bool:
        return False

    def rest(self) -> None:
        pass

    def tidying(self) -> bool:
        """Whether files are still being removed."""
        self._removers -= {pid for pid in self._removers if os.waitpid(pid, os.WNOHANG)[0]}
        return bool(self._removers)

    def _provide(self, slot: int) -> None:
        """A new folder for a slot, and the rules that leave only that one writable."""
        folder = self._folders[slot]
        os.mkdir(folder, 0o700)
        if self._uids:
            os.chown(folder, self._uids.of[slot], self._uids.of[slot])
        if self._rules[slot] is not None:
            os.close(self._rules[slot])
        if self._abi:
            self._rules[slot] = _landlock_rules(self._abi, _readable(), folder)

    def _clear_processes(self, slot: int) -> bool:
        for _ in range(500):
            if self._uids:
                _reap(self.proc, self._uids.of[slot])
                try:
                    os.getpriority(os.PRIO_USER, self._uids.of[slot])
                except ProcessLookupError:
                    return True
                self._kill_all(self._uids.of[slot])
            else:
                _reap(self.proc, None)
                left = _descendants(self.proc, os.getpid())
                if not left:
                    return True
                for number in (signal.SIGSTOP, signal.SIGKILL):
                    for pid in left:
                        with contextlib.suppress(OSError):
                            os.kill(pid, number)
            time.sleep(0.001)
        return False

    def _kill_all(self, uid: int) -> None:
        """Kill every process of a user in one step that no fork can outrun, by a child they cannot kill in turn."""
        pid = os.fork()
        if not pid:
            try:
                os.setgroups([])
                os.setresuid(self._uids.spare, uid, self._uids.spare)
                os.kill(-1, signal.SIGKILL)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)

    def sweep(self) -> None:
        """In the keeper, when the server is gone for whatever reason."""
        for slot in range(self.slots):
            self._clear_processes(slot)
        _remove(self._home)

    def held(self, boxes) -> dict[int, tuple[int, int]]:
        """Bytes of memory and disk by box."""
        owners = {self._uids.of[box.slot] if self._uids else os.getuid(): box for box in boxes}
        held = {box.pid: (0, _disk(self._folders[box.slot])) for box in boxes}
        for pid in _descendants(self.proc, os.getpid()):
            try:
                box = owners[_status(self.proc, pid)["Uid"]]
            except (OSError, KeyError):
                continue
            memory, disk = held[box.pid]
            held[box.pid] = memory + _memory(self.proc, pid, self.own), disk + _unlinked(self.proc, pid)
        return held


def _tasks_of(proc: int, uid: int) -> int:
    """Processes and threads of a user."""
    count = 0
    for name in os.listdir(proc):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(name, dir_fd=proc).st_uid == uid:
                    count += os.stat(f"{name}/task", dir_fd=proc).st_nlink - 2
    return count


def _reap(proc: int, uid: int | None) -> None:
    """Wait for dead children that came here as orphans of a user's box."""
    for pid in _children(proc, "self"):
        try:
            if uid is None or _status(proc, pid)["Uid"] == uid:
                os.waitpid(pid, os.WNOHANG)
        except (OSError, KeyError):
            pass


def _remove(path: str) -> None:
    """Also a tree that was made to be hard to remove."""
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil
        import subprocess

        try:
            shutil.rmtree(path)
        except (OSError, RecursionError):
            subprocess.run(["/bin/rm", "-rf", "--", path], stderr=subprocess.DEVNULL, check=False)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _disk(folder: str) -> int:
    """Bytes below a folder, an item counted as at least 16 KiB; no further than what is too much."""
    total, ahead = 0, [folder]
    while ahead:
        with contextlib.suppress(OSError), os.scandir(ahead.pop()) as items:
            for item in items:
                total += 16_384 + 512 * item.stat(follow_symlinks=False).st_blocks
                if total > DISK_MB << 20:
                    return total
                if item.is_dir(follow_symlinks=False):
                    ahead.append(item.path)
    return total


def _unlinked(proc: int, pid: int) -> int:
    """Bytes of files that a process holds open though they have no name."""
    total = 0
    try:
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return 0
    for descriptor in descriptors:
        try:
            about = os.stat(f"{pid}/fd/{descriptor}", dir_fd=proc)
        except OSError:
            continue
        if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
            total += 512 * about.st_blocks
    return total


def _landlock_abi() -> int:
    try:
        return _syscall("landlock_create_ruleset", None, 0, 1)
    except (OSError, KeyError):
        return 0


def _landlock_rules(abi: int, readable: list[str], folder: str) -> int:
    """A ruleset: read and execute below `readable`, do anything below `folder`, use the harmless devices."""
    execute, write, read, read_folder = 1, 2, 4, 8
    everything = (1 << (13 if abi < 2 else 14 if abi < 3 else 15 if abi < 5 else 16)) - 1
    network, scopes = (3 if abi >= 4 else 0), (3 if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    rules = _syscall("landlock_create_ruleset", struct.pack("3Q", everything, network, scopes)[:size], size, 0)
    allowed = dict.fromkeys(readable, execute | read | read_folder) | {folder: everything}
    allowed |= dict.fromkeys(_files(), read) | dict.fromkeys(_DEVICES, read | write)
    for path, rights in allowed.items():
        descriptor = os.open(path, os.O_PATH)
        _syscall("landlock_add_rule", rules, 1, struct.pack("=Qi", rights, descriptor), 0)
        os.close(descriptor)
    return rules


# --- the system-call filter ----------------------------------------------------------------------------------------

# Permitted calls with their numbers on x86_64 and aarch64. What is missing here does not exist for a box: sockets,
# ptrace and other processes' memory, mounts, namespaces, keyrings, bpf, io_uring, userfaultfd, memfd, System V IPC.
_PERMITTED = """
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, preadv 295 69, pwritev 296 70,
open 2 -, openat 257 56, creat 85 -, close 3 57, close_range 436 436, lseek 8 62, stat 4 -, fstat 5 80, lstat 6 -,
newfstatat 262 79, statx 332 291, access 21 -, faccessat 269 48, faccessat2 439 439, poll 7 -, ppoll 271 73,
select 23 -, pselect6 270 72, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -,
epoll_pwait 281 22, eventfd 284 -, eventfd2 290 19, signalfd4 289 74, pipe 22 -, pipe2 293 59, dup 32 23, dup2 33 -,
dup3 292 24, flock 73 32, fsync 74 82, fdatasync 75 83, truncate 76 45, ftruncate 77 46, fallocate 285 47,
fadvise64 221 223, sendfile 40 71, copy_file_range 326 285, getdents 78 -, getdents64 217 61, getcwd 79 17,
chdir 80 49, fchdir 81 50, rename 82 -, renameat 264 38, renameat2 316 276, mkdir 83 -, mkdirat 258 34, rmdir 84 -,
link 86 -, linkat 265 37, unlink 87 -, unlinkat 263 35, symlink 88 -, symlinkat 266 36, readlink 89 -,
readlinkat 267 78, chmod 90 -, fchmod 91 52, fchmodat 268 53, chown 92 -, fchown 93 55, lchown 94 -,
fchownat 260 54, umask 95 166, utime 132 -, utimes 235 -, utimensat 280 88, futimesat 261 -, statfs 137 43,
fstatfs 138 44, mmap 9 222, mprotect 10 226, munmap 11 215, mremap 25 216, msync 26 227, mincore 27 232,
madvise 28 233, brk 12 214, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136,
rt_sigtimedwait 128 137, rt_sigsuspend 130 133, sigaltstack 131 132, restart_syscall 219 128, pause 34 -,
nanosleep 35 101, clock_nanosleep 230 115, clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169,
time 201 -, times 100 153, getitimer 36 102, setitimer 38 103, alarm 37 -, timer_create 222 107,
timer_settime 223 110, timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111, timerfd_create 283 85,
timerfd_settime 286 86, timerfd_gettime 287 87, sendto 44 206, recvfrom 45 207, sendmsg 46 211, recvmsg 47 212,
shutdown 48 210, getsockname 51 204, getpeername 52 205, getsockopt 55 209, setsockopt 54 208, getpid 39 172,
gettid 186 178, getppid 110 173, getpgrp 111 -, getpgid 121 155, getsid 124 156, setpgid 109 154, setsid 112 157,
getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getgroups 115 158, getresuid 118 148,
getresgid 120 150, uname 63 160, sysinfo 99 179, getcpu 309 168, getrlimit 97 163, setrlimit 160 164,
getrusage 98 165, getpriority 140 141, sched_yield 24 124, sched_getaffinity 204 123, sched_getparam 143 121,
sched_getscheduler 145 120, sched_get_priority_max 146 125, sched_get_priority_min 147 126,
sched_rr_get_interval 148 127, fork 57 -, vfork 58 -, execve 59 221, exit 60 93, exit_group 231 94, wait4 61 260,
waitid 247 95, arch_prctl 158 -, set_tid_address 218 96, set_robust_list 273 99, get_robust_list 274 100,
futex 202 98, rseq 334 293, membarrier 324 283, getrandom 318 278
"""
_KILL = "kill 62 129, tkill 200 130, tgkill 234 131"
# Permitted by argument: name, numbers, argument, then values that alone pass or (with "not") that alone do not.
_SIFTED: tuple[tuple[int, int, int, str, tuple[int, ...]], ...] = (
    (16, 29, 1, "only", (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),  # ioctl: terminal?, size, unread, flags
    (72, 25, 1, "not", (8, 10, 15)),  # fcntl: no signals to others through F_SETOWN, F_SETSIG, F_SETOWN_EX
    (157, 167, 0, "only", (15,)),  # prctl: name of a thread
    (302, 261, 0, "only", (0,)),  # prlimit64: its own limits
    (56, 220, 0, "none of", (0x7E020080,)),  # clone: no new namespace
    (53, 199, 1, "stream", (1,)),  # socketpair: streams, which cannot be sent elsewhere
)
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_ALLOW, _KILL_PROCESS, _NO_SUCH_CALL, _NO_PERMISSION = 0x7FFF0000, 0x80000000, 0x50000 | 38, 0x50000 | 1


def _filter(kill: bool) -> bytes:
    """The program for seccomp, for this machine. `kill`: whether signals can be sent.

    It searches by halves: the kernel tries it on every call when a box installs it, which takes most of the time.
    """
    if os.uname().machine not in _MACHINES:
        raise SandboxError(f"no system-call filter for {os.uname().machine}; only for {' and '.join(_MACHINES)}")
    column, audit = _MACHINES[os.uname().machine]
    named = _PERMITTED + (", " + _KILL if kill else "")
    then = {int(n): [(_GIVE, 0, 0, _ALLOW)] for entry in named.split(",") if (n := entry.split()[1 + column]) != "-"}
    then |= {(x86, arm)[column]: _sift(which, how, values) for x86, arm, which, how, values in _SIFTED}
    then[(41, 198)[column]] = [(_GIVE, 0, 0, _NO_PERMISSION)]  # socket: refused, as without a network
    no_such = [(_GIVE, 0, 0, _NO_SUCH_CALL)]
    pieces = [(0, then.get(0, no_such))]  # first number, and what to do from there on
    for number in sorted({n + more for n in then for more in (0, 1)}):
        if then.get(number, no_such) != pieces[-1][1]:
            pieces.append((number, then.get(number, no_such)))
    code = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_GIVE, 0, 0, _KILL_PROCESS), (_LOAD, 0, 0, 0), *_search(pieces)]
    return b"".join(struct.pack("HBBI", *line) for line in code)


_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _MASK, _GIVE = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06


def _sift(argument: int, rule: str, values: tuple[int, ...]) -> list[tuple]:
    code = [(_LOAD, 0, 0, 16 + 8 * argument)] + [(_MASK, 0, 0, 0xF)] * (rule == "stream")
    hit, miss = (_NO_PERMISSION, _ALLOW) if rule in ("not", "none of") else (_ALLOW, _NO_PERMISSION)
    for value in values:
        code += [(_ANY_BIT if rule == "none of" else _EQUAL, 0, 1, value), (_GIVE, 0, 0, hit)]
    return [*code, (_GIVE, 0, 0, miss)]


def _search(pieces: list[tuple[int, list]]) -> list[tuple]:
    if len(pieces) == 1:
        return pieces[0][1]
    half = len(pieces) // 2
    below, above = _search(pieces[:half]), _search(pieces[half:])
    return [(_AT_LEAST, len(below), 0, pieces[half][0]), *below, *above]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _filtering(kill: bool) -> _Ready:
    code = _filter(kill)
    return _Ready("prctl", _SECCOMP, 2, ctypes.byref(_Program(len(code) // 8, code)), 0, 0)


# --- in the box ---------------------------------------------------------------------------------------------------

_FILE = "solution.py"
_TALK = 3
_QUICK_S = 0.02  # a module that loads faster is loaded anew for every call


def _box(place, slot: int, talk: int, out: int, err: int | None = None) -> None:
    """Shut the door, read the request, run it. Never returns."""
    try:
        place.enter(slot)
        for source, target in ((place.null, 0), (out, 1), (place.null if err is None else err, 2), (talk, _TALK)):
            os.dup2(source, target)
        os.set_inheritable(_TALK, False)
        os.closerange(_TALK + 1, 1 << 20)
        request, _ = _JSON.raw_decode(_receive())
        if request["kind"] == "program":
            _provide(request["stdin"].encode("utf-8", "surrogatepass"))
        place.filter()
        _send("started")
    except BaseException as error:
        _send("failed", f"the box could not be closed: {error!r}", talk=talk)
        os._exit(1)
    try:
        sys.argv[:] = [_FILE]
        if request["kind"] == "program":
            _run_program(request["source"])
        else:
            _run_calls(request["source"], request["entry_point"])
    finally:
        os._exit(1)


def _provide(stdin: bytes) -> None:
    """Standard input as a file, so that it can also be opened by name where there is a /dev of our own."""
    descriptor = os.open(".stdin", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(stdin)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.dup2(descriptor, 0)
    os.close(descriptor)


def _receive() -> str:
    """The next message, in ASCII; the caller sends none before the last is answered."""
    data = bytearray()
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "little"):
        part = os.read(_TALK, 1 << 16)
        if not part:
            os._exit(1)
        data += part
    return data[4:].decode("ascii")


def _send(status: str, error: str = "", more: str = "", value: str = "", talk: int = _TALK) -> None:
    """`more` is JSON for the head, `value` what follows it."""
    error = json.dumps(error) if error else '""'
    payload = f'{{"status": "{status}", "error": {error}{more}}}\n{value}'.encode()
    rest = memoryview(len(payload).to_bytes(4, "little") + payload)
    while rest:
        rest = rest[os.write(talk, rest) :]


def _compiled(source: str) -> types.CodeType | None:
    """The code, or None after the caller was told what is wrong with it."""
    try:
        return compile(source.removeprefix("\ufeff"), _FILE, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        _send("syntax error", _described(error))
        return None


def _run_calls(source: str, entry_point: str) -> None:
    """Load, then answer calls until the caller has enough."""
    code, loader = _compiled(source), _Loader(source)
    if code is None:
        return
    start = time.monotonic()
    status, error, module = _attempt(lambda: _load(code, loader))
    if status == "ok" and _callable(module, entry_point) is None:
        status, error = "no function", f"the source defines no function {entry_point}"
    if status != "ok":
        _send(status, error)
        return
    keep = time.monotonic() - start > _QUICK_S or _left_something_running()
    _send("loaded")
    while True:
        token, _, arguments = _receive().partition("\n")
        arguments, _ = _TAGGED_JSON.raw_decode(arguments)
        spent = time.process_time()
        status, error, value = _attempt(lambda: _answer(module or _load(code, loader), entry_point, arguments))  # noqa: B023
        if not keep:
            module = None
        _flush()
        cpu_s = time.process_time() - spent
        _send(status, error, f', "token": {token}, "cpu_s": {cpu_s!r}', value or "")


class _Loader:
    """Where tracebacks and `inspect` look for the source."""

    def __init__(self, source: str):
        self._source = source

    def get_source(self, _: str) -> str:
        return self._source


def _load(code: types.CodeType, loader: _Loader) -> types.ModuleType:
    module = _module("solution", loader)
    exec(code, module.__dict__)
    return module


def _module(name: str, loader: _Loader) -> types.ModuleType:
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = _FILE
    vars(module)["__loader__"] = loader
    return module


def _callable(module: types.ModuleType, entry_point: str):
    """A function without arguments that gives the function to call; None if there is none."""
    owner, _, name = entry_point.rpartition(".")
    if not owner and not callable(module.__dict__.get(name)):
        owner = "Solution"
    if not owner:
        return lambda: module.__dict__[name]
    made = module.__dict__.get(owner)
    return (lambda: getattr(made(), name)) if callable(getattr(made, name, None)) else None


def _left_something_running() -> bool:
    """Whether loading started threads or processes: doing so for every call would add up."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    except ChildProcessError:
        return "threading" in sys.modules and sys.modules["threading"].active_count() > 1


def _answer(module: types.ModuleType, entry_point: str, arguments: list) -> str:
    function = _callable(module, entry_point)()
    value = function(*arguments)
    if type(value) is types.CoroutineType:
        import asyncio

        value = asyncio.run(value)
    try:
        text = _encode(value)
    except RecursionError:
        raise _NotPlain("nested too deep") from None
    if len(text) > MAX_VALUE:
        raise _NotPlain(f"larger than {MAX_VALUE} bytes")
    return text


def _attempt(work) -> tuple[str, str, Any]:
    """Status, error and result of something untrusted."""
    try:
        return "ok", "", work()
    except _NotPlain as error:
        return "bad value", str(error), None
    except SystemExit as error:
        return "exited", f"sys.exit({error.code!r:.80})", None
    except MemoryError:
        return "memory limit", "MemoryError", None
    except BaseException as error:
        return "exception", _described(error), None


def _described(error: BaseException) -> str:
    """As in "ValueError: no such thing (line 3)"."""
    try:
        text = f"{type(error).__name__}: {error}"[:500].rstrip(": ")
        lines = [frame.tb_lineno for frame in _frames(error) if frame.tb_frame.f_code.co_filename == _FILE]
    except BaseException:
        return "an exception that cannot be printed"
    return f"{text} (line {lines[-1]})" if lines and not isinstance(error, SyntaxError) else text


def _frames(error: BaseException):
    frame = error.__traceback__
    while frame:
        yield frame
        frame = frame.tb_next


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105
            stream.flush()
        except BaseException:
            pass


def _run_program(source: str) -> None:
    """As the interpreter would run a file; the exit code says how it went."""
    code = _compiled(source)
    if code is None:
        return
    module = _module("__main__", _Loader(source))
    status = _ended(lambda: exec(code, module.__dict__))
    if "threading" in sys.modules:
        _ended(sys.modules["threading"]._shutdown)
    _ended(atexit._run_exitfuncs)
    _flush()
    os._exit(status)


def _ended(work) -> int:
    """The exit code; failures are told to the caller and printed on stderr."""
    try:
        work()
        return 0
    except SystemExit as error:
        if error.code is None or type(error.code) is int:
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    except BaseException as error:
        status = "memory limit" if isinstance(error, MemoryError) else "exception"
        _send(status, _described(error))
        ours = (frame for frame in _frames(error) if frame.tb_frame.f_code.co_filename == _FILE)
        import traceback

        traceback.print_exception(type(error), error, next(ours, None))
        return 1
