"""Widgets with and without a front end: browser, groups, profiles, dashboard."""

import json
import re
import subprocess
import sys
from unittest.mock import ANY

import ipywidgets
import pytest
from widget_pages import HOSTILE, every, html, live, made, named, sudoku_episode, tasks, tidy

from envs import load
from helpers.here import ROOT
from helpers.measure.reward_profile import reward_profile
from helpers.rollout.policies import OraclePolicy, RandomPolicy
from helpers.rollout.rollouts import Sampling, rollout
from helpers.run import headless
from helpers.show import browser, dashboard, parts, play_and_review, views
from helpers.train.recording import Recorder


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
