# SPDX-License-Identifier: Apache-2.0
"""The two verifiers of the field: do two sessions end in the same state, and do two lists of calls agree.

State match follows the public rules: every field of the four tables and the list of plots, where the case of letters
counts only in status, list_name and board. New rows are compared by what they say, not by their ID or their order.
"""

import re
import unicodedata
from typing import NamedTuple

from .tables import FIELDS, Row, Session

_EXACT = frozenset(("status", "list_name", "board"))
_FOLDED = {name: tuple(field not in _EXACT for field in fields) for name, fields in FIELDS.items()}
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2})(:[0-9]{2})?")
_WHOLE = re.compile(r"^([0-9]+)\.0+$")
_KINDS = ("missing write", "wrong value", "side effect")  # in the order in which they are told


def _folded(table: str, row: Row) -> tuple[str, ...]:
    """A row as it is compared."""
    return tuple(_text(value or "", fold) for value, fold in zip(row, _FOLDED[table]))


def _text(value: str, fold: bool) -> str:
    """A value as it is compared: white space around it and the way in which accents are coded don't count."""
    value = value.strip() if value.isascii() else unicodedata.normalize("NFC", value).strip()
    return value.replace("\r\n", "\n").lower() if fold else value


def differences(made: Session, wanted: Session) -> list[str]:
    """What a session has to differ from the wanted one, worst first: empty if they end in the same state."""
    found: list[str] = []
    for table in made.tables.by_name:
        old, new = made.changes.get(table, {}), wanted.changes.get(table, {})
        if old or new:
            found += _in_table(table, made.tables[table].rows, old, new)
    plots, left = sorted(made.plots), []
    for path in wanted.plots:
        if path in plots:
            plots.remove(path)
        else:
            left.append(path)
    found += [f"missing write: no plot {path}" for path in left]
    found += [f"side effect: {path} was plotted" for path in plots]
    return sorted(found, key=lambda text: _KINDS.index(text.partition(":")[0]))


def _in_table(table: str, base: dict[str, Row], old: dict, new: dict) -> list[str]:
    found, what = [], table[:-1]
    for key in [*new, *(key for key in old if key not in new)]:
        if key not in base:
            continue
        before = base[key]
        has, should = old.get(key, before), new.get(key, before)
        if has is should:
            continue
        if should is None:
            found.append(f"missing write: {what} {key} is still there, should be deleted")
        elif has is None:
            found.append(f"side effect: {what} {key} was deleted")
        else:
            found += _in_row(f"{what} {key}", table, before, has, should)
    extra = [row for key, row in old.items() if key not in base and row]
    lacking = [row for key, row in new.items() if key not in base and row]
    if extra or lacking:
        found += _new_rows(table, extra, lacking)
    return found


def _in_row(what: str, table: str, before: Row, has: Row, should: Row) -> list[str]:
    """Where a row that was there before differs."""
    found = []
    fields = zip(FIELDS[table], _folded(table, before), _folded(table, has), _folded(table, should), has, should)
    for field, was, a, b, shown, right in fields:
        if a == b:
            continue
        if a == was:
            found.append(f"missing write: {what}: {field} is still {shown!r:.80}, should be {right!r:.80}")
        elif b == was:
            found.append(f"side effect: {what}: {field} was changed to {shown!r:.80}")
        else:
            found.append(f"wrong value: {what}: {field} is {shown!r:.80}, should be {right!r:.80}")
    return found


def _new_rows(table: str, extra: list[Row], lacking: list[Row]) -> list[str]:
    """Where the rows that were added differ."""
    found, what = [], table[:-1]
    for made, wanted in paired(table, extra, lacking):
        if made is None:
            found.append(f"missing write: no new {what} {_shown(table, wanted)}")
        elif wanted is None:
            found.append(f"side effect: new {what} {_shown(table, made)}")
        else:
            fields = zip(FIELDS[table], _folded(table, made), _folded(table, wanted), made, wanted)
            for field, a, b, shown, right in list(fields)[1:]:
                if a != b:
                    found.append(f"wrong value: new {what}: {field} is {shown!r:.80}, should be {right!r:.80}")
    return found


def paired(table: str, extra: list[Row], lacking: list[Row]) -> list[tuple[Row | None, Row | None]]:
    """Rows that were added beside those that were wanted: equal ones first, then each wanted one with the one most like
    it, if that has half of its values at least; the rest stand alone. IDs don't count."""
    rest = [(_folded(table, row)[1:], row) for row in extra]
    pairs: list[tuple[Row | None, Row | None]] = []
    missing = []
    for row in lacking:
        folded = _folded(table, row)[1:]
        at = next((i for i, (other, _) in enumerate(rest) if other == folded), None)
        if at is None:
            missing.append((folded, row))
        else:
            pairs.append((rest.pop(at)[1], row))
    for folded, row in missing:
        alike = [sum(a == b for a, b in zip(other, folded)) for other, _ in rest]
        best = max(range(len(rest)), key=alike.__getitem__, default=None)
        close = best is not None and 2 * alike[best] >= len(folded)
        pairs.append((rest.pop(best)[1] if close else None, row))
    return pairs + [(row, None) for _, row in rest]


def _shown(table: str, row: Row) -> str:
    """What tells a new row apart, in a few words."""
    named = {
        "emails": ("sender/recipient", "subject"),
        "events": ("event_name", "participant_email", "event_start"),
        "tasks": ("task_name", "assigned_to_email"),
        "customers": ("customer_name",),
    }[table]
    return ", ".join(f"{field}={row[FIELDS[table].index(field)]!r:.60}" for field in named)


def path_fault(made: list[tuple], wanted: list[tuple], writes: frozenset[str]) -> str:
    """Where a path of calls leaves the golden one, empty if it doesn't. Extra calls that only read are free."""
    at = 0
    for call in made:
        if at < len(wanted) and _same(call, wanted[at]):
            at += 1
        elif call[0] in writes:
            if any(_same(call, later) for later in wanted[at:]):
                return f"wrong order: {_call(call)} before {_call(wanted[at])}"
            if at == len(wanted):
                return f"side effect: {_call(call)} after the golden path had ended"
            if call[0] == wanted[at][0]:
                return f"wrong value: {_call(call)}, should be {_call(wanted[at])}"
            return f"side effect: {_call(call)}, the golden path goes on with {wanted[at][0]}"
    if at < len(wanted):
        return f"missing write: {_call(wanted[at])}, call {at + 1} of {len(wanted)} of the golden path"
    return ""


def _same(a: tuple, b: tuple) -> bool:
    return a[0] == b[0] and all(_plain(x) == _plain(y) for x, y in zip(a[1:], b[1:]))


def _plain(value):
    """An argument as it is compared: letters in lower case, 30.0 as 30, a moment as the tables write it."""
    if not isinstance(value, str):
        return value
    found = _MOMENT.fullmatch(value)
    return f"{found[1]} {found[2]}{found[3] or ':00'}" if found else _WHOLE.sub(r"\1", value.lower())


def _call(call: tuple) -> str:
    return f"{call[0]}({', '.join(f'{value!r:.60}' for value in call[1:])})"


# --- what was changed, for people who look at rollouts ---------------------------------------------------


class Change(NamedTuple):
    """One field that was changed or should have been; None stands for a row that is not there."""

    table: str
    row: str  # its ID; "new" for one that was added
    field: str
    before: str | None
    made: str | None
    wanted: str | None
    right: bool  # made and wanted mean the same to the verifier


def changes_of(made: Session, wanted: Session) -> list[Change]:
    """The fields in which the tables before, as they were left and as they are wanted are not all the same."""
    found: list[Change] = []
    for table in made.tables.by_name:
        base = made.tables[table].rows
        mine, theirs = made.changes.get(table, {}), wanted.changes.get(table, {})
        for key in dict.fromkeys([*theirs, *mine]):
            if key in base:
                found += _fields(table, key, base[key], mine.get(key, base[key]), theirs.get(key, base[key]))
        added = [[new for key, new in side.items() if key not in base and new] for side in (mine, theirs)]
        for one, other in paired(table, *added):
            found += _fields(table, "new", None, one, other)
    return found + _plots(list(made.plots), wanted.plots)


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
