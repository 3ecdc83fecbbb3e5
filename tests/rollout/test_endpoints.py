"""Models behind endpoints: real HTTP servers, one that misbehaves as told and `transformers serve`."""

import asyncio
import json
import logging
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
from pathlib import Path

import pytest
from http_server import Server, completion, response

from envs import load
from helpers.rollout.endpoints import EndpointError, EndpointPolicy, fields_of, models_in
from helpers.rollout.policies import LocalPolicy, open_model
from helpers.rollout.rollouts import Sampling, rollout
from helpers.tiny_policy import PATH

KEY = 'sk-test-"0123456789'  # a quote, so that JSON writes it differently
ASK = [[{"role": "user", "content": "hello"}]]
sudoku = load("sudoku")


def policy(server, **more):
    return EndpointPolicy("m", server.url, **({"api_key": KEY, "backoff_s": 0.01} | more))


FAULT = {"error": {"message": f"bad key {KEY}", "code": "x"}}


# --- both APIs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chat_only", [False, True])
def test_a_reply_comes_back_whichever_api_the_server_has(chat_only):
    with Server(chat_only=chat_only) as server:
        model = policy(server, price={"input": 1.0, "output": 4.0})
        (reply,) = model.generate(ASK)
        model.generate(ASK * 2)
    assert reply["content"] == "hello" and reply["role"] == "assistant" and reply["finish_reason"] == "stop"
    assert model.usage == {"calls": 3, "retries": 0, "input_tokens": 30, "output_tokens": 15, "cost_usd": 9e-05}
    assert reply["usage"]["input_tokens"] == 10 and reply["usage"]["cost_usd"] == 3e-05
    paths = [path for path, *_ in server.seen]
    assert paths.count("/v1/responses") == (1 if chat_only else 3)  # asked once only, then known


def test_many_first_calls_at_once_all_find_the_api():
    with Server(chat_only=True) as server:
        server.pause = 0.02
        model = policy(server, at_once=4)
        assert [reply["content"] for reply in model.generate(ASK * 12)] == ["hello"] * 12
    with Server(chat_only=True) as server, pytest.raises(EndpointError, match="HTTP 404"):
        policy(server, api="responses").generate(ASK)


@pytest.mark.parametrize("chat", [False, True])
def test_tool_calls_and_results_go_both_ways(chat):
    call = {"name": "place", "arguments": '{"row": 1}'}
    asked = (
        completion(None, tool_calls=[{"id": "c1", "type": "function", "function": call}])
        if chat
        else response("", output=[{"type": "function_call", "id": "f", "call_id": "c1", "status": "completed"} | call])
    )
    with Server((200, asked), chat_only=chat) as server:
        model = policy(server)
        (first,) = model.generate(ASK, [sudoku.ENV().place])
        assert first["tool_calls"] == [{"type": "function", "id": "c1", "function": call}]
        result = {"role": "tool", "name": "place", "tool_call_id": "c1", "content": "placed"}
        model.generate([ASK[0] + [first, result]], [sudoku.ENV().place])
    _, before, _ = server.seen[-2]
    _, after, _ = server.seen[-1]
    tool = before["tools"][0]
    assert (tool["function"] if chat else tool)["name"] == "place" and tool["type"] == "function"
    if chat:
        assert after["messages"][1]["tool_calls"][0]["function"] == call
        assert after["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "placed"}
    else:
        assert after["input"][1:] == [
            {"type": "function_call", "call_id": "c1"} | call,
            {"type": "function_call_output", "call_id": "c1", "output": "placed"},
        ]


def test_broken_arguments_of_the_model_do_not_break_the_server():
    broken = {"type": "function", "id": "c1", "function": {"name": "place", "arguments": "{not json"}}
    turn = [{"role": "assistant", "content": "", "tool_calls": [broken]}, {"role": "tool", "tool_call_id": "c1"}]
    with Server() as server:
        policy(server).generate([ASK[0] + turn + ASK[0]])
    assert json.loads(server.seen[0][1]["input"][1]["arguments"]) == {"unreadable": "{not json"}


def test_reasoning_is_kept_apart_and_goes_back_to_its_server():
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
    with Server((200, response("", output=[thought, *response("4")["output"]]))) as server:
        model = policy(server)
        (reply,) = model.generate(ASK)
        assert reply["content"] == "4" and reply["reasoning_content"] == "hm"
        model.generate([[*ASK[0], {k: v for k, v in reply.items() if k != "usage"}, *ASK[0]]])
    assert server.seen[1][1]["input"][1] == thought


def test_several_messages_in_one_reply_are_joined():
    with Server((200, response("", output=response("a")["output"] + response("b")["output"]))) as server:
        assert policy(server).generate(ASK)[0]["content"] == "a\nb"


@pytest.mark.parametrize("cut", [{"status": "incomplete"}, {"usage": {"input_tokens": 1, "output_tokens": 7}}])
def test_a_reply_at_the_token_limit_is_called_cut_off(cut):
    with Server((200, response("half", **cut))) as server:
        assert policy(server).generate(ASK, max_tokens=7)[0]["finish_reason"] == "length"


def test_repeated_conversations_get_different_seeds_and_the_options_arrive():
    with Server() as server:
        model = policy(server, sampling={"top_p": 0.5, "reasoning": {"effort": "low"}})
        model.generate(ASK * 3, temperature=0.2, max_tokens=9, seed=4)
    bodies = [body for _, body, _ in server.seen]
    assert sorted(b["seed"] for b in bodies) == [4, 5, 6]
    assert {(b["temperature"], b["max_output_tokens"], b["top_p"], b["reasoning"]["effort"]) for b in bodies} == {
        (0.2, 9, 0.5, "low")
    }


@pytest.mark.parametrize(
    "complaint",
    [
        (400, {"error": {"message": "Unsupported parameter: 'seed' is not supported with this model."}}),
        (422, {"detail": "Unexpected fields in the request: {'seed'}"}),
        (400, {"error": {"message": "Unknown parameter: 'seed'."}}),
    ],
)
def test_an_option_that_the_server_does_not_know_is_left_out_and_named(complaint, caplog):
    with Server(*[lambda body: complaint if "seed" in body else "echo"] * 9) as server:
        model = policy(server)
        model.generate(ASK * 3)
        model.generate(ASK)
    assert "seed" not in server.seen[-1][1] and "temperature" in server.seen[-1][1]
    assert [r.message for r in caplog.records] == ["m does not take seed: left out of all calls"]


def test_chat_models_that_want_another_name_for_the_limit_get_it():
    says = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    with Server((400, {"error": {"message": says}}), chat_only=True) as server:
        policy(server).generate(ASK, max_tokens=33)
    assert server.seen[-1][1]["max_completion_tokens"] == 33 and "max_tokens" not in server.seen[-1][1]


def test_azure_is_addressed_its_way():
    with Server() as server:
        model = EndpointPolicy("gpt", server.url.removesuffix("/v1"), api_key=KEY, api_version="2025-04-01-preview")
        assert model.generate(ASK)[0]["content"] == "hello"
    assert server.seen[0][0] == "/openai/responses?api-version=2025-04-01-preview" and server.keys == [KEY]


# --- faults ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [*((s, FAULT) for s in (408, 429, 500, 502, 503, 504)), None], ids=str)
def test_transient_faults_are_tried_again(fault):
    with Server(fault, fault, fault) as server:
        model = policy(server)
        assert model.generate(ASK)[0]["content"] == "hello"
    assert len(server.seen) == 4 and model.usage["retries"] == 3


@pytest.mark.parametrize("fault", [(503, FAULT), None], ids=str)
def test_the_fourth_failure_is_final(fault):
    with Server(*[fault] * 9) as server, pytest.raises(EndpointError) as caught:
        policy(server).generate(ASK)
    assert len(server.seen) == 4
    assert caught.value.transient and caught.value.kind == ("connection" if fault is None else "http 503")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
def test_other_faults_fail_at_once_and_say_what_to_do(status):
    with Server(*[(status, FAULT)] * 9) as server, pytest.raises(EndpointError, match=rf"HTTP {status}") as caught:
        policy(server).generate(ASK)
    assert len(server.seen) == (2 if status in (404, 501) else 1)  # by the other API as well, where that may help
    assert not caught.value.transient and KEY not in str(caught.value)


def test_an_empty_purse_is_no_transient_fault():
    with Server((429, {"error": {"message": "no money", "code": "insufficient_quota"}})) as server:
        with pytest.raises(EndpointError, match="insufficient_quota"):
            policy(server).generate(ASK)
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    "body", ["{", "", "null", "[]", "<html>busy</html>", "{}", '{"output": 3}', '{"output": [{"type": 3}'], ids=str
)
def test_a_malformed_reply_is_a_clear_failure(body):
    with Server((200, body)) as server, pytest.raises(EndpointError) as caught:
        policy(server).generate(ASK)
    assert caught.value.kind == "malformed reply" and "not a reply of the OpenAI API" in str(caught.value)


def test_a_server_that_trickles_is_timed_out_all_the_same():
    with Server(5, 5) as server:
        began = time.monotonic()
        with pytest.raises(EndpointError, match=r"no reply within 0\.3 s"):
            policy(server, timeout_s=0.3, retries=1).generate(ASK)
        assert 0.5 < time.monotonic() - began < 3 and len(server.seen) == 2


def test_a_server_that_is_down_is_named():
    with Server() as server:
        pass
    with pytest.raises(EndpointError, match=r"127\.0\.0\.1.*is the server up") as caught:
        policy(server, retries=0).generate(ASK)
    assert caught.value.kind == "connection"


def test_pauses_double_and_the_servers_wish_comes_first():
    with Server(*[(503, FAULT)] * 3) as server:
        policy(server, backoff_s=0.1).generate(ASK)
    at = [t for *_, t in server.seen]
    for n, (a, b) in enumerate(zip(at, at[1:])):
        assert 0.05 * 2**n <= b - a < 0.15 * 2**n + 0.5
    with Server((429, FAULT, {"retry-after": "0.4"})) as server:
        policy(server).generate(ASK)
    assert server.seen[1][2] - server.seen[0][2] >= 0.4


def test_no_more_calls_at_once_than_allowed():
    with Server() as server:
        server.pause = 0.05
        policy(server, at_once=3).generate(ASK * 12)
    assert server.most_open == 3


def test_one_failure_in_a_batch_cancels_the_rest():
    with Server((401, FAULT)) as server:
        server.pause = 0.05
        with pytest.raises(EndpointError):
            policy(server, at_once=1).generate(ASK * 50)
        time.sleep(0.2)
        assert len(server.seen) < 10


# --- from anywhere ---------------------------------------------------------------------------------------


def test_it_works_inside_a_running_loop_in_threads_and_in_a_forked_child():
    with Server() as server:
        model = policy(server)

        async def cell():
            here = model.generate(ASK)
            there = await asyncio.to_thread(model.generate, ASK)
            return [here[0]["content"], there[0]["content"]]

        assert asyncio.run(cell()) == ["hello", "hello"]
        found = []
        threads = [threading.Thread(target=lambda: found.extend(model.generate(ASK))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert len(found) == 8
        child = os.fork()
        if child == 0:
            os._exit(0 if model.generate(ASK)[0]["content"] == "hello" else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# --- keys ------------------------------------------------------------------------------------------------


def test_the_key_is_sent_and_shows_nowhere_else(caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    leak = (401, FAULT), (500, f"oops {KEY}"), (200, f"<html>{KEY}</html>"), (200, response(f"your key is {KEY}"))
    said = []
    with Server(*leak) as server:
        model = policy(server, retries=0)
        for _ in leak:
            try:
                said.append(json.dumps(model.generate(ASK)))
            except EndpointError as error:
                said += ["".join(traceback.format_exception(error)), repr(error), repr(error.__context__), error.kind]
                said.append(repr(pickle.loads(pickle.dumps(error)).args))
    assert server.keys == [f"Bearer {KEY}"] * 4
    said += [repr(model), str(model.__dict__), caplog.text]
    for text in said:
        assert KEY not in text and json.dumps(KEY)[1:-1] not in text and "0123456789" not in text
    with pytest.raises(Exception, match="pickle"):
        pickle.dumps(model)


def test_the_key_for_openai_goes_to_no_other_server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Server() as server:
        EndpointPolicy("m", server.url).generate(ASK)
    assert server.keys == ["Bearer none"]
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ValueError, match="OPENAI_API_KEY"):
        EndpointPolicy("gpt-5-mini")


@pytest.mark.parametrize("url", ["http://me:secretpw@host/v1", "http://host/v1?key=secretpw", "host/v1"])
def test_addresses_that_would_show_a_secret_are_refused(url):
    with pytest.raises(ValueError, match="api_key") as caught:
        EndpointPolicy("m", url)
    assert "secretpw" not in str(caught.value)


# --- models named in a file ------------------------------------------------------------------------------


def test_a_file_names_several_models(tmp_path, monkeypatch):
    with Server() as server:
        monkeypatch.setenv("MY_KEY", KEY)
        monkeypatch.setenv("MY_URL", server.url)
        path = tmp_path / "models.yaml"
        path.write_text(
            "models:\n  a: {model: one, base_url: '${oc.env:MY_URL}', api_key: '${oc.env:MY_KEY}', timeout_s: 5}\n"
            "  b: {model: two, base_url: '${oc.env:MY_URL}', price: {input: 2, output: 8}}\n"
            "  c: {model: three, api_key: '${oc.env:NO_SUCH_KEY}'}\n"
        )
        assert list(models_in(path)) == ["a", "b", "c"]
        found = [open_model(path, name) for name in ("a", "b")]
        rows = sudoku.make_rows(2)
        for name, model in zip("ab", found):
            episodes = rollout(sudoku, rows, model, name=name, out=tmp_path / f"{name}.jsonl", quiet=True)
            assert len(episodes) == 2
        assert {b["model"] for _, b, _ in server.seen} == {"one", "two"}
        assert server.keys.count(f"Bearer {KEY}") == 2 and found[1].usage["cost_usd"] > 0
        with pytest.raises(ValueError, match="NO_SUCH_KEY, which is not set"):
            open_model(path, "c")
        with pytest.raises(ValueError, match="no model 'd'; there are a, b, c"):
            open_model(path, "d")
    assert not any("0123456789" in file.read_text() for file in tmp_path.iterdir())


@pytest.mark.parametrize(
    "text, says",
    [
        ("models:\n  a: {model: m, api_key: sk-written-out}", "take it out of the file"),
        ("models:\n  a: {model: m, keys: 3}", "unknown \\['keys'\\]"),
        ("models:\n  a: {base_url: http://x}", "'model' is missing"),
        ("models: [a, b]", "must hold 'models:'"),
        ("a: b", "must hold 'models:'"),
        ("models: {a: {model: m, api_key: sk-written-out", "not YAML"),
    ],
)
def test_a_file_that_is_wrong_says_so_and_shows_no_key(tmp_path, text, says):
    path = tmp_path / "models.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=says) as caught:
        fields_of(path, "a")
    assert "sk-written-out" not in "".join(traceback.format_exception(caught.value))


def test_an_unknown_backend_is_refused(tmp_path):
    path = tmp_path / "models.yaml"
    path.write_text("models:\n  a: {model: tiny, backend: magic}\n  b: {model: tiny, backend: vllm, api: chat}")
    with pytest.raises(ValueError, match="openai, unsloth or vllm"):
        open_model(path, "a")
    with pytest.raises(ValueError, match="api apply to backend openai only"):
        open_model(path, "b")


# --- a real server ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """`transformers serve` with the embedded policy."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = (tmp_path_factory.mktemp("serve") / "log").open("w+")
    command = [str(Path(sys.executable).parent / "transformers"), "serve", str(PATH)]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
        stdout=log, stderr=log, cwd=log.name.removesuffix("log"),
        env=os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 90
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    pytest.fail(f"transformers serve did not start: {log.read()[-2000:]}")
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.parametrize("api", [None, "chat"])
def test_a_served_model_answers_as_the_same_model_here(serve, api):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    local = LocalPolicy(AutoModelForCausalLM.from_pretrained(PATH), AutoTokenizer.from_pretrained(PATH))
    served = EndpointPolicy(str(PATH), serve, api=api, at_once=2)
    rows, tools = sudoku.make_rows(6, interactive=True), [sudoku.ENV().place, sudoku.ENV().submit]
    texts = [row["prompt"] for row in sudoku.make_rows(6)]
    options = {"temperature": 0.0, "max_tokens": 48}
    for prompts, offered in ((texts, None), ([row["prompt"] for row in rows], tools)):
        here, there = local.generate(prompts, offered, **options), served.generate(prompts, offered, **options)
        for a, b in zip(here, there):
            assert (a["content"], a["finish_reason"]) == (b["content"], b["finish_reason"])
            assert [_call(c) for c in a.get("tool_calls", [])] == [_call(c) for c in b.get("tool_calls", [])]
    assert any(reply.get("tool_calls") for reply in there)
    assert served.usage["calls"] == 12 and served.usage["input_tokens"] > 500 and served.usage["retries"] == 0


def _call(call):
    arguments = call["function"]["arguments"]
    return call["function"]["name"], json.loads(arguments) if isinstance(arguments, str) else arguments


def test_episodes_with_tools_run_against_a_served_model(serve):
    rows = sudoku.make_rows(4, interactive=True)
    model = EndpointPolicy(str(PATH), serve, at_once=2)
    episodes = rollout(sudoku, rows, model, Sampling(tools=True, max_tokens=48, max_steps=3), name="served", quiet=True)
    assert all(e["reward"] in (0.0, 1.0) for e in episodes) and any(e["steps"] > 1 for e in episodes)


def test_a_wrong_model_name_is_said_by_the_server(serve):
    with pytest.raises(EndpointError, match="HTTP 4"):
        EndpointPolicy("no-such-model", serve).generate(ASK)
