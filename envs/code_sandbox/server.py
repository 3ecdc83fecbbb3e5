# SPDX-License-Identifier: Apache-2.0
"""The fork server, which runs in the executed process. What this module and those it loads import at the top is copied
with each fork: keep it small, and without modules that have a hook for forks, such as threading."""

import _socket as socket  # what the public module adds would be copied with each fork
import contextlib
import gc
import json
import os
import select
import signal
import struct
import sys
import time
from typing import NamedTuple

from .box import run_box, warm_up
from .limits import DISK_MB, SandboxError
from .system.libc import LIBC, NO_NEW_PRIVS, invoke
from .system.procfs import children_of, open_below, status_of, threads_of
from .system.resources import is_installed, limit_server

_SELDOM_S, _OFTEN_S = 0.05, 0.01  # between looks at memory: processes side by side fill it faster than one alone
_FOUR_DESCRIPTORS = socket.CMSG_SPACE(4 * 4)


def serve(control: int, text: str) -> None:
    """The executed process: prepare the level, then keep watch over the server proper, a child."""
    line, settings = socket.socket(fileno=control), json.loads(text)
    try:
        caller = os.pidfd_open(settings["caller"])
        if os.getppid() != settings["caller"]:
            return
        level = _level(settings["level"])
        _preload(settings["numpy"])
        place = level(settings)
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


def _level(name: str) -> type:
    """What makes the boxes of a level; the module of the others is not loaded."""
    if name == "namespaces":
        from .namespaces import Namespaces

        return Namespaces
    from .users import Users

    return Users


def _preload(numpy: bool) -> None:
    """What most programs import, so that a box need not; more would make every fork dearer."""
    for name in ["bisect", "collections", "copy", "heapq", "itertools", "math", "string", "typing", *["numpy"] * numpy]:
        with contextlib.suppress(ImportError):
            __import__(name)
    sys.dont_write_bytecode = True
    sys.path[:] = [folder for folder in sys.path if is_installed(folder)]
    warm_up()
    gc.collect()
    with contextlib.suppress(AttributeError):  # only glibc has it
        LIBC.malloc_trim(0)
    gc.freeze()


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
        status = status_of(place.proc, "self")
        place.own = status["RssAnon"]
        limit_server((memory_mb << 20) + status["VmSize"])
        invoke("prctl", NO_NEW_PRIVS, 1, 0, 0, 0)

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
            run_box(self._place, slot, *descriptors)
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
            if len(threads_of(self._place.proc, number)) > 1 or children_of(self._place.proc, number):
                return 0.0
            with open(f"{number}/schedstat", opener=open_below(self._place.proc)) as file:
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


def _tell(lease: int, message: str) -> None:
    try:  # noqa: SIM105
        os.write(lease, message.encode() + b"\n")
    except OSError:  # the caller is gone, or does not read
        pass
