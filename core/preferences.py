"""The durable store of answers: one SQLite file, each answer on disk before the next pair shows.

Write-ahead log with full sync: when `add` returns, the answer survives a kill or a power cut. Segments are kept in
the same transaction as the answer that refers to them. An answer taken back stays in the file, marked as withdrawn.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from core.errors import UserError
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


class PreferenceStore:
    """The answers of one session. Use from the thread that made it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._plain_errors():
            self._db = sqlite3.connect(path, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, 1, _VERSION):
                raise UserError(f"{path} was written by a newer Somersault: open it with that version.")
            if version == 1:
                self._db.executescript(_FROM_VERSION_1)
            if version == 0:  # new; writing to it later too would keep a full disk's answers from being read
                self._db.executescript(_SCHEMA)
                self._db.execute(f"PRAGMA user_version={_VERSION}")

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
            left, right = (self._keep(segment) for segment in (query.left, query.right))
            disagreement = None if np.isnan(query.disagreement) else query.disagreement
            pool = query.pool_returns
            extent = (None, None) if pool is None else (pool.worst, pool.mean)
            row = (left, right, query.id, disagreement, str(choice), labeller, now, *(returns or (None, None)), *extent)
            marks = ", ".join("?" * len(row))
            cursor = self._db.execute(f"INSERT INTO preferences ({_COLUMNS}) VALUES ({marks})", row)
        assert cursor.lastrowid is not None
        return Preference(cursor.lastrowid, query, choice, labeller, now, returns)

    def withdraw_last(self) -> Preference | None:
        """Takes back the latest answer that still stands, or returns None."""
        last = self._read("WHERE withdrawn = 0 ORDER BY id DESC LIMIT 1")
        if not last:
            return None
        with self._transaction():
            self._db.execute("UPDATE preferences SET withdrawn = 1 WHERE id = ?", (last[0].id,))
        return last[0]

    def all(self) -> list[Preference]:
        """Every answer that stands, in the order given."""
        return self._read("WHERE withdrawn = 0 ORDER BY id")

    def count(self) -> int:
        with self._plain_errors():
            return int(self._db.execute("SELECT COUNT(*) FROM preferences WHERE withdrawn = 0").fetchone()[0])

    def _keep(self, segment: Segment) -> int:
        arrays = {"observations": segment.observations, "actions": segment.actions, "states": segment.states}
        if segment.true_rewards is not None:
            arrays["true_rewards"] = segment.true_rewards
        blob = save({name: np.ascontiguousarray(values) for name, values in arrays.items()})
        cursor = self._db.execute("INSERT INTO segments (env_steps, arrays) VALUES (?, ?)", (segment.env_steps, blob))
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _read(self, condition: str) -> list[Preference]:
        with self._plain_errors():
            rows = self._db.execute(f"SELECT id, {_COLUMNS} FROM preferences {condition}").fetchall()
            return [self._preference(row) for row in rows]

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
        return Segment(key, arrays["observations"], arrays["actions"], arrays["states"], rewards, env_steps)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._plain_errors():
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
            reason = str(error)
            if "full" in reason:
                raise UserError(f"The disk that holds {self._path} is full: make room, then answer again.") from error
            if "readonly" in reason or "unable to open" in reason:
                raise UserError(f"{self._path} can't be written: check the folder's permissions.") from error
            raise UserError(f"{self._path} is not a store of answers, or it is damaged ({reason}).") from error
        except (SafetensorError, KeyError, ValueError) as error:
            raise UserError(f"{self._path} holds an answer that can't be read ({error}).") from error
