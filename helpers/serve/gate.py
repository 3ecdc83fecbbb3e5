# SPDX-License-Identifier: Apache-2.0
"""What every request to a server passes, and what is counted of it."""

import re
import time
from hmac import compare_digest

from fastapi import HTTPException

from helpers.serve.bodies import json_reply
from helpers.serve.sessions import Sessions

OWN = ("seed_session", "verify", "aggregate_metrics")  # endpoints that are no tools
_OPEN = ("/", "/health")  # without the token


class Gate:
    """What every request passes: the token, the size limit, the session cookie, and the count of requests."""

    def __init__(self, app, sessions: Sessions, cookie: str, token: str | None, max_body: int, meter: "Meter"):
        self.app, self.sessions, self.cookie, self.meter = app, sessions, cookie, meter
        self.token, self.max_body = token.encode() if token else None, max_body

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        began, headers, seen = time.perf_counter(), dict(scope["headers"]), 0
        scope["path"] = path = re.sub(r"\A/ng-rollout/[^/]+(?=/)", "", scope["path"])  # NeMo Gym's tracing
        scope["session"] = self._key(headers.get(b"cookie", b""))

        def count(status: int) -> None:
            self.meter.request(scope["method"], path, status, time.perf_counter() - began)

        async def limited():
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.max_body:
                raise HTTPException(413, f"the request is over {self.max_body} bytes")
            return message

        async def answer(message):
            if message["type"] == "http.response.start":
                if key := scope["session"]:  # on every reply, for the agent keeps only those of the last one
                    value = f"{self.cookie}={key}; Path=/; HttpOnly; SameSite=Lax".encode()
                    message["headers"] = [*message.get("headers", ()), (b"set-cookie", value)]
                count(message["status"])
            await send(message)

        length = headers.get(b"content-length", b"0")
        if self.token and path not in _OPEN and not self._admitted(headers.get(b"authorization", b"")):
            refusal = json_reply({"detail": "a bearer token is needed"}, 401)
            refusal.headers["www-authenticate"] = "Bearer"
        elif not length.isdigit() or int(length[:20]) > self.max_body:
            refusal = json_reply({"detail": f"the request is over {self.max_body} bytes"}, 413)
        else:
            try:
                return await self.app(scope, limited, answer)
            except Exception:  # answered with 500 further out
                count(500)
                raise
        scope["session"] = ""
        await refusal(scope, receive, answer)

    def _admitted(self, header: bytes) -> bool:
        scheme, _, given = header.partition(b" ")
        return scheme.lower() == b"bearer" and compare_digest(given.strip(), self.token)

    def _key(self, header: bytes) -> str:
        """The ID in the cookie, if it is that of an open session."""
        for part in header.decode("latin-1").split(";"):
            name, _, key = part.strip().partition("=")
            if name == self.cookie and self.sessions.get(key):
                return key
        return ""


class Meter:
    """Counts for Prometheus."""

    def __init__(self, sessions: Sessions):
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

        self.registry = CollectorRegistry()
        self._text = generate_latest
        places = {"registry": self.registry}
        times = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
        self._seconds = Histogram("env_request_seconds", "Time to answer", ["endpoint"], buckets=times, **places)
        self._replies = Counter("env_requests", "Answered requests", ["endpoint", "status"], **places)
        self._calls = Counter("env_tool_calls", "Tool calls", ["tool", "outcome"], **places)
        self._rewards = Counter("env_rewards", "Verdicts", ["reward"], **places)
        Gauge("env_sessions_open", "Open sessions", **places).set_function(lambda: len(sessions))
        Gauge("env_sessions_bytes", "Rows and calls of open sessions", **places).set_function(lambda: sessions.size)
        Gauge("env_sessions_expired", "Sessions that were left", **places).set_function(lambda: sessions.expired)

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        endpoint = path[1:] if path[1:] in OWN else "tool" if method == "POST" else "other"
        self._seconds.labels(endpoint).observe(seconds)
        self._replies.labels(endpoint, status).inc()

    def call(self, tool: str, refused: bool) -> None:
        self._calls.labels(tool, "refused" if refused else "done").inc()

    def verdict(self, reward: float | None) -> None:
        name = {None: "unjudged", 0.0: "0", 1.0: "1"}.get(reward, "between")
        self._rewards.labels(name).inc()

    def text(self) -> bytes:
        return self._text(self.registry)
