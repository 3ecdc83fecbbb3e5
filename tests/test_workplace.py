"""Workplace: recorded verdicts and rollouts, the case file, the tools, both verifiers, the company, the templates."""

import copy
import csv
import json
import pickle
import random
import re
import shutil
import subprocess
import sys
import typing
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from envs import workplace_env as workplace
from envs.workplace_env import WorkplaceEnv, answer, company, load_tables, make_rows, parse, score
from envs.workplace_env.actions import ACTIONS, PARAMETERS, WRITES, end_of
from envs.workplace_env.rows import _draw, split_of
from envs.workplace_env.tables import FIELDS
from envs.workplace_env.templates import CATEGORIES, DIFFICULTIES, TEMPLATES
from helpers.measure.contract import check_env

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not there")


def lines(*parts: str) -> list[dict]:
    path = DATA.joinpath(*parts)
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


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


# --- the recorded data -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def public():
    return load_tables(DATA / "workbench" / "csv")


@needs_data
def test_every_recorded_verdict(public):
    recorded = [one for one in lines("workbench", "verdicts_dev.jsonl") if not one["error"]]
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


@needs_data
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


# The recorded rollouts answer other requests than the five recorded rows, and carry no ground truth of their own. Here
# it is written down by request: what the public tasks want for the same wording with other values.
TRUTHS = {
    "Create a bar chart of total visits since November 30": [
        ("analytics_create_plot",
         {"time_min": "2023-11-30", "time_max": "2023-11-29", "value_to_plot": "total_visits", "plot_type": "bar"}),
    ],
    "We need to move all customers that haven't responded to a proposal for the consulting product in 3 weeks to lost. "
    "Can you update the CRM?": [],
    "Delete Casey Wilson from the crm": [
        ("customer_relationship_manager_delete_customer", {"customer_id": "00000014"}),
    ],
    "Add Dakota Thomas as a new lead in the crm and assign them to Nadia": [
        ("customer_relationship_manager_add_customer",
         {"customer_name": "Dakota Thomas", "assigned_to_email": "nadia.moreau@atlas.com", "status": "Lead"}),
    ],
    "Delete my last email from kofi": [("email_delete_email", {"email_id": "00000259"})],
}  # fmt: skip


@needs_data
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


@needs_data
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


@needs_data
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


# --- the case file ---------------------------------------------------------------------------------------

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
    fixtures = next((case["fixtures"] for case in lines("cases", "workplace_dev.jsonl") if "fixtures" in case), None)
    if fixtures is None:
        pytest.skip("the shared case file is not there")
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
    if not cases:
        return [pytest.param(None, marks=pytest.mark.skip(reason="the shared case file is not there"))]
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


# --- what a model may write ------------------------------------------------------------------------------

MEETING = {"event_name": "Sync", "participant_email": "ada.lindqvist@larkfield.example",
           "event_start": "2024-09-20 10:00:00", "duration": "30"}  # fmt: skip
CREATE = ("calendar_create_event", MEETING)
BROKEN = (
    "", "null", "[]", "[1, 2]", "{", "{oops", '"text"', "1", json.dumps(json.dumps(MEETING)), json.dumps(MEETING)[:-9],
    None, [], [1], 5, "[" * 5000, {"event_name": "Sync"}, {**MEETING, "duration": None},
    {**MEETING, "duration": ["30"]}, {**MEETING, "colour": "red"}, {**MEETING, "event_start": "2024-09-31 10:00:00"},
    {**MEETING, "duration": {"minutes": 30}}, {**MEETING, "duration": "half an hour"}, {**MEETING, "duration": "0"},
    {**MEETING, "duration": "-30"}, {**MEETING, "duration": 30.5}, {**MEETING, "duration": True},
    {**MEETING, "event_start": "tomorrow"}, {**MEETING, "event_start": "2024-09-20 25:00:00"},
    {**MEETING, "event_start": "2024-09-20 10:00:00Z"},
    {**MEETING, "event_start": "2024-09-20T10:00:00+02:00"}, {**MEETING, "event_start": "2024-09-20"},
    {**MEETING, "event_name": ""}, {**MEETING, "event_name": "\ud800"},
    {**MEETING, "event_name": float("nan")},
)  # fmt: skip


@pytest.mark.parametrize("arguments", BROKEN, ids=repr)
def test_broken_arguments_end_nothing_and_change_nothing(arguments):
    row = row_of(CREATE)
    assert score(calling(("calendar_create_event", arguments)), row).reward == 0.0
    assert score(calling(("calendar_create_event", arguments), CREATE), row).reward == 1.0
    verdict = score(calling(("calendar_create_event", arguments)), row)
    assert verdict.reason.startswith("tool fault: ")


@pytest.mark.parametrize(
    "name", ["", "no_such_tool", "reset", "get_reward", "_begin", "__init__", "metrics", "calendar"]
)
def test_unknown_tools_end_nothing(name):
    assert score(calling((name, {}), CREATE), row_of(CREATE)).reward == 1.0
    assert score(calling((name, {})), row_of(CREATE)).reason.startswith("tool fault: there is no tool")


@pytest.mark.parametrize(
    "change",
    [{"duration": 30}, {"duration": 30.0}, {"duration": "30.0"}, {"duration": " 30 "}, {"event_name": " SYNC\n"},
     {"participant_email": "Ada.Lindqvist@Larkfield.example"}, {"event_start": "2024-09-20T10:00:00"},
     {"event_start": "2024-09-20 10:00"}],
)  # fmt: skip
@pytest.mark.parametrize("match", workplace.office.MATCHES)
def test_the_same_said_in_another_way(change, match):
    made = calling(("calendar_create_event", {**MEETING, **change}))
    assert score(made, row_of(CREATE, match=match)).reward == 1.0


@pytest.mark.parametrize("value", [1, 1.0, True, "1", "0000001", "one", "", None])
def test_an_id_is_text_with_its_zeros(value):
    first = next(iter(company()["emails"].rows))
    row = row_of(("email_delete_email", {"email_id": first}))
    assert score(calling(("email_delete_email", {"email_id": value})), row).reward == 0.0


@pytest.mark.parametrize(
    "text",
    ["<tool_call>{}</tool_call>", "Sure.\n<tool_call>\n{}\n</tool_call>", "<tool_call>{}", "{}", "[{}]",
     "```json\n{}\n```", "<think>Hm, {{}}</think>\n<tool_call>{}</tool_call>"],
)  # fmt: skip
def test_calls_in_text(text):
    call = json.dumps({"name": CREATE[0], "arguments": MEETING})
    said = (
        text.replace("{}", call, 1) if "{{}}" not in text else text.replace("{{}}", "{}").replace(">{}<", f">{call}<")
    )
    assert parse(said, {}) == [CREATE]
    assert score(said, row_of(CREATE)).reward == score([{"role": "assistant", "content": said}], row_of(CREATE)).reward
    assert score(said, row_of(CREATE)).reward == 1.0


def test_what_is_thought_is_not_done():
    call = f"<tool_call>{json.dumps({'name': CREATE[0], 'arguments': MEETING})}</tool_call>"
    for text in (f"<think>{call}</think>No.", f"<think>{call}", f"{call}</think>No."):
        assert parse(text, {}) == []
        assert score(text, row_of(CREATE)).reason.startswith("no answer: ")


def test_a_broken_task_is_not_judged():
    wrong = [
        row_of(("project_management_update_task", {"task_id": "00000001", "field": "list_name", "new_value": "Doing"})),
        row_of(("no_such_tool", {})), {"task": "{}"}, {"task": "[]"}, {"task": "{"},
        row_of(CREATE, match="luck"), row_of(CREATE, domains=["weather"]),
    ]  # fmt: skip
    for row in wrong:
        verdict = score(calling(CREATE), row)
        assert verdict.reward is None and verdict.reason.startswith("broken task: ")
    read = row_of(("email_get_email_information_by_id", {"email_id": "1", "field": "body"}), CREATE)
    assert score(calling(CREATE), read).reward == 1.0  # a look-up that finds nothing breaks no task


# --- the verifiers ---------------------------------------------------------------------------------------


def test_reasons_name_what_differs():
    emails, events = company()["emails"].rows, list(company()["events"].rows)
    task = next(row for row in company()["tasks"].rows.values() if row[3] == "Backlog")
    delete = ("email_delete_email", {"email_id": next(iter(emails))})
    move = ("project_management_update_task", {"task_id": task[0], "field": "list_name", "new_value": "In Review"})
    wrong = ("project_management_update_task", {"task_id": task[0], "field": "list_name", "new_value": "Completed"})
    look = ("email_search_emails", {"query": "ada"})
    longer = ("calendar_create_event", {**MEETING, "duration": "60"})
    for wanted, made, reason in (
        ([delete], [look], "missing write: email"),
        ([delete], [], "no answer: "),
        ([delete], [("email_delete_email", {"email_id": "x"})], "tool fault: Email not found"),
        ([move], [wrong], "wrong value: task"),
        ([move], [move, delete], "side effect: email"),
        ([move, delete], [wrong], "missing write: email"),
        ([CREATE], [longer], "wrong value: new event: duration is '60', should be '30'"),
        ([CREATE], [CREATE, CREATE], "side effect: new event"),
        ([CREATE], [("calendar_delete_event", {"event_id": events[0]})], "missing write: no new event"),
        ([], [CREATE], "side effect: new event"),
        ([move], [move, ("project_management_update_task",
                         {"task_id": task[0], "field": "task_name", "new_value": "x"})], "side effect: task"),
    ):  # fmt: skip
        verdict = score(calling(*made), row_of(*wanted))
        assert verdict.reward == 0.0 and verdict.reason.startswith(reason), verdict.reason


def test_state_is_what_counts():
    later = ("calendar_create_event", {**MEETING, "event_start": "2024-09-20 15:00:00"})
    new = f"{company()['events'].last + 1:08d}"
    fix = ("calendar_update_event", {"event_id": new, "field": "event_start", "new_value": MEETING["event_start"]})
    undo = ("calendar_delete_event", {"event_id": new})
    send = [("email_send_email", {"recipient": "a@b.example", "subject": str(i), "body": "x"}) for i in range(2)]
    span = {"time_min": "2024-09-01", "time_max": "2024-09-02", "value_to_plot": "total_visits"}
    plots = [("analytics_create_plot", {**span, "plot_type": kind}) for kind in ("bar", "line")]
    for wanted, made in (
        ([CREATE], [later, fix]),
        ([CREATE], [later, undo, CREATE]),
        ([CREATE], [later, CREATE, undo]),
        ([], [later, undo]),
        (send, send[::-1]),
        (plots, plots[::-1]),
        ([CREATE, send[0]], [send[0], CREATE]),
    ):
        assert score(calling(*made), row_of(*wanted)).reward == 1.0
    for wanted, made in ((send, send[:1]), (send[:1], send), (plots[:1], [*plots[:1], *plots[:1]])):
        assert score(calling(*made), row_of(*wanted)).reward == 0.0


def test_a_plot_of_a_wrong_range_is_an_action():
    plot = {"time_min": "2024-09-01", "time_max": "None", "value_to_plot": "total_visits", "plot_type": "bar"}
    assert score(calling(("analytics_create_plot", plot)), row_of()).reason.startswith(
        "side effect: plots/2024-09-01_None"
    )


def test_case_counts_only_in_status_list_and_board():
    task = next(row for row in company()["tasks"].rows.values() if row[3] == "Backlog")
    rename = {"task_id": task[0], "field": "task_name", "new_value": "New NAME"}
    row = row_of(("project_management_update_task", rename))
    assert score(calling(("project_management_update_task", {**rename, "new_value": "new name"})), row).reward == 1.0
    move = {"task_id": task[0], "field": "list_name", "new_value": "In Progress"}
    verdict = score(
        calling(("project_management_update_task", {**move, "new_value": "in progress"})),
        row_of(("project_management_update_task", move)),
    )
    assert verdict.reward == 0.0 and "'Backlog', 'In Progress', 'In Review', 'Completed'" in verdict.reason


def test_trajectory_match_wants_the_golden_path():
    emails = list(company()["emails"].rows)
    a, b = [("email_delete_email", {"email_id": key}) for key in emails[:2]]
    look, wrong = ("email_search_emails", {"query": "ada"}), ("email_delete_email", {"email_id": "x"})
    row = row_of(a, b, match="trajectory")
    assert score(calling(look, a, wrong, look, b, look), row).reward == 1.0
    for made, kind in (
        ((b, a), "wrong order"),
        ((("email_delete_email", {"email_id": emails[2]}), b), "wrong value"),
        ((a,), "missing write"),
        ((a, b, CREATE), "side effect"),
        ((CREATE, a, b), "side effect"),
    ):
        verdict = score(calling(*made), row)
        assert verdict.reward == 0.0 and verdict.reason.startswith(f"{kind}: ")
    assert score(calling(b, a), row_of(a, b)).reward == 1.0
    assert score(calling(a), row_of(look, a, match="trajectory")).reason.startswith("wrong order: ")
    assert score(calling(a), row_of(a, look, match="trajectory")).reason.startswith("missing write: email_search")


def test_nothing_to_do_must_have_been_looked_up():
    idle = [row for row in ROWS if not json.loads(row["task"])["ground_truth"]]
    assert len(idle) > 20
    for row in idle:
        task = json.loads(row["task"])
        assert task["check"]["text"] and score(answer(row), row).reason == "done: nothing was to be changed"
        assert score(answer(row), row).metrics["nothing_to_do"] == 1.0
        for nothing in ("", [], "I did nothing.", calling(("company_directory_find_email_address", {"name": "zzz"}))):
            assert score(nothing, row).reward == 0.0
        free = {"task": json.dumps(task | {"domains": None})}
        undone = calling(CREATE, ("calendar_delete_event", {"event_id": f"{company()['events'].last + 1:08d}"}))
        assert score(undone, free).reason == "no answer: what the task asks to check was not looked up"
        assert score([*answer(row), *calling(CREATE)], free).reason.startswith("side effect: ")
    assert score("", row_of()).reward == 1.0  # the public rule, for rows that do not say what to check


def test_the_built_in_task_wants_something():
    env = WorkplaceEnv()
    assert "Email Ada" in env.reset() and env.get_reward() == 0.0
    assert score("", {"task": None}).reward == 0.0
    env.email_send_email(recipient="ada.lindqvist@larkfield.example", subject="hello", body="Nice to meet you.")
    assert env.get_reward() == 1.0


def test_domains_restrict_the_tools():
    row = row_of(CREATE, domains=["calendar"])
    tools = workplace.tools_for(row)
    assert len(tools) == 6 and tools[0] == "company_directory_find_email_address"
    assert len(workplace.tools_for(row_of(CREATE))) == 27
    send = ("email_send_email", {"recipient": "a@b.example", "subject": "s", "body": "b"})
    assert score(calling(CREATE, send), row).reward == 1.0  # refused, so it changed nothing
    assert score(calling(CREATE, send), row_of(CREATE)).reward == 0.0


# --- the tools -------------------------------------------------------------------------------------------


def test_paging():
    env = begun()
    page = json.loads(env.email_search_emails(query="ada"))
    total = page["pagination"]["total_emails"]
    assert page["pagination"] == {"total_emails": total, "page": 1, "page_size": 5, "total_pages": -(-total // 5)}
    seen = []
    for number in range(1, page["pagination"]["total_pages"] + 1):
        seen += json.loads(env.email_search_emails(query="ada", page=number))["emails"]
    assert len(seen) == total == len({email["email_id"] for email in seen})
    assert [email["sent_datetime"] for email in seen] == sorted((e["sent_datetime"] for e in seen), reverse=True)
    last = json.loads(env.email_search_emails(query="ada", page=10**6))
    assert last["pagination"]["page"] == last["pagination"]["total_pages"]
    assert env.email_search_emails(query="no such words") == "No emails found."
    for wrong in ({"page": 0}, {"page_size": 0}, {"page": -1}, {"page_size": "many"}):
        with pytest.raises(ValueError):
            env.email_search_emails(query="ada", **wrong)


def test_a_session_sees_its_own_writes():
    env = begun()
    env.email_send_email(recipient="Ada.Lindqvist@larkfield.example", subject="Hello zebra", body="x")
    found = json.loads(env.email_search_emails(query="zebra"))["emails"]
    assert found == [{
        "email_id": "00000500", "inbox/outbox": "outbox", "sender/recipient": "ada.lindqvist@larkfield.example",
        "subject": "Hello zebra", "sent_datetime": company().now, "body": "x",
    }]  # fmt: skip
    env.email_delete_email(email_id="00000500")
    assert env.email_search_emails(query="zebra") == "No emails found."
    key = env.calendar_create_event(**MEETING)
    assert key == "00000300"
    env.calendar_update_event(event_id=key, field="event_name", new_value="Zebra hour")
    assert json.loads(env.calendar_get_event_information_by_id(event_id=key, field="event_name")) == {
        "event_name": "Zebra hour"
    }
    assert json.loads(env.calendar_search_events(query="zebra"))["pagination"]["total_events"] == 1
    task = env.project_management_create_task(
        task_name="Zebra", assigned_to_email="ADA.LINDQVIST@larkfield.example", list_name="Backlog",
        due_date="2024-09-30", board="Design",
    )  # fmt: skip
    assert [one["task_id"] for one in json.loads(env.project_management_search_tasks(task_name="zebra"))] == [task]
    assert env.email_search_emails(query="zebra") == "No emails found."


def test_days_of_analytics_add_up():
    env = begun()
    days = json.loads(env.analytics_total_visits_count())
    assert sum(days.values()) == 1000
    split = [json.loads(env.analytics_traffic_source_count(traffic_source=one)) for one in workplace.actions.SOURCES]
    assert days == {day: sum(one[day] for one in split) for day in days}
    first, last = "2024-08-01", "2024-08-07"
    assert set(json.loads(env.analytics_engaged_users_count(time_min=first, time_max=last))) == {
        day for day in days if first <= day <= last
    }


def test_ten_thousand_sessions_see_only_their_own_writes():
    envs = [begun() for _ in range(10_000)]
    for i, env in enumerate(envs):
        env.email_send_email(recipient="a@b.example", subject=f"Only {i}", body="x")
        env.calendar_delete_event(event_id=f"{i % 300:08d}")
    for i in range(0, 10_000, 97):
        found = json.loads(envs[i].email_search_emails(query="only a@b.example"))["emails"]
        assert [email["subject"] for email in found] == [f"Only {i}"]
        events = json.loads(envs[i].calendar_search_events(page_size=1))["pagination"]["total_events"]
        assert events == 299
    assert len(company()["emails"].rows) == 500 and len(company()["events"].rows) == 300


# --- random sequences of calls ---------------------------------------------------------------------------

WORDS = [
    "ada", "Bruno", "", " ", "2024-09-12", "2024-09-12 10:00:00", "x", "30", "Completed", "in review", "Design", "Won",
    "lost", "Software", "bar", "total_visits", "direct", "due_date", "status", "list_name", "body", "event_start",
    "notes", "a@b.example", "ada.lindqvist@larkfield.example", "(", "\\", "%", "é", "\x00", "00000001", "00000300",
    "00000500", "1000", "\ud800", "9" * 40,
]  # fmt: skip
ODD = [None, 0, 1, -1, 30, 30.0, 1.5, True, 10**30, float("nan"), float("inf"), [], ["x"], {}, {"a": [1]}]


def _call(rng: random.Random) -> tuple[str, object]:
    name = rng.choice([*ACTIONS, *WRITES]) if rng.random() < 0.97 else rng.choice(["nothing", "reset", ""])
    parameters = [p for p in PARAMETERS.get(name, ("x",)) if rng.random() < 0.9]
    arguments = {p: rng.choice(ODD) if rng.random() < 0.15 else rng.choice(WORDS) for p in parameters}
    for p in arguments:
        if p.endswith("_id") and rng.random() < 0.8:
            arguments[p] = f"{rng.randrange(305):08d}"
        elif p == "field" and rng.random() < 0.8:
            arguments[p] = rng.choice(FIELDS[rng.choice(["emails", "events", "tasks", "customers"])])
    if rng.random() < 0.03:
        arguments["surprise"] = 1
    return name, arguments


def test_live_and_replayed_rewards_are_equal_on_ten_thousand_random_sequences():
    rng = random.Random("sequences")
    rows = [json.loads(row["task"]) for row in ROWS]
    rewards = {0.0: 0, 1.0: 0}
    for i in range(10_000):
        task = dict(rng.choice(rows), match=rng.choice(["state", "trajectory"]))
        if rng.random() < 0.7:
            task.pop("domains", None)
        row = {"task": json.dumps(task)}
        golden = [(call["name"], json.loads(call["arguments"])) for call in task["path"]]
        calls = [_call(rng) for _ in range(rng.randrange(5))]
        if rng.random() < 0.5:
            at = rng.randrange(len(calls) + 1)
            calls[at:at] = golden if rng.random() < 0.8 else golden[:-1]
        env = WorkplaceEnv()
        env.reset(**row)
        for name, arguments in calls:
            if name in ACTIONS:
                before = repr(vars(env)["_session"].changes), list(env._session.plots)
                try:
                    assert isinstance(getattr(env, name)(**arguments), str)
                except (ValueError, TypeError) as error:
                    assert str(error)
                    assert before == (repr(env._session.changes), env._session.plots)
        live = env.get_reward()
        verdict = score(calling(*calls), row)
        assert verdict.reward == live and verdict.metrics == env.metrics, calls
        if i % 10 == 0:
            text = calling(*((name, json.dumps(arguments)) for name, arguments in calls))
            assert score(text, row) == verdict
        rewards[live] += 1
    assert min(rewards.values()) > 1000


@pytest.mark.parametrize("split", workplace.SPLITS)
def test_starter_requests_hold_every_value(split):
    for row in make_rows(60, split=split, domain=("email", "calendar"), difficulty="starter"):
        request = row["prompt"][-1]["content"]
        for call in json.loads(row["task"])["ground_truth"]:
            values = json.loads(call["arguments"])
            assert all(value in request or name == "field" for name, value in values.items()), (request, values)
        assert len(workplace.answer(row)) <= 4  # no look-up: the writes, their results, the last words


@pytest.mark.parametrize(
    "knobs",
    [{}, {"difficulty": "medium"}, {"difficulty": "hard"}, {"difficulty": None, "match": "trajectory"},
     {"all_tools": True}, {"domain": ("email", "calendar"), "difficulty": None},
     {"domain": "multi_domain", "difficulty": None}],
    ids=str,
)  # fmt: skip
def test_contract(knobs):
    check_env(workplace, **knobs)


# --- the company -----------------------------------------------------------------------------------------


def test_the_company_hangs_together():
    tables = company()
    sizes = {name: len(tables[name].rows) for name in ("emails", "events", "tasks", "customers")}
    assert sizes == {"emails": 500, "events": 300, "tasks": 300, "customers": 200} and len(tables.visits.rows) == 1000
    people = set(tables.directory)
    for name, at in (("emails", 2), ("events", 2), ("tasks", 2), ("customers", 1)):
        assert {row[at] for row in tables[name].rows.values()} <= people
    for first in (address.partition(".")[0] for address in people):
        assert sum(first in address for address in people) == 1
    events = sorted(tables["events"].rows.values(), key=lambda row: row[3])
    assert all(end_of(one) <= other[3] for one, other in zip(events, events[1:]))
    assert all(row[3][11:] >= "09:00:00" and end_of(row)[11:] <= "18:00:00" for row in events)
    emails = list(tables["emails"].rows.values())
    assert len({row[4] for row in emails}) == 500 and all(row[4] < tables.now for row in emails)
    tasks = {row[1]: row[2] for row in tables["tasks"].rows.values()}
    assert len(tasks) == 300
    for row in emails:
        if row[3].startswith("Progress on "):
            assert tasks[row[3].removeprefix("Progress on ")] == row[2]
    customers = list(tables["customers"].rows.values())
    assert len({row[2] for row in customers}) == 200 and all(
        row[5] < tables.now[:10] <= "2024-09-11" for row in customers
    )
    assert {row[0] for row in tables.visits.rows} and max(row[0] for row in tables.visits.rows) < tables.now[:10]


def test_a_company_is_copied_by_reference():
    assert pickle.loads(pickle.dumps(company())) is company() is copy.deepcopy(company())
    env = begun()
    env.email_delete_email(email_id="00000001")
    other = pickle.loads(pickle.dumps(env))
    other.email_delete_email(email_id="00000002")
    assert len(pickle.dumps(env)) < 2000 and "00000002" not in env._session.changes["emails"]


def test_another_seed_is_another_company():
    other = company(1)
    assert other["emails"].rows != company()["emails"].rows and other is company(1)


def test_load_tables_says_what_is_missing(tmp_path):
    with pytest.raises(ValueError, match=r"emails\.csv is missing"):
        load_tables(tmp_path)
    (tmp_path / "emails.csv").write_text("email_id,subject\n1,x\n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no column inbox/outbox"):
        load_tables(str(tmp_path))


# --- the templates ---------------------------------------------------------------------------------------


def test_templates_cover_the_categories():
    assert len(TEMPLATES) >= 60 and len({one.name for one in TEMPLATES}) == len(TEMPLATES)
    for category in CATEGORIES:
        mine = [one for one in TEMPLATES if one.category == category]
        assert len(mine) >= 8 and sum(one.held_out for one in mine) >= 2
    for one in TEMPLATES:
        assert len(set(one.wordings)) >= 3
        slots = [set(re.findall(r"\{(\w+)\}", wording)) for wording in one.wordings]
        assert all(slot == slots[0] for slot in slots), one.name


@pytest.mark.parametrize("one", TEMPLATES, ids=lambda one: one.name)
def test_template(one):
    split = "test" if one.held_out else "train"
    rows, seed = [], 0
    while len(rows) < 3 and seed < 40:
        drawn = make_rows(40, seed=seed, split=split, domain=one.category, difficulty=one.level)
        rows += [row for row in drawn if json.loads(row["task"])["template"] == one.name]
        seed += 1
    assert len({row["task_id"] for row in rows}) >= 2
    for row in rows[:6]:
        _golden(row)


def _golden(row: dict) -> None:
    """The golden conversation scores 1, is short, and uses no ID that was not seen before."""
    messages = answer(row)
    assert score(messages, row).reward == 1.0
    assert sum(message["role"] == "assistant" for message in messages) <= 6
    seen = " ".join(message["content"] for message in row["prompt"])
    for message in messages:
        if message["role"] == "tool":
            assert not message["content"].startswith("Error") and len(message["content"]) <= 4000
            seen += message["content"]
        for call in message.get("tool_calls") or []:
            arguments = call["function"]["arguments"]
            assert call["function"]["name"] in workplace.tools_for(row)
            for name, value in arguments.items():
                if name.endswith("_id"):
                    assert value in seen
                address = name in ("recipient", "participant_email", "assigned_to_email") and "@" in value
                if address or (name == "new_value" and "@" in value):
                    assert value in seen, (row["task_id"], value)


def test_all_kinds_of_rows_are_golden():
    for row in ROWS:
        _golden(row)


def test_splits_share_neither_templates_nor_values():
    tasks = {split: [json.loads(row["task"]) for row in make_rows(400, seed=2, split=split, difficulty=None)]
             for split in workplace.SPLITS}  # fmt: skip
    kept = {one.name for one in TEMPLATES if one.held_out}
    assert {task["template"] for task in tasks["test"]} <= kept
    assert not kept & {task["template"] for task in tasks["train"] + tasks["validation"]}
    queries = {split: {task["query"] for task in tasks[split]} for split in tasks}
    assert not queries["train"] & queries["validation"] and not queries["test"] & queries["train"]
    assert split_of({"who": "Ada"}) in workplace.SPLITS


def test_thousands_of_distinct_tasks():
    rows = make_rows(3000, seed=3, difficulty=None)
    tasks = [json.loads(row["task"]) for row in rows]
    assert len({row["task_id"] for row in rows}) == 3000
    assert len({(task["query"]) for task in tasks}) == 3000
    sizes = {len(task["ground_truth"]) for task in tasks}
    assert {0, 1, 2, 3, 4, 5} <= sizes
    assert len({task["template"] for task in tasks}) == sum(not one.held_out for one in TEMPLATES)


def test_knobs():
    for category in CATEGORIES:
        levels = {one.level for one in TEMPLATES if one.category == category and not one.held_out}
        for level in sorted(levels):
            for row in make_rows(5, domain=category, difficulty=level):
                template = next(one for one in TEMPLATES if one.name == json.loads(row["task"])["template"])
                assert (template.category, template.level) == (category, level)
    for steps, allowed in ((0, {0}), (1, {1}), ((2, 3), {2, 3}), (5, {5})):
        rows = make_rows(6, steps=steps, difficulty=None)
        assert {len(json.loads(row["task"])["ground_truth"]) for row in rows} <= allowed
    for row in make_rows(30, domain=("email", "calendar"), difficulty=None):
        assert {name.partition("_")[0] for name in workplace.tools_for(row)} <= {"company", "email", "calendar"}
    assert all(len(workplace.tools_for(row)) == 27 for row in make_rows(5, all_tools=True))
    assert set(DIFFICULTIES) == {one.level for one in TEMPLATES}


@pytest.mark.parametrize(
    "knobs",
    [{"n": -1}, {"n": 1.5}, {"split": "dev"}, {"domain": "weather"}, {"domain": ()}, {"domain": ("email", "x")},
     {"steps": -1}, {"steps": (2, 1)}, {"steps": "two"}, {"steps": 40}, {"difficulty": "brutal"}, {"match": "luck"},
     {"domain": "multi_domain", "difficulty": "easy"}, {"n": 10**6, "domain": "email", "steps": 5}],
    ids=str,
)  # fmt: skip
def test_bad_knobs_are_named(knobs):
    with pytest.raises(ValueError) as error:
        make_rows(**{"n": 2, **knobs})
    assert any(str(name) in str(error.value) for name in knobs)


# The same answers, worked out from the bare rows: each gives the values that the writes must have, in any order.

TODAY = company().now[:10]


def rows_in(name: str) -> list[dict]:
    return [dict(zip(FIELDS[name], row)) for row in company()[name].rows.values()]


def mine(rows: list[dict], field: str, who: str) -> list[dict]:
    return [row for row in rows if row[field].startswith(who.lower() + ".")]


def day_of(text: str) -> str:
    if text == "tomorrow":
        return str(date.fromisoformat(TODAY) + timedelta(1))
    return text if text[0] == "2" else datetime.strptime(f"{text} {TODAY[:4]}", "%B %d %Y").date().isoformat()


def ago(days: int) -> str:
    return str(date.fromisoformat(TODAY) - timedelta(days))


def first_free(day: str, minutes: int) -> str:
    busy = set()
    for event in rows_in("events"):
        if event["event_start"][:10] == day:
            at = int(event["event_start"][11:13]) * 60 + int(event["event_start"][14:16])
            busy |= set(range(at, at + int(event["duration"])))
    start = next(m for m in range(540, 1081 - minutes, 30) if not busy & set(range(m, m + minutes)))
    return f"{day} {start // 60:02d}:{start % 60:02d}:00"


def overdue(who: str) -> list[dict]:
    return [t for t in mine(rows_in("tasks"), "assigned_to_email", who)
            if t["due_date"] < TODAY and t["list_name"] != "Completed"]  # fmt: skip


def visits(source: str, first: str, last: str) -> int:
    return sum(row[4] == source and day_of(first) <= row[0] <= day_of(last) for row in company().visits.rows)


def expected_delete_recent(who, n):
    rows = mine(rows_in("emails"), "sender/recipient", who)
    return [row["email_id"] for row in rows if row["inbox/outbox"] == "inbox" and row["sent_datetime"] >= ago(n)]


def expected_cancel_future(who):
    rows = mine(rows_in("events"), "participant_email", who)
    return [row["event_id"] for row in rows if row["event_start"] > company().now]


def expected_drop_longest(day, hours):
    rows = sorted(
        (r for r in rows_in("events") if r["event_start"][:10] == day_of(day)), key=lambda r: r["event_start"]
    )
    lengths = [int(row["duration"]) for row in rows]
    return [rows[lengths.index(max(lengths))]["event_id"]] if sum(lengths) > 60 * hours else []


def expected_take_over(who, other, status, product):
    rows = mine(rows_in("customers"), "assigned_to_email", who)
    rows = [r for r in rows if (r["status"].lower(), r["product_interest"].lower()) == (status, product)]
    return [row["customer_id"] for row in rows]


def expected_stale(product, day):
    return [row["customer_id"] for row in rows_in("customers") if row["product_interest"].lower() == product
            and row["status"] == "Proposal" and row["last_contact_date"] <= day_of(day)]  # fmt: skip


def expected_best_source(first, last):
    best = max(workplace.actions.SOURCES, key=lambda source: visits(source, first, last))
    return ["visits_" + best.replace(" ", "_")]


def expected_compare(source, other, first, last):
    more = visits(source, first, last) > visits(other, first, last)
    return ["visits_" + one.replace(" ", "_") for one in (source, other)] if more else []


def expected_lead(name, who, other, day):
    counts = [
        sum(
            company().now < row["event_start"] < day_of(day) + "~"
            for row in mine(rows_in("events"), "participant_email", one)
        )
        for one in (who, other)
    ]
    to = other if counts[1] < counts[0] else who
    return [next(address for address in company().directory if address.startswith(to.lower() + "."))]


def expected_less_busy(name, who, other):
    counts = [len([t for t in mine(rows_in("tasks"), "assigned_to_email", one) if t["list_name"] == "In Progress"])
              for one in (who, other)]  # fmt: skip
    to = None if counts[0] == counts[1] else who if counts[0] < counts[1] else other
    return [address for address in company().directory if to and address.startswith(to.lower() + ".")]


def expected_email_overdue(board, source, day, subject, body):
    rows = [
        t for t in rows_in("tasks") if (t["board"], t["list_name"]) == (board, source) and t["due_date"] < day_of(day)
    ]
    return sorted({row["assigned_to_email"] for row in rows})


EXPECTED = {
    "email_delete_recent": ("email_id", expected_delete_recent),
    "calendar_cancel_future": ("event_id", expected_cancel_future),
    "calendar_first_free": ("event_start", lambda who, day, minutes, name: [first_free(day_of(day), minutes)]),
    "calendar_drop_longest": ("event_id", expected_drop_longest),
    "project_overdue": ("task_id", lambda who, day: [task["task_id"] for task in overdue(who)]),
    "project_less_busy": ("new_value", expected_less_busy),
    "customer_take_over": ("customer_id", expected_take_over),
    "customer_stale": ("customer_id", expected_stale),
    "analytics_best_source": ("value_to_plot", expected_best_source),
    "analytics_compare_sources": ("value_to_plot", expected_compare),
    "lead_by_meetings": ("assigned_to_email", expected_lead),
    "email_overdue": ("recipient", expected_email_overdue),
    "overdue_meeting": (
        "event_start", lambda who, name, day: [first_free(day_of(day), 30)] if overdue(who) else []
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_ground_truth_worked_out_in_another_way(name):
    rng, one = random.Random(name), next(one for one in TEMPLATES if one.name == name)
    field, expected = EXPECTED[name]
    drawn = [made for _ in range(120) if (made := _draw(one, company(), rng))]
    assert len(drawn) >= 20
    for made in drawn:
        assert sorted(arguments[field] for _, arguments in made.writes) == sorted(expected(**made.values)), made.query


# --- the package -----------------------------------------------------------------------------------------


def test_the_folder_can_be_copied_and_needs_only_the_standard_library(tmp_path):
    shutil.copytree(
        ROOT / "envs" / "workplace_env", tmp_path / "copied_env", ignore=shutil.ignore_patterns("__pycache__")
    )
    code = (
        "import sys; sys.path.insert(0, '.'); import copied_env as w; row = w.make_rows(1)[0];"
        "assert w.score(w.answer(row), row).reward == 1.0;"
        "print([m for m in sys.modules if m.partition('.')[0] in ('envs', 'helpers', 'pandas', 'torch')])"
    )
    run = subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr


def test_every_tool_is_typed_and_refuses_null():
    env = begun()
    for name in ACTIONS:
        hints = typing.get_type_hints(getattr(WorkplaceEnv, name))
        assert tuple(hints) == (*PARAMETERS[name], "return")
        with suppress(TypeError), pytest.raises(ValueError, match="must be"):
            getattr(env, name)(**dict.fromkeys(PARAMETERS[name]))


# --- what a person sees of it ----------------------------------------------------------------------------


def test_the_changes_are_all_as_wanted_exactly_when_the_state_is():
    """Gold answers, those of other rows, parts of gold answers, and both one after the other."""
    seen = {True: 0, False: 0}
    rows = [row for row in ROWS[:120] if "check" not in json.loads(row["task"])]
    for row, other in zip(rows, rows[1:]):
        gold, theirs = answer(row), answer(other)
        for said in (gold, theirs, gold[: len(gold) // 2], theirs + gold, "", [{"role": "assistant", "content": "x"}]):
            right = all(change.right for change in workplace.changes(said, row))
            assert right == (score(said, row).reward == 1.0), (row["task"], workplace.changes(said, row))
            seen[right] += 1
    assert min(seen.values()) > 50


def test_a_change_names_the_field_and_its_three_values():
    event = next(iter(company()["events"].rows.values()))
    move = ("calendar_update_event", {"event_id": event[0], "field": "duration", "new_value": "45"})
    drop = ("calendar_delete_event", {"event_id": event[0]})
    row = row_of(move)
    (change,) = workplace.changes("", row)
    assert change == ("events", event[0], "duration", event[4], event[4], "45", False)
    (change,) = workplace.changes(calling(move), row)
    assert change.made == change.wanted == "45" and change.right
    (change,) = workplace.changes(calling(drop), row)
    assert change.field == "event_name" and change.made is None and not change.right
    task = {"task_name": "Tea", "assigned_to_email": company().directory[0], "list_name": "Backlog"}
    new = ("project_management_create_task", task | {"due_date": "2024-10-01", "board": "Design"})
    found = workplace.changes(calling(new), row_of(new))
    assert {c.row for c in found} == {"new"} and all(c.before is None and c.right for c in found) and len(found) == 5
    assert [c.right for c in workplace.changes(calling(new, new), row_of(new))].count(False) == 5
