# SPDX-License-Identifier: Apache-2.0
"""Level "namespaces": boxes in namespaces of their own, below a read-only root."""

import _socket as socket
import contextlib
import errno
import os
import struct

from .limits import DISK_MB, MAX_TASKS
from .system.libc import (
    MS_BIND,
    MS_NOATIME,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    NEW_IPC,
    NEW_NET,
    NEW_NS,
    NEW_PID,
    NEW_USER,
    NEW_UTS,
    Ready,
    become,
    invoke,
    keep_only,
    syscall,
)
from .system.procfs import children_of, descendants_of, memory_of, status_of
from .system.resources import DEVICES, Uids, box_limits, readable_files, readable_folders
from .system.syscalls import filter_call

_WORK = "/tmp/work"  # the working directory of a box


class Namespaces:
    """Boxes in namespaces of their own, below a read-only root."""

    own: int  # KiB that the server itself takes up

    def __init__(self, settings: dict):
        self.slots, self.filter = settings["slots"], filter_call(kill=True)
        self.proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        self._uids = None
        flags = NEW_NS | NEW_PID | NEW_NET | NEW_IPC | NEW_UTS
        if os.getuid() == 0:
            try:
                self._uids = Uids(self.slots)
                invoke("unshare", flags)
                return
            except PermissionError:
                self._uids = None
        uid, gid = os.getuid(), os.getgid()
        invoke("unshare", flags | NEW_USER)
        for file, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{file}", "w") as handle:
                handle.write(text)

    def settle(self) -> None:
        """In the first process of the new namespace: build the root and move there."""
        self._part = Ready("unshare", NEW_PID)
        self._rejoin = Ready("setns", os.open("/proc/self/ns/pid", os.O_RDONLY), NEW_PID)
        self._pids = None
        with contextlib.suppress(OSError):
            self._pids = os.open("sys/kernel/ns_last_pid", os.O_RDONLY, dir_fd=self.proc)
        about = status_of(
            self.proc, "self"
        )  # by its limit alone, a single process stays below what the server would end
        self._bounded = self._pids is not None and about["VmSize"] - about["RssAnon"] < 64 << 20
        self._last, self._single = 0, False
        self.null = os.open("/dev/null", os.O_RDWR)
        invoke("mount", b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        folders = readable_folders()
        root = next(
            (r for r in ("/sys", "/mnt", "/srv", "/media") if os.path.isdir(r) and not _holds(r, folders)), "/proc"
        )
        links = {path: os.readlink(path) for path in ("/bin", "/lib", "/lib64") if os.path.islink(path)}
        opened = {folder: os.open(folder, os.O_PATH) for folder in folders if folder not in links}
        opened |= {file: os.open(file, os.O_PATH) for file in (*DEVICES, *readable_files())}
        invoke("mount", b"none", root.encode(), b"tmpfs", MS_NOSUID | MS_NODEV, b"size=1m,mode=755")
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
        syscall("pivot_root", b".", b".")
        invoke("umount2", b".", 2)
        os.chdir("/")
        invoke("mount", b"none", b"/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, None)
        socket.sethostname("sandbox")
        self._mounts = os.open("self/ns/mnt", os.O_RDONLY, dir_fd=self.proc)
        self._rooms = [self._room(slot) for slot in range(self.slots)]

    def _room(self, slot: int) -> "_Room":
        """Mounts for the boxes of a slot, with an empty /tmp that no other slot sees."""
        invoke("unshare", NEW_NS)
        try:
            owner = f",uid={self._uids.of[slot]},gid={self._uids.of[slot]}" if self._uids else ""
            options = f"size={DISK_MB}m,nr_inodes=4096,mode=700{owner}"
            invoke("mount", b"none", b"/tmp", b"tmpfs", MS_NOSUID | MS_NODEV | MS_NOATIME, options.encode())
            os.mkdir(_WORK)
            for path, kept in self._below_tmp:
                _target(path, os.path.isdir(kept))
                invoke("mount", kept.encode(), path.encode(), None, MS_BIND, None)
            if self._uids:
                os.chown(_WORK, self._uids.of[slot], self._uids.of[slot])
                leave = become(self._uids.of[slot])
            else:  # processes are counted for each user namespace, and in a new one nothing is left to gain
                leave = [Ready("unshare", NEW_USER), keep_only(None)]
            return _Room(os.open("self/ns/mnt", os.O_RDONLY, dir_fd=self.proc), leave)
        finally:
            invoke("setns", self._mounts, NEW_NS)

    @staticmethod
    def _bind(descriptor: int, target: str, folder: bool) -> None:
        _target(target, folder)
        source = f"/proc/self/fd/{descriptor}".encode()
        invoke("mount", source, target.encode(), None, MS_BIND | MS_REC, None)
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
            processes = number, *descendants_of(self.proc, number)
            held[pid] = sum(memory_of(self.proc, process, self.own) for process in processes), 0
        return held

    def number(self, pid: int) -> int:
        """The number of a box in /proc, which shows the outermost namespace."""
        return dict(self._numbers())[pid]

    def _numbers(self):
        for number in children_of(self.proc, "self"):
            with contextlib.suppress(OSError, KeyError, IndexError):
                yield status_of(self.proc, number)["NSpid"][-2], number


class _Room:
    """A mount namespace with a /tmp of its own, which serves one box after another until one leaves a trace there."""

    def __init__(self, mounts: int, leave: list[Ready]):
        move = Ready("setns", mounts, NEW_NS), Ready("chdir", _WORK.encode())
        self.doors = [*move, *box_limits(MAX_TASKS), *leave]  # for a box, to close behind itself
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


def _read_only(path: str, devices: bool) -> None:
    """Make a mount and those below it read-only; on a kernel before 5.12 only the mount itself."""
    flags = MS_RDONLY | MS_NOSUID | (0 if devices else MS_NODEV)  # the same bits as MOUNT_ATTR_
    try:
        syscall("mount_setattr", -100, path.encode(), 0x8000, struct.pack("4Q", flags, 0, 0, 0), 32)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        kept = os.statvfs(path).f_flag & (2 | 4 | 8 | 1024 | 2048)  # a namespace may not take these away
        kept |= (1 << 21) * bool(os.statvfs(path).f_flag & 4096)
        invoke("mount", b"none", path.encode(), None, MS_REMOUNT | MS_BIND | flags | kept, None)
