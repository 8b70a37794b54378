"""The durable store of answers: one SQLite file, each answer on disk before the next pair shows.

Write-ahead log with full sync: when `add` returns, the answer survives a kill or a power cut. Segments are kept in
the same transaction as the answer that refers to them. An answer taken back stays in the file, marked as withdrawn; of
one that was changed, each choice that it had stays beside it. A log that a disk has spoiled, and answers that are
missing, are noticed before SQLite forgets them.

A repeat is the answer to a pair that was answered before. It is kept with a link to the first answer and shares its
segments. It says how far the labeller agrees with himself, and is no label: no reward is fitted to it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from core.errors import UserError
from core.io import files
from core.io.segment_codec import SegmentShape, from_arrays, shape_of, to_arrays
from core.preferences import copies, integrity, mark, records, schema, wal_check
from core.preferences.mark import Mark
from core.preferences.records import ChoiceRevision, PreferenceSummary
from core.types import Choice, PoolReturns, Preference, Query, Segment
from core.version import COMMAND_LINE

_STANDS, _GONE, _UNDONE = 0, 1, 2
"""What `withdrawn` holds: gone for good, or taken back and to be given again if the labeller so wishes."""
_PAGES_IN_LOG = 64
"""About ten answers of a robot: so few are in the log alone, where a single bit spoils all that follow it."""


@dataclass(frozen=True)
class StoredPreference:
    """An answer as it is on disk, whether it was taken back, and the choices that it had before, oldest first."""

    preference: Preference
    withdrawn: bool
    changes: tuple[ChoiceRevision, ...] = ()
    undone: bool = False
    """Taken back, and can still be given again."""


class PreferenceStore:
    """The answers of one session. Use from the thread that made it."""

    def __init__(self, path: Path, read_only: bool = False, require_owner: Callable[[], None] = lambda: None) -> None:
        """read_only: nothing is written to it, and nothing is looked through first: it may be damaged.

        require_owner: raises UserError where nothing may be written any more; asked before each answer is
        """
        self._path, self._require_owner = path, require_owner
        with self._plain_errors():
            integrity.require_no_journal(path)
            wal_check.require_whole(path, self._rescue)
            if not read_only and not path.exists():
                integrity.begin(path)
            self._db = sqlite3.connect(path, isolation_level=None)
            try:
                self._take_up(read_only)
            except BaseException:
                self._db.close()
                raise

    def _take_up(self, read_only: bool) -> None:
        """Looks before it writes anything: the file may be another program's, or come from another person."""
        integrity.distrust(self._db)
        known = mark.read(self._path)  # first: another thread may be adding answers
        ours = integrity.require_ours(self._db, self._path)
        if schema.version_of(self._db) > schema.VERSION:
            raise UserError(f"{self._path} was written by a newer Somersault: open it with that version.")
        self._require_all(known, self._held() if ours else Mark())
        if read_only:
            self._db.execute("PRAGMA query_only=ON")
        else:
            self._tune(ours)
        self._file = files.identity(self._path)
        if not read_only and not integrity.prepared(self._db):
            with self._transaction():
                integrity.prepare(self._db)

    def _require_all(self, known: Mark, held: Mark) -> None:
        """UserError where the store holds less than it once did. The log stays as it was found: closing deletes it."""
        if not (lacking := known.beyond(held)):
            return
        wal_check.keep_aside(self._path)
        raise UserError(
            f"{self._path} lacks {lacking} that it once had: put a copy of it and of "
            f"{wal_check.beside(self._path).name} back, or delete {mark.beside(self._path)} to go on without."
        )

    def _held(self) -> Mark:
        answers = self._db.execute("SELECT COUNT(*) FROM preferences").fetchone()[0]
        counted = schema.has_changes(self._db)
        return Mark(answers, self._db.execute("SELECT COUNT(*) FROM changes").fetchone()[0] if counted else 0)

    def _tune(self, ours: bool) -> None:
        """Makes what is missing; to write otherwise too would keep a full disk's answers from being read."""
        if ours:
            integrity.require_whole(self._db, self._path)
            schema.mend_version(self._db)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute(f"PRAGMA wal_autocheckpoint={_PAGES_IN_LOG}")
        schema.bring_up_to_date(self._db)

    def close(self) -> None:
        self._db.close()

    def add(
        self, query: Query, choice: Choice, labeller: str, returns: tuple[float, float] | None = None
    ) -> Preference:
        """Records an answer, with the true returns where the labeller told them (the target ablation, 3.3).

        It is on disk when this returns; UserError where it can't be. What was taken back before is then gone for good.
        """
        now = time.time()
        with self._transaction():
            for (undone,) in self._db.execute("SELECT id FROM preferences WHERE withdrawn = ?", (_UNDONE,)).fetchall():
                self._mark(undone, _GONE)
            sides = self._sides(query)
            key = self._insert(
                StoredPreference(Preference(0, query, choice, labeller, now, returns), False), sides, None
            )
            integrity.seal(self._db, key)
        return Preference(key, query, choice, labeller, now, returns)

    def change(self, key: int, choice: Choice, labeller: str) -> Preference:
        """Gives an answer another choice, by this labeller; the one that it had is kept beside it.

        It is on disk when this returns; UserError where it can't be, and for an answer that stands no more or that
        only repeats another.
        """
        (old,) = self.answers(key)
        if old.withdrawn:
            raise UserError(f"Answer {key} was taken back: choose one that stands.")
        if old.preference.query.repeats is not None:
            raise UserError(f"Answer {key} only repeats number {old.preference.query.repeats}: change that one.")
        was = old.preference
        with self._transaction():
            newest = self._db.execute("SELECT MAX(id) FROM preferences").fetchone()[0]
            self._keep_change(key, ChoiceRevision(was.choice, was.labeller, time.time(), newest))
            values = (str(choice), labeller, key)
            self._db.execute("UPDATE preferences SET choice = ?, labeller = ? WHERE id = ?", values)
            integrity.seal(self._db, key)
        return replace(was, choice=choice, labeller=labeller)

    def restore(self, history: Sequence[StoredPreference]) -> None:
        """Puts answers into a store that has none, with the numbers and times that they had."""
        segments = {s.id: s for kept in history for s in (kept.preference.query.left, kept.preference.query.right)}
        with self._transaction():
            for segment in segments.values():
                self._keep(segment, segment.id)
            for kept in history:
                query = kept.preference.query
                key = self._insert(kept, (query.left.id, query.right.id), kept.preference.id)
                for change in kept.changes:
                    self._keep_change(key, change)
                integrity.seal(self._db, key)

    def undo(self) -> Preference | None:
        """Takes back the latest answer that still stands, or returns None."""
        last = self._read("WHERE withdrawn = 0 ORDER BY id DESC LIMIT 1")
        if not last:
            return None
        with self._transaction():
            self._mark(last[0].id, _UNDONE)
        return last[0]

    def redo(self) -> Preference | None:
        """Lets the answer that was taken back last stand again, with its number; None where a new one came since."""
        undone = self._read("WHERE withdrawn = ? ORDER BY id LIMIT 1", _UNDONE)
        if not undone:
            return None
        with self._transaction():
            self._mark(undone[0].id, _STANDS)
        return undone[0]

    def _mark(self, key: int, withdrawn: int) -> None:
        """Within a transaction."""
        self._db.execute("UPDATE preferences SET withdrawn = ? WHERE id = ?", (withdrawn, key))
        integrity.seal(self._db, key)

    def all(self) -> list[Preference]:
        """Every label: the answers that stand, in the order given, without those that only repeat another."""
        found = [kept.preference for kept in self.history() if not kept.withdrawn]
        return [preference for preference in found if preference.query.repeats is None]

    def each(self) -> Iterator[Preference]:
        """The labels as `all` gives them, each read when it is its turn: thousands with pictures would fill the memory.

        UserError at one that can't be read.
        """
        with self._plain_errors():
            repeats = schema.columns(self._db, ("repeats",))
            standing = f"SELECT id FROM preferences WHERE withdrawn = 0 AND {repeats} IS NULL ORDER BY id"
            keys = self._db.execute(standing).fetchall()
        for (key,) in keys:
            yield from self._read("WHERE id = ?", key)

    def history(self) -> list[StoredPreference]:
        """Every answer, those taken back too, in the order given."""
        return self._history("ORDER BY id")

    def iter_records(self) -> Iterator[StoredPreference]:
        """What `history` gives, each read when it is its turn."""
        newest = -1
        while True:
            with self._plain_errors():
                (newest,) = self._db.execute("SELECT MIN(id) FROM preferences WHERE id > ?", (newest,)).fetchone()
            if newest is None:
                return
            yield from self._history("WHERE id = ?", newest)

    def forms(self) -> Iterator[tuple[int, SegmentShape]]:
        """Each answer's number and how large a segment of it is, first left then right; reads no more of it than that.

        UserError at one that can't be read.
        """
        with self._plain_errors():
            pairs = self._db.execute("SELECT id, left_segment, right_segment FROM preferences ORDER BY id")
            for key, *sides in pairs:
                for side in sides:
                    with self._db.blobopen("segments", "arrays", side, readonly=True) as blob:
                        form = shape_of(blob)
                    yield key, form

    def answers(self, *keys: int) -> list[StoredPreference]:
        """The answers of these numbers, as asked. UserError where one is not there, or can't be read."""
        found = [kept for key in keys for kept in self._history("WHERE id = ?", key)]
        if len(found) < len(keys):
            raise UserError(f"{self._path} has no answer {min(set(keys) - {kept.preference.id for kept in found})}.")
        return found

    def rows(self, key: int | None = None) -> list[PreferenceSummary]:
        """Every answer, or that of this number, without its segments. One that can't be read says so."""
        with self._plain_errors():
            return records.read_rows(self._db, key)

    def salvage(self) -> tuple[list[StoredPreference], int]:
        """Every answer that is whole, and how many are not. UserError where not even their numbers can be read."""
        found: list[StoredPreference] = []
        lost = 0
        for key in integrity.numbers(self._db):
            try:
                whole = self._history("WHERE id = ?", key)
                found += whole
                lost += not whole
            except UserError:
                lost += 1
        if not found:  # is there none, or can none be read?
            with self._plain_errors():
                self._db.execute("SELECT MAX(preference) FROM seals").fetchone()
        return found, lost

    def _history(self, condition: str, *values: int) -> list[StoredPreference]:
        with self._plain_errors():
            found = self._db.execute(f"SELECT id, withdrawn FROM preferences {condition}", values).fetchall()
            gone = {key: withdrawn for key, withdrawn in found if withdrawn}
            read = self._read(condition, *values)
            return [StoredPreference(p, p.id in gone, self._changes(p.id), gone.get(p.id) == _UNDONE) for p in read]

    def _changes(self, key: int) -> tuple[ChoiceRevision, ...]:
        return tuple(records.change(values) for values in records.changes_of(self._db, key))

    def count(self) -> int:
        """Of the labels."""
        with self._plain_errors():
            if not schema.version_of(self._db):
                return 0  # another thread or program is just making it
            repeats = schema.columns(self._db, ("repeats",))
            standing = f"SELECT COUNT(*) FROM preferences WHERE withdrawn = 0 AND {repeats} IS NULL"
            return int(self._db.execute(standing).fetchone()[0])

    def copy_to(self, path: Path, go_on: Callable[[], None] = lambda: None) -> None:
        """A second store with all that this one holds, as a single file. Anything at `path` is replaced.

        go_on: called now and then; what it raises ends the copying.
        """
        path.unlink(missing_ok=True)
        with self._plain_errors():
            copies.copy_to(self._db, path, go_on)

    def _sides(self, query: Query) -> tuple[int, int]:
        """Keeps the segments, or finds those of the answer that is repeated."""
        if query.repeats is None:
            return self._keep(query.left), self._keep(query.right)
        wanted = "SELECT left_segment, right_segment FROM preferences WHERE id = ?"
        sides = self._db.execute(wanted, (query.repeats,)).fetchone()
        if sides is None or {query.left.id, query.right.id} != set(sides):
            raise UserError(f"This pair is not that of answer {query.repeats}: it can't be its repeat.")
        return query.left.id, query.right.id

    def _keep(self, segment: Segment, key: int | None = None) -> int:
        blob = save({name: np.ascontiguousarray(values) for name, values in to_arrays(segment).items()})
        row = (key, segment.env_steps, blob)
        cursor = self._db.execute("INSERT INTO segments (id, env_steps, arrays) VALUES (?, ?, ?)", row)
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _insert(self, kept: StoredPreference, sides: tuple[int, int], key: int | None) -> int:
        """key: the number that it had; None for the next one."""
        preference, query = kept.preference, kept.preference.query
        disagreement = None if np.isnan(query.disagreement) else query.disagreement
        returns, pool = preference.returns or (None, None), query.pool_returns
        extent = (None, None) if pool is None else (pool.worst, pool.mean)
        told = (str(preference.choice), preference.labeller, preference.answered_at)
        withdrawn = _UNDONE if kept.undone else _GONE if kept.withdrawn else _STANDS
        row = (key, withdrawn, *sides, query.id, disagreement, *told, *returns, *extent, query.repeats)
        marks, names = ", ".join("?" * len(row)), ", ".join(schema.COLUMNS)
        cursor = self._db.execute(f"INSERT INTO preferences (id, withdrawn, {names}) VALUES ({marks})", row)
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _keep_change(self, key: int, change: ChoiceRevision) -> None:
        row = (key, str(change.choice), change.labeller, change.changed_at, change.newest)
        names = "preference, choice, labeller, changed_at, newest"
        self._db.execute(f"INSERT INTO changes ({names}) VALUES (?, ?, ?, ?, ?)", row)

    def _read(self, condition: str, *values: int) -> list[Preference]:
        with self._plain_errors():
            columns = schema.columns(self._db)  # anew each time: another connection may bring the store up to date
            found = self._db.execute(f"SELECT id, {columns} FROM preferences {condition}", values).fetchall()
            return [self._checked(row[0], self._preference(row)) for row in found]

    def _checked(self, key: int, preference: Preference) -> Preference:
        if not integrity.is_whole(self._db, key):
            raise ValueError(f"number {key} does not match its checksum")
        return preference

    def _preference(self, row: tuple[Any, ...]) -> Preference:
        """row: id, then schema.COLUMNS."""
        records.require_numbers(row)
        key, left, right, query, disagreement, choice, labeller, answered_at, *returns, worst, mean, repeats = row
        pool = None if worst is None else PoolReturns(worst, mean)
        disagreement = np.nan if disagreement is None else disagreement
        pair = Query(query, self._segment(left), self._segment(right), disagreement, pool, repeats)
        told = None if returns[0] is None else (returns[0], returns[1])
        return Preference(key, pair, Choice(choice), labeller, answered_at, told)

    def _segment(self, key: int) -> Segment:
        env_steps, blob = self._db.execute("SELECT env_steps, arrays FROM segments WHERE id = ?", (key,)).fetchone()
        return from_arrays(key, env_steps, load(blob))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._plain_errors():
            files.require_same(self._path, self._file)
            self._require_owner()
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                held = self._held()
                integrity.require_room(held, self._path)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            mark.write(self._path, held)

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
