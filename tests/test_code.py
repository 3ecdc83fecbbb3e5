"""The code environment: which code an answer offers, how results compare, what the tools show, and its problems."""

import asyncio
import base64
import gzip
import json
import math
import pickle
import re
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from envs import code_env
from envs.code_env import CodeEnv, answer, extract, judging, make_rows, parse, problems, read_rows, reward, same, score
from envs.code_env.problems.solutions import load_solution
from envs.code_sandbox import Outcome, Run, Sandbox, SandboxError
from helpers.contract import check_env
from helpers.evaluation import CAPABILITIES, kind, stress_set

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
CASES = SHARED / "data" / "cases" / "code_dev.jsonl"
NEMO = SHARED / "data" / "nemo_gym"
PASS, FAIL = 1.0, 0.0


def row(entry_point="add", tests=(([1, 2], 3), ([5, -2], 3), ([0, 0], 0)), **fields) -> dict:
    """A row of a function task, from arguments and expected values."""
    tests = [{"args": repr(given), "expected": repr(expected)} for given, expected in tests]
    return {"task": json.dumps({"entry_point": entry_point, "tests": tests, **fields})}


def program(*tests: tuple[str, str], **fields) -> dict:
    return {"task": json.dumps({"tests": [{"stdin": i, "stdout": o} for i, o in tests], **fields})}


ADD = row()
SUM = program(("3\n1 2 3\n", "6\n"), ("1\n-5\n", "-5\n"))
GOOD = "def add(a, b):\n    return a + b"
BAD = "def add(a, b):\n    return a - b"


# --- cases from public bug reports -----------------------------------------------------------------------


def cases() -> list[dict]:
    if not CASES.is_file():
        return []
    lines = CASES.read_text(encoding="utf-8").splitlines()
    return [case for case in map(json.loads, lines) if case.get("response") is not None]


@pytest.mark.skipif(not CASES.is_file(), reason=f"{CASES} is not there")
def test_there_are_cases():
    assert len(cases()) > 30


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_case_from_a_public_report(case):
    made = program(*case["tests"]) if case["mode"] == "stdio" else row(case["entry_point"], case["tests"])
    verdict = score(case["response"], made)
    assert verdict.reward == case["expected"], (case["sketch"], verdict.reason)


ATTACKS = SHARED / "data" / "sandbox_attacks"
GROUPS = ("benign", "forge", "text", "wrong", "stdio")


def labelled_programs() -> list[dict]:
    """Those that need no canary to be set up, with a verdict that is no matter of policy."""
    if not ATTACKS.is_dir():
        return []
    lines = (ATTACKS / "attacks.jsonl").read_text(encoding="utf-8").splitlines()
    return [one for one in map(json.loads, lines) if one["group"] in GROUPS and one["expect"] != "any"]


@pytest.mark.parametrize("one", labelled_programs(), ids=lambda one: one["id"])
def test_labelled_program(one):
    source = (ATTACKS / one["file"]).read_bytes().decode("utf-8", "surrogatepass")
    task = {"tests": one["tests"], "comparison": one["cmp"], "time_limit_s": 5}
    task |= {"entry_point": one["entry"]} if one["kind"] == "call" else {}
    verdict = score(f"```python\n{source}\n```", {"task": json.dumps(task)})
    assert verdict.reward == {"pass": 1.0, "fail": 0.0}[one["expect"]], verdict.reason


# --- which code is taken ---------------------------------------------------------------------------------

TAKEN = {
    "no fence": GOOD,
    "no fence, prose around": f"Sure, here it is:\n\n{GOOD}\n\nThis adds the two values, for any numbers.",
    "no fence, prose right behind": f"{GOOD}\nDone",
    "no fence, an import first": "The code is\nimport operator\n\nadd = operator.add\n\nHope this helps!",
    "no fence, a bracket and a string over lines": 'def add(a, b):\n    """Adds.\n\nAny numbers\n"""\n'
        '    return sum([\na,\nb\n])',
    "python": f"```python\n{GOOD}\n```",
    "py": f"```py\n{GOOD}\n```",
    "Python3": f"```Python3\n{GOOD}\n```",
    "tag with attributes": f"```python title=\"add.py\"\n{GOOD}\n```",
    "braces around the tag": f"```{{python}}\n{GOOD}\n```",
    "tildes": f"~~~python\n{GOOD}\n~~~",
    "four marks": f"````python\n{GOOD}\n````",
    "marks inside a comment": f"````python\n# ```\n{GOOD}\n````",
    "never closed": f"Here:\n```python\n{GOOD}",
    "empty block after": f"```python\n{GOOD}\n```\n```\n```",
    "in a list": "1. Write it:\n\n   ```python\n   def add(a, b):\n       return a + b\n   ```\n2. Done.",
    "indented with tabs": "\t```python\n\tdef add(a, b):\n\t\treturn a + b\n\t```",
    "a quote in the docstring": "```python\ndef add(a, b):\n    \"\"\"\n```\nadd(1, 2)\n```\n    \"\"\"\n"
        "    return a + b\n```",
    "fence after words": f"The code: ```python\n{GOOD}\n```",
    "fence behind the last line": f"```python\n{GOOD}```",
    "all on one line": "```python def add(a, b): return a + b```",
    "in one line of prose": "You want `def add(a, b): return a + b` here.",
    "carriage returns": f"```python\r\n{GOOD}\r\n```\r\n".replace("\n    ", "\r\n    "),
    "byte order mark": f"\ufeff```python\n\ufeff{GOOD}\n```",
    "no-break spaces": "```python\ndef add(a, b):\n\u00a0\u00a0\u00a0\u00a0return a + b\n```",
    "session": "```python\n>>> def add(a, b):\n...     return a + b\n...\n>>> add(1, 2)\n3\n```",
    "usage after": f"```python\n{GOOD}\n```\nUse:\n```python\nprint(add(1, 2))\n```",
    "output after": f"```python\n{GOOD}\n```\nOutput:\n```\n3\n```\n```text\nadd is done\n```",
    "shell before": f"```bash\npip install add\n```\n```python\n{GOOD}\n```",
    "correction": f"```python\n{BAD}\n```\nNo, rather:\n```python\n{GOOD}\n```",
    "forgotten end": f"```python\n{BAD}\n```python\n{GOOD}\n```",
    "imports in a block of their own": "```python\nimport operator\n```\nthen\n```python\ndef add(a, b):\n"
        "    return operator.add(a, b)\n```",
    "helper in a block of its own": "```python\ndef plus(a, b):\n    return a + b\n```\n```python\n"
        "def add(a, b):\n    return plus(a, b)\n```",
    "reasoning with another version": f"<think>\n```python\n{BAD}\n```\n</think>\n```python\n{GOOD}\n```",
    "reasoning opened in the prompt": f"```python\n{BAD}\n```\n</think>\n{GOOD}",
    "lambda": "```python\nadd = lambda a, b: a + b\n```",
    "annotated name": "```python\nfrom collections.abc import Callable\nadd: Callable = lambda a, b: a + b\n```",
    "imported name": "```python\nfrom operator import add\n```",
    "behind a condition": "```python\nif True:\n    def add(a, b):\n        return a + b\n```",
    "async": "```python\nasync def add(a, b):\n    return a + b\n```",
    "class": "```python\nclass Solution:\n    def add(self, a, b):\n        return a + b\n```",
    "class without a fence": "class Solution:\n    def add(self, a, b):\n        return a + b",
    "main guard": f"```python\n{GOOD}\n\nif __name__ == '__main__':\n    print(add(*map(int, input().split())))\n```",
    "json call": json.dumps({"name": "submit", "arguments": {"code": GOOD}}).join(("<tool_call>", "</tool_call>")),
    "json call with a fence": json.dumps(
        {"name": "submit", "arguments": {"code": f"```python\n{GOOD}\n```"}}).join(("<tool_call>", "</tool_call>")),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_the_code_that_a_user_would_take_is_taken(name):
    verdict = score(TAKEN[name], ADD)
    assert verdict.reward == PASS, verdict.reason


NOT_TAKEN = {
    "empty": ("", "no answer"),
    "blank": (" \n\t", "no answer"),
    "prose": ("You add the two numbers and return the sum.", "no answer"),
    "call only": ("add(1, 2) == 3", "no answer"),
    "reasoning never ends": (f"<think>\n```python\n{GOOD}\n```", "no answer"),
    "reasoning only": (f"<think>\n```python\n{GOOD}\n```\n</think>", "no answer"),
    "harmony reasoning only": (f"<|channel|>analysis<|message|>```python\n{GOOD}\n```", "no answer"),
    "other name": ("```python\ndef plus(a, b):\n    return a + b\n```", "no function"),
    "other language": ("```javascript\nfunction add(a, b) { return a + b; }\n```", "no answer"),
    "last version wrong": (f"```python\n{GOOD}\n```\nor\n```python\n{BAD}\n```", "wrong answer"),
    "no colon": ("```python\ndef add(a, b)\n    return a + b\n```", "syntax error"),
    "cut off": ("```python\ndef add(a, b):\n    return (a +", "syntax error"),
    "spray": ("\n\n".join(f"def add(a, b): return a + b * {i}" for i in (3, 2, 4, 0, 5, 1)), "several answers"),
    "spray of fences": (
        "\n".join(f"```python\ndef add(a, b): return a + b * {i}\n```" for i in (3, 2, 4, 0, 5, 1)), "several answers"),
    "tests as answer": ("```python\nassert add(1, 2) == 3\n```", "exception"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_what_is_no_right_answer_earns_nothing_and_says_why(name):
    text, why = NOT_TAKEN[name]
    verdict = score(text, ADD)
    assert (verdict.reward, kind(verdict.reason)) == (FAIL, why), verdict.reason


PROGRAMS = {
    "fenced": "```python\nn = int(input())\nprint(sum(map(int, input().split())))\n```",
    "no fence": "n = int(input())\nprint(sum(map(int, input().split())))",
    "prose around": "First read n:\n\nimport sys\ndata = sys.stdin.read().split()\n"
        "print(sum(map(int, data[1:])))\n\nThat is all.",
    "main function": "```python\ndef main():\n    input()\n    print(sum(map(int, input().split())))\n\n"
        "if __name__ == '__main__':\n    main()\n```",
    "iterating over stdin": "```python\nimport sys\nlines = list(sys.stdin)\n"
        "print(sum(map(int, lines[1].split())))\n```",
    "example of the output behind": "```python\ninput()\nprint(sum(map(int, input().split())))\n```\n"
        "It shows:\n```\n6\n```",
    "buffer": "```python\nimport sys\nsys.stdin.buffer.readline()\n"
        "sys.stdout.write(str(sum(map(int, sys.stdin.buffer.readline().split()))))\n```",
    "blanks at the ends": "```python\ninput()\nprint(sum(map(int, input().split())), ' ')\nprint()\n```",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_read_stdin_and_print(name):
    verdict = score(PROGRAMS[name], SUM)
    assert verdict.reward == PASS, verdict.reason


@pytest.mark.parametrize(
    "code, why",
    [
        ("print(6)", "wrong answer"),
        ("print(input())", "wrong answer"),
        ("input(); print('sum:', sum(map(int, input().split())))", "wrong answer"),
        ("input(); print(sum(map(int, input().split()))); raise ValueError('no')", "exception"),
        ("print(input() + input() + input())", "exception"),
        ("while True: pass; print(1)", "time limit"),
    ],
)
def test_programs_that_fail_say_how(code, why):
    made = program(("3\n1 2 3\n", "6\n"), ("1\n-5\n", "-5\n"), time_limit_s=0.5)
    verdict = score(f"```python\n{code}\n```", made)
    assert (verdict.reward, kind(verdict.reason)) == (FAIL, why), verdict.reason


def test_parse_gives_the_code_and_no_more():
    assert parse(f"Look:\n```python\n{GOOD}\n```\nDone.", ADD) == [("submit", {"code": GOOD})]
    assert parse("nothing here", ADD) == []
    assert extract("<think>hm", "add") == (None, "no answer: nothing follows the reasoning")


ODD = (
    "`" * 100_000, "```\n" * 50_000, "'''" * 60_000, "(" * 100_000, "def f(" * 30_000,
    "```python\n" + "x = 1\n" * 60_000,
    "a = b = " * 40_000, "\n" * 300_000, "for x in y " * 30_000, "```python\n'''\n" + "```\n" * 50_000,
    "`" * 50_000 + " x y", "```" + " " * 200_000 + "x", "x " * 100_000 + "```", "if a " * 60_000, "a, " * 90_000,
    "f(" + "a" * 300_000, "import " + "x, " * 90_000, "x" + "[" * 200_000, "\"" * 99_999, "<think>" * 40_000,
)  # fmt: skip


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_extraction_of_odd_texts_takes_no_time(text):
    ended = threading.Event()

    def work():
        extract(text, "add")
        extract(text, "")
        ended.set()

    threading.Thread(target=work, daemon=True).start()
    assert ended.wait(30)


# --- comparing -------------------------------------------------------------------------------------------

NAN = math.nan
EQUAL = [
    ("eq", 3, 3), ("eq", 3, 3.0), ("eq", True, 1), ("eq", [1, 2], (1, 2)), ("eq", {"a": [1]}, {"a": (1,)}),
    ("eq", {1, 2}, {2, 1}), ("eq", {"a": 1, "b": 2}, {"b": 2, "a": 1}), ("eq", None, None), ("eq", b"x", b"x"),
    ("eq", {1: "a"}, {1.0: "a"}), ("eq", {(1, 2): 3}, {(1, 2): 3}), ("eq", math.inf, math.inf), ("eq", 1 + 0j, 1),
    ("approx", 0.1 + 0.2, 0.3), ("approx", [1.0, {"a": 2.5}], (1, {"a": 2.5000001})), ("approx", 1e12, 1e12 + 1),
    ("approx", NAN, NAN), ("approx", math.inf, math.inf), ("approx", 3, 3), ("approx", "a", "a"), ("approx", 2, 2.0),
    ("nan", NAN, NAN), ("nan", [1, NAN], (1, NAN)), ("nan", {"a": NAN}, {"a": NAN}),
    ("unordered", [1, 2, 2], [2, 1, 2]), ("unordered", [1, 2], {2, 1}), ("unordered", ["a", [1]], [(1,), "a"]),
    ("unordered", 3, 3), ("unordered", [{"a": 1}, {"b": 2}], [{"b": 2}, {"a": 1}]),
    ("exact", [1, 2], [1, 2]), ("exact", NAN, NAN), ("exact", {"a": 1}, {"a": 1}),
]  # fmt: skip
DIFFERENT = [
    ("eq", 3, 4), ("eq", 3, "3"), ("eq", 3, NAN), ("eq", NAN, NAN), ("eq", [1, 2], [2, 1]), ("eq", [1], {1}),
    ("eq", [1, 2], [1, 2, 3]), ("eq", 0.3, 0.1 + 0.2), ("eq", "a", ["a"]), ("eq", {}, []), ("eq", "", None),
    ("eq", 0, None), ("eq", False, None), ("eq", "x", b"x"), ("eq", {"a": 1}, {"a": 1, "b": 2}), ("eq", 0, ""),
    ("approx", 1.0, 1.01), ("approx", 14.0, NAN), ("approx", 10**12, 10**12 + 1), ("approx", 1.0, "1.0"),
    ("approx", [1.0], [1.0, 1.0]), ("approx", 1.0, None), ("approx", math.inf, 1e308), ("approx", 1.0, 10**400),
    ("nan", NAN, 1), ("nan", [NAN], [1]), ("nan", 1, NAN), ("nan", 0.3, 0.1 + 0.2),
    ("unordered", [1, 2, 2], [1, 2]), ("unordered", [1, 1, 2], {1, 2}), ("unordered", [[1, 2]], [[2, 1]]),
    ("unordered", "ab", "ba"), ("unordered", [1], 1),
    ("exact", 1, True), ("exact", 1, 1.0), ("exact", [1], (1,)), ("exact", [[1]], [[True]]),
    ("exact", {"a": 1}, {"a": True}),
]  # fmt: skip


@pytest.mark.parametrize("comparison, expected, found", EQUAL)
def test_values_that_count_as_the_same(comparison, expected, found):
    assert same(expected, found, comparison)


@pytest.mark.parametrize("comparison, expected, found", DIFFERENT)
def test_values_that_differ(comparison, expected, found):
    assert not same(expected, found, comparison)


@pytest.mark.parametrize(
    "comparison, code, expected, right",
    [
        ("approx", "return 0.1 + 0.2", "0.3", True),
        ("eq", "return 0.1 + 0.2", "0.3", False),
        ("nan", "return float('nan')", "nan", True),
        ("nan", "return float('nan')", "float('nan')", True),
        ("eq", "return float('nan')", "14", False),
        ("unordered", "return {3, 1}", "[1, 3]", True),
        ("eq", "return {1, 3}", "{3, 1}", True),
        ("eq", "return set()", "set()", True),
        ("exact", "return True", "1", False),
        ("eq", "return list(range(x))", "list(range(50000))", True),
        ("eq", "return [0] * x", "[0] * 50000", True),
    ],
)
def test_a_row_says_how_results_compare(comparison, code, expected, right):
    task = {"entry_point": "f", "tests": [{"args": "[50000]", "expected": expected}], "comparison": comparison}
    assert score(f"def f(x): {code}", {"task": json.dumps(task)}).reward == float(right)


@pytest.mark.parametrize(
    "comparison, expected, printed, right",
    [
        ("eq", "1\n2\n", "1 \n2", True),
        ("eq", "1\n2\n", "1\n2\n\n\n", True),
        ("eq", "1\n2\n", "1\r\n2\r\n", True),
        ("eq", "1\n2\n", "2\n1\n", False),
        ("eq", "  *\n", "*\n", False),
        ("eq", "1\n\n2\n", "1\n2\n", False),
        ("eq", "0.5\n", "0.50\n", False),
        ("approx", "0.5\n", "0.50\n", True),
        ("approx", "0.333333\n", "0.33333333\n", True),
        ("approx", "1000000000000\n", "1000000000001\n", False),
        ("approx", "1 2\n", "1\n2\n", True),
        ("approx", "yes\n", "no\n", False),
        ("approx", "1\n", "1 1\n", False),
        ("unordered", "a\nb\n", "b\na\n", True),
        ("unordered", "a\nb\n", "b\nb\n", False),
    ],
)
def test_output_compares_as_the_row_says(comparison, expected, printed, right):
    made = program(("", expected), comparison=comparison)
    code = f"```python\nimport sys\nsys.stdout.write({printed!r})\n```"
    assert score(code, made).reward == float(right)


def test_a_row_that_is_no_task_is_refused_with_the_remedy():
    for fields, message in (
        ({"entry_point": "f", "tests": []}, "no tests"),
        ({"entry_point": "f", "tests": [{"args": "[1]", "expected": "1"}], "comparison": "equal"}, "eq, approx"),
        ({"entry_point": "f", "tests": [{"args": "3", "expected": "1"}]}, "list of arguments"),
        ({"entry_point": "f", "tests": [{"args": "[open('x')]", "expected": "1"}]}, "not a Python literal"),
        ({"entry_point": "f", "tests": [{"args": "[[0] * 10**9]", "expected": "1"}]}, "not a Python literal"),
    ):
        with pytest.raises(ValueError, match=message):
            score(GOOD, {"task": json.dumps(fields)})


# --- verdicts --------------------------------------------------------------------------------------------


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
    assert re.fullmatch(why, kind(verdict.reason)) and re.search(words, verdict.reason), verdict.reason
    assert kind(verdict.reason) in CAPABILITIES
    assert len(verdict.reason) < 400


def test_every_kind_of_failure_has_a_capability():
    kinds = {why for _, why in NOT_TAKEN.values()} | {"no function", "time limit", "memory limit", "output limit"}
    assert kinds | {"exited", "crashed", "bad value", "unjudged", "tool fault"} <= set(CAPABILITIES)


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


# --- tools -----------------------------------------------------------------------------------------------


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


def call(name: str, **arguments) -> dict:
    return {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


def test_messages_are_replayed_and_text_counts_only_without_calls():
    assert score([call("run", code=BAD), call("submit", code=GOOD)], ADD).reward == PASS
    assert score([call("submit", code=BAD), call("submit", code=GOOD)], ADD).reward == FAIL
    said = {"role": "assistant", "content": f"```python\n{GOOD}\n```"}
    assert score([said], ADD).reward == PASS
    assert score([call("run", code=GOOD), said], ADD).reward == FAIL  # as live: nothing was handed in
    verdict = score([call("sumbit", code=GOOD)], ADD)
    assert verdict.reward == FAIL and kind(verdict.reason) == "tool fault"
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


# --- the sandbox -----------------------------------------------------------------------------------------


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
    text = GOOD if made is ADD else PROGRAMS["no fence"]
    code_env.use_sandbox(Broken())
    verdict = score(text, made)
    assert verdict.reward is None and verdict.reason == "unjudged: fork failed"
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


def test_secrets_of_the_caller_are_not_seen(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret_value")
    env = CodeEnv()
    env.reset(prompt=[{}], **row(examples=[{"args": "[1, 1]", "expected": "2"}]))
    assert "hf_secret_value" not in env.run("import os\ndef add(a, b):\n    return str(dict(os.environ))")


# --- problems --------------------------------------------------------------------------------------------

LEVELS = [(d, k) for d in problems.DIFFICULTIES for k in problems.KINDS]


@pytest.mark.parametrize("difficulty, form", LEVELS)
def test_references_pass_and_other_answers_fail_in_the_sandbox(difficulty, form):
    rows = make_rows(6, seed=11, difficulty=difficulty, kind=form)
    for made in rows:
        verdict = score(answer(made), made)
        assert verdict.reward == PASS, (made["prompt"], answer(made), verdict.reason)
    for name, completions in stress_set(code_env, rows).items():
        assert not any(score(text, made).reward for text, made in zip(completions, rows)), name


TRIVIAL = (
    "pass",
    "return 0",
    "return 1",
    "return ''",
    "return []",
    "return {}",
    "return True",
    "return False",
    "return a[0]",
)


def test_trivial_functions_fail_in_the_sandbox():
    for made in make_rows(8, seed=12):
        for body in TRIVIAL:
            assert score(f"def f(*a): {body}", made).reward == FAIL, (body, made["prompt"])


@pytest.mark.parametrize("difficulty, form", LEVELS)
def test_every_problem_is_proved(difficulty, form):
    for problem in problems.draw(25, seed=2, difficulty=difficulty, kind=form):
        assert problem.proof.killed >= 3 and problem.proof.mutants >= problem.proof.killed
        assert len(problem.proof.trivial) >= 8
        shown, hidden = ([repr(given) for given, _ in part] for part in (problem.examples, problem.tests))
        assert not set(shown) & set(hidden) and len(set(hidden)) == len(hidden) >= 8
        call = load_solution(problem.solution, form, problem.entry_point)
        assert all(call(given) == expected for given, expected in (*problem.examples, *problem.tests))


def test_there_are_thousands_of_different_problems_and_splits_share_none():
    """No function stands in two splits, at any level, whatever the wording; each draw gives different ones."""
    owner: dict[str, str] = {}
    compositions: dict[tuple, str] = {}
    wanted = {"easy": (1400, 150, 150), "medium": (2900, 150, 150), "hard": (250, 30, 30)}
    for difficulty, counts in wanted.items():
        for split, n in zip(problems.SPLITS, counts):
            drawn = problems.draw(n, seed=3, split=split, difficulty=difficulty)
            assert len({problem.fingerprint for problem in drawn}) == n
            for problem in drawn:
                assert owner.setdefault(problem.fingerprint, split) == split, problem.blocks
                takes = problems.BLOCKS[problem.blocks[0]].takes
                assert compositions.setdefault((takes, *sorted(problem.blocks)), split) == split
    assert len(owner) >= 5000


def test_splits_are_the_same_for_every_kind():
    """A program and a function of one composition are never on two sides."""
    where = {}
    for form in problems.KINDS:
        for split in problems.SPLITS:
            for problem in problems.draw(60, seed=9, split=split, kind=form):
                assert where.setdefault(problem.fingerprint, split) == split


def test_easy_prompts_are_short_and_their_solutions_one_line():
    rows = make_rows(150, seed=1)
    assert max(len(made["prompt"][0]["content"].split()) for made in rows) < 60
    assert all("\n" not in answer(made) and answer(made).startswith("def f(") for made in rows)
    assert len({made["prompt"][0]["content"] for made in rows}) == 150


def test_an_easy_composition_has_one_wording_and_others_several():
    def first_words(difficulty):
        return {made["prompt"][0]["content"].split()[0] for made in make_rows(60, seed=6, difficulty=difficulty)}

    assert first_words("easy") == {"Write"}
    assert len(first_words("medium")) >= 3


def test_all_topics_are_drawn():
    names = {name for d in ("medium", "hard") for p in problems.draw(150, seed=8, difficulty=d) for name in p.blocks}
    types = {problems.BLOCKS[name].takes for name in names}
    assert types == {"ints", "strs", "str", "int", "dict", "date", "dates", "moves"}
    assert names & {"account", "tank", "stack", "circle", "walk", "fenced", "collatz"}


def test_tools_rows_ask_for_the_tools():
    made = make_rows(1, seed=1, tools=True)[0]
    assert "submit tool" in made["prompt"][0]["content"]
    said = answer(made)
    assert [m["tool_calls"][0]["function"]["name"] for m in said if m.get("tool_calls")] == ["run", "submit"]
    assert score(said, made).reward == 1.0


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"n": -1}, "n must be a whole number"),
        ({"n": True}, "n must be a whole number"),
        ({"n": 1, "split": "dev"}, "split must be one of train, validation, test"),
        ({"n": 1, "difficulty": "trivial"}, "difficulty must be one of easy, medium, hard"),
        ({"n": 1, "kind": "method"}, "kind must be one of function, program, class"),
        ({"n": 100_000, "split": "validation"}, "found only .* of 100000 easy problems"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_rows(**arguments)


def test_built_in_blocks_are_sound():
    for block in problems.BLOCKS.values():
        assert len(block.says) >= 2 and len(set(block.says)) == len(block.says), block.name
        assert ("{k}" in block.code) == bool(block.values), block.name
        assert block.level or ("{y}" not in block.code and block.code.count("{x}") == 1), block.name
        for say in block.says:
            assert ("{k}" in say) == bool(block.values) and "{x}" not in say, block.name


@pytest.mark.parametrize(
    "knobs", [{"tools": True}, {"kind": "program", "difficulty": "medium"}, {"kind": "class", "difficulty": "hard"}]
)
def test_rows_of_other_kinds_keep_the_contract(knobs):
    check_env(code_env, n=4, **knobs)


# --- problems of others ----------------------------------------------------------------------------------

HUMAN_EVAL = {
    "task_id": "HumanEval/900",
    "prompt": "from typing import List\n\n\ndef helper(x):\n    return x * 2\n\n\n"
    "def twice(xs: List[int]) -> List[int]:\n"
    '    """ Double each number.\n    >>> twice([1, 2])\n    [2, 4]\n    >>> twice([])\n    []\n    """\n',
    "canonical_solution": "    return [helper(x) for x in xs]\n",
    "test": "METADATA = {}\n\n\ndef check(candidate):\n    assert candidate([1, 2]) == [2, 4]\n"
    "    assert candidate([5]) == [10], 'message'\n    assert [] == candidate([])\n    for i in range(9):\n"
    "        assert candidate([i]) == [2 * i]\n    assert candidate([0] * 3) == [0] * 3\n",
    "entry_point": "twice",
}
MBPP = {
    "task_id": 901,
    "text": "Write a function to find the shared elements of two tuples.",
    "code": "def shared(a, b):\r\n  return tuple(set(a) & set(b))",
    "test_list": ["assert set(shared((1, 2), (2, 3))) == set((2,))",
                  "assert set(shared((4, 5), (5, 4))) == set((4, 5))",
                  "assert set(shared((7,), (8,))) == set(())"],
    "test_setup_code": "",
    "challenge_test_list": [],
}  # fmt: skip
LIVE_STDIN = {
    "question_content": "Print the square of n.",
    "starter_code": "",
    "public_test_cases": json.dumps([{"input": "3\n", "output": "9\n", "testtype": "stdin"}]),
    "private_test_cases": json.dumps([{"input": "-4\n", "output": "16\n", "testtype": "stdin"}]),
    "metadata": "{}",
}
PACKED = base64.b64encode(
    zlib.compress(pickle.dumps(json.dumps([{"input": "[1, 2]\n3", "output": "[4, 5]", "testtype": "functional"}])))
).decode()
LIVE_CLASS = {
    "question_content": "Add k to each number.",
    "starter_code": "class Solution:\n    def addK(self, nums: List[int], k: int) -> List[int]:\n        ",
    "public_test_cases": json.dumps([{"input": "[1]\n1", "output": "[2]", "testtype": "functional"}]),
    "private_test_cases": PACKED,
    "metadata": json.dumps({"func_name": "addK"}),
}


def test_human_eval_rows():
    made = read_rows([HUMAN_EVAL])[0]
    task = json.loads(made["task"])
    assert [t["expected"] for t in task["tests"]] == ["[2, 4]", "[10]", "[]", "[0, 0, 0]"]
    assert [e["args"] for e in task["examples"]] == ["[[1, 2]]", "[[]]"]
    assert score(answer(made), made).reward == 1.0
    alone = "```python\ndef twice(xs: List[int]) -> List[int]:\n    return [helper(x) for x in xs]\n```"
    assert score(alone, made).reward == 1.0  # what the prompt imports and defines is there
    assert score("def twice(xs): return xs", made).reward == 0.0


def test_human_eval_rows_with_tolerance_truth_and_random_inputs():
    test = "def check(candidate):\n    assert abs(candidate(2) - 1.4142135) < 1e-6\n    assert candidate(4) == 2.0\n"
    record = HUMAN_EVAL | {
        "prompt": "def root(x):\n",
        "entry_point": "root",
        "test": test,
        "canonical_solution": "    return x ** 0.5\n",
    }
    made = read_rows([record])[0]
    assert json.loads(made["task"])["comparison"] == "approx"
    assert score("def root(x): return x ** 0.5", made).reward == 1.0
    assert score("def root(x): return x ** 0.51", made).reward == 0.0
    test = "def check(candidate):\n    assert candidate('aa')\n    assert not candidate('ab')\n"
    made = read_rows([record | {"prompt": "def same(s):\n", "entry_point": "same", "test": test}])[0]
    assert score("def same(s): return len(set(s)) < 2", made).reward == 1.0
    assert score("def same(s): return True", made).reward == 0.0
    random_only = (
        "def check(candidate):\n    import random\n    for _ in range(9):\n"
        "        x = random.random()\n        assert candidate(x) == x\n"
    )
    with pytest.warns(UserWarning, match="left out 1 records .*HumanEval/900"):
        assert read_rows([record | {"test": random_only}]) == []


def test_mbpp_rows():
    made = read_rows([MBPP])[0]
    task = json.loads(made["task"])
    assert (task["entry_point"], task["comparison"], len(task["tests"]), len(task["examples"])) == (
        "shared",
        "unordered",
        2,
        1,
    )
    assert score(answer(made), made).reward == 1.0
    assert score("def shared(a, b): return (2,)", made).reward == 0.0


def test_live_code_bench_rows():
    stdin, method = read_rows([LIVE_STDIN, LIVE_CLASS])
    assert score("print(int(input()) ** 2)", stdin).reward == 1.0
    assert score("print(9)", stdin).reward == 0.0
    code = (
        "```python\nclass Solution:\n    def addK(self, nums: List[int], k: int) -> List[int]:\n"
        "        return [n + k for n in nums]\n```"
    )
    assert score(code, method).reward == 1.0  # with the names that the harness imports
    assert json.loads(method["task"])["tests"] == [{"args": "[[1, 2], 3]", "expected": "[4, 5]"}]
    assert score(code.replace("n + k", "n"), method).reward == 0.0


def test_packed_test_cases_are_read_and_never_run():
    class Harm:
        def __reduce__(self):
            return pytest.fail, ("it ran",)

    cases = json.dumps([{"input": "[1, 2]\n3", "output": "[4, 5]", "testtype": "functional"}])
    for protocol in range(6):
        packed = base64.b64encode(zlib.compress(pickle.dumps(cases, protocol))).decode()
        made = read_rows([LIVE_CLASS | {"private_test_cases": packed}])[0]
        assert json.loads(made["task"])["tests"] == [{"args": "[[1, 2], 3]", "expected": "[4, 5]"}]
        for other in (Harm(), [cases, Harm()], [cases], {"a": 1}, 3, b"[]"):
            packed = base64.b64encode(zlib.compress(pickle.dumps(other, protocol))).decode()
            with pytest.raises(ValueError, match="only text is taken"):
                read_rows([LIVE_CLASS | {"private_test_cases": packed}])
    whole = base64.b64encode(zlib.compress(pickle.dumps(cases)))
    for broken in ("nonsense", whole[:-8].decode(), base64.b64encode(b"plain").decode()):
        with pytest.raises(ValueError, match="neither JSON nor text packed as JSON"):
            read_rows([LIVE_CLASS | {"private_test_cases": broken}])


@pytest.mark.skipif(not NEMO.is_dir(), reason=f"{NEMO} is not there")
def test_nemo_gym_rows_and_their_recorded_answers():
    """Where the recorded reward is 0 and ours is 1, the output has the wanted words, broken into other lines: both
    problems say that this is fine, or have their lines lost in the data."""
    rows = {made["prompt"][-1]["content"]: made for made in read_rows(NEMO / "code_gen_rows.jsonl")}
    assert len(rows) == 5
    agree, kinder = 0, 0
    for line in (NEMO / "code_gen_rollouts.jsonl").read_text(encoding="utf-8").splitlines():
        rollout = json.loads(line)
        asked = rollout["responses_create_params"]["input"][-1]["content"]
        asked = asked if isinstance(asked, str) else "".join(part["text"] for part in asked)
        said = [item for item in rollout["response"]["output"] if item.get("type", "message") == "message"]
        verdict = score([{"role": "assistant", "content": said[-1]["content"]}], rows[asked])
        agree += verdict.reward == rollout["reward"]
        kinder += verdict.reward > rollout["reward"]
        assert verdict.reward >= rollout["reward"]
        if verdict.reward > rollout["reward"]:
            assert "mismatched output length" in rollout["metadata"]["error_message"]
    assert (agree, kinder) == (3, 2)


def test_records_of_no_known_shape_are_refused():
    with pytest.raises(ValueError, match="record 0 has the fields question; a code problem has one of"):
        read_rows([{"question": "?"}])
    with pytest.raises(ValueError, match="no file"):
        read_rows("missing.jsonl")


def test_a_hub_name_needs_datasets_and_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match="pip install datasets"):
        read_rows("owner/some_code_problems")


def test_a_jsonl_file_is_read(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(HUMAN_EVAL) + "\n\n" + json.dumps(MBPP) + "\n", encoding="utf-8")
    assert len(read_rows(path)) == len(read_rows(str(path))) == 2


SANITIZED = {
    "source_file": "Checked by hand.ipynb",
    "task_id": 902,
    "prompt": "Write a function that gives half of the area of a rectangle.",
    "code": "import math\ndef half_area(a, b):\n    return a * b / 2 \n",
    "test_imports": ["import math"],
    "test_list": [
        "assert half_area(2,3) == 3",
        "assert half_area(1, 1)==(0.5) ",
        "assert math.isclose(half_area(0.1, 3), 0.15, rel_tol=0.001)",
    ],
}


def test_the_files_that_the_data_sets_come_in(tmp_path):
    """One JSON list, as the sanitized MBPP; compressed lines, as HumanEval; Windows' line ends, as in MBPP's code."""
    one = tmp_path / "sanitized.json"
    for text in (
        json.dumps([SANITIZED, MBPP]),
        json.dumps([SANITIZED, MBPP], indent=2),
        "\ufeff" + json.dumps([MBPP] * 2),
    ):
        one.write_text(text, encoding="utf-8")
        assert len(read_rows(one)) == 2
    lines = tmp_path / "HumanEval.jsonl.gz"
    lines.write_bytes(gzip.compress((json.dumps(HUMAN_EVAL) + "\n" + json.dumps(MBPP) + "\r\n").encode()))
    assert [json.loads(made["task"])["entry_point"] for made in read_rows(lines)] == ["twice", "shared"]
    with pytest.raises(ValueError, match="no file"):
        read_rows("missing.jsonl.gz")


def test_sanitized_mbpp_rows():
    made = read_rows([SANITIZED])[0]
    task = json.loads(made["task"])
    assert (task["entry_point"], task["comparison"], task["setup"]) == ("half_area", "approx", "import math")
    assert "half of the area" in made["prompt"][-1]["content"] and len(task["tests"] + task["examples"]) == 3
    assert score(answer(made), made).reward == 1.0
    assert score("def half_area(a, b): return a * b", made).reward == 0.0


# --- documented -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [code_env, problems])
def test_examples_in_the_documentation_are_true(module):
    import doctest

    assert doctest.testmod(module).failed == 0


# --- copied into another project -------------------------------------------------------------------------


def test_the_files_work_alone_in_a_folder(tmp_path):
    import shutil
    import subprocess

    envs = Path(code_env.__file__).parents[1]
    shutil.copytree(envs / "code_env", tmp_path / "code_env")
    shutil.copytree(envs / "code_sandbox", tmp_path / "code_sandbox")
    code = "import code_env as c; r = c.make_rows(1)[0]; print(c.score(c.answer(r), r).reward)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "1.0", done.stderr
