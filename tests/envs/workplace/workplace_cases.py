"""What several tests of workplace share."""

import json

from envs import workplace_env as workplace
from envs.workplace_env import WorkplaceEnv, company, make_rows


def calling(*calls: tuple) -> list[dict]:
    """Chat messages that make the calls: (tool, arguments as text or object)."""
    made = []
    for i, (name, arguments) in enumerate(calls):
        call = {"type": "function", "id": f"call_{i}", "function": {"name": name, "arguments": arguments}}
        made.append({"role": "assistant", "content": "", "tool_calls": [call]})
        made.append({"role": "tool", "tool_call_id": f"call_{i}", "name": name, "content": "..."})
    return [*made, {"role": "assistant", "content": "Done."}]


def row_of(*calls: tuple, **fields) -> dict:
    """A row whose ground truth is the calls."""
    truth = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in calls]
    return {"task": json.dumps({"ground_truth": truth, **fields})}


def begun(tables=None, **fields) -> WorkplaceEnv:
    env = WorkplaceEnv()
    env._begin(json.dumps({"ground_truth": [], **fields}), tables or company())
    return env


ROWS = [row for split in workplace.SPLITS for row in make_rows(150, seed=1, split=split, difficulty=None)]


MEETING = {"event_name": "Sync", "participant_email": "ada.lindqvist@larkfield.example",
           "event_start": "2024-09-20 10:00:00", "duration": "30"}  # fmt: skip
