"""Which code of an answer is taken."""

import json
import threading

import pytest
from code_rows import ADD, BAD, FAIL, GOOD, PASS, SUM, program

from envs.code_env import CAPABILITIES, extract, parse, score

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
    assert (verdict.reward, verdict.kind) == (PASS, ""), verdict.reason


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
    assert (verdict.reward, verdict.kind) == (FAIL, why), verdict.reason
    assert verdict.reason.startswith(f"{why}: ")


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
    assert (verdict.reward, verdict.kind) == (FAIL, why), verdict.reason
    assert verdict.reason.startswith(f"{why}: ")


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


def test_every_kind_of_failure_has_a_capability():
    kinds = {why for _, why in NOT_TAKEN.values()} | {"no function", "time limit", "memory limit", "output limit"}
    kinds |= {"exited", "crashed", "bad value", "unjudged", "tool fault", "wrong answer", "exception"}
    assert kinds == set(CAPABILITIES) and all(CAPABILITIES.values())
