# SPDX-License-Identifier: Apache-2.0
"""The sessions of a server: one episode each, bounded in number, in time and in bytes."""

import asyncio
import secrets
import time
from collections import OrderedDict

from fastapi import HTTPException

MAX_MEMORY = 2**30  # bytes of the rows and calls of all sessions


class Session:
    """One episode: an environment, the tools that its row offers, and what it weighs."""

    def __init__(self, env, tools: frozenset[str], size: int):
        self.env, self.tools, self.size = env, tools, size
        self.calls = 0  # bytes of the calls so far
        self.lock = asyncio.Lock()
        self.used = 0.0


class Sessions:
    """The open sessions by ID, longest unused first.

    At most `limit`, each freed `seconds` after its last use, each with at most `max_calls` bytes of calls.
    """

    def __init__(self, limit: int, seconds: float, max_calls: int):
        self.limit, self.seconds, self.max_calls = limit, seconds, max_calls
        self.size = self.expired = 0
        self._open: OrderedDict[str, Session] = OrderedDict()

    def __len__(self) -> int:
        self._expire()
        return len(self._open)

    def add(self, session: Session, key: str) -> str:
        """Keep a session in place of the one called `key`, or under a new ID.

        Raises:
            HTTPException: there is no room.
        """
        if not self.drop(key):
            key = secrets.token_urlsafe(24)  # never one that a client made up
        if len(self) >= self.limit or self.size + session.size > MAX_MEMORY:
            why = f"all {self.limit} sessions are in use" if len(self) >= self.limit else "the sessions hold too much"
            raise HTTPException(503, f"{why}; verify some or try again later", {"Retry-After": "5"})
        session.used = time.monotonic()
        self._open[key] = session
        self.size += session.size
        return key

    def get(self, key: str) -> Session | None:
        """The session with this ID, now used, or None."""
        self._expire()
        if session := self._open.get(key):
            session.used = time.monotonic()
            self._open.move_to_end(key)
        return session

    def drop(self, key: str) -> bool:
        """Free a session; False if there is none."""
        session = self._open.pop(key, None)
        self.size -= session.size if session else 0
        return session is not None

    def grow(self, session: Session, size: int) -> None:
        """Count a call of a session.

        Raises:
            HTTPException: the calls are more than a session may hold.
        """
        if session.calls + size > self.max_calls or self.size + size > MAX_MEMORY:
            raise HTTPException(413, f"the calls of this session are over {self.max_calls} bytes; begin a new one")
        session.calls += size
        session.size += size
        self.size += size

    def _expire(self) -> None:
        end = time.monotonic() - self.seconds
        while self._open and (key := next(iter(self._open))) and self._open[key].used < end:
            self.drop(key)
            self.expired += 1
