# SPDX-License-Identifier: Apache-2.0
"""Requests about tasks and boards."""

from datetime import date

from ..actions import BOARDS, LISTS
from .desk import Skip, listed, template

NEW_TASKS = (
    "Check the backups",
    "Clean up old branches",
    "Collect feedback",
    "Prepare the demo",
    "Update the changelog",
    "Write a how-to",
)


@template(
    "project_management",
    "easy",
    "Add a task called '{name}' to the {board} backlog and assign it to {who}. It is due on {day}.",
    "Create '{name}' for {who} on the {board} board, in the backlog, with the due date {day}.",
    "{who} should do '{name}' until {day}. Please put that task into the backlog of the {board} board.",
)
def project_create(desk):
    who, day = desk.person("tasks"), desk.workday(2, 28)
    name, board = desk.one(*NEW_TASKS), desk.one(*BOARDS)
    create_task(desk, name, desk.address(who), board, day)
    values = {"who": who.name, "day": desk.said(day), "name": name, "board": board}
    return values, f"{who.name} has a new task."


@template(
    "project_management",
    "easy",
    "Move the task '{name}' to {to}.",
    "'{name}' belongs in the list {to} now. Please update it.",
    "Put the task called '{name}' into {to}.",
)
def project_move(desk):
    task = one_task(desk)
    to = desk.one(*(one for one in LISTS if one != task["list_name"]))
    desk.do("project_management_update_task", task_id=task["task_id"], field="list_name", new_value=to)
    return {"name": task["task_name"], "to": to}, f"It is in {to} now."


@template(
    "project_management",
    "easy",
    "Reassign the task '{name}' to {who}.",
    "{who} takes over '{name}'. Please change the assignee.",
    "Give '{name}' to {who}.",
)
def project_reassign(desk):
    task, who = one_task(desk), desk.person("tasks")
    if task["assigned_to_email"] == who.address:
        raise Skip
    desk.do(
        "project_management_update_task",
        task_id=task["task_id"],
        field="assigned_to_email",
        new_value=desk.address(who),
    )
    return {"name": task["task_name"], "who": who.name}, f"{who.name} has it now."


@template(
    "project_management",
    "easy",
    "Change the due date of '{name}' to {day}.",
    "The task '{name}' should be due on {day}.",
    "Please give '{name}' the new deadline {day}.",
)
def project_due(desk):
    task, day = one_task(desk), desk.workday(25, 45)
    desk.do("project_management_update_task", task_id=task["task_id"], field="due_date", new_value=str(day))
    return {"name": task["task_name"], "day": desk.said(day)}, "The due date is changed."


@template(
    "project_management",
    "easy",
    "Delete the task '{name}'.",
    "We don't need '{name}' any more. Remove the task.",
    "The task called '{name}' can be deleted.",
)
def project_delete(desk):
    task = one_task(desk)
    desk.do("project_management_delete_task", task_id=task["task_id"])
    return {"name": task["task_name"]}, "The task is deleted."


@template(
    "project_management",
    "easy",
    "Rename the task '{name}' to '{new}'.",
    "The task '{name}' should be called '{new}' from now on.",
    "Change the name of '{name}' to '{new}'.",
    held_out=True,
)
def project_rename(desk):
    task, new = one_task(desk), desk.one(*NEW_TASKS)
    desk.do("project_management_update_task", task_id=task["task_id"], field="task_name", new_value=new)
    return {"name": task["task_name"], "new": new}, f"It is called {new} now."


@template(
    "project_management",
    "easy",
    "{who} and {other} should each get a task called '{name}' in the {board} backlog, due on {day}.",
    "Create '{name}' twice on the {board} board, in the backlog: once for {who}, once for {other}, both due on {day}.",
    "Add the task '{name}' to the {board} backlog for {who}, and the same for {other}. The due date is {day}.",
    held_out=True,
)
def project_create_two(desk):
    people, day = desk.people(2, "tasks"), desk.workday(2, 28)
    name, board = desk.one(*NEW_TASKS), desk.one(*BOARDS)
    addresses = [desk.address(who) for who in people]
    for address in addresses:
        create_task(desk, name, address, board, day)
    values = {"who": people[0].name, "other": people[1].name, "name": name, "board": board, "day": desk.said(day)}
    return values, "Both have a new task."


@template(
    "project_management",
    "medium",
    "{who} should each get a task called '{name}' in the {board} backlog, due on {day}.",
    "Create '{name}' on the {board} board, in the backlog and due on {day}, once for each of {who}.",
    "Add a {board} backlog task '{name}' with the due date {day} for every one of {who}.",
)
def project_create_several(desk):
    people, day = desk.people(desk.rng.randrange(3, 6), "tasks"), desk.workday(2, 28)
    name, board = desk.one(*NEW_TASKS), desk.one(*BOARDS)
    addresses = [desk.address(who) for who in people]
    for address in addresses:
        create_task(desk, name, address, board, day)
    values = {"who": listed([who.name for who in people]), "name": name, "board": board, "day": desk.said(day)}
    return values, f"I created {len(people)} tasks."


@template(
    "project_management",
    "medium",
    "Move all of {who}'s tasks that are in {source} to {to}.",
    "Everything {who} has in {source} should go to {to}.",
    "Take each task of {who} in the list {source} and put it into {to}.",
)
def project_move_all(desk):
    who = desk.person("tasks")
    source, to = desk.rng.sample(LISTS[:3], 2) if desk.rng.random() < 0.6 else ("In Review", "Completed")
    found = desk.tasks(assigned_to_email=desk.address(who), list_name=source)
    if not 1 <= len(found) <= 6:
        raise Skip
    for task in found:
        desk.do("project_management_update_task", task_id=task["task_id"], field="list_name", new_value=to)
    return {"who": who.name, "source": source, "to": to}, f"I moved {len(found)} tasks."


@template(
    "project_management",
    "medium",
    "{other} takes over all of {who}'s {board} tasks that are in {source}. Please reassign them.",
    "Reassign everything that {who} has in {source} on the {board} board to {other}.",
    "Give {who}'s tasks on the {board} board that are in the list {source} to {other}.",
)
def project_take_over(desk):
    who, other = desk.people(2, "tasks")
    board, source = desk.one(*BOARDS), desk.one(*LISTS[:3])
    found = desk.tasks(assigned_to_email=desk.address(who), list_name=source, board=board)
    if not 1 <= len(found) <= 6:
        raise Skip
    address = desk.address(other)
    for task in found:
        desk.do("project_management_update_task", task_id=task["task_id"], field="assigned_to_email", new_value=address)
    values = {"who": who.name, "other": other.name, "board": board, "source": source}
    return values, f"{other.name} has {len(found)} more tasks."


@template(
    "project_management",
    "medium",
    "Set the due date of all of {who}'s overdue tasks to {day}. Overdue means due before today and not completed.",
    "{who} gets more time: every task of theirs that was due before today and isn't completed is due on {day} now.",
    "Find {who}'s unfinished tasks with a due date before today and make them due on {day}.",
)
def project_overdue(desk):
    who, day = desk.person("tasks"), desk.workday(2, 20)
    found = desk.overdue(all_tasks(desk, who))
    desk.about = who.name
    for task in found:
        desk.do("project_management_update_task", task_id=task["task_id"], field="due_date", new_value=str(day))
    return {"who": who.name, "day": desk.said(day)}, f"I gave {who.name} more time for {len(found)} tasks."


@template(
    "project_management",
    "medium",
    "Delete all completed tasks of {who} on the {board} board that were due before {day}.",
    "Tidy up the {board} board: whatever {who} has completed and was due before {day} can be deleted.",
    "Remove every task of {who} from the {board} board that is in the list Completed with a due date before {day}.",
    held_out=True,
)
def project_delete_done(desk):
    who, board, day = desk.person("tasks"), desk.one(*BOARDS), desk.workday(-8, 10)
    found = desk.tasks(assigned_to_email=desk.address(who), list_name="Completed", board=board)
    found = [task for task in found if task["due_date"] < str(day)]
    desk.about = who.name
    for task in found:
        desk.do("project_management_delete_task", task_id=task["task_id"])
    return {"who": who.name, "board": board, "day": desk.said(day)}, f"I deleted {len(found)} tasks."


@template(
    "project_management",
    "medium",
    "If {who} has nothing in progress on the {board} board, move their {board} backlog task with the earliest due date"
    " to In Progress.",
    "Check {who}'s {board} tasks. If none of them is in progress, start the one from the backlog that is due first.",
    "Does {who} work on anything on the {board} board? If nothing is in the list In Progress, move the backlog"
    " task that is due first there.",
)
def project_start_next(desk):
    who, board = desk.person("tasks"), desk.one(*BOARDS)
    found = desk.tasks(assigned_to_email=desk.address(who), board=board)
    desk.about = who.name
    values = {"who": who.name, "board": board}
    if any(task["list_name"] == "In Progress" for task in found):
        return values, f"{who.name} has something in progress there, so I changed nothing."
    waiting = sorted((t for t in found if t["list_name"] == "Backlog"), key=lambda task: task["due_date"])
    if not waiting or (len(waiting) > 1 and waiting[0]["due_date"] == waiting[1]["due_date"]):
        raise Skip
    desk.do(
        "project_management_update_task",
        task_id=waiting[0]["task_id"],
        field="list_name",
        new_value="In Progress",
    )
    return values, f"{who.name} starts with {waiting[0]['task_name']}."


@template(
    "project_management",
    "hard",
    "Give the task '{name}' to {who} or to {other}, whoever has fewer tasks in progress. If they have equally"
    " many, leave it as it is.",
    "Who has fewer tasks in the list In Progress, {who} or {other}? That one gets '{name}'. Change nothing if it is a"
    " tie.",
    "Count the tasks in progress of {who} and of {other} and reassign '{name}' to the one with fewer. Do nothing"
    " in case of a tie.",
)
def project_less_busy(desk):
    people, task = desk.people(2, "tasks"), one_task(desk)
    if task["assigned_to_email"] in [who.address for who in people]:
        raise Skip
    addresses = [desk.address(who) for who in people]
    counts = [len(desk.tasks(assigned_to_email=address, list_name="In Progress")) for address in addresses]
    desk.about = people[0].name
    values = {"name": task["task_name"], "who": people[0].name, "other": people[1].name}
    if counts[0] == counts[1]:
        return values, "They have equally many, so I changed nothing."
    best = 0 if counts[0] < counts[1] else 1
    desk.do(
        "project_management_update_task",
        task_id=task["task_id"],
        field="assigned_to_email",
        new_value=addresses[best],
    )
    return values, f"{people[best].name} has it now."


@template(
    "project_management",
    "hard",
    "Move every task on the {board} board that is in {source} and was due on {day} or before that to {to}.",
    "Whatever is still in {source} on the {board} board with a due date up to {day} goes to {to}.",
    "Look at the {board} board: tasks in the list {source} that are due on {day} or earlier should be in {to}.",
    held_out=True,
)
def project_overdue_board(desk):
    board, day = desk.one(*BOARDS), desk.workday(-12, 0)
    source, to = desk.rng.sample(LISTS[:3], 2)
    found = [task for task in desk.tasks(list_name=source, board=board) if task["due_date"] <= str(day)]
    desk.about = board
    if len(found) > 6:
        raise Skip
    for task in found:
        desk.do("project_management_update_task", task_id=task["task_id"], field="list_name", new_value=to)
    return {"board": board, "day": desk.said(day), "source": source, "to": to}, f"I moved {len(found)} tasks."


def create_task(desk, name: str, address: str, board: str, day: date) -> None:
    """Put a new task into the backlog of a board."""
    desk.do(
        "project_management_create_task",
        task_name=name,
        assigned_to_email=address,
        list_name="Backlog",
        due_date=str(day),
        board=board,
    )


def one_task(desk) -> dict:
    """Some task, looked up by its name."""
    found = desk.tasks(task_name=desk.row("tasks")["task_name"])
    if len(found) != 1:
        raise Skip
    return found[0]


def all_tasks(desk, who) -> list[dict]:
    """Everything that somebody has in the three lists of unfinished tasks."""
    address = desk.address(who)
    return [task for one in LISTS[:3] for task in desk.tasks(assigned_to_email=address, list_name=one)]
