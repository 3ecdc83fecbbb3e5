# SPDX-License-Identifier: Apache-2.0
"""A company of our own: Larkfield, 20 people, made from a seed when it is first used.

All of it hangs together: people in e-mails, meetings and tasks exist in the directory, an update on a task comes from
the one who has it, an update on a meeting from somebody who is in it, meetings lie in working hours and never overlap.
"""

import random
from datetime import date, timedelta
from functools import cache

from .actions import BOARDS, LISTS, PRODUCTS, SOURCES, STATUSES
from .tables import Row, Tables

NOW = "2024-09-11 08:30:00"  # a Wednesday
TODAY = date(2024, 9, 11)
FIRST_DAY, LAST_DAY = date(2024, 7, 1), date(2024, 10, 11)
PEOPLE = (
    "ada.lindqvist", "bruno.costa", "chidi.okafor", "daria.nowak", "elias.berg", "farah.haddad", "goran.petrov",
    "hana.ito", "ines.moreno", "jonas.weber", "keiko.mori", "liam.byrne", "mira.kapoor", "noor.rahman", "oscar.lund",
    "priya.iyer", "quentin.roy", "rosa.silva", "stefan.vogel", "tara.quinn",
)  # fmt: skip
ADDRESSES = tuple(f"{name}@larkfield.example" for name in PEOPLE)
TEAM, SALES = ADDRESSES[:13], ADDRESSES[13:18]  # who has tasks, who has customers

_WORK = {
    "Back end": (
        ("Cache", "Document", "Index", "Log", "Migrate", "Profile", "Rewrite", "Secure", "Test", "Throttle"),
        ("the billing queue", "the export job", "the invoice service", "the job scheduler", "the login endpoint",
         "the mail gateway", "the nightly import", "the order database", "the price feed", "the search service",
         "the session store", "the webhook handler"),
    ),
    "Front end": (
        ("Animate", "Build", "Localise", "Polish", "Rework", "Simplify", "Speed up", "Translate", "Unify", "Repair"),
        ("the account page", "the cart panel", "the checkout form", "the date picker", "the help centre",
         "the landing page", "the mobile menu", "the order history", "the product grid", "the signup flow",
         "the settings dialog", "the status banner"),
    ),
    "Design": (
        ("Draft", "Explore", "Illustrate", "Present", "Refresh", "Review", "Sketch", "Storyboard", "Test with users",
         "Wireframe"),
        ("a brand guide", "a chart palette", "a dark theme", "a feature tour", "a logo set", "a newsletter layout",
         "a poster series", "a pricing table", "a slide template", "an empty state", "an icon family",
         "an onboarding video"),
    ),
}  # fmt: skip
_MEETINGS = (
    "budget check", "bug triage", "capacity planning", "coffee chat", "contract talk", "customer panel", "data walk",
    "demo rehearsal", "hiring sync", "incident review", "launch planning", "metrics hour", "partner call",
    "pricing workshop", "quarter outlook", "release walkthrough", "research readout", "retrospective", "risk review",
    "roadmap session", "security briefing", "sprint planning", "team lunch", "training session", "vendor call",
)  # fmt: skip
_TOPICS = (
    "Expense report", "Holiday plans", "Office move", "Printer on floor two", "Question about the handbook",
    "Seating plan", "Summer party", "Travel booking", "Volunteer day", "Welcome pack",
)  # fmt: skip
_TASK_NEWS = (
    "a quick word on '{name}': the first half is done and the rest should follow this week.",
    "'{name}' takes longer than planned, because the tests keep failing. I could use a second pair of eyes.",
    "I have started on '{name}'. Tell me if you want to see an early version.",
    "'{name}' waits for a decision about scope. Can we talk about it soon?",
)
_MEETING_NEWS = (
    "thanks for the {name}. I have put my notes in the shared folder.",
    "I have two points for the next {name} and will send slides before it.",
    "could we make the {name} a little shorter? My week is rather full.",
)
_OTHER_NEWS = (
    "a short note about this: nothing is urgent, but please have a look when you can.",
    "I will be out on Friday, so let me know before then if anything is missing.",
    "the form is ready. It takes two minutes to fill in.",
    "do you have a preference? If not, I will simply choose something.",
)
_FIRST = (
    "Alba", "Benno", "Carla", "Dario", "Edda", "Fabio", "Greta", "Hugo", "Ilse", "Jarek", "Karin", "Leon", "Maren",
    "Nils", "Olivia", "Paolo", "Renate", "Selma", "Tomas", "Ulla",
)  # fmt: skip
_LAST = (
    "Abbott", "Bruckner", "Castell", "Dvorak", "Eklund", "Ferrari", "Gruber", "Hansen", "Ivers", "Jansen", "Keller",
    "Larsson", "Meier", "Novotny", "Olsen", "Pavlov", "Richter", "Santoro", "Thorne", "Ulrich",
)  # fmt: skip
_FIRMS = ("bluehaven", "cedarworks", "driftline", "eastgate", "foxglove", "graniteco", "hillmark", "ironbridge")
_CONTACTS = ("Had a call.", "Met at the fair.", "Saw the demo.", "Sent an offer.", "Left a message.")


def company(seed: int = 0) -> Tables:
    """The tables of Larkfield. Made once for each seed; every session shares them."""
    return _made(seed)


@cache
def _made(seed: int) -> Tables:
    rng = random.Random(f"larkfield {seed}")
    tasks, events = _tasks(rng), _events(rng)
    rows = {
        "tasks": tasks,
        "events": events,
        "emails": _emails(rng, tasks, events),
        "customers": _customers(rng),
        "visits": _visits(rng),
    }
    return Tables(rows, ADDRESSES, NOW, (company, (seed,)))


def _numbered(rows: list[tuple], rng: random.Random) -> list[Row]:
    """Give rows IDs that say nothing about their order."""
    keys = rng.sample(range(len(rows)), len(rows))
    return [(f"{key:08d}", *row) for key, row in zip(keys, rows)]


def _workdays(first: date, last: date) -> list[date]:
    days = (first + timedelta(n) for n in range((last - first).days + 1))
    return [day for day in days if day.weekday() < 5]


def _tasks(rng: random.Random) -> list[Row]:
    due = _workdays(TODAY - timedelta(14), TODAY + timedelta(24))
    rows = []
    for board in BOARDS:
        verbs, things = _WORK[board]
        names = rng.sample([f"{verb} {thing}" for verb in verbs for thing in things], 100)
        for name in names:
            day = rng.choice(due)
            weights = (1, 1, 1, 7) if day < TODAY else (5, 3, 2, 2)  # most of what was due is done
            rows.append((name, rng.choice(TEAM), rng.choices(LISTS, weights)[0], day.isoformat(), board))
    rng.shuffle(rows)
    return _numbered(rows, rng)


def _events(rng: random.Random) -> list[Row]:
    """Four meetings a day, none at the same time, somewhere between 9:00 and 18:00."""
    rows = []
    for day in _workdays(FIRST_DAY, LAST_DAY):
        lengths = [rng.choice((30, 30, 60, 60, 90)) for _ in range(4)]
        spare = 18 - sum(lengths) // 30  # half hours without a meeting
        gaps = sorted(rng.sample(range(spare + 4), 4))
        if rng.random() < 0.7:  # most days begin with a meeting
            gaps[0] = 0
        at = 0
        for n, (gap, length) in enumerate(zip(gaps, lengths)):
            start = 18 + gap - n + at  # in half hours after midnight
            at += length // 30
            clock = f"{day} {start // 2:02d}:{start % 2 * 30:02d}:00"
            rows.append((rng.choice(_MEETINGS), rng.choice(ADDRESSES), clock, str(length)))
    return _numbered(rows[:300], rng)


def _emails(rng: random.Random, tasks: list[Row], events: list[Row]) -> list[Row]:
    days = _workdays(FIRST_DAY, TODAY - timedelta(1))
    moments = sorted(rng.sample(range(len(days) * 9 * 60), 500))  # the minutes of all working days, one after another
    rows = []
    for moment in moments:
        day, minute = divmod(moment, 9 * 60)
        sent = f"{days[day]} {9 + minute // 60:02d}:{minute % 60:02d}:{rng.randrange(60):02d}"
        kind = rng.random()
        if kind < 0.5:
            task = rng.choice(tasks)
            who, subject, text = task[2], f"Progress on {task[1]}", rng.choice(_TASK_NEWS).format(name=task[1])
        elif kind < 0.8:
            event = rng.choice(events)
            who, subject, text = event[2], f"About the {event[1]}", rng.choice(_MEETING_NEWS).format(name=event[1])
        else:
            who, subject, text = rng.choice(ADDRESSES), rng.choice(_TOPICS), rng.choice(_OTHER_NEWS)
        sender = who.partition(".")[0].capitalize()
        if rng.random() < 0.15:
            rows.append(("outbox", who, subject, sent, f"Hello {sender}, {text} Best wishes, Kim"))
        else:
            rows.append(("inbox", who, subject, sent, f"Hello Kim, {text} Best wishes, {sender}"))
    return _numbered(rows, rng)


def _customers(rng: random.Random) -> list[Row]:
    rows = []
    for first, last in rng.sample([(first, last) for first in _FIRST for last in _LAST], 200):
        contact = TODAY - timedelta(rng.randrange(1, 70))
        follow_up = contact + timedelta(rng.randrange(7, 90))
        earlier = sorted(contact - timedelta(rng.randrange(90)) for _ in range(rng.randrange(1, 3)))
        notes = " ".join(f"{day}: {rng.choice(_CONTACTS)}" for day in [*earlier, contact])
        phone = f"555-{rng.randrange(100, 1000)}-{rng.randrange(1000, 10000)}" if rng.random() < 0.7 else None
        address = f"{first}.{last}@{rng.choice(_FIRMS)}.example".lower()
        rows.append(
            (rng.choice(SALES), f"{first} {last}", address, phone, contact.isoformat(), rng.choice(PRODUCTS),
             rng.choice(STATUSES), follow_up.isoformat(), notes)
        )  # fmt: skip
    return _numbered(rows, rng)


def _visits(rng: random.Random) -> list[Row]:
    days = [FIRST_DAY + timedelta(n) for n in range((TODAY - FIRST_DAY).days)]
    rows: list[Row] = []
    for visitor in rng.sample(range(10_000), 1000):
        pages, seconds = rng.randrange(1, 15), rng.randrange(1, 40)
        engaged = pages > 5 and seconds > 12
        day = rng.choice(days).isoformat()
        source = rng.choices(SOURCES, (4, 2, 3, 2))[0]
        rows.append((day, f"{visitor:04d}", str(pages), str(seconds), source, str(engaged)))
    return rows
