"""The tables of the store of answers, and how those that an earlier version made are brought up to date."""

from __future__ import annotations

import logging
import sqlite3

log = logging.getLogger(__name__)
VERSION = 3
VERSION_SEAL = 0
"""Number under which the table of seals has the version; answers count from 1."""
COLUMNS = (
    *("left_segment", "right_segment", "query", "disagreement", "choice", "labeller", "answered_at"),
    *("left_return", "right_return", "pool_worst", "pool_mean", "repeats"),
)
"""Of an answer, besides its number and whether it was taken back."""

_CHANGES = """
CREATE TABLE changes (
    id INTEGER PRIMARY KEY,
    preference INTEGER NOT NULL REFERENCES preferences (id),
    choice TEXT NOT NULL,
    labeller TEXT NOT NULL,
    changed_at REAL NOT NULL,
    newest INTEGER NOT NULL
);
"""
"""A row for each time that an answer was changed: the choice that it had until then, and whose that was. newest: number
of the newest answer of then, since clocks can be set back."""
_NEW = """
CREATE TABLE segments (
    id INTEGER PRIMARY KEY,
    env_steps INTEGER NOT NULL,
    arrays BLOB NOT NULL
);
CREATE TABLE preferences (
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
    pool_mean REAL,
    repeats INTEGER REFERENCES preferences (id)
);
"""
_FROM_VERSION_1 = """
ALTER TABLE preferences ADD COLUMN left_return REAL;
ALTER TABLE preferences ADD COLUMN right_return REAL;
ALTER TABLE preferences ADD COLUMN pool_worst REAL;
ALTER TABLE preferences ADD COLUMN pool_mean REAL;
"""
_FROM_VERSION_2 = "ALTER TABLE preferences ADD COLUMN repeats INTEGER REFERENCES preferences (id);"
_STEPS = {
    0: _NEW + _CHANGES,
    1: _FROM_VERSION_1 + _FROM_VERSION_2 + _CHANGES,
    2: _FROM_VERSION_2 + _CHANGES,
}


def version_of(db: sqlite3.Connection) -> int:
    """As sealed, where it is: in the number that SQLite keeps a bit may flip. 0 where the file is still empty."""
    if _has(db, "seals"):
        sealed = db.execute("SELECT digest FROM seals WHERE preference = ?", (VERSION_SEAL,)).fetchone()
        if sealed:
            return int(sealed[0])
    return _stated(db)


def _stated(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def seal_version(db: sqlite3.Connection) -> None:
    """Keeps it a second time, once. Within a transaction, where there is a table of seals."""
    values = (VERSION_SEAL, _stated(db))
    db.execute("INSERT OR IGNORE INTO seals (preference, digest) VALUES (?, ?)", values)


def mend_version(db: sqlite3.Connection) -> None:
    """Puts the sealed number back where SQLite keeps another."""
    version = version_of(db)
    if _stated(db) != version:
        log.warning("The store's version was damaged, %d in place of %d.", _stated(db), version)
        db.execute(f"PRAGMA user_version={version}")


def bring_up_to_date(db: sqlite3.Connection) -> None:
    """Makes the tables, or what an earlier version's lack. All of it or, after a kill, nothing.

    Another thread may be opening the same new store: who comes second finds it done.
    """
    if version_of(db) not in _STEPS:
        return
    db.execute("BEGIN IMMEDIATE")
    for statement in _STEPS.get(version_of(db), "").split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA user_version={VERSION}")
    if _has(db, "seals"):
        db.execute("UPDATE seals SET digest = ? WHERE preference = ?", (VERSION, VERSION_SEAL))
    db.execute("COMMIT")


def columns(db: sqlite3.Connection, wanted: tuple[str, ...] = COLUMNS) -> str:
    """What to select for these columns: NULL stands for those that a store which can't be brought up to date lacks."""
    there = {name for (name,) in db.execute("SELECT name FROM pragma_table_info('preferences')")}
    return ", ".join(name if name in there else "NULL" for name in wanted)


def has_changes(db: sqlite3.Connection) -> bool:
    return _has(db, "changes")


def _has(db: sqlite3.Connection, table: str) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None
