# SPDX-License-Identifier: Apache-2.0
"""Rows: made from the families of problems, or read from the records of others."""

import json
import os
import random
import re
from collections.abc import Iterable
from hashlib import sha256

from .answers.notation import find_boxes
from .problems import FAMILIES, Problem

SPLITS = ("train", "validation", "test")
DIFFICULTIES = ("starter", "easy", "medium", "hard")
# One step with small numbers: what "starter" takes from the easy problems.
STARTER = (
    *("addition", "subtraction", "multiplication", "division", "shopping", "giving", "travel", "ages"),
    *("rate_of_work", "digit_sum", "comparison", "remainder", "days_between"),
)


def split_of(family: str, values: tuple) -> str:
    """The split that a problem belongs to: 70 % train, 10 % validation, 20 % test, by a hash of family and values."""
    share = int.from_bytes(sha256(json.dumps([family, *values]).encode()).digest()[:4], "big") / 2**32
    return "train" if share < 0.7 else "validation" if share < 0.8 else "test"


def make_rows(
    n: int,
    seed: int = 0,
    split: str = "train",
    *,
    difficulty: str = "easy",
    families: Iterable[str] | None = None,
    tools: bool = False,
    run_python: bool = False,
) -> list[dict]:
    """Make `n` different problems with exact answers.

    Args:
        n: How many.
        seed: Same arguments, same rows, on every platform.
        split: "train", "validation" or "test"; they share no problem, whatever its wording.
        difficulty: "starter" (for small models: the easy problems of a few families, `STARTER`), "easy" (a step or
            two, small numbers, short texts), "medium" or "hard".
        families: Names out of `FAMILIES`; None takes all that the level has, in turn.
        tools: Ask for the answer through the tools `calculate` and `submit`, not in a box.
        run_python: The same with `run_python` as a third tool; it needs code_sandbox beside this folder.

    Raises:
        ValueError: an argument is out of range, or there are not `n` such problems.
    """
    if type(n) is not int or n < 0:
        raise ValueError(f"n must be a whole number, 0 or more, got {n!r}")
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    if difficulty not in DIFFICULTIES:
        raise ValueError(f"difficulty must be one of {', '.join(DIFFICULTIES)}, got {difficulty!r}")
    known = STARTER if difficulty == "starter" else tuple(FAMILIES)
    names = [families] if isinstance(families, str) else list(known if families is None else families)
    if unknown := [name for name in names if name not in known] or ([] if names else ["nothing"]):
        raise ValueError(f"families holds {unknown[0]!r}; choose among {', '.join(known)}")
    level = max(0, DIFFICULTIES.index(difficulty) - 1)
    rng = random.Random(f"math {seed} {split} {difficulty} {' '.join(names)}")
    order = rng.sample(names, len(names))
    rows, seen, turn, misses = [], set(), 0, 0
    while len(rows) < n:
        name = order[turn % len(order)]
        turn += 1
        for _ in range(60):
            problem = FAMILIES[name](rng, level)
            key = (name, json.dumps(problem.values))
            if key not in seen and split_of(name, problem.values) == split:
                seen.add(key)
                rows.append(_row(name, difficulty, problem, rng.choice(problem.wordings), tools, run_python))
                misses = 0
                break
        else:
            misses += 1
            if misses > len(order):
                raise ValueError(
                    f"found only {len(rows)} of {n} {difficulty} problems in {', '.join(names)}; ask for fewer"
                )
    return rows


def _row(name: str, difficulty: str, problem: Problem, question: str, tools: bool, run_python: bool) -> dict:
    tools = tools or run_python
    how = "Hand in the answer with the submit tool." if tools else "Answer in \\boxed{}."
    task: dict = {
        "answer": str(problem.answer),
        "steps": problem.steps,
        "form": "simple",
        "family": name,
        "difficulty": difficulty,
    }
    if tools:
        task |= {"tools": True, "calculations": list(problem.calculations)}
    if run_python:
        task["run_python"] = True
    form = "python-" if run_python else "tools-" if tools else ""
    digest = sha256(json.dumps([name, *problem.values]).encode()).hexdigest()[:12]
    return {
        "prompt": [{"role": "user", "content": f"{question} {how}"}],
        "environment": "math",
        "task_id": f"math-{name}-{form}{difficulty}-{digest}",
        "task": json.dumps(task),
    }


def read_rows(records: str | os.PathLike | Iterable[dict], instruction: str = "Answer in \\boxed{}.") -> list[dict]:
    r"""Rows from records in the shape of GSM8K, MATH, AIME or NeMo Gym's math sets.

    Args:
        records: A JSONL file, or dicts. The question is `question` or `problem`; the gold answer is `expected_answer`,
            `answer` (the part after `####` if there is one), or the last box of `solution`. A record with
            `responses_create_params` keeps its own messages.
        instruction: Put after the question where the record brings no messages; says how to answer.

    Returns:
        One row for each record, in order. A record whose gold answer is empty makes a row that scores None.

    Raises:
        ValueError: a record has no question, or no field that holds an answer.
    """
    if isinstance(records, str | os.PathLike):
        with open(records, encoding="utf-8") as file:
            records = [json.loads(line) for line in file if line.strip()]
    rows = []
    for i, record in enumerate(records):
        low = {str(key).lower(): value for key, value in record.items()}
        messages = (low.get("responses_create_params") or {}).get("input")
        question = low.get("question") or low.get("problem")
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        if not question and not messages:
            raise ValueError(f"record {i} has no question; expected one of question, problem, responses_create_params")
        gold = next(
            (low[k] for k in ("expected_answer", "answer", "solution", "final_answer") if low.get(k) is not None), None
        )
        if gold is None:
            raise ValueError(f"record {i} has no answer; expected one of expected_answer, answer, solution")
        gold = str(gold[0] if isinstance(gold, list) and len(gold) == 1 else gold)
        steps = ""
        if "####" in gold:
            steps, _, gold = gold.rpartition("####")
            steps = re.sub(r"<<[^<>]{0,200}>>", "", steps)
        elif (boxes := find_boxes(gold)) and boxes[-1][2] is not None:
            steps, gold = "", boxes[-1][2]
        gold = gold.strip()
        prompt = [{"role": m["role"], "content": m["content"]} for m in messages or []] or [
            {"role": "user", "content": f"{question}\n\n{instruction}"}
        ]
        digest = sha256(f"{question or prompt[-1]['content']}\n{gold}".encode()).hexdigest()[:12]
        task = {"answer": gold} | ({"steps": " ".join(steps.split())} if steps.strip() else {})
        rows.append(
            {"prompt": prompt, "environment": "math", "task_id": f"math-read-{digest}", "task": json.dumps(task)}
        )
    return rows
