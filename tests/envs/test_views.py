"""What an environment gives to draw of an episode: plain blocks, the same whatever the front end."""

import json

import pytest

import envs

LOOKS = {"given", "filled", "bad", "right", "wrong", ""}
PUZZLE = "1 _ 3 4\n3 4 1 _\n2 1 _ 3\n_ 3 2 1"
SOLVED = "1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1"


def check(blocks: list) -> list:
    """The blocks, each in one of the agreed shapes and ready for JSON."""
    for block in blocks:
        if "board" in block:
            assert set(block) == {"board", "box", "label"} and isinstance(block["label"], str)
            cells = [cell for row in block["board"] for cell in row]
        elif "table" in block:
            assert set(block) == {"table"} and len({len(row) for row in block["table"]}) == 1
            cells = [cell for row in block["table"] for cell in row]
        else:
            assert set(block) in ({"text"}, {"code"})
            cells = list(block.values())
        for cell in cells:
            if not isinstance(cell, str):
                assert set(cell) == {"text", "look", "note"} and cell["look"] in LOOKS
                assert isinstance(cell["text"], str) and isinstance(cell["note"], str)
    assert json.loads(json.dumps(blocks)) is not None
    return blocks


def episode(name: str, messages, task: str, graded: bool = True) -> dict:
    messages = [{"role": "assistant", "content": messages}] if isinstance(messages, str) else messages
    made = {"environment": name, "prompt": [], "task": task, "messages": messages}
    verdict = envs.load(name).score(messages, made)
    return made | ({"reward": verdict.reward, "reason": verdict.reason} if graded else {})


@pytest.mark.parametrize("name", ("sudoku", "math", "workplace"))
def test_a_view_of_right_and_wrong_episodes_has_the_agreed_shape(name):
    module = envs.load(name)
    rows = module.make_rows(4, seed=3)
    for row, other in zip(rows, rows[1:] + rows[:1]):
        for messages in (module.answer(row), module.answer(other), "", "<think>", "no idea", "\ud800"):
            for graded in (True, False):
                made = episode(name, messages, row["task"], graded)
                assert check(module.view(made)) or not graded


# --- sudoku ----------------------------------------------------------------------------------------------


def drawn(messages, graded: bool = True, puzzle: str = PUZZLE, size: int = 4) -> tuple[str, list[list[dict]]]:
    task = json.dumps({"puzzle": puzzle, "size": size})
    text, board = check(envs.load("sudoku").view(episode("sudoku", messages, task, graded)))
    assert board["label"] == text["text"]
    return text["text"], board["board"]


@pytest.mark.parametrize(
    "answer, says, looks",
    [
        (SOLVED, "Board: no rule broken. Bold: given.", {"given": 12, "filled": 4, "bad": 0}),
        ("1 3 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", "cells hold a value twice in a row, column or box (underlined)", {}),
        ("2 1 3 4\n3 4 1 2\n1 2 4 3\n4 3 2 1", "Board: 3 of the given values changed (≠)",
         {"bad": 3, "given": 9, "filled": 4}),
        ("no idea", "No grid could be read: the puzzle.", {"given": 12, "filled": 0, "bad": 0}),
        ("1 2 3 4\n3 4 1 2\n2 1 4 3\n_ 3 2 1", "No grid could be read: the puzzle.", {"given": 12, "filled": 0}),
    ],
)  # fmt: skip
def test_the_board_shows_the_answer_and_marks_what_breaks_a_rule(answer, says, looks):
    line, board = drawn(answer)
    found = [cell["look"] for row in board for cell in row]
    assert says in line and ("twice" in line) == ("twice" in says)
    assert {look: found.count(look) for look in looks} == looks
    assert ("bad" in found) == ("cells hold" in line or "changed" in line)


def test_the_words_of_a_cell():
    _, board = drawn("2 1 3 4\n3 4 1 2\n1 2 4 3\n4 3 2 1")
    assert board[0][0] == {"text": "2≠", "look": "bad", "note": "2, the puzzle has 1"}
    assert board[0][1] == {"text": "1", "look": "filled", "note": "1, filled in"}
    assert board[0][2] == {"text": "3", "look": "given", "note": "3, given"}
    _, board = drawn("1 4 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1")
    assert board[0][1]["note"] == "4, repeats a value" and board[0][3]["note"] == "4, repeats a value, given"
    _, board = drawn("no idea")
    assert board[0][1] == {"text": "", "look": "", "note": "blank"}


def test_the_board_of_calls_is_the_one_that_was_played():
    made = [{"role": "assistant", "content": "", "tool_calls": [
        {"function": {"name": "place", "arguments": {"row": r, "column": c, "value": v}}}]}
        for r, c, v in ((1, 2, 2), (1, 1, 4), (2, 4, 9))]  # fmt: skip
    line, board = drawn(made)
    assert line == "Board: 3 blank. Bold: given."  # a given and a value that is none were refused
    assert board[0][1]["look"] == "filled" and board[1][3]["text"] == ""
    assert drawn(made[1:])[0] == "No grid could be read: the puzzle."


def test_a_player_sees_the_board_and_no_more():
    line, board = drawn([], graded=False)
    assert line == "Board: 4 blank. Bold: given."
    assert [cell["text"] for row in board for cell in row].count("") == 4


@pytest.mark.parametrize("size", (4, 6, 9, 16))
def test_boards_of_every_size(size):
    sudoku = envs.load("sudoku")
    (row,) = sudoku.make_rows(1, size=size)
    line, board = drawn(sudoku.answer(row), puzzle=json.loads(row["task"])["puzzle"], size=size)
    assert line == "Board: no rule broken. Bold: given." and len(board) == size
    assert sudoku.view(episode("sudoku", "", row["task"]))[1]["box"] == sudoku.BOX[size]


# --- math ------------------------------------------------------------------------------------------------


def answers(messages, task: dict, graded: bool = True) -> list:
    return check(envs.load("math").view(episode("math", messages, json.dumps(task), graded)))


def test_the_answer_beside_the_gold_one():
    (block,) = answers("so \\boxed{4}", {"answer": "5"})
    assert block["table"] == [["extracted answer", "gold answer"], ["4", "5"]]
    assert answers("hm.\nI do not know.", {"answer": 5})[0]["table"][1] == ["(none was found)", "5"]
    assert answers("so \\boxed{4}", {"answer": "5"}, graded=False) == []
    calls = (("calculate", {"expression": "2+3"}), ("submit", {"answer": "6"}), ("submit", {"answer": "5"}))
    made = [
        {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": given}}]} for name, given in calls
    ]
    assert answers(made, {"answer": "5"})[0]["table"][1] == ["6", "5"]  # the first one handed in is final


# --- workplace -------------------------------------------------------------------------------------------


def test_the_fields_that_were_changed_or_should_have_been():
    module = envs.load("workplace")
    send = {"recipient": "ada.lindqvist@larkfield.example", "subject": "Hello", "body": "Hi"}
    task = json.dumps({"ground_truth": [{"name": "email_send_email", "arguments": send}]})
    call = json.dumps([{"name": "email_send_email", "arguments": send | {"body": "Ho"}}])
    text, block = check(module.view(episode("workplace", call, task)))
    assert text["text"] == "What changed in the tables, and what should have:"
    head, *rows = block["table"]
    assert head == ["", "table", "row", "field", "before", "after", "wanted"]
    by_field = {row[3]: row for row in rows}
    assert by_field["body"][0] == {"text": "✗ differs", "look": "wrong", "note": ""}
    assert by_field["body"][1:] == ["emails", "new", "body", "none", "Ho", "Hi"]
    assert by_field["subject"][0]["look"] == "right"
    assert module.view(episode("workplace", call, task, graded=False)) == []
    nothing = module.view(episode("workplace", "Done.", json.dumps({"ground_truth": []})))
    assert nothing == [{"text": "No table was changed, and none should have been."}]
