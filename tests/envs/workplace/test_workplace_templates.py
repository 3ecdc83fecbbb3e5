"""The templates: golden, split, distinct, and their truth worked out in another way."""

import json
import random
import re
import shutil
import subprocess
import sys
import typing
from contextlib import suppress
from datetime import date, datetime, timedelta

import pytest
from workplace_cases import ROWS, begun, calling, row_of

from envs import workplace_env as workplace
from envs.workplace_env import WorkplaceEnv, answer, company, make_rows, score
from envs.workplace_env.actions import ACTIONS, PARAMETERS
from envs.workplace_env.rows import _draw, split_of
from envs.workplace_env.tables import FIELDS
from envs.workplace_env.templates import CATEGORIES, DIFFICULTIES, TEMPLATES
from helpers.here import ROOT


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
