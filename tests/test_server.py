"""The HTTP server and its client: real processes, real requests, hostile input."""

import asyncio
import http.client
import inspect
import json
import os
import subprocess
import sys
import threading
import time
import typing
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import psutil
import pytest
from fastapi import HTTPException

from envs import NAMES, load
from helpers.episodes.environment import responses_schema
from helpers.episodes.nemo_gym import aggregate, from_nemo_gym, gym_rows, rows_from_gym, to_nemo_gym
from helpers.episodes.responses import to_items, to_messages
from helpers.measure import contract
from helpers.rollout.policies import OraclePolicy
from helpers.rollout.rollouts import Sampling, rollout
from helpers.serve import background
from helpers.serve.remote import RemoteEnv
from helpers.serve.server import _Session, _Sessions, create_app

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not there")


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


@pytest.fixture(scope="module")
def servers():
    started = Servers()
    yield started
    for _, process in started.running.values():
        process.terminate()
    for _, process in started.running.values():
        assert process.wait(10) in (0, -15)
        process.stdout.close()


@pytest.fixture(scope="module")
def office(servers) -> str:
    return servers("workplace")


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


@pytest.fixture(scope="module")
def small(servers) -> str:
    return servers("small", "-c", SMALL, "100", "3600")


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


# --- sessions --------------------------------------------------------------------------------------------


def test_an_episode(office):
    status, reply, cookie = ask(office, "/seed_session", {})
    assert (status, reply) == (200, {}) and cookie.startswith("WorkplaceEnv___workplace=")
    status, reply, again = ask(office, "/company_directory_find_email_address", {"name": "ada"}, cookie=cookie)
    assert (status, reply) == (200, {"output": ["ada.lindqvist@larkfield.example"]})
    assert again == cookie  # an agent keeps the cookies of the last reply only


def test_the_cookie_comes_with_every_reply_of_a_session(office):
    cookie = ask(office, "/seed_session", {})[2]
    for path, body in (("/no_such_tool", {}), ("/email_send_email", [1]), ("/verify", {}), ("/", None)):
        assert ask(office, path, body, cookie=cookie)[2] == cookie, path
    assert ask(office, "/verify", {})[2] == ""


def test_cookies_are_out_of_reach_of_scripts_and_cannot_be_guessed(office):
    connection = http.client.HTTPConnection(urlsplit(office).netloc)
    seen = set()
    for _ in range(5):
        connection.request("POST", "/seed_session", b"{}", {"Content-Type": "application/json"})
        reply = connection.getresponse()
        reply.read()
        cookie = reply.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite" in cookie and "Path=/" in cookie
        seen.add(cookie.split(";")[0].partition("=")[2])
    connection.close()
    assert len(seen) == 5 and min(map(len, seen)) >= 32


def test_sessions_do_not_see_each_other(office):
    one, two = (ask(office, "/seed_session", {})[2] for _ in range(2))
    found = ask(office, "/email_search_emails", {"query": "the", "page_size": 1}, cookie=one)[1]["output"]
    key = {"email_id": found["emails"][0]["email_id"]}
    assert "deleted" in ask(office, "/email_delete_email", key, cookie=one)[1]["output"]
    assert "Error" in ask(office, "/email_delete_email", key, cookie=one)[1]["output"]
    assert "deleted" in ask(office, "/email_delete_email", key, cookie=two)[1]["output"]


@pytest.mark.parametrize("cookie", ["", "a", "x" * 5000, "WorkplaceEnv___workplace=made-up", "=", ";;=;", "\u00ff=1"])
def test_without_a_session_a_call_is_refused(office, cookie):
    status, reply, back = ask(office, "/email_search_emails", {}, cookie=cookie)
    assert status == 400 and "seed_session" in reply["detail"] and back == ""


def test_an_id_that_a_client_made_up_is_not_taken(office):
    cookie = ask(office, "/seed_session", {}, cookie="WorkplaceEnv___workplace=chosen")[2]
    assert cookie and "chosen" not in cookie


def test_seeding_again_starts_the_session_again(office):
    cookie = ask(office, "/seed_session", {})[2]
    key = {"email_id": "00000001"}
    first = [ask(office, "/email_delete_email", key, cookie=cookie)[1] for _ in range(2)]
    assert ask(office, "/seed_session", {}, cookie=cookie)[2] == cookie
    assert [ask(office, "/email_delete_email", key, cookie=cookie)[1] for _ in range(2)] == first


def test_freed_after_verify(office):
    module = load("workplace")
    row = module.make_rows(1)[0]
    cookie = ask(office, "/seed_session", gym_rows(module, [row])[0])[2]
    name = module.tools_for(row)[0]
    assert ask(office, f"/{name}", {}, cookie=cookie)[0] == 200
    assert ask(office, "/verify", {"task": row["task"]}, cookie=cookie)[0] == 422  # nothing judged, nothing freed
    assert ask(office, f"/{name}", {}, cookie=cookie)[0] == 200
    assert ask(office, "/verify", posted(module, row, ""), cookie=cookie)[0] == 200
    assert ask(office, f"/{name}", {}, cookie=cookie)[0] == 400


def test_sessions_are_bounded_in_number(servers):
    url = servers("three", "-c", SMALL, "3", "3600")
    held = [asked(url, "/seed_session", {"task": "x"}) for _ in range(3)]
    assert [status for status, _, _ in held] == [200] * 3
    status, reply, cookie = asked(url, "/seed_session", {"task": "x"})
    assert status == 503 and "3 sessions" in reply["detail"] and cookie == ""
    assert asked(url, "/seed_session", {}, cookie=held[0][2])[0] == 200  # in its own place
    body = {"task": "x", "responses_create_params": {}, "response": response("hi")}
    assert asked(url, "/verify", body, cookie=held[0][2])[0] == 200
    assert asked(url, "/seed_session", {})[0] == 200  # the place of the verified one


def test_sessions_expire(servers):
    url = servers("short", "-c", SMALL, "3", "1")
    held = [asked(url, "/seed_session", {})[2] for _ in range(3)]
    time.sleep(1.2)
    assert [asked(url, "/say", {"text": "a"}, cookie=cookie)[0] for cookie in held] == [400] * 3
    text = asked(url, "/metrics")[1]
    assert [value_of(f"env_sessions_{what}", text) for what in ("expired", "open", "bytes")] == [3, 0, 0]


def test_a_session_in_use_does_not_expire(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("helpers.serve.server.time.monotonic", lambda: now[0])
    sessions = _Sessions(limit=2, seconds=10, max_calls=100)
    used, left = (sessions.add(_Session(None, frozenset(), 50), "") for _ in range(2))
    for now[0] in (4, 8, 12, 16, 20):
        assert sessions.get(used) and len(sessions) == (2 if now[0] <= 10 else 1)
    assert sessions.get(left) is None and (sessions.size, sessions.expired) == (50, 1)
    sessions.grow(sessions.get(used), 100)
    with pytest.raises(HTTPException):
        sessions.grow(sessions.get(used), 1)
    now[0] = 31
    assert len(sessions) == 0 and (sessions.size, sessions.expired) == (0, 2)


def test_sessions_are_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr("helpers.serve.server.MAX_MEMORY", 100)
    sessions = _Sessions(limit=10, seconds=10, max_calls=100)
    key = sessions.add(_Session(None, frozenset(), 60), "")
    with pytest.raises(HTTPException) as refused:
        sessions.add(_Session(None, frozenset(), 60), "")
    assert refused.value.status_code == 503
    with pytest.raises(HTTPException):
        sessions.grow(sessions.get(key), 50)
    sessions.add(_Session(None, frozenset(), 80), key)
    assert sessions.size == 80


def test_calls_of_one_session_come_one_after_another(small):
    cookie = asked(small, "/seed_session", {})[2]
    with ThreadPoolExecutor(8) as pool:
        outputs = [*pool.map(lambda i: asked(small, "/say", {"text": str(i)}, cookie=cookie)[1]["output"], range(24))]
    longest = max(outputs, key=len).split("|")
    assert sorted(map(int, longest)) == list(range(24))
    assert all(longest[: len(output.split("|"))] == output.split("|") for output in outputs)


# --- who may ask, and how much ---------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "se cret\u00e9", "Basic se cret\u00e9", TOKEN + "x",
                                    TOKEN[:-1], "Bearer " + "x" * 5000])  # fmt: skip
def test_without_the_token_nothing_is_answered(small, header):
    given = {"Authorization": header} if header else {}
    for path, body in (("/seed_session", {}), ("/verify", {}), ("/say", {}), ("/metrics", None), ("/docs", None)):
        status, reply, cookie = ask(small, path, body, **given)
        assert (status, cookie) == (401, "") and reply == {"detail": "a bearer token is needed"}
    assert ask(small, "/health")[:2] == ask(small, "/")[:2] == (200, {"status": "ok"})


def test_with_the_token_it_is(small):
    assert asked(small, "/seed_session", {})[0] == 200
    assert ask(small, "/seed_session", {}, Authorization=TOKEN.replace("Bearer", "bearer"))[0] == 200


def test_requests_over_the_limit_are_refused_before_they_are_read(small):
    big = json.dumps({"text": "x" * 30_000}).encode()
    status, reply, _ = asked(small, "/seed_session", raw=big)
    assert status == 413 and "20000 bytes" in reply["detail"]
    connection = http.client.HTTPConnection(urlsplit(small).netloc, timeout=10)
    connection.putrequest("POST", "/seed_session")
    for name, value in (("Content-Length", str(10**12)), ("Authorization", TOKEN.encode())):
        connection.putheader(name, value)
    connection.endheaders()  # and nothing more: the answer must not wait for it
    assert connection.getresponse().status == 413
    connection.close()


def test_the_limit_holds_without_a_stated_length(small):
    connection = http.client.HTTPConnection(urlsplit(small).netloc, timeout=10)
    headers = {"Authorization": TOKEN.encode(), "Content-Type": "application/json"}
    connection.request("POST", "/seed_session", iter([b"[" * 8000] * 3), headers, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()
    assert ask(small, "/health")[0] == 200


def test_the_calls_of_a_session_are_limited_together(small):
    cookie = asked(small, "/seed_session", {})[2]
    replies = [asked(small, "/say", {"text": "x" * 6000}, cookie=cookie)[0] for _ in range(4)]
    assert replies == [200, 200, 200, 413]


def test_it_listens_on_loopback_unless_told_otherwise(servers, office):
    assert urlsplit(office).hostname == "127.0.0.1"
    url, process = launch("-m", "helpers.serve.server", "sudoku", "--port", "0", "--host", "0.0.0.0", SERVER_TOKEN="s3")
    try:
        port = urlsplit(url).port
        assert ask(f"http://127.0.0.1:{port}", "/seed_session", {})[0] == 401
        assert ask(f"http://127.0.0.1:{port}", "/seed_session", {}, Authorization="Bearer s3")[0] == 200
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def test_a_port_in_use_is_said(office):
    port = str(urlsplit(office).port)
    done = subprocess.run([sys.executable, "-m", "helpers.serve.server", "workplace", "--port", port], cwd=ROOT,
                          capture_output=True, text=True, timeout=30)  # fmt: skip
    assert done.returncode == 1 and f"can't listen on 127.0.0.1:{port}" in done.stderr


# --- tools -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["no_such_tool", "reset", "get_reward", "_begin", "__init__", "__class__", "metrics",
                                  "x" * 3000, "%2e%2e", "%00", "%ed%a0%80", "a%2Fb"])  # fmt: skip
def test_an_unknown_tool_is_told_the_model(office, tool):
    cookie = ask(office, "/seed_session", {})[2]
    status, reply, _ = ask(office, f"/{tool}", {}, cookie=cookie)
    if status != 404:  # a path with a slash in it
        assert status == 200 and reply["output"].startswith("Error executing tool '")
        assert "there is no tool" in reply["output"] and len(reply["output"]) < 3000


@pytest.mark.parametrize("arguments", [{"email_id": 1}, {"email_id": []}, {}, {"email_id": "1", "extra": 1},
                                       {"email_id": "99999999"}, {"email_id": {"a": [None]}}, {"self": 1}])  # fmt: skip
def test_a_bad_call_is_told_the_model_and_changes_nothing(office, arguments):
    cookie = ask(office, "/seed_session", {})[2]
    status, reply, _ = ask(office, "/email_delete_email", arguments, cookie=cookie)
    assert status == 200 and reply["output"].startswith("Error executing tool 'email_delete_email': ")
    assert ask(office, "/email_delete_email", {"email_id": "00000001"}, cookie=cookie)[1]["output"].startswith("Email")


def test_a_bug_in_a_tool_is_told_the_model(small):
    cookie = asked(small, "/seed_session", {})[2]
    status, reply, _ = asked(small, "/say", {"text": "crash"}, cookie=cookie)
    assert status == 200 and reply["output"] == "Error executing tool 'say': 'a bug'"


def test_a_row_that_restricts_its_tools_is_offered_no_others(office):
    module = load("workplace")
    row = next(row for row in module.make_rows(20) if "email_delete_email" not in module.tools_for(row))
    cookie = ask(office, "/seed_session", gym_rows(module, [row])[0])[2]
    reply = ask(office, "/email_delete_email", {"email_id": "00000001"}, cookie=cookie)[1]
    assert "there is no tool 'email_delete_email'" in reply["output"]


def test_null_arguments_are_left_out_in_calls_and_in_verdicts(office):
    module = load("workplace")
    cookie = ask(office, "/seed_session", {})[2]
    given = {"query": "budget", "date_min": None, "page": None}
    plain = ask(office, "/email_search_emails", {"query": "budget"}, cookie=cookie)[1]
    assert ask(office, "/email_search_emails", given, cookie=cookie)[1] == plain and "emails" in plain["output"]
    truth = [{"name": SEND[0], "arguments": json.dumps(SEND[1])}]
    row = {"task": json.dumps({"ground_truth": truth}), "prompt": [], "environment": "workplace", "task_id": "1"}
    made = calling((SEND[0], {**SEND[1], "cc": None}))
    assert module.score(made, row).reward == 0.0
    assert ask(office, "/verify", posted(module, row, made))[1]["reward"] == 1.0


def test_lists_and_objects_come_unescaped_and_other_text_as_it_is(small):
    cookie = asked(small, "/seed_session", {})[2]
    for i, text in enumerate(('{"a":[1,"é"]}', "[]", '{"a": 1}', "[1.0e2]", "[NaN]", "[" * 9000, "7", "")):
        asked(small, "/seed_session", {}, cookie=cookie)
        output = asked(small, "/say", {"text": text}, cookie=cookie)[1]["output"]
        assert output == (json.loads(text) if i < 2 else text)


# --- hostile bodies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/seed_session", "/verify", "/email_send_email", "/aggregate_metrics"])
@pytest.mark.parametrize("raw", [b"{", b"[1]", b"null", b'"x"', b"\xff\xfe\xff", b"{" * 100_000, b"[" * 100_000,
                                 b'{"a":' * 50_000, b'{"page": NaN}', b'{"a": -Infinity}', b"1" * 5000])  # fmt: skip
def test_a_body_that_is_no_object_is_refused(office, path, raw):
    cookie = ask(office, "/seed_session", {})[2]
    status, reply, _ = ask(office, path, raw=raw, cookie=cookie)
    assert status == 422 and reply["detail"] and len(str(reply)) < 1000


def verifiable(**changes) -> dict:
    module = load("workplace")
    body = posted(module, module.make_rows(1)[0], "")
    return {name: value for name, value in {**body, **changes}.items() if value != "left out"}


@pytest.mark.parametrize("field, loc", [("response", ["response"]), ("task", ["task"]),
                                        ("responses_create_params", ["responses_create_params"])])  # fmt: skip
@pytest.mark.parametrize("value", ["left out", None, 7, []])
def test_a_missing_field_is_named(office, field, loc, value):
    status, reply, _ = ask(office, "/verify", verifiable(**{field: value}))
    assert status == 422 and reply["detail"][0]["loc"] == ["body", *loc]


@pytest.mark.parametrize("output", [None, "text", 7, {}, [1], ["text"], [[]], [None]])
def test_a_response_without_items_is_refused(office, output):
    assert ask(office, "/verify", verifiable(response={"output": output}))[0] == 422


@pytest.mark.parametrize("item", [
    {}, {"type": 7}, {"type": "message"}, {"type": "message", "role": "assistant", "content": 7},
    {"type": "message", "role": [], "content": [7, None]}, {"type": "function_call"},
    {"type": "function_call", "name": 7, "arguments": {"a": None}, "call_id": []},
    {"type": "function_call", "name": "email_send_email", "arguments": "[" * 9000},
    {"type": "function_call_output", "call_id": {}}, {"type": "reasoning", "summary": 7},
    {"type": "message", "role": "assistant", "chat": {"role": "assistant", "content": [[]]}},
    {"type": "message", "role": "user", "content": "x", "chat": 7}, {"type": "\ud800"},
], ids=str)  # fmt: skip
def test_broken_items_earn_nothing_and_break_nothing(office, item):
    status, reply, _ = ask(office, "/verify", verifiable(response={"output": [item]}))
    assert status == 422 or (status == 200 and reply["reward"] in (0.0, None) and reply["reason"])


def test_half_a_character_and_numbers_out_of_range_break_nothing(office):
    cookie = ask(office, "/seed_session", {})[2]
    status, reply, _ = ask(office, "/email_search_emails", {"query": "\ud800"}, cookie=cookie)
    assert status == 200 and "half a character" in reply["output"]
    assert "1e999" not in ask(office, "/email_search_emails", raw=b'{"page": 1e999}', cookie=cookie)[1]["output"]
    status, reply, _ = ask(office, "/verify", verifiable(note="\ud800"))
    assert status == 200 and reply["note"] == "\ud800"
    raw = json.dumps(verifiable(note="@")).replace('"@"', "1e999").encode()
    assert ask(office, "/verify", raw=raw)[0] == 422


@pytest.mark.parametrize("task", ["", "{", "[]", "7", '{"ground_truth": 7}', '{"ground_truth": [{"name": "x"}]}'])
@pytest.mark.parametrize("name", NAMES)
def test_a_broken_task_does_not_begin_and_is_not_judged(servers, name, task):
    url = servers(name)
    status, reply, cookie = ask(url, "/seed_session", {"task": task})
    assert (status, cookie) == (422, "") or task == "" or name == "math"  # math takes a task without an answer
    status, reply, _ = ask(url, "/verify", verifiable(task=task or "{"))
    assert status == 200 and reply["reward"] is None and reply["reason"], reply


def test_a_row_without_a_task_does_not_begin(office):
    assert ask(office, "/seed_session", {"question": "?"})[0] == 422


# --- verdicts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_rewards_are_those_of_score(servers, name):
    module, url = load(name), servers(name)
    rows = module.make_rows(6, seed=3)
    if name == "sudoku":
        rows += module.make_rows(4, seed=3, interactive=True)
    compared = set()
    for i, row in enumerate(rows):
        gold, other = module.answer(row), module.answer(rows[i - 1])
        for completion in (gold, other, "", "no idea", gold[:-1], "<think>" + str(gold)):
            body = posted(module, row, completion)
            status, reply, _ = ask(url, "/verify", body)
            messages = to_messages(body["response"]["output"])
            verdict = module.score(messages, row)
            assert status == 200 and (reply["reward"], reply["reason"]) == (verdict.reward, verdict.reason)
            assert all(reply[key] == value for key, value in verdict.metrics.items())
            assert reply["response"] == body["response"] and reply["task"] == row["task"]
            compared.add(verdict.reward)
    assert compared == {0.0, 1.0}


@pytest.mark.parametrize("name", NAMES)
def test_exported_rows_are_served_and_come_back(servers, name):
    module, url = load(name), servers(name)
    rows = module.make_rows(3, seed=4)
    exported = [to_nemo_gym(row) for row in rows]
    remote = RemoteEnv(url, exported)
    for row, theirs, whole in zip(rows, exported, remote.rows):
        gold = module.answer(row)
        assert ask(url, "/seed_session", theirs)[0] == 200
        assert ask(url, "/verify", {**theirs, "response": response(gold)})[1]["reward"] == 1.0
        assert (
            ask(url, "/verify", {**theirs, "response": response("no")})[1]["reward"] == module.score("no", row).reward
        )
        for one in (row, whole, from_nemo_gym(theirs)):
            assert remote.score(gold, one).reward == 1.0


def test_many_verdicts_at_once_are_those_of_one_after_another(servers):
    module, url = load("math"), servers("math")
    rows = module.make_rows(30, seed=5)
    answers = [module.answer(rows[i if i % 2 else i - 1]) for i in range(30)]
    alone = [module.score(answer, row).reward for answer, row in zip(answers, rows)]
    with ThreadPoolExecutor(8) as pool:
        replies = pool.map(lambda pair: ask(url, "/verify", posted(module, *pair))[1]["reward"], zip(rows, answers))
        assert [*replies] == alone


@pytest.mark.parametrize("task", ["slow", "busy"])
def test_a_long_verdict_does_not_keep_others_waiting(small, task):
    body = {"task": task, "responses_create_params": {}, "response": response("hi")}
    replies = []
    threads = [threading.Thread(target=lambda: replies.append(asked(small, "/verify", body))) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    answered = 0
    while not replies:
        assert ask(small, "/health")[0] == 200
        answered += 1
    for thread in threads:
        thread.join()
    assert answered >= 3 and [reply[1]["reward"] for reply in replies] == [0.5, 0.5]


@pytest.mark.parametrize("task, why", [("unjudged", "because"), ("crash", "unjudged: KeyError: 'a bug'")])
def test_what_could_not_be_judged_is_null_and_marked(small, task, why):
    body = {"task": task, "responses_create_params": {}, "response": response("hi")}
    reply = asked(small, "/verify", body)[1]
    assert (reply["reward"], reply["_ng_failure_class"], reply["reason"]) == (None, "unjudged", why)
    # NeMo Gym's own agents, whose rows name the agent, refuse null; they put marked rollouts aside.
    reply = asked(small, "/verify", {**body, "agent_ref": {"name": "simple_agent"}})[1]
    assert (reply["reward"], reply["_ng_failure_class"]) == (0.0, "unjudged")


def test_a_verdict_that_the_request_brings_along_counts_for_nothing(small):
    body = {"task": "x", "responses_create_params": {}, "response": response("hi"), "reward": 1.0, "reason": "good"}
    reply = asked(small, "/verify", body)[1]
    assert (reply["reward"], reply["reason"], reply["calls"]) == (0.5, "because", 3.0)


# --- statistics, documents, metrics ----------------------------------------------------------------------


def test_aggregate_metrics(office):
    verdicts = [{"_ng_task_index": task, "_ng_rollout_index": i, "reward": reward, "calls": i, "category": "x",
                 "response": {"usage": {"output_tokens": 10 * (i + 1)}}}
                for task, rewards in ((0, (1.0, 0.0, 0.0, 1.0)), (3, (0.0, 0.0, 0.0, 1.0)))
                for i, reward in enumerate(rewards)]  # fmt: skip
    verdicts.append({"_ng_task_index": 3, "reward": 0.0, "_ng_failure_class": "unjudged", "calls": 99})
    status, reply, _ = ask(office, "/aggregate_metrics", {"verify_responses": verdicts})
    assert status == 200 and set(reply) == {"group_level_metrics", "agent_metrics", "key_metrics"}
    first, second = reply["group_level_metrics"]
    assert (first["_ng_task_index"], first["mean/reward"], first["num_rollouts"]) == (0, 0.5, 4)
    assert (second["_ng_task_index"], second["mean/reward"], second["max/calls"]) == (3, 0.25, 3)
    assert first["std/reward"] == pytest.approx((1 / 3) ** 0.5) and first["median/output_tokens"] == 25
    overall = reply["agent_metrics"]
    assert overall["mean/reward"] == 0.375 and overall["pass@1/accuracy"] == pytest.approx(37.5)
    assert overall["pass@2/accuracy"] == pytest.approx(100 * (5 / 6 + 1 / 2) / 2)
    assert overall["pass@4/accuracy"] == 100 and "pass@5/accuracy" not in overall
    assert set(reply["key_metrics"]) == {name for name in overall if name.startswith(("mean/", "pass@"))}


@pytest.mark.parametrize("verdicts", [[], [{}], [{"reward": None}], [{"_ng_task_index": [], "reward": 10**400}],
                                      [{"reward": "1"}, {"response": 7}], [{"a": 1e308}] * 3])  # fmt: skip
def test_odd_verdicts_are_left_out(verdicts):
    assert json.dumps(aggregate(verdicts), allow_nan=False)


@pytest.mark.parametrize("verdicts", [None, 7, {}, [7], [None]])
def test_verdicts_that_are_none_are_refused(office, verdicts):
    assert ask(office, "/aggregate_metrics", {"verify_responses": verdicts})[0] == 422


def test_the_openapi_document_shows_the_tools(office):
    status, document, _ = ask(office, "/openapi.json")
    module = load("workplace")
    assert status == 200 and document["openapi"].startswith("3.")
    assert {"/seed_session", "/verify", "/aggregate_metrics", "/health", "/metrics"} <= set(document["paths"])
    for name in contract._public(module.ENV):
        if name not in ("reset", "get_reward"):
            post = document["paths"][f"/{name}"]["post"]
            schema = module.schema(getattr(module.ENV, name))
            assert post["description"] == schema["description"]
            assert post["requestBody"]["content"]["application/json"]["schema"] == schema["parameters"]
    assert "swagger" in ask(office, "/docs")[1].lower()


def test_tool_schemas():
    module = load("workplace")
    tools = [getattr(module.ENV, name) for name in contract._public(module.ENV)[2:] if name != "reset"]
    assert [responses_schema(tool) for tool in tools] == [module.schema(tool) for tool in tools]

    def odd(a: str | None, b: list[int], c: dict[str, int], d: bool, e: typing.Literal["x", "y"] = "x",
            f: int | str = 1, g: float = 0.5, *, h: typing.Any = None) -> str:  # fmt: skip
        """Do it
        all.

        More.

        Args:
            a: First
                and on.
            b (list): Second: with a colon.
            c: Third.

        Returns:
            a: no argument.
        """

    made = responses_schema(odd)
    kinds = {
        name: {key: value for key, value in one.items() if key != "description"}
        for name, one in made["parameters"]["properties"].items()
    }
    assert kinds == {
        "a": {"type": "string", "nullable": True}, "b": {"type": "array", "items": {"type": "integer"}},
        "c": {"type": "object", "additionalProperties": {"type": "integer"}},
        "d": {"type": "boolean"}, "e": {"type": "string", "enum": ["x", "y"]},
        "f": {"type": ["integer", "string"]}, "g": {"type": "number"}, "h": {},
    }  # fmt: skip
    told = made["parameters"]["properties"]
    assert (made["description"], told["a"]["description"]) == ("Do it\nall.\n\nMore.", "First and on.")
    assert told["b"]["description"] == "Second: with a colon."
    assert made["parameters"]["required"] == ["a", "b", "c", "d"]


def test_metrics(servers):
    url, module = servers("sudoku"), load("sudoku")
    before = ask(url, "/metrics")[1]
    row = module.make_rows(1, seed=9)[0]
    cookie = ask(url, "/seed_session", gym_rows(module, [row])[0])[2]
    others = value_of("env_sessions_open", before)
    assert value_of("env_sessions_open", ask(url, "/metrics")[1]) == others + 1
    ask(url, "/submit", {"grid": module.answer(row)}, cookie=cookie)
    for junk in ("/junk", "/" + "j" * 500, "/junk/more"):
        ask(url, junk, {}, cookie=cookie)
        ask(url, junk)
    ask(url, "/verify", posted(module, row, module.answer(row)), cookie=cookie)
    after = ask(url, "/metrics")[1]
    assert value_of("env_sessions_open", after) == others and "junk" not in after and "jjj" not in after
    for line in ('env_tool_calls_total{outcome="done",tool="submit"}', 'env_rewards_total{reward="1"}',
                 'env_requests_total{endpoint="verify",status="200"}',
                 'env_tool_calls_total{outcome="refused",tool="unknown"}',
                 'env_request_seconds_count{endpoint="seed_session"}'):  # fmt: skip
        assert value_of(line, after) > value_of(line, before), line


def value_of(name: str, text: str) -> float:
    return next((float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + " ")), 0.0)


def test_a_head_server_as_others_ask_it(office):
    yaml = pytest.importorskip("yaml")
    omegaconf = pytest.importorskip("omegaconf")
    text = json.dumps(ask(office, "/global_config_dict_yaml")[1])
    for read in (yaml.safe_load, json.loads):
        entry = omegaconf.OmegaConf.create(read(text))["workplace"].resources_servers["workplace"]
        assert f"http://{entry.host}:{entry.port}" == office and entry.domain


def test_a_traced_path_is_the_same_endpoint(office):
    cookie = ask(office, "/ng-rollout/3-0/seed_session", {})[2]
    assert ask(office, "/ng-rollout/3-0/email_search_emails", {"query": "a"}, cookie=cookie)[0] == 200
    assert ask(office, "/ng-rollout/3-0", {}, cookie=cookie)[0] in (200, 404)


def test_a_tool_called_as_an_endpoint_is_refused():
    class VerifyEnv:
        def reset(self):
            pass

        def get_reward(self):
            pass

        def verify(self) -> str:
            """No."""

    with pytest.raises(ValueError, match="'verify'"):
        create_app(SimpleNamespace(__name__="x_env", ENV=VerifyEnv))


def test_the_usual_agent_can_use_it(office):
    """As NeMo Gym's simple agent does it: an aiohttp client without a jar that passes on the cookies of each reply."""
    aiohttp = pytest.importorskip("aiohttp")
    module = load("workplace")
    row = module.make_rows(1, seed=2)[0]
    body = {**gym_rows(module, [row])[0], "agent_ref": {"name": "simple_agent"}, "_ng_task_index": 0}
    gold = module.answer(row)

    async def run():
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client:
            reply = await client.post(f"{office}/seed_session", json=body)
            reply.raise_for_status()
            cookies = reply.cookies
            for message in gold:
                for call in message.get("tool_calls") or []:
                    arguments = call["function"]["arguments"]
                    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
                    reply = await client.post(f"{office}/{call['function']['name']}", json=arguments, cookies=cookies)
                    assert reply.status == 200 and "Error" not in await reply.text()
                    cookies = reply.cookies
            reply = await client.post(f"{office}/verify", json={**body, "response": response(gold)}, cookies=cookies)
            return await reply.json()

    verdict = asyncio.run(run())
    assert verdict["reward"] == 1.0 and verdict["_ng_task_index"] == 0


# --- rows of others --------------------------------------------------------------------------------------

PUBLIC = """
import functools, sys
from types import SimpleNamespace
from envs import workplace_env as w
from helpers.serve.server import create_app, serve
tables = w.load_tables(sys.argv[1])
module = SimpleNamespace(__name__="workplace_env", ENV=w.env_for(tables), tools_for=w.tools_for,
                         score=functools.partial(w.score, tables=tables), rows_from_nemo_gym=w.rows_from_nemo_gym)
serve(create_app(module), port=0)
"""


@needs_data
def test_public_workplace_rows_and_rollouts(servers):
    from test_workplace import TRUTHS

    url = servers("public", "-c", PUBLIC, str(DATA / "workbench" / "csv"))
    for row in lines("workplace_assistant_rows.jsonl"):
        assert ask(url, "/seed_session", row)[0] == 200
        calls = calling(*[(call["name"], call["arguments"]) for call in row["ground_truth"]])
        for made, reward in ((calls, 1.0), (calls[:-1], 0.0)):
            status, reply, _ = ask(url, "/verify", {**row, "response": response(made)})
            assert (status, reply["reward"]) == (200, reward) and reply["id"] == row["id"]
        assert ask(url, "/verify", {**row, "ground_truth": None, "response": response(calls)})[0] == 422
    for recorded in lines("workplace_assistant_rollouts.jsonl"):
        query = recorded["responses_create_params"]["input"][-1]["content"]
        truth = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in TRUTHS[query]]
        row = {**recorded, "ground_truth": truth, "id": 0, "category": "x", "environment_name": "workplace_assistant"}
        del row["reward"]
        cookie = ask(url, "/seed_session", row)[2]
        outputs = {}
        for item in recorded["response"]["output"]:
            if item["type"] == "function_call":
                connection = http.client.HTTPConnection(urlsplit(url).netloc)
                connection.request("POST", f"/{item['name']}", item["arguments"], {"Cookie": cookie})
                outputs[item["call_id"]] = connection.getresponse().read().decode()
                connection.close()
            elif item["type"] == "function_call_output":  # byte for byte what a model read there
                assert outputs[item["call_id"]] == item["output"].replace(" 23:59:00", "")
        assert ask(url, "/verify", row, cookie=cookie)[1]["reward"] == recorded["reward"]


@needs_data
def test_public_math_rows_and_rollouts(servers):
    url, module = servers("math"), load("math")
    for record in lines("math_with_judge_rows.jsonl"):
        gold = module.answer(module.read_rows([record])[0])
        for text, reward in ((gold, 1.0), ("\\boxed{-12345}", 0.0)):
            assert ask(url, "/verify", {**record, "response": response(text)})[1]["reward"] == reward
    for recorded in lines("math_with_judge_rollouts.jsonl"):
        body = {name: value for name, value in recorded.items() if name != "reward"} | {"question": "?"}
        assert ask(url, "/verify", body)[1]["reward"] == recorded["reward"]


def test_reasoning_gyms_sudoku_rows(servers):
    """As a notebook that trains on NeMo Gym's verdicts posts them: the head server names the address, no session."""
    url, module = servers("sudoku"), load("sudoku")
    entry = json.loads(ask(url, "/global_config_dict_yaml")[1])["sudoku"]["resources_servers"]["sudoku"]
    at = f"http://{entry['host']}:{entry['port']}"
    for row in module.make_rows(3):
        grid = [[int(value) if value != "_" else 0 for value in line.split()]
                for line in json.loads(row["task"])["puzzle"].split("\n")]  # fmt: skip
        record = {
            "responses_create_params": {"input": [{"role": "user", "content": "Solve.", "type": "message"}]},
            "question": "Solve.", "answer": module.answer(row),
            "metadata": {"source_dataset": "mini_sudoku", "source_index": 0, "puzzle": grid},
        }  # fmt: skip
        for text, reward in ((module.answer(row), 1.0), (json.loads(row["task"])["puzzle"], 0.0), ("no", 0.0)):
            assert ask(at, "/verify", {**record, "response": response(text)})[1]["reward"] == reward
        assert ask(at, "/seed_session", record)[0] == 200
        for bad in (None, [], [[1]], [[9] * 4] * 4, [["x"] * 4] * 4, [[{}] * 4] * 4, "1234", 7):
            broken = {**record, "metadata": {"puzzle": bad}}
            assert ask(at, "/verify", {**broken, "response": response("1")})[0] == 422


# --- the client ------------------------------------------------------------------------------------------


def remote_module(name: str, url: str, **knobs) -> tuple[SimpleNamespace, RemoteEnv]:
    """An environment whose episodes and verdicts come from a server, rows and gold answers from here."""
    local, remote = load(name), RemoteEnv(url)
    module = SimpleNamespace(
        __name__=f"remote {name}", ENV=remote.ENV, score=remote.score, reward=remote.reward, answer=local.answer,
        parse=local.parse, make_rows=local.make_rows, tools_for=remote.tools_for,
    )  # fmt: skip
    setattr(module, remote.ENV.__name__, remote.ENV)
    return module, remote


@pytest.mark.parametrize("name, knobs", [("sudoku", {}), ("sudoku", {"interactive": True}), ("math", {})])
def test_a_remote_environment_keeps_the_contract(servers, name, knobs):
    module, _ = remote_module(name, servers(name))
    assert len(contract.check_env(module, n=2, **knobs)) == len(contract.CHECKS)


def test_a_remote_workplace_keeps_the_contract(office):
    module, _ = remote_module("workplace", office)
    subject = contract._Subject(module, 3, {})
    skipped = (contract.check_bad_arguments, contract.check_parse)  # 27 tools times a dozen values: too many requests
    for check in contract.CHECKS:
        if check not in skipped:
            assert check(subject)


@pytest.mark.parametrize("name", NAMES)
def test_trainers_read_the_same_tools_from_a_remote_environment(name, servers):
    utils = pytest.importorskip("transformers.utils")
    local, remote = load(name).ENV(), RemoteEnv(servers(name)).ENV()
    assert contract._public(type(local)) == contract._public(type(remote))
    for tool in set(contract._public(type(remote))) - {"reset", "get_reward"}:
        one, two = (utils.get_json_schema(getattr(env, tool))["function"] for env in (local, remote))
        assert one | {"return": None} == two | {"return": None}


def test_remote_rewards_are_local_rewards_in_rollouts(office):
    local = load("workplace")
    rows = local.make_rows(8, seed=6)
    remote = RemoteEnv(office, gym_rows(local, rows))
    assert [row["prompt"] for row in remote.rows] == [row["prompt"] for row in rows]
    assert [remote.tools_for(row) for row in remote.rows] == [sorted(local.tools_for(row)) for row in rows]
    here = rollout(local, rows, OraclePolicy(local, rows), Sampling(tools=True), name="oracle", quiet=True)
    there = rollout(remote, remote.rows, OraclePolicy(local, rows), Sampling(tools=True), name="oracle", quiet=True)
    for one, two in zip(here, there):
        assert (two["reward"], two["metrics"], two["reason"]) == (one["reward"], one["metrics"], one["reason"])
        assert [m["content"] for m in two["messages"]] == [m["content"] for m in one["messages"]]
    assert {episode["reward"] for episode in there} == {1.0}


class Clumsy:
    """Calls the tools of its rows with wrong arguments, then says that it is done."""

    def generate(self, conversations, tools=None, **_):
        wrong = ({}, {"no_such": "1"}, {"email_id": "x", "event_id": "x", "q": 1}, {"email_id": "x"}, {"name": 3})
        calls = [{"type": "function", "function": {"name": tool.__name__, "arguments": arguments}}
                 for tool in tools for arguments in wrong]  # fmt: skip
        return [{"role": "assistant", "content": "Done.", "finish_reason": "stop"}
                | ({} if c[-1]["role"] == "tool" else {"tool_calls": calls}) for c in conversations]  # fmt: skip


def test_a_refused_call_reads_the_same_from_a_remote_environment(office):
    local = load("workplace")
    rows = local.make_rows(6, seed=1)
    remote = RemoteEnv(office, gym_rows(local, rows))
    here, there = (
        rollout(env, made, Clumsy(), Sampling(tools=True), name="clumsy", quiet=True)
        for env, made in ((local, rows), (remote, remote.rows))
    )
    for one, two in zip(here, there):
        assert [m["content"] for m in one["messages"]] == [m["content"] for m in two["messages"]]
        assert (one["reward"], one["reason"]) == (two["reward"], two["reason"])


def test_verdicts_of_a_server_do_not_wait_for_each_other(servers):
    local = load("sudoku")
    rows, remote, both = local.make_rows(2), RemoteEnv(servers("sudoku")), threading.Barrier(2)
    graded = remote.score
    remote.score = lambda *given: (both.wait(30), graded(*given))[1]  # alone, it would fail and so be unjudged
    episodes = rollout(remote, rows, OraclePolicy(local, rows), name="oracle", quiet=True)
    assert [episode["reward"] for episode in episodes] == [1.0, 1.0]


def test_rollouts_leave_no_sessions_behind(servers):
    url, local = servers("sudoku"), load("sudoku")
    remote = RemoteEnv(url)
    rows = local.make_rows(5, interactive=True)
    open_before = value_of("env_sessions_open", ask(url, "/metrics")[1])
    for _ in range(4):
        rollout(remote, rows, OraclePolicy(local, rows), Sampling(tools=True), name="oracle", quiet=True)
    assert value_of("env_sessions_open", ask(url, "/metrics")[1]) - open_before <= 5


def test_an_episode_goes_on_after_its_verdict_and_after_its_session_expired(servers):
    url = servers("short", "-c", SMALL, "3", "1")
    remote = RemoteEnv(url, token=TOKEN.removeprefix("Bearer ").encode().decode("latin-1"))
    env = remote.ENV()
    env.reset(task="{}")
    assert env.say(text="a") == "a" and env.say(text="b", times=2) == "a|b|b"
    assert env.get_reward() == env.get_reward() == 0.5 and env.metrics == {"calls": 3.0}
    assert env.say(text="c") == "a|b|b|c"
    time.sleep(1.2)
    assert env.say(text="d") == "a|b|b|c|d"
    with pytest.raises(ValueError, match="'a bug'"):
        env.say(text="crash")
    with pytest.raises(ValueError, match="must be given"):
        env.say(text=None)
    with pytest.raises(TypeError):
        env.say("e", 1, 2, 3)
    with pytest.raises(ValueError, match="unexpected keyword argument 'extra'"):
        env.say(text="e", extra=1)
    env.reset(task="{}")
    assert env.say(text="new") == "new"


def test_what_the_server_cannot_judge_is_none(small):
    remote = RemoteEnv(small, token=TOKEN.removeprefix("Bearer ").encode().decode("latin-1"))
    task = json.dumps({"responses_create_params": {"input": "hi"}, "task": "unjudged"})
    verdict = remote.score("x", {"task": task})
    assert verdict.reward is None and verdict.reason == "because"
    assert remote.reward(["x", "y"], task=[task, task]) == [None, None]


def test_a_server_that_closes_idle_connections_is_asked_again(servers):
    url, process = launch("-m", "helpers.serve.server", "sudoku", "--port", "0")
    port = str(urlsplit(url).port)
    try:
        remote = RemoteEnv(url)
        env = remote.ENV()
        env.reset()
        process.terminate()
        process.wait(10)
        process.stdout.close()
        _, process = launch("-m", "helpers.serve.server", "sudoku", "--port", port)
        assert env.place(row=1, column=2, value=2)  # on a new connection, in a new session
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def test_where_nothing_listens_is_said(monkeypatch):
    waits = []
    monkeypatch.setattr("helpers.serve.remote.time.sleep", waits.append)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as gone:
        port = gone.server_address[1]
    with pytest.raises(ConnectionError, match="is the server running"):
        RemoteEnv(f"http://127.0.0.1:{port}")
    assert len(waits) == 3 and waits == sorted(waits) and sum(waits) < 10
    for url in ("127.0.0.1:8000", "ftp://x", "", None, "http://"):
        with pytest.raises(ValueError, match="url must be like"):
            RemoteEnv(url)


def test_rows_are_drawn_by_seed_and_split(servers):
    local = load("sudoku")
    theirs = gym_rows(local, local.make_rows(120))
    remote = RemoteEnv(servers("sudoku"), theirs)
    splits = [{row["task_id"] for row in remote.make_rows(n, split=split)}
              for split, n in (("train", 30), ("validation", 1), ("test", 1))]  # fmt: skip
    assert not splits[0] & splits[1] and not splits[0] & splits[2] and not splits[1] & splits[2]
    assert remote.make_rows(5, seed=1) == remote.make_rows(5, seed=1) != remote.make_rows(5, seed=2)
    with pytest.raises(ValueError, match="give more rows"):
        remote.make_rows(121)


def test_rows_that_are_none_of_nemo_gyms_are_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"responses_create_params": {"input": "hi"}}\n\n', encoding="utf-8")
    (row,) = rows_from_gym(path, "x")
    assert row["prompt"] == [{"role": "user", "content": "hi"}] and row["environment"] == "x" and row["task_id"]
    for bad in ([{"question": "?"}], [7], [{"responses_create_params": "x"}]):
        with pytest.raises(ValueError, match="row 0 is no NeMo Gym row"):
            rows_from_gym(bad)


class Counter(BaseHTTPRequestHandler):
    """A server of somebody else: typed tools, two cookies, a verdict that hangs on the session, none ever freed."""

    protocol_version, wbufsize = "HTTP/1.1", -1
    counts: typing.ClassVar[dict[str, int]] = {}

    def log_message(self, *_):
        pass

    def do_GET(self):
        note = {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "Why."}
        properties = {
            "by": {"type": "integer", "title": "By"},
            "note": note,
            "odd-name": {},
            "class": {},
            "self": {},
            "any": {},
        }
        body = {"type": "object", "properties": properties, "required": ["by"]}
        document = {"info": {"title": "FastAPI"}, "components": {"schemas": {"Add": body}}, "paths": {
            "/seed_session": {"post": {}}, "/verify": {"post": {}}, "/{path}": {"post": {}}, "/": {"get": {}},
            "/add": {"post": {"summary": "Add", "requestBody": {"content": {"application/json": {
                "schema": {"$ref": "#/components/schemas/Add"}}}}}}}}  # fmt: skip
        self.answer(200, document)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        cookies = dict(part.split("=") for part in (self.headers["Cookie"] or "").split("; ") if part)
        key = cookies.get("Session") or f"s{len(self.counts)}"
        if self.path == "/seed_session":
            self.counts[key] = body.get("start", 0)
            return self.answer(200, {}, key)
        if key not in self.counts:
            return self.answer(400, {"detail": "no session"})
        if self.path == "/add":
            if not isinstance(body.get("by"), int):
                return self.answer(422, {"detail": [{"loc": ["body", "by"], "msg": "not an integer"}]}, key)
            self.counts[key] += body["by"]
            return self.answer(200, {"count": self.counts[key]}, key)
        if self.path == "/look":
            return self.answer(200, {"output": f"Error executing tool 'look': at {self.counts[key]}"}, key)
        good = float(self.counts[key] == body["goal"])
        return self.answer(200, {"responses_create_params": body["responses_create_params"], "reward": good,
                                 "response": body["response"], "count": self.counts[key]}, key)  # fmt: skip

    def answer(self, status, content, key=""):
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if key:
            self.send_header("Set-Cookie", f"Session={key}; path=/; Max-Age=1209600; httponly; samesite=lax")
            self.send_header("Set-Cookie", "other=1; path=/")
        self.end_headers()
        self.wfile.write(data)


def test_a_server_of_somebody_else():
    look = {"type": "function", "name": "look", "description": "Look.", "parameters": {"type": "object"}}
    asked_for = {"input": [{"role": "user", "content": "Count."}], "tools": [look, {"name": "add"}]}
    rows = [{"responses_create_params": asked_for, "start": i, "goal": i + 5, "id": i} for i in range(3)]
    with ThreadingHTTPServer(("127.0.0.1", 0), Counter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        remote = RemoteEnv("http://{}:{}/".format(*server.server_address), rows)
        assert remote.tools_for(remote.rows[0]) == ["look", "add"]
        assert (
            str(inspect.signature(remote.ENV().add))
            == "(*, by: int, note: str | None = None, any: object | None = None) -> str"
        )
        for row in remote.rows:
            env = remote.ENV()
            assert env.reset(task=row["task"]) == "Count." and env.reset(**row) is None
            assert json.loads(env.add(by=2))["count"] == json.loads(row["task"])["start"] + 2
            with pytest.raises(ValueError, match="not an integer"):
                env.add(by="x")
            with pytest.raises(ValueError, match=r"^at "):
                env.look()
            assert env.get_reward() == 0.0
            env.add(by=3)
            assert env.get_reward() == 1.0 and env.metrics["count"] == json.loads(row["task"])["goal"]
            assert remote.score(calling(("add", {"by": 5}), ("add", {"by": "x"})), row).reward == 1.0
            assert remote.score(calling(("add", {"by": 4}), ("no_tool", "{")), row).reward == 0.0
            assert remote.score("five", row) == (0.0, "", {"count": json.loads(row["task"])["start"]})
        del env
        assert len(Counter.counts) <= 4  # sessions are used again
        server.shutdown()


# --- beside a notebook -----------------------------------------------------------------------------------


def gone(pid: int, seconds: float = 15) -> bool:
    """Whether a process ends within the time."""
    end = time.monotonic() + seconds
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_servers_beside_notebooks_have_ports_of_their_own_and_stop(tmp_path, monkeypatch):
    monkeypatch.setenv("SERVER_TOKEN", "of somebody else")
    one, two = (background.start("sudoku", tmp_path / "deep" / f"{n}.log") for n in (1, 2))
    assert one.url != two.url and RemoteEnv(one.url).ENV().reset() and RemoteEnv(two.url).ENV().reset()
    assert one.url in (tmp_path / "deep" / "1.log").read_text() and "running" in repr(one)
    before, after = one.usage(), one.usage()
    assert before["requests"] >= 3 and after["requests"] == before["requests"] + 1  # each looks at /metrics
    assert 10 < after["memory_mb"] < 1000 and 0 < before["cpu_s"] <= after["cpu_s"]
    one.stop()
    one.stop()
    assert gone(one.pid, 0) and "stopped" in repr(one)
    with pytest.raises(ConnectionError):
        RemoteEnv(one.url)
    assert RemoteEnv(two.url)
    pid = two.pid
    del two  # a cell that starts another in its place
    assert gone(pid, 0)


def test_a_server_ends_with_the_process_that_started_it_even_if_that_is_killed(tmp_path):
    code = (
        "import os, signal, sys; from helpers.serve.background import start\n"
        "server = start('sudoku', sys.argv[1]); print(server.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL) if sys.argv[2] == 'killed' else 1 / 0"
    )
    for how in ("killed", "failed"):
        command = [sys.executable, "-c", code, str(tmp_path / "server.log"), how]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert done.returncode == (-9 if how == "killed" else 1)
        assert gone(int(done.stdout))


def test_a_server_that_is_not_ready_says_why_and_is_not_left_over(tmp_path):
    with pytest.raises(RuntimeError, match=r"ended with 2 [\s\S]*invalid choice: 'chess'"):
        background.start("chess", tmp_path / "server.log")
    before = {child.pid for child in psutil.Process().children()}
    with pytest.raises(TimeoutError, match=r"not ready after 0.01 s; it said: nothing"):
        background.start("sudoku", tmp_path / "server.log", timeout_s=0.01)
    assert {child.pid for child in psutil.Process().children()} == before


def test_importing_is_cheap_and_starts_nothing():
    code = (
        "import sys, helpers.serve.server, helpers.serve.background\n"
        "print(sorted({'torch', 'transformers', 'uvicorn', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
