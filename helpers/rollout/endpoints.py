# SPDX-License-Identifier: Apache-2.0
"""Models behind OpenAI-compatible endpoints: OpenAI, Azure, vLLM, llama.cpp, `transformers serve`.

The Responses API is tried first, Chat Completions where the server has only that. Keys come from the environment;
they stand in no attribute that is printed, and are blanked out of every error and reply.
"""

import asyncio
import json
import logging
import os
import random
import re
import threading
import time
import urllib.parse
from concurrent.futures import CancelledError
from typing import Any

from helpers.episodes import responses
from helpers.episodes.environment import wire_schema

log = logging.getLogger(__name__)

OPTIONAL = ("temperature", "top_p", "seed")  # what a server may not know; then it is left out, with a warning
TRANSIENT = (408, 409, 429, 500, 502, 503, 504, 529)


class EndpointError(RuntimeError):
    """A call that failed for good. `kind` is its class: "timeout", "connection", "http 429", "malformed reply", ..."""

    def __init__(self, message: str, kind: str, transient: bool = False):
        super().__init__(message)
        self.kind, self.transient = kind, transient

    def __reduce__(self):
        return type(self), (self.args[0], self.kind, self.transient)


class EndpointPolicy:
    """A model behind an OpenAI-compatible endpoint.

    Args:
        model: Its name at the server.
        base_url: The server, such as "http://localhost:8000/v1"; None for OpenAI itself.
        api_key: The key; None for OPENAI_API_KEY with OpenAI itself and for none with other servers.
        api_version: Of an Azure resource; then `base_url` is the resource's address.
        api: "responses" or "chat" where it is known what the server has; None to find out.
        price: US dollars for a million tokens, {"input": 1.25, "output": 10.0}.
        sampling: Further fields of every request, such as {"top_p": 0.9, "reasoning": {"effort": "low"}}.
        timeout_s: Seconds that one attempt may take in all.
        retries: Further attempts after a transient fault.
        backoff_s: Seconds before the first further attempt, doubled each time, spread at random by half.
        at_once: Most calls under way at a time.
    """

    concurrent = True  # calls from several threads run side by side; no need to batch them

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        *,
        api_key: str | None = None,
        api_version: str | None = None,
        api: str | None = None,
        price: dict[str, float] | None = None,
        sampling: dict | None = None,
        timeout_s: float = 60.0,
        retries: int = 3,
        backoff_s: float = 1.0,
        at_once: int = 16,
    ):
        if api not in (None, "responses", "chat"):
            raise ValueError(f"api must be 'responses' or 'chat', or left out to find out; got {api!r}")
        if api_version and not base_url:
            raise ValueError(f"model {model!r}: api_version goes with the address of an Azure resource as base_url")
        if api_key is None and base_url is None:
            api_key = os.environ.get("OPENAI_API_KEY")
            if not api_key:
                raise ValueError(f"model {model!r} needs the environment variable OPENAI_API_KEY, or a base_url")
        address = urllib.parse.urlsplit(base_url or "https://api.openai.com/v1")
        if address.scheme not in ("http", "https") or "@" in address.netloc or address.query:
            raise ValueError(
                f"model {model!r}: base_url must be http(s)://host/path without user, password or query, which would "
                "show up in logs; give the key as api_key"
            )
        self.model, self.base_url, self.at_once = model, address.geturl(), at_once
        self.timeout_s, self.retries, self.backoff_s = timeout_s, retries, backoff_s
        self.price, self.sampling = dict(price or {}), dict(sampling or {})
        self.usage = {"calls": 0, "retries": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}
        self._api, self._api_version, self._left_out, self._lock = api, api_version, set(), threading.Lock()
        self._key = lambda: api_key  # a closure: no repr, no pickle and no debugger's table of attributes shows it
        self._client: Any = None
        self._slots: asyncio.Semaphore | None = None
        self._home: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"EndpointPolicy({self.model!r}, {self.base_url!r})"

    def generate(
        self,
        conversations: list[list[dict]],
        tools: list | None = None,
        *,
        temperature: float = 1.0,
        max_tokens: int = 128,
        seed: int = 0,
    ) -> list[dict]:
        """One reply to each conversation, asked for side by side.

        Args:
            conversations: Chat messages, one list for each reply wanted; repeat one to get several samples.
            tools: Functions or JSON schemas offered to the model.
            temperature: 0 for greedy decoding.
            max_tokens: Most new tokens in a reply.
            seed: Of the first conversation; each further one gets the next, so that repeated ones differ.

        Returns:
            Assistant messages with `usage`: {"input_tokens", "output_tokens", "cost_usd", "seconds"}.

        Raises:
            EndpointError: a call failed for good; what it says holds no key.
        """
        offered = [wire_schema(tool) for tool in tools or []]
        asked = [(c, seed + i) for i, c in enumerate(conversations)]

        async def all_of_them():
            calls = [asyncio.ensure_future(self._reply(c, offered, temperature, max_tokens, s)) for c, s in asked]
            try:
                return await asyncio.gather(*calls)
            finally:
                for call in calls:
                    call.cancel()

        running = asyncio.run_coroutine_threadsafe(all_of_them(), _loop())
        try:
            return running.result()
        except (KeyboardInterrupt, CancelledError):
            running.cancel()
            raise

    # --- one call ---

    async def _reply(self, conversation, tools, temperature: float, max_tokens: int, seed: int) -> dict:
        """One reply, retried on transient faults, by whichever API the server has."""
        if self._home is not asyncio.get_running_loop():  # made in the loop that uses it, anew in a forked child
            self._home = asyncio.get_running_loop()
            self._slots, self._client = asyncio.Semaphore(self.at_once), self._connect()
        options = {"temperature": temperature, "seed": seed, **self.sampling}
        async with self._slots:
            attempt, api = 0, self._api or "responses"
            while True:
                left_out, began = frozenset(self._left_out), time.perf_counter()
                try:
                    asking = self._ask(api, conversation, tools, options, max_tokens, left_out)
                    body = await asyncio.wait_for(asking, self.timeout_s)
                    reply, fault = self._read(api, body, max_tokens), None
                except Exception as error:
                    fault, status, wait = self._fault(error), getattr(error, "status_code", None), _retry_after(error)
                if fault is None:
                    self._api = api
                    return self._count(reply, body, time.perf_counter() - began)
                if api == "responses" and self._api != "responses" and status in (404, 405, 501):
                    api = "chat"  # a server without the Responses API, or without the model: this tells which
                elif status not in (400, 422) or not self._adapt(fault.args[0], left_out):
                    if not fault.transient or attempt >= self.retries:
                        raise fault  # outside the handler, so that the client's error and its request do not hang on it
                    attempt += 1
                    await self._pause(attempt, fault, wait)

    async def _pause(self, attempt: int, fault: EndpointError, wait: float | None) -> None:
        """Before a further attempt: as long as the server asks, else doubling, spread so that calls do not march in
        step."""
        seconds = self.backoff_s * 2 ** (attempt - 1) * random.uniform(0.5, 1.5) if wait is None else wait
        with self._lock:
            self.usage["retries"] += 1
        log.info("%s: %s; attempt %d of %d in %.1f s", self.model, fault.kind, attempt + 1, self.retries + 1, seconds)
        await asyncio.sleep(seconds)

    def _connect(self):
        """The official client, without retries of its own: time-out and faults are handled here, in one place."""
        import openai

        shared = {"api_key": self._key() or "none", "max_retries": 0, "timeout": self.timeout_s}
        if self._api_version:
            return openai.AsyncAzureOpenAI(azure_endpoint=self.base_url, api_version=self._api_version, **shared)
        return openai.AsyncOpenAI(base_url=self.base_url, **shared)

    async def _ask(self, api: str, conversation, tools, options: dict, max_tokens: int, left_out) -> dict:
        extra = {key: value for key, value in options.items() if key not in left_out}
        if api == "responses":
            offered = [{"type": "function", **tool["function"]} for tool in tools]
            raw = await self._client.responses.with_raw_response.create(
                model=self.model, input=responses.wire_items(conversation), max_output_tokens=max_tokens, stream=False,
                extra_body=extra | ({"tools": offered} if offered else {}),
            )  # fmt: skip
        else:
            limit = "max_completion_tokens" if "max_tokens" in left_out else "max_tokens"
            raw = await self._client.chat.completions.with_raw_response.create(
                model=self.model, messages=responses.wire_messages(conversation), stream=False,
                extra_body=extra | {limit: max_tokens} | ({"tools": tools} if tools else {}),
            )  # fmt: skip
        return json.loads(self._clean(raw.text))

    def _read(self, api: str, body: dict, max_tokens: int) -> dict:
        """The reply in a server's answer, as an assistant message."""
        if api == "responses":
            if body.get("error"):
                raise ValueError(f"the server reports {json.dumps(body['error'])[:300]}")
            group = [item for item in body["output"] if isinstance(item, dict)]
            message: dict = _one_turn(responses.to_messages(group))
            if all(item.get("type") in ("message", "function_call") for item in group):
                message.pop("items", None)  # ids that nobody needs again; reasoning goes back to its server as it came
            cut = body.get("status") == "incomplete"
        else:
            choice = body["choices"][0]
            said = choice["message"]
            message = {"role": "assistant", "content": responses.text_of(said.get("content"))}
            if thought := said.get("reasoning_content") or said.get("reasoning"):
                message["reasoning_content"] = responses.text_of(thought)
            if said.get("tool_calls"):
                message["tool_calls"] = [
                    {"type": "function", "id": call.get("id") or f"call_{i}", "function": dict(call["function"])}
                    for i, call in enumerate(said["tool_calls"])
                ]
            cut = choice.get("finish_reason") == "length"
        cut = cut or _tokens(body)[1] >= max_tokens  # some servers call a reply at the limit complete
        return message | {"finish_reason": "length" if cut else "stop"}

    def _count(self, reply: dict, body: dict, seconds: float) -> dict:
        into, out = _tokens(body)
        cost = (into * self.price.get("input", 0.0) + out * self.price.get("output", 0.0)) / 1e6
        with self._lock:
            self.usage["calls"] += 1
            self.usage["input_tokens"] += into
            self.usage["output_tokens"] += out
            self.usage["cost_usd"] += cost
        usage = {"input_tokens": into, "output_tokens": out, "cost_usd": cost, "seconds": round(seconds, 4)}
        return reply | {"usage": usage}

    # --- faults ---

    def _fault(self, error: Exception) -> EndpointError:
        """What went wrong, in words without a key, and whether trying again may help."""
        import openai

        where = f"model {self.model!r} at {self.base_url}"
        if isinstance(error, TimeoutError | openai.APITimeoutError):
            return EndpointError(f"{where}: no reply within {self.timeout_s:g} s", "timeout", True)
        if isinstance(error, openai.APIStatusError):
            status, said = error.status_code, self._clean(error.response.text)[:500]
            transient = status in TRANSIENT and "insufficient_quota" not in said
            return EndpointError(
                f"{where}: HTTP {status}: {said}{_ADVICE.get(status, '')}", f"http {status}", transient
            )
        if isinstance(error, openai.APIConnectionError):
            cause = self._clean(str(error.__cause__ or error))[:300]
            return EndpointError(f"{where}: no connection ({cause}); is the server up?", "connection", True)
        if isinstance(error, ValueError | KeyError | TypeError | IndexError | AttributeError | openai.APIError):
            said = self._clean(f"{type(error).__name__}: {error}")[:300]
            return EndpointError(f"{where}: not a reply of the OpenAI API ({said})", "malformed reply")
        return EndpointError(f"{where}: {self._clean(f'{type(error).__name__}: {error}')[:300]}", "client")

    def _adapt(self, complaint: str, left_out: frozenset) -> bool:
        """Leave out of further calls what the server says it does not take; False where it says no such thing."""
        if not re.search(r"(?i)un(supported|expected|known|recognized)|not (support|allow|permit)|extra", complaint):
            return False
        if "max_completion_tokens" in complaint and "max_tokens" not in left_out:
            self._left_out.add("max_tokens")
            return True
        named = [name for name in OPTIONAL if re.search(rf"\b{name}\b", complaint) and name not in left_out]
        for name in set(named) - self._left_out:
            log.warning("%s does not take %s: left out of all calls", self.model, name)
        self._left_out |= set(named)
        return bool(named)

    def _clean(self, text: str) -> str:
        """Text without the key, as it is or as JSON writes it."""
        key = self._key() or ""
        if len(key) < 6:  # "none" and "EMPTY" are no secrets
            return text
        return text.replace(key, "***").replace(json.dumps(key)[1:-1], "***")


_ADVICE = {
    401: "; check the key that its environment variable holds",
    403: "; the key does not open this model",
    404: "; check the model's name and the base_url (it usually ends in /v1)",
}


def _one_turn(messages: list[dict]) -> dict:
    """The messages of one reply as one: texts joined, calls together."""
    if len(messages) == 1:
        return messages[0]
    joined: dict = {"role": "assistant", "content": "\n".join(m["content"] for m in messages if m["content"])}
    if thoughts := [m["reasoning_content"] for m in messages if m.get("reasoning_content")]:
        joined["reasoning_content"] = "\n".join(thoughts)
    if calls := [call for m in messages for call in m.get("tool_calls") or []]:
        joined["tool_calls"] = calls
    return joined


def _retry_after(error: Exception) -> float | None:
    """Seconds that the server asks to wait, where it does and it is a minute at most."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    try:
        seconds = float(headers.get("retry-after"))
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds <= 60 else None


def _tokens(body: dict) -> tuple[int, int]:
    """Tokens read and written, by either API; 0 where the server does not count."""
    usage = body.get("usage") or {}
    into, out = usage.get("input_tokens", usage.get("prompt_tokens")), usage.get("output_tokens")
    out = usage.get("completion_tokens") if out is None else out
    return (into if isinstance(into, int) else 0), (out if isinstance(out, int) else 0)


# --- models named in a file ------------------------------------------------------------------------------


def models_in(path) -> dict[str, dict]:
    """The models that a YAML file names, keys and addresses from the environment not yet filled in.

    Args:
        path: A file such as

            models:
              served: {model: Qwen/Qwen2.5-1.5B-Instruct, base_url: "http://localhost:8000/v1"}
              gpt: {model: gpt-5-mini, api_key: "${oc.env:OPENAI_API_KEY}", price: {input: 0.25, output: 2.0}}
              tiny: {model: tiny, backend: unsloth}

    Returns:
        {name: its fields}.

    Raises:
        ValueError: the file is not of this shape, or a key is written out in it.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    try:
        read = OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    except (YAMLError, OmegaConfBaseException) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)  # the line's number, not what stands in it
        raise ValueError(f"{path} is not YAML{'' if line is None else f', see line {line + 1}'}") from None
    models = read.get("models") if isinstance(read, dict) else None
    if not isinstance(models, dict) or not all(isinstance(fields, dict) for fields in models.values()):
        raise ValueError(
            f"{path} must hold 'models:' with a name and its fields a line, such as 'tiny: {{model: tiny}}'"
        )
    for name, fields in models.items():
        if unknown := set(fields) - FIELDS:
            raise ValueError(
                f"{path}, model {name!r}: unknown {sorted(unknown)}; there are {', '.join(sorted(FIELDS))}"
            )
        if not fields.get("model"):
            raise ValueError(f"{path}, model {name!r}: 'model' is missing, the name that its server knows it by")
        if not str(fields.get("api_key") or "${oc.env:").startswith("${oc.env:"):
            raise ValueError(
                f"{path}, model {name!r}: a key is written out; take it out of the file, renew it, and name the "
                "environment variable that holds it: api_key: ${oc.env:KEY}"
            )
    return models


FIELDS = {"model", "backend", "base_url", "api_key", "api_version", "api", "price", "sampling", "timeout_s", "retries",
          "at_once"}  # fmt: skip


def fields_of(path, name: str) -> dict:
    """The fields of one model of a YAML file, filled in from the environment.

    Raises:
        ValueError: the file does not name it, or a variable is not set.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    models = models_in(path)
    if name not in models:
        raise ValueError(f"{path} names no model {name!r}; there are {', '.join(models)}")
    try:
        fields: Any = OmegaConf.to_container(OmegaConf.load(path).models[name], resolve=True)
        return fields
    except OmegaConfBaseException as error:
        found = re.search(r"variable '(\w+)' not found", str(error))
        missing = (
            f"the environment variable {found[1]}, which is not set" if found else "fields that cannot be filled in"
        )
        raise ValueError(f"{path}: model {name!r} needs {missing}") from None


# --- one event loop for all calls ------------------------------------------------------------------------


_running: dict[int, asyncio.AbstractEventLoop] = {}
_starting = threading.Lock()


def _loop() -> asyncio.AbstractEventLoop:
    """The loop that all calls run in, in a thread of its own: so they work from a script, a cell, `await` or a thread,
    whether or not the caller has a loop. One a process, since a forked child has no such thread."""
    with _starting:
        if os.getpid() not in _running:
            _running.clear()
            loop = _running[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="endpoints", daemon=True).start()
        return _running[os.getpid()]
