# SPDX-License-Identifier: Apache-2.0
"""One check, seen from outside: the conversation with a box, and the judgement of what it said."""

import _socket as socket
import contextlib
import json
import os
import select
import signal
import time
from typing import Any

from .limits import MAX_OUTPUT, MAX_STRETCH, MAX_TASKS, MAX_VALUE
from .outcomes import Outcome, Run
from .process import Server
from .values import JSON, decode

_PIPE = 1 << 16  # bytes that a pipe holds at first
_START_S = 20.0  # to make a box, on a machine that is very busy
_FAILURES = {"exception", "memory limit", "bad value", "exited"}  # of a call, told by the box


class Check:
    """One check in progress, seen from outside: a conversation with a box, with deadlines and caps.

    `reason` says why the conversation is over, if it is: "time limit", "output limit", "bad value" (nonsense on the
    line) or "ended" (the box is gone; `report` says how).
    """

    def __init__(self, server: Server, level: str):
        self._server, self.level = server, level
        self.reason: str | None = None
        self.report: dict | None = None
        self.stdout, self.stderr = bytearray(), bytearray()
        self._in, self._leased, self._out = bytearray(), b"", memoryview(b"")
        self._ends, self._pipes, self._chunk = [], {}, _PIPE
        self._waited, self._granted, self._grace, self._most = None, 0.0, 0.0, 0.0  # seconds

    def __enter__(self) -> "Check":
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
            message = JSON.decode(head.decode())
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


def _begin(check: Check, request: dict) -> tuple[str, str] | None:
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


def judge_calls(check: Check, request: dict, arguments: list[bytes], limit: float) -> Run:
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


def _judge_call(check: Check, arguments: bytes, limit: float) -> tuple[Outcome, tuple[str, str] | None]:
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
            status, value, error = decode(message["value"])
        elif status not in _FAILURES:
            status, error = "bad value", "the program wrote into the answer line"
    return Outcome(status, value, error, stdout, check.level, cpu, wall), stopped


def _secret_order(n: int) -> list[int]:
    """Any order but the one given."""
    noise = os.urandom(8 * n)
    order = sorted(range(n), key=lambda index: noise[8 * index : 8 * index + 8])
    return order if n < 2 or order != sorted(order) else order[1:] + order[:1]


def judge_program(check: Check, request: dict, limit: float) -> Outcome:
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
