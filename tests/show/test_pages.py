"""Episodes as HTML: escaped, drawn by the environment's view, readable without a front end."""

import json
import re
from types import SimpleNamespace

import ipywidgets
import pytest
from widget_pages import HOSTILE, every, html, live, made, sudoku_episode, tasks, tidy

from envs import NAMES, load
from helpers.rollout.agents import Loop
from helpers.rollout.policies import OraclePolicy
from helpers.rollout.rollouts import Sampling, rollout
from helpers.show import browser, play_and_review, views


def hostile_episodes() -> list[dict]:
    """The same hostile text wherever a model or a verifier that quotes it can put it."""
    function = {"name": HOSTILE, "arguments": json.dumps({HOSTILE: HOSTILE})}
    messages = [
        {"role": "assistant", "content": HOSTILE, "reasoning_content": HOSTILE,
         "tool_calls": [{"id": "1", "function": function},
                        {"id": HOSTILE, "function": {"name": "submit", "arguments": HOSTILE}}]},
        {"role": "tool", "tool_call_id": "1", "name": HOSTILE, "content": HOSTILE},
        {"role": HOSTILE, "content": [{"type": "text", "text": HOSTILE}]},
        {"role": "assistant", "content": HOSTILE},
    ]  # fmt: skip
    found = []
    for name in NAMES:
        rows = tasks(name, 1)[1]
        for said in (messages, [messages[-1]], [messages[-1] | {"content": f"\\boxed{{{HOSTILE}}}"}]):
            found.append(
                rows[0] | {"messages": said, "reward": 0.0, "reason": f"{HOSTILE}: test 1 of 3: {HOSTILE}",
                           "metrics": {HOSTILE: 1.0}, "policy": HOSTILE, "sample": 0, "finish_reason": "stop"}
            )  # fmt: skip
    return found


def test_what_a_model_writes_is_escaped_everywhere(tmp_path):
    found = hostile_episodes()
    shown = [
        browser.rollout_browser(found), browser.group_explorer(found),
        play_and_review.review(found, tmp_path / "reviews.jsonl"),
    ]  # fmt: skip
    for thing in shown:
        page = thing.static()
        assert "alert(1)" in tidy(page).text and "[U+202E]" in page and "\\ud800" in page
        widget = live(thing)
        for i in range(len(found)):
            slider = [w for w in every(widget) if isinstance(w, ipywidgets.IntSlider)]
            if slider and i < slider[0].max:
                slider[0].value = i + 1
            assert "<script" not in html(widget)
            for part in every(widget):
                if isinstance(part, ipywidgets.HTML) and part.value:
                    tidy(part.value)


def test_labels_are_escaped_inside_attributes():
    page = views.draw.note('" onmouseover="alert(1)', "")
    assert "onmouseover" not in tidy(page).attributes


def test_a_very_long_answer_is_cut_and_says_so():
    episode = hostile_episodes()[1] | {"messages": [{"role": "assistant", "content": "x" * 1_000_000}]}
    page = views.whole(episode)
    assert len(page) < 100_000 and "980,000 more characters" in page


@pytest.mark.parametrize(
    "answer, says, given, filled, bad",
    [
        ("1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", "no rule broken", 12, 4, 0),
        ("| 1 | 2 | 3 | 4 |\n| 3 | 4 | 1 | 2 |\n| 2 | 1 | 4 | 3 |\n| 4 | 3 | 2 | 1 |", "no rule broken", 12, 4, 0),
        ("2 1 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1", "1 of the given values changed", 11, 0, 5),
        ("no idea", "No grid could be read", 12, 0, 0),
    ],
)
def test_the_board_shows_the_answer_and_marks_what_breaks_a_rule(answer, says, given, filled, bad):
    drawn = views.state(sudoku_episode(answer))
    assert says in drawn and drawn.count("<td") == 16
    assert drawn.count(", filled in") == filled or bad
    assert drawn.count(", given") + drawn.count("the puzzle has") == 12
    assert bool(re.search('class="bad', drawn)) == bool(bad)


def test_the_board_of_an_interactive_task_is_the_one_that_was_played():
    module = load("sudoku")
    row = module.make_rows(1, seed=2, difficulty="medium", interactive=True)[0]
    episode = rollout(
        module, [row], OraclePolicy(module, [row]), Sampling(tools=True), name="o", quiet=True, agent=Loop(2)
    )[0]
    drawn = views.state(episode)
    assert drawn.count(", filled in") == 2 and "blank" in drawn


def test_sixteen_by_sixteen_is_drawn_with_its_boxes():
    module = load("sudoku")
    row = module.make_rows(1, size=16)[0]
    episode = row | {"messages": [{"role": "assistant", "content": module.answer(row)}], "reward": 1.0, "reason": "ok"}
    drawn = views.state(episode)
    assert drawn.count("<td") == 256 and "no rule broken" in drawn and drawn.count(" top") == 64


def test_the_tables_are_compared_before_after_and_wanted(episodes):
    done = next(e for e in episodes if e["environment"] == "workplace" and e["policy"] == "oracle")
    drawn = views.state(done)
    assert "✓ as wanted" in drawn and "✗" not in drawn and "before" in drawn
    nothing = done | {"messages": [{"role": "assistant", "content": "Done."}], "reward": 0.0}
    assert "✗ differs" in views.state(nothing) and "✓" not in views.state(nothing)


def test_the_failing_test_stands_beside_what_was_expected():
    module = load("code")
    row = module.make_rows(1, seed=16)[0]
    first = json.loads(row["task"])["tests"][0]
    wrong = "def f(s): return 'never this'"
    for answer, says in ((module.answer(row), "8 tests pass"), (wrong, "test 1 fails"), ("prose", "No code")):
        reward, reason, *_ = module.score(answer, row)
        drawn = views.state(
            row | {"messages": [{"role": "assistant", "content": answer}], "reward": reward, "reason": reason}
        )
        assert says in drawn
        if answer == wrong:
            assert str(views.safe(first["args"])) in drawn and str(views.safe(first["expected"])) in drawn
            assert "never this" in drawn and "1 of 8" in drawn


def test_the_extracted_answer_stands_beside_the_gold_one():
    row = {"task": json.dumps({"answer": "3/4"}), "environment": "math", "prompt": []}
    for text, read in (("So \\boxed{0.5}", "0.5"), ("", "(none was found)")):
        drawn = views.state(row | {"messages": [{"role": "assistant", "content": text}], "reward": 0.0, "reason": ""})
        assert f"<td>{read}</td><td>3/4</td>" in drawn


def test_an_environment_of_ones_own_is_shown_without_a_picture_and_with_one_where_it_has_a_view(monkeypatch):
    row = {"task": json.dumps({"word": "abc"}), "environment": "mine", "prompt": [], "task_id": "1"}
    episode = row | {"messages": [{"role": "assistant", "content": "cba"}], "reward": 1.0, "reason": "right"}
    assert views.state(episode) == "" and "cba" in views.whole(episode)
    mine = SimpleNamespace(parse=lambda text, row: [("submit", {"word": text})])
    assert views.state(episode, mine) == "<p>Read in the answer: cba</p>"
    mine.view = lambda episode: [{"text": json.loads(episode["task"])["word"]}]
    assert views.state(episode, mine).strip() == "<p>abc</p>"


def test_each_kind_of_block_is_drawn_and_what_it_holds_is_escaped():
    bad = {"text": HOSTILE, "look": 'bad" onclick="x', "note": HOSTILE}
    blocks = [
        {"text": HOSTILE}, {"code": f"def f():\n    {HOSTILE}"}, {"table": [["a", HOSTILE], [bad, HOSTILE]]},
        {"board": [["1", bad], ["", {"text": "2", "look": "given", "note": "2, given"}]], "box": (1, 2),
         "label": HOSTILE},
        {"board": [["1"]], "box": None, "label": "no boxes"},
    ]  # fmt: skip
    page = views.state(made(1.0), SimpleNamespace(view=lambda episode: blocks))
    found = tidy(page)
    assert found.text.count("alert(1)") == 6 and found.tags.count("table") == 3 and found.tags.count("pre") == 1
    assert '<td class=" top left">1</td>' in page and '<td class=" top left" aria-label="blank"></td>' in page
    assert '<td class="given top" aria-label="2, given">2</td>' in page and "<td>1</td>" in page


def test_a_picture_that_fails_does_not_hide_the_episode(monkeypatch):
    monkeypatch.setattr(load("sudoku"), "view", lambda episode: episode["no such field"])
    page = views.whole(sudoku_episode("1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1"))
    assert "Read in the answer: 1 2 3 4 3 4 1 2" in page
    page = views.whole(sudoku_episode("no idea"))
    assert "not drawn: KeyError" in page and "no idea" in page


@pytest.mark.parametrize(
    "task", ["{}", "[]", "no JSON", '{"puzzle": 7}', '{"nemo_gym": {}}', '{"tests": [], "answer": 1}']
)
def test_a_task_of_another_shape_hides_nothing(task):
    for name in NAMES:
        episode = made(0.0, environment=name) | {"task": task}
        assert "wrong cell: x" in views.whole(episode) and "wrong cell: x" in views.listing([episode])


def test_tool_calls_are_folded_with_their_results(episodes):
    done = next(e for e in episodes if e["environment"] == "workplace" and e["policy"] == "oracle")
    calls = sum(len(m.get("tool_calls") or []) for m in done["messages"])
    said = views.conversation(done["messages"])
    assert calls and said.count("<details>") == calls and "(no result)" not in said and "<details open" not in said
