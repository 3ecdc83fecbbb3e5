"""An environment behind HTTP as a client sees it: the same as one that is here."""

import inspect
import json
import threading
import time
import typing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from serving import SMALL, TOKEN, ask, calling, launch, value_of

from envs import NAMES, load
from helpers.episodes.nemo_gym import gym_rows, rows_from_gym
from helpers.measure import contract
from helpers.measure.contract_episode_checks import check_bad_arguments, check_parse
from helpers.measure.contract_subject import Subject, public_names
from helpers.rollout.policies import OraclePolicy
from helpers.rollout.rollouts import Sampling, rollout
from helpers.serve.remote import RemoteEnv


def remote_module(name: str, url: str, **knobs) -> tuple[SimpleNamespace, RemoteEnv]:
    """An environment whose episodes and verdicts come from a server, rows and gold answers from here."""
    local, remote = load(name), RemoteEnv(url)
    module = SimpleNamespace(
        __name__=f"remote {name}", ENV=remote.ENV, score=remote.score, reward=remote.reward, answer=local.answer,
        parse=local.parse, make_rows=local.make_rows, tools_for=remote.tools_for, DIFFICULTIES=local.DIFFICULTIES,
    )  # fmt: skip
    setattr(module, remote.ENV.__name__, remote.ENV)
    return module, remote


@pytest.mark.parametrize("name, knobs", [("sudoku", {}), ("sudoku", {"interactive": True}), ("math", {})])
def test_a_remote_environment_keeps_the_contract(servers, name, knobs):
    module, _ = remote_module(name, servers(name))
    assert len(contract.check_env(module, n=2, **knobs)) == len(contract.CHECKS)


def test_a_remote_workplace_keeps_the_contract(office):
    module, _ = remote_module("workplace", office)
    subject = Subject(module, 3, {})
    skipped = (check_bad_arguments, check_parse)  # 27 tools times a dozen values: too many requests
    for check in contract.CHECKS:
        if check not in skipped:
            assert check(subject)


@pytest.mark.parametrize("name", NAMES)
def test_trainers_read_the_same_tools_from_a_remote_environment(name, servers):
    utils = pytest.importorskip("transformers.utils")
    local, remote = load(name).ENV(), RemoteEnv(servers(name)).ENV()
    assert public_names(type(local)) == public_names(type(remote))
    for tool in set(public_names(type(remote))) - {"reset", "get_reward"}:
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
