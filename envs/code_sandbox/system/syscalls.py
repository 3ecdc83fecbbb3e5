# SPDX-License-Identifier: Apache-2.0
"""The system-call filter: a program for seccomp that permits a list of calls."""

import ctypes
import os
import struct

from ..limits import SandboxError
from .libc import SECCOMP, Ready

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


def filter_call(kill: bool) -> Ready:
    code = _filter(kill)
    return Ready("prctl", SECCOMP, 2, ctypes.byref(_Program(len(code) // 8, code)), 0, 0)
