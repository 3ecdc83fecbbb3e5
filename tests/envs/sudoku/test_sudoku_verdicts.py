"""Reasons, the tools, what ends an episode."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sudoku_cases import (
    BANK,
    ROW4,
    quick,
    row_of,
    text_of,
)

from envs import sudoku_env
from envs.sudoku_env import SudokuEnv, answer, make_rows, reward, score, solve

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
