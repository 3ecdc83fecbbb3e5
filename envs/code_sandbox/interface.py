# SPDX-License-Identifier: Apache-2.0
"""The caller's side: a sandbox, what it is asked, and which level it chooses."""

import json
import os
import re
import sys
import threading
import warnings
from functools import lru_cache

from .check import Check, judge_calls, judge_program
from .limits import MAX_TASKS, SandboxError
from .outcomes import Outcome, Run
from .process import Server
from .values import NotPlain, encode

LEVELS = ("namespaces", "landlock", "none")
_LOST = {
    "landlock": "process numbers and file metadata of this machine stay visible to the programs, /tmp is not private, "
    "and disk space is watched instead of bounded",
    "none": "the programs run as you: they can read your files, write where you can, and see your processes",
}


class Sandbox:
    """A place to run untrusted Python. Serves any number of threads and checks; also a context manager.

    Checks run side by side, as many as there are cores; the others wait their turn, and no clock runs while they do.
    Packages of this interpreter's environment can be imported, the working directory and your home cannot be read.

    Args:
        memory_mb: memory of one check beyond the interpreter's own, in MiB.
        level: one of `LEVELS`, or None for the best that works here.
        allow_unisolated: run even where nothing isolates.

    Raises:
        SandboxError: nothing isolates here and `allow_unisolated` is not set, or `level` is not to be had.
        ValueError: an argument makes no sense.
    """

    def __init__(self, *, memory_mb: int = 512, level: str | None = None, allow_unisolated: bool = False):
        if level is not None and level not in LEVELS:
            raise ValueError(f"no level called {level!r}; choose one of {', '.join(LEVELS)}, or None for the best")
        if type(memory_mb) is not int or memory_mb < 16:
            raise ValueError(f"memory_mb is {memory_mb!r}; give a whole number of MiB, at least 16")
        self._memory_mb, self._allow = memory_mb, allow_unisolated
        self._lock, self._servers, self._closed = threading.Lock(), {}, False
        self._room = threading.BoundedSemaphore(1)
        self.level = self._choose(level)
        # Without namespaces or a user id of its own, a box is known by having the server to itself.
        self._slots = 1 if self.level == "none" else _cores()
        self._room = threading.BoundedSemaphore(self._slots)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server and whatever runs in it. Can be called twice."""
        self._closed = True
        self._stop_servers()

    def _stop_servers(self) -> None:
        with self._lock:
            servers, self._servers = self._servers, {}
        for (pid, _), server in servers.items():
            if pid == os.getpid():
                server.stop()

    def run_function(self, source: str, entry_point: str, calls: list[str], *, time_limit_s: float = 3.0) -> Run:
        """Load `source` and call a function of it.

        Every call sees the module as it was when loaded: what a call leaves in globals is not there for the next,
        except where loading is slow or starts threads or processes. Calls run in a secret order, so that counting them
        tells nothing. A main block does not run; stdin is empty; a coroutine is awaited.

        Args:
            source: Python.
            entry_point: a name, or "Class.method" with the class made without arguments. A plain name that is missing
                is also looked for in a class `Solution`.
            calls: for each call the list of arguments as the text of a Python literal, such as "[[3, 1], 2]".
            time_limit_s: seconds for loading, and for each call; a busy machine can stretch them by `MAX_STRETCH`.

        Raises:
            ValueError: a call is not the literal of a list, or the time limit is not positive.
            TypeError: source, entry point or a call is not text.
        """
        _texts(source=source, entry_point=entry_point)
        _positive(time_limit_s)
        arguments = [_arguments(call) for call in calls]
        request = {"kind": "function", "source": source, "entry_point": entry_point}
        judge = lambda check: judge_calls(check, request, arguments, time_limit_s)  # noqa: E731
        return self._checked(source, judge)

    def run_program(self, source: str, stdin: str = "", *, time_limit_s: float = 3.0) -> Outcome:
        """Run `source` as a program that reads `stdin` and prints.

        Leaving with code 0 is "ok", also by sys.exit or os._exit; any other code is "exited".

        Args:
            source: Python; its `__name__` is "__main__".
            stdin: what it can read, as text.
            time_limit_s: seconds for the whole.

        Raises:
            ValueError: the time limit is not positive.
            TypeError: source or stdin is not text.
        """
        _texts(source=source, stdin=stdin)
        _positive(time_limit_s)
        request = {"kind": "program", "source": source, "stdin": stdin}
        return self._checked(source, lambda check: judge_program(check, request, time_limit_s))

    def _checked(self, source: str, judge):
        """The result of `judge` on a fresh check; once more, on a new server, if the first gave no judgement."""
        numpy = "numpy" in source and re.search(r"\bnumpy\b", source) is not None
        with self._room:
            for attempt in range(2):
                server = self._server(numpy)
                with Check(server, self.level) as check:
                    result = judge(check)
                if result.status != "sandbox" or attempt:
                    return result
                if not check.report:  # the server died
                    self._forget(numpy, server)

    def _choose(self, wanted: str | None) -> str:
        """The best level that works, its server started and tried."""
        if not sys.platform.startswith("linux"):
            raise SandboxError(f"the sandbox needs Linux and this is {sys.platform}; use a container or WSL 2")
        reasons = []
        for level in LEVELS if wanted is None else (wanted,):
            if level == "none" and not self._allow:
                reasons.append("none: needs allow_unisolated=True")
                break
            self.level, self._slots = level, 1 if level == "none" else _cores()
            try:
                self._try()
            except SandboxError as error:
                self._stop_servers()
                reasons.append(f"{level}: {error}")
                continue
            if wanted is None and level != LEVELS[0]:
                _warn_once(f"sandbox level {level!r}: {_LOST[level]} ({'; '.join(reasons)})")
            return level
        raise SandboxError(
            f"no isolation for untrusted programs here ({'; '.join(reasons)}). Run on Linux 5.13 or newer as root or "
            "with user namespaces, or pass allow_unisolated=True if losing what these programs can reach is acceptable"
        )

    def _try(self) -> None:
        run = self.run_function("def double(x):\n    return 2 * x", "double", ["[21]"], time_limit_s=10)
        if run.status != "ok" or run.outcomes[0].value != 42:
            raise SandboxError(run.error or run.outcomes[0].error or run.status)

    def _server(self, numpy: bool) -> "Server":
        """The running server, with numpy loaded or without; a process that was forked from this one gets its own."""
        key = os.getpid(), numpy
        with self._lock:
            if self._closed:
                raise SandboxError("this sandbox is closed; make a new one")
            if key not in self._servers:
                self._servers[key] = Server(self.level, self._memory_mb, self._slots, numpy)
            return self._servers[key]

    def _forget(self, numpy: bool, server: "Server") -> None:
        with self._lock:
            if self._servers.get((os.getpid(), numpy)) is server:
                del self._servers[os.getpid(), numpy]
        server.stop()


_warned = set()


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def _cores() -> int:
    return max(2, min(MAX_TASKS, len(os.sched_getaffinity(0))))


def _texts(**named: object) -> None:
    for name, value in named.items():
        if not isinstance(value, str):
            raise TypeError(f"{name} is {type(value).__name__}, not text: {value!r:.80}")


def _positive(time_limit_s: float) -> None:
    if not 0 < time_limit_s < float("inf"):
        raise ValueError(f"time_limit_s is {time_limit_s!r}; give a positive number of seconds")


def _arguments(call: str) -> bytes:
    """The arguments as JSON."""
    _texts(call=call)
    return _small_arguments(call) if len(call) < 10_000 else _large_arguments(call)


def _large_arguments(call: str) -> bytes:
    import ast  # slow to import, and of no use for lists of numbers

    try:
        value = _number_lists(call) or ast.literal_eval(call.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(f"call {call!r:.80} is not a Python literal: {error}") from None
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"call {call!r:.80} is not the list of arguments; write '[{call:.40}]' for one argument")
    try:
        return encode(list(value), items=1 << 60).encode()
    except NotPlain as error:
        raise ValueError(f"call {call!r:.80}: {error}") from None


_small_arguments = lru_cache(maxsize=4096)(_large_arguments)


def _number_lists(text: str) -> list | None:
    """A literal of digits, commas and brackets, read as JSON: 50 times faster than as Python, for the same value."""
    if re.fullmatch(r"[\d\[\], -]*", text):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return None
