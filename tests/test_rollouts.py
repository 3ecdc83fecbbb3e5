"""Episodes: graded, resumed, and never ended by a model's mistake."""

import asyncio
import functools
import importlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from envs import NAMES, load
from helpers.episodes import environment, store
from helpers.episodes.store import Store, write
from helpers.rollout import command_line, monitor, rollouts
from helpers.rollout.agents import Command, HarnessError
from helpers.rollout.endpoints import EndpointError, EndpointPolicy
from helpers.rollout.monitor import Monitor
from helpers.rollout.policies import OraclePolicy, RandomPolicy
from helpers.rollout.rollouts import Sampling, rollout

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


# --- failures ---


class Flaky(OraclePolicy):
    """Fails on the tasks named, as an endpoint does."""

    concurrent = True

    def __init__(self, rows, broken):
        super().__init__(sudoku, rows)
        self.broken = {json.dumps(r["prompt"]) for r in rows if r["task_id"] in broken}

    def generate(self, conversations, tools=None, **sampling):
        if json.dumps(conversations[0]) in self.broken:
            raise EndpointError("no reply within 60 s", "timeout", True)
        return super().generate(conversations, tools, **sampling)


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


# --- time limits ---


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


# --- from anywhere ---


def test_it_runs_inside_a_loop_beside_one_and_in_a_thread():
    rows = sudoku.make_rows(5)

    def go(policy=None):
        return rollout(sudoku, rows, policy or OraclePolicy(sudoku, rows), name="o", quiet=True)

    async def cell():
        beside = asyncio.create_task(asyncio.to_thread(go))
        return go(), await beside, await asyncio.to_thread(go, Flaky(rows, []))

    for episodes in asyncio.run(cell()):
        assert [e["reward"] for e in episodes] == [1.0] * 5


# --- agents ---

HARNESS = """
import json, sys
task = json.loads(input())
assert [t["function"]["name"] for t in task["tools"]] == ["place", "submit"]
print("looking at it", file=sys.stderr)
said = task["prompt"]
while True:
    print(json.dumps({"generate": said}), flush=True)
    message = json.loads(input())["message"]
    if not message.get("tool_calls"):
        print(json.dumps({"answer": message["content"]}), flush=True)
        break
    said.append(message)
    for call in message["tool_calls"]:
        print(json.dumps({"call": call["function"]}), flush=True)
        said.append({"role": "tool", "tool_call_id": call["id"], "content": json.loads(input())["result"]})
"""


def test_an_external_harness_plays_an_episode():
    rows = sudoku.make_rows(3, interactive=True)
    agent = Command([sys.executable, "-c", HARNESS], timeout_s=60)
    episodes = rollout(
        sudoku, rows, OraclePolicy(sudoku, rows), Sampling(tools=True), name="h", agent=agent, quiet=True
    )
    assert [e["reward"] for e in episodes] == [1.0] * 3 and {e["agent"] for e in episodes} == {"Command"}
    assert all(e["calls"]["made"] > 0 and e["calls"]["failed"] == 0 for e in episodes)
    assert all(len(e["model_seconds"]) == e["calls"]["made"] + 1 for e in episodes)


@pytest.mark.parametrize(
    "program, says",
    [
        ("import sys; sys.exit('cannot go on')", "it said: cannot go on"),
        ("print('hello', flush=True)", "HarnessError"),
        ("print('{}', flush=True)", "no generate, call, answer or messages"),
        ("import time; time.sleep(60)", "no answer within 2 s"),
        ("import os, time; os.fork(); time.sleep(60)", "no answer within 2 s"),
        ("print('{\"messages\": [3]}', flush=True)", "must return chat messages"),
    ],
)
def test_a_harness_that_gives_no_answer_fails_its_episode(tmp_path, program, says):
    rows, out = sudoku.make_rows(1), tmp_path / "r.jsonl"
    agent = Command([sys.executable, "-c", program], timeout_s=2)
    with pytest.raises((HarnessError, ValueError)):
        rollout(sudoku, rows, OraclePolicy(sudoku, rows), name="h", agent=agent, out=out, quiet=True)
    (failure,) = store.failures(out)
    assert says in failure["says"] or failure["error"] == says


def test_a_harness_sees_none_of_our_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("MY_SECRET_KEY", "sk-123456")
    program = "import json, os; input(); print(json.dumps({'answer': ' '.join(sorted(os.environ))}))"
    agent = Command([sys.executable, "-c", program], env={"MINE": "1"})
    rows = sudoku.make_rows(1)
    (episode,) = rollout(sudoku, rows, OraclePolicy(sudoku, rows), name="h", agent=agent, quiet=True)
    assert "MINE" in episode["messages"][0]["content"] and "SECRET" not in episode["messages"][0]["content"]


def test_an_agent_of_ones_own():
    class Twice:
        """Asks twice and keeps the second answer."""

        def run(self, row, session, model):
            first = model.reply(row["prompt"])
            return [model.reply([*row["prompt"], first, {"role": "user", "content": "Sure?"}])]

    rows = sudoku.make_rows(3)
    policy = Scripted({"content": "first"}, {"content": sudoku.answer(rows[0])})
    episodes = rollout(sudoku, rows, policy, name="t", agent=Twice(), quiet=True)
    assert [e["reward"] for e in episodes] == [1.0, 0.0, 0.0] and all(len(e["model_seconds"]) == 2 for e in episodes)


def test_a_judge_is_passed_on_to_the_verifier():
    math = load("math")
    row = {"prompt": [{"role": "user", "content": "Why?"}], "environment": "math", "task_id": "1",
           "task": json.dumps({"answer": "A lift climbs one floor, the stairs take five"})}  # fmt: skip
    policy = Scripted({"content": r"\boxed{the lift is quicker}"})
    (without,) = rollout(math, [row], policy, name="j", quiet=True)
    (with_one,) = rollout(math, [row], policy, name="j", judge=lambda question, gold, found: True, quiet=True)
    assert without["reward"] is None and with_one["reward"] == 1.0


# --- shards, other verdicts, monitoring ---


def test_shards_cover_all_rows_once_and_merge(tmp_path):
    rows = sudoku.make_rows(11)
    policy, parts = OraclePolicy(sudoku, rows), []
    for i in (1, 2, 3):
        parts.append(tmp_path / f"{i}.jsonl")
        rollout(sudoku, rows, policy, Sampling(samples=2), name="o", shard=f"{i}/3", out=parts[-1], quiet=True)
    out = tmp_path / "all.jsonl"
    assert store.merge(parts, out) == 22
    counts = Counter((e["task_id"], e["sample"]) for e in store.read(out))
    assert len(counts) == 22 and set(counts.values()) == {1}
    whole = rollout(
        sudoku, rows, Scripted(), Sampling(samples=2), name="o", out=out, quiet=True
    )  # nothing is left to ask
    assert [e["task_id"] for e in whole] == [r["task_id"] for r in rows for _ in range(2)]
    with pytest.raises(ValueError, match="there already"):
        store.merge(parts, out)
    assert store.merge([*parts, parts[0]], tmp_path / "twice.jsonl") == 22
    changed = store.read(parts[0])
    write(parts[0], [changed[0] | {"reward": 0.5}, *changed[1:]])
    with pytest.raises(ValueError, match="another episode"):
        store.merge([out, parts[0]], tmp_path / "clash.jsonl")


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0", "-1/2"])
def test_a_shard_that_is_none_is_refused(shard):
    with pytest.raises(ValueError, match="such as 1/4"):
        rollout(sudoku, sudoku.make_rows(2), None, name="o", shard=shard, quiet=True)


def test_stored_episodes_are_graded_again_without_a_model():
    rows = sudoku.make_rows(4)
    episodes = rollout(sudoku, rows, OraclePolicy(sudoku, rows), name="o", quiet=True)
    episodes[1] |= {"reward": 0.0, "reason": "a verifier's mistake", "version": "00000000"}
    again = rollouts.reverify(sudoku, episodes, quiet=True)
    assert [e["reward"] for e in again] == [1.0] * 4 and [("before" in e) for e in again] == [False, True, False, False]
    assert again[1]["before"] == {"reward": 0.0, "reason": "a verifier's mistake", "version": "00000000"}
    assert again[1]["version"] == environment.version_of(sudoku) and again[0] == episodes[0]


def test_the_monitor_measures_a_run_and_warns_once(tmp_path, caplog):
    (tmp_path / "limits.yaml").write_text("mean_score: {min: 0.7}\ntool_success_rate: {min: 0.9}\nunjudged: {max: 0}")
    rows, out = sudoku.make_rows(40, interactive=True), tmp_path / "r.jsonl"
    monitor = Monitor(tmp_path / "limits.yaml")
    policy = Scripted(call("nonsense", {}), call("place", {"row": 1, "column": 1, "value": 99}), {"content": "no"})
    rollout(sudoku, rows, policy, Sampling(tools=True, at_once=10), name="m", monitor=monitor, out=out, quiet=True)
    report = json.loads((tmp_path / "r.monitor.json").read_text())
    assert report["episodes"] == 40 and report["mean_score"] == 0.0 and report["tool_success_rate"] == 0.0
    assert report["invalid"] == 1.0 and report["unjudged"] == 0.0 and report["failures"] == 0
    assert report["rollouts_per_minute"] > 0 and 0 <= report["latency_p50_s"] <= report["latency_p95_s"]
    assert (
        [w.split()[0] for w in monitor.warnings]
        == ["mean_score", "tool_success_rate"]
        == [record.getMessage().split()[0] for record in caplog.records if record.levelname == "WARNING"]
    )


def test_quantiles_and_shares_of_the_monitor():
    monitor = Monitor({"latency_p95_s": {"max": 10}, "rollouts_per_minute": {"min": 1e9}})
    for i in range(100):
        reward = None if i < 10 else float(i % 2)
        monitor.add({"reward": reward, "reason": "no answer" if i < 5 else "x", "model_seconds": [i]})
    report = monitor.report()
    assert (report["latency_p50_s"], report["latency_p95_s"]) == (50, 95)
    assert (report["unjudged"], report["invalid"], report["mean_score"]) == (0.1, 0.05, 0.5)
    assert report["tool_success_rate"] is None and len(monitor.warnings) == 2


@pytest.mark.parametrize("wrong", [{"score": {"min": 1}}, {"mean_score": 0.7}, {"mean_score": {"below": 1}},
                                   {"mean_score": {"min": "x"}}, {"mean_score": {}}, [1]], ids=str)  # fmt: skip
def test_thresholds_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match="mean_score"):
        Monitor(wrong)


def test_the_command_line_runs_shards_merges_and_grades_again(tmp_path, capsys):
    (tmp_path / "limits.yaml").write_text("mean_score: {min: 0.7}")
    common = ["run", "--environment", "sudoku", "--rows", "25", "--knob", "interactive=true", "--tools"]
    files = [str(tmp_path / f"{i}.jsonl") for i in (1, 2)]
    for i, file in enumerate(files):
        assert command_line.main([*common, "--model", "oracle", "--shard", f"{i + 1}/2", "--out", file]) == 0
    assert command_line.main(["merge", *files, "--out", str(tmp_path / "all.jsonl")]) == 0
    assert len(store.read(tmp_path / "all.jsonl")) == 25
    assert command_line.main(["reverify", str(tmp_path / "all.jsonl"), "--out", str(tmp_path / "again.jsonl")]) == 0
    assert "25 episodes graded again, 0 rewards changed" in capsys.readouterr().out
    bad = [
        *common,
        "--model",
        "random",
        "--thresholds",
        str(tmp_path / "limits.yaml"),
        "--out",
        str(tmp_path / "b.jsonl"),
    ]
    assert command_line.main([*bad, "--strict"]) == 3 and command_line.main(bad) == 0
    assert command_line.main([*common, "--model", "gpt", "--out", files[0]]) == 1
    assert "needs --models" in capsys.readouterr().err


def test_the_command_line_opens_a_local_model_that_a_file_names(tmp_path):
    (tmp_path / "models.yaml").write_text("models:\n  small: {model: tiny, backend: unsloth}")
    out = tmp_path / "r.jsonl"
    options = f"--environment sudoku --rows 6 --model small --models models.yaml --max-tokens 48 --out {out}".split()
    command = [sys.executable, "-m", "helpers.rollout.command_line", "run", *options]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    episodes = store.read(out)
    assert len(episodes) == 6 and {e["policy"] for e in episodes} == {"small"}
    assert json.loads(done.stdout.strip().split("\n")[-1])["episodes"] == 6


# --- over a Ray cluster ---


class Mortal(OraclePolicy):
    """Its worker dies the first time that it sees a certain task."""

    def __init__(self, rows, fatal, mark):
        super().__init__(sudoku, rows)
        self.fatal, self.mark = fatal, mark

    def generate(self, conversations, tools=None, **sampling):
        if self.fatal in conversations and not Path(self.mark).exists():
            Path(self.mark).write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().generate(conversations, tools, **sampling)


def test_a_worker_that_is_killed_has_its_episodes_run_again(tmp_path):
    ray = pytest.importorskip("ray", reason="ray is not installed")
    rows, out = sudoku.make_rows(16), tmp_path / "r.jsonl"
    policy = Mortal(rows, rows[5]["prompt"], str(tmp_path / "died"))
    try:
        episodes = rollout(
            sudoku, rows, policy, Sampling(samples=2, at_once=8), name="r", backend="ray", out=out, quiet=True
        )
        assert int((tmp_path / "died").read_text()) != os.getpid()
        assert [e["reward"] for e in episodes] == [1.0] * 32
        counts = Counter((e["task_id"], e["sample"]) for e in store.read(out))
        assert len(counts) == 32 and set(counts.values()) == {1}
        opened = functools.partial(OraclePolicy, None, [])  # a function that makes the policy in the worker
        with pytest.raises(KeyError):
            rollout(sudoku, rows, opened, name="q", backend="ray", quiet=True)
        with pytest.raises(ValueError, match=r"functools\.partial"):
            rollout(sudoku, rows, EndpointPolicy("m", "http://localhost:1/v1"), name="e", backend="ray", quiet=True)
    except Exception as error:
        if "timed out during startup" in str(error):
            pytest.skip("Ray itself does not start within its 30 s on this machine")
        raise
    finally:
        ray.shutdown()


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="'threads' or 'ray', got 'dask'"):
        rollout(sudoku, sudoku.make_rows(1), None, name="o", backend="dask", quiet=True)


# --- progress ---


def test_progress_renews_one_line_in_a_terminal(capsys, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    progress = monitor.Progress("work", 3)
    for n in range(3):
        progress.step(note=f"reward 0.{n}")
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "\r" in said and re.search(r"reward 0\.2\] *\n$", said)
    assert said.rpartition("\r")[2].startswith("work: 100%") and "3/3" in said


@pytest.mark.parametrize("kind", ["ZMQInteractiveShell", "Shell"])  # Jupyter's, and one derived from it, as Colab's is
def test_progress_is_one_bar_in_a_notebook_and_quiet_in_a_headless_run(kind):
    import nbformat
    from nbclient import NotebookClient

    code = f"""
import os, sys, time
get_ipython().__class__ = type({kind!r}, (type(get_ipython()),), {{}})
sys.path.insert(0, {str(ROOT)!r})
os.environ.pop("TQDM_DISABLE", None)
from helpers.rollout.monitor import Progress
progress = Progress("work: rollouts", 30)
for _ in range(30):
    progress.step(note="reward 0.50")
os.environ["TQDM_DISABLE"] = "1"
progress = Progress("more: rollouts", 30)
for _ in range(30):
    progress.step()
"""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(made, timeout=120, kernel_name="python3").execute()
    shown = made.cells[0].outputs
    bars = [o["data"] for o in shown if o["output_type"] == "display_data"]
    streams = "".join(o["text"] for o in shown if o["output_type"] == "stream" and o["name"] == "stdout")
    assert len(bars) == 1 and "application/vnd.jupyter.widget-view+json" in bars[0]
    models = made.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    said = " ".join(str(model["state"].get("value")) for model in models).replace("\u2007", " ")
    assert "work: rollouts: 100%" in said and "30/30" in said and "reward 0.50" in said
    assert streams.count("\n") == 1 and streams.startswith("more: rollouts: 30 of 30")


def test_progress_says_little_and_how_long(capsys, monkeypatch):
    clock = iter(range(0, 100_000, 2))
    monkeypatch.setattr(rollouts.time, "perf_counter", lambda: next(clock))
    progress = monitor.Progress("work", 300)
    for _ in range(300):
        progress.step()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and "left" in lines[0] and lines[-1].endswith("done")


def test_progress_of_a_quick_loop_is_one_line(capsys):
    progress = monitor.Progress("work", 300)
    for _ in range(300):
        progress.step()
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_solves_every_environment_with_its_tools(name):
    module = load(name)
    rows = module.make_rows(12, seed=1)
    by_tools = isinstance(module.answer(rows[0]), list)
    episodes = rollout(module, rows, OraclePolicy(module, rows), Sampling(tools=by_tools), name="oracle", quiet=True)
    assert {e["reward"] for e in episodes} == {1.0}


def test_a_row_that_restricts_its_tools_is_offered_no_others():
    workplace = load("workplace")
    rows = workplace.make_rows(12, seed=1)
    offered = []

    class Looking(OraclePolicy):
        def generate(self, conversations, tools=None, **sampling):
            offered.append({tool.__name__ for tool in tools})
            return super().generate(conversations, tools, **sampling)

    rollout(workplace, rows, Looking(workplace, rows), Sampling(tools=True), name="oracle", quiet=True)
    assert all(0 < len(names) < 27 for names in offered) and len({frozenset(n) for n in offered}) > 1
