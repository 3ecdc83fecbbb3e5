"""What a model may write, and what the verifiers say of it."""

import json

import pytest
from workplace_cases import MEETING, ROWS, calling, row_of

from envs import workplace_env as workplace
from envs.workplace_env import WorkplaceEnv, answer, company, parse, score

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
