"""A verdict names its kind of failure, and each environment says what a policy that fails so cannot do yet."""

import json

import pytest

import envs

GRID = json.dumps({"puzzle": "1 _ 3 4\n3 4 1 _\n2 1 _ 3\n_ 3 2 1", "size": 4})
SEND = {"recipient": "ada.lindqvist@larkfield.example", "subject": "Hello", "body": "Hi"}
REPEATED = {"recipient": "ada.lindqvist@larkfield.example", "subject": "Again", "body": "Hi"}


def truth(*calls: dict, **more) -> str:
    return json.dumps({"ground_truth": [{"name": "email_send_email", "arguments": call} for call in calls], **more})


def sending(*calls: dict) -> str:
    return json.dumps([{"name": "email_send_email", "arguments": call} for call in calls])


CASES = {
    "sudoku": [
        ("no answer", "hm", GRID), ("format", "1 2 3 4\n3 4 1", GRID),
        ("incomplete", "1 2 3 4\n3 4 1 2\n2 1 4 3\n_ 3 2 1", GRID),
        ("wrong given", "2 1 3 4\n3 4 1 2\n1 2 4 3\n4 3 2 1", GRID),
        ("wrong cell", "1 1 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", GRID),
        ("several answers", "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\nor\n1 3 2 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", GRID),
        ("tool fault", '<tool_call>{"name": "place", "arguments": {"row": 9}}</tool_call>', GRID),
        ("", "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", GRID),
    ],
    "math": [
        ("no answer", "It may be 4, or so.\nI give up.", '{"answer": "5"}'),
        ("wrong answer", "\\boxed{4}", '{"answer": "5"}'),
        ("tool fault", '<tool_call>{"name": "guess", "arguments": {}}</tool_call>', '{"answer": "5"}'),
        ("undecided", "\\boxed{4}", '{"answer": " "}'), ("", "\\boxed{5}", '{"answer": "5"}'),
    ],
    "workplace": [
        ("no answer", "hm", truth(SEND)), ("missing write", sending(SEND), truth(SEND, REPEATED)),
        ("wrong value", sending(SEND | {"body": "Ho"}), truth(SEND)),
        ("side effect", sending(SEND, REPEATED), truth(SEND)),
        ("wrong order", sending(REPEATED, SEND), truth(SEND, REPEATED, match="trajectory")),
        ("tool fault", "<tool_call>{", truth(SEND)), ("unjudged", "hm", "{}"),
        ("unjudged", "hm", truth(SEND | {"recipient": "nobody"})), ("", sending(SEND), truth(SEND)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name, kind, text, task", [(name, *case) for name, cases in CASES.items() for case in cases])
def test_kinds(name, kind, text, task):
    module = envs.load(name)
    verdict = module.score(text, {"task": task})
    assert verdict.kind == kind, verdict
    if verdict.reward == 1:
        assert kind == ""
    else:
        assert kind in module.CAPABILITIES
        assert kind == "unjudged" or verdict.reason.startswith(f"{kind}: ")


@pytest.mark.parametrize("name", CASES)
def test_every_capability_belongs_to_a_kind(name):
    kinds = {kind for kind, *_ in CASES[name]} - {""}
    assert kinds | {"judged wrong"} >= set(envs.load(name).CAPABILITIES) >= kinds


def test_a_judge_that_says_no():
    math = envs.load("math")
    row = {"task": json.dumps({"answer": "A lift climbs one floor, the stairs take five"})}
    verdict = math.score("\\boxed{magic}", row, judge=lambda *_: False)
    assert (verdict.reward, verdict.kind) == (0.0, "judged wrong") and verdict.kind in math.CAPABILITIES
    assert math.score("\\boxed{magic}", row, judge=lambda *_: True).kind == ""
    assert math.score("\\boxed{magic}", row).kind == "undecided"


def test_a_verdict_of_three_fields_has_no_kind():
    for name in CASES:
        assert envs.load(name).Verdict(1.0, "right", {}).kind == ""
