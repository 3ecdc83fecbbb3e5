# SPDX-License-Identifier: Apache-2.0
"""Calls of libc and of the kernel, and giving up privileges."""

import ctypes
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NS, NEW_UTS, NEW_IPC, NEW_USER, NEW_PID, NEW_NET = 1 << 17, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOATIME, MS_REMOUNT = 1, 2, 4, 1024, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PDEATHSIG, KEEPCAPS, NO_NEW_PRIVS, SUBREAPER, SECCOMP, AMBIENT = 1, 8, 38, 36, 22, 47
DAC_READ_SEARCH = 2  # the capability to read whatever Landlock leaves readable


class Ready:
    """A call of libc; integers are passed as long, a negative result raises.

    Boxes make calls that are made ready in the server: a box pays for each page of memory that it is first to touch.
    """

    def __init__(self, name: str, *arguments):
        self._function, self._name = getattr(LIBC, name), name
        self._arguments = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]

    def __call__(self) -> int:
        result = self._function(*self._arguments)
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{self._name}: {os.strerror(number)}")
        return result


def invoke(name: str, *arguments) -> int:
    return Ready(name, *arguments)()


def syscall(name: str, *arguments):
    return invoke("syscall", _OTHER_CALLS[name][os.uname().machine], *arguments)


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


def become(uid: int, capability: int | None = None) -> list[Ready]:
    """Give up root for good; `capability` alone is kept, also by programs that are executed."""
    calls = [Ready("setgroups", 0, None), Ready("setresgid", uid, uid, uid), Ready("setresuid", uid, uid, uid)]
    if capability is None:
        return [*calls, keep_only(None)]
    keep, pass_on = Ready("prctl", KEEPCAPS, 1, 0, 0, 0), Ready("prctl", AMBIENT, 2, capability, 0, 0)
    return [keep, *calls, keep_only(capability), pass_on]


def keep_only(capability: int | None) -> Ready:
    bits = 0 if capability is None else 1 << capability  # effective, permitted, inheritable
    return Ready("capset", struct.pack("Ii", 0x20080522, 0), struct.pack("6I", bits, bits, bits, 0, 0, 0))
