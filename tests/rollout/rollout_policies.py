"""What several tests of rollouts share."""

import json

from envs import load
from helpers.rollout.endpoints import EndpointError
from helpers.rollout.policies import OraclePolicy

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
