"""Answers without their segments: what a list of thousands shows of each, in a few bytes."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass, field
from typing import Any

from core.preferences import schema
from core.types import Choice
from core.version import COMMAND_LINE

_LIGHT = ("id", "left_segment", "right_segment", "choice", "labeller", "answered_at", "withdrawn", "repeats")


@dataclass(frozen=True, slots=True)
class ChoiceRevision:
    """The choice that an answer had until it was changed, and whose that was."""

    choice: Choice
    labeller: str
    changed_at: float
    """Seconds since the epoch."""
    newest: int
    """Number of the newest answer of then: clocks can be set back."""


@dataclass(frozen=True, slots=True)
class PreferenceSummary:
    """An answer as a list shows it; its segments are read when somebody looks at them."""

    id: int
    choice: Choice | None
    """None where it can't be read."""
    labeller: str
    answered_at: float
    withdrawn: bool = False
    repeats: int | None = None
    """The answer to the same pair, which this one repeats to see whether it is given again."""
    sides: tuple[int, int] = (0, 0)
    """Numbers of the segments, left and right: a repeat may have them swapped."""
    changes: tuple[ChoiceRevision, ...] = field(default=())
    """Oldest first."""
    trouble: str = ""
    """Why it can't be read, in one sentence; '' where it can."""

    def choice_at(self, newest: int) -> Choice | None:
        """The choice that it had when the answer of that number was given."""
        later = [change.choice for change in self.changes if change.newest >= newest]
        return later[0] if later else self.choice


_KINDS: dict[str, tuple[type | tuple[type, ...], bool]] = {
    **dict.fromkeys(("id", "left_segment", "right_segment", "query"), (int, False)),
    **dict.fromkeys(("choice", "labeller"), (str, False)),
    **{"answered_at": ((int, float), False), "repeats": (int, True)},
    **dict.fromkeys(("disagreement", "left_return", "right_return", "pool_worst", "pool_mean"), ((int, float), True)),
}
"""Of each column of an answer: what its value must be, and whether there may be none."""


def read_rows(db: sqlite3.Connection, key: int | None = None) -> list[PreferenceSummary]:
    """Every answer, or the one with that number, in the order given. Reads no segment.

    One that can't be read is there too, with the sentence that says so.
    """
    changes = _all_changes(db)
    condition, values = ("", ()) if key is None else (" WHERE id = ?", (key,))
    found = db.execute(f"SELECT {schema.columns(db, _LIGHT)} FROM preferences{condition} ORDER BY id", values)
    return [_row(row, changes.get(row[0], [])) for row in found]


def _all_changes(db: sqlite3.Connection) -> dict[int, list[Any]]:
    """By answer, oldest first; none in a store of a version that kept none."""
    changes: dict[int, list[Any]] = {}
    if schema.has_changes(db):
        for row in db.execute("SELECT preference, choice, labeller, changed_at, newest FROM changes ORDER BY id"):
            changes.setdefault(row[0], []).append(row[1:])
    return changes


def changes_of(db: sqlite3.Connection, key: int) -> list[tuple[Any, ...]]:
    """Choice, labeller, time and newest answer of each change of this answer, oldest first."""
    if not schema.has_changes(db):
        return []
    wanted = "SELECT choice, labeller, changed_at, newest FROM changes WHERE preference = ? ORDER BY id"
    return db.execute(wanted, (key,)).fetchall()


def change(values: tuple[Any, ...] | list[Any]) -> ChoiceRevision:
    """From choice, labeller, time and newest answer; ValueError or TypeError where they are something else."""
    choice, labeller, changed_at, newest = values
    return ChoiceRevision(Choice(choice), str(labeller), float(changed_at), int(newest))


def require_numbers(row: tuple[Any, ...]) -> None:
    """row: id, then schema.COLUMNS. ValueError where one that must be a number is none, or infinite."""
    values = dict(zip(("id", *schema.COLUMNS), row, strict=True))
    for name, value in values.items():
        kinds, may_lack = _KINDS[name]
        if value is None and may_lack:
            continue
        if not isinstance(value, kinds) or isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"the {name} of number {values['id']} is {value!r:.40}")


def unreadable(key: int, error: BaseException) -> str:
    """One sentence, short enough for a row of a list."""
    return f"Answer {key} can't be read ({error}): {COMMAND_LINE} preferences export saves those that are whole."


def _row(values: tuple[Any, ...], changes: list[Any]) -> PreferenceSummary:
    key, left, right, choice, labeller, answered_at, withdrawn, repeats = values
    try:
        done = tuple(change(values) for values in changes)
        times = Choice(choice), str(labeller), float(answered_at)
        return PreferenceSummary(key, *times, bool(withdrawn), repeats, (int(left), int(right)), done)
    except (ValueError, TypeError) as error:
        return PreferenceSummary(key, None, "", 0.0, trouble=unreadable(key, error))
