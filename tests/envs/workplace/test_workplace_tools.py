"""The tools, random sequences of calls, the company."""

import copy
import json
import pickle
import random

import pytest
from workplace_cases import MEETING, ROWS, begun, calling

from envs import workplace_env as workplace
from envs.workplace_env import WorkplaceEnv, company, load_tables, make_rows, score
from envs.workplace_env.actions import ACTIONS, PARAMETERS, WRITES, end_of
from envs.workplace_env.tables import FIELDS
from helpers.measure.contract import check_env


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
