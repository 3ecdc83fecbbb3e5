"""Verdicts of a server, its statistics and documents, and rows of others."""

import asyncio
import http.client
import json
import threading
import time
import typing
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from serving import (
    DATA,
    ask,
    asked,
    calling,
    lines,
    posted,
    response,
    value_of,
)

from envs import NAMES, load
from helpers.episodes.environment import responses_schema
from helpers.episodes.nemo_gym import aggregate, from_nemo_gym, gym_rows, to_nemo_gym
from helpers.episodes.responses import to_messages
from helpers.measure.contract_subject import public_names
from helpers.serve.remote import RemoteEnv
from helpers.serve.server import create_app

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
    for name in public_names(module.ENV):
        if name not in ("reset", "get_reward"):
            post = document["paths"][f"/{name}"]["post"]
            schema = module.schema(getattr(module.ENV, name))
            assert post["description"] == schema["description"]
            assert post["requestBody"]["content"]["application/json"]["schema"] == schema["parameters"]
    assert "swagger" in ask(office, "/docs")[1].lower()


def test_tool_schemas():
    module = load("workplace")
    tools = [getattr(module.ENV, name) for name in public_names(module.ENV)[2:] if name != "reset"]
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


def test_public_workplace_rows_and_rollouts(servers):
    from workplace_truths import TRUTHS

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
