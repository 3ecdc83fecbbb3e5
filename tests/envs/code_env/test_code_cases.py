"""Cases from public bug reports, and labelled programs, as answers to code tasks."""

import json
from pathlib import Path

import pytest
from code_rows import program, row

from envs.code_env import score

DATA = Path(__file__).resolve().parents[2] / "data"
CASES = DATA / "cases" / "code_dev.jsonl"
ATTACKS = DATA / "sandbox_attacks"
GROUPS = ("benign", "forge", "text", "wrong", "stdio")


def cases() -> list[dict]:
    lines = CASES.read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case.get("response") is not None]


def test_there_are_cases():
    assert len(cases()) > 30


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_case_from_a_public_report(case):
    made = program(*case["tests"]) if case["mode"] == "stdio" else row(case["entry_point"], case["tests"])
    verdict = score(case["response"], made)
    assert verdict.reward == case["expected"], (case["sketch"], verdict.reason)


def labelled_programs() -> list[dict]:
    """Those that need no canary to be set up, with a verdict that is no matter of policy."""
    lines = (ATTACKS / "attacks.jsonl").read_text(encoding="utf-8").splitlines()
    return [one for one in map(json.loads, lines) if one["group"] in GROUPS and one["expect"] != "any"]


@pytest.mark.parametrize("one", labelled_programs(), ids=lambda one: one["id"])
def test_labelled_program(one):
    source = (ATTACKS / one["file"]).read_bytes().decode("utf-8", "surrogatepass")
    task = {"tests": one["tests"], "comparison": one["cmp"], "time_limit_s": 5}
    task |= {"entry_point": one["entry"]} if one["kind"] == "call" else {}
    verdict = score(f"```python\n{source}\n```", {"task": json.dumps(task)})
    assert verdict.reward == {"pass": 1.0, "fail": 0.0}[one["expect"]], verdict.reason
