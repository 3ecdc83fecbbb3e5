"""Math: labelled pairs and cases, extraction, equality and its laws, hostile answers, tools, problems, other rows."""

import asyncio
import contextlib
import doctest
import json
import re
import shutil
import subprocess
import sys
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest
from cost import cpu_s
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envs import math_env
from envs.math_env import (
    DIFFICULTIES,
    FAMILIES,
    SPLITS,
    STARTER,
    MathEnv,
    answer,
    calculate,
    equal,
    extract,
    judge_text,
    make_rows,
    parse,
    python_tool,
    read_rows,
    reward,
    score,
    tools_for,
)
from envs.math_env.answers.judging import _gold
from envs.math_env.answers.same_answers import same_answer
from envs.math_env.answers.sympy_process import _worker
from envs.math_env.answers.trees import VALUE_KINDS
from helpers.measure.contract import check_env

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True, "database": None}
many, some = settings(max_examples=10_000, **COMMON), settings(max_examples=300, **COMMON)


def row_of(gold: str, **fields) -> dict:
    return {"task": json.dumps({"answer": gold, **fields})}


def reward_of(completion, gold: str, **fields) -> float | None:
    return score(completion, row_of(gold, **fields)).reward


def _lines(name: str) -> list[dict]:
    path = DATA / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def _or_skip(cases: list[dict]) -> list:
    if not cases:
        return [pytest.param(None, marks=pytest.mark.skip(reason="the shared data folder is not there"))]
    return [pytest.param(case, id=case["id"]) for case in cases]


@pytest.fixture(autouse=True, scope="module")
def sympy_is_up():
    """SymPy imported by its worker, which takes seconds on a busy machine, so that no time limit here counts it."""
    equal("7", r"\int_0^7 1\,dx")


# --- labelled pairs and cases ----------------------------------------------------------------------------


def test_labelled_pairs():
    pairs = _lines("math/pairs_dev.jsonl")
    if not pairs:
        pytest.skip("the shared data folder is not there")
    got = [(pair, score(pair["response"], row_of(pair["gold"])).reward) for pair in pairs]
    wrong = [(pair["id"], value) for pair, value in got if value != pair["expected"]]
    assert not [pair["id"] for pair, value in got if value == 1 and pair["expected"] != 1], "false positives"
    assert len(wrong) <= 0.02 * len(pairs), wrong


# Judgement cases are kept as labelled too: the last box counts, an empty or bare \boxed that repeats the instruction
# is skipped, a thin space separates thousands, no tolerance, a bare 28 may be 28 %, and so on. M124 is a cancelled
# task: there is no verdict then at all, which `test_cancelled_task_gives_no_reward` checks.
@pytest.mark.parametrize("case", _or_skip([case for case in _lines("cases/math_dev.jsonl") if case["id"] != "M124"]))
def test_case_file(case):
    assert score(case["response"], row_of(case["gold"])).reward == case["expected"], case["why"]
    if case["mode"] == "strict_boxed":
        assert reward_of(case["response"], case["gold"], extract="boxed") == case["expected"], case["why"]


# --- extraction ------------------------------------------------------------------------------------------

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


# --- equality --------------------------------------------------------------------------------------------

SAME = r"""
42 | 42.0 | +42 | \frac{84}{2} | 042 | forty-two | 4.2e1 | 42 \text{ cm} | x = 42 | \text{42} | $42$ | 42.
1234567 | 1,234,567 | 1{,}234{,}567 | 1 234 567 | 1.234.567 | 1'234'567 | 12,34,567 | 1\,234\,567 | 1\!,\!234\!,\!567
-7 | −7 | –7 | {-}7 | (-7) | -7.00 | - 7
-\frac{3}{4} | \frac{-3}{4} | \frac{3}{-4} | -0.75 | -\dfrac{6}{8} | -3/4
2.5 | 5/2 | 2\frac{1}{2} | 2½ | 2 1/2 | 2,5 | 2.50 | \frac52 | 250\%
1234.56 | 1,234.56 | 1.234,56 | 1 234.56 | \$1,234.56
\frac{1}{3} | 0.\overline{3} | 0.333... | 0.(3) | {1 \over 3} | ⅓ | 33.\overline{3}\% | 3^{-1}
50\% | 0.5 | 50 | \frac12 | 50 percent | 50\text{ per cent}
5 \text{ cm} | 5 | 5cm | 5 centimeters | 5\,\mathrm{cm}
12 \text{ cm}^2 | 12 cm² | 12 square centimeters | 12 \text{ sq cm}
\$3.50 | 3.5 | 3.50 dollars | USD 3.50
3.2e5 | 3.2 \times 10^5 | 320,000 | 32·10⁴ | 3.2 x 10^5
2\sqrt{3} | \sqrt{12} | 2√3 | 12^{1/2} | \frac{6}{\sqrt3} | 2*sqrt(3)
\frac{\sqrt2}{2} | \frac{1}{\sqrt{2}} | 2^{-1/2} | \sin 45^\circ | \cos\frac{\pi}{4}
\sqrt{3+2\sqrt{2}} | 1+\sqrt{2}
\ln 2 | -\ln\frac12 | \frac{\ln 4}{2} | \log_e 2
x^2+2x+1 | (x+1)^2 | x(x+2)+1 | x**2 + 2*x + 1
\sin^2 x | 1-\cos^2 x | (\sin x)^2 | \frac{1-\cos 2x}{2}
\frac{n(n+1)}{2} | \binom{n+1}{2} | \sum_{k=1}^{n} k
2^{n+1}-2 | 2(2^n-1)
(x+y)^{60} | (y+x)^{59}(x+y)
y=2x+1 | 2x+1=y | 2x-y+1=0 | y-2x=1
(2,5] | 2<x\le5 | x\in(2,5] | ]2,5] | x>2 \text{ and } x\le 5
(-\infty,0)\cup(3,\infty) | x<0 \text{ or } x>3 | (3,\infty)\cup(-\infty,0)
\mathbb{R}\setminus\{0\} | x\ne0 | (-\infty,0)\cup(0,\infty)
-1<x<1 | |x|<1 | (-1,1) | x^2<1
(-\infty,-2]\cup[2,\infty) | x^2\ge4 | |x|\ge2 | x\le-2 \text{ or } x\ge2
x\ge3 | [3,\infty) | 3\le x | 2x\ge6
\{1,2,3\} | 3, 2, 1 | {1,2,3} | 1, 2 \text{ and } 3 | \{1,1,2,3\}
(1,2) | (1.0,\frac42) | x=1, y=2 | (x,y)=(1,2)
x=1 \text{ or } x=2 | 2, 1 | x\in\{1,2\} | x_1=1, x_2=2
\pm6 | 6, -6 | \{-6,6\} | \mp 6
\begin{pmatrix}1&2\\3&4\end{pmatrix} | \begin{bmatrix}1&2\\3&\frac82\end{bmatrix} | [[1,2],[3,4]]
\text{(B)} | B | \boxed{B} | Option B | B. 12 cm | \textbf{(B)}
True | \text{true} | TRUE
Tuesday | on tuesday | \text{Tuesday}.
30^\circ | 30 | 30 degrees | \frac{\pi}{6}
7:30 \text{ PM} | 19:30 | 7:30 p.m. | 7:30
3:4 | 6:8 | \frac34
March 5, 2024 | 5 March 2024 | 2024-03-05 | March 5
4210_5 | 4210_{5} | 4210
3+4i | 4i+3 | \frac{25}{3-4i}
2 \pmod 5 | 7 \pmod{5} | x \equiv 2 \pmod 5 | 2
\text{no solution} | \emptyset | No real solutions
3 \text{ million} | 3000000
2^{1000000} | 4^{500000}
"""
OTHER = r"""
42 | 24 | -42 | 4 2 | O | 42x | 42! | x>42 | x \ne 42 | 41 or 42 | (42, 1) | at least 42 | 42 \pm 1
1234567 | 1.234567 | 1,234,576
12,500 | 12 | 12.5 | 12.500
\frac{1}{3} | 0.3 | 0.3333 | 3 | 33\%
50\% | 5\% | 0.5\% | 0.05 | 500\%
5 \text{ cm} | 5 m | 50 cm | 5 \text{ cm}^2 | 5 inches
\$3.50 | 350 | €3.50 | 3.50 euros
2\sqrt{3} | 3\sqrt2 | \sqrt6 | 3.4641016151377544
e^2 | 2e | 7.389
\ln 2 | \log_{10} 2 | \ln 3
\sin^2 x | \sin x^2 | \cos^2 x
|x| | x | -x
y=2x+1 | x=2y+1 | y=2x-1
-1<x<1 | |x|\le1 | x^2<2 | x^2>1 | |x|<1.000001
(2,5] | [2,5] | (5,2] | [2,5) | (2,5)
\{1,2,3\} | \{1,2\} | \{1,2,3,4\}
3, 5, 7 | 3, 5, 7, 9 | 357 | 3 5 7
(1,2) | (2,1) | 1.2 | 12 | \{1,2\} | [1,2]
(1,234) | 1234
\pm6 | 6 | -6
x=5 | y=5 | x=-5
B | A | A/B | B and C | A, B, C, D | D. B | BC
True | False | True or False
even | uneven | odd | not even
7:30 | 1:30 | 7.30
7:30 \text{ PM} | 7:30 AM
4210_5 | 4210_6 | 555
5 | \text{NaN} | None | ? | answer | \frac{}{} | 4\sqrt(2) | 5=6 | [4,6] | 5\text{ or more}
100000000000000000001 | 100000000000000000000
2^{1000000} | 2^{1000001}
(x+y)^{60} | (x+y)^{59}(x+y+1)
\begin{pmatrix}1&2\\3&4\end{pmatrix} | \begin{pmatrix}1&3\\2&4\end{pmatrix}
"""


def _pairs(table: str) -> list[tuple[str, str]]:
    lines = [re.split(r" \| ", line) for line in table.strip().splitlines()]
    return [(line[0], other) for line in lines for other in line[1:]]


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


# --- undecided, SymPy and the judge ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "gold, found, same",
    [
        (r"\frac13", r"\int_0^1 x^2\,dx", True),
        ("1", r"\lim_{x \to 0} \frac{\sin x}{x}", True),
        (r"\frac{\pi^2}{6}", r"\sum_{n=1}^{\infty} \frac{1}{n^2}", True),
        (r"\frac13", r"\int_0^1 x^3\,dx", False),
    ],
)
def test_sympy_settles_what_is_left(gold, found, same):
    pytest.importorskip("sympy")
    assert settled(gold, found) is same


def settled(gold: str, found: str) -> bool | None:
    """What SymPy says, asked again where a busy machine let it be late."""
    for _ in range(60):
        if (same := equal(gold, found)) is not None:
            return same
        time.sleep(0.5)
    return None


def test_without_sympy_those_are_undecided(monkeypatch):
    monkeypatch.setattr(_worker, "ask", lambda question, seconds: "missing")
    monkeypatch.setattr("envs.math_env.answers.sympy_process._asked", {})
    result, why = judge_text("7", r"\int_0^7 1\,dx")
    assert result is None and "SymPy is not installed" in why
    assert reward([r"\boxed{\int_0^7 1\,dx}"], [row_of("7")["task"]]) == [None]


def test_sympy_worker_recovers_from_a_question_that_takes_too_long():
    pytest.importorskip("sympy")
    assert settled("7", r"\int_0^7 1\,dx") is True
    start = time.monotonic()
    assert equal("7", r"\int_0^{\infty} e^{-x^2} \sin(x^3) \ln(x^5+1) dx") is None
    assert time.monotonic() - start < 5
    assert settled("9", r"\int_0^3 x^2\,dx") is True


def test_judge_is_asked_only_about_the_undecided():
    asked = []

    def judge(question, gold, found):
        asked.append((question, gold, found))
        return "lift" in found

    row = {"prompt": [{"role": "user", "content": "Why?"}], **row_of("A lift climbs one floor, the stairs take five")}
    assert score(r"\boxed{the lift is quicker}", row, judge=judge).reward == 1
    assert score(r"\boxed{magic does it all}", row, judge=judge).reward == 0
    assert len(asked) == 2 and asked[0] == ("Why?", json.loads(row["task"])["answer"], "the lift is quicker")
    assert score(r"\boxed{5}", row_of("5"), judge=judge).reward == 1
    assert score(r"\boxed{6}", row_of("5"), judge=judge).reward == 0
    assert score("no idea", row, judge=judge).reward == 0
    assert len(asked) == 2
    verdict = score(r"\boxed{magic}", row, judge=lambda *_: None)
    assert verdict.reward is None and verdict.metrics["judged"] == 0


# --- arbitrary text --------------------------------------------------------------------------------------

SIGNS = r"""
\frac \sqrt \boxed{ \text{ } { \pi \infty \cdot \times \le \pm \cup \in \{ \} \left( \right) \sin \ln \log_ \sum_{i=1}^
\begin{pmatrix} \end{pmatrix} \\ \pmod \overline \int_0^1 dx and or cm percent yes ½ ² √ π − × ≤ ∞ ٣ ６ 权 🙂 <think>
</think> #### <answer> </answer> the answer is 10^{10} 9^9^9 !!!
"""
ATOMS = list("0123456789+-*/^_=<>!|,.;:()[]{}%&'$ \\\nxyzneiABCdfO") + SIGNS.split()
GOLDS = [gold for gold, _ in _pairs(SAME)]
texts = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(ATOMS), max_size=25).map("".join),
    st.lists(st.sampled_from(ATOMS), max_size=12).map(" ".join),
)
LIMIT = 3.0  # CPU seconds after which we call it hanging; how long SymPy may take is bounded apart


def timed(work):
    result = []
    assert cpu_s(lambda: result.append(work())) < LIMIT
    return result[0]


@many
@given(texts, st.sampled_from(GOLDS))
def test_arbitrary_text_raises_nothing(text, gold):
    assert timed(lambda: score(text, row_of(gold)).reward) in (0.0, 1.0, None)
    extract(text)
    parse(text, row_of(gold))
    timed(lambda: judge_text(text, gold))
    if text.strip(" $?.{}") and "\\boxed" not in text:  # reflexive wherever there is something to compare
        assert timed(lambda: judge_text(text, text)[0]) in (1.0, None)


@many
@given(st.sampled_from(_pairs(SAME) + _pairs(OTHER)), st.data())
def test_mutated_answers_raise_nothing_and_compare_both_ways(pair, data):
    gold, found = pair
    at, end = sorted((data.draw(st.integers(0, len(found))), data.draw(st.integers(0, len(found)))))
    mutated = found[:at] + data.draw(st.sampled_from(ATOMS)) * data.draw(st.integers(0, 3)) + found[end:]
    assert timed(lambda: judge_text(gold, mutated)[0]) in (0.0, 1.0, None)
    timed(lambda: judge_text(mutated, gold))
    one, two = (_gold(text) for text in (gold, mutated))
    if one.tree and two.tree and one.kind == two.kind == "value":
        kinds = {one.tree[0], two.tree[0]}
        if kinds <= VALUE_KINDS - {"base", "open"}:
            with contextlib.suppress(math_env.Limit, math_env.Unreadable):
                assert same_answer(one.tree, two.tree) == same_answer(two.tree, one.tree)


# --- hostile answers -------------------------------------------------------------------------------------

HOSTILE = {
    "deep parentheses": "(" * 2000 + "5" + ")" * 2000,
    "deep fractions": r"\frac{1}{" * 400 + "2" + "}" * 400,
    "power tower": "9^{9^{9^{9}}}",
    "plain power tower": "9**9**9**9",
    "ten to the ten to the ten": "10^10^10",
    "giant factorial": "(10^{10})!",
    "factorials of factorials": "((((9!)!)!)!)!",
    "huge digits": "9" * 100_000,
    "huge exponent": "1e999999999",
    "digits and exponent": "9" * 3000 + "e3000",
    "large expansion": "(x+y+z+w)^{200}",
    "many factors": "(x+1)" * 700,
    "huge sum": r"\sum_{i=1}^{10^{12}} i",
    "sums in sums": r"\sum_{i=1}^{400}\sum_{j=1}^{400}\sum_{k=1}^{400} ijk",
    "huge product": r"\prod_{k=1}^{10^{9}} \sin(k)",
    "large binomial": r"\binom{10^9}{10^8}",
    "long list": ",".join(map(str, range(900))),
    "list of roots": ",".join(rf"\sqrt{{{i}}}" for i in range(300)),
    "long chain": "<".join(map(str, range(500))),
    "signs": "-" * 3000 + "5",
    "bars": "|" * 2000 + "5" + "|" * 2000,
    "plus-minus": "+".join([r"\pm 1"] * 300),
    "spaces": "1 " * 50_000,
    "code": "__import__('os').system('touch /tmp/pwned')",
    "lambda": "(lambda: 5)()",
    "sine of a huge number": r"\sin(10^{10^{5}})",
    "tower modulo": r"5^{5^{5^{5}}} \bmod 7",
    "hard integral": r"\int_0^{\infty} e^{-x^2}\sin(x^3)\ln(x) dx",
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_hostile_answers_end_soon_and_earn_nothing(hostile):
    for gold in ("5", "x^2+1", "(1,2)", r"\{1,2\}", r"\sqrt{2}", "B", "yes", "(2,5]"):
        verdict = timed(lambda gold=gold: score(rf"\boxed{{{hostile}}}", row_of(gold)))
        assert verdict.reward in (0.0, None)
        assert timed(lambda gold=gold: judge_text(hostile, gold)[0]) in (0.0, None)
    assert timed(lambda: judge_text(hostile, hostile)[0]) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        r"\boxed{" * 5000,
        r"\boxed{" * 5000 + "}" * 4000,
        "{" * 200_000,
        "x " * 200_000 + r"\boxed{5}",
        "#### " * 20_000,
        "the answer is " * 20_000,
        "<answer>" * 20_000,
        "<think>" * 20_000,
        "answer " * 40_000,
        "$" * 100_000,
        "\\" * 100_000,
        r"\boxed{5} or " * 5_000,
        "total " * 50_000,
        "answer: " + "1," * 50_000,
        "(" * 100_000,
    ],
    ids=range(15),
)
def test_hostile_completions_end_soon(text):
    assert timed(lambda: score(text, row_of("5")).reward) in (0.0, 1.0)


def test_long_text_around_the_answer():
    assert reward_of("x " * 200_000 + r"\boxed{5}", "5") == 1
    assert reward_of(r"\boxed{5}" + " x" * 200_000, "5") == 1


def test_no_evaluation_of_model_text():
    source = "".join(path.read_text(encoding="utf-8") for path in Path(math_env.__file__).parent.rglob("*.py"))
    assert not re.search(r"\b(eval|exec|sympify|parse_expr|parse_latex|compile)\(", source.replace("re.compile(", ""))
    assert "import signal" not in source


# --- anywhere --------------------------------------------------------------------------------------------


def test_from_threads():
    rows = make_rows(20, seed=1) + make_rows(20, seed=1, difficulty="hard")
    texts_ = [answer(row) for row in rows]

    def work(k):
        return [score(text, row).reward for row, text in zip(rows, texts_)] + [reward_of(r"\boxed{2}", "2")] * 5

    with ThreadPoolExecutor(16) as pool:
        assert all(set(got) == {1.0} for got in pool.map(work, range(16)))


def test_sympy_from_threads_and_a_running_loop():
    pytest.importorskip("sympy")

    def work(k):
        return settled(str(k * k), rf"\int_0^{{{k}}} 2x\,dx")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(1, 9))) == [True] * 8

    async def cell():
        return settled("8", r"\int_0^2 3x^2\,dx"), await asyncio.to_thread(settled, "8", r"\int_0^2 4x\,dx")

    assert asyncio.run(cell()) == (True, True)


def test_cancelled_task_gives_no_reward():
    async def cell():
        started, rewards = threading.Event(), []

        def work():
            started.set()
            time.sleep(0.2)
            return reward_of(r"\boxed{3}", "2")

        async def task():
            rewards.append(await asyncio.to_thread(work))

        one = asyncio.create_task(task())
        await asyncio.to_thread(started.wait)
        one.cancel()
        with pytest.raises(asyncio.CancelledError):
            await one
        return rewards

    assert asyncio.run(cell()) == []


def test_alarm_of_the_caller_survives():
    signal = pytest.importorskip("signal")
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timers here")
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        signal.setitimer(signal.ITIMER_REAL, 500)
        for gold, found in _pairs(SAME):
            judge_text(gold, found)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 400
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_the_folder_works_alone_and_importing_starts_nothing(tmp_path):
    shutil.copytree(ROOT / "envs" / "math_env", tmp_path / "math_env", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import sys; sys.path.insert(0, '.'); import math_env as m\n"
        "from math_env.answers.sympy_process import _worker\n"
        "assert _worker.process is None\n"
        "for row in m.make_rows(43) + m.make_rows(43, difficulty='hard', tools=True):\n"
        "    assert m.score(m.answer(row), row).reward == 1.0 and m.score('', row).reward == 0.0\n"
        "print(sorted(x for x in ('sympy', 'numpy', 'envs', 'helpers') if x in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


# --- the environment -------------------------------------------------------------------------------------


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


# --- problems --------------------------------------------------------------------------------------------


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


# --- rows of others --------------------------------------------------------------------------------------


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
    if not records:
        pytest.skip("the shared data folder is not there")
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


# --- running Python --------------------------------------------------------------------------------------

PYTHON = make_rows(1, seed=2, run_python=True)[0]


class Ended(NamedTuple):
    status: str
    stdout: str
    error: str = ""


@pytest.fixture
def sandbox(monkeypatch):
    """A stand-in that says what it is told to, and keeps the programs that it was given."""
    made = types.ModuleType("envs.code_sandbox")
    made.says, made.ran = Ended("ok", ""), []

    class Sandbox:
        def run_program(self, source, stdin="", *, time_limit_s):
            made.ran.append(source)
            if isinstance(made.says, Exception):
                raise made.says
            return made.says

    made.Sandbox = Sandbox
    monkeypatch.setitem(sys.modules, "envs.code_sandbox", made)
    python_tool._sandbox.cache_clear()
    yield made
    python_tool._sandbox.cache_clear()


def run_python(code: str, row: dict = PYTHON) -> str:
    env = MathEnv()
    env.reset(**row)
    return env.run_python(code)


def test_run_python_is_offered_only_by_rows_that_ask_for_it(sandbox):
    plain, tools = make_rows(1, seed=2)[0], make_rows(1, seed=2, tools=True)[0]
    assert [tools_for(row) for row in (plain, tools, PYTHON)] == [
        ["calculate", "submit"], ["calculate", "submit"], ["calculate", "submit", "run_python"]]  # fmt: skip
    for row in (plain, tools):
        with pytest.raises(ValueError, match="without run_python; use calculate and submit"):
            run_python("print(1)", row)
    assert sandbox.ran == []
    assert len({row["task_id"] for row in (plain, tools, PYTHON)}) == 3
    assert json.loads(PYTHON["task"])["answer"] == json.loads(tools["task"])["answer"]


@pytest.mark.parametrize(
    "says, text",
    [
        (Ended("ok", "42\n"), "42"),
        (Ended("ok", ""), "Nothing was printed; print what you want to see."),
        (Ended("exception", "1\n", "ValueError: no (line 2)"), "1\nexception: ValueError: no (line 2)"),
        (Ended("time limit", "1\n2\n"), "1\n2\ntime limit"),
    ],
)
def test_run_python_shows_what_was_printed_and_the_error(sandbox, says, text):
    sandbox.says = says
    assert run_python("print(6 * 7)") == text
    assert sandbox.ran == ["print(6 * 7)"]


def test_what_run_python_shows_is_capped(sandbox):
    much = "7" * 10**6
    for says in (Ended("ok", much), Ended("exception", "", much), Ended("exited", much, much)):
        sandbox.says = says
        assert "characters left out" in run_python("x") and len(run_python("x")) < 4200


@pytest.mark.parametrize("says", [Ended("sandbox", "", "fork failed"), RuntimeError("nothing isolates here")])
def test_a_sandbox_that_cannot_run_it_is_named_to_the_model(sandbox, says):
    sandbox.says = says
    with pytest.raises(ValueError, match=r"^Python .* be run .*(fork failed|nothing isolates here).* use calculate$"):
        run_python("print(1)")


def test_without_a_sandbox_run_python_gives_advice(monkeypatch):
    monkeypatch.setitem(sys.modules, "envs.code_sandbox", None)
    python_tool._sandbox.cache_clear()
    with pytest.raises(ValueError, match=r"^Python cannot be run here .*; use calculate$"):
        run_python("print(1)")


def test_scoring_counts_programs_and_does_not_run_them_again(sandbox):
    gold = json.loads(PYTHON["task"])["answer"]
    calls = [("run_python", {"code": "print(1)"}), ("run_python", {"code": ""}), ("run_python", {"source": "x"})]
    made = [{"function": {"name": name, "arguments": given}} for name, given in [*calls, ("submit", {"answer": gold})]]
    verdict = score([{"role": "assistant", "content": "", "tool_calls": made}], PYTHON)
    assert verdict.reward == 1.0 and verdict.metrics["calls"] == 3.0 and sandbox.ran == []


def test_contract_of_rows_with_run_python(sandbox):
    assert check_env(math_env, run_python=True)["gold"] == "8 of 8 gold answers score 1"


def test_run_python_in_the_real_sandbox():
    module = pytest.importorskip("envs.code_sandbox")
    python_tool._sandbox.cache_clear()
    try:
        module.Sandbox().close()
    except module.SandboxError as fault:
        pytest.skip(f"nothing isolates here: {fault}")
    assert run_python("print(sum(range(10)))") == "45"
    assert "ZeroDivisionError" in run_python("print(1)\n1 / 0")
    assert "time limit" in run_python("while True: pass")


def test_value_of_a_decimal_is_exact():
    assert equal("0.1", str(Fraction(1, 10))) and equal("0.3", "0.1 + 0.2")
