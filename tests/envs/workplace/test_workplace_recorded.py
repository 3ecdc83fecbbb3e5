"""Workplace: recorded verdicts and rollouts, the case file, the tools, both verifiers, the company, the templates."""

import csv
import gzip
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from workplace_cases import begun, calling, row_of
from workplace_truths import TRUTHS

from envs import workplace_env as workplace
from envs.workplace_env import WorkplaceEnv, answer, load_tables, make_rows, score
from envs.workplace_env.actions import ACTIONS
from envs.workplace_env.tables import FIELDS
from helpers.here import ROOT

DATA = ROOT / "tests" / "data"


def lines(*parts: str) -> list[dict]:
    path = DATA.joinpath(*parts)
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def public():
    return load_tables(DATA / "workbench" / "csv")


def test_every_recorded_verdict(public):
    recorded = [one for one in lines("workbench", "verdicts_dev.jsonl.gz") if not one["error"]]
    wrong = []
    for one in recorded:
        row = {"task": json.dumps({"ground_truth": one["ground_truth"]})}
        calls = [(call["name"], call["arguments"]) for call in one["predicted"]]
        verdict = score(calling(*calls), row, public)
        if verdict.reward != float(one["correct"]):
            wrong.append((one["id"], verdict.reason))
        kinds = ("done", "missing write", "wrong value", "side effect", "tool fault", "no answer")
        assert verdict.reason.partition(":")[0] in kinds
    assert len(recorded) == 2615 and not wrong


def test_every_public_task_can_be_carried_out(public):
    for task in lines("workbench", "tasks", "tasks.jsonl"):
        row = {"task": json.dumps({"ground_truth": task["ground_truth"]})}
        golden = answer(row, public)
        assert score(golden, row, public).reward == 1.0, task["query"]
        env = workplace.env_for(public)()
        env.reset(**row)
        for message in golden:
            assert not message["content"].startswith("Error")
            for call in message.get("tool_calls") or []:
                getattr(env, call["function"]["name"])(**call["function"]["arguments"])
        assert env.get_reward() == 1.0


def test_recorded_rollouts_get_their_rewards_and_results(public):
    rollouts = lines("nemo_gym", "workplace_assistant_rollouts.jsonl")
    for rollout in rollouts:
        query = rollout["responses_create_params"]["input"][-1]["content"]
        output = rollout["response"]["output"]
        assert score(output, row_of(*TRUTHS[query]), public).reward == rollout["reward"], query
        env, results = begun(public), {}
        for item in output:
            if item["type"] == "function_call":
                results[item["call_id"]] = getattr(env, item["name"])(**json.loads(item["arguments"]))
            elif item["type"] == "function_call_output":
                # The dates of customers there had a time of day, which the public tables do not have.
                theirs = item["output"].replace(" 23:59:00", "")
                ours = results[item["call_id"]]
                ours = ours if ours.startswith(("{", "[")) else json.dumps(ours)
                assert '{"output":' + ours + "}" == theirs, query
    assert len(rollouts) == 5


def test_schemas_are_the_recorded_ones():
    from transformers.utils import get_json_schema

    env = WorkplaceEnv()
    for row in lines("nemo_gym", "workplace_assistant_rows.jsonl"):
        recorded = row["responses_create_params"]["tools"]
        assert [workplace.schema(getattr(WorkplaceEnv, tool["name"])) for tool in recorded] == recorded
        assert {tool["name"] for tool in recorded} == set(ACTIONS)
        for tool in recorded:
            made = get_json_schema(getattr(env, tool["name"]))["function"]
            assert (made["name"], made["description"]) == (tool["name"], tool["description"])
            assert made["parameters"]["properties"] == tool["parameters"]["properties"]
            assert made["parameters"].get("required", []) == tool["parameters"]["required"]


def test_rows_from_nemo_gym_and_back(tmp_path):
    path = DATA / "nemo_gym" / "workplace_assistant_rows.jsonl"
    recorded = lines("nemo_gym", "workplace_assistant_rows.jsonl")
    rows = workplace.rows_from_nemo_gym(path)
    assert workplace.rows_from_nemo_gym(recorded) == rows
    assert workplace.to_nemo_gym(rows) == recorded
    assert workplace.tools_for(rows[0]) == [tool["name"] for tool in recorded[0]["responses_create_params"]["tools"]]


def test_own_rows_to_nemo_gym_and_back(tmp_path):
    rows = make_rows(40, seed=4, difficulty=None)
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in workplace.to_nemo_gym(rows)), encoding="utf-8")
    back = workplace.rows_from_nemo_gym(path)
    for ours, theirs in zip(rows, back, strict=True):
        assert theirs["prompt"] == ours["prompt"]
        assert workplace.tools_for(theirs) == workplace.tools_for(ours)
        assert score(answer(ours), theirs).reward == score(answer(theirs), theirs).reward == 1.0
    path.write_text('{"id": 1}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="line 1"):
        workplace.rows_from_nemo_gym(path)
    with pytest.raises(ValueError, match="record 1"):
        workplace.rows_from_nemo_gym([{"id": 1}])


PLACES = {
    "EV1": "00000003", "EV2": "00000007", "NEWEV": "00000008", "TASK1": "00000001", "TASK2": "00000002",
    "MAIL1": "00000005", "CUST1": "00000004", "STAFF1": "robin.vale@example.com", "STAFF2": "kim.ost@example.com",
    "STAFF1_UPPER": "ROBIN.VALE@EXAMPLE.COM",
}  # fmt: skip


def filled(value):
    """The value with its placeholders filled in."""
    if isinstance(value, str):
        return 3 if value == "{EV1_AS_INT}" else re.sub(r"\{(\w+)\}", lambda found: PLACES[found[1]], value)
    if isinstance(value, dict):
        return {key: filled(one) for key, one in value.items()}
    return value


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The company of the case file."""
    fixtures = next(case["fixtures"] for case in lines("cases", "workplace_dev.jsonl") if "fixtures" in case)
    folder = tmp_path_factory.mktemp("company")
    tables = {
        "calendar_events": ("events", "events"), "project_tasks": ("tasks", "tasks"), "emails": ("emails", "emails"),
        "customer_relationship_manager_data": ("customers", "customers"), "analytics_data": ("visits", "visits"),
    }  # fmt: skip
    for file_name, (name, fields) in tables.items():
        with (folder / f"{file_name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS[fields])
            writer.writeheader()
            for one in fixtures.get(name, []):
                writer.writerow(filled(one))
    people = (PLACES["STAFF1"], PLACES["STAFF2"])
    (folder / "email_addresses.csv").write_text("\n".join(people), encoding="utf-8")
    return load_tables(folder)


def _cases() -> list:
    cases = [case for case in lines("cases", "workplace_dev.jsonl") if "gold_calls" in case]
    return [pytest.param(case, id=case["id"]) for case in cases]


@pytest.mark.parametrize("case", _cases())
def test_case_file(case, small):
    row = row_of(*[(name, filled(arguments)) for name, arguments in case["gold_calls"]])
    made = calling(*[(name, filled(arguments) if isinstance(arguments, dict) else arguments)
                     for name, arguments in case["predicted_calls"]])  # fmt: skip
    with ThreadPoolExecutor(8) as pool:
        rewards = set(pool.map(lambda _: score(made, row, small).reward, range(8)))
    assert rewards == {case["expected"]}, case["why"]
    as_text = [
        {**m, "tool_calls": [{**c, "function": {**c["function"], "arguments": json.dumps(c["function"]["arguments"])}}
                             for c in m["tool_calls"] if isinstance(c["function"]["arguments"], dict)]}
        for m in made if "tool_calls" in m
    ]  # fmt: skip
    if case["predicted_calls"] and all(isinstance(arguments, dict) for _, arguments in case["predicted_calls"]):
        assert score(as_text, row, small).reward == case["expected"]
