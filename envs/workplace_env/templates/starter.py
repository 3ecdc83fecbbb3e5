# SPDX-License-Identifier: Apache-2.0
"""Requests for small models: whatever a call needs stands in the request, so nothing has to be looked up."""

from .desk import template
from .emails import NOTES, REPLIES
from .meetings import EVENT_NAMES


def _emails(desk, n: int = 1) -> list[str]:
    """The IDs of different emails that somebody sent to me."""
    return desk.rng.sample([row["email_id"] for row in desk.rows("emails") if row["inbox/outbox"] == "inbox"], n)


def _events(desk, n: int = 1) -> list[str]:
    """The IDs of different meetings that are still to come."""
    return desk.rng.sample([row["event_id"] for row in desk.rows("events") if row["event_start"] > desk.now], n)


@template(
    "email",
    "starter",
    "Delete the email {email}.",
    "Email {email} can go. Delete it.",
    "Please remove email {email}.",
)
def email_delete_id(desk):
    (email,) = _emails(desk)
    desk.do("email_delete_email", email_id=email)
    return {"email": email}, "I deleted it."


@template(
    "email",
    "starter",
    "Reply to email {email} with '{body}'",
    "Answer the email {email}: '{body}'",
    "Please reply '{body}' to email {email}.",
)
def email_reply_id(desk):
    email, body = _emails(desk)[0], desk.one(*REPLIES)
    desk.do("email_reply_email", email_id=email, body=body)
    return {"email": email, "body": body}, "I replied to it."


@template(
    "email",
    "starter",
    "Forward email {email} to {address}.",
    "Please pass the email {email} on to {address}.",
    "{address} should see email {email}. Forward it.",
)
def email_forward_id(desk):
    email, who = _emails(desk)[0], desk.person()
    desk.do("email_forward_email", email_id=email, recipient=who.address)
    return {"email": email, "address": who.address}, "I forwarded it."


@template(
    "email",
    "starter",
    "Email {address} with the title '{subject}' and the text '{body}'",
    "Send an email to {address}, titled '{subject}', saying '{body}'",
    "Write to {address}. Subject: '{subject}'. Body: '{body}'",
)
def email_send_to(desk):
    who, (subject, body) = desk.person(), desk.one(*NOTES)
    desk.do("email_send_email", recipient=who.address, subject=subject, body=body)
    return {"address": who.address, "subject": subject, "body": body}, "I sent it."


@template(
    "calendar",
    "starter",
    "Cancel the event {event}.",
    "I can't make event {event}. Delete it.",
    "Remove event {event} from my calendar.",
)
def calendar_delete_id(desk):
    (event,) = _events(desk)
    desk.do("calendar_delete_event", event_id=event)
    return {"event": event}, "I cancelled it."


@template(
    "calendar",
    "starter",
    "Rename event {event} to '{name}'.",
    "Please call the event {event} '{name}'.",
    "Event {event} should be called '{name}'.",
)
def calendar_rename_id(desk):
    event, name = _events(desk)[0], desk.one(*EVENT_NAMES)
    desk.do("calendar_update_event", event_id=event, field="event_name", new_value=name)
    return {"event": event, "name": name}, "I renamed it."


@template(
    "calendar",
    "starter",
    "Make event {event} {minutes} minutes long.",
    "Event {event} should last {minutes} minutes.",
    "Set the duration of event {event} to {minutes} minutes.",
)
def calendar_duration_id(desk):
    event, minutes = _events(desk)[0], desk.one(15, 45, 75, 120)
    desk.do("calendar_update_event", event_id=event, field="duration", new_value=str(minutes))
    return {"event": event, "minutes": minutes}, "I changed it."


@template(
    "calendar",
    "starter",
    "Move event {event} to {start}.",
    "Event {event} should start at {start}.",
    "Please reschedule event {event} to {start}.",
)
def calendar_move_id(desk):
    event, start = _events(desk)[0], f"{desk.workday(2, 28)} {desk.time()}:00"
    desk.do("calendar_update_event", event_id=event, field="event_start", new_value=start)
    return {"event": event, "start": start}, "I moved it."


@template(
    "calendar",
    "starter",
    "Create the event '{name}' with {address} at {start} for {minutes} minutes.",
    "Book {address} for '{name}', {minutes} minutes from {start}.",
    "Schedule '{name}' with {address}. It starts at {start} and takes {minutes} minutes.",
)
def calendar_create_with(desk):
    who, start = desk.person(), f"{desk.workday(1, 28)} {desk.time()}:00"
    minutes, name = desk.minutes(), desk.one(*EVENT_NAMES)
    desk.do(
        "calendar_create_event",
        event_name=name,
        participant_email=who.address,
        event_start=start,
        duration=str(minutes),
    )
    return {"address": who.address, "start": start, "minutes": minutes, "name": name}, "It is in your calendar."


@template(
    "calendar",
    "starter",
    "Cancel the events {event} and {other}.",
    "I can't make event {event} or event {other}. Delete them.",
    "Remove event {event} and event {other} from my calendar.",
)
def calendar_delete_two_id(desk):
    event, other = _events(desk, 2)
    desk.do("calendar_delete_event", event_id=event)
    desk.do("calendar_delete_event", event_id=other)
    return {"event": event, "other": other}, "I cancelled them."


@template(
    "email",
    "starter",
    "Reply to email {email} with '{body}' Then delete it.",
    "Answer the email {email}: '{body}' After that it can go.",
    "Please reply '{body}' to email {email}. Then delete it.",
)
def email_reply_delete_id(desk):
    email, body = _emails(desk)[0], desk.one(*REPLIES)
    desk.do("email_reply_email", email_id=email, body=body)
    desk.do("email_delete_email", email_id=email)
    return {"email": email, "body": body}, "I replied to it and deleted it."


@template(
    "email",
    "starter",
    "Forward email {email} to {address}. Then delete it.",
    "Please pass the email {email} on to {address}. After that it can go.",
    "{address} should see email {email}. Forward it. Then delete it.",
)
def email_forward_delete_id(desk):
    email, who = _emails(desk)[0], desk.person()
    desk.do("email_forward_email", email_id=email, recipient=who.address)
    desk.do("email_delete_email", email_id=email)
    return {"email": email, "address": who.address}, "I forwarded it and deleted it."


@template(
    "calendar",
    "starter",
    "Rename event {event} to '{name}' and make it {minutes} minutes long.",
    "Event {event} should be called '{name}' and last {minutes} minutes.",
    "Please call the event {event} '{name}' and make it {minutes} minutes long.",
)
def calendar_rename_duration_id(desk):
    event, name, minutes = _events(desk)[0], desk.one(*EVENT_NAMES), desk.one(15, 45, 75, 120)
    desk.do("calendar_update_event", event_id=event, field="event_name", new_value=name)
    desk.do("calendar_update_event", event_id=event, field="duration", new_value=str(minutes))
    return {"event": event, "name": name, "minutes": minutes}, "I changed both."


@template(
    "calendar",
    "starter",
    "Move event {event} to {start} and rename it to '{name}'.",
    "Event {event} should start at {start} and be called '{name}'.",
    "Please reschedule event {event} to {start} and call it '{name}'.",
)
def calendar_move_rename_id(desk):
    event, name = _events(desk)[0], desk.one(*EVENT_NAMES)
    start = f"{desk.workday(2, 28)} {desk.time()}:00"
    desk.do("calendar_update_event", event_id=event, field="event_start", new_value=start)
    desk.do("calendar_update_event", event_id=event, field="event_name", new_value=name)
    return {"event": event, "start": start, "name": name}, "I changed both."


@template(
    "email",
    "starter",
    "Forward email {email} to {address}. Then reply to it with '{body}'",
    "Please pass the email {email} on to {address}. After that answer it: '{body}'",
    "{address} should see email {email}. Forward it. Then reply '{body}'",
)
def email_forward_reply_id(desk):
    email, who, body = _emails(desk)[0], desk.person(), desk.one(*REPLIES)
    desk.do("email_forward_email", email_id=email, recipient=who.address)
    desk.do("email_reply_email", email_id=email, body=body)
    return {"email": email, "address": who.address, "body": body}, "I forwarded it and replied to it."


@template(
    "email",
    "starter",
    "Delete the emails {email} and {other}.",
    "Email {email} and email {other} can go. Delete them.",
    "Please remove email {email} and email {other}.",
    held_out=True,
)
def email_delete_two_id(desk):
    email, other = _emails(desk, 2)
    desk.do("email_delete_email", email_id=email)
    desk.do("email_delete_email", email_id=other)
    return {"email": email, "other": other}, "I deleted them."


@template(
    "email",
    "starter",
    "Reply to email {email} with '{body}' Then forward it to {address}.",
    "Answer the email {email}: '{body}' After that pass it on to {address}.",
    "Please reply '{body}' to email {email}. Then pass it on to {address}.",
    held_out=True,
)
def email_reply_forward_id(desk):
    email, body, who = _emails(desk)[0], desk.one(*REPLIES), desk.person()
    desk.do("email_reply_email", email_id=email, body=body)
    desk.do("email_forward_email", email_id=email, recipient=who.address)
    return {"email": email, "body": body, "address": who.address}, "I replied to it and forwarded it."


@template(
    "calendar",
    "starter",
    "Move event {event} to {start} and make it {minutes} minutes long.",
    "Event {event} should start at {start} and last {minutes} minutes.",
    "Please reschedule event {event} to {start} and make it {minutes} minutes long.",
    held_out=True,
)
def calendar_move_duration_id(desk):
    event, minutes = _events(desk)[0], desk.one(15, 45, 75, 120)
    start = f"{desk.workday(2, 28)} {desk.time()}:00"
    desk.do("calendar_update_event", event_id=event, field="event_start", new_value=start)
    desk.do("calendar_update_event", event_id=event, field="duration", new_value=str(minutes))
    return {"event": event, "start": start, "minutes": minutes}, "I changed both."
