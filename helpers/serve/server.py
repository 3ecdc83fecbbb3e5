"""Any environment as an HTTP resources server, in the wire format of NeMo Gym.

    python -m helpers.serve.server workplace --port 8000

An agent posts a row to `/seed_session`, tool arguments to `/{tool}` and the row with the model's `response` to
`/verify`. A cookie carries the session. `gym_rows` writes an environment's rows in the shape that NeMo Gym and
NeMo RL read, and this entry in their configuration names the running server (without an entrypoint, so that nothing
is started):

    workplace: {resources_servers: {workplace: {domain: agent, host: 127.0.0.1, port: 8000}}}

`/global_config_dict_yaml` answers the same entry, as a head server does. `/docs` shows the tools, `/metrics` is for
Prometheus. With SERVER_TOKEN in the environment, all but `/health` wants it as a bearer token.
"""

import argparse
import asyncio
import inspect
import json
import os
import re
import secrets
import signal
import socket
import sys
import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from hmac import compare_digest

from fastapi import FastAPI, HTTPException, Request, Response

from envs import NAMES, load
from helpers.episodes.environment import reader_of, responses_schema, tools_of
from helpers.episodes.nemo_gym import aggregate, gym_rows
from helpers.episodes.responses import to_messages
from helpers.serve.remote import RemoteEnv

__all__ = ("RemoteEnv", "create_app", "gym_rows", "serve")

MAX_BODY = 16 * 2**20  # bytes
MAX_MEMORY = 2**30  # bytes of the rows and calls of all sessions
_THREADS = 32  # environments run beside the event loop: a verdict on a program takes seconds, mostly waiting
_OPEN = ("/", "/health")  # without the token
_OWN = ("seed_session", "verify", "aggregate_metrics")


# --- sessions --------------------------------------------------------------------------------------------


class _Session:
    """One episode: an environment, the tools that its row offers, and what it weighs."""

    def __init__(self, env, tools: frozenset[str], size: int):
        self.env, self.tools, self.size = env, tools, size
        self.calls = 0  # bytes of the calls so far
        self.lock = asyncio.Lock()
        self.used = 0.0


class _Sessions:
    """The open sessions by ID, longest unused first.

    At most `limit`, each freed `seconds` after its last use, each with at most `max_calls` bytes of calls.
    """

    def __init__(self, limit: int, seconds: float, max_calls: int):
        self.limit, self.seconds, self.max_calls = limit, seconds, max_calls
        self.size = self.expired = 0
        self._open: OrderedDict[str, _Session] = OrderedDict()

    def __len__(self) -> int:
        self._expire()
        return len(self._open)

    def add(self, session: _Session, key: str) -> str:
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

    def get(self, key: str) -> _Session | None:
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

    def grow(self, session: _Session, size: int) -> None:
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


# --- what comes in and goes out --------------------------------------------------------------------------


def _reply(content, status: int = 200) -> Response:
    """JSON, escaped only if it must be, since models read it: where half a character breaks UTF-8."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        body = json.dumps(content, separators=(",", ":")).encode()
    return Response(body, status, media_type="application/json")


async def _object(request: Request) -> tuple[dict, int]:
    """The JSON object in a request, and its size in bytes.

    Raises:
        HTTPException: it is none.
    """
    body = await request.body()
    try:
        value = json.loads(body, parse_constant=_no_number) if body else {}
    except (ValueError, RecursionError) as error:
        raise HTTPException(422, f"the body is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise HTTPException(422, f"the body must be a JSON object, got {type(value).__name__}")
    return value, len(body)


def _no_number(name: str):
    raise ValueError(f"{name} is no JSON")


def _missing(field: str, why: str = "Field required") -> HTTPException:
    return HTTPException(422, [{"type": "missing", "loc": ["body", *field.split(".")], "msg": why}])


class _Gate:
    """What every request passes: the token, the size limit, the session cookie, and the count of requests."""

    def __init__(self, app, sessions: _Sessions, cookie: str, token: str | None, max_body: int, meter: "_Meter"):
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
            reply = _reply({"detail": "a bearer token is needed"}, 401)
            reply.headers["www-authenticate"] = "Bearer"
        elif not length.isdigit() or int(length[:20]) > self.max_body:
            reply = _reply({"detail": f"the request is over {self.max_body} bytes"}, 413)
        else:
            try:
                return await self.app(scope, limited, answer)
            except Exception:  # answered with 500 further out
                count(500)
                raise
        scope["session"] = ""
        await reply(scope, receive, answer)

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


class _Meter:
    """Counts for Prometheus."""

    def __init__(self, sessions: _Sessions):
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
        endpoint = path[1:] if path[1:] in _OWN else "tool" if method == "POST" else "other"
        self._seconds.labels(endpoint).observe(seconds)
        self._replies.labels(endpoint, status).inc()

    def call(self, tool: str, refused: bool) -> None:
        self._calls.labels(tool, "refused" if refused else "done").inc()

    def verdict(self, reward: float | None) -> None:
        name = {None: "unjudged", 0.0: "0", 1.0: "1"}.get(reward, "between")
        self._rewards.labels(name).inc()

    def text(self) -> bytes:
        return self._text(self.registry)


# --- what is asked of an environment ---------------------------------------------------------------------


def _row(module, body: dict) -> dict:
    """The row in a request: ours, or one of NeMo Gym's if the environment reads those.

    Raises:
        HTTPException: there is none.
    """
    for ours in (body, body.get("episode")):  # where `to_nemo_gym` puts it
        if isinstance(ours, dict) and isinstance(ours.get("task"), str):
            return {name: ours.get(name) for name in ("prompt", "environment", "task_id", "task")}
    reader = reader_of(module)
    if not reader or not isinstance(body.get("responses_create_params"), dict):
        raise _missing("task")
    try:
        return reader([{name: value for name, value in body.items() if value is not None}])[0]
    except Exception as error:
        raise _missing("task", f"Field required; the row has none and is none of NeMo Gym's ({error})") from None


def _begin(module, body: dict, size: int) -> _Session:
    """A session for the row in a request; without any, for the small task that every environment has."""
    row, env = _row(module, body) if body else {}, module.ENV()
    try:
        env.reset(**row)
        tools = tools_of(module, row if row else None)
    except Exception as error:
        raise HTTPException(422, f"the row's task can't begin: {error}") from None
    return _Session(env, frozenset(tools), size)


def _call(session: _Session, tool: str, arguments: dict) -> tuple[object, bool]:
    """The output of a tool, and whether it refused. Whatever goes wrong is text for the model."""
    try:
        if tool not in session.tools:
            raise ValueError(f"there is no tool {tool!r:.60}; the tools are {', '.join(sorted(session.tools))}")
        given = {name: value for name, value in arguments.items() if value is not None}  # null: left out
        return _unpacked(getattr(session.env, tool)(**given)), False
    except Exception as error:
        return f"Error executing tool {tool!r:.60}: {error}", True


def _without_nulls(item: dict) -> dict:
    """A call as `/{tool}` carries it out, so that a verdict is on what happened in the session."""
    text = item.get("arguments")
    if item.get("type") == "function_call" and isinstance(text, str) and "null" in text:
        with suppress(ValueError, RecursionError):
            given = json.loads(text)
            if isinstance(given, dict) and None in given.values():
                kept = {name: value for name, value in given.items() if value is not None}
                return {**item, "arguments": json.dumps(kept)}
    return item


def _unpacked(text: str):
    """A list or object for a text that is exactly its JSON, so that a model does not read it escaped twice."""
    if text[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            value = json.loads(text, parse_constant=_no_number)
            if json.dumps(value, ensure_ascii=False, separators=(",", ":")) == text:
                return value
    return text


def _verify(module, body: dict) -> tuple[float | None, Response]:
    """The reward, and the reply of `/verify`: the row, the response, the reward, its reason and metrics."""
    for name in ("responses_create_params", "response"):
        if not isinstance(body.get(name), dict):
            raise _missing(name)
    items = body["response"].get("output")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _missing("response.output")
    row = _row(module, body)
    try:
        messages = to_messages([_without_nulls(item) for item in items])
    except Exception as error:
        raise HTTPException(422, f"response.output can't be read: {type(error).__name__}: {error}") from None
    try:
        reward, reason, metrics, *_ = module.score(messages, row)
    except Exception as error:  # as in a rollout: unjudged, never a silent 0
        reward, reason, metrics = None, f"unjudged: {type(error).__name__}: {error}", {}
    verdict = {"reward": reward, "reason": reason}
    if reward is None:
        verdict["_ng_failure_class"] = "unjudged"  # NeMo Gym puts such rollouts aside and leaves them out of metrics,
        if body.get("agent_ref"):  # but its agents refuse a reward that is no number
            verdict["reward"] = 0.0
    try:
        return reward, _reply({**metrics, **body, **verdict})
    except (ValueError, RecursionError) as error:
        raise HTTPException(422, f"the body can't be written as JSON again: {error}") from None


# --- the server ------------------------------------------------------------------------------------------


def create_app(
    module,
    *,
    name: str = "",
    token: str | None = None,
    max_sessions: int = 10_000,
    session_seconds: float = 3600,
    max_body: int = MAX_BODY,
) -> FastAPI:
    """The server of an environment, to be run by uvicorn.

    Args:
        module: The environment, as `envs.load` returns it.
        name: What to call it; else the name of the module.
        token: Bearer token that requests must carry; None for none.
        max_sessions: Most sessions open at once; more are refused with 503.
        session_seconds: A session is freed after this time without a request, in seconds.
        max_body: Most bytes of a request, and of all calls of a session.

    Raises:
        ValueError: a tool of the environment is called as an endpoint is.
    """
    name = name or module.__name__.rpartition(".")[2].removesuffix("_env")
    tools = tools_of(module)
    if taken := set(tools) & set(_OWN):
        raise ValueError(f"the tool {taken.pop()!r} is called as an endpoint of the server; rename it")
    sessions = _Sessions(max_sessions, session_seconds, max_body)
    meter = _Meter(sessions)
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=name)

    @asynccontextmanager
    async def lifespan(_):
        yield
        pool.shutdown(wait=False, cancel_futures=True)

    async def run(work, *given):
        return await asyncio.get_running_loop().run_in_executor(pool, work, *given)

    app = FastAPI(title=name, description=inspect.getdoc(module.ENV) or "", lifespan=lifespan, redoc_url=None)
    app.add_middleware(
        _Gate, sessions=sessions, cookie=f"{module.ENV.__name__}___{name}", token=token, max_body=max_body, meter=meter
    )

    @app.exception_handler(HTTPException)
    async def refused(_, error):
        reply = _reply({"detail": error.detail}, error.status_code)
        reply.headers.update(error.headers or {})
        return reply

    @app.get("/", include_in_schema=False)
    @app.get("/health")
    async def health():
        """Whether the server runs."""
        return _reply({"status": "ok"})

    @app.get("/metrics")
    async def metrics():
        """Counts and times for Prometheus."""
        return Response(meter.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/global_config_dict_yaml")
    async def global_config(request: Request):
        """Where this server is, in the words of NeMo Gym's head server."""
        host, port = request.scope["server"]  # as this request reached it
        here = {"host": host, "port": port, "domain": "other"}
        return _reply(json.dumps({name: {"resources_servers": {name: here}}}))

    @app.post("/seed_session", openapi_extra=_takes({"type": "object", "description": "A row, or {}."}))
    async def seed_session(request: Request):
        """Begin an episode; the reply's cookie carries it."""
        body, size = await _object(request)
        session = await run(_begin, module, body, size)
        request.scope["session"] = sessions.add(session, request.scope["session"])
        return _reply({})

    @app.post("/verify", openapi_extra=_takes(_VERIFY))
    async def verify(request: Request):
        """Judge a response and free the session."""
        body, _ = await _object(request)
        reward, reply = await run(_verify, module, body)
        meter.verdict(reward)
        sessions.drop(request.scope["session"])
        return reply

    @app.post("/aggregate_metrics", openapi_extra=_takes(_VERDICTS))
    async def aggregate_metrics(request: Request):
        """Statistics of verify replies."""
        body, _ = await _object(request)
        verdicts = body.get("verify_responses")
        if not isinstance(verdicts, list) or not all(isinstance(verdict, dict) for verdict in verdicts):
            raise _missing("verify_responses")
        return await run(lambda: _reply(aggregate(verdicts)))

    @app.post("/{tool}", include_in_schema=False)
    async def call(tool: str, request: Request):
        arguments, size = await _object(request)
        session = sessions.get(request.scope["session"])
        if session is None:
            raise HTTPException(400, "Session not initialized. Please call seed_session first.")
        sessions.grow(session, size)
        async with session.lock:
            output, refused = await run(_call, session, tool, arguments)
        meter.call(tool if tool in session.tools else "unknown", refused)
        return _reply({"output": output})

    schemas = [responses_schema(getattr(module.ENV, tool)) for tool in tools]
    describe = app.openapi
    app.openapi = lambda: _with_tools(describe(), schemas)
    return app


def _takes(schema: dict) -> dict:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


_VERIFY = {
    "type": "object",
    "description": "The row, and what the model made of it.",
    "required": ["responses_create_params", "response"],
    "properties": {
        "responses_create_params": {"type": "object"},
        "response": {
            "type": "object",
            "required": ["output"],
            "properties": {"output": {"type": "array", "items": {"type": "object"}}},
        },
    },
}
_VERDICTS = {
    "type": "object",
    "required": ["verify_responses"],
    "properties": {"verify_responses": {"type": "array", "items": {"type": "object"}}},
}


def _with_tools(document: dict, schemas: list[dict]) -> dict:
    """The OpenAPI document with a path for every tool."""
    for schema in schemas:
        reply = {"type": "object", "properties": {"output": {}}, "required": ["output"]}
        document["paths"].setdefault(
            f"/{schema['name']}",
            {
                "post": {
                    "summary": schema["name"],
                    "description": schema["description"],
                    "operationId": schema["name"],
                    "tags": ["tools"],
                    **_takes(schema["parameters"]),
                    "responses": {
                        "200": {"description": "Output", "content": {"application/json": {"schema": reply}}},
                        "400": {"description": "No session"},
                    },
                }
            },
        )
    return document


def serve(app: FastAPI, host: str = "127.0.0.1", port: int = 8000) -> None:
    """Run a server until it is told to stop; prints its address once it takes requests.

    Args:
        app: As `create_app` returns it.
        host: Address to listen on; the default is reached from this machine alone.
        port: 0 for any that is free.
    """
    import uvicorn

    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)  # a connection needs one each
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Called TCP by name, or asyncio leaves Nagle's algorithm on, which costs every reply 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
        at, port = listener.getsockname()[:2]
        print(f"{app.title}: http://{f'[{at}]' if ':' in at else at}:{port}, its tools at /docs", flush=True)
        quiet = {"log_level": "warning", "access_log": False, "server_header": False}
        patient = {"timeout_keep_alive": 75, "timeout_graceful_shutdown": 5}  # a model thinks longer than 5 s
        config = uvicorn.Config(app, ws="none", **quiet, **patient)
        uvicorn.Server(config).run(sockets=[listener])


def main(arguments: list[str] | None = None) -> int:
    """The command line. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.serve.server", description="Serve an environment over HTTP."
    )
    parser.add_argument("environment", choices=NAMES)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all")
    parser.add_argument("--port", type=int, default=8000, help="0 for any that is free")
    ending = "stop when standard input ends, as it does with the process that started this one"
    parser.add_argument("--until-eof", action="store_true", help=ending)
    options = parser.parse_args(arguments)
    if options.until_eof:
        threading.Thread(target=_stop_at_eof, daemon=True).start()
    token = os.environ.get("SERVER_TOKEN") or None
    if not token and options.host not in ("127.0.0.1", "localhost", "::1"):
        print("warning: anyone who reaches this address can use it; set SERVER_TOKEN to ask for a token",
              file=sys.stderr)  # fmt: skip
    try:
        serve(create_app(load(options.environment), token=token), options.host, options.port)
    except OSError as error:
        print(f"error: can't listen on {options.host}:{options.port}: {error}", file=sys.stderr)
        return 1
    return 0


def _stop_at_eof() -> None:
    while sys.stdin.buffer.read(1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
