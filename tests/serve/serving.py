"""Servers in processes of their own, and requests to them."""

import http.client
import json
import os
import subprocess
import sys
from urllib.parse import urlsplit

from helpers.episodes.nemo_gym import gym_rows
from helpers.episodes.responses import to_items
from helpers.here import ROOT

DATA = ROOT / "tests" / "data"


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / "nemo_gym" / name).read_text(encoding="utf-8").splitlines()]


def launch(*command: str, **environment: str) -> tuple[str, subprocess.Popen]:
    """Start a server; its address as it prints it, and its process."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    said = process.stdout.readline()
    assert "http://" in said, said
    return said.split(": ", 1)[1].split(",")[0], process


class Servers:
    """The servers of this file, each started when it is first asked for."""

    def __init__(self):
        self.running = {}

    def __call__(self, name: str, *command: str, **environment: str) -> str:
        if name not in self.running:
            command = command or ("-m", "helpers.serve.server", name, "--port", "0")
            self.running[name] = launch(*command, **environment)
        return self.running[name][0]

    def process(self, name: str) -> subprocess.Popen:
        return self.running[name][1]


SMALL = """
import sys, time
from types import SimpleNamespace
from envs.sudoku_env import Verdict
from helpers.serve.server import create_app, serve

class OddEnv:
    "An odd environment."
    def reset(self, *, prompt=None, task=None, **_):
        self.said = []
    def say(self, text: str, times: int = 1) -> str:
        '''Say something.

        Args:
            text: What to say.
            times: How often.
        '''
        if text == "crash":
            raise KeyError("a bug")
        self.said += [text] * times
        return "|".join(self.said)
    def get_reward(self):
        return 1.0

def score(messages, row):
    if row["task"] == "slow":
        time.sleep(2)
    if row["task"] == "busy":
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            pass
    if row["task"] == "crash":
        raise KeyError("a bug")
    return Verdict(None if row["task"] == "unjudged" else 0.5, "because", {"calls": 3.0})

module = SimpleNamespace(__name__="odd_env", ENV=OddEnv, score=score)
limits = {"max_sessions": int(sys.argv[1]), "session_seconds": float(sys.argv[2]), "max_body": 20_000}
serve(create_app(module, token="se cret\\u00e9", **limits), port=0)
"""
TOKEN = "Bearer se cret\u00e9"


def ask(url: str, path: str, body=None, *, cookie: str = "", raw: bytes | None = None, method: str = "", **headers):
    """One request on a connection of its own: status, JSON or text of the reply, its cookie as it is sent back."""
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json"} | ({"Cookie": cookie} if cookie else {})
    sent |= {name.replace("_", "-"): value.encode() for name, value in headers.items()}
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    connection.request(method or ("GET" if data is None else "POST"), path, data, sent)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    back = (reply.headers.get("set-cookie") or "").split(";")[0]
    return reply.status, json.loads(text) if "json" in reply.headers.get("content-type", "") else text, back


def asked(url, *given, **more):
    """The same with the token of the small server."""
    return ask(url, *given, Authorization=TOKEN, **more)


def response(messages: list[dict] | str) -> dict:
    messages = [{"role": "assistant", "content": messages}] if isinstance(messages, str) else messages
    return {"id": "r", "created_at": 0, "model": "m", "object": "response", "output": to_items(messages)}


def posted(module, row: dict, completion) -> dict:
    """What an agent posts to /verify."""
    return {**gym_rows(module, [row])[0], "response": response(completion)}


def calling(*calls: tuple[str, object]) -> list[dict]:
    made = []
    for i, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}
        made.append({"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": f"c{i}",
                                                                         "function": function}]})  # fmt: skip
    return made


SEND = ("email_send_email", {"recipient": "ada.lindqvist@larkfield.example", "subject": "Hello", "body": "Hi"})


def value_of(name: str, text: str) -> float:
    return next((float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + " ")), 0.0)
