"""What several tests of sudoku share."""

import itertools
import json

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from envs.sudoku_env import BOX, make_rows, solve

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
