"""Requests about e-mail and the calendar."""

from datetime import timedelta

from .desk import Skip, listed, template

_REPLIES = (
    "Thank you, that helps a lot.",
    "Got it, I will come back to you tomorrow.",
    "Thanks, let us talk about it in person.",
    "Noted. Please keep me posted.",
    "Sounds good, go ahead.",
)
_NOTES = (
    ("Quick question", "Do you have ten minutes for me this week?"),
    ("Numbers for the board", "Please send me your numbers before noon."),
    ("Lunch", "Shall we have lunch together soon?"),
    ("Room change", "We meet in the small room from now on."),
    ("Well done", "Great work on the launch, thank you!"),
    ("Reminder", "Please fill in your time sheet."),
)
_EVENT_NAMES = (
    "Planning round",
    "Design critique",
    "Customer insights",
    "Catch-up",
    "Project kickoff",
    "Budget review",
    "Open questions",
)


# --- email -----------------------------------------------------------------------------------------------


@template(
    "email",
    "easy",
    "Delete my last email from {who}.",
    "Please get rid of the most recent message {who} sent me.",
    "The latest email from {who} can go, delete it.",
)
def email_delete_last(desk):
    who = desk.person()
    email = desk.last_email(who)
    desk.do("email_delete_email", email_id=email["email_id"])
    return {"who": who.name}, f"I deleted {who.name}'s last email."


@template(
    "email",
    "easy",
    "Reply to the latest email from {who} with '{body}'",
    "Answer {who}'s last email: '{body}'",
    "Can you reply '{body}' to the most recent email I got from {who}?",
)
def email_reply_last(desk):
    who, body = desk.person(), desk.one(*_REPLIES)
    email = desk.last_email(who)
    desk.do("email_reply_email", email_id=email["email_id"], body=body)
    return {"who": who.name, "body": body}, f"I replied to {who.name}."


@template(
    "email",
    "easy",
    "Reply to {who}'s last email about '{subject}' with '{body}'",
    "{who} wrote to me about '{subject}'. Please answer with '{body}'",
    "Send '{body}' as a reply to the newest email from {who} with the subject '{subject}'.",
)
def email_reply_about(desk):
    row, body = desk.row("emails"), desk.one(*_REPLIES)
    who = desk._person(row["sender/recipient"])
    email = desk.last_email(who, row["subject"])
    desk.do("email_reply_email", email_id=email["email_id"], body=body)
    return {"who": who.name, "subject": row["subject"], "body": body}, f"I replied to {who.name}."


@template(
    "email",
    "easy",
    "Forward the last email from {who} to {other}.",
    "{other} should see the latest email I got from {who}. Please forward it.",
    "Can you pass {who}'s most recent email on to {other}?",
)
def email_forward_last(desk):
    who, other = desk.people(2)
    email = desk.last_email(who)
    desk.do("email_forward_email", email_id=email["email_id"], recipient=desk.address(other))
    return {"who": who.name, "other": other.name}, f"I forwarded it to {other.name}."


@template(
    "email",
    "easy",
    "Email {who} with the title '{subject}' and the text '{body}'",
    "Send {who} an email titled '{subject}' saying '{body}'",
    "Please write to {who}. Subject: '{subject}'. Body: '{body}'",
)
def email_send(desk):
    who, (subject, body) = desk.person(), desk.one(*_NOTES)
    desk.do("email_send_email", recipient=desk.address(who), subject=subject, body=body)
    return {"who": who.name, "subject": subject, "body": body}, f"I sent it to {who.name}."


@template(
    "email",
    "easy",
    "Delete the last email that I sent to {who} about '{subject}'.",
    "Remove my own most recent email to {who} with the subject '{subject}'.",
    "I wrote to {who} about '{subject}' a while ago. Delete the latest of those emails of mine.",
    held_out=True,
)
def email_delete_sent(desk):
    row = desk.row("emails")
    who = desk._person(row["sender/recipient"])
    email = desk.last_email(who, row["subject"], box="outbox")
    desk.do("email_delete_email", email_id=email["email_id"])
    return {"who": who.name, "subject": row["subject"]}, f"I deleted your last email to {who.name} about that."


@template(
    "email",
    "easy",
    "Forward {who}'s last email about '{subject}' to {other}.",
    "{other} asked for the email that {who} sent me about '{subject}'. Forward the latest one.",
    "Pass the newest email from {who} with the subject '{subject}' on to {other}.",
    held_out=True,
)
def email_forward_about(desk):
    row, other = desk.row("emails"), desk.person()
    who = desk._person(row["sender/recipient"])
    if who == other:
        raise Skip
    email = desk.last_email(who, row["subject"])
    desk.do("email_forward_email", email_id=email["email_id"], recipient=desk.address(other))
    return {"who": who.name, "subject": row["subject"], "other": other.name}, f"I forwarded it to {other.name}."


@template(
    "email",
    "medium",
    "Delete all emails that {who} sent me in the last {n} days.",
    "I no longer need what {who} wrote to me during the last {n} days. Delete those emails.",
    "Clean up: every email from {who} since {n} days ago can be deleted.",
)
def email_delete_recent(desk):
    who, n = desk.person(), desk.one(7, 10, 14, 21, 28)
    found = _recent(desk, who, n)
    desk.about = who.name
    if len(found) > 5:
        raise Skip
    for email in found:
        desk.do("email_delete_email", email_id=email["email_id"])
    return {"who": who.name, "n": n}, f"I deleted {len(found)} emails from {who.name}."


@template(
    "email",
    "medium",
    "Forward all emails from {who} since {day} to {other}.",
    "{other} needs everything that {who} emailed me since {day}. Please forward it.",
    "Pass every email I got from {who} from {day} until today on to {other}.",
)
def email_forward_since(desk):
    who, other = desk.people(2)
    day = desk.days_ago(desk.one(6, 8, 12, 15, 20))
    found = [e for e in desk.emails(who.name.lower(), date_min=day) if _from(e, who)]
    if not 1 <= len(found) <= 5:
        raise Skip
    address = desk.address(other)
    for email in found:
        desk.do("email_forward_email", email_id=email["email_id"], recipient=address)
    return {"who": who.name, "other": other.name, "day": desk.said(day)}, f"I forwarded {len(found)} emails."


@template(
    "email",
    "medium",
    "Email {who} and {other} with the title '{subject}' saying '{body}'",
    "Send the same email to {who} and to {other}: title '{subject}', text '{body}'",
    "Both {who} and {other} should get an email titled '{subject}' with the text '{body}'. One each, please.",
)
def email_send_two(desk):
    (who, other), (subject, body) = desk.people(2), desk.one(*_NOTES)
    addresses = [desk.address(who), desk.address(other)]
    for address in addresses:
        desk.do("email_send_email", recipient=address, subject=subject, body=body)
    return {"who": who.name, "other": other.name, "subject": subject, "body": body}, "I sent both emails."


@template(
    "email",
    "medium",
    "Email {who} with the title '{subject}' saying '{body}' Each of them gets an email of their own.",
    "Send an email titled '{subject}' with the text '{body}' to each of {who}.",
    "{who} should all hear from me: one email each, title '{subject}', text '{body}'",
)
def email_send_several(desk):
    people, (subject, body) = desk.people(desk.rng.randrange(3, 6)), desk.one(*_NOTES)
    addresses = [desk.address(who) for who in people]
    for address in addresses:
        desk.do("email_send_email", recipient=address, subject=subject, body=body)
    values = {"who": listed([who.name for who in people]), "subject": subject, "body": body}
    return values, f"I sent {len(people)} emails."


@template(
    "email",
    "medium",
    "If {who} hasn't emailed me in the last {n} days, send them an email titled '{subject}' saying '{body}'",
    "Did {who} write to me during the last {n} days? If not, email them '{body}' with the title '{subject}'.",
    "Check whether I got an email from {who} in the past {n} days. Only if there is none, send them one titled"
    " '{subject}' with the text '{body}'",
)
def email_if_silent(desk):
    who, n, (subject, body) = desk.person(), desk.one(2, 4, 6, 8), desk.one(*_NOTES)
    found = _recent(desk, who, n)
    desk.about = who.name
    values = {"who": who.name, "n": n, "subject": subject, "body": body}
    if found:
        return values, f"{who.name} wrote to you in that time, so I sent nothing."
    desk.do("email_send_email", recipient=desk.address(who), subject=subject, body=body)
    return values, f"There was no email from {who.name}, so I wrote to them."


@template(
    "email",
    "medium",
    "Reply '{body}' to {who}'s last email, then delete that email.",
    "Answer the latest email from {who} with '{body}' and delete it afterwards.",
    "Please respond to {who}'s most recent message with '{body}' and remove the message I got.",
)
def email_reply_delete(desk):
    who, body = desk.person(), desk.one(*_REPLIES)
    email = desk.last_email(who)
    desk.do("email_reply_email", email_id=email["email_id"], body=body)
    desk.do("email_delete_email", email_id=email["email_id"])
    return {"who": who.name, "body": body}, f"I replied to {who.name} and deleted the email."


@template(
    "email",
    "medium",
    "Reply to every email I received on {day} at {time} or later with '{body}'",
    "Answer all emails that came in on {day} from {time} on: '{body}'",
    "Whoever emailed me on {day}, {time} or later, should get the reply '{body}', one for each email.",
    held_out=True,
)
def email_reply_day(desk):
    day, time, body = desk.workday(-40, -1), desk.one("14:00", "15:00", "16:00"), desk.one(*_REPLIES)
    found = desk.emails("", date_min=str(day), date_max=str(day))
    found = [e for e in found if e["inbox/outbox"] == "inbox" and e["sent_datetime"][11:16] >= time]
    desk.about = str(day)
    if len(found) > 5:
        raise Skip
    for email in found:
        desk.do("email_reply_email", email_id=email["email_id"], body=body)
    return {"day": desk.said(day), "time": time, "body": body}, f"I answered {len(found)} emails."


@template(
    "email",
    "hard",
    "If {who} emailed me more often than {other} in the last {n} days, forward {who}'s latest email to {other}."
    " Otherwise forward {other}'s latest email to {who}.",
    "Who wrote to me more in the past {n} days, {who} or {other}? If it is {who}, forward their newest email to"
    " {other}; if not, forward the newest one from {other} to {who}.",
    "Count the emails I got from {who} and from {other} during the last {n} days. If {who} has more, {other} gets"
    " {who}'s latest email forwarded, else {who} gets {other}'s latest.",
)
def email_more_often(desk):
    (who, other), n = desk.people(2), desk.one(14, 21, 28)
    first, second = _recent(desk, who, n), _recent(desk, other, n)
    if not first or not second:
        raise Skip
    found, to = (first, other) if len(first) > len(second) else (second, who)
    desk.do("email_forward_email", email_id=found[0]["email_id"], recipient=to.address)
    return {"who": who.name, "other": other.name, "n": n}, f"I forwarded the latest email to {to.name}."


@template(
    "email",
    "hard",
    "Find everyone who emailed me on {day} and send each of them one new email titled '{subject}' saying '{body}'",
    "Each person that wrote to me on {day} should get one email from me: title '{subject}', text '{body}'",
    "Write to all senders of the emails I received on {day}, once each, with the title '{subject}' and the text"
    " '{body}'",
    held_out=True,
)
def email_senders_of_day(desk):
    day, (subject, body) = desk.workday(-30, -1), desk.one(*_NOTES)
    found = desk.emails("", date_min=str(day), date_max=str(day))
    senders = dict.fromkeys(e["sender/recipient"] for e in found if e["inbox/outbox"] == "inbox")
    if not 2 <= len(senders) <= 5:
        raise Skip
    for address in senders:
        desk.do("email_send_email", recipient=address, subject=subject, body=body)
    return {"day": desk.said(day), "subject": subject, "body": body}, f"I wrote to {len(senders)} people."


def _recent(desk, who, n: int) -> list[dict]:
    """What somebody wrote to me in the last `n` days, newest first."""
    found = [e for e in desk.emails(who.name.lower(), date_min=desk.days_ago(n)) if _from(e, who)]
    desk.none_on(desk.days_ago(n), found, "sent_datetime")
    return found


def _from(email: dict, who) -> bool:
    return email["inbox/outbox"] == "inbox" and email["sender/recipient"] == who.address


# --- calendar --------------------------------------------------------------------------------------------


@template(
    "calendar",
    "easy",
    "Rename the {which} event on {day} to {name}.",
    "Please change the name of the {which} meeting on {day} to '{name}'.",
    "The {which} event in my calendar on {day} should be called '{name}'.",
)
def calendar_rename(desk):
    which, day, name = desk.one("first", "last"), desk.workday(1, 28), desk.one(*_EVENT_NAMES)
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
    desk.do("calendar_delete_event", event_id=_next(desk, who)["event_id"])
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
    minutes, name = desk.minutes(), desk.one(*_EVENT_NAMES)
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
    event = _next(desk, who)
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
    event = _next(desk, who)
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
    event = _next(desk, who)
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
    who, day, minutes, name = desk.person(), desk.workday(1, 28), desk.minutes(), desk.one(*_EVENT_NAMES)
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
    who, n, time, name = desk.person(), desk.rng.randrange(3, 6), desk.time(), desk.one(*_EVENT_NAMES)
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
    who, n, name, day = desk.person(), desk.one(5, 7, 10, 14), desk.one(*_EVENT_NAMES), desk.workday(1, 10)
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


def _next(desk, who) -> dict:
    """The next meeting with somebody."""
    events = desk.next_events(who)
    if not events:
        raise Skip
    return events[0]


def _later(start: str, minutes: int) -> str:
    total = int(start[11:13]) * 60 + int(start[14:16]) + minutes
    return f"{start[:10]} {total // 60:02d}:{total % 60:02d}:00"
