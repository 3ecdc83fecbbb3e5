# SPDX-License-Identifier: Apache-2.0
"""Rows from the records of HumanEval, MBPP, LiveCodeBench and NeMo Gym."""

import base64
import builtins
import contextlib
import gzip
import json
import os
import re
import warnings
import zlib
from collections.abc import Iterable
from hashlib import sha256

from .asserts import asserted_tests, doctests
from .tasks import call_text, task_of

_READ_STDIN = "Read the input from standard input and print the answer."
_TYPICAL = (  # what the harness of LiveCodeBench gives every answer
    "import bisect, collections, functools, heapq, itertools, math, operator, random, re, string, sys\n"
    "from bisect import *\nfrom collections import *\nfrom functools import *\nfrom heapq import *\n"
    "from itertools import *\nfrom math import *\nfrom typing import *\n"
)


def read_rows(
    records: str | os.PathLike | Iterable[dict], *, split: str = "test", config: str | None = None
) -> list[dict]:
    """Rows from records in the shape of HumanEval, MBPP, LiveCodeBench or NeMo Gym's code_gen.

    Args:
        records: A file (JSONL or one JSON list, plain or gzipped), dicts, or the name of a data set on the Hugging
            Face Hub, which needs `datasets`.
        split: Of a data set on the Hub.
        config: Of a data set on the Hub, its name for one of several sets.

    Returns:
        One row for each record, in order. A record of which no test can be written as literals (it draws random inputs,
        say) is left out, and a warning names it. Programs from contests are compared word by word (`approx`).

    Raises:
        ValueError: a record has none of the known shapes, or its packed tests hold something else than text.
        ImportError: the Hub is asked and `datasets` is not installed.
    """
    if isinstance(records, str | os.PathLike):
        records = _records(records, split, config)
    rows, left_out = [], []
    for i, record in enumerate(records):
        shape = next((read for key, read in _SHAPES.items() if record.get(key) is not None), None)
        if shape is None:
            raise ValueError(
                f"record {i} has the fields {', '.join(map(str, record))}; a code problem has one of "
                f"{', '.join(_SHAPES)}"
            )
        messages, task = shape(record)
        if not task["tests"]:
            left_out.append(str(record.get("task_id", i)))
            continue
        text = json.dumps(task)
        task_of(text)
        digest = sha256((messages[-1]["content"] + text).encode()).hexdigest()[:12]
        rows.append({"prompt": messages, "environment": "code", "task_id": f"code-read-{digest}", "task": text})
    if left_out:
        warnings.warn(
            f"left out {len(left_out)} records without tests of literals: {', '.join(left_out)}", stacklevel=2
        )
    return rows


def _records(name: str | os.PathLike, split: str, config: str | None) -> Iterable[dict]:
    if os.path.exists(name):
        with open(name, "rb") as file:
            data = file.read()
        text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode("utf-8-sig")
        if text.lstrip().startswith("["):
            return json.loads(text)
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    if str(name).endswith((".json", ".jsonl", ".gz")) or str(name).count("/") > 1:
        raise ValueError(f"there is no file {str(name)!r}")
    try:
        import datasets
    except ImportError:
        raise ImportError(
            f"{str(name)!r} is no file here, and to take it from the Hub the package datasets is needed: "
            "pip install datasets"
        ) from None
    return datasets.load_dataset(str(name), config, split=split)


def _from_nemo_gym(record: dict) -> tuple[list[dict], dict]:
    messages = (record.get("responses_create_params") or {}).get("input") or []
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not messages:
        raise ValueError("a record with verifier_metadata has no responses_create_params.input, the question")
    given = record["verifier_metadata"]["unit_tests"]
    given = json.loads(given) if isinstance(given, str) else given
    pairs = list(zip(given["inputs"], given["outputs"]))
    messages = [{"role": m["role"], "content": _plain_content(m["content"])} for m in messages]
    if name := given.get("fn_name"):
        return messages, {"entry_point": name, "tests": _json_tests(pairs), "setup": _TYPICAL}
    return messages, {"tests": [{"stdin": i, "stdout": o} for i, o in pairs], "comparison": "approx"}


def _plain_content(content: str | list) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))


def _json_tests(pairs: list[tuple]) -> list[dict]:
    """Tests whose input is a JSON value for each argument, one a line, or the list of arguments itself."""
    tests = []
    for given, wanted in pairs:
        arguments = (
            [json.loads(line) for line in given.split("\n") if line.strip()] if isinstance(given, str) else given
        )
        if isinstance(wanted, str):
            with contextlib.suppress(ValueError):  # a bare string stays as it is
                wanted = json.loads(wanted)
        elif isinstance(wanted, list) and not isinstance(given, str) and len(wanted) == 1:
            wanted = wanted[0]
        tests.append({"args": repr(list(arguments)), "expected": repr(wanted)})
    return tests


def _from_live_code_bench(record: dict) -> tuple[list[dict], dict]:
    public = _packed(record["public_test_cases"])
    hidden = _packed(record.get("private_test_cases") or "[]") or public
    starter = (record.get("starter_code") or "").rstrip()
    about = record.get("metadata") or "{}"
    name = (json.loads(about) if isinstance(about, str) else about).get("func_name")
    question = record["question_content"].strip()
    if name:
        entry = f"Solution.{name}" if "class Solution" in starter else name
        question += f"\n\nComplete this code, and answer with all of it:\n\n```python\n{starter}\n```"
        task = {"entry_point": entry, "setup": _TYPICAL}
        tests, examples = (_json_tests([(t["input"], t["output"]) for t in part]) for part in (hidden, public))
    else:
        question += f"\n\nAnswer with a Python program. {_READ_STDIN}"
        task = {"comparison": "approx"}
        tests, examples = ([{"stdin": t["input"], "stdout": t["output"]} for t in part] for part in (hidden, public))
    task |= {"tests": tests, "examples": examples, "time_limit_s": 6, "question": question}
    return [{"role": "user", "content": question}], task


def _packed(cases: str | list) -> list[dict]:
    """Test cases as a list, as JSON text, or as LiveCodeBench packs them: JSON text, pickled, compressed, in base64."""
    if not isinstance(cases, str):
        return list(cases)
    try:
        return json.loads(cases)
    except ValueError:
        pass
    try:
        return json.loads(_pickled_text(zlib.decompress(base64.b64decode(cases))))
    except (ValueError, zlib.error) as error:
        raise ValueError(f"the test cases {cases[:40]!r} are neither JSON nor text packed as JSON: {error}") from None


_OF_TEXT = {"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"}
_OF_TEXT |= {"UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"}


def _pickled_text(data: bytes) -> str:
    """The text that was pickled, read from the pickle without running it."""
    import pickletools

    texts = []
    for operation, argument, _ in pickletools.genops(data):
        if operation.name not in _OF_TEXT:
            raise ValueError(f"a pickle that does {operation.name}; only text is taken")
        if isinstance(argument, str):
            texts.append(argument)
    if len(texts) != 1:
        raise ValueError(f"a pickle of {len(texts)} texts instead of one")
    return texts[0]


def _from_human_eval(record: dict) -> tuple[list[dict], dict]:
    prompt, entry = record["prompt"], record["entry_point"]
    start = re.search(rf"^def[ \t]+{re.escape(entry)}\b", prompt, re.M)
    tests, comparison = asserted_tests(record["test"], {"candidate", entry})
    question = f"Complete this Python function, and answer with all of it:\n\n```python\n{prompt.strip()}\n```"
    task = {
        "entry_point": entry,
        "tests": tests,
        "examples": doctests(prompt, entry),
        "comparison": comparison,
        "setup": prompt[: start.start()].strip() if start else "",
        "solution": prompt + record["canonical_solution"],
        "question": question,
    }
    return [{"role": "user", "content": question}], task


def _from_mbpp(record: dict) -> tuple[list[dict], dict]:
    lines = [*record["test_list"], *(record.get("challenge_test_list") or [])]
    code = record.get("code") or ""
    defined = set(re.findall(r"^(?:def|class)[ \t]+(\w+)", code, re.M))
    called = [m for line in lines for m in re.findall(r"\b([A-Za-z_]\w*)[ \t]*\(", line)]
    entry = next((name for name in called if name in defined or (not defined and not hasattr(builtins, name))), "")
    tests, comparison = asserted_tests("\n".join(lines), {entry})
    shown, hidden = (tests[:1], tests[1:]) if len(tests) > 1 else ([], tests)
    question = f"{(record.get('text') or record.get('prompt') or '').strip()} Call the function {entry}."
    if shown:
        question += f"\n\n{call_text(entry, shown[0]['args'])} == {shown[0]['expected']}"
    setup = record.get("test_setup_code") or "\n".join(record.get("test_imports") or [])
    task = {
        "entry_point": entry,
        "tests": hidden,
        "examples": shown,
        "comparison": comparison,
        "setup": setup,
        "solution": code.replace("\r\n", "\n"),
        "question": question,
    }
    return [{"role": "user", "content": question}], task


_SHAPES = {
    "verifier_metadata": _from_nemo_gym,
    "question_content": _from_live_code_bench,
    "canonical_solution": _from_human_eval,
    "test_list": _from_mbpp,
}
