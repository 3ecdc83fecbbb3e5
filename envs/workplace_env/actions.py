# SPDX-License-Identifier: Apache-2.0
"""What the 27 tools do to a session: one function each, named as the tool.

Values arrive as text without outer white space (page numbers as whole numbers). A function returns what the tool
answers, or raises ValueError with advice and leaves the session as it was.
"""

import inspect
import re
from collections.abc import Callable
from datetime import date, datetime

from .tables import FIELDS, Row, Session

DOMAINS = (
    "company_directory",
    "email",
    "calendar",
    "analytics",
    "project_management",
    "customer_relationship_manager",
)
LISTS = ("Backlog", "In Progress", "In Review", "Completed")
BOARDS = ("Back end", "Front end", "Design")
STATUSES = ("Qualified", "Won", "Lost", "Lead", "Proposal")
PRODUCTS = ("Software", "Hardware", "Services", "Consulting", "Training")
SOURCES = ("direct", "referral", "search engine", "social media")
PLOTTED = (
    "total_visits", "session_duration_seconds", "user_engaged",
    "visits_direct", "visits_referral", "visits_search_engine", "visits_social_media",
)  # fmt: skip
PLOT_TYPES = ("bar", "line", "scatter", "histogram")
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ T][0-9:]{5,8})?")
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2})(:[0-9]{2})?")
_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]{2,}")


# --- reading values --------------------------------------------------------------------------------------


def _needed(**values: str) -> None:
    """Refuse empty text where a value is needed."""
    empty = [name for name, value in values.items() if not value]
    if empty:
        raise ValueError(f"{', '.join(empty)} not provided; give every required argument a value")


def _one_of(value: str, choices: tuple[str, ...], what: str) -> str:
    if value not in choices:
        raise ValueError(f"{what} not valid, got {value!r:.60}. Please choose from: {', '.join(map(repr, choices))}")
    return value


def _date(value: str, name: str) -> str:
    """A day as YYYY-MM-DD; a time of day after it is dropped."""
    found = _DAY.fullmatch(value)
    try:
        return date.fromisoformat(found[1] if found else "").isoformat()
    except ValueError:
        raise ValueError(f"Invalid {name}, got {value!r:.60}. Expected a date as YYYY-MM-DD.") from None


def _time(value: str, name: str, day_end: str = "") -> str:
    """A moment as YYYY-MM-DD HH:MM:SS. A day alone will do where `day_end` says which time of day it stands for."""
    found = _TIME.fullmatch(f"{value} {day_end}" if day_end and len(value) == 10 else value)
    try:
        return datetime.fromisoformat(f"{found[1]} {found[2]}{found[3] or ':00'}" if found else "").isoformat(" ")
    except ValueError:
        raise ValueError(
            f"Invalid {name}, got {value!r:.60}. Expected YYYY-MM-DD HH:MM:SS in local time, without a time zone."
        ) from None


def _minutes(value: str) -> str:
    found = re.fullmatch(r"([0-9]{1,6})(?:\.0+)?", value)
    if not found or not int(found[1]):
        raise ValueError(f"Invalid duration, got {value!r:.60}. Expected a positive whole number of minutes, like 30.")
    return str(int(found[1]))


def _address(value: str, name: str) -> str:
    if "@" not in value or "." not in value:
        raise ValueError(
            f"Invalid {name} email address, got {value!r:.60}. "
            "Look it up with company_directory_find_email_address or in a search result."
        )
    return value.lower()


def _row(session: Session, table: str, key: str) -> Row:
    """The row with an ID; refuses an unknown one."""
    row = session.get(table, key)
    if row is None:
        what = table[:-1]
        raise ValueError(
            f"{what.capitalize()} not found: no {what} has the ID {key!r:.40}. "
            f"IDs are 8 digits with leading zeros, as text; search for the {what} to learn its ID."
        )
    return row


def _field(table: str, field: str, choices: tuple[str, ...]) -> int:
    if field not in choices:
        raise ValueError(f"Field not valid, got {field!r:.40}. Available fields: {', '.join(choices)}")
    return FIELDS[table].index(field)


def _updated(session: Session, table: str, key: str, at: int, value: str) -> None:
    row = session.get(table, key)
    session.put(table, key, (*row[:at], value, *row[at + 1 :]))


def _record(table: str, row: Row) -> dict[str, str | None]:
    return dict(zip(FIELDS[table], row))


def _page(table: str, rows: list[Row], page: int, page_size: int) -> dict | str:
    """One page of a search result, as the public tools show it."""
    if page < 1 or page_size < 1:
        raise ValueError(f"page and page_size must be 1 or more, got {page} and {page_size}")
    if not rows:
        return f"No {table} found."
    pages = -(-len(rows) // page_size)
    page = min(page, pages)
    shown = rows[(page - 1) * page_size : page * page_size]
    return {
        table: [_record(table, row) for row in shown],
        "pagination": {f"total_{table}": len(rows), "page": page, "page_size": page_size, "total_pages": pages},
    }


# --- company directory -----------------------------------------------------------------------------------


def company_directory_find_email_address(session, name=""):
    _needed(name=name)
    found = [address for address in session.tables.directory if name.lower() in address.lower()]
    return found or "No email addresses found."


# --- email -----------------------------------------------------------------------------------------------


def email_get_email_information_by_id(session, email_id, field):
    _needed(email_id=email_id, field=field)
    at = _field("emails", field, FIELDS["emails"])
    return {field: _row(session, "emails", email_id)[at]}


def email_search_emails(session, query="", date_min="", date_max="", page=1, page_size=5):
    words = query.lower().split()
    first = _date(date_min, "date_min") if date_min else ""
    last = _date(date_max, "date_max") if date_max else ""
    rows = [row for row, text in session.rows("emails") if all(word in text for word in words)]
    if first or last:
        rows = [row for row in rows if first <= (row[4] or "")[:10] <= (last or "9")]
    return _page("emails", rows, page, page_size)


def _send(session: Session, recipient: str, subject: str, body: str) -> None:
    session.add("emails", ("outbox", recipient.lower(), subject, session.tables.now, body))


def email_send_email(session, recipient, subject, body):
    _needed(recipient=recipient, subject=subject, body=body)
    _send(session, _address(recipient, "recipient"), subject, body)
    return "Email sent successfully."


def email_delete_email(session, email_id):
    _needed(email_id=email_id)
    _row(session, "emails", email_id)
    session.put("emails", email_id, None)
    return "Email deleted successfully."


def email_forward_email(session, email_id, recipient):
    _needed(email_id=email_id, recipient=recipient)
    recipient = _address(recipient, "recipient")
    email = _row(session, "emails", email_id)
    _send(session, recipient, f"FW: {email[3]}", email[5])
    return "Email forwarded successfully."


def email_reply_email(session, email_id, body):
    _needed(email_id=email_id, body=body)
    email = _row(session, "emails", email_id)
    _send(session, email[2], f"RE: {email[3]}", body)
    return "Email replied successfully."


# --- calendar --------------------------------------------------------------------------------------------


def calendar_get_event_information_by_id(session, event_id, field):
    _needed(event_id=event_id, field=field)
    at = _field("events", field, FIELDS["events"])
    return {field: _row(session, "events", event_id)[at]}


def calendar_search_events(session, query="", time_min="", time_max="", page=1, page_size=5):
    first = _time(time_min, "time_min", "00:00:00") if time_min else ""
    last = _time(time_max, "time_max", "23:59:59") if time_max else "9"
    query = query.lower()
    rows = [row for row, text in session.rows("events") if query in text and (row[3] or "") <= last]
    if first:
        rows = [row for row in rows if end_of(row) >= first]
    return _page("events", rows, page, page_size)


def end_of(event: Row) -> str:
    """When an event ends, as YYYY-MM-DD HH:MM:SS."""
    day, _, clock = event[3].partition(" ")
    minutes = int(clock[:2]) * 60 + int(clock[3:5]) + int(event[4])
    if minutes >= 24 * 60:  # over midnight: rare, so let it cost more
        day = date.fromordinal(date.fromisoformat(day).toordinal() + minutes // 1440).isoformat()
        minutes %= 1440
    return f"{day} {minutes // 60:02d}:{minutes % 60:02d}:00"


def calendar_create_event(session, event_name, participant_email, event_start, duration):
    _needed(event_name=event_name, participant_email=participant_email, event_start=event_start, duration=duration)
    start, minutes = _time(event_start, "event_start"), _minutes(duration)
    return session.add("events", (event_name, participant_email.lower(), start, minutes))


def calendar_delete_event(session, event_id):
    _needed(event_id=event_id)
    _row(session, "events", event_id)
    session.put("events", event_id, None)
    return "Event deleted successfully."


def calendar_update_event(session, event_id, field, new_value):
    _needed(event_id=event_id, field=field, new_value=new_value)
    at = _field("events", field, FIELDS["events"][1:])
    if field == "event_start":
        new_value = _time(new_value, "event_start")
    elif field == "duration":
        new_value = _minutes(new_value)
    elif field == "participant_email":
        new_value = new_value.lower()
    _row(session, "events", event_id)
    _updated(session, "events", event_id, at, new_value)
    return "Event updated successfully."


# --- analytics -------------------------------------------------------------------------------------------


def analytics_get_visitor_information_by_id(session, visitor_id):
    _needed(visitor_id=visitor_id)
    rows = session.tables.visits.by_visitor.get(visitor_id)
    if not rows:
        raise ValueError(f"Visitor not found: no visitor has the ID {visitor_id!r:.40}. IDs are 4 digits, as text.")
    return [_record("visits", row) | {"user_engaged": row[5] == "True"} for row in rows]


def analytics_create_plot(session, time_min, time_max, value_to_plot, plot_type):
    _needed(time_min=time_min, time_max=time_max, value_to_plot=value_to_plot, plot_type=plot_type)
    _one_of(value_to_plot, PLOTTED, "Value to plot")
    _one_of(plot_type, PLOT_TYPES, "Plot type")
    # Any range is plotted, as in the public tool: a plot of a wrong range is a wrong action, not a refused one.
    path = f"plots/{time_min}_{time_max}_{value_to_plot}_{plot_type}.png"
    session.plots.append(path)
    return path


def _days(counts: dict, time_min: str, time_max: str) -> dict:
    """The days of a count that lie in a range, ends included."""
    first = _date(time_min, "time_min") if time_min else ""
    last = _date(time_max, "time_max") if time_max else "9"
    return {day: count for day, count in counts.items() if first <= day <= last}


def analytics_total_visits_count(session, time_min="", time_max=""):
    return _days(session.tables.visits.total, time_min, time_max)


def analytics_engaged_users_count(session, time_min="", time_max=""):
    return _days(session.tables.visits.engaged, time_min, time_max)


def analytics_traffic_source_count(session, time_min="", time_max="", traffic_source=""):
    visits = session.tables.visits
    if traffic_source:
        _one_of(traffic_source, SOURCES, "Traffic source")
    return _days(visits.sources[traffic_source] if traffic_source else visits.total, time_min, time_max)


def analytics_get_average_session_duration(session, time_min="", time_max=""):
    return _days(session.tables.visits.seconds, time_min, time_max)


# --- project management ----------------------------------------------------------------------------------


def project_management_get_task_information_by_id(session, task_id, field):
    _needed(task_id=task_id, field=field)
    at = _field("tasks", field, FIELDS["tasks"])
    return {field: _row(session, "tasks", task_id)[at]}


def project_management_search_tasks(session, task_name="", assigned_to_email="", list_name="", due_date="", board=""):
    wanted = [task_name, assigned_to_email, list_name, due_date, board]
    if not any(wanted):
        raise ValueError("No search parameters provided. Please provide at least one parameter.")
    if assigned_to_email and not _ADDRESS.fullmatch(assigned_to_email):
        raise ValueError(
            f"Invalid email format for assigned_to_email, got {assigned_to_email!r:.60}. "
            "Look it up with company_directory_find_email_address."
        )
    rows = [row for row, _ in session.rows("tasks")]
    for at, value in enumerate(wanted, 1):
        if value and at == 2:
            rows = [row for row in rows if (row[at] or "").lower() == value.lower()]
        elif value:
            rows = [row for row in rows if value.lower() in (row[at] or "").lower()]
    return [_record("tasks", row) for row in rows]


def _due(value: str) -> str:
    """A due date: a day without a time."""
    day = _date(value, "due_date")
    if day != value:
        raise ValueError(f"Invalid due_date, got {value!r:.60}. Expected a date as YYYY-MM-DD, without a time.")
    return day


def _assignee(session: Session, value: str) -> str:
    """The address of somebody on the team: those who have tasks."""
    value = value.lower()
    if not any((row[2] or "").lower() == value for row, _ in session.rows("tasks")):
        raise ValueError(
            f"Assignee email not valid, got {value!r:.60}. Please choose somebody of the team who has tasks; "
            "company_directory_find_email_address finds addresses."
        )
    return value


def project_management_create_task(session, task_name, assigned_to_email, list_name, due_date, board):
    _needed(
        task_name=task_name, assigned_to_email=assigned_to_email, list_name=list_name, due_date=due_date, board=board
    )
    assignee = _assignee(session, assigned_to_email)
    _one_of(list_name, LISTS, "List")
    _one_of(board, BOARDS, "Board")
    return session.add("tasks", (task_name, assignee, list_name, _due(due_date), board))


def project_management_delete_task(session, task_id):
    _needed(task_id=task_id)
    _row(session, "tasks", task_id)
    session.put("tasks", task_id, None)
    return "Task deleted successfully."


def project_management_update_task(session, task_id, field, new_value):
    _needed(task_id=task_id, field=field, new_value=new_value)
    at = _field("tasks", field, FIELDS["tasks"][1:])
    if field == "assigned_to_email":
        new_value = _assignee(session, new_value)
    elif field == "list_name":
        _one_of(new_value, LISTS, "List")
    elif field == "board":
        _one_of(new_value, BOARDS, "Board")
    elif field == "due_date":
        new_value = _due(new_value)
    _row(session, "tasks", task_id)
    _updated(session, "tasks", task_id, at, new_value)
    return "Task updated successfully."


# --- customer relationship manager -----------------------------------------------------------------------


def customer_relationship_manager_search_customers(
    session, customer_name="", customer_email="", product_interest="", status="", assigned_to_email="",
    last_contact_date_min="", last_contact_date_max="", follow_up_by_min="", follow_up_by_max="", page=1, page_size=5,
):  # fmt: skip
    parts = ((2, customer_name), (3, customer_email), (6, product_interest), (7, status), (1, assigned_to_email))
    ranges = ((5, last_contact_date_min, last_contact_date_max), (8, follow_up_by_min, follow_up_by_max))
    if not any(value for _, value in parts) and not any(low or high for _, low, high in ranges):
        raise ValueError("No search parameters provided. Please provide at least one parameter.")
    rows = [row for row, _ in session.rows("customers")]
    for at, value in parts:
        if value:
            rows = [row for row in rows if value.lower() in (row[at] or "").lower()]
    for at, low, high in ranges:
        name = FIELDS["customers"][at]
        low = _date(low, f"{name}_min") if low else ""
        high = _date(high, f"{name}_max") if high else ""
        if low or high:
            rows = [row for row in rows if row[at] and low <= row[at][:10] <= (high or "9")]
    return _page("customers", rows, page, page_size)


def customer_relationship_manager_update_customer(session, customer_id, field, new_value):
    _needed(customer_id=customer_id, field=field, new_value=new_value)
    at = _field("customers", field, FIELDS["customers"][1:])
    if field == "status":
        _one_of(new_value, STATUSES, "Status")
    elif field == "product_interest":
        _one_of(new_value, PRODUCTS, "Product interest")
    elif field in ("last_contact_date", "follow_up_by"):
        _date(new_value, field)
    elif field in ("customer_email", "assigned_to_email"):
        new_value = new_value.lower()
    _row(session, "customers", customer_id)
    _updated(session, "customers", customer_id, at, new_value)
    return "Customer updated successfully."


def customer_relationship_manager_add_customer(
    session, customer_name, assigned_to_email, status, customer_email="", customer_phone="", last_contact_date="",
    product_interest="", notes="", follow_up_by="",
):  # fmt: skip
    _needed(customer_name=customer_name, assigned_to_email=assigned_to_email, status=status)
    _one_of(status, STATUSES, "Status")
    if product_interest:
        _one_of(product_interest, PRODUCTS, "Product interest")
    if last_contact_date:
        _date(last_contact_date, "last_contact_date")
    if follow_up_by:
        _date(follow_up_by, "follow_up_by")
    values = (
        assigned_to_email.lower(), customer_name, customer_email.lower(), customer_phone, last_contact_date,
        product_interest, status, follow_up_by, notes,
    )  # fmt: skip
    return session.add("customers", tuple(value or None for value in values))


def customer_relationship_manager_delete_customer(session, customer_id):
    _needed(customer_id=customer_id)
    _row(session, "customers", customer_id)
    session.put("customers", customer_id, None)
    return "Customer deleted successfully."


# --- the list of tools -----------------------------------------------------------------------------------

ACTIONS: dict[str, Callable] = {
    name: value for name, value in list(globals().items()) if name.startswith(DOMAINS) and inspect.isfunction(value)
}
PARAMETERS = {name: tuple(inspect.signature(action).parameters)[1:] for name, action in ACTIONS.items()}
WRITES = frozenset(
    name for name in ACTIONS if re.search(r"_(send|delete|forward|reply|create|update|add)_(?!emails)", name)
)


def domain_of(tool: str) -> str:
    """The domain that a tool belongs to."""
    return next(domain for domain in DOMAINS if tool.startswith(domain))
