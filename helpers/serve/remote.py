# SPDX-License-Identifier: Apache-2.0
"""A NeMo Gym resources server as an environment: anything that takes what `envs.load` returns takes a `RemoteEnv`.

>>> remote = RemoteEnv("http://127.0.0.1:8000", rows="rows.jsonl")         # doctest: +SKIP
>>> rollout(remote, remote.make_rows(8), policy, name="p", tools=True)     # doctest: +SKIP
"""

import inspect
import json
import random
import re
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPSConnection, RemoteDisconnected
from http.cookies import CookieError, SimpleCookie
from keyword import iskeyword
from typing import NamedTuple
from urllib.parse import urlsplit

from helpers.episodes.nemo_gym import rows_from_gym
from helpers.episodes.responses import text_of, to_items, to_messages

_LONGEST = 64 * 2**20  # bytes of a reply
_ATTEMPTS = 4  # where nothing answers, or the server is full
_ENDPOINTS = ("seed_session", "verify", "aggregate_metrics")
_NO_TOOLS = (*_ENDPOINTS, "run")  # agents have `run` as an endpoint; our servers tag the tool of that name as one
_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}


class Verdict(NamedTuple):
    """What the server says; a server that gives no reason has an empty one."""

    reward: float | None
    reason: str
    metrics: dict[str, float]


class RemoteEnv:
    """An environment behind a URL: `ENV`, `score`, `reward`, `tools_for`, `make_rows`, `rows`.

    It has neither `answer` nor `parse`: a server tells no gold answers and reads texts itself. A row is one of NeMo
    Gym's, whole, in the `task` column; rows of our own environments are taken as they are.

    Args:
        url: Address of the resources server.
        rows: NeMo Gym rows, as dicts or a JSONL file. They bring the tasks, and the tools where the server's OpenAPI
            document does not list them.
        token: Bearer token to send, if the server wants one.
        timeout: Longest wait for a reply, in seconds.

    Attributes:
        ENV: Class of an episode: `reset`, `get_reward` and the tools, as `environment_factory` takes it.
        rows: The rows given, with the columns `prompt`, `environment`, `task_id` and `task`.

    Raises:
        ConnectionError: nothing answers there.
        ValueError: the URL or a row is none.
    """

    graded_elsewhere = True  # so verdicts take no time of each other here, and rollouts may ask for many at once

    def __init__(self, url: str, rows=(), *, token: str | None = None, timeout: float = 60.0):
        self._client = _Client(url, token, timeout)
        self._cookies: deque[dict[str, str]] = deque()  # of sessions that nobody uses any more
        document = self._client.ask("GET", "/openapi.json").json
        document = document if isinstance(document, dict) else {}
        title = str((document.get("info") or {}).get("title") or "remote")
        self.__name__ = re.sub(r"\W+", "_", title)
        self.rows = rows_from_gym(rows, self.__name__)
        listed = [*_tools_in(document), *(tool for row in self.rows for tool in _offered(row))]
        tools = {tool["name"]: _method(tool) for tool in listed if _is_tool(tool)}
        name = self.__name__.title().replace("_", "") + "Env"
        self.ENV = type(name, (_Episode,), {**tools, "_remote": self, "__doc__": document.get("description")})
        setattr(self, name, self.ENV)
        self._tools = tuple(sorted(tools))

    def tools_for(self, row: dict) -> list[str]:
        """Names of the tools that a row offers; all, if it is a row of our own environments."""
        if _theirs(row) is None:
            return list(self._tools)
        return [tool["name"] for tool in _offered(row) if tool.get("name") in self._tools]

    def make_rows(self, n: int, seed: int = 0, split: str = "train") -> list[dict]:
        """Some of `rows`, drawn by the seed. A hash decides the split: 8 of 10 for training, 1 each for the others.

        Raises:
            ValueError: there are fewer than `n`.
        """
        pool = [row for row in self.rows if _split(row["task"]) == split]
        if n > len(pool):
            raise ValueError(
                f"{n} rows asked for, {len(pool)} of the {len(self.rows)} given are in split {split!r}; give more rows"
            )
        return [dict(row) for row in random.Random(seed).sample(pool, n)]

    def score(self, completion: str | list[dict], row: dict) -> Verdict:
        """Grade a completion, text or chat messages: its tool calls are made again in a fresh session.

        Raises:
            ConnectionError: nothing answers there.
        """
        messages = [{"role": "assistant", "content": completion}] if isinstance(completion, str) else completion or []
        session = _Session(self, _body(row))
        try:
            items = to_items(messages)
            for item in items:
                if item.get("type") == "function_call":
                    session.repeat(item)
            return session.verify(items)
        finally:
            session.leave()

    def reward(self, completions: list, task: list[str], **_) -> list[float | None]:
        """Reward function for TRL: one float or None for each completion and its `task` column."""
        return [self.score(completion, {"task": one}).reward for completion, one in zip(completions, task)]


# --- an episode ------------------------------------------------------------------------------------------


class _Episode:
    """Base of `ENV`: one episode on the server."""

    _remote: RemoteEnv
    _session: "_Session | None" = None

    def reset(self, *, prompt=None, task: str | None = None, **columns) -> str | None:
        """Begin the task in `task`; without one, what the server begins with."""
        body = _body({"prompt": prompt, "task": task, **columns}) if task else {}
        self._leave()
        self._session = _Session(self._remote, body)
        self.metrics: dict[str, float] = {}
        if prompt:
            return None
        asked = to_messages((body.get("responses_create_params") or {}).get("input") or [])
        text = "\n\n".join(text_of(message.get("content")) for message in asked)
        return text or f"Do the task that the server has begun, with the tools {', '.join(self._remote._tools)}."

    def get_reward(self) -> float | None:
        """The server's verdict on the calls made so far; None if it could not judge."""
        verdict = self._session.verify()
        self.metrics = dict(verdict.metrics)
        return verdict.reward

    def _leave(self) -> None:
        if self._session:
            self._session.leave()

    __del__ = _leave


class _Session:
    """A session on the server, and all that was called in it.

    The server frees it on a verdict and may let it expire: what was called is then called again in a new one.
    """

    def __init__(self, remote: RemoteEnv, body: dict):
        self.remote, self.body = remote, body
        self.items: list[dict] = []
        self.cookies: dict[str, str] = {}
        with suppress(IndexError):
            self.cookies = remote._cookies.pop()
        self.verdict: Verdict | None = None
        self._seed()

    def __call__(self, tool: str, arguments: dict) -> str:
        """Call a tool.

        Returns:
            What it put out, as text.

        Raises:
            ValueError: it refused.
        """
        call = {"type": "function_call", "call_id": f"call_{len(self.items)}", "name": tool}
        call["arguments"] = json.dumps(arguments)
        if self.verdict:
            self._again()
        reply = self._post(f"/{tool}", arguments)
        if reply.status == 400:
            self._again()
            reply = self._post(f"/{tool}", arguments)
        text, refused = _output(tool, reply)
        self.items += [call, {"type": "function_call_output", "call_id": call["call_id"], "output": text}]
        if refused:
            raise ValueError(text)
        return text

    def repeat(self, call: dict) -> None:
        """Make the call in a `function_call` item; what is wrong with it is for the verifier to say."""
        with suppress(ValueError, RecursionError):
            arguments = json.loads(call["arguments"])
            if call["name"] in self.remote._tools and isinstance(arguments, dict):
                self(call["name"], arguments)

    def verify(self, items: list[dict] | None = None) -> Verdict:
        """The server's verdict, on what was called here or on a whole response."""
        if self.verdict is None:
            made = self.items if items is None else items
            response = {"id": "resp", "created_at": 0, "model": "policy", "object": "response", "output": made}
            response |= {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
            asked = {"responses_create_params": {"input": []}, **self.body}
            self.verdict = _verdict(self._post("/verify", {**asked, "response": response}), asked)
        return self.verdict

    def leave(self) -> None:
        """Leave the session to the next episode: servers that free none then hold no more than run at once."""
        if self.cookies:
            self.remote._cookies.append(self.cookies)
            self.cookies = {}

    def _again(self) -> None:
        self._seed()
        self.verdict = None
        for call in self.items[::2]:
            self._post(f"/{call['name']}", json.loads(call["arguments"]))

    def _seed(self) -> None:
        reply = self._post("/seed_session", self.body)
        if reply.status != 200:
            raise ValueError(f"the server does not begin this row ({reply.status}): {reply.text:.500}")

    def _post(self, path: str, body: dict) -> "_Reply":
        reply = self.remote._client.ask("POST", path, body, self.cookies)
        self.cookies |= reply.cookies
        return reply


def _output(tool: str, reply: "_Reply") -> tuple[str, bool]:
    """The text of a tool's reply, and whether it is a refusal."""
    value = reply.json
    if reply.status >= 400:
        detail = value.get("detail", value) if isinstance(value, dict) else reply.text
        return (detail if isinstance(detail, str) else json.dumps(detail)), True
    if isinstance(value, dict) and set(value) == {"output"}:
        value = value["output"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    start = f"Error executing tool {tool!r}: "
    return text.removeprefix(start), text.startswith(start)


def _verdict(reply: "_Reply", asked: dict) -> Verdict:
    said = reply.json
    if reply.status != 200 or not isinstance(said, dict):
        return Verdict(None, f"unjudged: the server answered {reply.status}: {reply.text:.300}", {})
    reward = said.get("reward")
    if said.get("_ng_failure_class") or not _is_number(reward):
        reward = None
    told = {name: value for name, value in said.items() if name not in asked and not name.startswith("_")}
    metrics = {name: float(value) for name, value in told.items() if name != "reward" and _is_number(value)}
    why = said.get("reason") or ("" if reward is not None else f"unjudged: {said.get('_ng_failure_class')}")
    return Verdict(None if reward is None else float(reward), str(why), metrics)


def _is_number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


# --- rows and tools --------------------------------------------------------------------------------------


def _theirs(row: dict) -> dict | None:
    """The NeMo Gym row in a row's task, as `rows_from_gym` or `from_nemo_gym` put it there; None if it is our own."""
    fields = json.loads(row["task"])
    if isinstance(fields, dict) and "responses_create_params" in fields:
        return fields
    if isinstance(fields, dict) and (kept := fields.get("nemo_gym")):
        return {**kept["fields"], "responses_create_params": {**kept["params"], "input": row.get("prompt") or []}}
    return None


def _body(row: dict) -> dict:
    """What to send for a row: the NeMo Gym row in its task, else the row itself in that shape."""
    columns = {name: row[name] for name in ("environment", "task_id", "task") if row.get(name)}
    return _theirs(row) or {"responses_create_params": {"input": row.get("prompt") or []}, **columns}


def _offered(row: dict) -> list[dict]:
    """The schemas of the tools that a row offers."""
    tools = _body(row)["responses_create_params"].get("tools")
    return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


def _split(task: str) -> str:
    at = sha256(task.encode()).digest()[0] % 10
    return {8: "validation", 9: "test"}.get(at, "train")


def _is_tool(tool: dict) -> bool:
    name = tool.get("name")
    good = (
        isinstance(name, str) and re.fullmatch(r"[A-Za-z]\w*", name, re.A) and isinstance(tool.get("parameters"), dict)
    )
    return bool(good) and name not in (*_ENDPOINTS, "reset", "get_reward", "metrics")


def _tools_in(document: dict) -> list[dict]:
    """The tools that an OpenAPI document lists: what can be posted, but for the endpoints that every server has."""
    found = []
    for path, methods in (document.get("paths") or {}).items():
        post = methods.get("post") if isinstance(methods, dict) else None
        if not isinstance(post, dict) or (path[1:] in _NO_TOOLS and "tools" not in (post.get("tags") or ())):
            continue
        content = (post.get("requestBody") or {}).get("content") or {}
        schema = (content.get("application/json") or {}).get("schema") or {}
        if isinstance(schema.get("$ref"), str):
            schema = _at(document, schema["$ref"])
        told = post.get("description") or post.get("summary") or path[1:]
        found.append({"name": path[1:], "description": told, "parameters": schema})
    return found


def _at(document: dict, reference: str) -> dict:
    for name in reference.removeprefix("#/").split("/"):
        document = document.get(name) or {}
    return document


def _method(tool: dict) -> Callable:
    """A method of `ENV` that calls a tool. Trainers turn its signature, type hints and docstring into a schema."""
    shape = tool["parameters"]
    required, hints, lines, parameters = set(shape.get("required") or ()), {}, [], []
    for name, kind in (shape.get("properties") or {}).items():
        if not name.isidentifier() or iskeyword(name) or name == "self" or not isinstance(kind, dict):
            continue  # Python has no such argument
        hints[name] = _hint(kind)
        default = inspect.Parameter.empty if name in required else None
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])
        )
        lines.append(f"    {name}: {_line(kind.get('description') or kind.get('title') or name)}")
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([me, *parameters], return_annotation=str)

    def call(self, **given) -> str:
        for name in required & given.keys():
            if given[name] is None:  # which would be left out below
                raise ValueError(f"{name} must be given")
        return self._session(tool["name"], {name: value for name, value in given.items() if value is not None})

    call.__name__ = tool["name"]
    call.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect, unknown to type checkers
    call.__annotations__ = {**hints, "return": str}
    arguments = "Args:\n" + "\n".join(lines) + "\n\n" if lines else ""
    call.__doc__ = (
        f"{_line(tool.get('description') or tool['name'])}\n\n{arguments}Returns:\n    What the tool puts out."
    )
    return call


def _hint(kind: dict):
    """The Python type of a JSON schema, None only where it admits null; `object` where it is not a plain one."""
    kinds = kind["anyOf"] if isinstance(kind.get("anyOf"), list) else [kind]
    named = [one.get("type") for one in kinds if isinstance(one, dict)]
    types = [one for one in named if one != "null"]
    hint = _TYPES.get(types[0], object) if len(types) == 1 and isinstance(types[0], str) else object
    return hint | None if "null" in named or hint is object else hint


def _line(text) -> str:
    return " ".join(str(text).split())


# --- HTTP ------------------------------------------------------------------------------------------------


class _Reply(NamedTuple):
    status: int
    text: str
    cookies: dict[str, str]

    @property
    def json(self):
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return self.text


class _Client:
    """Requests over connections that stay open; any number of threads may ask at once."""

    def __init__(self, url: str, token: str | None, timeout: float):
        parts = urlsplit(url if isinstance(url, str) else "")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be like http://127.0.0.1:8000, got {url!r}")
        self.url, self.base, self.timeout = url, parts.path.rstrip("/"), timeout
        self.kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self.at = (parts.hostname, parts.port)
        self.headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self.idle: deque[HTTPConnection] = deque()

    def ask(self, method: str, path: str, body: dict | None = None, cookies: dict | None = None) -> _Reply:
        """Send a request; again a few times if nothing listens or the server is full.

        Raises:
            ConnectionError: no answer.
        """
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = self.headers
        if cookies:
            headers = headers | {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(0.1 * 4**attempt)
            try:
                reply = self._once(method, self.base + path, data, headers)
            except ConnectionRefusedError as error:
                fault = error
                continue
            except (OSError, HTTPException) as error:  # it may have been carried out: do not repeat
                raise ConnectionError(f"{self.url} did not answer {path}: {type(error).__name__}: {error}") from error
            if reply.status != 503 or attempt == _ATTEMPTS - 1:
                return reply
        raise ConnectionError(f"nothing listens at {self.url}; is the server running?") from fault

    def _once(self, method: str, path: str, data: bytes | None, headers: dict) -> _Reply:
        while True:
            kept = bool(self.idle)
            try:
                connection = self.idle.pop()
            except IndexError:
                connection, kept = self.kind(*self.at, timeout=self.timeout), False
            try:
                connection.request(method, path, data, headers)
                response = connection.getresponse()
                break
            except (RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                connection.close()
                if not kept:  # one that was open may have been closed by the server meanwhile
                    raise
            except BaseException:
                connection.close()
                raise
        text = response.read(_LONGEST + 1)
        if len(text) > _LONGEST or response.will_close:
            connection.close()
        else:
            self.idle.append(connection)
        if len(text) > _LONGEST:
            raise HTTPException(f"the reply is over {_LONGEST} bytes")
        return _Reply(response.status, text.decode("utf-8", "replace"), _cookies(response.headers))


def _cookies(headers) -> dict[str, str]:
    found = {}
    for line in headers.get_all("set-cookie") or ():
        try:
            found |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        except CookieError:
            continue
    return found
