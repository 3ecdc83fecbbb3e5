# SPDX-License-Identifier: Apache-2.0
"""The caller's handle on a fork server, which is a process of its own."""

import _socket as socket  # all that is needed here, and quicker to import than the public module
import contextlib
import json
import os
import struct
import sys
import weakref

from .limits import SandboxError

# Loads the modules of this folder that a server needs, in their compiled form, and none of the caller's: whatever the
# server holds makes each fork dearer. All is loaded before the first fork, since a box could not read this folder.
_START = """
import sys
package = sys.modules["code_sandbox"] = type(sys)("code_sandbox")
package.__path__ = [sys.argv[1]]
from code_sandbox.server import serve
serve(int(sys.argv[2]), sys.argv[3])
"""


class Server:
    """The caller's handle on one fork server."""

    def __init__(self, level: str, memory_mb: int, slots: int, numpy: bool):
        self._control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = {"level": level, "memory_mb": memory_mb, "slots": slots, "numpy": numpy, "caller": os.getpid()}
        import subprocess

        command = [sys.executable, "-I", "-c", _START, os.path.dirname(os.path.abspath(__file__)), str(far.fileno())]
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
