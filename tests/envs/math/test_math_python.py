"""Running Python as a tool."""

import json
import sys
import types
from fractions import Fraction
from typing import NamedTuple

import pytest

from envs import math_env
from envs.math_env import (
    MathEnv,
    equal,
    make_rows,
    python_tool,
    score,
    tools_for,
)
from helpers.measure.contract import check_env

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
