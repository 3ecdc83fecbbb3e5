"""Episodes: graded, resumed, and never ended by a model's mistake."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from envs import NAMES, load
from helpers import rollouts
from helpers.policies import OraclePolicy, RandomPolicy
from helpers.rollouts import rollout

ROOT = Path(__file__).resolve().parents[1]
sudoku = load("sudoku")


class Scripted:
    """Says the given replies, one after another, to every conversation."""

    def __init__(self, *replies):
        self.replies, self.seen = replies, []

    def generate(self, conversations, tools=None, **_):
        self.seen += conversations
        said = [sum(m["role"] == "assistant" for m in c) for c in conversations]
        return [{"role": "assistant", "content": "", "finish_reason": "stop"} | self.replies[n] for n in said]


def call(name, arguments):
    return {"tool_calls": [{"type": "function", "id": "1", "function": {"name": name, "arguments": arguments}}]}


def test_oracle_solves_all_and_chance_next_to_nothing():
    rows = sudoku.make_rows(40)
    assert {e["reward"] for e in rollout(sudoku, rows, OraclePolicy(sudoku, rows), name="oracle", quiet=True)} == {1.0}
    chance = rollout(sudoku, rows, RandomPolicy(sudoku, rows), name="random", samples=4, quiet=True)
    assert sum(e["reward"] for e in chance) < 20


def test_oracle_solves_tool_tasks_and_live_equals_replayed():
    rows = sudoku.make_rows(10, interactive=True)
    episodes = rollout(sudoku, rows, OraclePolicy(sudoku, rows), name="oracle", tools=True, quiet=True)
    assert {e["reward"] for e in episodes} == {1.0}
    for episode, row in zip(episodes, rows):
        assert sudoku.score(episode["messages"], row).reward == episode["reward"]
        assert episode["messages"][-1]["role"] == "assistant"
        assert episode["steps"] == json.loads(row["task"])["puzzle"].count("_") + 1


def test_episodes_keep_the_order_of_rows_and_samples():
    rows = sudoku.make_rows(7)
    episodes = rollout(sudoku, rows, RandomPolicy(sudoku, rows), name="r", samples=3, at_once=4, quiet=True)
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
    (episode,) = rollout(sudoku, sudoku.make_rows(1, interactive=True), policy, name="s", tools=True, quiet=True)
    assert episode["reward"] == 0.0
    tool = episode["messages"][1]
    assert tool["role"] == "tool" and tool["content"].startswith("Error: ") and len(tool["content"]) > 15
    assert policy.seen[-1][-1] == tool


def test_the_step_limit_ends_an_endless_episode():
    policy = Scripted(*[call("place", {"row": 1, "column": 1, "value": 9})] * 50)
    (episode,) = rollout(sudoku, sudoku.make_rows(1), policy, name="s", tools=True, max_steps=5, quiet=True)
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
        rollout(sudoku, rows, policy, name="oracle", out=out, temperature=0.5, quiet=True)


def test_an_unfinished_last_line_is_run_again(tmp_path):
    rows, out = sudoku.make_rows(5), tmp_path / "r.jsonl"
    policy = OraclePolicy(sudoku, rows)
    whole = rollout(sudoku, rows, policy, name="oracle", out=out, quiet=True)
    out.write_text(out.read_text()[:-40])
    again = rollout(sudoku, rows, policy, name="oracle", out=out, quiet=True)
    assert [e["task_id"] for e in again] == [e["task_id"] for e in whole]
    assert Counter(e["task_id"] for e in rollouts.read(out)) == Counter(r["task_id"] for r in rows)


def test_text_with_odd_line_separators_stays_one_episode(tmp_path):
    rows, out = sudoku.make_rows(1), tmp_path / "r.jsonl"
    odd = "a\u2028b\x85c\x0bd\r\ne"
    rollout(sudoku, rows, Scripted({"content": odd}), name="s", out=out, quiet=True)
    (episode,) = rollouts.read(out)
    assert episode["messages"][0]["content"] == odd


def test_a_killed_run_resumes_with_nothing_lost_and_nothing_doubled(tmp_path):
    out = tmp_path / "r.jsonl"
    script = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from envs import NAMES, load
from helpers.policies import OraclePolicy
from helpers.rollouts import rollout
sudoku = load("sudoku")
rows = sudoku.make_rows(60)
class Slow(OraclePolicy):
    def generate(self, conversations, tools=None, **sampling):
        time.sleep(0.05)
        return super().generate(conversations, tools, **sampling)
rollout(sudoku, rows, Slow(sudoku, rows), name="slow", samples=2, at_once=2, out={str(out)!r}, quiet=True)
"""
    process = subprocess.Popen([sys.executable, "-c", script])
    deadline = time.time() + 30
    while time.time() < deadline and not (out.is_file() and len(rollouts.read(out)) >= 10):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    survived = len(rollouts.read(out))
    assert 10 <= survived < 120
    subprocess.run([sys.executable, "-c", script], check=True)
    counts = Counter((e["task_id"], e["sample"]) for e in rollouts.read(out))
    assert len(counts) == 120 and set(counts.values()) == {1}


def test_progress_says_little_and_how_long(capsys, monkeypatch):
    clock = iter(range(0, 100_000, 2))
    monkeypatch.setattr(rollouts.time, "perf_counter", lambda: next(clock))
    progress = rollouts.Progress("work", 300)
    for _ in range(300):
        progress.step()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and "left" in lines[0] and lines[-1].endswith("done")


def test_progress_of_a_quick_loop_is_one_line(capsys):
    progress = rollouts.Progress("work", 300)
    for _ in range(300):
        progress.step()
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_solves_every_environment_with_its_tools(name):
    module = load(name)
    rows = module.make_rows(12, seed=1)
    by_tools = isinstance(module.answer(rows[0]), list)
    episodes = rollout(module, rows, OraclePolicy(module, rows), name="oracle", tools=by_tools, quiet=True)
    assert {e["reward"] for e in episodes} == {1.0}


def test_a_row_that_restricts_its_tools_is_offered_no_others():
    workplace = load("workplace")
    rows = workplace.make_rows(12, seed=1)
    offered = []

    class Looking(OraclePolicy):
        def generate(self, conversations, tools=None, **sampling):
            offered.append({tool.__name__ for tool in tools})
            return super().generate(conversations, tools, **sampling)

    rollout(workplace, rows, Looking(workplace, rows), name="oracle", tools=True, quiet=True)
    assert all(0 < len(names) < 27 for names in offered) and len({frozenset(n) for n in offered}) > 1
