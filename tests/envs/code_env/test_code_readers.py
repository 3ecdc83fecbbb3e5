"""Rows from the records of others."""

import base64
import gzip
import json
import pickle
import sys
import zlib
from pathlib import Path

import pytest

from envs.code_env import answer, read_rows, score

NEMO = Path(__file__).resolve().parents[2] / "data" / "nemo_gym"


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
