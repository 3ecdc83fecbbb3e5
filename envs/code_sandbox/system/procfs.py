# SPDX-License-Identifier: Apache-2.0
"""What /proc tells about processes. `proc` is a descriptor of that folder, since a box has none of its own."""

import contextlib
import os
import re
import stat


def status_of(proc: int, pid: int | str) -> dict:
    """Of /proc/PID/status: memory in bytes, user id, process numbers from the outermost namespace inwards."""
    descriptor = os.open(f"{pid}/status", os.O_RDONLY, dir_fd=proc)
    try:
        text = os.read(descriptor, 8192).decode("ascii", "replace")
    finally:
        os.close(descriptor)
    found = dict(re.findall(r"^(VmSize|RssAnon|RssShmem|Uid|NSpid):\s*(.*)$", text, re.M))
    sizes = {key: 1024 * int(found.get(key, "0").split()[0]) for key in ("VmSize", "RssAnon", "RssShmem")}
    return {**sizes, "Uid": int(found["Uid"].split()[0]), "NSpid": [int(n) for n in found["NSpid"].split()]}


def open_below(folder: int):
    """An opener of files below an open folder."""
    return lambda path, flags: os.open(path, flags, dir_fd=folder)


def threads_of(proc: int, pid: int | str) -> list[str]:
    """The threads of a process."""
    folder = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=proc)
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)


def children_of(proc: int, pid: int | str) -> list[int]:
    """Process numbers as /proc has them; `pid` can be "self"."""
    found, number = [], os.readlink("self", dir_fd=proc) if pid == "self" else pid
    for task in threads_of(proc, number):
        with contextlib.suppress(OSError), open(f"{number}/task/{task}/children", opener=open_below(proc)) as file:
            found += map(int, file.read().split())
    return found


def descendants_of(proc: int, pid: int | str) -> list[int]:
    try:
        children = children_of(proc, pid)
    except OSError:
        return []
    return children + [below for child in children for below in descendants_of(proc, child)]


def memory_of(proc: int, pid: int, own: int) -> int:
    """Bytes beyond the `own` ones of the server, which a box shares until it writes to them."""
    try:
        status = status_of(proc, pid)
    except (OSError, KeyError):
        return 0
    return max(0, status["RssAnon"] - own) + status["RssShmem"]


def count_tasks(proc: int, uid: int) -> int:
    """Processes and threads of a user."""
    count = 0
    for name in os.listdir(proc):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(name, dir_fd=proc).st_uid == uid:
                    count += os.stat(f"{name}/task", dir_fd=proc).st_nlink - 2
    return count


def reap(proc: int, uid: int | None) -> None:
    """Wait for dead children that came here as orphans of a user's box."""
    for pid in children_of(proc, "self"):
        try:
            if uid is None or status_of(proc, pid)["Uid"] == uid:
                os.waitpid(pid, os.WNOHANG)
        except (OSError, KeyError):
            pass


def unlinked_bytes(proc: int, pid: int) -> int:
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
