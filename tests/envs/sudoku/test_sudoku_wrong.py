"""Wrong grids, sprays, arbitrary text: nothing of it scores, and nothing takes long."""

import itertools
import json

import pytest
from cost import cpu_s
from hypothesis import given, settings
from hypothesis import strategies as st
from sudoku_cases import (
    BANK,
    ROW4,
    changed,
    completions,
    forms_for,
    quick,
    render,
    row_of,
    text_of,
)

from envs import sudoku_env
from envs.sudoku_env import BOX, parse, score


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
