"""A copy of the answers, made while more are given."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

_PAGES_AT_ONCE = 256
"""Of 4 KB: some milliseconds."""


def copy_to(db: sqlite3.Connection, path: Path, go_on: Callable[[], None]) -> None:
    """Copies all that is in `db` now to a single file. sqlite3.Error where it can't be read or written.

    go_on: called after each piece; what it raises ends the copying.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as copy:
        with _held_still(db):
            db.backup(copy, pages=_PAGES_AT_ONCE, progress=lambda *_: go_on())
        copy.execute("PRAGMA journal_mode=DELETE")


@contextmanager
def _held_still(db: sqlite3.Connection) -> Iterator[None]:
    """What is read within is of one moment. Copying in pieces would begin anew with each answer given, otherwise."""
    db.execute("BEGIN")
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
        yield
    finally:
        if db.in_transaction:  # a disk that failed has ended it
            db.execute("ROLLBACK")
