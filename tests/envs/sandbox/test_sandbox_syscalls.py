"""The system calls that a box can make."""

import os
import struct
import sys
import types

import pytest
from sandbox_checks import outcome_of

from envs.code_sandbox.system import syscalls

pytest_plugins = ("sandbox_fixtures",)
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox needs Linux")


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
