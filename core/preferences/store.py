"""Durable store of answers: a folder with a log and one file of segments an answer.

`log.jsonl` says what was answered, undone, restored and changed, in order (core.preferences.answer_log). The two
segments of answer 7 are in `00000007.safetensors`, with a digest. Nothing is ever rewritten, so the folder is its own
backup: a copy of the log's whole lines and of the files that they name is a store.

When `add` returns, the answer survives a kill and a power cut: its file is on disk under a temporary name before its
line is appended to the log and synced. The file gets its final name last, so a final name that the log does not know
proves that the log has lost lines. docs/answers.md has the reasons.

A repeat is an answer to a pair that was answered before. It shares the first answer's segments, measures how consistent
the labeller is, and is not a label: no reward is fitted to it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import UserError
from core.formatting import pluralize
from core.io import files, tensor_file
from core.io.segment_codec import SegmentShape, from_arrays, shape_of, to_arrays
from core.preferences.answer_log import DAMAGE, MAX_LOG, AnswerState, decode, encode, segment_shape
from core.preferences.records import PreferenceSummary, StoredPreference
from core.types import Choice, PoolReturns, Preference, Query, Segment
from core.version import COMMAND_LINE

log = logging.getLogger(__name__)
FOLDER = "preferences"
"""Name of the store in the folder of a session."""
LOG = "log.jsonl"
_FILE = re.compile(r"([0-9]{8})\.safetensors", re.ASCII)
MAX_FILE = 64 << 20
"""Bytes of an answer's file. The longest segments, 1,000 steps of a game, take some 5 MB."""


class PreferenceStore:
    """Answers of one session. Use each object in one thread; one object at a time may write."""

    def __init__(self, folder: Path, read_only: bool = False, require_owner: Callable[[], None] = lambda: None) -> None:
        """Open the store in `folder`, or make an empty one there unless `read_only`.

        require_owner: called before each write; raises UserError if this process must not write.
        Raises UserError if the log is damaged, or if files of answers are missing.
        """
        self.folder, self._read_only, self._require_owner = folder, read_only, require_owner
        self._state, self._seq, self._end = AnswerState(), 0, 0
        with self._plain_errors():
            if not read_only and not os.path.lexists(folder):
                folder.mkdir()
                files.write_atomically(folder / LOG, b"")
                files.sync_folder(folder.parent)
            if folder.is_symlink():
                raise UserError(f"{folder} is a link: put the session's own folder of answers there.")
            numbers = file_numbers(folder)  # before the log: a file gets its final name after its line
            self._log = open(folder / LOG, "rb" if read_only else "r+b", 0, opener=files.open_regular)  # noqa: SIM115
            self._identity = files.identity(folder / LOG)
        try:
            rows = self._rows()
            if lost := numbers.difference(row.id for row in rows):
                raise self._problem(folder / LOG, f"has lost {pluralize(len(lost), 'answer')} at its end")
            for row in rows:
                part, path = answer_paths(folder, row.id)
                if row.id in numbers:
                    continue
                if not os.path.lexists(part) and not os.path.lexists(path):
                    raise self._problem(path, "is missing")
                if not read_only:
                    with contextlib.suppress(OSError):  # a crash came before this; it is found as it is, too
                        os.replace(part, path)
        except BaseException:
            self._log.close()
            raise

    def close(self) -> None:
        self._log.close()

    def add(
        self,
        query: Query,
        choice: Choice,
        labeller: str,
        returns: tuple[float, float] | None = None,
        answered_at: float | None = None,
    ) -> Preference:
        """Store an answer. It is on disk when this returns; redo can restore no earlier answer from then on.

        returns: true returns of left and right, if the labeller gave them (the target ablation, 3.3)
        answered_at: seconds since the epoch; by default now
        Raises UserError if the answer cannot be written, or if the query repeats another pair than it names.
        """
        self._refresh()
        key, first, swapped = self._state.newest + 1, query.repeats, False
        sides = {"left": query.left, "right": query.right} if first is None else {}
        arrays = {f"{side}.{name}": array for side, part in sides.items() for name, array in to_arrays(part).items()}
        if first is not None:
            (row,) = self.rows(first)
            if row.repeats is not None or {query.left.id, query.right.id} != set(row.sides):
                raise UserError(f"This pair is not the pair of answer {first}: it can't be its repeat.")
            swapped = query.left.id == row.sides[1]
        pool = query.pool_returns
        record: dict[str, Any] = {
            "id": key,
            "query": query.id,
            "repeats": first,
            "swapped": swapped,
            "choice": str(choice),
            "labeller": labeller,
            "answered_at": time.time() if answered_at is None else answered_at,
            "disagreement": None if np.isnan(query.disagreement) else float(query.disagreement),
            "returns": None if returns is None else [float(value) for value in returns],
            "pool_returns": None if pool is None else [float(pool.worst), float(pool.mean)],
            "left": None if first else _side(query.left),
            "right": None if first else _side(query.right),
        }
        part, path = answer_paths(self.folder, key)
        with self._writing():
            part.unlink(missing_ok=True)
            try:
                with open(part, "xb", opener=files.no_link) as file:
                    file.write(tensor_file.as_file(record, arrays))
                    file.flush()
                    os.fsync(file.fileno())
                files.sync_folder(self.folder)
            except OSError:
                files.clear_away(part)
                raise
            self._append({"do": "add", "answer": record})  # if this fails, its line may yet be on disk: the file stays
        try:
            os.replace(part, path)
        except OSError as error:  # the answer is stored: it is found under its temporary name, too
            log.warning("%s can't be renamed (%s).", part, files.reason(error))
        return Preference(key, query, choice, labeller, record["answered_at"], returns)

    def change(self, key: int, choice: Choice, labeller: str) -> Preference:
        """Give an answer another choice by this labeller; the earlier choice stays in the log.

        Raises UserError if it cannot be written, or if the answer is withdrawn or a repeat.
        """
        (old,) = self.answers(key)
        if old.withdrawn:
            raise UserError(f"Answer {key} was taken back: choose another one.")
        if old.preference.query.repeats is not None:
            raise UserError(f"Answer {key} only repeats number {old.preference.query.repeats}: change that one.")
        with self._writing():
            self._append({"do": "change", "id": key, "choice": str(choice), "labeller": labeller, "at": time.time()})
        return replace(old.preference, choice=choice, labeller=labeller)

    def undo(self) -> Preference | None:
        """Withdraw the latest answer that stands and return it; None if there is none."""
        return self._toggle("undo", next((row for row in reversed(self._rows()) if not row.withdrawn), None))

    def redo(self) -> Preference | None:
        """Restore the answer that was withdrawn last and return it; None if an answer was added since."""
        return self._toggle("redo", next((row for row in self._rows() if row.undone), None))

    def _toggle(self, what: str, row: PreferenceSummary | None) -> Preference | None:
        if row is None:
            return None
        preference = self._stored(row).preference
        with self._writing():
            self._append({"do": what, "id": row.id})
        return preference

    def all(self) -> list[Preference]:
        """Labels: the answers that are neither withdrawn nor repeats, in the order given."""
        return list(self.each())

    def each(self) -> Iterator[Preference]:
        """Iterate over the labels, reading one at a time. Raises UserError at a damaged one."""
        return (self._stored(row).preference for row in self._rows() if not row.withdrawn and row.repeats is None)

    def iter_records(self) -> Iterator[StoredPreference]:
        """Iterate over all answers, withdrawn ones too, reading one at a time. Raises UserError at a damaged one."""
        return map(self._stored, self._rows())

    def forms(self) -> Iterator[tuple[int, SegmentShape]]:
        """Number of each answer with the size of its left, then of its right segment; reads no segment."""
        self._refresh()
        for key, record in self._state.records.items():
            for side in (record["left"], record["right"]) if record["repeats"] is None else ():
                yield key, segment_shape(side)

    def answers(self, *keys: int) -> list[StoredPreference]:
        """Answers of these numbers. Raises UserError if there is no such answer, or if it is damaged."""
        return [self._stored(row) for key in keys for row in self.rows(key)]

    def rows(self, key: int | None = None) -> list[PreferenceSummary]:
        """Summaries of all answers, or of one; reads no segment. Raises UserError if there is no such answer."""
        if key is None:
            return self._rows()
        self._refresh()
        if key not in self._state.records:
            raise UserError(f"{self.folder} has no answer {key}.")
        return [self._state.summary(key)]

    def _rows(self) -> list[PreferenceSummary]:
        self._refresh()
        return [self._state.summary(key) for key in self._state.records]

    def count(self) -> int:
        """Number of labels."""
        return sum(not row.withdrawn and row.repeats is None for row in self._rows())

    def snapshot(self) -> Iterator[tuple[str, bytes | bytearray]]:
        """Names and contents of the files of a copy, the log first. Answers given meanwhile are left out."""
        self._refresh()
        keys = list(self._state.records)
        with self._plain_errors():
            self._log.seek(0)
            yield LOG, self._log.read(self._end)
            for key in keys:
                yield answer_file(self.folder, key)

    def _stored(self, row: PreferenceSummary) -> StoredPreference:
        record = self._state.records[row.id]
        try:
            left, right = read_segments(self.folder, self._state.records[row.repeats or row.id])
        except (OSError, *DAMAGE) as error:
            damage = "can't be read" if isinstance(error, OSError) else "is damaged"
            reason = files.reason(error) if isinstance(error, OSError) else error
            path = answer_paths(self.folder, row.repeats or row.id)[1]
            raise self._problem(path, f"{damage} ({reason})") from error
        if record["swapped"]:
            left, right = right, left
        pool = None if record["pool_returns"] is None else PoolReturns(*record["pool_returns"])
        disagreement = np.nan if record["disagreement"] is None else record["disagreement"]
        query = Query(record["query"], left, right, disagreement, pool, row.repeats)
        returns = None if record["returns"] is None else (record["returns"][0], record["returns"][1])
        preference = Preference(row.id, query, row.choice, row.labeller, row.answered_at, returns)
        return StoredPreference(preference, row.withdrawn, row.changes, row.undone)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Raise UserError if this object, or this process, must not write, or if writing fails."""
        if self._read_only:
            raise UserError(f"{self.folder} was opened for reading only: nothing was written.")
        files.require_same(self.folder / LOG, self._identity)
        self._require_owner()
        with self._plain_errors("written"):
            yield

    def _append(self, body: dict[str, Any]) -> None:
        """Append a line and sync it; a line torn by a crash is overwritten. Raises OSError."""
        line = encode(self._seq + 1, body)
        if self._end + len(line) > MAX_LOG:
            raise UserError(f"{self.folder} holds as many answers as a session can: start a new session.")
        try:
            self._log.truncate(self._end)
            self._log.seek(self._end)
            rest = memoryview(line)
            while rest:
                rest = rest[self._log.write(rest) :]
            os.fsync(self._log.fileno())
        except BaseException:
            with contextlib.suppress(OSError):  # the next append tries again
                self._log.truncate(self._end)
            raise
        self._state.apply(decode(line[:-1]))
        self._seq, self._end = self._seq + 1, self._end + len(line)

    def _refresh(self) -> None:
        """Apply the lines appended since the last call. A line without its line feed is not complete yet."""
        path = self.folder / LOG
        with self._plain_errors():
            size = os.fstat(self._log.fileno()).st_size
            if not self._end <= size <= MAX_LOG:
                raise self._problem(path, "is damaged (it was truncated, or is too long)")
            if size == self._end:
                return
            self._log.seek(self._end)
            lines = self._log.read(MAX_LOG).split(b"\n")[:-1]
        for line in lines:
            try:
                body = decode(line)
                if body["seq"] != self._seq + 1:
                    raise ValueError("a line before it is missing, or it is there twice")
                self._state.apply(body)
            except DAMAGE as error:
                raise self._problem(path, f"is damaged (line {self._seq + 1}: {error})") from error
            self._seq, self._end = self._seq + 1, self._end + len(line) + 1

    def _problem(self, path: Path, problem: str) -> UserError:
        saves = f"{COMMAND_LINE} preferences export {self.folder.parent} FOLDER saves the undamaged answers"
        return UserError(f"{path} {problem}: put a copy of it back; {saves}.")

    @contextlib.contextmanager
    def _plain_errors(self, what: str = "read") -> Iterator[None]:
        try:
            yield
        except OSError as error:
            path = Path(error.filename or self.folder)
            if isinstance(error, FileNotFoundError):
                raise self._problem(path, "is missing") from error
            raise UserError(f"{path} can't be {what} ({files.reason(error)}): {files.remedy(error)}.") from error


def file_numbers(folder: Path) -> set[int]:
    """Numbers of the answers whose files are in `folder` under their final names."""
    return {int(match[1]) for name in os.listdir(folder) if (match := _FILE.fullmatch(name))}


def answer_paths(folder: Path, key: int) -> tuple[Path, Path]:
    """Temporary and final path of an answer's file. Look in this order: it is renamed while others read."""
    path = folder / f"{key:08d}.safetensors"
    return path.with_suffix(".part"), path


def answer_file(folder: Path, key: int) -> tuple[str, bytes | bytearray]:
    """Final name and content of an answer's file. Raises OSError."""
    part, path = answer_paths(folder, key)
    with contextlib.suppress(FileNotFoundError):
        return path.name, files.read_regular(part, MAX_FILE)
    return path.name, files.read_regular(path, MAX_FILE)


def read_segments(folder: Path, record: dict[str, Any]) -> tuple[Segment, Segment]:
    """Left and right segment of a first answer. Raises OSError, or one of DAMAGE if its file is not whole.

    record: of the answer, as the log has it
    """
    values, arrays, sealed = tensor_file.parse(answer_file(folder, record["id"])[1])
    if not sealed or values != record:
        raise ValueError("it does not match its checksum, or belongs to another answer")
    sides = []
    for number, side in ((2 * record["id"] - 1, "left"), (2 * record["id"], "right")):
        own = {name.removeprefix(f"{side}."): array for name, array in arrays.items() if name.startswith(f"{side}.")}
        segment = from_arrays(number, record[side]["env_steps"], own)
        if _side(segment) != record[side]:
            raise ValueError("its segments are not of the size that the log says")
        sides.append(segment)
    return sides[0], sides[1]


def _side(segment: Segment) -> dict[str, Any]:
    """Description of a segment in an answer's record."""
    shape = shape_of(segment)
    return {
        "env_steps": int(segment.env_steps),
        "steps": shape.steps,
        "observation": list(shape.observation),
        "action": shape.action,
    }
