"""The tools `run` and `submit`, live."""

import pytest
from code_rows import BAD, GOOD, program, row

from envs.code_env import CodeEnv


def started(**fields) -> CodeEnv:
    env = CodeEnv()
    env.reset(
        prompt=[{}],
        **row(examples=[{"args": "[2, 2]", "expected": "4"}, {"args": "[1, 3]", "expected": "4"}], **fields),
    )
    return env


def test_run_shows_what_the_public_examples_give():
    env = started()
    text = env.run("def add(a, b):\n    print('hello', a)\n    return a * b")
    assert "add(2, 2): returned what is wanted" in text and "hello 2" in text
    assert "add(1, 3): returned 3, wanted 4" in text
    assert "ValueError: bad (line 1)" in env.run("def add(a, b): raise ValueError('bad')")
    assert "syntax error" in env.run("def add(a, b) return 1")
    assert "no function" in env.run("def sub(a, b): return 1")
    assert env.get_reward() == 0.0


def test_run_of_a_program_shows_its_output():
    env = CodeEnv()
    env.reset(prompt=[{}], **program(("5\n", "25\n"), examples=[{"stdin": "3\n", "stdout": "9\n"}]))
    assert "printed '6\\n', wanted '9\\n'" in env.run("print(int(input()) * 2)")
    assert "printed what is wanted" in env.run("print(int(input()) ** 2)")
    assert "All" not in env.run("print(int(input()) ** 2)")
    assert env.submit("print(int(input()) ** 2)").startswith("solved")


def test_the_first_submission_is_final():
    env = started()
    env.submit(BAD)
    with pytest.raises(ValueError, match="handed in"):
        env.submit(GOOD)
    with pytest.raises(ValueError, match="handed in"):
        env.run(GOOD)
    assert env.get_reward() == 0.0


def test_refused_calls_leave_the_answer_open():
    env = started()
    for code in (None, 3, "", "  ", ["x"]):
        with pytest.raises(ValueError, match="code"):
            env.submit(code)
    env.submit(GOOD)
    assert env.get_reward() == 1.0


def test_calls_are_counted_and_end():
    env = started()
    for _ in range(20):
        env.run("x = 1")
    with pytest.raises(ValueError, match="used up; submit"):
        env.run("x = 1")
    assert env.submit(GOOD).startswith("solved")
    assert env.metrics == {} and env.get_reward() == 1.0 and env.metrics["calls"] == 21


def test_secrets_of_the_caller_are_not_seen(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret_value")
    env = CodeEnv()
    env.reset(prompt=[{}], **row(examples=[{"args": "[1, 1]", "expected": "2"}]))
    assert "hf_secret_value" not in env.run("import os\ndef add(a, b):\n    return str(dict(os.environ))")
