"""Sessions of a server: whose they are, how long and how many; who may ask, and how much."""

import http.client
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from fastapi import HTTPException
from serving import ROOT, SMALL, TOKEN, ask, asked, launch, posted, response, value_of

from envs import load
from helpers.episodes.nemo_gym import gym_rows
from helpers.serve.sessions import Session, Sessions

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
    monkeypatch.setattr("helpers.serve.sessions.time.monotonic", lambda: now[0])
    sessions = Sessions(limit=2, seconds=10, max_calls=100)
    used, left = (sessions.add(Session(None, frozenset(), 50), "") for _ in range(2))
    for now[0] in (4, 8, 12, 16, 20):
        assert sessions.get(used) and len(sessions) == (2 if now[0] <= 10 else 1)
    assert sessions.get(left) is None and (sessions.size, sessions.expired) == (50, 1)
    sessions.grow(sessions.get(used), 100)
    with pytest.raises(HTTPException):
        sessions.grow(sessions.get(used), 1)
    now[0] = 31
    assert len(sessions) == 0 and (sessions.size, sessions.expired) == (0, 2)


def test_sessions_are_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr("helpers.serve.sessions.MAX_MEMORY", 100)
    sessions = Sessions(limit=10, seconds=10, max_calls=100)
    key = sessions.add(Session(None, frozenset(), 60), "")
    with pytest.raises(HTTPException) as refused:
        sessions.add(Session(None, frozenset(), 60), "")
    assert refused.value.status_code == 503
    with pytest.raises(HTTPException):
        sessions.grow(sessions.get(key), 50)
    sessions.add(Session(None, frozenset(), 80), key)
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
