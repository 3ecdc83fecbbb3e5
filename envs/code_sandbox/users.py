# SPDX-License-Identifier: Apache-2.0
"""Levels "landlock" and "none": boxes told apart by user id."""

import contextlib
import os
import signal
import struct
import time

from .limits import DISK_MB, MAX_TASKS, SandboxError
from .system.libc import DAC_READ_SEARCH, PDEATHSIG, SUBREAPER, Ready, become, invoke, syscall
from .system.procfs import count_tasks, descendants_of, memory_of, reap, status_of, unlinked_bytes
from .system.resources import DEVICES, Uids, box_limits, readable_files, readable_folders
from .system.syscalls import filter_call


class Users:
    """Boxes told apart by user id, each with a folder of its own, shut in by Landlock at that level."""

    own: int  # KiB that the server itself takes up

    def __init__(self, settings: dict):
        self.slots, self.filter = settings["slots"], filter_call(kill=settings["level"] != "none")
        self.proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        self.null = os.open("/dev/null", os.O_RDWR)
        self._landlock = settings["level"] == "landlock"
        if self._landlock and os.getuid() != 0:
            raise SandboxError("a user id for each check needs root")
        self._uids = Uids(self.slots) if os.getuid() == 0 else None
        self._abi = _landlock_abi()
        if self._landlock and not self._abi:
            raise SandboxError("this kernel has no Landlock")
        self._home = f"/tmp/code-sandbox-{os.getpid()}-{os.urandom(8).hex()}"
        os.mkdir(self._home)
        os.chmod(self._home, 0o711)
        invoke("prctl", SUBREAPER, 1, 0, 0, 0)
        self._capability = self._reading_capability()

    def _reading_capability(self) -> int | None:
        """What a box needs to import from an interpreter below a private folder, such as root's home."""
        if not self._uids:
            return None
        pid = os.fork()
        if not pid:
            code = 1
            try:
                folders = readable_folders()
                for call in become(self._uids.spare):
                    call()
                for folder in folders:
                    os.listdir(folder)
                code = 0
            finally:
                os._exit(code)
        return DAC_READ_SEARCH if os.waitpid(pid, 0)[1] else None

    def settle(self) -> None:
        """In the server: a folder for each slot."""
        invoke("prctl", SUBREAPER, 1, 0, 0, 0)
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
        others = 0 if self._uids else count_tasks(self.proc, os.getuid())
        leave = become(self._uids.of[slot], self._capability) if self._uids else []
        for call in (*box_limits(MAX_TASKS + others), *leave, Ready("prctl", PDEATHSIG, 9, 0, 0, 0)):
            call()
        if self._rules[slot] is not None:
            syscall("landlock_restrict_self", self._rules[slot], 0)

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
            self._rules[slot] = _landlock_rules(self._abi, readable_folders(), folder)

    def _clear_processes(self, slot: int) -> bool:
        for _ in range(500):
            if self._uids:
                reap(self.proc, self._uids.of[slot])
                try:
                    os.getpriority(os.PRIO_USER, self._uids.of[slot])
                except ProcessLookupError:
                    return True
                self._kill_all(self._uids.of[slot])
            else:
                reap(self.proc, None)
                left = descendants_of(self.proc, os.getpid())
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
        for pid in descendants_of(self.proc, os.getpid()):
            try:
                box = owners[status_of(self.proc, pid)["Uid"]]
            except (OSError, KeyError):
                continue
            memory, disk = held[box.pid]
            held[box.pid] = memory + memory_of(self.proc, pid, self.own), disk + unlinked_bytes(self.proc, pid)
        return held


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


def _landlock_abi() -> int:
    try:
        return syscall("landlock_create_ruleset", None, 0, 1)
    except (OSError, KeyError):
        return 0


def _landlock_rules(abi: int, readable: list[str], folder: str) -> int:
    """A ruleset: read and execute below `readable`, do anything below `folder`, use the harmless devices."""
    execute, write, read, read_folder = 1, 2, 4, 8
    everything = (1 << (13 if abi < 2 else 14 if abi < 3 else 15 if abi < 5 else 16)) - 1
    network, scopes = (3 if abi >= 4 else 0), (3 if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    rules = syscall("landlock_create_ruleset", struct.pack("3Q", everything, network, scopes)[:size], size, 0)
    allowed = dict.fromkeys(readable, execute | read | read_folder) | {folder: everything}
    allowed |= dict.fromkeys(readable_files(), read) | dict.fromkeys(DEVICES, read | write)
    for path, rights in allowed.items():
        descriptor = os.open(path, os.O_PATH)
        syscall("landlock_add_rule", rules, 1, struct.pack("=Qi", rights, descriptor), 0)
        os.close(descriptor)
    return rules
