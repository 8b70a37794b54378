"""The durable store of answers: one SQLite file, each answer on disk before the next pair shows.

Write-ahead log with full sync: when `add` returns, the answer survives a kill or a power cut. Segments are kept in
the same transaction as the answer that refers to them. An answer taken back stays in the file, marked as withdrawn.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from core import seals
from core.errors import UserError
from core.programs import COMMAND_LINE
from core.records import Choice, PoolReturns, Preference, Query, Segment

_SCHEMA = """
CREATE TABLE IF NOT EXISTS segments (
    id INTEGER PRIMARY KEY,
    env_steps INTEGER NOT NULL,
    arrays BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS preferences (
    id INTEGER PRIMARY KEY,
    left_segment INTEGER NOT NULL REFERENCES segments (id),
    right_segment INTEGER NOT NULL REFERENCES segments (id),
    query INTEGER NOT NULL,
    disagreement REAL,
    choice TEXT NOT NULL,
    labeller TEXT NOT NULL,
    answered_at REAL NOT NULL,
    withdrawn INTEGER NOT NULL DEFAULT 0,
    left_return REAL,
    right_return REAL,
    pool_worst REAL,
    pool_mean REAL
);
"""
_FROM_VERSION_1 = """
BEGIN IMMEDIATE;
ALTER TABLE preferences ADD COLUMN left_return REAL;
ALTER TABLE preferences ADD COLUMN right_return REAL;
ALTER TABLE preferences ADD COLUMN pool_worst REAL;
ALTER TABLE preferences ADD COLUMN pool_mean REAL;
PRAGMA user_version=2;
COMMIT;
"""
_VERSION = 2
_COLUMNS = (
    "left_segment, right_segment, query, disagreement, choice, labeller, answered_at,"
    " left_return, right_return, pool_worst, pool_mean"
)


@dataclass(frozen=True)
class Kept:
    """An answer as it is on disk, and whether it was taken back."""

    preference: Preference
    withdrawn: bool


class PreferenceStore:
    """The answers of one session. Use from the thread that made it."""

    def __init__(self, path: Path, damaged: bool = False) -> None:
        """damaged: only to `salvage` from; nothing is written to it."""
        self._path = path
        with self._plain_errors():
            seals.require_no_journal(path)
            self._db = sqlite3.connect(path, isolation_level=None)
            try:
                self._take_up(damaged)
            except BaseException:
                self._db.close()
                raise

    def _take_up(self, damaged: bool) -> None:
        """Looks before it writes anything: the file may be another program's, or come from another person."""
        seals.distrust(self._db)
        ours = seals.require_ours(self._db, self._path)
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, 1, _VERSION):
            raise UserError(f"{self._path} was written by a newer Somersault: open it with that version.")
        if damaged:
            return
        if ours:
            seals.require_whole(self._db, self._path)
        if ours and version == 1:
            self._db.executescript(_FROM_VERSION_1)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        if not ours:  # new; writing to it later too would keep a full disk's answers from being read
            self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version={_VERSION}; COMMIT;")
        self._file = _identity(self._path)
        if not seals.prepared(self._db):
            with self._transaction():
                seals.prepare(self._db)

    def close(self) -> None:
        self._db.close()

    def add(
        self, query: Query, choice: Choice, labeller: str, returns: tuple[float, float] | None = None
    ) -> Preference:
        """Records an answer, with the true returns where the labeller told them (the target ablation, 3.3).

        It is on disk when this returns; UserError where it can't be.
        """
        now = time.time()
        with self._transaction():
            sides = self._keep(query.left), self._keep(query.right)
            key = self._insert(Kept(Preference(0, query, choice, labeller, now, returns), False), sides, None)
            seals.seal(self._db, key)
        return Preference(key, query, choice, labeller, now, returns)

    def restore(self, history: Sequence[Kept]) -> None:
        """Puts answers into a store that has none, with the numbers and times that they had."""
        segments = {s.id: s for kept in history for s in (kept.preference.query.left, kept.preference.query.right)}
        with self._transaction():
            for segment in segments.values():
                self._keep(segment, segment.id)
            for kept in history:
                query = kept.preference.query
                seals.seal(self._db, self._insert(kept, (query.left.id, query.right.id), kept.preference.id))

    def withdraw_last(self) -> Preference | None:
        """Takes back the latest answer that still stands, or returns None."""
        last = self._read("WHERE withdrawn = 0 ORDER BY id DESC LIMIT 1")
        if not last:
            return None
        with self._transaction():
            self._db.execute("UPDATE preferences SET withdrawn = 1 WHERE id = ?", (last[0].id,))
            seals.seal(self._db, last[0].id)
        return last[0]

    def all(self) -> list[Preference]:
        """Every answer that stands, in the order given."""
        return [kept.preference for kept in self.history() if not kept.withdrawn]

    def history(self) -> list[Kept]:
        """Every answer, those taken back too, in the order given."""
        return self._history("ORDER BY id")

    def salvage(self) -> tuple[list[Kept], int]:
        """Every answer that is whole, and how many are not. UserError where not even their numbers can be read."""
        with self._plain_errors():
            highest = self._db.execute("SELECT MAX(preference) FROM seals").fetchone()[0] or 0
        found: list[Kept] = []
        lost = 0
        for key in range(1, highest + 1):
            try:
                found += self._history("WHERE id = ?", key)
            except UserError:
                lost += 1
        return found, lost

    def _history(self, condition: str, *values: int) -> list[Kept]:
        with self._plain_errors():
            rows = self._db.execute(f"SELECT id, withdrawn FROM preferences {condition}", values).fetchall()
            taken_back = {key for key, withdrawn in rows if withdrawn}
            return [Kept(found, found.id in taken_back) for found in self._read(condition, *values)]

    def count(self) -> int:
        with self._plain_errors():
            return int(self._db.execute("SELECT COUNT(*) FROM preferences WHERE withdrawn = 0").fetchone()[0])

    def copy_to(self, path: Path) -> None:
        """A second store with all that this one holds, as a single file. Anything at `path` is replaced."""
        path.unlink(missing_ok=True)
        with self._plain_errors(), closing(sqlite3.connect(path, isolation_level=None)) as copy:
            self._db.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")

    def _keep(self, segment: Segment, key: int | None = None) -> int:
        arrays = {"observations": segment.observations, "actions": segment.actions, "states": segment.states}
        if segment.true_rewards is not None:
            arrays["true_rewards"] = segment.true_rewards
        blob = save({name: np.ascontiguousarray(values) for name, values in arrays.items()})
        row = (key, segment.env_steps, blob)
        cursor = self._db.execute("INSERT INTO segments (id, env_steps, arrays) VALUES (?, ?, ?)", row)
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _insert(self, kept: Kept, sides: tuple[int, int], key: int | None) -> int:
        """key: the number that it had; None for the next one."""
        preference, query = kept.preference, kept.preference.query
        disagreement = None if np.isnan(query.disagreement) else query.disagreement
        returns, pool = preference.returns or (None, None), query.pool_returns
        extent = (None, None) if pool is None else (pool.worst, pool.mean)
        told = (str(preference.choice), preference.labeller, preference.answered_at)
        row = (key, kept.withdrawn, *sides, query.id, disagreement, *told, *returns, *extent)
        marks = ", ".join("?" * len(row))
        cursor = self._db.execute(f"INSERT INTO preferences (id, withdrawn, {_COLUMNS}) VALUES ({marks})", row)
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _read(self, condition: str, *values: int) -> list[Preference]:
        with self._plain_errors():
            rows = self._db.execute(f"SELECT id, {_COLUMNS} FROM preferences {condition}", values).fetchall()
            return [self._checked(row[0], self._preference(row)) for row in rows]

    def _checked(self, key: int, preference: Preference) -> Preference:
        if not seals.is_whole(self._db, key):
            raise ValueError(f"number {key} does not match its checksum")
        return preference

    def _preference(self, row: tuple[Any, ...]) -> Preference:
        """row: id, then _COLUMNS."""
        key, left, right, query, disagreement, choice, labeller, answered_at, *returns, worst, mean = row
        pool = None if worst is None else PoolReturns(worst, mean)
        disagreement = np.nan if disagreement is None else disagreement
        pair = Query(query, self._segment(left), self._segment(right), disagreement, pool)
        told = None if returns[0] is None else (returns[0], returns[1])
        return Preference(key, pair, Choice(choice), labeller, answered_at, told)

    def _segment(self, key: int) -> Segment:
        env_steps, blob = self._db.execute("SELECT env_steps, arrays FROM segments WHERE id = ?", (key,)).fetchone()
        arrays = load(blob)
        rewards = arrays.get("true_rewards")
        if len(arrays["observations"]) != len(arrays["actions"]):
            raise ValueError(f"segment {key} has not as many actions as observations")
        return Segment(key, arrays["observations"], arrays["actions"], arrays["states"], rewards, env_steps)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._plain_errors():
            if _identity(self._path) != self._file:  # SQLite would go on writing into a file that nobody finds again
                raise UserError(f"{self._path} is gone: bring the session's folder back, then answer again.")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Turns what SQLite says into one sentence that a person can act on."""
        try:
            yield
        except sqlite3.Error as error:
            raise UserError(self._told(error)) from error
        except (SafetensorError, KeyError, ValueError, TypeError, AttributeError) as error:
            raise UserError(f"{self._path} holds an answer that can't be read ({error}): {self._rescue}.") from error

    def _told(self, error: sqlite3.Error) -> str:
        path, reason = self._path, " ".join(str(error).split())
        kind = getattr(error, "sqlite_errorname", "").split("_")[1:2]
        match kind:
            case ["FULL"]:
                return f"The disk that holds {path} is full: make room, then answer again."
            case ["READONLY"] | ["CANTOPEN"] | ["PERM"] | ["AUTH"]:
                return f"{path} can't be written: check the folder's permissions."
            case ["BUSY"] | ["LOCKED"]:
                return f"{path} is in use by another program ({reason}): close it there, then try again."
            case ["IOERR"]:
                return f"The disk that holds {path} has failed ({reason}): check it and make room, then answer again."
            case ["NOMEM"]:
                return f"There is not enough memory to read {path}: close other programs, then try again."
        return f"{path} is not a store of answers, or it is damaged ({reason}): {self._rescue}."

    @property
    def _rescue(self) -> str:
        return f"{COMMAND_LINE} preferences export {self._path.parent} FOLDER saves the answers that are whole"


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file it is that has this name now; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
