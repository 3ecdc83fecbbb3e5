# SPDX-License-Identifier: Apache-2.0
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
import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI, HTTPException, Request, Response

from envs import NAMES, load
from helpers.episodes.environment import responses_schema, tools_of
from helpers.episodes.nemo_gym import aggregate, gym_rows
from helpers.serve import actions
from helpers.serve.bodies import json_reply, missing, object_in
from helpers.serve.gate import OWN, Gate, Meter
from helpers.serve.remote import RemoteEnv
from helpers.serve.sessions import Sessions

__all__ = ("RemoteEnv", "create_app", "gym_rows", "serve")

MAX_BODY = 16 * 2**20  # bytes
_THREADS = 32  # environments run beside the event loop: a verdict on a program takes seconds, mostly waiting


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
    if taken := set(tools) & set(OWN):
        raise ValueError(f"the tool {taken.pop()!r} is called as an endpoint of the server; rename it")
    sessions = Sessions(max_sessions, session_seconds, max_body)
    meter = Meter(sessions)
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=name)

    @asynccontextmanager
    async def lifespan(_):
        yield
        pool.shutdown(wait=False, cancel_futures=True)

    async def run(work, *given):
        return await asyncio.get_running_loop().run_in_executor(pool, work, *given)

    app = FastAPI(title=name, description=inspect.getdoc(module.ENV) or "", lifespan=lifespan, redoc_url=None)
    app.add_middleware(
        Gate, sessions=sessions, cookie=f"{module.ENV.__name__}___{name}", token=token, max_body=max_body, meter=meter
    )

    @app.exception_handler(HTTPException)
    async def refused(_, error):
        reply = json_reply({"detail": error.detail}, error.status_code)
        reply.headers.update(error.headers or {})
        return reply

    @app.get("/", include_in_schema=False)
    @app.get("/health")
    async def health():
        """Whether the server runs."""
        return json_reply({"status": "ok"})

    @app.get("/metrics")
    async def metrics():
        """Counts and times for Prometheus."""
        return Response(meter.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/global_config_dict_yaml")
    async def global_config(request: Request):
        """Where this server is, in the words of NeMo Gym's head server."""
        host, port = request.scope["server"]  # as this request reached it
        here = {"host": host, "port": port, "domain": "other"}
        return json_reply(json.dumps({name: {"resources_servers": {name: here}}}))

    @app.post("/seed_session", openapi_extra=_takes({"type": "object", "description": "A row, or {}."}))
    async def seed_session(request: Request):
        """Begin an episode; the reply's cookie carries it."""
        body, size = await object_in(request)
        session = await run(actions.begin, module, body, size)
        request.scope["session"] = sessions.add(session, request.scope["session"])
        return json_reply({})

    @app.post("/verify", openapi_extra=_takes(_VERIFY))
    async def verify(request: Request):
        """Judge a response and free the session."""
        body, _ = await object_in(request)
        reward, reply = await run(actions.verify, module, body)
        meter.verdict(reward)
        sessions.drop(request.scope["session"])
        return reply

    @app.post("/aggregate_metrics", openapi_extra=_takes(_VERDICTS))
    async def aggregate_metrics(request: Request):
        """Statistics of verify replies."""
        body, _ = await object_in(request)
        verdicts = body.get("verify_responses")
        if not isinstance(verdicts, list) or not all(isinstance(verdict, dict) for verdict in verdicts):
            raise missing("verify_responses")
        return await run(lambda: json_reply(aggregate(verdicts)))

    @app.post("/{tool}", include_in_schema=False)
    async def call(tool: str, request: Request):
        arguments, size = await object_in(request)
        session = sessions.get(request.scope["session"])
        if session is None:
            raise HTTPException(400, "Session not initialized. Please call seed_session first.")
        sessions.grow(session, size)
        async with session.lock:
            output, refused = await run(actions.call_tool, session, tool, arguments)
        meter.call(tool if tool in session.tools else "unknown", refused)
        return json_reply({"output": output})

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
