"""Rollouts that go wrong: failures, time limits, a policy or a verifier that raises or hangs."""

import time

import pytest
from rollout_policies import Flaky, Scripted, call, sudoku

from helpers.episodes import store
from helpers.rollout import rollouts
from helpers.rollout.endpoints import EndpointError
from helpers.rollout.policies import OraclePolicy
from helpers.rollout.rollouts import Sampling, rollout


def test_failures_stand_apart_with_their_class_and_run_again(tmp_path):
    rows, out = sudoku.make_rows(12), tmp_path / "r.jsonl"
    ids = [row["task_id"] for row in rows]
    with pytest.warns(UserWarning, match=r"2 episodes failed \(timeout 2\); run again"):
        episodes = rollout(sudoku, rows, Flaky(rows, ids[3:5]), Sampling(at_once=2), name="f", out=out, quiet=True)
    assert [e["task_id"] for e in episodes] == ids[:3] + ids[5:]
    assert [(f["task_id"], f["error"]) for f in sorted(store.failures(out), key=lambda f: ids.index(f["task_id"]))] == [
        (ids[3], "timeout"),
        (ids[4], "timeout"),
    ]
    assert len(store.read(out)) == 10
    again = rollout(sudoku, rows, Flaky(rows, []), name="f", out=out, quiet=True)
    assert [e["task_id"] for e in again] == ids and len(store.read(out)) == 12 and store.failures(out) == []


def test_a_run_that_only_fails_stops_soon_with_the_reason(tmp_path):
    rows = sudoku.make_rows(200)
    policy = Flaky(rows, [row["task_id"] for row in rows])
    with pytest.raises(EndpointError, match="no reply"):
        rollout(sudoku, rows, policy, Sampling(at_once=4), name="f", out=tmp_path / "r.jsonl", quiet=True)
    assert len(store.failures(tmp_path / "r.jsonl")) == rollouts.IN_A_ROW
    with pytest.raises(EndpointError):
        rollout(sudoku, rows[:2], policy, name="f", quiet=True)


def test_a_batched_policy_that_raises_ends_the_run_and_keeps_what_was_done(tmp_path):
    rows, out = sudoku.make_rows(6), tmp_path / "r.jsonl"

    class Dies(OraclePolicy):
        def generate(self, conversations, tools=None, **sampling):
            if rows[4]["prompt"] in conversations:
                raise MemoryError("out of memory")
            return super().generate(conversations, tools, **sampling)

    with pytest.raises(MemoryError):
        rollout(sudoku, rows, Dies(sudoku, rows), Sampling(at_once=2), name="d", out=out, quiet=True)
    assert len(store.read(out)) == 4
    assert len(rollout(sudoku, rows, OraclePolicy(sudoku, rows), name="d", out=out, quiet=True)) == 6


def test_rows_that_repeat_a_task_are_refused():
    rows = sudoku.make_rows(2)
    with pytest.raises(ValueError, match="several rows"):
        rollout(sudoku, rows + rows[:1], OraclePolicy(sudoku, rows), name="o", quiet=True)


class Sleepy:
    """An environment whose tool takes as long as it is told."""

    class SleepyEnv:
        running = most = 0

        def reset(self, **_):
            self.metrics = {}

        def nap(self, seconds: float) -> str:
            cls = type(self)
            cls.running += 1
            cls.most = max(cls.most, cls.running)
            time.sleep(seconds)
            cls.running -= 1
            return "slept"

        def get_reward(self):
            return 1.0

    ENV = SleepyEnv

    @staticmethod
    def score(completion, row):
        return 1.0, "fine", {}


def test_a_tool_that_hangs_is_given_up_and_never_runs_beside_the_next():
    policy = Scripted(call("nap", {"seconds": 1.0}), call("nap", {"seconds": 0.0}), {"content": "done"})
    row = {"prompt": [{"role": "user", "content": "x"}], "environment": "s", "task_id": "1", "task": "{}"}
    began = time.monotonic()
    (episode,) = rollout(Sleepy, [row], policy, Sampling(tools=True, tool_timeout_s=0.6), name="s", quiet=True)
    assert time.monotonic() - began < 5
    first, second = (m["content"] for m in episode["messages"] if m["role"] == "tool")
    assert first == "Error: no result within 0.6 s; the call was given up" and second == "slept"
    assert Sleepy.SleepyEnv.most == 1 and episode["calls"] == {"made": 2, "failed": 1, "invalid": 0}


def test_a_verifier_that_hangs_after_a_hung_tool_leaves_the_episode_unjudged(monkeypatch):
    class Hanging(Sleepy):
        score = staticmethod(lambda completion, row: time.sleep(3))

    monkeypatch.setattr(rollouts, "GRADING_S", 0.2)
    row = {"prompt": [{"role": "user", "content": "x"}], "environment": "s", "task_id": "1", "task": "{}"}
    policy = Scripted(call("nap", {"seconds": 1.0}), {"content": "done"})
    (episode,) = rollout(Hanging, [row], policy, Sampling(tools=True, tool_timeout_s=0.1), name="s", quiet=True)
    assert episode["reward"] is None and "TimeoutError" in episode["reason"]


def test_no_more_episodes_side_by_side_than_allowed():
    rows, open_now, most = sudoku.make_rows(12), [], []

    class Counting(OraclePolicy):
        concurrent = True

        def generate(self, conversations, tools=None, **sampling):
            open_now.append(1)
            most.append(len(open_now))
            time.sleep(0.02)
            open_now.pop()
            return super().generate(conversations, tools, **sampling)

    rollout(sudoku, rows, Counting(sudoku, rows), Sampling(at_once=3), name="c", quiet=True)
    assert max(most) == 3
