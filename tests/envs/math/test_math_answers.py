"""Math: labelled pairs and cases, extraction, equality and its laws, hostile answers, tools, problems, other rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from math_cases import OTHER, SAME, _lines, _pairs, reward_of, row_of, some

from envs.math_env import (
    equal,
    extract,
    judge_text,
    score,
)


def test_labelled_pairs():
    pairs = _lines("math/pairs_dev.jsonl")
    got = [(pair, score(pair["response"], row_of(pair["gold"])).reward) for pair in pairs]
    wrong = [(pair["id"], value) for pair, value in got if value != pair["expected"]]
    assert not [pair["id"] for pair, value in got if value == 1 and pair["expected"] != 1], "false positives"
    assert len(wrong) <= 0.02 * len(pairs), wrong


# Judgement cases are kept as labelled too: the last box counts, an empty or bare \boxed that repeats the instruction
# is skipped, a thin space separates thousands, no tolerance, a bare 28 may be 28 %, and so on. M124 is a cancelled
# task: there is no verdict then at all, which `test_cancelled_task_gives_no_reward` checks.
CASES = [case for case in _lines("cases/math_dev.jsonl") if case["id"] != "M124"]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case_file(case):
    assert score(case["response"], row_of(case["gold"])).reward == case["expected"], case["why"]
    if case["mode"] == "strict_boxed":
        assert reward_of(case["response"], case["gold"], extract="boxed") == case["expected"], case["why"]


FOUND = [
    ("no reasoning", r"so \boxed{5}", "5", "the last box"),
    ("closed reasoning", r"<think>\boxed{4}</think>\boxed{5}", "5", "the last box"),
    ("opened in the prompt", r"maybe \boxed{4}</think>\boxed{5}", "5", "the last box"),
    ("never closed", r"<think>\boxed{5}", None, "the reasoning never ends"),
    ("channels", r"<|channel|>analysis<|message|>\boxed{4}<|channel|>final<|message|>\boxed{5}", "5", "the last box"),
    ("braces in braces", r"\boxed{\frac{1}{\frac{1}{x}+1}}", r"\frac{1}{\frac{1}{x}+1}", "the last box"),
    ("escaped braces", r"\boxed{\{1, 2\}}", r"\{1, 2\}", "the last box"),
    ("fbox", r"\fbox{5}", "5", "the last box"),
    ("framebox", r"\framebox[2cm]{5}", "5", "the last box"),
    ("no braces", r"hence \boxed 7", "7", "the last box"),
    ("instruction repeated", r"put it in \boxed{}. So \boxed{5}", "5", "the last box"),
    ("never closed box", r"\boxed{5", None, "the last box is not closed"),
    ("unclosed, then closed", r"\boxed{3 no, \boxed{5}", "5", "the last box"),
    ("corrected", r"\boxed{3}. Checking again gives \boxed{5}", "5", "the last box"),
    ("side by side", r"\boxed{4}, \boxed{5}", "4 , 5", "boxes side by side"),
    ("alternative behind", r"\boxed{6} (or 5)", r"6 \text{ or } 5", "a box and another answer after it"),
    ("same thing behind", r"\boxed{1/2} (or 0.5)", "1/2", "the last box"),
    ("tag", "<answer> 5 </answer>", "5", "the answer tag"),
    ("open tag", "<answer>5", None, "the answer tag is not closed"),
    ("hashes", "48 + 24 = 72\n#### 72", "72", "the line after ####"),
    ("heading", "#### Step 2: add 3\nThe answer is 5.", "5", "a phrase"),
    ("phrase", "The answer is 25 apples, not 30.", "25 apples", "a phrase"),
    ("bold phrase", "Therefore, the answer is **25**.", "25", "a phrase"),
    ("phrase and formula", r"the final answer is: \(25\)", "25", "a phrase"),
    ("phrases in one", "Final Answer: The final answer is $5$. I hope it is correct.", "5", "a phrase"),
    ("other language", "所以答案：8。", "8", "a phrase"),
    ("last sentence", "The total is 72 clips, altogether.", "72 clips", "the last sentence"),
    ("nothing but the answer", "x = 5", "x = 5", "the whole text"),
    ("a number in passing", "I tried 20 to 30, including 24, and gave up.", None, "there is no box"),
]


@pytest.mark.parametrize("text, found, rule", [case[1:] for case in FOUND], ids=[case[0] for case in FOUND])
def test_extraction(text, found, rule):
    got, why = extract(text)
    assert got == found and why.startswith(rule)
    verdict = score(text, row_of("12345"))
    assert verdict.reward == 0.0 and why in verdict.reason  # the rule is in the verdict


def test_box_only_where_the_task_says_so():
    assert reward_of("The answer is 5.", "5") == 1
    assert reward_of("The answer is 5.", "5", extract="boxed") == 0
    assert reward_of(r"\boxed{5}", "5", extract="boxed") == 1


@pytest.mark.parametrize(
    "text",
    [
        "5 or 6",
        r"\boxed{5} or \boxed{6}",
        "Answer: 5\nAnswer: 6",
        r"\boxed{5, 6}",
        r"<answer>5</answer> and \boxed{6}",
        r"\boxed{5} <answer>6</answer>",
    ],
)
def test_two_answers_are_none(text):
    text = text if "oxed" in text or "nswer" in text else f"The answer is {text}."
    assert {reward_of(text, "5"), reward_of(text, "6")} <= {0.0, 1.0}
    assert reward_of(text, "5") == 0 or reward_of(text, "6") == 0
    if "<answer>5" not in text:
        assert reward_of(text, "5") == reward_of(text, "6") == 0


@pytest.mark.parametrize("gold, found", _pairs(SAME))
def test_same(gold, found):
    assert judge_text(gold, found)[0] == 1, judge_text(gold, found)


@pytest.mark.parametrize("gold, found", _pairs(OTHER))
def test_other(gold, found):
    assert judge_text(gold, found)[0] == 0, judge_text(gold, found)


def test_prose_gold_is_undecided_and_empty_gold_too():
    assert reward_of(r"\boxed{9}", "9. A lift climbs one floor while the stairs take five, so it is faster.") is None
    verdict = score(r"\boxed{5}", row_of(""))
    assert verdict.reward is None and verdict.reason.startswith("undecided: the gold answer is empty")
    assert verdict.metrics["undecided"] == 1


def test_unreadable_is_counted_apart_from_wrong():
    assert score(r"\boxed{3}", row_of("2")).metrics["unreadable"] == 0
    assert score(r"\boxed{{@Qq 1276 权}}", row_of("2")).metrics["unreadable"] == 1


numbers = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**6)


@some
@given(numbers, numbers)
def test_numbers_are_exact(a, b):
    one, two = f"{a.numerator}/{a.denominator}", rf"\frac{{{b.numerator}}}{{{b.denominator}}}"
    assert equal(one, two) is (a == b)
    assert equal(two, rf"\frac{{{7 * b.numerator}}}{{{7 * b.denominator}}}")
    assert equal(str(a + b), f"{one} + {two}")


@some
@given(st.integers(-(10**30), 10**30))
def test_last_digit_counts(n):
    assert equal(str(n), f"{n:,}") and equal(str(n), f"{n}.000")
    assert equal(str(n), str(n + 1)) is False
