"""Undecided answers, arbitrary text and hostile answers: bounded, never raising, from anywhere."""

import asyncio
import contextlib
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cost import cpu_s
from hypothesis import given
from hypothesis import strategies as st
from math_cases import OTHER, SAME, _pairs, many, reward_of, row_of

from envs import math_env
from envs.math_env import (
    answer,
    equal,
    extract,
    judge_text,
    make_rows,
    parse,
    reward,
    score,
)
from envs.math_env.answers.judging import _gold
from envs.math_env.answers.same_answers import same_answer
from envs.math_env.answers.sympy_process import _worker
from envs.math_env.answers.trees import VALUE_KINDS
from helpers.here import ROOT


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
