# SPDX-License-Identifier: Apache-2.0
"""What a task template works with: a desk that looks things up and acts through the real tools, noting every call.

A template is a short program. It draws people, days and things, looks up what a careful assistant would look up,
and acts. Its calls are the golden path, the writes among them the ground truth, so neither can be wrong about the
other.
"""

import random
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

from ..actions import ACTIONS, end_of
from ..tables import Session, Tables

CATEGORIES = ("email", "calendar", "analytics", "project_management", "customer_relationship_manager", "multi_domain")
DIFFICULTIES = ("starter", "easy", "medium", "hard")


class Template(NamedTuple):
    """A kind of request: its program, its wordings, and whether it is kept for the test split."""

    name: str
    category: str
    level: str
    wordings: tuple[str, ...]
    held_out: bool
    program: Callable


class Person(NamedTuple):
    """Somebody in the directory."""

    name: str  # the first name, as people are called in requests
    address: str


class Skip(Exception):
    """What was drawn makes no sensible task; draw again."""


TEMPLATES: list[Template] = []


def listed(names: list[str]) -> str:
    """Names as a list in a sentence."""
    return f"{', '.join(names[:-1])} and {names[-1]}"


def template(category: str, level: str, *wordings: str, held_out: bool = False):
    """Register a program as a template; it returns the values of the wording and the assistant's last words."""

    def register(program: Callable) -> Callable:
        TEMPLATES.append(Template(program.__name__, category, level, wordings, held_out, program))
        return program

    return register


class Desk:
    """One drawing of a template."""

    def __init__(self, tables: Tables, rng: random.Random):
        self.tables, self.rng = tables, rng
        self.session = Session(tables)
        self.path: list[tuple[str, dict]] = []
        self.about = ""  # what one must have seen to know that there is nothing to do
        self.now = tables.now
        self.today = date.fromisoformat(tables.now[:10])

    # --- looking up and acting ---

    def look(self, tool: str, **arguments):
        """Call a tool that reads."""
        self.path.append((tool, arguments))
        return ACTIONS[tool](self.session, **arguments)

    def do(self, tool: str, **arguments) -> None:
        """Call a tool that writes."""
        self.path.append((tool, arguments))
        ACTIONS[tool](self.session, **arguments)

    def _found(self, tool: str, table: str, most: int, **arguments) -> list[dict]:
        """All matches of a search, at most two pages of them."""
        found = self.look(tool, **arguments)
        if isinstance(found, str):
            return []
        pagination = found["pagination"]
        if pagination["total_pages"] > most:
            raise Skip
        rows = found[table]
        for page in range(2, pagination["total_pages"] + 1):
            rows += self.look(tool, **arguments, page=page)[table]
        return rows

    def emails(self, query: str, **arguments) -> list[dict]:
        """E-mails that match, newest first."""
        return self._found("email_search_emails", "emails", 2, query=query, page_size=10, **arguments)

    def last_email(self, who: Person, subject: str = "", box: str = "inbox") -> dict:
        """The newest e-mail from somebody (or to, from the outbox), among the first three that a search shows."""
        found = self.look("email_search_emails", query=f"{who.name.lower()} {subject}".strip(), page_size=3)
        rows = found["emails"] if isinstance(found, dict) else []
        for row in rows:
            right = row["inbox/outbox"] == box and row["sender/recipient"] == who.address
            if right and subject in row["subject"]:
                return row
        raise Skip

    def events(self, query: str = "", **arguments) -> list[dict]:
        """Meetings that match, in order of time."""
        return self._found("calendar_search_events", "events", 1, query=query, page_size=20, **arguments)[::-1]

    def day_events(self, day: date) -> list[dict]:
        """The meetings of a day, in order."""
        return self.events(time_min=f"{day} 00:00:00", time_max=f"{day} 23:59:59")

    def next_events(self, who: Person) -> list[dict]:
        """The meetings with somebody that are still to come, in order."""
        found = self.events(who.name.lower(), time_min=self.now)
        return [event for event in found if event["participant_email"] == who.address]

    def free_slot(self, day: date, minutes: int) -> str:
        """The first start of a meeting that clashes with none and lies between 9 and 18 o'clock."""
        taken = [(event["event_start"], end_of(tuple(event.values()))) for event in self.day_events(day)]
        for half_hour in range(18, 36 - minutes // 30 + 1):
            start = f"{day} {half_hour // 2:02d}:{half_hour % 2 * 30:02d}:00"
            until = half_hour + minutes // 30
            end = f"{day} {until // 2:02d}:{until % 2 * 30:02d}:00"
            if all(end <= a or b <= start for a, b in taken):
                return start
        raise Skip

    def tasks(self, **arguments) -> list[dict]:
        """Tasks that match."""
        found = self.look("project_management_search_tasks", **arguments)
        if len(found) > 20:
            raise Skip
        return found

    def overdue(self, tasks: list[dict]) -> list[dict]:
        """Those that were due before today and are not completed."""
        return [t for t in tasks if t["due_date"] < self.today.isoformat() and t["list_name"] != "Completed"]

    def customers(self, **arguments) -> list[dict]:
        """Customers that match."""
        tool = "customer_relationship_manager_search_customers"
        return self._found(tool, "customers", 2, **arguments, page_size=10)

    def address(self, who: Person) -> str:
        """Somebody's address, from the directory."""
        return self.look("company_directory_find_email_address", name=who.name.lower())[0]

    def none_on(self, day: date | str, rows: list[dict], field: str) -> None:
        """Draw again if a row lies on a day that may or may not belong to "the last seven days"."""
        if any(row[field].startswith(str(day)) for row in rows):
            raise Skip

    # --- drawing ---

    def _person(self, address: str) -> Person:
        return Person(address.partition(".")[0].capitalize(), address)

    def people(self, n: int = 1, among: str = "") -> list[Person]:
        """Different people: anyone, or those who have tasks or customers."""
        pool = self.tables.directory
        if among:
            at = self.tables[among].at["assigned_to_email"]
            has = {row[at] for row in self.tables[among].rows.values()}
            pool = [address for address in pool if address in has]
        return [self._person(address) for address in self.rng.sample(list(pool), n)]

    def person(self, among: str = "") -> Person:
        """Somebody."""
        return self.people(1, among)[0]

    def rows(self, table: str) -> list[dict]:
        """All rows of a table."""
        base = self.tables[table]
        return [dict(zip(base.fields, row)) for row in base.rows.values()]

    def row(self, table: str) -> dict:
        """Any row of a table."""
        base = self.tables[table]
        return dict(zip(base.fields, self.rng.choice(list(base.rows.values()))))

    def workday(self, first: int = 1, last: int = 20) -> date:
        """A working day so many days from today."""
        days = [self.today + timedelta(n) for n in range(first, last + 1)]
        return self.rng.choice([day for day in days if day.weekday() < 5])

    def span(self, shortest: int = 3, longest: int = 40) -> tuple[str, str]:
        """First and last day of a range of past days."""
        length = self.rng.randrange(shortest, longest + 1)
        last = self.today - timedelta(self.rng.randrange(1, 60 - longest + 1))
        return (last - timedelta(length)).isoformat(), last.isoformat()

    def days_ago(self, n: int) -> str:
        """The day so many days before today."""
        return (self.today - timedelta(n)).isoformat()

    def said(self, day: date | str) -> str:
        """A day as people say it."""
        day = date.fromisoformat(day) if isinstance(day, str) else day
        if day == self.today + timedelta(1):
            return "tomorrow"
        return f"{day:%B} {day.day}" if self.rng.random() < 0.7 else day.isoformat()

    def time(self) -> str:
        """A time of day on the half hour."""
        half_hour = self.rng.randrange(18, 33)
        return f"{half_hour // 2:02d}:{half_hour % 2 * 30:02d}"

    def minutes(self) -> int:
        """How long a meeting lasts."""
        return self.rng.choice((30, 60, 90))

    def one(self, *choices):
        """One of the choices."""
        return self.rng.choice(choices)
