"""Who plays an episode: agents of one's own, external harnesses, judges; from any place a run starts."""

import asyncio
import json
import sys

import pytest
from rollout_policies import Flaky, Scripted, sudoku

from envs import load
from helpers.episodes import store
from helpers.rollout.agents import Command, HarnessError
from helpers.rollout.policies import OraclePolicy
from helpers.rollout.rollouts import Sampling, rollout


def test_it_runs_inside_a_loop_beside_one_and_in_a_thread():
    rows = sudoku.make_rows(5)

    def go(policy=None):
        return rollout(sudoku, rows, policy or OraclePolicy(sudoku, rows), name="o", quiet=True)

    async def cell():
        beside = asyncio.create_task(asyncio.to_thread(go))
        return go(), await beside, await asyncio.to_thread(go, Flaky(rows, []))

    for episodes in asyncio.run(cell()):
        assert [e["reward"] for e in episodes] == [1.0] * 5


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
