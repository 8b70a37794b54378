"""What makes a store of answers trustworthy: its tables are ours, and each answer carries a checksum.

A session may come from another person, so nothing in its store may run: no trigger, view, virtual table or expression
of it is ever evaluated. And SQLite doesn't notice when a bit of a row flips: hence a seal for each answer, over its
row, both its segments, and the choices that it had before it was changed. The store's version is sealed too.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from heapq import merge
from itertools import groupby, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from core.errors import UserError
from core.io import files
from core.preferences import records, schema
from core.preferences.mark import Mark

_TABLES = {"segments": "env_steps", "preferences": "choice", "seals": "digest", "changes": "newest"}
"""Each with a column that it must have."""
_KEYS = {"segments": "id", "preferences": "id", "seals": "preference", "changes": "id"}
"""What must be the number by which SQLite itself finds a row: another would be looked for through the whole table, and
need not be that of the row that a segment's size is read from.
"""
_EXPRESSIONS = ("VIRTUAL", "CHECK", "GENERATED", " AS ", " AS(", "COLLATE")
_OTHER_KEYS = re.compile(r"\b(WITHOUT|DESC)\b")
MOST_ROWS = 500_000
"""Of a table. An answer has two segments, so these are 250,000 answers, 45 times the most that the paper asked for. A
list of so many, each changed once, takes 400 MB: their number is looked at first, as a small file may hold a
hundred times as many.
"""
_MOST_PASSED = 1 << 16
"""Numbers tried one by one where a page of them is damaged; one has some 500."""
_WRITE_AHEAD = b"\2"
"""Byte 18 of a database file that is written through a write-ahead log."""
_LONGEST = 64 << 20
"""Bytes of a value or a row; a segment of a game, which is kept packed, has some 50 kB."""
_LOOKED_THROUGH = 256 << 20
_OF_ANSWERS = "SELECT id FROM preferences"
_OF_SEALS = f"SELECT preference FROM seals WHERE preference > {schema.VERSION_SEAL}"
"""Numbers of answers, by a walk through the whole table: an index or a count may know better."""
_SCHEMA = "CREATE TABLE IF NOT EXISTS seals (preference INTEGER PRIMARY KEY, digest INTEGER NOT NULL)"


def begin(path: Path) -> None:
    """An empty store appears at once, of the kind that keeps a write-ahead log. SQLite, asked to make it one, keeps a
    rollback journal first: whoever opens it then, or after a kill in that moment, would take that for another's.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for number in (1, 0):  # it has no first page before something is written
            db.execute(f"PRAGMA user_version={number}")
        page = bytearray(db.serialize())
    page[18:20] = 2 * _WRITE_AHEAD
    files.write_atomically(path, bytes(page))


def require_no_journal(path: Path) -> None:
    """A store of ours keeps a write-ahead log. Beside one, a rollback journal is another's: SQLite would undo what it
    says, and delete a file that it names.
    """
    journal = path.with_name(path.name + "-journal")
    if not path.is_file() or not journal.exists():
        return
    with open(path, "rb") as file:
        logged = file.read(20)[18:19] == _WRITE_AHEAD
    if logged:
        raise UserError(f"{journal} is no part of a session and could undo answers: move it away, then open it again.")


def distrust(db: sqlite3.Connection) -> None:
    """Before the first look into a file that anybody may have made."""
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    db.execute("PRAGMA trusted_schema=OFF")
    db.execute("PRAGMA cell_size_check=ON")
    db.execute("PRAGMA mmap_size=0")  # a file cut short under a mapping would kill the process


def require_ours(db: sqlite3.Connection, path: Path) -> bool:
    """Reads only. False where the file is still empty; UserError where it has other tables, things that could run, or
    more rows than a session can have.
    """
    entries = db.execute("SELECT type, name, sql FROM sqlite_master LIMIT ?", (len(_TABLES) + 1,)).fetchall()
    foreign = UserError(f"{path} is another program's, not a store of answers: name the folder of a session.")
    if not entries:
        return False
    if db.execute("PRAGMA user_version").fetchone()[0] == 0:
        raise foreign
    for kind, name, sql in entries:
        words = f" {sql} ".upper()
        if kind != "table" or name not in _TABLES or any(word in words for word in _EXPRESSIONS):
            raise foreign
        columns = db.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (name,)).fetchall()
        if (_TABLES[name], 0) not in columns or any(hidden for _, hidden in columns):
            raise foreign
        if _OTHER_KEYS.search(words) or _key_of(db, name) != [(_KEYS[name], "INTEGER")]:
            raise foreign
    names = {name for _, name, _ in entries}
    if not {"segments", "preferences"} <= names:
        raise foreign
    _require_few(db, names, path)
    return True


def _key_of(db: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    """Name and type of each column of its primary key."""
    return db.execute("SELECT name, upper(type) FROM pragma_table_xinfo(?) WHERE pk > 0", (table,)).fetchall()


def _require_few(db: sqlite3.Connection, tables: set[str], path: Path) -> None:
    for table in sorted(tables):
        if _counted(db, table) > MOST_ROWS:
            raise UserError(
                f"{path} has more than {MOST_ROWS:,} rows of {table}, which is more than a session can have: put a"
                " copy of it back."
            )


def _counted(db: sqlite3.Connection, table: str) -> int:
    """Rows, up to one more than there may be."""
    try:
        counted = f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} LIMIT {MOST_ROWS + 1})"
        return int(db.execute(counted).fetchone()[0])
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return 0  # what reads all of them comes upon the same damaged page, and sooner than upon too many


def require_room(held: Mark, path: Path) -> None:
    """UserError where the store would hold so much that it could not be opened again."""
    if max(2 * held.answers, held.answers + 1, held.changes) > MOST_ROWS:  # segments; seals, the version's too; changes
        raise UserError(f"{path} holds as many answers as a session can: start a new session.")


def require_whole(db: sqlite3.Connection, path: Path) -> None:
    """sqlite3.DatabaseError where the file's structure is damaged, or an answer and its seal are not both there.

    Of a file so large that looking takes long only the numbers are compared: its answers are checked one by one when
    they are read.
    """
    if path.stat().st_size <= _LOOKED_THROUGH:
        said = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if said != "ok":
            raise sqlite3.DatabaseError(" ".join(said.split()))
    if not prepared(db):
        return
    db.execute("BEGIN")  # both of one moment: another process may be adding answers
    try:
        odd = np.setxor1d(_found(db, _OF_ANSWERS), _found(db, _OF_SEALS))
    finally:
        db.execute("ROLLBACK")
    if len(odd):
        raise sqlite3.DatabaseError(f"number {odd[0]} is missing, or its checksum is")


def _found(db: sqlite3.Connection, wanted: str) -> npt.NDArray[np.int64]:
    """(rows,)"""
    return np.fromiter((key for (key,) in db.execute(wanted)), np.int64)


def numbers(db: sqlite3.Connection) -> Iterator[int]:
    """Of answers, ascending, as their seals or they themselves have them; what is on a damaged page is passed by."""
    both = merge(_each_number(db, "preferences", "id"), _each_number(db, "seals", "preference"))
    return (key for key, _ in islice(groupby(both), MOST_ROWS))


def _each_number(db: sqlite3.Connection, table: str, column: str) -> Iterator[int]:
    """One after the other, each looked for when it is its turn."""
    wanted = f"SELECT MIN({column}) FROM {table} WHERE {column} > ?"
    key, passed = schema.VERSION_SEAL, 0
    while passed < _MOST_PASSED:
        try:
            (found,) = db.execute(wanted, (key,)).fetchone()
        except sqlite3.DatabaseError:
            key, passed = key + 1, passed + 1
            continue
        if found is None:
            return
        key = found
        yield key


def prepared(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'seals'").fetchone() is not None


def prepare(db: sqlite3.Connection) -> None:
    """For a new store, or one from before there were seals: a seal for each answer. Within a transaction."""
    db.execute(_SCHEMA)
    schema.seal_version(db)
    for key in _found(db, _OF_ANSWERS).tolist():
        seal(db, key)


def seal(db: sqlite3.Connection, key: int) -> None:
    """Records the checksum of this answer as it now is. Within the transaction that changes it."""
    schema.seal_version(db)
    db.execute("INSERT OR REPLACE INTO seals (preference, digest) VALUES (?, ?)", (key, _digest(db, key)))


def is_whole(db: sqlite3.Connection, key: int) -> bool:
    kept = db.execute("SELECT digest FROM seals WHERE preference = ?", (key,)).fetchone()
    return kept is not None and kept[0] == _digest(db, key)


def _digest(db: sqlite3.Connection, key: int) -> int:
    """Over the row, its segments and its changes. What a later version appended counts only once it holds something."""
    cursor = db.execute("SELECT * FROM preferences WHERE id = ?", (key,))
    row = list(cursor.fetchone())
    names = [column[0] for column in cursor.description]
    sides = [row[names.index(side)] for side in ("left_segment", "right_segment")]
    while row and row[-1] is None:
        row.pop()
    digest = zlib.crc32(repr(row).encode())
    for side in sides:
        segment = db.execute("SELECT env_steps, arrays FROM segments WHERE id = ?", (side,)).fetchone()
        digest = zlib.crc32(bytes(segment[1]), zlib.crc32(repr(segment[0]).encode(), digest)) if segment else 0
    changes = records.changes_of(db, key)
    return zlib.crc32(repr(changes).encode(), digest) if changes else digest
