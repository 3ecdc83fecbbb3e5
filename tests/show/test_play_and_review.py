"""People in the place of the policy and of the verifier."""

from functools import partial

import pytest
from widget_pages import html, live, made, named, tasks

from envs import NAMES, load
from helpers.show import people, play_and_review


def calls_of(module, row) -> list[tuple[str, dict]]:
    """The gold calls of a row."""
    gold = module.answer(row)
    if isinstance(gold, str):
        return module.parse(gold, row)
    return [(c["function"]["name"], c["function"]["arguments"]) for m in gold for c in m.get("tool_calls") or []]


@pytest.mark.parametrize("knobs", [{}, {"interactive": True}], ids=["whole", "interactive"])
@pytest.mark.parametrize("name", NAMES)
def test_a_game_ends_in_the_verdict_that_a_policy_would_get(name, knobs):
    if knobs and name != "sudoku":
        pytest.skip("sudoku only")
    module = load(name)
    rows = module.make_rows(8, seed=7, **knobs)
    other = next(one for one in map(partial(calls_of, module), rows[2:]) if one != calls_of(module, rows[1]))
    for row, calls in ((rows[0], calls_of(module, rows[0])), (rows[1], other), (rows[2], [])):
        game = people.Game(module, row)
        for tool, arguments in [("no_such_tool", {"x": 1}), *calls]:
            game.call(tool, **arguments)
        episode = game.finish("Done.")
        assert (episode["reward"], episode["reason"], episode["metrics"]) == module.score(episode["messages"], row)[:3]
        assert episode["reward"] == (1.0 if row is rows[0] else 0.0)
        assert episode["policy"] == "person" and episode["task_id"] == row["task_id"] and episode["prompt"]
        live_env = game.session.env
        assert live_env.get_reward() == episode["reward"]
    text = people.Game(module, rows[0])
    if isinstance(module.answer(rows[0]), str):
        assert text.finish(module.answer(rows[0]))["reward"] == 1.0


def test_a_game_that_is_over_takes_no_more():
    module, rows, _ = tasks("sudoku", 1)
    game = people.Game(module, rows[0])
    game.finish("")
    for late in (lambda: game.call("submit", grid="1"), game.finish):
        with pytest.raises(RuntimeError, match="over"):
            late()


def test_tools_are_played_with_buttons():
    module = load("sudoku")
    row = module.make_rows(1, seed=3, interactive=True)[0]
    (_, move), *others = calls_of(module, row)
    assert not others
    widget = live(play_and_review.play(module, row))
    assert html(widget).count(", filled in") == 0 and '<table class="board"' in html(widget)
    for name, value in move.items():
        named(widget, name).value = str(value)
    named(widget, "Call the tool").click()
    assert html(widget).count(", filled in") == 1 and "Solved." in html(widget) and "✓ right" not in html(widget)
    named(widget, "Hand in").click()
    assert "✓ right" in html(widget) and named(widget, "Hand in").disabled
    named(widget, "Start again").click()
    assert "✓ right" not in html(widget) and not named(widget, "Hand in").disabled


@pytest.mark.parametrize("name", ["math", "code", "workplace"])
def test_a_player_does_not_see_the_answer_before_the_end(name):
    module, rows, _ = tasks(name, 1)
    shown = play_and_review.play(module, rows[0])
    widget = live(shown)
    for page in (shown.static(), html(widget)):
        assert "gold answer" not in page and "should have" not in page and "failing test" not in page
    named(widget, "Hand in").click()
    assert "✗ wrong" in html(widget)


def test_fields_become_arguments_as_the_tool_takes_them():
    def tool(name: str, n: int, tags: list[str], more: str = "x"):
        pass

    assert play_and_review.typed(tool, {"name": "7", "n": "7", "tags": '["a"]', "more": ""}) == {
        "name": "7",
        "n": 7,
        "tags": ["a"],
    }
    assert play_and_review.typed(tool, {"name": "", "n": "seven", "tags": "", "more": "y"}) == {
        "name": "", "n": "seven", "tags": "", "more": "y",
    }  # fmt: skip


def test_precision_and_recall_on_an_example_worked_by_hand():
    lines = [{"reward": 1.0, "right": True}] * 6 + [{"reward": 1.0, "right": False}] * 2
    lines += [{"reward": 0.0, "right": True}] * 3 + [{"reward": 0.5, "right": False}] * 4
    lines += [{"reward": None, "right": True}, {"reward": None, "right": False}]
    found = people.against_people(lines)
    assert found["n"] == 15 and found["precision"] == 6 / 8 and found["recall"] == 6 / 9
    assert found["agreement"] == 10 / 15 and (found["false_accepts"], found["false_rejects"]) == (2, 3)
    assert (found["unjudged"], found["unjudged_right"]) == (2, 1)
    low, high = found["precision_ci95"]
    assert 0.40 < low < 0.42 and 0.92 < high < 0.94  # Wilson interval of 6 in 8
    none = people.against_people([{"reward": None, "right": True}])
    assert none["precision"] is none["recall"] is none["agreement"] is None and none["n"] == 0


def test_reviews_are_appended_and_the_last_word_counts(tmp_path):
    path = tmp_path / "deep" / "reviews.jsonl"
    one, two = made(1.0, "solved", task="1"), made(None, "unjudged: y", task="2")
    assert people.reviews(path) == []
    people.review(path, one, True, "fine", "ann")
    people.review(path, one, False, "\u2028 no: \ud800 <b>", "ann")
    people.review(path, one, True, by="bob")
    assert people.review(path, two, True, by="ann")["agree"] is None
    assert len(path.read_text().strip().split("\n")) == 4
    found = people.reviews(path)
    assert [(r["by"], r["right"], r["agree"]) for r in found] == [
        ("ann", False, False), ("bob", True, True), ("ann", True, None),
    ]  # fmt: skip
    with path.open("a") as file:
        file.write('{"task_id": "3", "cut')  # a kernel died here
    people.review(path, made(0.0, task="4"), False, by="ann")
    assert len(people.reviews(path)) == 4


def test_the_review_panel_asks_each_once_and_keeps_what_was_said(tmp_path):
    path = tmp_path / "reviews.jsonl"
    found = [made(1.0, "solved", task="1"), made(0.0, task="2"), made(None, "unjudged: y", task="3")]
    widget = live(play_and_review.review(found, path, by="ann"))
    asked = [e["task_id"] for e in people.to_review(found, path, "ann")]
    assert "3 of 3 left" in html(widget) and not path.exists()
    for task in asked:
        named(widget, "Note").value = f"note on {task}"
        button = "It is right" if task == "3" else "Agree"
        named(widget, button).click()
    lines = {line["task_id"]: line for line in people.reviews(path)}
    assert {task: line["right"] for task, line in lines.items()} == {"1": True, "2": False, "3": True}
    assert lines["2"]["note"] == "note on 2" and lines["2"]["by"] == "ann"
    assert "0 of 3 left" in html(widget) and "1.00" in html(widget)
    named(widget, "Back").click()
    again = "It is wrong" if asked[-1] == "3" else "Disagree"
    named(widget, again).click()
    assert len(path.read_text().strip().split("\n")) == 4
    assert "0 of 3 left" in html(live(play_and_review.review(found, path, by="ann")))  # a second run asks nothing again
    assert "3 of 3 left" in html(live(play_and_review.review(found, path, by="bob")))
