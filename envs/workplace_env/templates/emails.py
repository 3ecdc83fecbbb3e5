# SPDX-License-Identifier: Apache-2.0
"""Requests about e-mail."""

from .desk import Skip, listed, template

REPLIES = (
    "Thank you, that helps a lot.",
    "Got it, I will come back to you tomorrow.",
    "Thanks, let us talk about it in person.",
    "Noted. Please keep me posted.",
    "Sounds good, go ahead.",
)
NOTES = (
    ("Quick question", "Do you have ten minutes for me this week?"),
    ("Numbers for the board", "Please send me your numbers before noon."),
    ("Lunch", "Shall we have lunch together soon?"),
    ("Room change", "We meet in the small room from now on."),
    ("Well done", "Great work on the launch, thank you!"),
    ("Reminder", "Please fill in your time sheet."),
)


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
    who, body = desk.person(), desk.one(*REPLIES)
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
    row, body = desk.row("emails"), desk.one(*REPLIES)
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
    who, (subject, body) = desk.person(), desk.one(*NOTES)
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
    found = recent(desk, who, n)
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
    (who, other), (subject, body) = desk.people(2), desk.one(*NOTES)
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
    people, (subject, body) = desk.people(desk.rng.randrange(3, 6)), desk.one(*NOTES)
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
    who, n, (subject, body) = desk.person(), desk.one(2, 4, 6, 8), desk.one(*NOTES)
    found = recent(desk, who, n)
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
    who, body = desk.person(), desk.one(*REPLIES)
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
    day, time, body = desk.workday(-40, -1), desk.one("14:00", "15:00", "16:00"), desk.one(*REPLIES)
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
    first, second = recent(desk, who, n), recent(desk, other, n)
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
    day, (subject, body) = desk.workday(-30, -1), desk.one(*NOTES)
    found = desk.emails("", date_min=str(day), date_max=str(day))
    senders = dict.fromkeys(e["sender/recipient"] for e in found if e["inbox/outbox"] == "inbox")
    if not 2 <= len(senders) <= 5:
        raise Skip
    for address in senders:
        desk.do("email_send_email", recipient=address, subject=subject, body=body)
    return {"day": desk.said(day), "subject": subject, "body": body}, f"I wrote to {len(senders)} people."


def recent(desk, who, n: int) -> list[dict]:
    """What somebody wrote to me in the last `n` days, newest first."""
    found = [e for e in desk.emails(who.name.lower(), date_min=desk.days_ago(n)) if _from(e, who)]
    desk.none_on(desk.days_ago(n), found, "sent_datetime")
    return found


def _from(email: dict, who) -> bool:
    return email["inbox/outbox"] == "inbox" and email["sender/recipient"] == who.address
