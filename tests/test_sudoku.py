"""Sudoku: the case file, the verifier under many renderings and much garbage, the tools, the generator."""

import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cost import cpu_s
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envs import sudoku_env
from envs.sudoku_env import BOX, LEVELS, SPLITS, SudokuEnv, answer, make_rows, parse, reward, score, solve, split_of

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT.parent / "shared" / "data" / "cases" / "sudoku_dev.jsonl"
quick = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck), derandomize=True)


def row_of(puzzle: str, size: int) -> dict:
    return {"task": json.dumps({"puzzle": puzzle, "size": size})}


def text_of(grid: list[list]) -> str:
    return "\n".join(" ".join(str(v or "_") for v in line) for line in grid)


def cells_of(text: str) -> list[list[int]]:
    return [[0 if v == "_" else int(v) for v in line.split()] for line in text.split("\n")]


def _bank(size: int, n: int, **knobs) -> list[tuple[list[list[int]], list[list[int]]]]:
    """(puzzle, solution) pairs."""
    puzzles = [json.loads(row["task"])["puzzle"] for row in make_rows(n, seed=5, size=size, **knobs)]
    return [(cells_of(puzzle), cells_of(solve(puzzle)[0])) for puzzle in puzzles]


BANK = {size: _bank(size, n, difficulty="medium") for size, n in ((4, 30), (6, 20), (9, 12), (16, 2))}
ROW4 = make_rows(1, seed=7)[0]

# --- the case file ---------------------------------------------------------------------------------------


def _cases() -> list:
    if not CASES.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason="the shared case file is not there"))]
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return [pytest.param(case, id=case["id"]) for case in cases if "response" in case]


@pytest.mark.parametrize("case", _cases())
def test_case_file(case):
    assert score(case["response"], row_of(case["puzzle"], case["size"])).reward == case["expected"], case["why"]


# --- renderings of a right grid --------------------------------------------------------------------------
# Each takes the grid as rows of text cells. A sign for a blank may be among them only where a puzzle is restated.


def _width(rows):
    return max(len(v) for row in rows for v in row)


def _boxed(rows, height, width, bar="|", cross="+", dash="-", outer=True):
    """The usual drawing, a bar between boxes."""
    w, out = _width(rows), []
    groups = [[row[c : c + width] for c in range(0, len(row), width)] for row in rows]
    rule = cross.join(dash * ((w + 1) * width + 1) for _ in groups[0])
    rule = cross + rule + cross if outer else rule
    for r, group in enumerate(groups):
        if r % height == 0 and (outer or r):
            out.append(rule)
        line = f" {bar} ".join(" ".join(v.rjust(w) for v in cells) for cells in group)
        out.append(f"{bar} {line} {bar}" if outer else " " + line)
    return "\n".join(out + ([rule] if outer else []))


def _all_boxed(rows, height, width):
    """Light box-drawing lines around every cell."""
    w = _width(rows)
    line = lambda a, b, c: a + b.join("─" * (w + 2) for _ in rows[0]) + c  # noqa: E731
    body = ["│" + "│".join(f" {v.rjust(w)} " for v in row) + "│" for row in rows]
    return "\n".join([line("┌", "┬", "┐"), ("\n" + line("├", "┼", "┤") + "\n").join(body), line("└", "┴", "┘")])


def _double(rows, height, width):
    w, out = _width(rows), []
    for r, row in enumerate(rows):
        if r % height == 0:
            out.append(("╔" if r == 0 else "╠") + "═" * (len(row) * (w + 1)) + ("╗" if r == 0 else "╣"))
        groups = [row[c : c + width] for c in range(0, len(row), width)]
        out.append("║ " + " ║ ".join(" ".join(group) for group in groups) + " ║")
    return "\n".join([*out, "╚" + "═" * (len(rows) * (w + 1)) + "╝"])


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


def _lines(separator, prefix="", suffix="", between="\n"):
    def render(rows, height, width):
        return between.join(
            prefix.format(r=r + 1, letter="ABCDEFGHIJKLMNOPQ"[r], nth=_NTH[r]) + separator.join(row)
            + suffix.format(r=r + 1) for r, row in enumerate(rows))  # fmt: skip

    return render


_NTH = ["First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", *["Next"] * 8]


def _json(rows, **kw):
    return json.dumps([[int(v) for v in row] for row in rows], **kw)


def _numpy(rows, height, width):
    return "[" + "\n ".join("[" + " ".join(row) + "]" for row in rows) + "]"


def _array(rows, height, width):
    return "array([" + ",\n       ".join("[" + ", ".join(row) + "]" for row in rows) + "])"


def _latex(kind, hline=False, cell="{}"):
    def render(rows, height, width):
        spec = {"array": "{" + "c" * len(rows) + "}", "bars": "{|" + "c|" * len(rows) + "}"}.get(kind, "")
        name = "array" if kind in ("array", "bars") else kind
        end = " \\\\ \\hline\n" if hline else " \\\\\n"
        body = end.join(" & ".join(cell.format(v) for v in row) for row in rows)
        start = "\\hline\n" if hline else ""
        return f"\\begin{{{name}}}{spec}\n{start}{body}\n\\end{{{name}}}"

    return render


def _html(rows, height, width):
    return "<table>\n" + "\n".join(
        "  <tr>" + "".join(f"<td>{v}</td>" for v in row) + "</tr>" for row in rows) + "\n</table>"  # fmt: skip


def _html_spread(rows, height, width):
    body = "".join("<tr>\n" + "".join(f"<td class='x'>\n{v}\n</td>\n" for v in row) + "</tr>\n" for row in rows)
    return f"<table border=1><tbody>{body}</tbody></table>"


FORMS = {
    "spaces": _lines(" "),
    "two spaces": _lines("  "),
    "hard spaces": _lines("\u00a0"),
    "commas": _lines(","),
    "comma space": _lines(", "),
    "trailing comma": _lines(",", suffix=","),
    "csv in quotes": _lines('","', '"', '"'),
    "semicolons": _lines(";"),
    "tabs": _lines("\t"),
    "pipes": _lines("|"),
    "spaced pipes": _lines(" | "),
    "outer pipes": _lines("|", "|", "|"),
    "hyphens": _lines("-"),
    "slashes": _lines("/"),
    "ampersands": _lines(" & "),
    "windows": _lines(" ", between="\r\n"),
    "old mac": _lines(" ", between="\r"),
    "blank lines": _lines(" ", between="\n\n"),
    "trailing space": _lines(" ", suffix="   "),
    "markdown break": _lines(" ", suffix="  \\"),
    "indented": _lines(" ", "    "),
    "quoted": _lines(" ", "> "),
    "bullets": _lines(" ", "- "),
    "stars": _lines(" ", "* "),
    "dots": _lines(" ", "• "),
    "numbered": _lines(" ", "{r}. "),
    "numbered bracket": _lines(" ", "{r}) "),
    "numbered colon": _lines(" ", "{r}: "),
    "row label": _lines(" ", "Row {r}: "),
    "row label commas": _lines(", ", "Row {r}: "),
    "row label dash": _lines(" ", "Row {r} - "),
    "row label bold": _lines(" ", "**Row {r}:** "),
    "row label bold 2": _lines(" ", "**Row {r}**: "),
    "row label bullet": _lines(" ", "- Row {r}: "),
    "row label list": _lines(", ", "Row {r}: [", "]"),
    "row label bullet bold list": _lines(", ", "- **Row {r}**: [", "]"),
    "row equals list": _lines(", ", "row{r} = [", "]"),
    "row label pipes": _lines(" | ", "Row {r} | "),
    "row label paren": _lines(" ", "Row {r} (done): "),
    "row label arrow": _lines(" ", "Row {r} → "),
    "row label fat arrow": _lines(", ", "Row {r} => [", "]"),
    "row label dot": _lines(" ", "row {r}. "),
    "bold number": _lines(" ", "**{r}:** "),
    "number in brackets": _lines(" ", "[{r}]: "),
    "number in parentheses": _lines(" ", "({r}) "),
    "number dash": _lines(" ", "{r} - "),
    "bullet and label": _lines(" ", "{r}. Row {r}: "),
    "sentence": _lines(" ", "The {nth} row is ", "."),
    "sentence commas": _lines(", ", "Row {r} becomes "),
    "row after dash": _lines(" ", suffix=" - row {r}"),
    "quads": _lines(" \\quad ", suffix=" \\\\"),
    "entities": _lines("&nbsp;", between="<br>"),
    "data frame": lambda rows, h, w: (
        "    "
        + "  ".join(str(c) for c in range(len(rows)))
        + "\n"
        + "\n".join(f"{r}   " + "  ".join(row) for r, row in enumerate(rows))
    ),
    "csv with header": lambda rows, h, w: (
        ",".join(f"c{c + 1}" for c in range(len(rows))) + "\n" + "\n".join(",".join(row) for row in rows)
    ),
    "yaml": lambda rows, h, w: "grid:\n" + "\n".join("  - [" + ", ".join(row) + "]" for row in rows),
    "row cells": lambda rows, h, w: (
        "<grid>" + "".join("<row>" + "".join(f"<cell>{v}</cell>" for v in row) + "</row>" for row in rows) + "</grid>"
    ),
    "boxed latex rows": lambda rows, h, w: "\\boxed{" + " \\\\ ".join(" ".join(row) for row in rows) + "}",
    "row label own line": _lines(" ", "Row {r}:\n"),
    "short label": _lines(" ", "R{r}: "),
    "nth row": _lines(" ", "{nth} row: "),
    "line label": _lines(" ", "Line {r}: "),
    "letter label": _lines(" ", "{letter}: "),
    "letter label pipe": _lines(" ", "{letter} | "),
    "row after": _lines(" ", suffix="   (row {r})"),
    "row comment": _lines(" ", suffix="  # row {r}"),
    "row arrow": _lines(" ", suffix=" <- row {r}"),
    "tick": _lines(" ", suffix=" ✓"),
    "heavy tick": _lines(" ", suffix=" ✅"),
    "tick in label": _lines(" ", "✓ Row {r}: "),
    "code rows": _lines(" ", "`", "`"),
    "bold rows": _lines(" ", "**", "**"),
    "br": _lines(" ", between="<br>"),
    "br lines": _lines(" ", between="<br/>\n"),
    "escaped newlines": _lines(" ", between="\\n"),
    "row tags": _lines(" ", "<row>", "</row>"),
    "list rows": _lines(", ", "[", "]"),
    "list rows commas": _lines(", ", "[", "],"),
    "tuple rows": _lines(", ", "(", ")"),
    "boxes": lambda rows, h, w: _boxed(rows, h, w),
    "boxes, no frame": lambda rows, h, w: _boxed(rows, h, w, outer=False),
    "box lines": lambda rows, h, w: _boxed(rows, h, w, "│", "┼", "─"),
    "heavy box lines": lambda rows, h, w: _boxed(rows, h, w, "┃", "╋", "━", outer=False),
    "equals rules": lambda rows, h, w: _boxed(rows, h, w, "||", "++", "="),
    "cell boxes": _all_boxed,
    "double frame": _double,
    "json": lambda rows, h, w: _json(rows),
    "json compact": lambda rows, h, w: _json(rows, separators=(",", ":")),
    "json indented": lambda rows, h, w: _json(rows, indent=2),
    "json object": lambda rows, h, w: '{"grid": ' + _json(rows) + "}",
    "json object indented": lambda rows, h, w: json.dumps(
        {"solution": [[int(v) for v in row] for row in rows]}, indent=4
    ),
    "json text": lambda rows, h, w: json.dumps({"answer": "\n".join(" ".join(row) for row in rows)}),
    "json rows as text": lambda rows, h, w: json.dumps([" ".join(row) for row in rows]),
    "json row names": lambda rows, h, w: json.dumps(
        {f"row{r + 1}": [int(v) for v in row] for r, row in enumerate(rows)}
    ),
    "json row names lines": lambda rows, h, w: json.dumps(
        {f"row_{r + 1}": " ".join(row) for r, row in enumerate(rows)}, indent=2
    ),
    "python list": lambda rows, h, w: "grid = " + str([[int(v) for v in row] for row in rows]),
    "python lines": lambda rows, h, w: "solution = [\n" + "".join(f"    [{', '.join(row)}],\n" for row in rows) + "]",
    "list of texts": lambda rows, h, w: str(rows),
    "tuples": lambda rows, h, w: str(tuple(tuple(int(v) for v in row) for row in rows)),
    "numpy": _numpy,
    "numpy repr": _array,
    "latex array": _latex("array"),
    "latex bars": _latex("bars", hline=True),
    "latex pmatrix": _latex("pmatrix"),
    "latex bold": _latex("bmatrix", cell="\\mathbf{{{}}}"),
    "latex boxed": lambda rows, h, w: "\\[\n\\boxed{" + _latex("array")(rows, h, w) + "}\n\\]",
    "latex dollars": lambda rows, h, w: "$$\n" + _latex("bmatrix")(rows, h, w) + "\n$$",
    "html": _html,
    "html spread": _html_spread,
}
TIGHT = {  # digits next to each other, so only for values below 10
    "no spaces": _lines(""),
    "one line of rows": _lines("", between=" "),
    "one line, commas": _lines("", between=","),
    "one line, slashes": _lines("", between="/"),
    "one line, semicolons": _lines(" ", between="; "),
    "one line, pipes": _lines(" ", between=" | "),
    "one line of digits": _lines("", between=""),
    "one line of cells": _lines(" ", between=" "),
    "one line of cells, commas": _lines(", ", between=", "),
    "json digits": lambda rows, h, w: json.dumps(["".join(row) for row in rows]),
    "tight label": _lines("", "Row {r}: "),
    "tight boxes": lambda rows, h, w: "\n".join(
        " ".join("".join(row[c : c + w]) for c in range(0, len(row), w)) for row in rows),
    "tight boxes, bars": lambda rows, h, w: "\n".join(
        "|".join("".join(row[c : c + w]) for c in range(0, len(row), w)) for row in rows),
    "gaps between boxes": lambda rows, h, w: "\n".join(
        ("\n" if r and r % h == 0 else "") + "  ".join(" ".join(row[c : c + w]) for c in range(0, len(row), w))
        for r, row in enumerate(rows)),
    "letters and numbers header": lambda rows, h, w: "    " + " ".join("ABCDEFGHI"[: len(rows)]) + "\n" + "\n".join(
        f"{r + 1} | " + " ".join(row) for r, row in enumerate(rows)),
    "numbers header, letters": lambda rows, h,
    w: "    " + " ".join("123456789"[: len(rows)]) + "\n  +" + "-" * 19 + "\n"
    + "\n".join(f"{'ABCDEFGHI'[r]} | " + " ".join(row) for r, row in enumerate(rows)),
    "column header": lambda rows, h, w: "    " + " ".join(f"c{c + 1}" for c in range(len(rows))) + "\n" + "\n".join(
        f"r{r + 1}  " + "  ".join(row) for r, row in enumerate(rows)),
}  # fmt: skip
for _header, _labels in itertools.product(
    (None, "numbers", "C", "empty", "Col", "letters"), (None, "numbers", "R", "Row", "bold")
):
    FORMS[f"markdown {_header} {_labels}"] = lambda rows, h, w, a=_header, b=_labels: _markdown(rows, a, b)
FORMS["markdown aligned"] = lambda rows, h, w: _markdown(rows, "empty", None, ":-:")

SIGNS = {  # how one cell is written
    "plain": lambda v, filled: v,
    "bold": lambda v, filled: f"**{v}**",
    "filled bold": lambda v, filled: f"**{v}**" if filled else v,
    "filled star": lambda v, filled: f"*{v}*" if filled else v,
    "filled star after": lambda v, filled: f"{v}*" if filled else v,
    "filled caret": lambda v, filled: f"{v}^" if filled else v,
    "filled brackets": lambda v, filled: f"[{v}]" if filled else v,
    "filled parentheses": lambda v, filled: f"({v})" if filled else v,
    "code": lambda v, filled: f"`{v}`",
    "quotes": lambda v, filled: f"'{v}'",
    "html bold": lambda v, filled: f"<b>{v}</b>" if filled else v,
    "latex bold": lambda v, filled: f"\\textbf{{{v}}}" if filled else v,
    "fullwidth": lambda v, filled: "".join(chr(ord(c) + 0xFEE0) for c in v),
    "mathematical": lambda v, filled: "".join(chr(ord(c) - 48 + 0x1D7CE) for c in v),
    "arabic": lambda v, filled: "".join(chr(ord(c) - 48 + 0x660) for c in v),
    "keycap": lambda v, filled: "".join(c + "\ufe0f\u20e3" for c in v) if len(v) == 1 else v,
}
SIGN_FORMS = ("spaces", "comma space", "spaced pipes", "outer pipes", "boxes", "markdown empty None",
    "markdown numbers Row",
              "row label", "tabs", "html", "latex array")  # fmt: skip

BEFORE = (
    "", "Here is the solution:\n", "**Solution**\n\n", "Sure! The solved grid is:\n\n", "### Final answer\n",
    "Answer: \n", "Solved grid: ", "I filled in the blanks, 1 to 9 in each box.\n\n",
    "Step 1: row 1 lacks 2 and 4.\n\n",
    "The missing number in row 2, column 3 is 4.\n", "R1C2 = 4\nR2C1 = 3\n\n",
    "- Row 1 is missing 2, 4.\n- Row 2 is fine.\n\n",
    "1. Look at row 1: it needs 3.\n2. Look at column 4: it needs 1.\n\nSo:\n\n",
    "Let's check: 1 + 2 + 3 + 4 = 10.\n\n",
    "In column 2 the candidates are {1, 3}.\n\n", "(1,2) = 4, (2,3) = 1\n\n", "4\n\n",
    "Here's the grid (size 4x4)\n---\n",
    "$2 + 2 = 4$\n\n", "Row 1: 1 _ 3 _ needs 2 and 4\n\n", "The grid above has the values:\n", "<solution>\n",
)  # fmt: skip
AFTER = (
    "", "\n", "\n\nEach row, column and box holds every value once.", "\n\nDone!",
    "\n\nHope this helps. I used 3 steps.",
    "\n\nRow 1, column 2 had to be 4.", "\n\n---\n*Verified.*",
    "\n\n1. Every row is complete.\n2. Every column is complete.",
    "\n\nSum of each row: 10.", "\n\nCheck: 1 2 3 4 appear once in every row.", "\n</solution>", "\n\n✅",
    "\n<|im_end|>", "</s>",
    "\n\nFinal check of row 1: 1, 2, 3, 4.",
)  # fmt: skip
WRAPS = {
    "bare": "{}", "fence": "```\n{}\n```", "named fence": "```text\n{}\n```", "python fence": "```python\n{}\n```",
    "json fence": "```json\n{}\n```", "tildes": "~~~\n{}\n~~~", "answer tag": "<answer>{}</answer>",
    "answer tag lines": "<answer>\n{}\n</answer>", "answer tag fence": "<answer>\n```\n{}\n```\n</answer>",
    "open answer tag": "<answer>\n{}", "quotes": '"""\n{}\n"""', "pre": "<pre>{}</pre>",
}  # fmt: skip
THINK = (
    "", "<think>\n{draft}\n</think>\n\n", "<think></think>\n", "{draft}\n</think>\n", "I think so.\n</think>\n\n",
    "<thinking>{draft}</thinking>", "<think>Row 1: 1 2 3 4\nno\n{draft}</think>\n<think>again {draft}</think>\n",
    "<reasoning>\n{draft}\n</reasoning>\n", "[THINK]{draft}[/THINK]", "<THINK>\n{draft}\n</THINK>\n",
    "<think>use <answer> here\n{draft}\n</think>\n", "◁think▷{draft}◁/think▷\n",
    "<seed:think>{draft}</seed:think>", "<|begin_of_thought|>{draft}<|end_of_thought|>\n",
    "<think>a<think>b</think>{draft}</think>\n", "so</think>{draft}</think>\n",
    "<|channel|>analysis<|message|>{draft}<|end|><|start|>assistant<|channel|>final<|message|>",
)  # fmt: skip
FIXED = (
    "Wait, row 2 is wrong. Corrected:\n\n", "That breaks a box. Let me fix it.\n\n",
    "Hmm, that is not right; the corrected grid is\n",
    "Actually, I made a mistake. Final grid:\n",
)  # fmt: skip


def render(size, puzzle, solution, form, sign="plain") -> str:
    cells = [[SIGNS[sign](str(v), not given) for v, given in zip(*lines)] for lines in zip(solution, puzzle)]
    return ({**FORMS, **TIGHT})[form](cells, *BOX[size])


def forms_for(size) -> list[str]:
    return list(FORMS) + (list(TIGHT) if size < 10 else [])


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


BLANK_SIGNS = ("_", ".", "0", "*", "x", "?", "-", "X", "□", "·", "⬜")


@st.composite
def completions(draw, sizes=(4, 6, 9), grid=lambda draw, size, puzzle, solution: solution):
    """(size, puzzle, text): a grid in some form, with all that models write around it."""
    size = draw(st.sampled_from(sizes))
    puzzle, solution = draw(st.sampled_from(BANK[size]))
    final = grid(draw, size, puzzle, solution)
    form = draw(st.sampled_from(forms_for(size)))
    sign = draw(st.sampled_from(list(SIGNS))) if form in SIGN_FORMS else "plain"
    text = draw(st.sampled_from(list(WRAPS.values()))).format(render_any(size, puzzle, final, form, sign))
    restated = draw(st.sampled_from(("", "before", "after")))
    if restated:
        blank = draw(st.sampled_from(BLANK_SIGNS[:6]))
        style = draw(st.sampled_from(("spaces", "spaced pipes", "boxes", "row label", "outer pipes")))
        old = {**FORMS, **TIGHT}[style]([[str(v) if v else blank for v in line] for line in puzzle], *BOX[size])
        text = f"The puzzle was\n{old}\n\nand the solution is\n{text}" if restated == "before" else (
            f"{text}\n\nfor the puzzle\n\n{old}\n")  # fmt: skip
    if "<answer>" not in text and draw(st.booleans()):
        wrong = changed(draw, solution, [(r, c) for r in range(size) for c in range(size)])
        text = text_of(wrong) + "\n\n" + draw(st.sampled_from(FIXED)) + text
    before = draw(st.sampled_from(BEFORE))
    before += "\n" if before.endswith(": ") and not text[0].isalnum() else ""  # a table has its own line
    text = before + text + draw(st.sampled_from(AFTER))
    think = draw(st.sampled_from(THINK)).format(draft=text_of(changed(draw, solution, [(0, 0), (size - 1, 1)])))
    return size, puzzle, think + text


def render_any(size, puzzle, grid, form, sign="plain") -> str:
    """As `render`, for grids of any shape."""
    filled = [[v != g for v, g in itertools.zip_longest(*lines)] for lines in zip(grid, puzzle)]
    cells = [[SIGNS[sign](str(v), f) for v, f in itertools.zip_longest(line, marks[: len(line)], fillvalue=True)]
             for line, marks in itertools.zip_longest(grid, filled, fillvalue=[True] * size)]  # fmt: skip
    return ({**FORMS, **TIGHT})[form](cells, *BOX[size])


def changed(draw, grid, where) -> list[list[int]]:
    """The grid with another value in one of the cells."""
    r, c = draw(st.sampled_from(where))
    new = [line[:] for line in grid]
    new[r][c] = draw(st.sampled_from([v for v in range(1, len(grid) + 1) if v != grid[r][c]]))
    return new


@quick
@given(completions())
def test_right_grid_scores_1_whatever_is_around_it(case):
    size, puzzle, text = case
    verdict = score(text, row_of(text_of(puzzle), size))
    assert verdict.reward == 1.0, f"{verdict.reason}\n{text}"


# --- what must not score ---------------------------------------------------------------------------------


def mutated(draw, size, puzzle, solution):
    """A grid that is not the answer: a cell or a given changed, a row missing or doubled, a blank left."""
    every = list(itertools.product(range(size), repeat=2))
    givens = [(r, c) for r, c in every if puzzle[r][c]]
    how = draw(st.sampled_from(("cell", "given", "swap", "fewer rows", "more rows", "blank", "short row", "long row")))
    new = [line[:] for line in solution]
    r, c = draw(st.sampled_from(every))
    if how in ("cell", "given"):
        return changed(draw, solution, givens if how == "given" else every)
    if how == "swap":  # a valid square, for another puzzle
        a, b = draw(st.sampled_from([(a, b) for a in range(1, size + 1) for b in range(1, a)]))
        new = [[b if v == a else a if v == b else v for v in line] for line in new]
        return new if any(new[r][c] != solution[r][c] for r, c in givens) else changed(draw, solution, givens)
    if how == "fewer rows":
        del new[r]
    elif how == "more rows":
        new.insert(r, new[c])
    elif how == "blank":
        new[r][c] = 0
    elif how == "short row":
        del new[r][c]
    else:
        new[r].append(size)
    return new


@quick
@given(completions(grid=mutated))
def test_wrong_grid_never_scores(case):
    size, puzzle, text = case
    assert score(text, row_of(text_of(puzzle), size)).reward == 0.0, text


OTHER = [
    "{a}\n\n{b}", "{b}\n\n{a}", "Option 1:\n{b}\n\nOption 2:\n{a}", "{b}\n\nor\n\n{a}",
    "{b}\n\nor maybe this one:\n{a}",
    "{b}\nThe second option is\n{a}", "Attempt 1:\n{b}\nAttempt 2:\n{a}", "Either\n{b}\nor\n{a}",
    "Solution 1:\n{b}\nSolution 2:\n{a}", "```\n{b}\n```\n```\n{a}\n```", "{b}\n---\n{a}",
    "Answer: \n{b}\n\nAnswer:\n{a}",
    "<answer>{b}</answer>\n<answer>{a}</answer>\nfirst {a}\n\n{b}", "1.\n{b}\n\n2.\n{a}",
    "{b}\n\nAlternatively:\n\n{a}",
    "<answer>{b}\n\n{a}</answer>", "Grid A\n{b}\n\nGrid B\n{a}", "{a}\n\nWait, that is wrong. Corrected:\n\n{b}",
    "<think>{b}</think>\n{b}\nso\n{b}", "<think>\n{a}\n</think>", "<think>\n{a}", "<think>\n{b}\n</think>\n<think>{a}",
    "[THINK]{a}[/THINK]", "{a}\n</think>\nDone.", "{a}</think>", "<|channel|>analysis<|message|>{a}",
    "<answer>{b}</answer>{a}<answer>", "{a}\n<answer>I give up</answer>",
]  # fmt: skip


@pytest.mark.parametrize("size", (4, 6, 9))
@pytest.mark.parametrize("shape", OTHER)
def test_two_answers_or_none_score_0(shape, size):
    for puzzle, solution in BANK[size][:5]:
        wrong = [line[:] for line in solution]
        wrong[0], wrong[1] = wrong[1], wrong[0]
        text = shape.replace("{a}", text_of(solution)).replace("{b}", text_of(wrong))
        assert score(text, row_of(text_of(puzzle), size)).reward == 0.0, text


def test_spraying_every_grid_scores_0():
    puzzle, solution = BANK[4][0]
    swaps = itertools.permutations((1, 2, 3, 4))
    grids = [text_of([[swap[v - 1] for v in line] for line in solution]) for swap in swaps]
    for joint in ("\n\n", "\n\nHmm, no. Corrected:\n\n", "\nor\n"):
        assert score(joint.join([*grids, text_of(solution)]), row_of(text_of(puzzle), 4)).reward == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n\nColumn check:\nColumn 1: 1 3 2 4\nColumn 2: 2 4 1 3\n"
        "Column 3: 3 1 4 2\nColumn 4: 4 2 3 1\nBox 1: 1 2 3 4\nBox 2: 3 4 1 2\nBox 3: 2 1 4 3\nBox 4: 4 3 2 1",
        "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n\nVerification:\n- Row 1: 1, 2, 3, 4 ✓\n- Row 2: 3, 4, 1, 2 ✓\n"
        "- Row 3: 2, 1, 4, 3 ✓\n- Row 4: 4, 3, 2, 1 ✓\n- Column 1: 1, 3, 2, 4 ✓\n- Column 2: 2, 4, 1, 3 ✓\n"
        "- Column 3: 3, 1, 4, 2 ✓\n- Column 4: 4, 2, 3, 1 ✓\n- Top-left box: 1, 2, 3, 4 ✓\n- Top-right box: 3, 4, 1, 2",
        "Row 1: 1 _ 3 _ → 1 2 3 4\nRow 2: _ 4 _ 2 → 3 4 1 2\nRow 3: _ 1 _ _ → 2 1 4 3\nRow 4: 4 _ _ 1 → 4 3 2 1",
        "All rows hold {1,2,3,4}:\n1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1",
        "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n\nEach sums to 10: 1 + 2 + 3 + 4 = 10.\n1+2+3+4\n",
        "| 1 | 2 | 3 | 4 |\n|---|---|---|---|\n| 3 | 4 | 1 | 2 |\n| 2 | 1 | 4 | 3 |\n| 4 | 3 | 2 | 1 |",
        "First I fill row 1: 1 2 3 4\nThen row 2: 3 4 1 2\nThen row 3: 2 1 4 3\nFinally row 4: 4 3 2 1",
        "1. Row 1: 1 2 3 4\n2. Row 2: 3 4 1 2\n3. Row 3: 2 1 4 3\n4. Row 4: 4 3 2 1",
        "The first row becomes:\n1 2 3 4\n\nso the grid is:\n\n1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1",
        "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n\nIn one line: 1234341221434321",
        "Step 1:\n1 2 3 4\n_ 4 _ 2\n_ 1 _ _\n4 _ _ 1\n\nStep 2:\n1 2 3 4\n3 4 1 2\n_ 1 _ _\n4 _ _ 1\n\n"
        "Step 3:\n1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1",
        "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1",
        "<answer>no</answer> Sorry. <answer>1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1</answer>",
        '{"row1": "1234", "row2": "3412", "row3": "2143", "row4": "4321"}',
        "[1 2 3 4; 3 4 1 2; 2 1 4 3; 4 3 2 1]",
        "{{1,2,3,4},{3,4,1,2},{2,1,4,3},{4,3,2,1}}",
        "#### 1234341221434321",
        "The solved square: 1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1",
        "**Row 1**\n1 2 3 4\n**Row 2**\n3 4 1 2\n**Row 3**\n2 1 4 3\n**Row 4**\n4 3 2 1",
        "Row I: 1 2 3 4\nRow II: 3 4 1 2\nRow III: 2 1 4 3\nRow IV: 4 3 2 1",
        '{"puzzle": [[1,null,3,null],[null,4,null,2],[null,1,null,null],[4,null,null,1]], '
        '"solution": [[1,2,3,4],[3,4,1,2],[2,1,4,3],[4,3,2,1]]}',
        "tensor([[1, 2, 3, 4],\n        [3, 4, 1, 2],\n        [2, 1, 4, 3],\n        [4, 3, 2, 1]])",
        "~~2~~ 1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1",
        "<think>hm</think>1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n</think>\n",
        "\ufeff1 2 3 4\u20283 4 1 2\u20282 1 4 3\u20284 3 2 1",
    ],
)
def test_texts_that_a_reader_takes_as_right(text):
    puzzle = "1 _ 3 _\n_ 4 _ 2\n_ 1 _ _\n4 _ _ 1"
    verdict = score(text, row_of(puzzle, 4))
    assert verdict.reward == 1.0, verdict.reason


# --- arbitrary text --------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["<think>", "</think>", "<answer>", "</answer>", "<tool_call>", "</tool_call>", "```", "\n", " ", "|", "[", "]",
    "(", ")",
     "{", "}", "\\", "\\n", "\\begin{array}", "\\end{array}", "&", "**", "*", "_", "1", "2", "3", "4", "10", "0", "-",
     "---",
     "<td>", "</td>", "<tr>", "<br>", "Row 1: ", "Column 2: ", "→", "\r", "\x00", "\ud800", "٣", "½", "²", "①", "１",
     "1️⃣", "G",
     '{"name": "submit", "arguments": {"grid": "1"}}', '{"name": "place", "arguments": {"row": 1e400}}', "NaN",
     "9" * 5000,
     text_of(BANK[4][0][1]), text_of(BANK[4][0][0]), ":", "=", ",", ";", "/", "'", '"', "#", "\u2028", "\u200b", "or"]
)  # fmt: skip


@settings(quick, max_examples=5000)
@given(st.text(max_size=300))
def test_arbitrary_text_raises_nothing(text):
    assert score(text, ROW4).reward in (0.0, 1.0)
    assert isinstance(parse(text, ROW4), list)


@settings(quick, max_examples=5000)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_structured_garbage_raises_nothing(text):
    assert score(text, ROW4).reward in (0.0, 1.0)
    assert isinstance(parse(text, ROW4), list)


LONG = ("[", "(", "{", "]", "<answer>", "</answer>", "<tool_call>", "<tool_call>{}</tool_call>", "<think>", "</think>",
    "1 ",
        "1\n", "1 2 3 4\n", "|", "| ", "\\", "\\n", "\\begin{a}", "\\textbf{", "1", "12", "*", "**", "**1", "_", "__1",
        "`", "~~",
        "<td>", "<td ", "</td>", "<", "<a", " ", "\n", "\r", "\t", ":", "1:", "Row 1:", "Row ", "row", "column ",
        "col 1: ", "-",
        "- ", "->", "→", "=", ",", ";", "/", "1/", "1-", "1, ", "'", '"', "#", "(1", "[1", "[1]", "[[1,2],", "$", "é",
        "\u200b",
        "1 2 3 4 5 6 7 8 9 ", "123456789", "1.", ". ", "A", "A ", "G1", "x", "X x", "0 ", "_ ", "or ", "```\n", "<|a",
        "─", "✓",
        "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n\nno\n")  # fmt: skip


def test_reasoning_that_never_ends_is_no_answer_however_long():
    puzzle, solution = BANK[4][0]
    text = "<think>" + "no idea\n" * 40_000 + text_of(solution)
    assert score(text, row_of(text_of(puzzle), 4)).reward == 0.0


@pytest.mark.parametrize("size", (4, 9, 16))
def test_scoring_takes_time_in_proportion_to_the_length_of_the_text(size):
    row = row_of(text_of(BANK[size][0][0]), size)

    def cost(piece, length, end):  # a new text each time, since the form of an answer is remembered
        return cpu_s(lambda: score(piece * (length // len(piece)) + end, row))

    def in_proportion(piece, length, end):
        short, long = cost(piece, length, end), cost(piece, 8 * length, end)
        return long < 24 * short + 0.2

    texts = [(piece, length, end) for piece in LONG for length, end in ((25_000, ""), (1_900, "!"))]
    slow = [text for text in texts if not any(in_proportion(*text[:2], text[2] + " " * n) for n in range(3))]
    assert not slow, slow


def slowly(text: str, size: int) -> bytes | None:
    """The grid in a text, read without the quick way."""
    quick_way, sudoku_env._quick = sudoku_env._quick, lambda text, size: None
    try:
        return sudoku_env._read_answer(text, size)[0]
    finally:
        sudoku_env._quick = quick_way


def test_quick_reading_agrees_with_the_long_way():
    around = (
        "",
        "Here:\n",
        "```\n",
        "- \n",
        ". . . .\n",
        "_ x\n",
        "Column\n",
        "a = \n",
        "\nDone.",
        "\nor",
        "\n|a|",
        "\n?",
        "\n-",
    )
    quickly = 0
    for size, form, (before, after) in itertools.product((4, 9), forms_for(4), itertools.product(around, repeat=2)):
        puzzle, solution = BANK[size][1]
        text = before + render(size, puzzle, solution, form) + after
        if cells := sudoku_env._quick(text, size):
            quickly += 1
            assert slowly(text, size) == cells, text
    assert quickly > 500


@settings(quick, max_examples=1500)
@given(st.data())
def test_quick_reading_agrees_with_the_long_way_on_damaged_answers(data):
    size = data.draw(st.sampled_from((4, 6, 9, 16)))
    puzzle, solution = data.draw(st.sampled_from(BANK[size]))
    form = data.draw(st.sampled_from(("spaces", "comma space", "spaced pipes", "outer pipes", "boxes", "blank lines")))
    wrap = data.draw(st.sampled_from(("{}", "Here it is:\n```\n{}\n```", "{}\n\nDone.")))
    text = wrap.format(render(size, puzzle, solution, form))
    for _ in range(data.draw(st.integers(1, 3))):
        at, gone = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 1))
        text = text[:at] + data.draw(st.sampled_from(["", *"1239 0_.|,-\n*xA:=[(<`&;/'\"é"])) + text[at + gone :]
    cells = sudoku_env._quick(text, size)
    assert cells is None or slowly(text, size) == cells, text


def first_fault(cells: list[int], givens: list[int], size: int) -> str:
    """Written apart from the verifier, from the rules."""
    for i, value in enumerate(cells):
        at = f"row {i // size + 1}, column {i % size + 1}"
        if not 1 <= value <= size:
            return f"wrong cell: {at} is {value}, not between 1 and {size}"
        if givens[i] not in (0, value):
            return f"wrong given: {at} is {givens[i]} in the puzzle, not {value}"
    height, width = BOX[size]
    grid = [cells[i : i + size] for i in range(0, size * size, size)]
    boxes = [[grid[r + i][c + j] for i in range(height) for j in range(width)]
             for r in range(0, size, height) for c in range(0, size, width)]  # fmt: skip
    for name, units in (("row", grid), ("column", [list(line) for line in zip(*grid)]), ("box", boxes)):
        for number, unit in enumerate(units):
            for value in unit:
                if unit.count(value) > 1:
                    return f"wrong cell: {name} {number + 1} holds {value} twice"
    return ""


@settings(quick, max_examples=2000)
@given(st.data())
def test_first_fault_agrees_with_the_rules(data):
    size = data.draw(st.sampled_from(list(BOX)))
    puzzle, solution = data.draw(st.sampled_from(BANK[size]))
    givens, cells = [list(itertools.chain(*grid)) for grid in (puzzle, solution)]
    if data.draw(st.booleans()):  # none given, so that only the rules count
        givens = [0] * size * size
    index, values = st.integers(0, size * size - 1), st.integers(1, size + data.draw(st.sampled_from((0, 0, 2))))
    for _ in range(data.draw(st.integers(0, 3))):
        i, j = data.draw(index), data.draw(index)
        how = data.draw(st.sampled_from(("swap cells", "copy a cell", "set a cell", "swap rows", "swap columns")))
        if how == "swap cells":
            cells[i], cells[j] = cells[j], cells[i]
        elif how == "copy a cell":
            cells[i] = cells[j]
        elif how == "set a cell":
            cells[i] = data.draw(values)
        elif how == "swap rows":
            a, b = i // size * size, j // size * size
            cells[a : a + size], cells[b : b + size] = cells[b : b + size], cells[a : a + size]
        else:
            a, b = i % size, j % size
            cells[a::size], cells[b::size] = cells[b::size], cells[a::size]
    task = json.dumps({"puzzle": text_of([givens[k : k + size] for k in range(0, size * size, size)]), "size": size})
    expected = first_fault(cells, givens, size)
    assert sudoku_env._fault(bytes(cells), task) == expected
    verdict = score(" ".join(map(str, cells)) if size > 9 else text_of(
        [cells[k : k + size] for k in range(0, size * size, size)]), {"task": task})  # fmt: skip
    assert verdict.reward == float(not expected)


def test_what_is_remembered_changes_no_verdict():
    for size, pairs in BANK.items():
        puzzle, solution = pairs[0]
        row, wrong = row_of(text_of(puzzle), size), [line[:] for line in solution]
        wrong[-1][-1] = wrong[-1][0]
        texts = [text_of(solution), text_of(wrong), "I give up.", f"So:\n```\n{text_of(solution)}\n```"]
        first = [score(text, row) for text in texts]
        for verdict in first:
            verdict.metrics["calls"] = 99.0  # a caller's own business
        again = [score(text, row) for text in texts]
        sudoku_env._remembered.cache_clear()
        sudoku_env._task.cache_clear()
        assert again == [score(text, row) for text in texts]
        assert [verdict.reward for verdict in again] == [1.0, 0.0, 0.0, 1.0]


def test_a_value_too_large_for_a_cell_is_named():
    puzzle, solution = BANK[16][0]
    wrong = [line[:] for line in solution]
    for value, said in ((17, "is 17,"), (99, "is 99,"), (256, "is over 99,"), (10**30, "is over 99,")):
        wrong[2][3] = value
        verdict = score(text_of(wrong), row_of(text_of(puzzle), 16))
        assert verdict.reason == f"wrong cell: row 3, column 4 {said} not between 1 and 16"


# --- reasons ---------------------------------------------------------------------------------------------

PUZZLE4 = "1 _ 3 _\n_ 4 _ 2\n_ 1 _ _\n4 _ _ 1"


@pytest.mark.parametrize(
    "text, reason",
    [
        ("1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", "solved"),
        ("", "no answer: the completion is empty"),
        (None, "no answer: the completion is empty"),
        ([], "no answer: the completion is empty"),
        ("<think>1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", "no answer: nothing follows the reasoning"),
        ("I give up.", "no answer: no grid of 4 rows found"),
        ("1 2 3 4\n3 4 1 2\n2 1 4 3", "format: found 3 rows together, not 4"),
        ("1 2 3 4\n3 4 1 2 9\n2 1 4 3\n4 3 2 1", "format: row 2 has 5 values, not 4"),
        ("1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 _ 1", "incomplete: row 4, column 3 is blank"),
        ("1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 0 1", "incomplete: row 4, column 3 is blank"),
        ("2 1 3 4\n3 4 1 2\n1 2 4 3\n4 3 2 1", "wrong given: row 1, column 1 is 1 in the puzzle, not 2"),
        ("1 2 3 7\n3 4 1 2\n2 1 4 3\n4 3 2 1", "wrong cell: row 1, column 4 is 7, not between 1 and 4"),
        ("1 2 3 3\n3 4 1 2\n2 1 4 3\n4 3 2 1", "wrong cell: row 1 holds 3 twice"),
        ("1 2 3 4\n3 4 1 2\n2 1 4 3\n4 2 3 1", "wrong cell: column 2 holds 2 twice"),
        ("1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n\n1 3 2 4\n3 4 1 2\n2 1 4 3\n4 3 2 1",
         "several answers: 2 different grids offered; give one"),
    ],
)  # fmt: skip
def test_reason_names_the_first_fault(text, reason):
    assert score(text, row_of(PUZZLE4, 4)).reason == reason


def test_latin_square_is_no_sudoku():
    verdict = score("1 2 3 4\n2 3 4 1\n3 4 1 2\n4 1 2 3", row_of("1 _ _ _\n" + "_ _ _ _\n" * 3, 4))
    assert verdict.reward == 0.0 and verdict.reason == "wrong cell: box 1 holds 2 twice"


def test_same_response_same_reward():
    for text in (answer(ROW4), "", "1 2 3 4"):
        assert len({score(text, ROW4) == score(text, ROW4) for _ in range(20)}) == 1
        assert len(set(reward([text] * 20, task=[ROW4["task"]] * 20))) == 1


def test_any_solution_of_a_puzzle_with_several_counts():
    row = row_of("_ _ 3 4\n3 4 1 2\n_ _ 4 3\n4 3 2 1", 4)
    grids = solve("_ _ 3 4\n3 4 1 2\n_ _ 4 3\n4 3 2 1", at_most=5)
    assert len(grids) == 2 and all(score(grid, row).reward == 1.0 for grid in grids)


def test_size_may_be_absent_from_the_task():
    for size, pairs in BANK.items():
        puzzle, solution = pairs[0]
        row = {"task": json.dumps({"puzzle": text_of(puzzle)})}
        assert score(text_of(solution), row).reward == 1.0, size
        assert score(answer(row), row).reward == 1.0


def test_reward_takes_text_and_messages_and_ignores_other_columns():
    gold, task = answer(ROW4), ROW4["task"]
    completions = [gold, [{"role": "assistant", "content": gold}], "no", [{"role": "assistant", "content": None}]]
    assert reward(completions, task=[task] * 4, prompts=[1] * 4, step=3, log_extra=None) == [1.0, 1.0, 0.0, 0.0]
    parts = [{"role": "assistant", "content": [{"type": "text", "text": gold[:9]}, {"type": "text", "text": gold[9:]}]}]
    assert reward([parts], task=[task]) == [1.0]
    tool = [
        {"role": "assistant", "content": "no"},
        {"role": "tool", "content": gold},
        {"role": "user", "content": gold},
    ]
    assert reward([tool], task=[task]) == [0.0]


# --- the tools -------------------------------------------------------------------------------------------

PLACE4 = make_rows(1, seed=3, difficulty="medium", interactive=True)[0]


def started(row=PLACE4) -> SudokuEnv:
    env = SudokuEnv()
    env.reset(**row)
    return env


def board(env) -> list[int]:
    return list(env._cells)


def moves(row=PLACE4) -> list[dict]:
    return [m["tool_calls"][0]["function"]["arguments"] for m in answer(row) if m.get("tool_calls")]


def test_gold_moves_solve_the_puzzle():
    env = started()
    for move in moves():
        assert env.get_reward() == 0.0
        text = env.place(**move)
    assert text.endswith("Solved.") and env.get_reward() == 1.0 and env.metrics["filled"] == 1.0


@quick
@given(st.lists(st.tuples(*[st.integers(-1, 6) | st.none() | st.text(max_size=2) | st.booleans()] * 3), max_size=40))
def test_illegal_moves_change_nothing_and_no_rule_is_ever_broken(tries):
    env = started()
    for move in tries:
        before = board(env)
        try:
            env.place(*move)
        except ValueError as error:
            assert str(error) and board(env) == before
        cells = board(env)
        assert all(not g or g == v for g, v in zip(env._givens, cells))
        assert sudoku_env._used(cells, 4) is not None


def test_given_and_conflict_are_refused_with_advice():
    env = started()
    at = next(i for i, v in enumerate(env._givens) if v)
    with pytest.raises(ValueError, match=r"is a given \d; choose a blank cell"):
        env.place(at // 4 + 1, at % 4 + 1, 1)
    free = next(i for i, v in enumerate(env._givens) if not v)
    taken = next(v for v in env._givens[free // 4 * 4 : free // 4 * 4 + 4] if v)
    with pytest.raises(ValueError, match="already in that row; choose another value"):
        env.place(free // 4 + 1, free % 4 + 1, taken)
    for bad in (0, 5, -1, 10**30, "1", 1.0, True, None, [1], {"a": 1}):
        with pytest.raises(ValueError, match="row must be a whole number from 1 to 4"):
            env.place(bad, 1, 1)
    assert board(env) == list(env._givens)


def test_a_cell_can_be_emptied_and_filled_again():
    env, move = started(), moves()[0]
    env.place(**move)
    env.place(**{**move, "value": 0})
    assert board(env) == list(env._givens)
    for move in moves():
        env.place(**move)
    assert env.get_reward() == 1.0


def test_the_limit_ends_endless_repeats():
    env, calls = started(), 0
    with pytest.raises(ValueError, match="calls are used up; answer without a tool call"):
        for calls in range(10_000):  # noqa: B007
            try:
                env.place(1, 1, 99)
            except ValueError as error:
                if "used up" in str(error):
                    raise
    assert calls < 100
    for move in moves():
        with pytest.raises(ValueError, match="used up"):
            env.place(**move)
    assert env.get_reward() == 0.0


def test_nothing_can_be_placed_or_submitted_after_the_end():
    env, gold = started(), solve(json.loads(PLACE4["task"])["puzzle"])[0]
    for move in moves():
        env.place(**move)
    for call in (lambda: env.place(1, 1, 1), lambda: env.submit(gold), lambda: env.submit("1")):
        with pytest.raises(ValueError, match="finished"):
            call()
    assert env.get_reward() == 1.0


def test_first_complete_grid_is_final():
    puzzle, solution = BANK[4][0]
    wrong = [solution[1], solution[0], *solution[2:]]
    calls = [{"name": "submit", "arguments": {"grid": text_of(grid)}} for grid in (wrong, solution)]
    row = row_of(text_of(puzzle), 4)
    messages = [{"role": "assistant", "tool_calls": [{"function": call}]} for call in calls]
    tagged = "".join(f"<tool_call>{json.dumps(call)}</tool_call>\n" for call in calls)
    together = [{"role": "assistant", "content": "", "tool_calls": [{"function": call} for call in calls]}]
    for completion in (messages, tagged, together, [*messages, {"role": "assistant", "content": text_of(solution)}]):
        verdict = score(completion, row)
        assert verdict.reward == 0.0 and verdict.reason.startswith("wrong")
    assert score(messages[::-1], row).reward == 1.0


def test_an_incomplete_grid_is_refused_and_may_be_followed_by_a_complete_one():
    env = started()
    with pytest.raises(ValueError, match="incomplete"):
        env.submit(json.loads(PLACE4["task"])["puzzle"])
    with pytest.raises(ValueError, match="several answers"):
        env.submit("1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1\n\n1 3 2 4\n3 4 1 2\n2 1 4 3\n4 3 2 1")
    assert env.get_reward() == 0.0
    assert env.submit(solve(json.loads(PLACE4["task"])["puzzle"])[0]) == "Solved." and env.get_reward() == 1.0


def test_guessing_each_cell_gets_no_reward_beyond_the_limit():
    for row in make_rows(5, size=9, difficulty="medium", interactive=True):
        env = started(row)
        for r, c, v in itertools.product(range(1, 10), repeat=3):
            try:
                env.place(r, c, v)
            except ValueError:
                continue
        assert env.get_reward() == 0.0


def test_tool_calls_for_other_names_and_broken_calls_are_ignored():
    gold = answer(ROW4)
    for name in ("reset", "get_reward", "_count", "__init__", "place", "no_such_tool"):
        calls = [{"function": {"name": name, "arguments": a}} for a in ("{", "[]", {}, None, '{"task": "x"}')]
        assert score([{"role": "assistant", "content": gold, "tool_calls": calls}], ROW4).reward == 0.0
    for broken in (None, 1, "x", [], {}, {"function": None}, {"function": {"name": 3}}, {"name": "submit"}):
        assert score([{"role": "assistant", "content": gold, "tool_calls": [broken]}], ROW4).reward in (0.0, 1.0)
    for message in (
        None,
        1,
        "x",
        [],
        {},
        {"role": "assistant", "content": 3},
        {"role": "assistant", "content": [None]},
    ):
        assert score([message], ROW4).reward == 0.0


# --- puzzles ---------------------------------------------------------------------------------------------


def test_every_blank_sign_reads_the_same():
    for size, pairs in BANK.items():
        puzzle = pairs[0][0]
        for sign in ("_", ".", "0", "*", "x", "X", "?"):
            text = "\n".join(" ".join(str(v or sign) for v in line) for line in puzzle)
            assert solve(text, size) == solve(text_of(puzzle)), (size, sign)
            if size < 10:
                assert solve(text.replace(" ", ""), size) == solve(text_of(puzzle)), (size, sign, "tight")
        for sign in ("", " ", "_", "."):
            table = "\n".join("| " + " | ".join(str(v or sign) for v in line) + " |" for line in puzzle)
            assert solve(table, size) == solve(text_of(puzzle)), (size, sign, "table")
    drawn = "+-----+-----+\n| 1 . | 3 . |\n| . 4 | . 2 |\n+-----+-----+\n| . 1 | . . |\n| 4 . | . 1 |\n+-----+-----+"
    assert solve(drawn) == ["1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1"]


@pytest.mark.parametrize("text", ["", "hello", "1 2 3", "1 2 3 4\n" * 3, "1 2 3 9\n" * 4, None, 7, ["1"]])
def test_what_is_no_puzzle_is_refused(text):
    with pytest.raises(ValueError, match="puzzle"):
        solve(text)


def test_contradicting_givens_have_no_solution_and_cost_no_time():
    for size in BOX:
        rows = [["_"] * size for _ in range(size)]
        rows[0][0] = rows[0][-1] = "1"
        assert solve("\n".join(map(" ".join, rows)), size, max_steps=1) == []
    assert solve("1 2 3 _\n_ _ _ 4\n_ _ _ _\n_ _ _ _", max_steps=1) == []  # no value left for a cell


HARD = (
    "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9",  # against brute force
    "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4..",
    ".....6....59.....82....8....45........3........6..3.54...325..6..................",
    "." * 81,
)


@pytest.mark.parametrize("line", HARD)
def test_hard_puzzles_end_within_the_limit(line):
    puzzle = "\n".join(line[i : i + 9] for i in range(0, 81, 9))
    found = solve(puzzle, 9, at_most=2)
    assert found is None or found
    if not by_singles("\n".join(" ".join(row.replace(".", "_")) for row in puzzle.split("\n")), 9):
        assert solve(puzzle, 9, at_most=2, max_steps=1) is None  # unknown, not "none" and not "unique"


def test_16x16_search_stops_at_its_limit():
    empty = "\n".join([" ".join("_" * 16)] * 16)
    assert solve(empty, 16, at_most=3, max_steps=5) is None
    found = solve(empty, 16, at_most=3, max_steps=3_000)
    assert found is None or len(found) == 3


# --- generation ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size, difficulty", [(s, d) for s in LEVELS for d in LEVELS[s]])
def test_levels_are_honoured(size, difficulty):
    fewest, most, singles = LEVELS[size][difficulty]
    for row in make_rows({4: 20, 6: 12, 9: 6, 16: 1}[size], seed=2, size=size, difficulty=difficulty):
        puzzle = json.loads(row["task"])["puzzle"]
        assert fewest <= puzzle.count("_") <= most
        found = solve(puzzle, size, at_most=2)
        assert found is not None and len(found) == 1
        assert score(found[0], row).reward == 1.0 and split_of(found[0]) == "train"
        if singles is not None:
            assert by_singles(puzzle, size) is singles
        assert puzzle in row["prompt"][0]["content"] and f"{size}x{size}" in row["prompt"][0]["content"]


def by_singles(puzzle: str, size: int) -> bool:
    """Whether naked and hidden singles solve it; written apart from the generator, from the rules."""
    height, width = BOX[size]
    grid = {(r, c): v for r, line in enumerate(cells_of(puzzle)) for c, v in enumerate(line)}
    units = [[(r, c) for c in range(size)] for r in range(size)] + [[(r, c) for r in range(size)] for c in range(size)]
    units += [[(r + i, c + j) for i in range(height) for j in range(width)]
              for r in range(0, size, height) for c in range(0, size, width)]  # fmt: skip
    while True:
        options = {at: set(range(1, size + 1)) - {grid[p] for u in units if at in u for p in u}
                   for at in grid if not grid[at]}  # fmt: skip
        if not options:
            return True
        hit = next(((at, min(o)) for at, o in options.items() if len(o) == 1), None)
        for unit, value in itertools.product(units, range(1, size + 1)):
            places = [at for at in unit if value in options.get(at, ())]
            if len(places) == 1:
                hit = hit or (places[0], value)
        if not hit:
            return False
        grid[hit[0]] = hit[1]


@pytest.mark.parametrize("blanks, singles", [(30, None), ((40, 50), True), (50, False), (52, None), ((1, 80), None)])
def test_blanks_and_singles_can_be_asked_for(blanks, singles):
    for row in make_rows(2, size=9, blanks=blanks, singles=singles):
        puzzle = json.loads(row["task"])["puzzle"]
        low, high = (blanks, blanks) if isinstance(blanks, int) else blanks
        assert low <= puzzle.count("_") <= high and len(solve(puzzle, 9, at_most=2)) == 1
        assert singles is None or by_singles(puzzle, 9) is singles


def test_splits_share_no_solution_grid():
    owner = {}
    for split, seed in itertools.product(SPLITS, range(3)):
        for row in make_rows(60, seed=seed, split=split):
            solution = solve(json.loads(row["task"])["puzzle"])[0]
            assert owner.setdefault(solution, split) == split == split_of(solution)
    assert set(owner.values()) == set(SPLITS)


def test_rows_are_different_and_more_rows_extend_fewer():
    rows = make_rows(200)
    assert len({row["task"] for row in rows}) == len({row["task_id"] for row in rows}) == 200
    assert make_rows(50) == rows[:50] and make_rows(0) == []
    assert make_rows(5, seed=1) != rows[:5] and make_rows(5, split="test") != rows[:5]


def test_same_rows_in_a_new_process_with_another_hash_seed():
    code = (
        "import json, hashlib; from envs.sudoku_env import make_rows; "
        "rows = [make_rows(3, seed=1, size=s, difficulty=d) for s, d in ((4, 'easy'), (6, 'hard'), (9, 'hard'))]; "
        "print(hashlib.sha256(json.dumps(rows).encode()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(seen) == 1


@pytest.mark.parametrize(
    "knobs, message",
    [
        ({"size": 5}, "size must be 4, 6, 9 or 16, got 5"),
        ({"size": "9"}, "size must be"),
        ({"size": [9]}, "size must be"),
        ({"size": 9.0}, "size must be"),
        ({"difficulty": ["easy"]}, "difficulty must be"),
        ({"singles": "yes"}, "singles must be True, False or None, got 'yes'"),
        ({"split": "dev"}, "split must be one of train, validation, test, got 'dev'"),
        ({"difficulty": "evil"}, "difficulty must be one of easy, medium, hard, got 'evil'"),
        ({"blanks": 0}, "blanks must be a number from 1 to 15"),
        ({"blanks": 16}, "blanks must be a number from 1 to 15"),
        ({"blanks": (5, 3)}, "blanks .* got .5, 3."),
        ({"blanks": "many"}, "blanks"),
        ({"blanks": (1, 2, 3)}, "blanks"),
        ({"blanks": 15}, "found only 0 of 2 .*; ask for fewer puzzles or other blanks"),
        ({"n": 100_000, "blanks": 1}, "found only .* of 100000 .*; ask for fewer puzzles"),
        ({"n": -1}, "n must be"),
        ({"n": "two"}, "n must be"),
    ],
)  # fmt: skip
def test_bad_knobs_are_named(knobs, message):
    with pytest.raises(ValueError, match=message):
        make_rows(**{"n": 2, **knobs})


@pytest.mark.parametrize("size, blanks", [(9, 50), (9, 54), (16, 120)])
def test_puzzles_with_many_blanks_are_found(size, blanks):
    (row,) = make_rows(1, size=size, blanks=blanks)
    assert json.loads(row["task"])["puzzle"].count("_") == blanks


def test_one_file_works_alone(tmp_path):
    shutil.copy(ROOT / "envs" / "sudoku_env.py", tmp_path)
    code = (
        "import sys; sys.path.insert(0, '.'); import sudoku_env as s\n"
        "for size in (4, 6, 9):\n"
        "    for row in s.make_rows(3, size=size) + s.make_rows(1, size=size, interactive=True):\n"
        "        assert s.score(s.answer(row), row).reward == 1.0 and s.score('', row).reward == 0.0\n"
        "print('fine', s.__file__)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("fine"), done.stderr


@pytest.mark.parametrize(
    "calls, kind",
    [
        ([("place", {"row": 9, "column": 1, "value": 1})], "tool fault: row must be"),
        ([("place", {"row": 1})], "tool fault: "),
        ([("solve", {})], "tool fault: there is no tool 'solve'"),
        ([("submit", {"grid": "1 2 3 4"})], "no answer: "),
        ([("submit", {"grid": 5})], "tool fault: grid must be text"),
        ([("place", {"row": 1, "column": 2, "value": 2})], "incomplete: "),
    ],
)
def test_reason_of_calls_that_lead_nowhere(calls, kind):
    row = {"task": json.dumps({"puzzle": "1 _ 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 _", "size": 4})}
    made = [{"type": "function", "function": {"name": name, "arguments": given}} for name, given in calls]
    verdict = sudoku_env.score([{"role": "assistant", "content": "", "tool_calls": made}], row)
    assert verdict.reward == 0.0 and verdict.reason.startswith(kind), verdict
