"""Sudoku: the case file, the verifier under many renderings and much garbage, the tools, the generator."""

import itertools
import json

import pytest
from hypothesis import given
from sudoku_cases import (
    BANK,
    FORMS,
    SIGN_FORMS,
    SIGNS,
    WRAPS,
    completions,
    forms_for,
    quick,
    render,
    row_of,
    text_of,
)

from envs.sudoku_env import score
from helpers.here import ROOT

CASES = ROOT / "tests" / "data" / "cases" / "sudoku_dev.jsonl"


def _cases() -> list:
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return [pytest.param(case, id=case["id"]) for case in cases if "response" in case]


@pytest.mark.parametrize("case", _cases())
def test_case_file(case):
    assert score(case["response"], row_of(case["puzzle"], case["size"])).reward == case["expected"], case["why"]


def _markdown(rows, header, labels, align="---"):
    n, out = len(rows), []
    heads = {"numbers": [str(c + 1) for c in range(n)], "C": [f"C{c + 1}" for c in range(n)], "empty": [" "] * n,
             "Col": [f"Col {c + 1}" for c in range(n)], "letters": list("ABCDEFGHIJKLMNOP")[:n]}  # fmt: skip
    names = {"numbers": "{}", "R": "R{}", "Row": "Row {}", "bold": "**Row {}**"}
    mark = names.get(labels)
    if header:
        out.append(([" "] if mark else []) + heads[header])
        out.append([align] * (n + bool(mark)))
    for r, row in enumerate(rows):
        out.append(([mark.format(r + 1)] if mark else []) + row)
    if not header:
        out.insert(1, [align] * (n + bool(mark)))
    return "\n".join("| " + " | ".join(line) + " |" for line in out)


for _header, _labels in itertools.product(
    (None, "numbers", "C", "empty", "Col", "letters"), (None, "numbers", "R", "Row", "bold")
):
    FORMS[f"markdown {_header} {_labels}"] = lambda rows, h, w, a=_header, b=_labels: _markdown(rows, a, b)


FORMS["markdown aligned"] = lambda rows, h, w: _markdown(rows, "empty", None, ":-:")


@pytest.mark.parametrize("size", BANK)
def test_every_form_of_a_right_grid_scores_1(size):
    puzzle, solution = BANK[size][0]
    row, wrong = row_of(text_of(puzzle), size), []
    for form in forms_for(size):
        for wrap in WRAPS.values():
            text = wrap.format(render(size, puzzle, solution, form))
            if (verdict := score(text, row)).reward != 1.0:
                wrong.append(f"{form}: {verdict.reason}\n{text[:200]}")
    for form in SIGN_FORMS:
        for sign in SIGNS:
            text = render(size, puzzle, solution, form, sign)
            if (verdict := score(text, row)).reward != 1.0:
                wrong.append(f"{form}, {sign}: {verdict.reason}\n{text[:200]}")
    assert not wrong, "\n".join([f"{len(wrong)} misread", *wrong])


@quick
@given(completions())
def test_right_grid_scores_1_whatever_is_around_it(case):
    size, puzzle, text = case
    verdict = score(text, row_of(text_of(puzzle), size))
    assert verdict.reward == 1.0, f"{verdict.reason}\n{text}"
