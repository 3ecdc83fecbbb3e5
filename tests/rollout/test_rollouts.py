"""Episodes: graded, resumed, and never ended by a model's mistake."""

import importlib
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from rollout_policies import Scripted, call, sudoku

from envs import NAMES, load
from helpers.episodes import environment, store
from helpers.episodes.store import Store
from helpers.here import ROOT
from helpers.rollout import rollouts
from helpers.rollout.policies import OraclePolicy, RandomPolicy
from helpers.rollout.rollouts import Sampling, rollout


def test_oracle_solves_all_and_chance_next_to_nothing():
    rows = sudoku.make_rows(40)
    assert {e["reward"] for e in rollout(sudoku, rows, OraclePolicy(sudoku, rows), name="oracle", quiet=True)} == {1.0}
    chance = rollout(sudoku, rows, RandomPolicy(sudoku, rows), Sampling(samples=4), name="random", quiet=True)
    assert sum(e["reward"] for e in chance) < 20


def test_oracle_solves_tool_tasks_and_live_equals_replayed():
    rows = sudoku.make_rows(10, interactive=True)
    episodes = rollout(sudoku, rows, OraclePolicy(sudoku, rows), Sampling(tools=True), name="oracle", quiet=True)
    assert {e["reward"] for e in episodes} == {1.0}
    for episode, row in zip(episodes, rows):
        assert sudoku.score(episode["messages"], row).reward == episode["reward"]
        assert episode["messages"][-1]["role"] == "assistant"
        assert episode["steps"] == json.loads(row["task"])["puzzle"].count("_") + 1


def test_episodes_keep_the_order_of_rows_and_samples():
    rows = sudoku.make_rows(7)
    episodes = rollout(sudoku, rows, RandomPolicy(sudoku, rows), Sampling(samples=3, at_once=4), name="r", quiet=True)
    assert [(e["task_id"], e["sample"]) for e in episodes] == [(r["task_id"], s) for r in rows for s in range(3)]


@pytest.mark.parametrize(
    "broken",
    [
        call("place", "{not json"),
        call("place", "[1, 2]"),
        call("place", None),
        call("place", {"row": "x", "column": 1, "value": 1}),
        call("place", {"row": 1}),
        call("place", {"row": 1, "column": 1, "value": 1, "extra": 2}),
        call("no_such_tool", {}),
        call("", {}),
        call("get_reward", {}),
        call("reset", {}),
        call("__init__", {}),
        {"tool_calls": [{}]},
    ],
    ids=repr,
)
def test_a_broken_call_becomes_a_message_that_the_model_can_read(broken):
    policy = Scripted(broken, {"content": "I give up."})
    (episode,) = rollout(
        sudoku, sudoku.make_rows(1, interactive=True), policy, Sampling(tools=True), name="s", quiet=True
    )
    assert episode["reward"] == 0.0
    tool = episode["messages"][1]
    assert tool["role"] == "tool" and tool["content"].startswith("Error: ") and len(tool["content"]) > 15
    assert policy.seen[-1][-1] == tool


def test_the_step_limit_ends_an_endless_episode():
    policy = Scripted(*[call("place", {"row": 1, "column": 1, "value": 9})] * 50)
    (episode,) = rollout(sudoku, sudoku.make_rows(1), policy, Sampling(tools=True, max_steps=5), name="s", quiet=True)
    assert episode["steps"] == 5 and episode["reward"] == 0.0


def test_a_verifier_that_raises_gives_an_unjudged_episode():
    class Broken:
        ENV = sudoku.ENV

        @staticmethod
        def score(completion, row):
            raise KeyError("missing")

    (episode,) = rollout(Broken, sudoku.make_rows(1), Scripted({"content": "1"}), name="s", quiet=True)
    assert episode["reward"] is None and episode["reason"].startswith("unjudged: KeyError")


def test_an_answer_cut_off_is_called_truncated():
    policy = Scripted({"content": "1 2 3", "finish_reason": "length"})
    (episode,) = rollout(sudoku, sudoku.make_rows(1), policy, name="s", quiet=True)
    assert episode["reason"].startswith("truncated: ")


def test_a_file_of_other_settings_is_refused(tmp_path):
    rows, out = sudoku.make_rows(3), tmp_path / "r.jsonl"
    policy = OraclePolicy(sudoku, rows)
    rollout(sudoku, rows, policy, name="oracle", out=out, quiet=True)
    with pytest.raises(ValueError, match=r"temperature=1\.0, this run has 0\.5"):
        rollout(sudoku, rows, policy, Sampling(temperature=0.5), name="oracle", out=out, quiet=True)


def test_an_unfinished_last_line_is_run_again(tmp_path):
    rows, out = sudoku.make_rows(5), tmp_path / "r.jsonl"
    policy = OraclePolicy(sudoku, rows)
    whole = rollout(sudoku, rows, policy, name="oracle", out=out, quiet=True)
    out.write_text(out.read_text()[:-40])
    again = rollout(sudoku, rows, policy, name="oracle", out=out, quiet=True)
    assert [e["task_id"] for e in again] == [e["task_id"] for e in whole]
    assert Counter(e["task_id"] for e in store.read(out)) == Counter(r["task_id"] for r in rows)


def test_text_with_odd_line_separators_stays_one_episode(tmp_path):
    rows, out = sudoku.make_rows(1), tmp_path / "r.jsonl"
    odd = "a\u2028b\x85c\x0bd\r\ne"
    rollout(sudoku, rows, Scripted({"content": odd}), name="s", out=out, quiet=True)
    (episode,) = store.read(out)
    assert episode["messages"][0]["content"] == odd


RUN = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from envs import load
from helpers.rollout.policies import OraclePolicy
from helpers.rollout.rollouts import Sampling, rollout
sudoku = load("sudoku")
rows = sudoku.make_rows(100)
class Slow(OraclePolicy):
    concurrent = sys.argv[2] == "concurrent"
    def generate(self, conversations, tools=None, **sampling):
        time.sleep(0.01)
        return super().generate(conversations, tools, **sampling)
rollout(sudoku, rows, Slow(sudoku, rows), Sampling(samples=2, at_once=3), name="slow", out=sys.argv[1], quiet=True)
"""


@pytest.mark.parametrize("kind", ["concurrent", "batched"])
def test_runs_killed_at_random_moments_lose_and_double_nothing(tmp_path, kind):
    out, chance, before = tmp_path / "r.jsonl", random.Random(kind), 0
    for _ in range(10):
        process = subprocess.Popen([sys.executable, "-c", RUN, str(out), kind])
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if out.is_file() and out.stat().st_size > before:
                break
            time.sleep(0.005)
        time.sleep(chance.random() * 0.06)
        process.send_signal(signal.SIGKILL)
        process.wait()
        lines = out.read_bytes().split(b"\n")
        keys = [(e["task_id"], e["sample"]) for e in map(json.loads, lines[:-1])]  # all but the last one are whole
        assert len(keys) == len(set(keys))
        before = out.stat().st_size
    assert 10 <= len(keys) < 200
    subprocess.run([sys.executable, "-c", RUN, str(out), kind], check=True)
    counts = Counter((e["task_id"], e["sample"]) for e in store.read(out))
    assert len(counts) == 200 and set(counts.values()) == {1} and set(keys) <= set(counts)


@pytest.mark.parametrize("cut", [1, 2, 7, 40, 300])
def test_a_torn_last_line_is_cut_off_wherever_it_ends(tmp_path, cut):
    rows, out = sudoku.make_rows(4), tmp_path / "r.jsonl"
    policy = Scripted({"content": "größer als ☃ \ud800 " * 30})
    rollout(sudoku, rows, policy, name="s", out=out, quiet=True)
    whole = store.read(out)
    out.write_bytes(out.read_bytes()[:-cut])
    again = rollout(sudoku, rows, policy, name="s", out=out, quiet=True)
    assert [e["messages"] for e in again] == [e["messages"] for e in whole]
    assert len(out.read_bytes().split(b"\n")) == 5


def test_a_second_run_on_the_same_file_is_kept_out(tmp_path):
    rows, out = sudoku.make_rows(2), tmp_path / "r.jsonl"
    with Store(out), pytest.raises(RuntimeError, match="another run"):
        rollout(sudoku, rows, OraclePolicy(sudoku, rows), name="o", out=out, quiet=True)
    assert len(rollout(sudoku, rows, OraclePolicy(sudoku, rows), name="o", out=out, quiet=True)) == 2


def test_one_file_holds_several_models_and_versions(tmp_path, monkeypatch, capsys):
    rows, out = sudoku.make_rows(3), tmp_path / "r.jsonl"
    for name in ("a", "b"):
        rollout(
            sudoku,
            rows,
            OraclePolicy(sudoku, rows),
            Sampling(temperature=ord(name) / 100),
            name=name,
            out=out,
            quiet=True,
        )
    assert len(store.read(out)) == 6
    monkeypatch.setattr(rollouts, "version_of", lambda module: "feedbeef")
    episodes = rollout(sudoku, rows, Scripted({"content": "no"}), name="a", out=out)
    assert [e["reward"] for e in episodes] == [0.0] * 3 and len(store.read(out)) == 9
    assert "3 episodes of another version" in capsys.readouterr().out


def test_the_version_follows_the_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "odd_companion.py").write_text("def double(x): return 2 * x")
    (tmp_path / "odd_env.py").write_text("from odd_companion import double")
    (tmp_path / "odd_stranger.py").write_text("")
    module = importlib.import_module("odd_env")
    first = environment.version_of(module)
    assert len(first) == 8 and environment.version_of(module) == first
    (tmp_path / "odd_stranger.py").write_text("x = 1")
    assert environment.version_of(module) == first
    (tmp_path / "odd_companion.py").write_text("def double(x): return x + x")
    assert environment.version_of(module) != first
    assert len({environment.version_of(load(name)) for name in NAMES}) == len(NAMES)
