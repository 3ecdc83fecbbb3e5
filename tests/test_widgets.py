"""Widgets: what they show with and without a front end, that nothing a model writes gets out of its place, filters,
games that end in the verifier's verdict, reviews and what they say of the verifier."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import ANY

import ipywidgets
import pytest

from envs import NAMES, load
from helpers.measure.reward_profile import reward_profile
from helpers.rollout.agents import Loop
from helpers.rollout.policies import OraclePolicy, RandomPolicy
from helpers.rollout.rollouts import Sampling, rollout
from helpers.run import headless
from helpers.show import browser, dashboard, parts, people, play_and_review, views
from helpers.train.recording import Recorder

ROOT = Path(__file__).resolve().parents[1]
HOSTILE = (
    """<script>alert(1)</script><img src=x onerror="alert(2)">'"></pre></td><b>bold</b>&amp; \x1b[31m \u202e \ud800"""
)


class Tags(HTMLParser):
    """The tags and attributes of a page, and whether all that was opened is closed."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = [], [], [], ""
        self.feed(page)
        assert self.open == [], self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def tidy(page: str) -> Tags:
    """The page's tags, when it holds nothing that runs or loads, and has no half characters."""
    page.encode("utf-8")
    found = Tags(page)
    assert not {"script", "img", "iframe", "object", "b"} - {"b"} & set(found.tags)
    assert not [name for name in found.attributes if name.startswith("on") or name in ("href", "srcdoc")]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", page)
    return found


def tasks(name: str, n: int = 3) -> tuple:
    """An environment, rows of it, and whether they are played through tools."""
    module, tools = load(name), name == "workplace"
    return module, module.make_rows(n, seed=5), tools


@pytest.fixture(scope="module")
def episodes():
    """Right and wrong answers in every environment."""
    found = []
    for name in NAMES:
        module, rows, tools = tasks(name)
        for policy, who in ((OraclePolicy(module, rows), "oracle"), (RandomPolicy(module, rows), "random")):
            found += rollout(module, rows, policy, Sampling(samples=2, tools=tools), name=who, quiet=True)
    return found


def live(shown):
    """The widget as a front end would get it."""
    return shown.live(ipywidgets)


def every(widget) -> list:
    """A widget and all inside it."""
    inside = getattr(widget, "children", ())
    return [widget, *(below for child in inside for below in every(child))]


def named(widget, description: str):
    return next(w for w in every(widget) if getattr(w, "description", None) == description)


def html(widget) -> str:
    return "".join(w.value for w in every(widget) if isinstance(w, ipywidgets.HTML))


# --- nothing a model writes gets out of its place --------------------------------------------------------


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


# --- how the end of an episode is drawn ------------------------------------------------------------------


def sudoku_episode(answer: str) -> dict:
    module = load("sudoku")
    puzzle = "1 _ 3 4\n3 4 1 _\n2 1 _ 3\n_ 3 2 1"
    row = {"prompt": [{"role": "user", "content": puzzle}], "environment": "sudoku", "task_id": "t",
           "task": json.dumps({"puzzle": puzzle, "size": 4})}  # fmt: skip
    reward, reason, metrics, *_ = module.score(answer, row)
    said = {"messages": [{"role": "assistant", "content": answer}], "reward": reward, "reason": reason}
    return row | said | {"metrics": metrics, "policy": "p", "sample": 0}


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


# --- with and without a front end ------------------------------------------------------------------------


def all_shown(episodes, tmp_path) -> list:
    module, rows, _ = tasks("sudoku", 4)
    by = {"random": rollout(module, rows, RandomPolicy(module, rows), Sampling(samples=2), name="random", quiet=True)}
    by["oracle"] = rollout(module, rows, OraclePolicy(module, rows), Sampling(samples=2), name="oracle", quiet=True)
    return [
        browser.rollout_browser(episodes), browser.group_explorer(episodes),
        browser.profile_explorer(reward_profile(module, rows, by, "random"), by),
        play_and_review.play(module, rows[0]), play_and_review.review(episodes, tmp_path / "r.jsonl"),
    ]  # fmt: skip


def test_without_a_front_end_each_is_a_static_page(episodes, tmp_path):
    for shown in all_shown(episodes, tmp_path):
        bundle = shown._repr_mimebundle_()
        assert set(bundle) == {"text/plain", "text/html"}
        page = tidy(bundle["text/html"])
        assert "table" in page.tags and len(page.text) > 200 and "<" not in bundle["text/plain"]


def test_in_a_notebook_each_is_a_widget_with_the_static_page_behind_it(episodes, tmp_path, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    shell = type("Shell", (), {"kernel": object()})()
    monkeypatch.setitem(sys.modules, "IPython", type("IPython", (), {"get_ipython": staticmethod(lambda: shell)}))
    kinds = {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
    for shown in all_shown(episodes, tmp_path):
        assert set(shown._repr_mimebundle_()) == kinds
        again = shown._repr_mimebundle_()  # the cell run again
        assert set(again) == kinds
        widget = ipywidgets.HTML()  # which of them is named, as ipywidgets itself would
        as_its_own = widget._repr_mimebundle_()["application/vnd.jupyter.widget-view+json"] | {"model_id": ANY}
        assert again["application/vnd.jupyter.widget-view+json"] == as_its_own
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert parts.front_end() is None
    monkeypatch.delenv("TQDM_DISABLE")
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # not installed
    assert parts.front_end() is None


def test_every_control_has_a_name_and_every_region_a_label(episodes, tmp_path):
    for shown in all_shown(episodes, tmp_path):
        for part in every(live(shown)):
            if isinstance(part, ipywidgets.ValueWidget | ipywidgets.Button) and not isinstance(part, ipywidgets.HTML):
                assert part.description.strip(), part
            if isinstance(part, ipywidgets.HTML) and "<div" in part.value:
                assert re.search(r'role="region" aria-label="[^"]+"', part.value)
    board = views.state(sudoku_episode("no idea"))
    assert board.count("aria-label=") == 17 and '<table class="board" aria-label="' in board


def test_verdicts_do_not_hang_on_colour_alone():
    signs = {views.verdict(reward)[: -len("</span>")].rpartition(">")[2][0] for reward in (None, 0.0, 0.4, 1.0)}
    assert len(signs) == 4


def test_colours_follow_the_theme():
    assert "inherit" in views.STYLE and not re.search(r"(?<![-\w])background: *(#|white|black)(?!0072B2)", views.STYLE)
    assert not re.search(r"(?<![-\w])color: *#", views.STYLE)


def test_a_saved_notebook_keeps_the_page_and_loses_the_widget(tmp_path):
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/plain": "browser"}
    outputs = [{"output_type": "display_data", "data": view | {"text/html": "<p>page</p>"}},
               {"output_type": "display_data", "data": view}, {"output_type": "stream", "text": "said"}]  # fmt: skip
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps({"cells": [{"outputs": outputs}], "metadata": {"widgets": {}}}))
    headless._clean(path)
    saved = json.loads(path.read_text())
    assert "widget" not in path.read_text() and len(saved["cells"][0]["outputs"]) == 2
    assert saved["cells"][0]["outputs"][0]["data"]["text/html"] == "<p>page</p>"


def test_importing_the_helpers_brings_no_widgets():
    code = "import helpers.show.browser, sys; print({'ipywidgets', 'matplotlib', 'IPython', 'torch'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stdout + done.stderr


# --- the rollout browser ---------------------------------------------------------------------------------


def made(reward, reason="wrong cell: x", environment="sudoku", policy="p", task="1"):
    return {"task_id": task, "environment": environment, "policy": policy, "reward": reward, "reason": reason,
            "messages": [{"role": "assistant", "content": "a"}], "prompt": [], "task": "{}", "sample": 0}  # fmt: skip


def test_filters():
    found = [made(1.0, "solved"), made(0.0), made(0.5), made(None, "unjudged: y"), made(0.0, "format: z", "math", "q")]
    pick = lambda **by: [found.index(e) for e in browser.select(found, **by)]  # noqa: E731
    assert pick() == [0, 1, 2, 3, 4]
    assert pick(reward="right") == [0] and pick(reward="wrong") == [1, 2, 4] and pick(reward="unjudged") == [3]
    assert pick(environment="math") == [4] and pick(policy="p") == [0, 1, 2, 3]
    assert pick(failure="wrong cell") == [1, 2] and pick(failure="solved") == []
    assert pick(reward="wrong", failure="format", environment="sudoku") == []


def test_the_slider_and_the_filters_move_the_page(episodes):
    widget = live(browser.rollout_browser(episodes))
    slider, reward, page = named(widget, "Episode"), named(widget, "Reward"), every(widget)[-1]
    before = page.value
    slider.value = 4
    assert page.value != before and f"Episode 4 of {len(episodes)}" in page.value
    named(widget, "Episode number").value = 2
    assert slider.value == 2
    named(widget, "Next").click()
    assert slider.value == 3
    reward.value = "right"
    right = [e for e in episodes if e["reward"] == 1]
    assert slider.value == 1 and slider.max == len(right) and f"Episode 1 of {len(right)}" in page.value
    named(widget, "Environment").value = "math"
    math = [e for e in right if e["environment"] == "math"]
    assert f"of {len(math)}" in page.value and "gold answer" in page.value
    named(widget, "Failure").value = next(e["reason"] for e in episodes if e["reward"] == 0).partition(":")[0]
    assert "No episode passes" in page.value and slider.disabled
    reward.value, named(widget, "Environment").value = "any", "any"
    assert "✗ wrong" in page.value


def test_nothing_to_show_is_said():
    for make in (browser.rollout_browser, browser.group_explorer, lambda e: play_and_review.review(e, "x.jsonl")):
        with pytest.raises(ValueError, match="no episodes to show"):
            make([])


# --- groups and profiles ---------------------------------------------------------------------------------


def test_groups_say_who_won_and_by_how_much():
    group = [made(1.0, "solved"), made(0.0), made(0.0), made(None, "unjudged: y")]
    group[0]["messages"] = [{"role": "assistant", "content": "the winner"}]
    page = browser.group_explorer([made(0.0, task="2"), made(0.0, task="2"), *group]).static()
    assert "Group 1 of 2" in page and "the winner" in page  # the group that differs comes first
    assert page.index("+0.67") < page.index("-0.33") and "Mean reward 0.33" in page
    assert "<td>2</td>" in page and "1 unjudged answers are left out" in page


def test_dead_groups_are_called_dead():
    widget = live(browser.group_explorer([made(0.0), made(0.0), made(1.0, task="2"), made(0.0, task="2")]))
    named(widget, "Groups").value = "all alike"
    assert "dead group" in html(widget)


def test_the_profile_shows_each_policy_with_its_failures():
    module, rows, _ = tasks("sudoku", 4)
    by = {"random": rollout(module, rows, RandomPolicy(module, rows), Sampling(samples=2), name="random", quiet=True)}
    by["oracle"] = rollout(module, rows, OraclePolicy(module, rows), Sampling(samples=2), name="oracle", quiet=True)
    profile = reward_profile(module, rows, by, "random")
    widget = live(browser.profile_explorer(profile, by))
    assert profile["verdict"] in html(widget) and "wrong given" in html(widget)
    next(w for w in every(widget) if getattr(w, "options", ()) == ("random", "oracle")).value = "oracle"
    assert "Failures of oracle" in html(widget) and "✗ wrong" not in html(widget)
    assert "echo of the prompt" in browser.profile_explorer(profile).static()


# --- the dashboard ---------------------------------------------------------------------------------------


def history(n: int) -> list[dict]:
    return [{"step": i + 1, "reward": i / n, "completions/mean_length": 20.0} for i in range(n)]


def watched(tmp_path, module, rows, texts):
    """A recorder that has seen answers to two tasks, the second one's in two groups' worth, as a trainer calls it."""
    recorder = Recorder(tmp_path / "h.jsonl", 20)
    state = type("State", (), {"global_step": 0})()
    recorder.on_train_begin(None, state, None)
    recorder.on_step_begin()
    completions = [[{"role": "assistant", "content": text}] for text in texts]
    columns = {key: [row[key] for row in rows for _ in range(4)] for key in ("task", "task_id", "environment")}
    columns["prompts"] = [row["prompt"] for row in rows for _ in range(4)]
    rewards = recorder.watch(module.reward, 4, module)(completions=completions, trainer_state=state, **columns)
    assert rewards == module.reward(completions, columns["task"])
    recorder.rows = history(5)
    return recorder


def test_the_dashboard_shows_winners_and_losers_of_one_group_with_their_verdicts(tmp_path):
    module, rows, _ = tasks("sudoku", 2)
    gold, other = map(module.answer, rows)
    recorder = watched(tmp_path, module, rows[::-1], [gold] * 4 + [gold, other, gold + HOSTILE, ""])
    page = dashboard.Dashboard(module, "GRPO", n=2).draw(recorder).data
    assert (
        '<img alt="GRPO: step 5, mean reward 0.80" src="data:image/png;base64,' in page
        and "Answers to one task, step 1" in page
    )
    assert page.count("✓ right") == 1 and page.count("✗ wrong") == 1 and "solved" in page and "<script" not in page


def test_a_dashboard_that_cannot_draw_does_not_end_the_training(tmp_path):
    board = dashboard.Dashboard(load("sudoku"), "GRPO")
    recorder = Recorder(tmp_path / "h.jsonl", 2)
    recorder.rows = history(2)
    assert "<img" in board.draw(recorder).data  # nothing was answered yet
    recorder.group = [{"reward": 0.0}]
    assert "answers not drawn: KeyError" in board.draw(recorder).data


def test_the_recorder_draws_the_dashboard(tmp_path, capsys):
    recorder = Recorder(tmp_path / "h.jsonl", 2, draw=dashboard.Dashboard(load("sudoku"), "GRPO").draw)
    state = type("State", (), {"global_step": 0})()
    recorder.on_train_begin(None, state, None)
    state.global_step = 1
    recorder.on_log(None, state, None, {"reward": 0.5, "loss": 0.1})
    state.global_step = 2
    recorder.on_log(None, state, None, {"reward": 0.6, "loss": 0.1})
    assert len(recorder.rows) == 2


# --- be the policy ---------------------------------------------------------------------------------------


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
    rows = module.make_rows(3, seed=7, **knobs)
    for row, calls in ((rows[0], calls_of(module, rows[0])), (rows[1], calls_of(module, rows[2])), (rows[2], [])):
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


# --- be the verifier -------------------------------------------------------------------------------------


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
