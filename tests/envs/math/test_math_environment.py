"""The environment: tools, problems, rows of others."""

import doctest
import json
import re

import pytest
from math_cases import _lines, reward_of, row_of

from envs import math_env
from envs.math_env import (
    DIFFICULTIES,
    FAMILIES,
    SPLITS,
    STARTER,
    MathEnv,
    answer,
    calculate,
    make_rows,
    read_rows,
    score,
)
from helpers.measure.contract import check_env


@pytest.mark.parametrize("knobs", [{}, {"difficulty": "medium"}, {"difficulty": "hard"}, {"tools": True}])
def test_contract(knobs):
    assert check_env(math_env, **knobs)["gold"] == "8 of 8 gold answers score 1"


def test_tools():
    env = MathEnv()
    env.reset(task=row_of("3/4")["task"])
    assert env.calculate("1/2 + 1/4") == "0.75 = 3/4"
    assert env.calculate("(2 + 3)! / 7") == "120/7, about 17.1428571429"
    assert env.calculate("sqrt(2)") == "1.4142135623731" or env.calculate("sqrt(2)").startswith("1.41421356237309")
    for bad in ("x + 1", "import os", "1/0", "9^9^9^9", "", "10^10^10", "(" * 500):
        with pytest.raises(ValueError, match=r"\w"):
            env.calculate(bad)
    assert env.get_reward() == 0.0
    env.submit("0.75")
    assert env.get_reward() == 1.0
    with pytest.raises(ValueError, match="handed in"):
        env.submit("1")
    assert env.get_reward() == 1.0


def test_calls_run_out():
    env = MathEnv()
    env.reset()
    for _ in range(30):
        env.calculate("1 + 1")
    with pytest.raises(ValueError, match="submit"):
        env.calculate("1 + 1")
    env.submit("5")
    assert env.get_reward() == 1.0


@pytest.mark.parametrize(
    "text, value",
    [
        ("2+3*4", "14"),
        ("2^10", "1024"),
        ("7 mod 4", "3"),
        ("gcd(12, 18)", "6"),
        ("5!", "120"),
        ("12,500 / 2", "6250"),
        ("25% * 80", "20"),
        ("-3^2", "-9"),
        ("C", None),
    ],
)
def test_calculate(text, value):
    if value is None:
        with pytest.raises(ValueError, match="expression"):
            calculate(text)
    else:
        assert calculate(text) == value


def test_tool_messages_and_text_agree():
    row = make_rows(1, tools=True)[0]
    messages = answer(row)
    assert messages[0]["tool_calls"] and score(messages, row).reward == 1.0
    gold = json.loads(row["task"])["answer"]
    tagged = f'<tool_call>{{"name": "submit", "arguments": {{"answer": {json.dumps(gold)}}}}}</tool_call>'
    assert score(tagged, row).reward == 1.0
    assert score(tagged.replace("submit", "reset"), row).reward == 0.0


def test_there_are_families_enough_with_several_wordings():
    assert len(FAMILIES) >= 25
    import random

    for name, family in FAMILIES.items():
        for level in range(3):
            problem = family(random.Random(7), level)
            assert len(problem.wordings) >= 2 and problem.steps.endswith("."), name


@pytest.mark.parametrize("name", FAMILIES)
def test_gold_scores_and_echo_does_not(name):
    for difficulty in DIFFICULTIES if name in STARTER else DIFFICULTIES[1:]:
        for row in make_rows(15, seed=4, families=[name], difficulty=difficulty):
            verdict = score(answer(row), row)
            assert verdict.reward == 1.0, (answer(row), verdict)
            question = row["prompt"][0]["content"]
            bare = question.removesuffix(r" Answer in \boxed{}.")
            for echo in (question, row["task"], f"\\boxed{{{bare}}}"):
                assert score(echo, row).reward == 0.0, echo


def test_a_question_is_no_answer():
    """No run of signs out of the question earns the reward, unless it is the gold answer itself."""
    for difficulty in DIFFICULTIES:
        for row in make_rows(250, seed=9, difficulty=difficulty):
            gold = json.loads(row["task"])["answer"]
            question = row["prompt"][0]["content"].removesuffix(r" Answer in \boxed{}.")
            for run in re.findall(r"[-(\w][-+*/^().,<>=\w ]*", question):
                for part in {run.strip(" .,"), re.sub(r"^[A-Za-z ]+", "", run).strip(" .,")}:
                    if part and part != gold and score(rf"\boxed{{{part}}}", row).reward:
                        plain = re.fullmatch(r"[A-Za-z ]*-?[\d.]+(?:/\d+)?[A-Za-z ,.]*|yes|no", part)
                        assert plain, (question, part, gold)


@pytest.mark.parametrize(
    "gold, found, right",
    [
        ("13", "13.0", 1),
        ("13", "1 + 12", 0),
        ("13", "26/2", 0),
        ("3/4", "0.75", 1),
        ("3/4", "6/8", 1),
        ("3/4", "1 - 1/4", 0),
        ("x^2 + 3x + 2", "2 + 3x + x^2", 1),
        ("x^2 + 3x + 2", "(x + 1)(x + 2)", 0),
        (r"36\pi", r"36 \cdot \pi", 1),
        (r"36\pi", r"6^2 \pi", 0),
        ("x > 3", "3 < x", 1),
        ("x > 3", "2x + 1 > 7", 0),
        (r"\sqrt{5}", r"\sqrt{1^2 + 2^2}", 0),
        ("10", "1010_2", 0),
        ("5", "x = 5", 1),
        ("-2, 3", "x = 3 or x = -2", 1),
    ],
)
def test_own_problems_want_the_answer_worked_out(gold, found, right):
    assert reward_of(rf"\boxed{{{found}}}", gold, form="simple") == right
    assert reward_of(rf"\boxed{{{found}}}", gold) == 1


def test_own_problems_cannot_be_left_undecided_by_an_odd_answer():
    assert reward_of(r"\boxed{\int_0^5 1\,dx}", "5", form="simple") == 0
    assert reward_of(r"\boxed{\int_0^{\infty} e^{-x^2} \sin(x^3) \ln(x^7+1)\,dx}", "5", form="simple") == 0


def test_splits_share_no_problem_whatever_the_wording_and_the_seed():
    owner = {}
    for difficulty in DIFFICULTIES:
        for split in SPLITS:
            for seed in (0, 1, 2):
                for row in make_rows(150, seed=seed, split=split, difficulty=difficulty):
                    assert owner.setdefault(row["task_id"].rpartition("-")[2], split) == split


def test_starter_problems_are_easy_ones_of_few_families():
    rows = make_rows(400, difficulty="starter")
    assert {json.loads(row["task"])["family"] for row in rows} == set(STARTER)
    assert all(len(row["prompt"][0]["content"]) < 120 for row in rows)
    with pytest.raises(ValueError, match="expand"):
        make_rows(1, difficulty="starter", families="expand")


def test_steps_hold():
    """Every equation in a worked solution is true."""
    worded = ("quadratic_equation", "linear_equation", "inequality", "remainder", "base", "circle", "choices")
    checked = 0
    for difficulty in DIFFICULTIES:
        for row in make_rows(400, seed=2, difficulty=difficulty):
            fields = json.loads(row["task"])
            if fields["family"] in worded:
                continue
            for step in re.split(r"[,.](?=\s|$)", fields["steps"]):
                sides = [side.strip() for side in step.split("=")]
                if len(sides) > 1 and all(re.fullmatch(r"[-+*/^().\d\s]+", side) for side in sides):
                    values = {calculate(side).split(" ")[0].rstrip(",") for side in sides}
                    assert len(values) == 1, (fields["family"], step)
                    checked += 1
    assert checked > 1000


def test_easy_is_short():
    for row in make_rows(300, seed=3):
        assert len(row["prompt"][0]["content"]) < 130 and len(answer(row)) < 120, row


@pytest.mark.parametrize(
    "knobs, said",
    [
        ({"n": -1}, "n must"),
        ({"split": "dev"}, "split must"),
        ({"difficulty": "x"}, "difficulty must"),
        ({"families": ["nope"]}, "families holds"),
        ({"families": []}, "families holds"),
        ({"families": ["circle"], "n": 10_000}, "ask for fewer"),
    ],
)
def test_knobs_are_checked(knobs, said):
    with pytest.raises(ValueError, match=said):
        make_rows(**{"n": 1, **knobs})


def test_rows_of_others(tmp_path):
    records = [
        {"question": "How many?", "answer": "She has 48/2 = <<48/2=24>>24 clips.\nIn all 72.\n#### 72"},
        {"problem": "Find x.", "solution": r"We get $x = \boxed{\frac{1}{2}}$.", "level": "Level 3", "type": "Algebra"},
        {"Problem": "AIME problem", "Answer": "025"},
        {"problem": "AIME problem with a number", "answer": 33},
        {"problem": "unknown", "answer": ""},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    rows = read_rows(path)
    assert rows == read_rows(records)
    assert [json.loads(row["task"])["answer"] for row in rows] == ["72", r"\frac{1}{2}", "025", "33", ""]
    assert [score(answer(row), row).reward for row in rows] == [1.0, 1.0, 1.0, 1.0, None]
    assert score(r"\boxed{25}", rows[2]).reward == 1 and score("#### 72", rows[0]).reward == 1
    with pytest.raises(ValueError, match="record 0 has no answer"):
        read_rows([{"question": "?"}])
    with pytest.raises(ValueError, match="record 0 has no question"):
        read_rows([{"answer": "5"}])


def test_rows_and_rollouts_of_nemo_gym():
    records = _lines("nemo_gym/math_with_judge_rows.jsonl")
    rows = read_rows(records)
    asked = [record["responses_create_params"]["input"][0]["content"] for record in records]
    assert [row["prompt"][0]["content"] for row in rows] == asked
    assert all(score(answer(row), row).reward == 1.0 for row in rows)
    for rollout in _lines("nemo_gym/math_with_judge_rollouts.jsonl"):
        row = row_of(rollout["expected_answer"])
        messages = [item for item in rollout["response"]["output"] if item["type"] == "message"]
        assert score(messages, row).reward == rollout["reward"], rollout["expected_answer"]


def test_gold_that_points_elsewhere_is_undecided():
    for gold in ("See the proof above.", "Answers may vary", r"\text{proof omitted}"):
        assert reward_of(r"\boxed{5}", gold) is None


def test_documentation():
    assert doctest.testmod(math_env).failed == 0
