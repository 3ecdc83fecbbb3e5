"""What is drawn of an episode: the code that was graded, and the test that it fails."""

import json

import pytest
from code_rows import ADD, BAD, GOOD, SUM

from envs.code_env import score, view


def episode(completion: str | list[dict], row: dict = ADD) -> dict:
    """A graded episode."""
    messages = completion if isinstance(completion, list) else [{"role": "assistant", "content": completion}]
    verdict = score(messages, row)
    return {"prompt": [], "messages": messages, "reward": verdict.reward, "reason": verdict.reason, **row}


def call(name: str, code: object) -> dict:
    function = {"name": name, "arguments": json.dumps({"code": code})}
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}


def test_a_right_answer_shows_its_code_and_that_all_tests_pass():
    assert view(episode(f"So:\n```python\n{GOOD}\n```")) == [
        {"text": "Code that was read:"},
        {"code": GOOD},
        {"text": "✓✓✓ all 3 tests pass"},
    ]


def test_a_wrong_answer_shows_the_failing_test():
    assert view(episode("def add(a, b): return a + b if a < 5 else 0"))[2:] == [
        {"text": "✓✗· test 2 fails"},
        {
            "table": [
                ["failing test", "2 of 3"],
                ["given", "[5, -2]"],
                ["expected", "3"],
                ["got", "add(5, -2) returned 0"],
            ]
        },
    ]


def test_a_program_shows_its_input_and_output():
    *_, strip, failing = view(episode("```python\ninput()\nprint(6)\n```", SUM))
    assert strip == {"text": "✓✗ test 2 fails"}
    assert failing["table"][1:] == [
        ["given", "1\n-5\n"],
        ["expected", "-5\n"],
        ["got", "input '1\\n-5\\n' printed '6\\n'"],
    ]


def test_code_that_does_not_load_has_no_failing_test():
    assert view(episode("```python\ndef add(a, b)\n```")) == [
        {"text": "Code that was read:"},
        {"code": "def add(a, b)"},
    ]


@pytest.mark.parametrize("said", ["I do not know.", "", "<think>\ndef add(a, b): return a + b"])
def test_an_answer_without_code_says_so(said):
    assert view(episode(said)) == [{"text": "No code could be read."}]


def test_the_code_handed_in_first_is_shown_since_that_one_was_graded():
    assert view(episode([call("run", GOOD), call("submit", BAD), call("submit", GOOD)]))[1] == {"code": BAD}
    assert view(episode([call("submit", 3), call("submit", " "), call("submit", GOOD)]))[1] == {"code": GOOD}


def test_without_a_submission_the_code_tried_last_is_shown():
    assert view(episode([call("run", GOOD), call("run", BAD)])) == [{"text": "Code that was read:"}, {"code": BAD}]


def test_before_the_verdict_nothing_is_shown():
    running = episode(BAD)
    del running["reward"], running["reason"]
    assert view(running) == []


def test_what_could_not_be_judged_shows_the_code_alone():
    unjudged = episode(GOOD) | {"reward": None, "reason": "unjudged: fork failed"}
    assert view(unjudged) == [{"text": "Code that was read:"}, {"code": GOOD}]


def test_a_reason_that_does_not_fit_the_task_draws_no_test():
    for reason in ("wrong answer: test 9 of 9: f(1)", "wrong answer: test 4 of 3: f(1)", "test 0 of 3: x", None):
        assert len(view(episode(BAD) | {"reason": reason})) == 2


def test_many_tests_make_a_short_strip():
    tests = [{"args": f"[{i}, 0]", "expected": str(i)} for i in range(100)]
    row = {"task": json.dumps({"entry_point": "add", "tests": tests})}
    assert view(episode("def add(a, b): return a if a < 50 else 0", row))[2] == {
        "text": "✓" * 40 + "✗" + "·" * 40 + " test 51 fails"
    }


def test_a_task_of_another_shape_still_shows_what_came_of_it():
    odd = episode(BAD) | {"task": "{}", "reason": "wrong answer: test 1 of 3: f(1)"}
    assert view(odd)[0]["text"]
