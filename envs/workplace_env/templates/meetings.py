# SPDX-License-Identifier: Apache-2.0
"""Requests about the calendar."""

from datetime import timedelta

from .desk import Skip, template

EVENT_NAMES = (
    "Planning round",
    "Design critique",
    "Customer insights",
    "Catch-up",
    "Project kickoff",
    "Budget review",
    "Open questions",
)


@template(
    "calendar",
    "easy",
    "Rename the {which} event on {day} to {name}.",
    "Please change the name of the {which} meeting on {day} to '{name}'.",
    "The {which} event in my calendar on {day} should be called '{name}'.",
)
def calendar_rename(desk):
    which, day, name = desk.one("first", "last"), desk.workday(1, 28), desk.one(*EVENT_NAMES)
    events = desk.day_events(day)
    event = events[0 if which == "first" else -1]
    desk.do("calendar_update_event", event_id=event["event_id"], field="event_name", new_value=name)
    return {"which": which, "day": desk.said(day), "name": name}, f"It is called {name} now."


@template(
    "calendar",
    "easy",
    "Cancel my next meeting with {who}.",
    "I can't make the next meeting with {who}. Delete it, please.",
    "Remove the upcoming event with {who} from my calendar, only the next one.",
)
def calendar_cancel_next(desk):
    who = desk.person()
    desk.do("calendar_delete_event", event_id=next_event(desk, who)["event_id"])
    return {"who": who.name}, f"I cancelled your next meeting with {who.name}."


@template(
    "calendar",
    "easy",
    "Create a {minutes}-minute event called '{name}' on {day} at {time} with {who}.",
    "Schedule '{name}' with {who} on {day} at {time} for {minutes} minutes.",
    "Please book {who} for '{name}', {minutes} minutes from {time} on {day}.",
)
def calendar_create(desk):
    who, day, time = desk.person(), desk.workday(1, 28), desk.time()
    minutes, name = desk.minutes(), desk.one(*EVENT_NAMES)
    desk.do(
        "calendar_create_event",
        event_name=name,
        participant_email=desk.address(who),
        event_start=f"{day} {time}:00",
        duration=str(minutes),
    )
    values = {"who": who.name, "day": desk.said(day), "time": time, "minutes": minutes, "name": name}
    return values, f"{name} is in your calendar."


@template(
    "calendar",
    "easy",
    "Move my next meeting with {who} to {day} at {time}.",
    "Reschedule the next event with {who}: it should start at {time} on {day}.",
    "{who} asked to shift our next meeting to {day}, {time}. Please do that.",
)
def calendar_move_next(desk):
    who, day, time = desk.person(), desk.workday(2, 28), desk.time()
    event = next_event(desk, who)
    desk.do("calendar_update_event", event_id=event["event_id"], field="event_start", new_value=f"{day} {time}:00")
    return {"who": who.name, "day": desk.said(day), "time": time}, f"I moved the meeting with {who.name}."


@template(
    "calendar",
    "easy",
    "Make my next meeting with {who} {minutes} minutes long.",
    "The next event with {who} should last {minutes} minutes. Can you change that?",
    "Set the duration of the upcoming meeting with {who} to {minutes} minutes.",
)
def calendar_duration(desk):
    who, minutes = desk.person(), desk.one(15, 45, 75, 120)
    event = next_event(desk, who)
    if _later(event["event_start"], minutes)[11:] > "18:00:00":
        raise Skip
    desk.do("calendar_update_event", event_id=event["event_id"], field="duration", new_value=str(minutes))
    return {"who": who.name, "minutes": minutes}, f"The meeting with {who.name} takes {minutes} minutes now."


@template(
    "calendar",
    "easy",
    "{who} can't come to our next meeting. {other} takes over, so change the participant.",
    "Hand my next meeting with {who} over to {other}.",
    "Replace {who} by {other} as the participant of my next meeting with {who}.",
    held_out=True,
)
def calendar_hand_over(desk):
    who, other = desk.people(2)
    event = next_event(desk, who)
    desk.do(
        "calendar_update_event", event_id=event["event_id"], field="participant_email", new_value=desk.address(other)
    )
    return {"who": who.name, "other": other.name}, f"{other.name} is the participant now."


@template(
    "calendar",
    "medium",
    "Cancel all my meetings on {day}.",
    "I am away on {day}. Delete every event on that day.",
    "Clear my calendar on {day}.",
)
def calendar_clear_day(desk):
    day = desk.workday(1, 30)
    for event in desk.day_events(day):
        desk.do("calendar_delete_event", event_id=event["event_id"])
    return {"day": desk.said(day)}, "That day is free now."


@template(
    "calendar",
    "medium",
    "{who} is leaving the company. Cancel all future meetings with them.",
    "Delete every upcoming meeting with {who}.",
    "I won't need to see {who} any more, so remove all our meetings that are still to come.",
)
def calendar_cancel_future(desk):
    who = desk.person()
    events = desk.next_events(who)
    if not 2 <= len(events) <= 6:
        raise Skip
    for event in events:
        desk.do("calendar_delete_event", event_id=event["event_id"])
    return {"who": who.name}, f"I cancelled {len(events)} meetings with {who.name}."


@template(
    "calendar",
    "medium",
    "Book a {minutes}-minute meeting called '{name}' with {who} at the earliest time I'm free on {day}.",
    "Find my first free slot on {day} and schedule '{name}' with {who} there, {minutes} minutes long.",
    "I'd like to meet {who} on {day} as early as my calendar allows: '{name}', {minutes} minutes.",
)
def calendar_first_free(desk):
    who, day, minutes, name = desk.person(), desk.workday(1, 28), desk.minutes(), desk.one(*EVENT_NAMES)
    start = desk.free_slot(day, minutes)
    desk.do(
        "calendar_create_event",
        event_name=name,
        participant_email=desk.address(who),
        event_start=start,
        duration=str(minutes),
    )
    values = {"who": who.name, "day": desk.said(day), "minutes": minutes, "name": name}
    return values, f"{name} with {who.name} starts at {start[11:16]}."


@template(
    "calendar",
    "medium",
    "Schedule '{name}' with {who} on {n} days in a row, starting on {day}: always at {time}, for {minutes} minutes.",
    "From {day} on, book '{name}' with {who} every day for {n} days, {time}, {minutes} minutes each.",
    "I want a series of {n} daily meetings with {who} called '{name}'. The first is on {day}; each starts at {time} and"
    " takes {minutes} minutes.",
)
def calendar_series(desk):
    who, n, time, name = desk.person(), desk.rng.randrange(3, 6), desk.time(), desk.one(*EVENT_NAMES)
    day = desk.today + timedelta(desk.one(5, 12, 19, 26))  # a Monday
    minutes, address = desk.minutes(), desk.address(who)
    for i in range(n):
        desk.do(
            "calendar_create_event",
            event_name=name,
            participant_email=address,
            event_start=f"{day + timedelta(i)} {time}:00",
            duration=str(minutes),
        )
    values = {"who": who.name, "n": n, "day": desk.said(day), "time": time, "minutes": minutes, "name": name}
    return values, f"I booked {n} meetings with {who.name}."


@template(
    "calendar",
    "medium",
    "If I haven't met with {who} in the last {n} days, schedule a 30-minute meeting called '{name}' with them at my"
    " first free slot on {day}.",
    "Check if I had a meeting with {who} during the past {n} days. If not, book '{name}' with them for 30 minutes at"
    " the earliest time I'm free on {day}.",
    "Has it been more than {n} days since I met {who}? Then put a half-hour '{name}' with them into my first free slot"
    " on {day}.",
)
def calendar_if_not_met(desk):
    who, n, name, day = desk.person(), desk.one(5, 7, 10, 14), desk.one(*EVENT_NAMES), desk.workday(1, 10)
    met = desk.events(who.name.lower(), time_min=f"{desk.days_ago(n)} 00:00:00", time_max=desk.now)
    met = [event for event in met if event["participant_email"] == who.address]
    desk.none_on(desk.days_ago(n), met, "event_start")
    desk.about = who.name
    values = {"who": who.name, "n": n, "name": name, "day": desk.said(day)}
    if met:
        return values, f"You met {who.name} in that time, so I booked nothing."
    start = desk.free_slot(day, 30)
    desk.do(
        "calendar_create_event",
        event_name=name,
        participant_email=desk.address(who),
        event_start=start,
        duration="30",
    )
    return values, f"I booked {name} with {who.name} at {start[11:16]}."


@template(
    "calendar",
    "medium",
    "Delay my first meeting on {day} by {minutes} minutes.",
    "The first event on {day} should start {minutes} minutes later.",
    "I'll be late on {day}. Push the first meeting of that day back by {minutes} minutes.",
)
def calendar_delay(desk):
    day, minutes = desk.workday(1, 28), desk.one(15, 30, 45)
    event = desk.day_events(day)[0]
    desk.do(
        "calendar_update_event",
        event_id=event["event_id"],
        field="event_start",
        new_value=_later(event["event_start"], minutes),
    )
    return {"day": desk.said(day), "minutes": minutes}, f"It starts {minutes} minutes later now."


@template(
    "calendar",
    "medium",
    "Cancel everything on {day} that starts at {time} or later.",
    "I leave early on {day}. Delete all events that begin at {time} or after that.",
    "Keep my calendar empty on {day} from {time} on: remove each meeting that starts then or later.",
    held_out=True,
)
def calendar_clear_rest(desk):
    day, time = desk.workday(1, 30), desk.one("13:00", "14:00", "15:00")
    events = [event for event in desk.day_events(day) if event["event_start"][11:16] >= time]
    desk.about = str(day)
    for event in events:
        desk.do("calendar_delete_event", event_id=event["event_id"])
    return {"day": desk.said(day), "time": time}, f"I cancelled {len(events)} meetings."


@template(
    "calendar",
    "hard",
    "If the meetings on {day} take more than {hours} hours together, cancel the longest one, the earliest if several"
    " are as long.",
    "Add up how long my meetings on {day} are. If it is more than {hours} hours, delete the longest of them (the first"
    " one if there is a tie).",
    "More than {hours} hours of meetings on {day}? Then drop the longest, and of several equally long ones the"
    " earliest.",
)
def calendar_drop_longest(desk):
    day, hours = desk.workday(1, 30), desk.one(3, 4, 5)
    events = desk.day_events(day)
    desk.about = str(day)
    values = {"day": desk.said(day), "hours": hours}
    if sum(int(event["duration"]) for event in events) <= 60 * hours:
        return values, "There are not that many hours of meetings, so I changed nothing."
    longest = max(events, key=lambda event: int(event["duration"]))
    desk.do("calendar_delete_event", event_id=longest["event_id"])
    return values, f"I cancelled {longest['event_name']}."


@template(
    "calendar",
    "hard",
    "Shorten every meeting on {day} that is longer than {minutes} minutes to {minutes} minutes.",
    "No meeting on {day} should take more than {minutes} minutes. Change those that do to exactly {minutes}.",
    "On {day}, set the duration of each event that lasts over {minutes} minutes to {minutes} minutes.",
    held_out=True,
)
def calendar_shorten(desk):
    day, minutes = desk.workday(1, 30), desk.one(30, 45, 60)
    events = [event for event in desk.day_events(day) if int(event["duration"]) > minutes]
    desk.about = str(day)
    for event in events:
        desk.do("calendar_update_event", event_id=event["event_id"], field="duration", new_value=str(minutes))
    return {"day": desk.said(day), "minutes": minutes}, f"I shortened {len(events)} meetings."


def next_event(desk, who) -> dict:
    """The next meeting with somebody."""
    events = desk.next_events(who)
    if not events:
        raise Skip
    return events[0]


def _later(start: str, minutes: int) -> str:
    total = int(start[11:13]) * 60 + int(start[14:16]) + minutes
    return f"{start[:10]} {total // 60:02d}:{total % 60:02d}:00"
