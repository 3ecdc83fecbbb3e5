# SPDX-License-Identifier: Apache-2.0
"""Episodes in a JSONL file: appended one by one, whole or not at all, each under its key once.

A key is (task_id, sample, policy, version): one file may hold several models and versions of an environment.
Episodes that failed stand in a second file beside it, NAME.failures.jsonl, and are run again by the next run.
"""

import json
import os
from pathlib import Path

KEY = ("task_id", "sample", "policy", "version")


def key_of(episode: dict) -> tuple:
    """What an episode is kept under."""
    return tuple(episode.get(name) for name in KEY)


def read(path: Path | str, strict: bool = False) -> list[dict]:
    """The objects in a JSONL file, such as episodes; the one reader of such files.

    Args:
        path: The file.
        strict: Refuse a line that holds no JSON object. Else it is left out, as one that a killed run left unfinished.

    Raises:
        ValueError: `strict`, and a line that is not blank holds no JSON object.
    """
    objects = []
    for number, line in enumerate(Path(path).read_bytes().split(b"\n"), 1):  # bytes: the cut may run through a letter
        try:
            value = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            objects.append(value)
        elif strict and line.strip():
            seen = line[:60].decode("utf-8", "replace")
            raise ValueError(f"{path}, line {number} is not JSON: {seen!r}; a JSONL file holds one object a line")
    return objects


def beside(path: Path | str, ending: str) -> Path:
    """A file that goes with a file of episodes: runs/a.jsonl has runs/a.failures.jsonl and runs/a.monitor.json."""
    path = Path(path)
    return path.with_name(path.name.removesuffix(".jsonl") + ending)


def failures_path(path: Path | str) -> Path:
    """The file of the failures beside a file of episodes."""
    return beside(path, ".failures.jsonl")


def failures(path: Path | str) -> list[dict]:
    """The failures beside `path` that no later run has made good, the last one of each key."""
    file = failures_path(path)
    if not file.is_file():
        return []
    done = {key_of(episode) for episode in read(path)} if Path(path).is_file() else set()
    last = {key_of(failure): failure for failure in read(file)}
    return [failure for key, failure in last.items() if key not in done]


class Store:
    """A file of episodes that one run appends to. Use it as a context manager.

    Args:
        path: The JSONL file; made if missing.

    Raises:
        RuntimeError: another run has the file open.
    """

    def __init__(self, path: Path | str):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            self._claim()
            self._repair(self._file)
            self.episodes = read(self.path)
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_) -> None:
        os.close(self._file)  # and with it goes the claim

    def add(self, episode: dict) -> None:
        """Append an episode."""
        _write(self._file, episode)

    def fail(self, failure: dict) -> None:
        """Append a failure to the file beside."""
        file = os.open(failures_path(self.path), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            self._repair(file)
            _write(file, failure)
        finally:
            os.close(file)

    def _claim(self) -> None:
        """Keep a second run out, where the system has locks: it would run the same episodes."""
        try:
            import fcntl

            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(
                f"{self.path} is being written by another run: wait for it or give another file"
            ) from None
        except (ImportError, OSError):  # no such locks here, as on some network drives
            pass

    @staticmethod
    def _repair(file: int) -> None:
        """Cut off a last line without an end: its episode was not finished and will run again."""
        size = os.fstat(file).st_size
        tail, at = b"", size
        while at > 0 and b"\n" not in tail:
            start = max(0, at - 65536)
            tail, at = os.pread(file, at - start, start) + tail, start
        whole = at + tail.rfind(b"\n") + 1
        if whole < size:
            os.ftruncate(file, whole)


def _write(file: int, thing: dict) -> None:
    """One line, in one write where the system lets us; what a model wrote may hold lone surrogates."""
    line = json.dumps(thing, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    while line:
        line = line[os.write(file, line) :]


def merge(paths: list, out: Path | str) -> int:
    """Join the files of several shards, each key once, failures that none of them made good beside it.

    Args:
        paths: Files of episodes.
        out: The file to write; it must not be there yet.

    Returns:
        The number of episodes.

    Raises:
        ValueError: `out` is there, or two files hold different episodes under one key.
    """
    out = Path(out)
    if out.exists():
        raise ValueError(f"{out} is there already: delete it or give another name")
    joined: dict[tuple, dict] = {}
    failed: dict[tuple, dict] = {}
    for path in paths:
        for episode in read(path):
            if joined.setdefault(key_of(episode), episode) != episode:
                raise ValueError(f"{path} holds another episode than the files before it under {key_of(episode)}")
        failed |= {key_of(failure): failure for failure in failures(path)}
    open_ones = [failure for key, failure in failed.items() if key not in joined]
    for path, things in ((failures_path(out), open_ones), (out, list(joined.values()))):
        if things or path == out:
            write(path, things)
    return len(joined)


def write(path: Path | str, episodes: list[dict]) -> None:
    """Write a whole file of episodes; a killed run leaves the old one or the new one."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(path.name + ".part")
    file = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        for episode in episodes:
            _write(file, episode)
    finally:
        os.close(file)
    os.replace(scratch, path)
