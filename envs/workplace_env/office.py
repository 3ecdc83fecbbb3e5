# SPDX-License-Identifier: Apache-2.0
"""The environment: a session of an office assistant with 27 tools."""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from .actions import ACTIONS, DOMAINS, PARAMETERS, WRITES, domain_of
from .completions import arguments_of
from .larkfield import company
from .matching import differences, path_fault
from .tables import Session, Tables

MATCHES = ("state", "trajectory")


class Task(NamedTuple):
    """What the task column of a row says."""

    query: str
    ground_truth: tuple[tuple[str, object], ...]  # tools and their arguments, as text or as an object
    match: str
    domains: tuple[str, ...]
    check: tuple[frozenset[str], str] | None  # where nothing is to be changed: with which tools one must see what


class Goal(NamedTuple):
    """What a task wants: the session that its ground truth ends in, the calls on the way, and what is wrong with it."""

    session: Session
    path: tuple[tuple, ...]
    fault: str


class WorkplaceEnv:
    """A session of an office assistant. Reward 1 if the company is left as the task wants it, whatever the way."""

    _own: Tables | None = None  # another company than the built-in one, see `env_for`

    def reset(self, *, prompt=None, task: str | None = None, **_) -> str | None:
        """Begin the task in `task`; without one, a small built-in task."""
        self._begin(task or _SMALL, self._own or company())
        return None if prompt else briefing(self._tables) + "\n\n" + self._task.query

    def get_reward(self) -> float | None:
        """1.0 if the task is done and nothing else, else 0.0; None if its ground truth can't be carried out."""
        goal = goal_of(self._text, self._tables)
        self.metrics = {
            "calls": float(self._calls),
            "refused": float(self._refused),
            "writes": float(self._writes),
            "nothing_to_do": float(not any(name in WRITES for name, *_ in goal.path)),
        }
        return None if goal.fault else float(not self._faults())

    def _begin(self, task: str, tables: Tables) -> None:
        self._task = read_task(task)
        self._text = task
        self._tables = tables
        self._session = Session(tables)
        self._path: list[tuple] = []  # the accepted calls, kept where the path counts
        self._calls = self._refused = self._writes = 0
        self._checked = self._task.check is None
        self.metrics = {}

    def _faults(self) -> list[str]:
        """What is wrong with the session, worst first."""
        goal = goal_of(self._text, self._tables)
        if self._task.match == "state":
            faults = differences(self._session, goal.session)
        else:
            fault = path_fault(self._path, list(goal.path), WRITES)
            faults = [fault] if fault else []
        if not faults and not self._checked:
            return ["no answer: what the task asks to check was not looked up"]
        return faults

    def _run(self, name: str, *values) -> str:
        """Carry out a call. A refused one raises ValueError and changes nothing but the count of calls."""
        self._calls += 1
        self._refused += 1
        if domain_of(name) not in self._task.domains:
            raise ValueError(f"there is no tool {name!r} here; the tools are {', '.join(_tools(self._task.domains))}")
        values = tuple(_value(parameter, value) for parameter, value in zip(PARAMETERS[name], values))
        result = ACTIONS[name](self._session, *values)
        self._refused -= 1
        self._writes += name in WRITES
        if self._task.match == "trajectory":
            self._path.append((name, *values))
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, separators=(",", ":"))
        if not self._checked and name in self._task.check[0]:
            self._checked = self._task.check[1] in f"{values} {text}".lower()
        return text

    def company_directory_find_email_address(self, name: str = "") -> str:
        """Finds all email addresses containing the given name (case-insensitive search).

        Args:
            name: Name or partial name to search for in email addresses

        Returns:
            The addresses as a JSON list.
        """
        return self._run("company_directory_find_email_address", name)

    def email_get_email_information_by_id(self, email_id: str, field: str) -> str:
        """Retrieves specific details of an email by its ID.

        Args:
            email_id: Unique ID of the email
            field: Specific field to return. Available fields: 'email_id', 'inbox/outbox', 'sender/recipient', 'subject', 'sent_datetime', 'body'

        Returns:
            The information as JSON.
        """  # noqa: E501
        return self._run("email_get_email_information_by_id", email_id, field)

    def email_search_emails(
        self, query: str = "", date_min: str = "", date_max: str = "", page: int = 1, page_size: int = 5
    ) -> str:
        """Searches for emails matching the given query across subject, body, or sender fields. The function matches an email if all words in the query appear in any of these fields.

        Args:
            query: Search query, matching terms in subject, body, or sender/recipient fields
            date_min: Lower date limit for the email's sent date (inclusive). Format: YYYY-MM-DD
            date_max: Upper date limit for the email's sent date (inclusive). Format: YYYY-MM-DD
            page: Page number of results to return
            page_size: Number of emails per page

        Returns:
            The page of matches as JSON, with the number of all matches.
        """  # noqa: E501
        return self._run("email_search_emails", query, date_min, date_max, page, page_size)

    def email_send_email(self, recipient: str, subject: str, body: str) -> str:
        """Sends an email to the specified recipient.

        Args:
            recipient: Email address of the recipient
            subject: Subject line of the email
            body: Body content of the email

        Returns:
            Whether it was done.
        """
        return self._run("email_send_email", recipient, subject, body)

    def email_delete_email(self, email_id: str) -> str:
        """Deletes an email by its ID.

        Args:
            email_id: Unique ID of the email to be deleted

        Returns:
            Whether it was done.
        """
        return self._run("email_delete_email", email_id)

    def email_forward_email(self, email_id: str, recipient: str) -> str:
        """Forwards an email to the specified recipient.

        Args:
            email_id: Unique ID of the email to be forwarded
            recipient: Email address of the recipient

        Returns:
            Whether it was done.
        """
        return self._run("email_forward_email", email_id, recipient)

    def email_reply_email(self, email_id: str, body: str) -> str:
        """Replies to an email by its ID.

        Args:
            email_id: Unique ID of the email to be replied
            body: Body content of the email

        Returns:
            Whether it was done.
        """
        return self._run("email_reply_email", email_id, body)

    def calendar_get_event_information_by_id(self, event_id: str, field: str) -> str:
        """Returns the event for a given ID.

        Args:
            event_id: 8-digit ID of the event
            field: Field to return. Available fields are: 'event_id', 'event_name', 'participant_email', 'event_start', 'duration'

        Returns:
            The information as JSON.
        """  # noqa: E501
        return self._run("calendar_get_event_information_by_id", event_id, field)

    def calendar_search_events(
        self, query: str = "", time_min: str = "", time_max: str = "", page: int = 1, page_size: int = 5
    ) -> str:
        """Returns the events for a given query with pagination support.

        Args:
            query: Query to search for. Terms will be matched in the event_name and participant_email fields
            time_min: Lower bound (inclusive) for an event's end time to filter by. Format: YYYY-MM-DD HH:MM:SS
            time_max: Upper bound (inclusive) for an event's start time to filter by. Format: YYYY-MM-DD HH:MM:SS
            page: Page number of results to return
            page_size: Number of events per page

        Returns:
            The page of matches as JSON, with the number of all matches.
        """
        return self._run("calendar_search_events", query, time_min, time_max, page, page_size)

    def calendar_create_event(self, event_name: str, participant_email: str, event_start: str, duration: str) -> str:
        """Creates a new event.

        Args:
            event_name: Name of the event
            participant_email: Email of the participant
            event_start: Start time of the event. Format: YYYY-MM-DD HH:MM:SS
            duration: Duration of the event in minutes

        Returns:
            The new ID.
        """
        return self._run("calendar_create_event", event_name, participant_email, event_start, duration)

    def calendar_delete_event(self, event_id: str) -> str:
        """Deletes an event.

        Args:
            event_id: 8-digit ID of the event

        Returns:
            Whether it was done.
        """
        return self._run("calendar_delete_event", event_id)

    def calendar_update_event(self, event_id: str, field: str, new_value: str) -> str:
        """Updates an event.

        Args:
            event_id: 8-digit ID of the event
            field: Field to update. Available fields are: 'event_name', 'participant_email', 'event_start', 'duration'
            new_value: New value for the field

        Returns:
            Whether it was done.
        """
        return self._run("calendar_update_event", event_id, field, new_value)

    def analytics_get_visitor_information_by_id(self, visitor_id: str) -> str:
        """Returns the analytics data for a given visitor ID.

        Args:
            visitor_id: ID of the visitor

        Returns:
            The information as JSON.
        """
        return self._run("analytics_get_visitor_information_by_id", visitor_id)

    def analytics_create_plot(self, time_min: str, time_max: str, value_to_plot: str, plot_type: str) -> str:
        """Plots the analytics data for a given time range and value.

        Args:
            time_min: Start date of the time range. Date format is YYYY-MM-DD
            time_max: End date of the time range. Date format is YYYY-MM-DD
            value_to_plot: Value to plot. Available values are: 'total_visits', 'session_duration_seconds', 'user_engaged', 'visits_direct', 'visits_referral', 'visits_search_engine', 'visits_social_media'
            plot_type: Type of plot. Can be 'bar', 'line', 'scatter' or 'histogram'

        Returns:
            The path of the plot.
        """  # noqa: E501
        return self._run("analytics_create_plot", time_min, time_max, value_to_plot, plot_type)

    def analytics_total_visits_count(self, time_min: str = "", time_max: str = "") -> str:
        """Returns the total number of visits within a specified time range.

        Args:
            time_min: Start date of the time range. Date format is YYYY-MM-DD
            time_max: End date of the time range. Date format is YYYY-MM-DD

        Returns:
            The number for each day as JSON.
        """
        return self._run("analytics_total_visits_count", time_min, time_max)

    def analytics_engaged_users_count(self, time_min: str = "", time_max: str = "") -> str:
        """Returns the number of engaged users within a specified time range.

        Args:
            time_min: Start date of the time range. Date format is YYYY-MM-DD
            time_max: End date of the time range. Date format is YYYY-MM-DD

        Returns:
            The number for each day as JSON.
        """
        return self._run("analytics_engaged_users_count", time_min, time_max)

    def analytics_traffic_source_count(self, time_min: str = "", time_max: str = "", traffic_source: str = "") -> str:
        """Returns the number of visits from a specific traffic source within a specified time range.

        Args:
            time_min: Start date of the time range. Date format is YYYY-MM-DD
            time_max: End date of the time range. Date format is YYYY-MM-DD
            traffic_source: Traffic source to filter the visits. Available values are: 'direct', 'referral', 'search engine', 'social media'

        Returns:
            The number for each day as JSON.
        """  # noqa: E501
        return self._run("analytics_traffic_source_count", time_min, time_max, traffic_source)

    def analytics_get_average_session_duration(self, time_min: str = "", time_max: str = "") -> str:
        """Returns the average session duration within a specified time range.

        Args:
            time_min: Start date of the time range. Date format is YYYY-MM-DD
            time_max: End date of the time range. Date format is YYYY-MM-DD

        Returns:
            The average in seconds for each day as JSON.
        """
        return self._run("analytics_get_average_session_duration", time_min, time_max)

    def project_management_get_task_information_by_id(self, task_id: str, field: str) -> str:
        """Returns the task information for a given ID.

        Args:
            task_id: 8-digit ID of the task
            field: Field to return. Available fields are: 'task_id', 'task_name', 'assigned_to_email', 'list_name', 'due_date', 'board'

        Returns:
            The information as JSON.
        """  # noqa: E501
        return self._run("project_management_get_task_information_by_id", task_id, field)

    def project_management_search_tasks(
        self, task_name: str = "", assigned_to_email: str = "", list_name: str = "", due_date: str = "", board: str = ""
    ) -> str:
        """Searches for tasks based on the given parameters.

        Args:
            task_name: Name of the task
            assigned_to_email: Email address of the person assigned to the task
            list_name: Name of the list the task belongs to
            due_date: Due date of the task in YYYY-MM-DD format
            board: Name of the board the task belongs to

        Returns:
            The matching tasks as a JSON list.
        """
        return self._run("project_management_search_tasks", task_name, assigned_to_email, list_name, due_date, board)

    def project_management_create_task(
        self, task_name: str, assigned_to_email: str, list_name: str, due_date: str, board: str
    ) -> str:
        """Creates a new task.

        Args:
            task_name: Name of the task
            assigned_to_email: Email address of the person assigned to the task
            list_name: Name of the list the task belongs to. One of: 'Backlog', 'In Progress', 'In Review', 'Completed'
            due_date: Due date of the task in YYYY-MM-DD format
            board: Name of the board the task belongs to. One of: 'Back end', 'Front end', 'Design'

        Returns:
            The new ID.
        """
        return self._run("project_management_create_task", task_name, assigned_to_email, list_name, due_date, board)

    def project_management_delete_task(self, task_id: str) -> str:
        """Deletes a task by ID.

        Args:
            task_id: 8-digit ID of the task

        Returns:
            Whether it was done.
        """
        return self._run("project_management_delete_task", task_id)

    def project_management_update_task(self, task_id: str, field: str, new_value: str) -> str:
        """Updates a task by ID.

        Args:
            task_id: 8-digit ID of the task
            field: Field to update. Available fields are: 'task_name', 'assigned_to_email', 'list_name', 'due_date', 'board'
            new_value: New value for the field

        Returns:
            Whether it was done.
        """  # noqa: E501
        return self._run("project_management_update_task", task_id, field, new_value)

    def customer_relationship_manager_search_customers(
        self,
        customer_name: str = "",
        customer_email: str = "",
        product_interest: str = "",
        status: str = "",
        assigned_to_email: str = "",
        last_contact_date_min: str = "",
        last_contact_date_max: str = "",
        follow_up_by_min: str = "",
        follow_up_by_max: str = "",
        page: int = 1,
        page_size: int = 5,
    ) -> str:
        """Searches for customers based on the given parameters with pagination support.

        Args:
            customer_name: Name of the customer
            customer_email: Email address of the customer
            product_interest: Product interest of the customer
            status: Current status of the customer
            assigned_to_email: Email address of the person assigned to the customer
            last_contact_date_min: Minimum last contact date. Format: YYYY-MM-DD
            last_contact_date_max: Maximum last contact date. Format: YYYY-MM-DD
            follow_up_by_min: Minimum follow up date. Format: YYYY-MM-DD
            follow_up_by_max: Maximum follow up date. Format: YYYY-MM-DD
            page: Page number of results to return
            page_size: Number of customers per page

        Returns:
            The page of matches as JSON, with the number of all matches.
        """
        return self._run(
            "customer_relationship_manager_search_customers",
            customer_name,
            customer_email,
            product_interest,
            status,
            assigned_to_email,
            last_contact_date_min,
            last_contact_date_max,
            follow_up_by_min,
            follow_up_by_max,
            page,
            page_size,
        )

    def customer_relationship_manager_update_customer(self, customer_id: str, field: str, new_value: str) -> str:
        """Updates a customer record by ID.

        Args:
            customer_id: ID of the customer
            field: Field to update. Available fields are: 'customer_name', 'assigned_to_email', 'customer_email', 'customer_phone', 'last_contact_date', 'product_interest', 'status', 'notes', 'follow_up_by'
            new_value: New value for the field

        Returns:
            Whether it was done.
        """  # noqa: E501
        return self._run("customer_relationship_manager_update_customer", customer_id, field, new_value)

    def customer_relationship_manager_add_customer(
        self,
        customer_name: str,
        assigned_to_email: str,
        status: str,
        customer_email: str = "",
        customer_phone: str = "",
        last_contact_date: str = "",
        product_interest: str = "",
        notes: str = "",
        follow_up_by: str = "",
    ) -> str:
        """Adds a new customer record.

        Args:
            customer_name: Name of the customer
            assigned_to_email: Email address of the person assigned to the customer
            status: Current status of the customer. One of: 'Qualified', 'Won', 'Lost', 'Lead', 'Proposal'
            customer_email: Email address of the customer
            customer_phone: Phone number of the customer
            last_contact_date: The last date the customer was contacted. Format: YYYY-MM-DD
            product_interest: Product interest of the customer. One of: 'Software', 'Hardware', 'Services', 'Consulting', 'Training'
            notes: Notes about the customer
            follow_up_by: Date for the next follow up. Format: YYYY-MM-DD

        Returns:
            The new ID.
        """  # noqa: E501
        return self._run(
            "customer_relationship_manager_add_customer",
            customer_name,
            assigned_to_email,
            status,
            customer_email,
            customer_phone,
            last_contact_date,
            product_interest,
            notes,
            follow_up_by,
        )

    def customer_relationship_manager_delete_customer(self, customer_id: str) -> str:
        """Deletes a customer record by ID.

        Args:
            customer_id: ID of the customer

        Returns:
            Whether it was done.
        """
        return self._run("customer_relationship_manager_delete_customer", customer_id)


ENV = WorkplaceEnv
_SMALL = json.dumps(
    {
        "query": "Email Ada with the title 'Hello' and the text 'Nice to meet you.'",
        "ground_truth": [
            {
                "name": "email_send_email",
                "arguments": '{"recipient": "ada.lindqvist@larkfield.example", "subject": "Hello", '
                '"body": "Nice to meet you."}',
            }
        ],
    }
)


def env_for(tables: Tables | None = None, domains: Iterable[str] = DOMAINS) -> type[WorkplaceEnv]:
    """The environment's class for another company or with fewer tools, to hand to a trainer.

    Args:
        tables: The company, as `load_tables` returns it; None is the built-in one.
        domains: The tool boxes whose tools it has; that of the directory is always among them.

    Raises:
        ValueError: there is no such tool box.
    """
    wanted = {"company_directory", *domains}
    if unknown := sorted(wanted - set(DOMAINS)):
        raise ValueError(f"domains holds {unknown[0]!r}; choose from {', '.join(DOMAINS)}")
    hidden = {name: None for name in ACTIONS if domain_of(name) not in wanted}  # a trainer offers what is a function
    return type("WorkplaceEnv", (WorkplaceEnv,), hidden | {"_own": tables, "__doc__": WorkplaceEnv.__doc__})


def briefing(tables: Tables) -> str:
    """The system message: what day and time it is, and the rule for meetings."""
    return (
        f"Today's date is {tables.weekday}, {tables.now[:10]} and the current time is {tables.now[11:]}. "
        "Remember the current date and time when answering queries. "
        "Meetings must not start before 9am or end after 6pm."
    )


@lru_cache(maxsize=4096)  # a task is read once for all completions of its group
def read_task(text: str) -> Task:
    """Read a task column.

    Raises:
        ValueError: it is not a task of this environment.
    """
    fields = json.loads(text)
    if not isinstance(fields, dict) or not isinstance(fields.get("ground_truth"), list):
        raise ValueError(f"the task must be a JSON object with a list called ground_truth, got {text!r:.80}")
    truth = []
    for call in fields["ground_truth"]:
        if not isinstance(call, dict) or call.get("name") not in ACTIONS:
            raise ValueError(f"ground_truth holds {call!r:.80}; it must hold calls of the {len(ACTIONS)} tools")
        truth.append((call["name"], call.get("arguments")))
    match = fields.get("match") or "state"
    if match not in MATCHES:
        raise ValueError(f"match must be one of {', '.join(MATCHES)}, got {match!r:.40}")
    domains = fields.get("domains") or DOMAINS
    if unknown := [domain for domain in domains if domain not in DOMAINS]:
        raise ValueError(f"domains holds {unknown[0]!r:.40}; choose from {', '.join(DOMAINS)}")
    query = fields.get("query") or "Carry out the task."
    check = fields.get("check")
    check = (frozenset(check["tools"]), check["text"].lower()) if check else None
    domains = tuple(d for d in DOMAINS if d in domains or d == "company_directory")
    return Task(query, tuple(truth), match, domains, check)


@lru_cache(maxsize=4096)
def goal_of(text: str, tables: Tables) -> Goal:
    """Carry out the ground truth of a task."""
    session, path, fault = Session(tables), [], ""
    for name, arguments in read_task(text).ground_truth:
        given, wrong = arguments_of(arguments)
        try:
            if wrong:
                raise ValueError(wrong)
            values = _in_order(name, given)
            ACTIONS[name](session, *values)
            path.append((name, *values))
        except ValueError as error:
            if name in WRITES:
                fault = fault or f"{name} of the ground truth is refused: {error}"
    return Goal(session, tuple(path), fault)


def _in_order(name: str, arguments: dict) -> tuple:
    """Arguments by name as the values that the tool takes, in order, defaults filled in."""
    method = getattr(WorkplaceEnv, name)
    values = dict(zip(reversed(PARAMETERS[name]), reversed(method.__defaults__ or ()))) | arguments
    if set(values) != set(PARAMETERS[name]):
        raise ValueError(f"{name} takes {', '.join(PARAMETERS[name])}, got {', '.join(map(str, arguments))}")
    return tuple(_value(parameter, values[parameter]) for parameter in PARAMETERS[name])


def _value(name: str, value):
    """An argument as the tool takes it: numbers become text where that is harmless; other wrong types are refused."""
    if name in ("page", "page_size"):
        if isinstance(value, str) and value.strip().isdecimal():
            value = int(value[:20])
        if type(value) is not int:
            raise ValueError(f"{name} must be a whole number, got {value!r:.40}")
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is int and not name.endswith("_id"):
        value = str(value)
    if not isinstance(value, str):
        more = "; IDs are text, leading zeros and all" if name.endswith("_id") else ""
        more = "; leave it out instead" if value is None else more
        raise ValueError(f"{name} must be text, got {value!r:.40}{more}")
    if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
        raise ValueError(f"{name} holds half a character; write plain text")
    return value.strip()


@lru_cache
def _tools(domains: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in ACTIONS if domain_of(name) in domains)


def tools_for(row: dict) -> list[str]:
    """Names of the tools that a row offers: those of its domains, all 27 if it names none."""
    return list(_tools(read_task(row["task"]).domains))
