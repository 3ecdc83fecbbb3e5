# SPDX-License-Identifier: Apache-2.0
"""The server of an environment beside a notebook: in a process of its own, ready or refused, and never left over.

>>> server = start("workplace", "runs/server.log")     # doctest: +SKIP
>>> RemoteEnv(server.url)                              # doctest: +SKIP
>>> server.stop()                                      # doctest: +SKIP
"""

import os
import re
import subprocess
import sys
import time
import weakref
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from helpers.here import ROOT


class Server:
    """A running server.

    Attributes:
        url: Its address.
        pid: Its process.
        log: What it prints goes to this file.
    """

    def __init__(self, url: str, process: subprocess.Popen, log: Path):
        self.url, self.pid, self.log = url, process.pid, log
        self._end = weakref.finalize(self, _end, process)  # called at the latest when Python ends

    def __repr__(self) -> str:
        return f"Server({self.url!r}, {'running' if self._end.alive else 'stopped'})"

    def stop(self) -> None:
        """Stop it and wait until it has ended; a second time does nothing."""
        self._end()

    def usage(self) -> dict[str, float]:
        """What it has used: `cpu_s` of processor time and `requests` since its start, and `memory_mb` now."""
        import psutil

        process = psutil.Process(self.pid)
        metrics = _get(self.url, "/metrics")[1].decode()
        times, counts = process.cpu_times(), re.findall(r"^env_requests_total{.*} (\S+)$", metrics, re.M)
        memory = process.memory_info().rss / 2**20
        return {"cpu_s": times.user + times.system, "requests": sum(map(float, counts)), "memory_mb": memory}


def start(environment: str, log: Path | str, timeout_s: float = 60.0) -> Server:
    """Start `python -m helpers.serve.server` for an environment and wait until it answers: on a free port, reached from
    this machine alone and without a token.

    It stops when `stop` is called, when nobody holds the returned object any more, and when this process ends, even if
    it is killed: then its standard input closes.

    Args:
        environment: A name in `envs.NAMES`.
        log: File for what the server prints; made anew.
        timeout_s: Longest wait, in seconds.

    Raises:
        RuntimeError: it ended before it was ready; the message holds the end of its log.
        TimeoutError: it was not ready in time; it is stopped then.
    """
    log = Path(log)
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "helpers.serve.server", environment, "--port", "0", "--until-eof"]
    open_to_us = {name: value for name, value in os.environ.items() if name != "SERVER_TOKEN"}
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, env=open_to_us, stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT
        )
    end = time.monotonic() + timeout_s
    try:
        while time.monotonic() < end:
            said = log.read_text(encoding="utf-8", errors="replace")
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with {process.returncode} before it was ready: {said[-1000:]}")
            found = re.search(r"http://[^\s,]+(?=,)", said)
            if found and _answers(found[0]):
                return Server(found[0], process, log)
            time.sleep(0.05)
        raise TimeoutError(f"the server was not ready after {timeout_s:g} s; it said: {said[-1000:] or 'nothing'}")
    except BaseException:
        _end(process)
        raise


def _answers(url: str) -> bool:
    """Whether it says that it is well."""
    try:
        return _get(url, "/health")[0] == 200
    except (OSError, HTTPException):
        return False


def _get(url: str, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=10)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def _end(process: subprocess.Popen) -> None:
    """Let a server stop by itself, and if it does not within ten seconds, kill it."""
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
