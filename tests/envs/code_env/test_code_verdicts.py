"""What a verdict says, and what earns nothing."""

import json
import re

import pytest
from code_rows import ADD, BAD, FAIL, GOOD, PASS, row

from envs import code_env
from envs.code_env import CAPABILITIES, CodeEnv, judging, make_rows, reward, score


@pytest.mark.parametrize(
    "body, why, words",
    [
        ("return a - b", "wrong answer", r"test 1 of 3: add\(1, 2\) returned -1"),
        ("return a + b if a < 5 else 0", "wrong answer", r"test 2 of 3: add\(5, -2\) returned 0"),
        ("return a / 0", "exception", "ZeroDivisionError"),
        ("return undefined", "exception", "NameError"),
        ("while True: pass", "time limit", "longer than 0.5 s"),
        ("return [0] * 10**10", "memory limit|exception", "memory|MemoryError"),
        ("import os; os._exit(0)", "exited", "ended the program"),
        ("import sys; sys.exit(0)", "exited", "ended the program"),
        ("yield a + b", "bad value", "no plain value"),
        ("return print", "bad value", "no plain value"),
        ("import ctypes; ctypes.string_at(0)", "crashed|exception", "crashed|raised"),
    ],
)
def test_the_reason_names_the_first_failure(body, why, words):
    verdict = score(f"def add(a, b):\n    {body}", row(time_limit_s=0.5))
    assert verdict.reward == FAIL
    assert re.fullmatch(why, verdict.kind) and re.search(words, verdict.reason), verdict.reason
    assert verdict.kind in CAPABILITIES
    assert len(verdict.reason) < 400


def test_no_reason_and_no_tool_shows_a_hidden_expected_value():
    secret = 987654321
    made = row("f", [([i], secret + i) for i in range(3)], examples=[{"args": "[7]", "expected": "77"}])
    for code in (
        "def f(x): return 1",
        "def f(x): return x / 0",
        "def f(x): return None",
        "x = (",
        "def g(x): return 1",
    ):
        env = CodeEnv()
        env.reset(**made)
        said = [env.run(code), env.submit(code), score(f"```python\n{code}\n```", made).reason]
        assert not any(str(secret)[:6] in text for text in said), said


def test_hard_coding_the_examples_earns_nothing():
    for made in (*make_rows(12, seed=4), *make_rows(6, seed=4, difficulty="medium")):
        task = json.loads(made["task"])
        known = ", ".join(f"repr({e['args']}): {e['expected']}" for e in task["examples"])
        code = f"def {task['entry_point']}(*a): return {{{known}}}.get(repr(list(a)))"
        assert score(f"```python\n{code}\n```", made).reward == FAIL
        shown = {e["args"] for e in task["examples"]}
        assert shown and not shown & {test["args"] for test in task["tests"]}


def test_state_left_by_one_answer_does_not_help_the_next():
    assert score("import builtins\nbuiltins.secret = 3\ndef add(a, b): return a - b", ADD).reward == FAIL
    assert score("import builtins\ndef add(a, b): return builtins.secret", ADD).reward == FAIL


def test_tests_come_in_no_order_that_a_counter_could_learn():
    tests = [([i], i * i) for i in range(6)]
    code = f"answers = iter({[i * i for i in range(6)]})\ndef f(x): return next(answers)"
    assert score(code, row("f", tests[::-1])).reward == FAIL


def call(name: str, **arguments) -> dict:
    return {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


def test_messages_are_replayed_and_text_counts_only_without_calls():
    assert score([call("run", code=BAD), call("submit", code=GOOD)], ADD).reward == PASS
    assert score([call("submit", code=BAD), call("submit", code=GOOD)], ADD).reward == FAIL
    said = {"role": "assistant", "content": f"```python\n{GOOD}\n```"}
    assert score([said], ADD).reward == PASS
    assert score([call("run", code=GOOD), said], ADD).reward == FAIL  # as live: nothing was handed in
    verdict = score([call("sumbit", code=GOOD)], ADD)
    assert verdict.reward == FAIL and verdict.kind == "tool fault"
    assert score([{"role": "user", "content": GOOD}], ADD).reward == FAIL


def test_reward_takes_columns_of_a_trainer():
    got = reward([GOOD, [{"role": "assistant", "content": BAD}]], [ADD["task"]] * 2, prompts=[0, 0], trainer_state=None)
    assert got == [1.0, 0.0]


def test_a_group_is_judged_side_by_side_in_order_and_the_same_answer_once():
    answers = [GOOD, BAD, "no code", None, GOOD, [{"role": "assistant", "content": GOOD}], b"odd", *[BAD, GOOD] * 20]
    alone = [score(answer, ADD).reward for answer in answers]
    seen = []

    class Counting:
        def run_function(self, source, *args, **named):
            seen.append(source)
            return plain.run_function(source, *args, **named)

    plain = judging.shared_sandbox()
    code_env.use_sandbox(Counting())
    try:
        assert reward(answers, [ADD["task"]] * len(answers)) == alone
    finally:
        code_env.use_sandbox(plain)
    assert len(seen) <= 3 and reward([], []) == []  # GOOD as text and as a message may be asked at the same time
