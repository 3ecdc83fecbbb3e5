# SPDX-License-Identifier: Apache-2.0
"""Requests that take more than one tool box: look in one place, act in another."""

from datetime import timedelta

from ..actions import BOARDS, LISTS
from .analytics import plot_range
from .customers import new_name, one_customer, update_customer
from .desk import Skip, listed, template
from .emails import NOTES, recent
from .meetings import EVENT_NAMES, next_event
from .projects import NEW_TASKS, all_tasks, create_task, one_task


def _send(desk, address: str, subject: str, body: str) -> None:
    desk.do("email_send_email", recipient=address, subject=subject, body=body)


def _book(desk, address: str, name: str, start: str, minutes: int = 30) -> None:
    desk.do(
        "calendar_create_event",
        event_name=name,
        participant_email=address,
        event_start=start,
        duration=str(minutes),
    )


@template(
    "multi_domain",
    "hard",
    "If {who} has any overdue tasks, book a half-hour meeting called '{name}' with them at the earliest time I'm free"
    " on {day}. Overdue means due before today and not completed.",
    "Check whether {who} has unfinished tasks that were due before today. If so, schedule '{name}' with them for 30"
    " minutes in my first free slot on {day}.",
    "Only if some task of {who} is overdue (due before today, not completed), put a 30-minute '{name}' with them into"
    " my first free slot on {day}.",
)
def overdue_meeting(desk):
    who, name, day = desk.person("tasks"), desk.one(*EVENT_NAMES), desk.workday(1, 20)
    found = desk.overdue(all_tasks(desk, who))
    desk.about = who.name
    values = {"who": who.name, "name": name, "day": desk.said(day)}
    if not found:
        return values, f"{who.name} has no overdue tasks, so I booked nothing."
    _book(desk, who.address, name, desk.free_slot(day, 30))
    return values, f"I booked {name} with {who.name}."


@template(
    "multi_domain",
    "medium",
    "Email the participant of the {which} event on {day} with the event name as the title and the text '{body}'",
    "Who is in my {which} meeting on {day}? Send them an email saying '{body}', titled like the event.",
    "The participant of the {which} event on {day} should get an email from me: the name of the event as the title, and"
    " '{body}' as the text.",
)
def remind_participant(desk):
    which, day = desk.one("first", "last"), desk.workday(1, 28)
    body = desk.one("Remember our meeting.", "Please bring your notes.", "I may be five minutes late.")
    event = desk.day_events(day)[0 if which == "first" else -1]
    _send(desk, event["participant_email"], event["event_name"], body)
    return {"which": which, "day": desk.said(day), "body": body}, "I sent the email."


@template(
    "multi_domain",
    "hard",
    "If {who} hasn't emailed me in the last {n} days, schedule a 30-minute meeting called '{name}' with them at my"
    " first free slot on {day}.",
    "Did I get an email from {who} during the past {n} days? If not, book '{name}' with them, half an hour at the"
    " earliest time I'm free on {day}.",
    "When {who} has been silent for {n} days by email, put a half-hour '{name}' with them into my first free slot on"
    " {day}.",
)
def silent_meeting(desk):
    who, n, name, day = desk.person(), desk.one(3, 5, 7), desk.one(*EVENT_NAMES), desk.workday(1, 20)
    found = recent(desk, who, n)
    desk.about = who.name
    values = {"who": who.name, "n": n, "name": name, "day": desk.said(day)}
    if found:
        return values, f"{who.name} wrote to you, so I booked nothing."
    address = desk.address(who)
    _book(desk, address, name, desk.free_slot(day, 30))
    return values, f"I booked {name} with {who.name}."


@template(
    "multi_domain",
    "medium",
    "If I have no meeting with {who} in the next {n} days, send them an email titled '{subject}' saying '{body}'",
    "Do I meet {who} within the next {n} days? If not, email them: title '{subject}', text '{body}'",
    "Look for a meeting with {who} in the coming {n} days. Only if there is none, send them an email with the title"
    " '{subject}' and the text '{body}'",
)
def no_meeting_email(desk):
    who, n, (subject, body) = desk.person(), desk.one(3, 5, 7, 10), desk.one(*NOTES)
    until = desk.today + timedelta(n)
    events = desk.events(who.name.lower(), time_min=desk.now, time_max=f"{until} 23:59:59")
    desk.none_on(until, events, "event_start")
    desk.about = who.name
    values = {"who": who.name, "n": n, "subject": subject, "body": body}
    if [event for event in events if event["participant_email"] == who.address]:
        return values, f"You meet {who.name} soon, so I sent nothing."
    _send(desk, desk.address(who), subject, body)
    return values, f"There is no meeting, so I wrote to {who.name}."


@template(
    "multi_domain",
    "hard",
    "If {metric} was below {limit} on {day}, make a {board} backlog task called 'Improve {metric}' for {who}, due on"
    " {due}, and email them: title '{metric}', text 'Please have a look.'",
    "Check {metric} on {day}. If it is less than {limit}, create 'Improve {metric}' in the {board} backlog for"
    " {who} with the due date {due} and send {who} an email titled '{metric}' saying 'Please have a look.'",
    "Was {metric} under {limit} on {day}? Then {who} gets a task 'Improve {metric}' on the {board} board (backlog,"
    " due on {due}) and an email with the title '{metric}' and the text 'Please have a look.'",
)
def low_metric_task(desk):
    metric, day, due = desk.one("total visits", "engaged users"), desk.days_ago(desk.one(2, 3, 5, 9)), desk.workday(3)
    tool = "analytics_total_visits_count" if metric == "total visits" else "analytics_engaged_users_count"
    who, board = desk.person("tasks"), desk.one(*BOARDS)
    count = desk.look(tool, time_min=day, time_max=day).get(day)
    if count is None:
        raise Skip
    limit = max(1, count + desk.one(-2, 0, 1, 2, 3))
    desk.about = day
    values = {"metric": metric, "limit": limit, "day": desk.said(day), "board": board, "who": who.name}
    values["due"] = desk.said(due)
    if count >= limit:
        return values, "It was not below that, so I did nothing."
    address = desk.address(who)
    create_task(desk, f"Improve {metric}", address, board, due)
    _send(desk, address, metric, "Please have a look.")
    return values, f"It was, so {who.name} has a task and an email."


@template(
    "multi_domain",
    "medium",
    "Email the person who looks after the customer {name} with the title '{subject}' saying '{body}'",
    "Whoever is responsible for {name} in the crm should get an email titled '{subject}' with the text '{body}'",
    "Find out who {name} is assigned to and write to them: '{subject}' as the title, '{body}' as the text.",
)
def email_owner(desk):
    customer, (subject, body) = one_customer(desk), desk.one(*NOTES)
    _send(desk, customer["assigned_to_email"], subject, body)
    return {"name": customer["customer_name"], "subject": subject, "body": body}, "I sent the email."


@template(
    "multi_domain",
    "medium",
    "Cancel my next meeting with {who} and email them: title '{subject}', text '{body}'",
    "I can't make my next meeting with {who}. Delete it, and send them an email titled '{subject}' saying '{body}'",
    "Remove the upcoming meeting with {who} from my calendar and write to them with the title '{subject}' and the text"
    " '{body}'",
)
def cancel_and_tell(desk):
    who = desk.person()
    subject, body = desk.one(
        ("Meeting cancelled", "Sorry, I can't make it."), ("No meeting", "Let us find another time soon.")
    )
    event = next_event(desk, who)
    desk.do("calendar_delete_event", event_id=event["event_id"])
    _send(desk, who.address, subject, body)
    return {"who": who.name, "subject": subject, "body": body}, f"It is cancelled, and {who.name} knows."


@template(
    "multi_domain",
    "hard",
    "Everyone with a task on the {board} board that is in {source} and was due before {day} should get one email from"
    " me: title '{subject}', text '{body}'",
    "Find the {board} tasks in the list {source} that were due before {day} and email each of the people who have them,"
    " once each: '{subject}' as the title, '{body}' as the text.",
    "Send an email titled '{subject}' saying '{body}' to each person who has a {board} task in {source} with a due date"
    " before {day}. One email a person.",
)
def email_overdue(desk):
    board, source, day = desk.one(*BOARDS), desk.one(*LISTS[:3]), desk.workday(-10, 0)
    subject, body = desk.one(("Overdue tasks", "Please update your tasks."), ("Deadlines", "Do you need more time?"))
    found = [task for task in desk.tasks(board=board, list_name=source) if task["due_date"] < str(day)]
    desk.about = board
    people = dict.fromkeys(task["assigned_to_email"] for task in found)
    if len(people) > 5:
        raise Skip
    for address in people:
        _send(desk, address, subject, body)
    values = {"board": board, "source": source, "day": desk.said(day), "subject": subject, "body": body}
    return values, f"I wrote to {len(people)} people."


@template(
    "multi_domain",
    "hard",
    "If {who} has any overdue tasks, send them an email titled 'Overdue tasks' saying 'Let us talk about your"
    " deadlines.' Otherwise email them '{praise}' titled 'Thank you'. Overdue means due before today and"
    " not completed.",
    "Does {who} have unfinished tasks that were due before today? If so, write them 'Let us talk about your deadlines.'"
    " with the title 'Overdue tasks'. If not, write '{praise}' with the title 'Thank you'.",
    "Email {who}. If a task of theirs is overdue, that is due before today and not completed, the title is 'Overdue"
    " tasks' and the text 'Let us talk about your deadlines.' Else the title is 'Thank you' and the text '{praise}'",
)
def praise_or_blame(desk):
    who, praise = desk.person("tasks"), desk.one("Great work, keep it up!", "Well done.", "You are doing very well.")
    found = desk.overdue(all_tasks(desk, who))
    if found:
        _send(desk, who.address, "Overdue tasks", "Let us talk about your deadlines.")
    else:
        _send(desk, who.address, "Thank you", praise)
    return {"who": who.name, "praise": praise}, f"I wrote to {who.name}."


@template(
    "multi_domain",
    "hard",
    "Add {name} as a new lead in the crm and assign them to {who} or {other}, whoever has fewer meetings with me"
    " from now until {day}. {who} gets them in case of a tie.",
    "We have a new lead, {name}. Count my meetings with {who} and with {other} from now to {day}; the one with fewer"
    " looks after the lead, {who} if they are equal. Please create the lead in the crm.",
    "Create the lead {name} in the crm for {other} if I have fewer meetings with {other} than with {who} from now until"
    " {day}, otherwise for {who}.",
)
def lead_by_meetings(desk):
    (who, other), name, day = desk.people(2, "customers"), new_name(desk), desk.workday(5, 25)
    counts = []
    for one in (who, other):
        events = desk.events(one.name.lower(), time_min=desk.now, time_max=f"{day} 23:59:59")
        desk.none_on(day, events, "event_start")
        counts.append(len([event for event in events if event["participant_email"] == one.address]))
    to = other if counts[1] < counts[0] else who
    desk.do(
        "customer_relationship_manager_add_customer",
        customer_name=name,
        assigned_to_email=desk.address(to),
        status="Lead",
    )
    return {"name": name, "who": who.name, "other": other.name, "day": desk.said(day)}, f"{to.name} has the lead."


@template(
    "multi_domain",
    "medium",
    "Move the task '{name}' to In Review and email the person who has it: title 'In review', text 'I have moved"
    " your task to review.'",
    "Put '{name}' into the list In Review, then tell whoever it is assigned to by email, titled 'In review', saying 'I"
    " have moved your task to review.'",
    "The task '{name}' goes to In Review. Its assignee should get an email with the title 'In review' and the text 'I"
    " have moved your task to review.'",
)
def review_and_tell(desk):
    task = one_task(desk)
    if task["list_name"] == "In Review":
        raise Skip
    desk.do("project_management_update_task", task_id=task["task_id"], field="list_name", new_value="In Review")
    _send(desk, task["assigned_to_email"], "In review", "I have moved your task to review.")
    return {"name": task["task_name"]}, "The task is in review, and the assignee knows."


@template(
    "multi_domain",
    "hard",
    "{name} has signed! Set their status to won in the crm, book a {minutes}-minute meeting 'Kickoff {name}' with the"
    " person who looks after them on {day} at {time}, and email that person: title 'Kickoff', text 'See you there.'",
    "The customer {name} is won. Change the crm, schedule 'Kickoff {name}' with whoever they are assigned to on"
    " {day} at {time} for {minutes} minutes, and send that colleague an email titled 'Kickoff' saying 'See you there.'",
    "Update {name} to won in the crm. Then put 'Kickoff {name}' with the colleague in charge into my calendar, {day} at"
    " {time}, {minutes} minutes, and email this colleague 'See you there.' with the title 'Kickoff'.",
    held_out=True,
)
def kickoff(desk):
    customer, day, time, minutes = one_customer(desk), desk.workday(2, 28), desk.time(), desk.minutes()
    if customer["status"] == "Won":
        raise Skip
    name, address = customer["customer_name"], customer["assigned_to_email"]
    update_customer(desk, customer, "status", "Won")
    _book(desk, address, f"Kickoff {name}", f"{day} {time}:00", minutes)
    _send(desk, address, "Kickoff", "See you there.")
    return {"name": name, "day": desk.said(day), "time": time, "minutes": minutes}, "All three things are done."


@template(
    "multi_domain",
    "hard",
    "If total visits were lower on {last} than on {first}, make a line plot of total visits between the two days"
    " and email {who}: title 'Fewer visits', text 'Please look at the plot.'",
    "Did total visits fall from {first} to {last}? If so, plot them as a line over that time and send {who} an email"
    " titled 'Fewer visits' saying 'Please look at the plot.'",
    "Compare total visits on {first} and {last}. If the later day has fewer, I need a line chart of them from the first"
    " to the second, and {who} needs an email: 'Fewer visits', 'Please look at the plot.'",
    held_out=True,
)
def fewer_visits(desk):
    who, span = desk.person(), desk.span(5, 12)
    days = desk.look("analytics_total_visits_count", time_min=span[0], time_max=span[1])
    if span[0] not in days or span[1] not in days:
        raise Skip
    desk.about = span[1]
    values = {"first": desk.said(span[0]), "last": desk.said(span[1]), "who": who.name}
    if days[span[1]] >= days[span[0]]:
        return values, "They did not fall, so I did nothing."
    address = desk.address(who)
    plot_range(desk, span, "total_visits", "line")
    _send(desk, address, "Fewer visits", "Please look at the plot.")
    return values, f"They did; the plot is ready and {who.name} knows."


@template(
    "multi_domain",
    "hard",
    "{who} goes on leave. Give all their {board} tasks in progress to {other}, and cancel my next meeting with {who}.",
    "{other} stands in for {who}: reassign what {who} has in the list In Progress on the {board} board to {other}, and"
    " delete my next meeting with {who}.",
    "Because {who} is away, move the assignment of their {board} tasks that are in progress to {other} and remove"
    " my next event with {who}.",
    held_out=True,
)
def stand_in(desk):
    who, other = desk.people(2, "tasks")
    board = desk.one(*BOARDS)
    found = desk.tasks(assigned_to_email=desk.address(who), list_name="In Progress", board=board)
    event, address = next_event(desk, who), desk.address(other)
    if not 1 <= len(found) <= 4:
        raise Skip
    for task in found:
        desk.do("project_management_update_task", task_id=task["task_id"], field="assigned_to_email", new_value=address)
    desk.do("calendar_delete_event", event_id=event["event_id"])
    return {"who": who.name, "other": other.name, "board": board}, f"{other.name} stands in for {who.name}."


@template(
    "multi_domain",
    "medium",
    "Forward {who}'s last email to {other} and schedule '{name}' with {other} on {day} at {time} for 30 minutes.",
    "{other} should read the latest email from {who}. Forward it, and book a half-hour '{name}' with {other} at"
    " {time} on {day}.",
    "Pass the newest email I got from {who} on to {other}, then put '{name}' with {other} into my calendar: {day},"
    " {time}, 30 minutes.",
    held_out=True,
)
def forward_and_meet(desk):
    (who, other), day, time, name = desk.people(2), desk.workday(1, 28), desk.time(), desk.one(*EVENT_NAMES)
    email, address = desk.last_email(who), desk.address(other)
    desk.do("email_forward_email", email_id=email["email_id"], recipient=address)
    _book(desk, address, name, f"{day} {time}:00")
    values = {"who": who.name, "other": other.name, "day": desk.said(day), "time": time, "name": name}
    return values, f"{other.name} has the email and the meeting."


@template(
    "multi_domain",
    "medium",
    "Create the task '{name}' in the {board} backlog for {who}, due on {day}, and email them: title 'New task', text"
    " '{name}'",
    "{who} should do '{name}'. Add it to the backlog of the {board} board with the due date {day}, and send {who} an"
    " email titled 'New task' saying '{name}'",
    "Put '{name}' on the {board} board for {who}, in the backlog, due on {day}. Then write to {who}: 'New task' as the"
    " title, '{name}' as the text.",
)
def task_and_tell(desk):
    who, day = desk.person("tasks"), desk.workday(2, 28)
    name, board = desk.one(*NEW_TASKS), desk.one(*BOARDS)
    address = desk.address(who)
    create_task(desk, name, address, board, day)
    _send(desk, address, "New task", name)
    return {"who": who.name, "day": desk.said(day), "name": name, "board": board}, f"{who.name} knows of the new task."


@template(
    "multi_domain",
    "hard",
    "Email the people who look after the customers {names}, one email for each customer: the customer's name as"
    " the title and '{body}' as the text.",
    "For each of {names}, find out who the customer is assigned to and send that colleague an email saying"
    " '{body}' with the name of the customer as the title.",
    "Whoever is responsible for {names} in the crm should get an email about each of these customers: titled like the"
    " customer, text '{body}'",
    held_out=True,
)
def email_owners(desk):
    body = desk.one("How is it going?", "Please call them this week.", "Any news?")
    found = [one_customer(desk) for _ in range(desk.rng.randrange(3, 6))]
    names = [customer["customer_name"] for customer in found]
    if len(set(names)) < len(names):
        raise Skip
    for customer in found:
        _send(desk, customer["assigned_to_email"], customer["customer_name"], body)
    return {"names": listed(names), "body": body}, f"I sent {len(found)} emails."
