"""What a server answers to calls of tools and to hostile bodies."""

import json

import pytest
from serving import SEND, ask, asked, calling, posted

from envs import NAMES, load
from helpers.episodes.nemo_gym import gym_rows

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
