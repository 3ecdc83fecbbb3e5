"""What a completion did to the tables, beside what its task wants: for people who look at rollouts."""

from typing import NamedTuple

from .grading import _replay, calls_in
from .larkfield import company
from .matching import _folded, paired
from .office import WorkplaceEnv, goal_of
from .tables import FIELDS, Row, Tables


class Change(NamedTuple):
    """One field that was changed or should have been; None stands for a row that is not there."""

    table: str
    row: str  # its ID; "new" for one that was added
    field: str
    before: str | None
    made: str | None
    wanted: str | None
    right: bool  # made and wanted mean the same to the verifier


def changes(completion: str | list[dict] | None, row: dict, tables: Tables | None = None) -> list[Change]:
    """The fields in which the tables before, after the completion and as the task wants them are not all the same.

    Args:
        completion: What the model said: text, or chat messages, whose tool calls are replayed.
        row: The task.
        tables: Another company than the built-in one, as `load_tables` returns it.
    """
    env = WorkplaceEnv()
    env._begin(row["task"], tables or company())
    for call in calls_in(completion):
        try:
            _replay(env, call)
        except (ValueError, TypeError):  # a refused call changes nothing
            continue
    made, goal = env._session, goal_of(row["task"], env._tables).session
    found: list[Change] = []
    for table in made.tables.by_name:
        base = made.tables[table].rows
        mine, theirs = made.changes.get(table, {}), goal.changes.get(table, {})
        for key in dict.fromkeys([*theirs, *mine]):
            if key in base:
                found += _fields(table, key, base[key], mine.get(key, base[key]), theirs.get(key, base[key]))
        added = [[new for key, new in side.items() if key not in base and new] for side in (mine, theirs)]
        for one, other in paired(table, *added):
            found += _fields(table, "new", None, one, other)
    return found + _plots(list(made.plots), goal.plots)


def _plots(made: list[str], wanted: list[str]) -> list[Change]:
    found = []
    for path in wanted:
        right = path in made
        if right:
            made.remove(path)
        found.append(Change("plots", "new", "path", None, path if right else None, path, right))
    return found + [Change("plots", "new", "path", None, path, None, False) for path in made]


def _fields(table: str, key: str, before: Row | None, made: Row | None, wanted: Row | None) -> list[Change]:
    """Field by field where the three differ; of a row that is deleted only the field that names it."""
    names = FIELDS[table]
    deleted = before is not None and (made is None or wanted is None)
    at = [names.index(_NAMING[table])] if deleted else range(key == "new", len(names))
    folded = [_folded(table, row) if row else None for row in (made, wanted)]
    found = []
    for i in at:
        was, is_now, should = (row[i] if row else None for row in (before, made, wanted))
        right = folded[0] is folded[1] is None or (None not in folded and folded[0][i] == folded[1][i])
        if was != is_now or was != should:
            found.append(Change(table, key, names[i], was, is_now, should, right))
    return found


_NAMING = {"emails": "subject", "events": "event_name", "tasks": "task_name", "customers": "customer_name"}
