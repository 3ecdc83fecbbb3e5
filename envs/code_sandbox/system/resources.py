# SPDX-License-Identifier: Apache-2.0
"""What a box may use, at every level: folders and files to read, limits, user ids."""

import _socket as socket
import contextlib
import os
import resource
import struct
import sys

from ..limits import DISK_MB, MAX_TASKS, SandboxError
from .libc import Ready

FIRST_UID, LAST_UID = 50_000, 59_000
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def is_installed(folder: str) -> bool:
    """Whether a folder of sys.path holds installed packages; the others are projects that a .pth file points to."""
    prefixes = tuple(os.path.join(p, part) for p in _prefixes() for part in ("lib", "lib64"))
    return folder.startswith(prefixes) or "site-packages" in folder or "dist-packages" in folder


def _prefixes() -> set[str]:
    return {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}


def readable_folders() -> list[str]:
    """Folders of the interpreter and of the system's libraries, none inside another."""
    folders = {os.path.join(p, part) for p in _prefixes() for part in ("bin", "lib", "lib64")}
    folders |= {"/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo"}
    folders |= {os.path.dirname(os.path.realpath(sys.executable)), *filter(is_installed, sys.path)}
    folders = {folder for folder in folders if os.path.isdir(folder) and folder != "/"}
    inside = lambda folder: any(folder.startswith(other + "/") for other in folders)  # noqa: E731
    return sorted(folder for folder in folders if not inside(folder))


def readable_files() -> list[str]:
    """Files that programs need, outside those folders."""
    return [path for path in ("/etc/ld.so.cache", os.path.join(sys.prefix, "pyvenv.cfg")) if os.path.isfile(path)]


def limit_server(address_space: int) -> None:
    """In the server, for itself and for all boxes; what would hold it up as well is left to `box_limits`."""
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


def box_limits(tasks: int) -> list[Ready]:
    limits = (resource.RLIMIT_NPROC, tasks), (resource.RLIMIT_NOFILE, 64)
    calls = [Ready("setrlimit", what, struct.pack("2L", *(_at_most(what, value),) * 2)) for what, value in limits]
    return [*calls, Ready("setpriority", os.PRIO_PROCESS, 0, 4)]  # the server that watches them goes first


class Uids:
    """A block of user ids that no other server on this machine uses: one to end processes with, one for each slot.

    A name in the abstract socket namespace holds the block, and goes away with the process.
    """

    def __init__(self, slots: int):
        self._lock = socket.socket(socket.AF_UNIX)
        used = _uids_in_use()
        for first in range(FIRST_UID, LAST_UID, MAX_TASKS + 1):
            if used.isdisjoint(range(first, first + slots + 1)):
                try:
                    self._lock.bind(f"\0code-sandbox-uids-{first}")
                except OSError:
                    continue
                self.spare, self.of = first, [first + 1 + slot for slot in range(slots)]
                return
        raise SandboxError(f"no free block of user ids between {FIRST_UID} and {LAST_UID}")


def _uids_in_use() -> set[int]:
    used = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                used.add(os.stat(f"/proc/{name}").st_uid)
    return used
