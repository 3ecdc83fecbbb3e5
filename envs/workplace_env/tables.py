# SPDX-License-Identifier: Apache-2.0
"""The five tables and the directory of a company, and the state of one session: copy on write.

Tables are loaded once and never changed; a session holds only the rows that it changed, so ten thousand sessions
share one company.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path

FIELDS = {
    "emails": ("email_id", "inbox/outbox", "sender/recipient", "subject", "sent_datetime", "body"),
    "events": ("event_id", "event_name", "participant_email", "event_start", "duration"),
    "tasks": ("task_id", "task_name", "assigned_to_email", "list_name", "due_date", "board"),
    "customers": (
        "customer_id", "assigned_to_email", "customer_name", "customer_email", "customer_phone", "last_contact_date",
        "product_interest", "status", "follow_up_by", "notes",
    ),
    "visits": (
        "date_of_visit", "visitor_id", "page_views", "session_duration_seconds", "traffic_source", "user_engaged",
    ),
}  # fmt: skip
NEWEST_FIRST = {"emails": "sent_datetime", "events": "event_start"}  # the order in which they are listed
SEARCHED = {"emails": ("subject", "body", "sender/recipient"), "events": ("event_name", "participant_email")}
_FILES = {
    "emails": "emails.csv",
    "events": "calendar_events.csv",
    "tasks": "project_tasks.csv",
    "customers": "customer_relationship_manager_data.csv",
    "visits": "analytics_data.csv",
    "directory": "email_addresses.csv",
}
PUBLIC_NOW = "2023-11-30 23:59:00"

Row = tuple[str | None, ...]


class Table:
    """Rows of one kind by their ID, in the order in which they are listed. Never changed once made."""

    def __init__(self, name: str, rows: Iterable[Row]):
        self.name, self.fields = name, FIELDS[name]
        self.at = {field: i for i, field in enumerate(self.fields)}
        rows = list(rows)
        if name in NEWEST_FIRST:
            rows.sort(key=self.when, reverse=True)
        self.rows: dict[str, Row] = {row[0]: row for row in rows}
        self.last = max((int(key) for key in self.rows if key.isdigit()), default=-1)
        self.text = {key: self.searched(row) for key, row in self.rows.items()}

    def when(self, row: Row) -> str:
        """What a list of these rows is sorted by, newest first."""
        return row[self.at[NEWEST_FIRST[self.name]]] or ""

    def searched(self, row: Row) -> str:
        """The text of a row that a free search looks at, in lower case."""
        return " ".join(row[self.at[field]] or "" for field in SEARCHED.get(self.name, ())).lower()


class Visits:
    """The website's visits, and what was counted on each day."""

    def __init__(self, rows: Iterable[Row]):
        self.rows = list(rows)
        self.by_visitor: dict[str, list[Row]] = {}
        self.days: dict[str, list[Row]] = {}
        for row in sorted(self.rows, key=lambda row: row[0]):
            self.days.setdefault(row[0], []).append(row)
        for row in self.rows:
            self.by_visitor.setdefault(row[1], []).append(row)
        self.total = {day: len(rows) for day, rows in self.days.items()}
        self.engaged = {day: sum(row[5] == "True" for row in rows) for day, rows in self.days.items()}
        self.seconds = {day: sum(float(row[3]) for row in rows) / len(rows) for day, rows in self.days.items()}
        self.sources: dict[str, dict[str, int]] = {}
        for source in ("direct", "referral", "search engine", "social media"):
            self.sources[source] = {day: sum(row[4] == source for row in rows) for day, rows in self.days.items()}


class Tables:
    """A company: tables by name, the e-mail addresses of its people, and what time it is there.

    `source` is the function and the arguments that made it: a copy or a pickle refers to those, not to the rows.
    """

    __slots__ = ("__weakref__", "_source", "by_name", "directory", "now", "visits", "weekday")

    def __init__(self, rows: Mapping[str, Iterable[Row]], directory: Iterable[str], now: str, source: tuple):
        self._source = source
        self.by_name = {name: Table(name, rows[name]) for name in ("emails", "events", "tasks", "customers")}
        self.visits = Visits(rows["visits"])
        self.directory = tuple(directory)
        self.now = now
        self.weekday = date.fromisoformat(now[:10]).strftime("%A")

    def __reduce__(self):
        return self._source

    def __getitem__(self, name: str) -> Table:
        return self.by_name[name]


def load_tables(folder: Path | str, now: str = PUBLIC_NOW) -> Tables:
    """Read a company from CSV files in the public layout.

    Args:
        folder: Where the six files are: emails, calendar_events, project_tasks, analytics_data,
            customer_relationship_manager_data and email_addresses, each ending in .csv.
        now: The date and time there, as YYYY-MM-DD HH:MM:SS.

    Raises:
        ValueError: a file is missing or lacks a column.
    """
    rows: dict[str, list[Row]] = {}
    for name, file_name in _FILES.items():
        path = Path(folder) / file_name
        if not path.is_file():
            raise ValueError(f"{path} is missing; the folder must hold {', '.join(_FILES.values())}")
        with path.open(encoding="utf-8-sig", newline="") as file:
            if name == "directory":
                lines = [line.strip() for line in file]
                rows[name] = [(line,) for line in lines if "@" in line]
                continue
            reader = csv.DictReader(file)
            if lacking := [field for field in FIELDS[name] if field not in (reader.fieldnames or ())]:
                raise ValueError(f"{path} has no column {', '.join(lacking)}")
            rows[name] = [tuple(line[field] or None for field in FIELDS[name]) for line in reader]
    directory = [row[0] for row in rows.pop("directory")]
    return Tables(rows, directory, now, (load_tables, (str(folder), now)))


class Session:
    """What one session changed: by table and ID the new row, or None for a deleted one; and the plots it made."""

    def __init__(self, tables: Tables):
        self.tables = tables
        self.changes: dict[str, dict[str, Row | None]] = {}
        self.plots: list[str] = []
        self._added: dict[str, int] = {}

    def get(self, table: str, key: str) -> Row | None:
        """The row with this ID as the session sees it, or None."""
        changed = self.changes.get(table)
        if changed is not None and key in changed:
            return changed[key]
        return self.tables[table].rows.get(key)

    def put(self, table: str, key: str, row: Row | None) -> None:
        """Replace a row, or delete it with None."""
        self.changes.setdefault(table, {})[key] = row

    def add(self, table: str, values: Row) -> str:
        """Append a row with the next free ID. Returns the ID."""
        count = self._added[table] = self._added.get(table, 0) + 1
        key = f"{self.tables[table].last + count:08d}"
        self.put(table, key, (key, *values))
        return key

    def rows(self, table: str) -> Iterator[tuple[Row, str]]:
        """All rows as the session sees them, in listed order, each with its searched text."""
        base = self.tables[table]
        changed = self.changes.get(table)
        if not changed:
            return zip(base.rows.values(), base.text.values())
        seen = [(changed.get(key, row), key) for key, row in base.rows.items()]
        seen += [(row, key) for key, row in changed.items() if key not in base.rows]
        kept = [(row, base.searched(row) if key in changed else base.text[key]) for row, key in seen if row]
        if table in NEWEST_FIRST:
            kept.sort(key=lambda pair: base.when(pair[0]), reverse=True)
        return iter(kept)
