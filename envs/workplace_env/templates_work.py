"""Requests about analytics, project management and customers."""

from datetime import date, timedelta

from .actions import BOARDS, LISTS, PRODUCTS, STATUSES
from .desk import Skip, listed, template

_METRICS = {  # how it is called in a request, and in the tools
    "total visits": "total_visits",
    "average session duration": "session_duration_seconds",
    "engaged users": "user_engaged",
    "direct visits": "visits_direct",
    "visits from referrals": "visits_referral",
    "visits from search engines": "visits_search_engine",
    "visits from social media": "visits_social_media",
}
_COUNTED = {
    "total visits": "analytics_total_visits_count",
    "engaged users": "analytics_engaged_users_count",
    "average session duration": "analytics_get_average_session_duration",
}
_SOURCES = {
    "direct": "visits_direct",
    "referral": "visits_referral",
    "search engine": "visits_search_engine",
    "social media": "visits_social_media",
}
_PLOTS = ("bar", "line", "scatter", "histogram")
_NEW_TASKS = (
    "Check the backups",
    "Clean up old branches",
    "Collect feedback",
    "Prepare the demo",
    "Update the changelog",
    "Write a how-to",
)


# --- analytics -------------------------------------------------------------------------------------------


def _plot(desk, span: tuple[str, str], value: str, plot: str) -> None:
    desk.do("analytics_create_plot", time_min=span[0], time_max=span[1], value_to_plot=value, plot_type=plot)


@template(
    "analytics",
    "easy",
    "Make a {plot} plot of {metric} from {first} to {last}.",
    "Please draw {metric} between {first} and {last} as a {plot} plot.",
    "I need a {plot} chart of {metric} for the time from {first} until {last}.",
)
def analytics_plot(desk):
    span, metric, plot = desk.span(), desk.one(*_METRICS), desk.one(*_PLOTS)
    _plot(desk, span, _METRICS[metric], plot)
    return _spoken(desk, span) | {"metric": metric, "plot": plot}, "The plot is ready."


@template(
    "analytics",
    "easy",
    "Make a {plot} plot of {metric} for the last {n} days, up to yesterday.",
    "Plot {metric} over the past {n} days until yesterday, as a {plot} plot.",
    "Show me {metric} of the {n} days before today in a {plot} chart.",
)
def analytics_plot_recent(desk):
    n, metric, plot = desk.rng.randrange(3, 40), desk.one(*_METRICS), desk.one(*_PLOTS)
    _plot(desk, (desk.days_ago(n), desk.days_ago(1)), _METRICS[metric], plot)
    return {"n": n, "metric": metric, "plot": plot}, "The plot is ready."


@template(
    "analytics",
    "easy",
    "Make {plot} plots of {metric} and of {other} from {first} to {last}.",
    "Two {plot} charts, please: {metric}, and {other}, both between {first} and {last}.",
    "Draw {metric} as well as {other} from {first} until {last}, each in a {plot} plot of its own.",
)
def analytics_plot_two(desk):
    span, plot = desk.span(), desk.one(*_PLOTS)
    metric, other = desk.rng.sample(list(_METRICS), 2)
    _plot(desk, span, _METRICS[metric], plot)
    _plot(desk, span, _METRICS[other], plot)
    return _spoken(desk, span) | {"metric": metric, "other": other, "plot": plot}, "Both plots are ready."


@template(
    "analytics",
    "easy",
    "Plot the distribution of total visits, average session duration and engaged users from {first} to {last} as"
    " histograms.",
    "I need three histograms for {first} to {last}: total visits, average session duration, engaged users.",
    "Histograms of engaged users, of total visits and of average session duration between {first} and {last}, please.",
    held_out=True,
)
def analytics_three_histograms(desk):
    span = desk.span()
    for value in ("total_visits", "session_duration_seconds", "user_engaged"):
        _plot(desk, span, value, "histogram")
    return _spoken(desk, span), "The three histograms are ready."


@template(
    "analytics",
    "medium",
    "Plot {metric} from {first} to {last} in all four plot types.",
    "Give me a bar, a line, a scatter plot and a histogram of {metric} between {first} and {last}.",
    "I can't decide how to show {metric} from {first} until {last}. Make one plot of each of the four types.",
)
def analytics_all_types(desk):
    span, metric = desk.span(), desk.one(*_METRICS)
    for plot in _PLOTS:
        _plot(desk, span, _METRICS[metric], plot)
    return _spoken(desk, span) | {"metric": metric}, "The four plots are ready."


@template(
    "analytics",
    "medium",
    "Make one {plot} plot each of {metrics} from {first} to {last}.",
    "I need {plot} charts of {metrics}, all between {first} and {last}, one for each.",
    "For the time from {first} until {last}, draw a {plot} plot of each of these: {metrics}.",
)
def analytics_several(desk):
    span, plot = desk.span(), desk.one(*_PLOTS)
    metrics = desk.rng.sample(list(_METRICS), desk.rng.randrange(3, 6))
    for metric in metrics:
        _plot(desk, span, _METRICS[metric], plot)
    return _spoken(desk, span) | {"metrics": listed(metrics), "plot": plot}, f"The {len(metrics)} plots are ready."


@template(
    "analytics",
    "medium",
    "If {metric} on {day} was more than {limit}, make a line plot of it from that day to yesterday.",
    "Was {metric} above {limit} on {day}? If so, plot it as a line from then until yesterday.",
    "Check {metric} on {day}. Only if it exceeds {limit}, draw a line plot of it from that day up to yesterday.",
)
def analytics_if_above(desk):
    metric, day = desk.one(*_COUNTED), desk.days_ago(desk.rng.randrange(3, 50))
    count = desk.look(_COUNTED[metric], time_min=day, time_max=day).get(day)
    if count is None:
        raise Skip
    limit = max(0, round(count) + desk.rng.randrange(-4, 4))
    desk.about = day
    values = {"metric": metric, "day": desk.said(day), "limit": limit}
    if count <= limit:
        return values, f"It was not more than {limit}, so there is no plot."
    _plot(desk, (day, desk.days_ago(1)), _METRICS[metric], "line")
    return values, "It was, and the plot is ready."


@template(
    "analytics",
    "medium",
    "If {metric} was higher on {last} than on {first}, make a {plot} plot of it between the two days.",
    "Did {metric} grow from {first} to {last}? If so, plot it over that time as a {plot} plot.",
    "Compare {metric} on {first} and on {last}. If the later day has more, draw a {plot} chart from the first to the"
    " second.",
)
def analytics_if_grew(desk):
    metric, plot, span = desk.one(*_COUNTED), desk.one(*_PLOTS), desk.span(5, 15)
    days = desk.look(_COUNTED[metric], time_min=span[0], time_max=span[1])
    if span[0] not in days or span[1] not in days:
        raise Skip
    desk.about = span[1]
    values = _spoken(desk, span) | {"metric": metric, "plot": plot}
    if days[span[1]] <= days[span[0]]:
        return values, "It did not grow, so there is no plot."
    _plot(desk, span, _METRICS[metric], plot)
    return values, "It grew, and the plot is ready."


@template(
    "analytics",
    "medium",
    "If visitor {visitor} was engaged, make a bar plot of engaged users for the day of their visit.",
    "Look up visitor {visitor}. If they were engaged, plot engaged users of that one day as bars.",
    "Was visitor {visitor} an engaged user? Then draw a bar chart of engaged users, just for the day they came.",
)
def analytics_visitor(desk):
    visitor = desk.rng.choice(desk.tables.visits.rows)[1]
    visit = desk.look("analytics_get_visitor_information_by_id", visitor_id=visitor)[0]
    desk.about = visitor
    if not visit["user_engaged"]:
        return {"visitor": visitor}, "That visitor was not engaged, so there is no plot."
    _plot(desk, (visit["date_of_visit"], visit["date_of_visit"]), "user_engaged", "bar")
    return {"visitor": visitor}, "The plot is ready."


@template(
    "analytics",
    "hard",
    "If we got more visits from {source} than from {other} between {first} and {last}, make bar plots of both over"
    " that time.",
    "Compare visits from {source} and from {other}, {first} to {last}. If {source} brought more, plot both as bars.",
    "Did {source} bring more visits than {other} from {first} until {last}? If yes, draw one bar chart for each of the"
    " two.",
)
def analytics_compare_sources(desk):
    span = desk.span(5, 25)
    source, other = desk.rng.sample(list(_SOURCES), 2)
    totals = [_total(desk, one, span) for one in (source, other)]
    desk.about = span[0][:7]
    values = _spoken(desk, span) | {"source": source, "other": other}
    if totals[0] <= totals[1]:
        return values, f"{source.capitalize()} did not bring more visits, so there are no plots."
    _plot(desk, span, _SOURCES[source], "bar")
    _plot(desk, span, _SOURCES[other], "bar")
    return values, "It did, and both plots are ready."


@template(
    "analytics",
    "hard",
    "Which traffic source brought the most visits between {first} and {last}? Make a line plot of it for that time.",
    "Find the strongest traffic source from {first} to {last} and plot its visits as a line.",
    "Draw a line chart of the visits from whichever source had the most of them, {first} until {last}.",
)
def analytics_best_source(desk):
    span = desk.span(5, 25)
    totals = {source: _total(desk, source, span) for source in _SOURCES}
    best = max(totals, key=totals.get)
    if sorted(totals.values())[-2] == totals[best]:
        raise Skip
    _plot(desk, span, _SOURCES[best], "line")
    return _spoken(desk, span), f"It was {best}; the plot is ready."


@template(
    "analytics",
    "hard",
    "Which day between {first} and {last} had the most {metric}? Make a bar plot of total visits for that day only.",
    "Find the best day for {metric} from {first} to {last}, and plot the total visits of that single day as bars.",
    "Take the day with the highest {metric} between {first} and {last} and draw a bar chart of its total visits.",
    held_out=True,
)
def analytics_best_day(desk):
    span, metric = desk.span(4, 15), desk.one("total visits", "engaged users")
    days = desk.look(_COUNTED[metric], time_min=span[0], time_max=span[1])
    best = max(days, key=days.get)
    if list(days.values()).count(days[best]) > 1:
        raise Skip
    _plot(desk, (best, best), "total_visits", "bar")
    return _spoken(desk, span) | {"metric": metric}, f"It was {best}; the plot is ready."


@template(
    "analytics",
    "medium",
    "If there was a day between {first} and {last} with fewer than {limit} visits in all, make a scatter plot of total"
    " visits over that time.",
    "Did total visits ever drop below {limit} from {first} to {last}? If so, plot them for that time as a scatter"
    " plot.",
    "Check the total visits of each day from {first} until {last}. If any is under {limit}, I need a scatter chart of"
    " them.",
    held_out=True,
)
def analytics_if_low(desk):
    span, limit = desk.span(5, 20), desk.rng.randrange(5, 12)
    days = desk.look("analytics_total_visits_count", time_min=span[0], time_max=span[1])
    if (date.fromisoformat(span[1]) - date.fromisoformat(span[0])).days + 1 != len(days):
        raise Skip  # a day without visits is not listed
    desk.about = span[1][:7]
    values = _spoken(desk, span) | {"limit": limit}
    if min(days.values()) >= limit:
        return values, "That never happened, so there is no plot."
    _plot(desk, span, "total_visits", "scatter")
    return values, "It did, and the plot is ready."


def _total(desk, source: str, span: tuple[str, str]) -> int:
    days = desk.look("analytics_traffic_source_count", time_min=span[0], time_max=span[1], traffic_source=source)
    return sum(days.values())


def _spoken(desk, span: tuple[str, str]) -> dict:
    return {"first": desk.said(span[0]), "last": desk.said(span[1])}


# --- project management ----------------------------------------------------------------------------------


@template(
    "project_management",
    "easy",
    "Add a task called '{name}' to the {board} backlog and assign it to {who}. It is due on {day}.",
    "Create '{name}' for {who} on the {board} board, in the backlog, with the due date {day}.",
    "{who} should do '{name}' until {day}. Please put that task into the backlog of the {board} board.",
)
def project_create(desk):
    who, day = desk.person("tasks"), desk.workday(2, 28)
    name, board = desk.one(*_NEW_TASKS), desk.one(*BOARDS)
    _create(desk, name, desk.address(who), board, day)
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
    task = _one_task(desk)
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
    task, who = _one_task(desk), desk.person("tasks")
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
    task, day = _one_task(desk), desk.workday(25, 45)
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
    task = _one_task(desk)
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
    task, new = _one_task(desk), desk.one(*_NEW_TASKS)
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
    name, board = desk.one(*_NEW_TASKS), desk.one(*BOARDS)
    addresses = [desk.address(who) for who in people]
    for address in addresses:
        _create(desk, name, address, board, day)
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
    name, board = desk.one(*_NEW_TASKS), desk.one(*BOARDS)
    addresses = [desk.address(who) for who in people]
    for address in addresses:
        _create(desk, name, address, board, day)
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
    found = desk.overdue(_all_tasks(desk, who))
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
    people, task = desk.people(2, "tasks"), _one_task(desk)
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


def _create(desk, name: str, address: str, board: str, day: date) -> None:
    desk.do(
        "project_management_create_task",
        task_name=name,
        assigned_to_email=address,
        list_name="Backlog",
        due_date=str(day),
        board=board,
    )


def _one_task(desk) -> dict:
    """Some task, looked up by its name."""
    found = desk.tasks(task_name=desk.row("tasks")["task_name"])
    if len(found) != 1:
        raise Skip
    return found[0]


def _all_tasks(desk, who) -> list[dict]:
    """Everything that somebody has in the three lists of unfinished tasks."""
    address = desk.address(who)
    return [task for one in LISTS[:3] for task in desk.tasks(assigned_to_email=address, list_name=one)]


# --- customers -------------------------------------------------------------------------------------------


def _update(desk, customer: dict, field: str, value: str) -> None:
    desk.do(
        "customer_relationship_manager_update_customer",
        customer_id=customer["customer_id"],
        field=field,
        new_value=value,
    )


def _one_customer(desk) -> dict:
    """Some customer, looked up by name."""
    return desk.customers(customer_name=desk.row("customers")["customer_name"])[0]


@template(
    "customer_relationship_manager",
    "easy",
    "Update the status of {name} to {status} in the crm.",
    "{name} is {status} now. Please change the status in the crm.",
    "Set {name}'s status in the crm to {status}.",
)
def customer_status(desk):
    customer = _one_customer(desk)
    status = desk.one(*(one for one in STATUSES if one != customer["status"]))
    _update(desk, customer, "status", status)
    return {"name": customer["customer_name"], "status": status.lower()}, f"The status is {status} now."


@template(
    "customer_relationship_manager",
    "easy",
    "Add {name} as a new lead in the crm and assign them to {who}.",
    "We have a new lead, {name}. Please create them in the crm for {who}.",
    "Put {name} into the crm: status lead, looked after by {who}.",
)
def customer_add(desk):
    who, name = desk.person("customers"), _new_name(desk)
    desk.do(
        "customer_relationship_manager_add_customer",
        customer_name=name,
        assigned_to_email=desk.address(who),
        status="Lead",
    )
    return {"name": name, "who": who.name}, f"{name} is in the crm."


@template(
    "customer_relationship_manager",
    "easy",
    "Delete {name} from the crm.",
    "{name} is no customer of ours any more. Remove them from the crm.",
    "Please take {name} out of the crm.",
)
def customer_delete(desk):
    customer = _one_customer(desk)
    desk.do("customer_relationship_manager_delete_customer", customer_id=customer["customer_id"])
    return {"name": customer["customer_name"]}, "The customer is deleted."


@template(
    "customer_relationship_manager",
    "easy",
    "Reassign {name} to {who} in the crm.",
    "{who} looks after {name} from now on. Please change that in the crm.",
    "Make {who} responsible for the customer {name}.",
)
def customer_reassign(desk):
    customer, who = _one_customer(desk), desk.person("customers")
    if customer["assigned_to_email"] == who.address:
        raise Skip
    _update(desk, customer, "assigned_to_email", desk.address(who))
    return {"name": customer["customer_name"], "who": who.name}, f"{who.name} looks after them now."


@template(
    "customer_relationship_manager",
    "easy",
    "Set the follow-up date of {name} to {day}.",
    "We should follow up with {name} by {day}. Please change that in the crm.",
    "Change the customer {name}: follow up by {day}.",
)
def customer_follow_up(desk):
    customer, day = _one_customer(desk), desk.workday(3, 60)
    _update(desk, customer, "follow_up_by", str(day))
    return {"name": customer["customer_name"], "day": desk.said(day)}, "The follow-up date is set."


@template(
    "customer_relationship_manager",
    "easy",
    "{name} is interested in {product} now. Update the crm.",
    "Change the product interest of {name} to {product}.",
    "Please note in the crm that the product interest of {name} is {product}.",
)
def customer_product(desk):
    customer = _one_customer(desk)
    product = desk.one(*(one for one in PRODUCTS if one != customer["product_interest"]))
    _update(desk, customer, "product_interest", product)
    return {"name": customer["customer_name"], "product": product.lower()}, "The product interest is changed."


@template(
    "customer_relationship_manager",
    "easy",
    "Add {name} to the crm as {status}, interested in {product}, assigned to {who}.",
    "Create a customer {name} for {who} in the crm with the status {status} and the product interest {product}.",
    "New customer: {name}, status {status}, wants {product}; {who} looks after them. Please add them to the crm.",
    held_out=True,
)
def customer_add_full(desk):
    who, name = desk.person("customers"), _new_name(desk)
    status, product = desk.one(*STATUSES), desk.one(*PRODUCTS)
    desk.do(
        "customer_relationship_manager_add_customer",
        customer_name=name,
        assigned_to_email=desk.address(who),
        status=status,
        product_interest=product,
    )
    values = {"name": name, "who": who.name, "status": status.lower(), "product": product.lower()}
    return values, f"{name} is in the crm."


@template(
    "customer_relationship_manager",
    "medium",
    "{other} takes over all of {who}'s customers that are {status} and interested in {product}. Reassign them in the"
    " crm.",
    "Give every {status} customer of {who} with the product interest {product} to {other}.",
    "In the crm, assign {who}'s customers with status {status} and interest in {product} to {other}.",
)
def customer_take_over(desk):
    who, other = desk.people(2, "customers")
    status, product = desk.one(*STATUSES), desk.one(*PRODUCTS)
    found = desk.customers(assigned_to_email=desk.address(who), status=status, product_interest=product)
    if not 1 <= len(found) <= 5:
        raise Skip
    address = desk.address(other)
    for customer in found:
        _update(desk, customer, "assigned_to_email", address)
    values = {"who": who.name, "other": other.name, "status": status.lower(), "product": product.lower()}
    return values, f"{other.name} has {len(found)} more customers."


@template(
    "customer_relationship_manager",
    "medium",
    "Delete all of {who}'s {status} customers that are interested in {product} from the crm.",
    "We no longer need {who}'s customers with status {status} and interest in {product}. Delete them from the crm.",
    "Clean up the crm: {who}'s customers who want {product} and are {status} can go.",
)
def customer_delete_all(desk):
    who, status, product = desk.person("customers"), desk.one("Lost", "Lead", "Won"), desk.one(*PRODUCTS)
    found = desk.customers(assigned_to_email=desk.address(who), status=status, product_interest=product)
    desk.about = who.name
    if len(found) > 5:
        raise Skip
    for customer in found:
        desk.do("customer_relationship_manager_delete_customer", customer_id=customer["customer_id"])
    return {"who": who.name, "status": status.lower(), "product": product.lower()}, f"I deleted {len(found)} customers."


@template(
    "customer_relationship_manager",
    "medium",
    "Move all {product} customers in the proposal stage that we last contacted on {day} or earlier to lost in the crm.",
    "Proposals for {product} where the last contact was on or before {day} are lost. Update the crm.",
    "Set the status to lost for each customer in the proposal stage with interest in {product} and a last contact date"
    " up to {day}.",
)
def customer_stale(desk):
    product, day = desk.one(*PRODUCTS), desk.days_ago(desk.one(28, 35, 42, 49, 56))
    found = desk.customers(product_interest=product, status="Proposal", last_contact_date_max=day)
    desk.about = product
    if len(found) > 6:
        raise Skip
    for customer in found:
        _update(desk, customer, "status", "Lost")
    return {"product": product.lower(), "day": desk.said(day)}, f"I moved {len(found)} customers to lost."


@template(
    "customer_relationship_manager",
    "medium",
    "Set the status of {names} to {status} in the crm.",
    "{names} are all {status} now. Please update the crm.",
    "Change each of these customers to {status}: {names}.",
)
def customer_status_several(desk):
    status = desk.one(*STATUSES)
    found = [_one_customer(desk) for _ in range(desk.rng.randrange(3, 6))]
    names = [customer["customer_name"] for customer in found]
    if len(set(names)) < len(names) or any(customer["status"] == status for customer in found):
        raise Skip
    for customer in found:
        _update(desk, customer, "status", status)
    return {"names": listed(names), "status": status.lower()}, f"I updated {len(found)} customers."


@template(
    "customer_relationship_manager",
    "medium",
    "If {name} is still {status}, set their follow-up date to {day}.",
    "Check the status of {name} in the crm. If it is {status}, follow up by {day}; otherwise change nothing.",
    "Only if {name} has the status {status}, change their follow-up date to {day}.",
)
def customer_if_status(desk):
    customer, day = _one_customer(desk), desk.workday(3, 60)
    status = customer["status"] if desk.rng.random() < 0.6 else desk.one(*STATUSES)
    desk.about = customer["customer_name"]
    values = {"name": customer["customer_name"], "status": status.lower(), "day": desk.said(day)}
    if customer["status"] != status:
        return values, f"The status is {customer['status']}, so I changed nothing."
    _update(desk, customer, "follow_up_by", str(day))
    return values, "The follow-up date is set."


@template(
    "customer_relationship_manager",
    "hard",
    "Set the follow-up date of all of {who}'s {status} customers whose follow-up date has passed to {day}.",
    "{who} missed some follow-ups: {status} customers of theirs with a follow-up date before today get the new date"
    " {day}.",
    "In the crm, change the follow-up date to {day} for each {status} customer of {who} where it lies before today.",
    held_out=True,
)
def customer_missed(desk):
    who, status, day = desk.person("customers"), desk.one(*STATUSES), desk.workday(2, 20)
    found = desk.customers(
        assigned_to_email=desk.address(who), status=status, follow_up_by_max=str(desk.today - timedelta(1))
    )
    desk.about = who.name
    if len(found) > 6:
        raise Skip
    for customer in found:
        _update(desk, customer, "follow_up_by", str(day))
    return {"who": who.name, "status": status.lower(), "day": desk.said(day)}, f"I set {len(found)} follow-up dates."


@template(
    "customer_relationship_manager",
    "hard",
    "Give {name} to whoever of {who} and {other} has fewer {status} customers. In case of a tie it is {who}.",
    "Count the {status} customers of {who} and of {other}. The one with fewer looks after {name} from now on, {who} if"
    " they have equally many.",
    "{name} needs somebody new: {other} if they have fewer {status} customers than {who}, otherwise {who}."
    " Reassign them in the crm.",
)
def customer_less_busy(desk):
    (who, other), customer, status = desk.people(2, "customers"), _one_customer(desk), desk.one(*STATUSES)
    addresses = [desk.address(who), desk.address(other)]
    counts = [len(desk.customers(assigned_to_email=address, status=status)) for address in addresses]
    to = other if counts[1] < counts[0] else who
    if customer["assigned_to_email"] in (who.address, other.address):
        raise Skip
    _update(desk, customer, "assigned_to_email", to.address)
    values = {"name": customer["customer_name"], "who": who.name, "other": other.name, "status": status.lower()}
    return values, f"{to.name} looks after them now."


@template(
    "customer_relationship_manager",
    "medium",
    "Mark every {product} lead of {who} as qualified, and follow up with each by {day}.",
    "{who}'s leads for {product} are all qualified now. Change the status, and set the follow-up date of each to"
    " {day}.",
    "For each lead of {who} who is interested in {product}: status qualified, follow-up by {day}.",
    held_out=True,
)
def customer_qualify(desk):
    who, product, day = desk.person("customers"), desk.one(*PRODUCTS), desk.workday(3, 40)
    found = desk.customers(assigned_to_email=desk.address(who), status="Lead", product_interest=product)
    if not 1 <= len(found) <= 3:
        raise Skip
    for customer in found:
        _update(desk, customer, "status", "Qualified")
        _update(desk, customer, "follow_up_by", str(day))
    values = {"who": who.name, "product": product.lower(), "day": desk.said(day)}
    return values, f"{len(found)} leads are qualified now."


def _new_name(desk) -> str:
    """Somebody who is no customer yet."""
    first = desk.one("Anouk", "Bram", "Cleo", "Dries", "Elin", "Finn", "Gilda", "Henk", "Isa", "Joris")
    return f"{first} {desk.one('Aalto', 'Bakker', 'Conti', 'Dekker', 'Engel', 'Fontana', 'Grimm', 'Holm')}"
