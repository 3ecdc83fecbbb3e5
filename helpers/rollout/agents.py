# SPDX-License-Identifier: Apache-2.0
"""Agents: who plays an episode. Anything with `run(row, session, model) -> list[message]`.

`row` is the task, `session` its environment with the tools on offer, `model` the policy as one episode sees it; what
comes back is what followed the prompt. An agent that raises fails its episode and no other.
"""

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from helpers.episodes.environment import wire_schema

TOOL_TEXT_LIMIT = 4000  # characters of a tool result that the policy gets to read


class Loop:
    """The usual agent: ask the model, run the tools it calls, show it the results, until it answers in plain text.

    Args:
        max_steps: Most replies; without tools there is one.
    """

    def __init__(self, max_steps: int = 6):
        self.max_steps = max_steps

    def run(self, row: dict, session: "Session", model: "Model") -> list[dict]:
        """Play one episode."""
        said: list[dict] = []
        for _ in range(self.max_steps if session.tools else 1):
            reply = model.reply(row["prompt"] + said, session.tools)
            said.append(reply)
            said += [session.call(call) for call in reply.get("tool_calls") or []]
            if said[-1]["role"] != "tool":
                break
        return said


class Command:
    """An external harness, run as a subprocess for each episode.

    It reads one JSON object a line on its standard input and writes one a line on its standard output:

        <- {"prompt": [messages], "tools": [schemas]}           the task, first of all
        -> {"generate": [messages]}         <- {"message": {...}}     ask the model, tools offered
        -> {"call": {"name": ..., "arguments": {...}}}  <- {"result": text}   call a tool
        -> {"answer": text}  or  {"messages": [...]}            done

    So the harness needs no key, its tokens are counted, and its tools are the environment's.

    Args:
        command: Program and arguments.
        timeout_s: Seconds that an episode may take in all.
        env: Variables for it beside PATH, HOME and LANG; it gets no others.
    """

    def __init__(self, command: list[str], timeout_s: float = 300.0, env: dict[str, str] | None = None):
        self.command, self.timeout_s, self.env = command, timeout_s, dict(env or {})

    def run(self, row: dict, session: "Session", model: "Model") -> list[dict]:
        """Play one episode.

        Raises:
            HarnessError: it ended without an answer, wrote what is no such line, or took too long.
        """
        shared = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=shared | self.env, start_new_session=True, text=True, encoding="utf-8", errors="replace",
        )  # fmt: skip
        tail: list[str] = []
        drain = threading.Thread(target=_drain, args=(process.stderr, tail), daemon=True)
        drain.start()
        late = threading.Timer(self.timeout_s, _end, [process])
        late.start()
        began = time.monotonic()
        try:
            return self._talk(process, row, session, model)
        except (OSError, ValueError, KeyError, TypeError) as error:
            _end(process)
            drain.join(2)
            if time.monotonic() - began >= self.timeout_s:
                raise HarnessError(f"no answer within {self.timeout_s:g} s") from None
            said = "".join(tail)[-500:].strip()
            code = f" (exit code {process.returncode})" if process.returncode != -signal.SIGKILL else ""  # that was us
            raise HarnessError(f"{error}{code}" + (f"; it said: {said}" if said else "")) from None
        finally:
            late.cancel()
            _end(process)

    def _talk(self, process, row: dict, session: "Session", model: "Model") -> list[dict]:
        said: list[dict] = []
        _send(process, {"prompt": row["prompt"], "tools": [wire_schema(tool) for tool in session.tools]})
        for line in process.stdout:
            asked = json.loads(line)
            if "generate" in asked:
                _send(process, {"message": model.reply(asked["generate"], session.tools)})
            elif "call" in asked:
                call = {"type": "function", "id": f"call_{len(said)}", "function": dict(asked["call"])}
                said.append({"role": "assistant", "content": "", "tool_calls": [call], "finish_reason": "stop"})
                said.append(session.call(call))
                _send(process, {"result": said[-1]["content"]})
            elif "messages" in asked:
                return asked["messages"]
            elif "answer" in asked:
                return [*said, {"role": "assistant", "content": str(asked["answer"]), "finish_reason": "stop"}]
            else:
                raise ValueError(f"it wrote {line[:100]!r}, which has no generate, call, answer or messages")
        raise ValueError("it ended without an answer")


class HarnessError(RuntimeError):
    """An external harness that gave no answer."""


def _send(process, thing: dict) -> None:
    process.stdin.write(json.dumps(thing, ensure_ascii=False) + "\n")
    process.stdin.flush()


def _drain(stream, tail: list[str]) -> None:
    for line in stream:  # read to the end, so that the harness never blocks on it
        tail.append(line[:1000])
        del tail[:-20]


def _end(process) -> None:
    """End a process with all that it started. Once waited for, its number may be another's."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# --- what an agent gets ----------------------------------------------------------------------------------


class Session:
    """The environment of one episode.

    Args:
        env: An instance of its own, reset.
        names: The tools that its row offers; none when answers are read as text.
        timeout_s: Seconds that one tool call may take.
    """

    def __init__(self, env, names: tuple[str, ...], timeout_s: float = 20.0):
        self.env, self.names, self.timeout_s = env, names, timeout_s
        self.calls = self.failed = self.invalid = 0  # invalid: not JSON, no such tool
        self.hung = False  # a call was given up
        self._hands: _Hands | None = None

    @property
    def tools(self) -> list[Callable]:
        """The tools on offer, for `model.reply`."""
        return [getattr(self.env, name) for name in self.names]

    def call(self, call: dict) -> dict:
        """Run one of the model's calls; whatever goes wrong becomes text that the model can read.

        Args:
            call: {"id", "function": {"name", "arguments"}}, arguments as an object or its JSON text.

        Returns:
            The tool message.
        """
        self.calls += 1
        function = call.get("function") or {}
        name, arguments = function.get("name"), function.get("arguments")
        try:
            try:
                if name not in self.names:
                    raise ValueError(f"there is no tool {name!r}; the tools are {', '.join(self.names)}")
                if isinstance(arguments, str):
                    arguments = json.loads(arguments)
                if not isinstance(arguments, dict):
                    raise ValueError(f"arguments must be a JSON object, got {arguments!r:.100}")
            except Exception:
                self.invalid += 1
                raise
            text = str(self._within(getattr(self.env, name), arguments))
        except Exception as error:  # the model's fault or a tool's: an episode never ends by it
            self.failed += 1
            text = f"Error: {error}"
        return {"role": "tool", "name": name, "tool_call_id": call.get("id", ""), "content": text[:TOOL_TEXT_LIMIT]}

    def close(self) -> None:
        """Let go of the thread that runs the tools, and of the environment where it has something to close."""
        if self._hands is not None:
            self._hands.jobs.put(None)
        if callable(close := getattr(self.env, "_close", None)):
            close()

    def _within(self, tool: Callable, arguments: dict):
        if self._hands is None:
            self._hands = _Hands()
        try:
            return self._hands.run(self.timeout_s, lambda: tool(**arguments))
        except TimeoutError:
            self.hung = True
            raise


class _Hands:
    """One thread that runs one call after another, so that two never meet in one environment, even when the first
    has been given up."""

    def __init__(self):
        self.jobs: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            work, answer = job
            try:
                answer.put((work(), None))
            except BaseException as error:  # also SystemExit: it must not end this thread
                answer.put((None, error))

    def run(self, seconds: float, work: Callable):
        """What `work` returns or raises; TimeoutError when it takes longer."""
        answer: queue.SimpleQueue = queue.SimpleQueue()
        self.jobs.put((work, answer))
        try:
            value, error = answer.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"no result within {seconds:g} s; the call was given up") from None
        if error is not None:
            raise error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")
        return value


def within(seconds: float, work: Callable):
    """What `work()` returns or raises; TimeoutError when it takes longer. Its thread cannot be stopped, only left."""
    hands = _Hands()
    try:
        return hands.run(seconds, work)
    finally:
        hands.jobs.put(None)


class Model:
    """The policy as one episode sees it. It counts tokens and seconds.

    Args:
        ask: (conversation, tools, step) -> assistant message.
    """

    def __init__(self, ask: Callable):
        self._ask = ask
        self.seconds: list[float] = []
        self.usage: dict[str, float] = {}

    def reply(self, conversation: list[dict], tools: list | None = None) -> dict:
        """The policy's next message."""
        began = time.perf_counter()
        reply = dict(self._ask(conversation, tools or None, len(self.seconds)))
        used = reply.pop("usage", None) or {}
        self.seconds.append(round(used.pop("seconds", time.perf_counter() - began), 4))
        for name, count in used.items():
            self.usage[name] = self.usage.get(name, 0) + count
        for i, call in enumerate(reply.get("tool_calls") or []):
            if not call.get("id"):
                call["id"] = f"call_{len(self.seconds) - 1}_{i}"  # so that results find their calls
        return reply
