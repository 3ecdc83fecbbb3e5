"""How the environment uses the sandbox."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from code_rows import ADD, BAD, GOOD, SUM

from envs import code_env
from envs.code_env import score
from envs.code_sandbox import Outcome, Run, Sandbox, SandboxError


class Broken:
    """A sandbox that fails, by raising or with its status."""

    def __init__(self, error=None):
        self.error = error

    def run_function(self, source, entry_point, calls, *, time_limit_s):
        if self.error:
            raise self.error
        return Run(
            "sandbox",
            "fork failed",
            [Outcome("sandbox", None, "fork failed", "", "none", 0, 0)] * len(calls),
            "none",
            0,
            0,
        )

    def run_program(self, source, stdin="", *, time_limit_s):
        if self.error:
            raise self.error
        return Outcome("sandbox", None, "fork failed", "", "none", 0, 0)


@pytest.fixture
def put_back():
    yield
    code_env.use_sandbox(None)


@pytest.mark.parametrize("made", [ADD, SUM])
def test_what_could_not_be_judged_is_none_and_is_asked_again(made, put_back):
    text = GOOD if made is ADD else "n = int(input())\nprint(sum(map(int, input().split())))"
    code_env.use_sandbox(Broken())
    verdict = score(text, made)
    assert verdict.reward is None and (verdict.kind, verdict.reason) == ("unjudged", "unjudged: fork failed")
    assert verdict.metrics["unjudged"] == 1.0
    code_env.use_sandbox(Broken(SandboxError("nothing isolates here")))
    with pytest.warns(UserWarning, match="nothing isolates here"):
        assert score(text, made).reward is None
    code_env.use_sandbox(None)
    assert score(text, made).reward == 1.0


def test_the_sandbox_that_is_given_is_used(put_back):
    with Sandbox(memory_mb=256) as mine:
        code_env.use_sandbox(mine)
        assert score(GOOD, ADD).reward == 1.0
        code_env.use_sandbox(None)
    assert score(BAD, ADD).reward == 0.0


def test_many_at_once_get_the_verdicts_that_they_get_one_by_one():
    texts = [f"def add(a, b):\n    return a + b + {i % 3} - {i}" for i in range(24)]
    one_by_one = [score(text, ADD) for text in texts]
    code_env.use_sandbox(None)  # forget the verdicts
    with ThreadPoolExecutor(8) as pool:
        at_once = list(pool.map(lambda text: score(text, ADD), texts))
    assert at_once == one_by_one
    assert {verdict.reward for verdict in at_once} == {0.0, 1.0}


def test_scoring_works_in_a_coroutine():
    async def grade():
        return score("def add(a, b):\n    return b + a", ADD).reward

    assert asyncio.run(grade()) == 1.0


def test_a_long_source_is_graded():
    padding = "\n".join(f"# line {i} of a long file" for i in range(12_000))
    assert score(f"```python\n{padding}\n{GOOD}\n```", ADD).reward == 1.0
