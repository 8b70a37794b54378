"""Durable store of answers: a folder with a log and one file of segments per answer.

`log.jsonl` records what was answered, undone, restored and changed: one JSON object per line, with a sequence number and
a checksum. The segments of answer 7 are in `00000007.safetensors`, with a digest. Nothing is ever rewritten: a copy of
the folder is a store. docs/answers.md documents the format and its guarantees. A store may come from another person, so
each value is checked before it is used.

A repeat is an answer to a pair that was answered before. It shares the first answer's segments, measures how consistent
the labeller is, and is not a label: no reward is fitted to it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from core.errors import UserError
from core.events import without_prefix
from core.formatting import pluralize
from core.io import files, tensor_file
from core.io.segment_codec import SegmentShape, from_arrays, shape_of, to_arrays
from core.io.tensor_file import DAMAGE
from core.types import Choice, PoolReturns, Preference, Query, Segment, require_count
from core.version import COMMAND_LINE

FOLDER = "preferences"
"""Name of the store in the folder of a session."""
LOG = "log.jsonl"
FILE_NAME = r"[0-9]{8}\.safetensors"
"""Pattern of the name of an answer's file."""
_MAX_FILE = 64 << 20
"""Largest size of an answer's file in bytes. The longest segments, 1,000 steps of a game, take about 5 MB."""
MAX_LOG = 16 << 20
"""Largest size of the log in bytes: about 50,000 answers, nine times the paper's largest experiment, read within 2 s."""
_MAX_LINE = 4096
_MAX_ID = 99_999_999
Contents = Iterator[tuple[str, bytes | bytearray]]
"""Names and contents of the files of a copy, the log first."""


def encode(seq: int, body: dict[str, Any]) -> bytes:
    """Return the line of the log for `body`, with its line feed."""
    text = json.dumps({**body, "seq": seq}, allow_nan=False, separators=(",", ":"))[:-1].encode()
    return b'%s,"crc":"%08x"}\n' % (text, zlib.crc32(text))


def decode(line: bytes) -> dict[str, Any]:
    """Return the body of a line without its line feed. Raises one of DAMAGE if it is damaged."""
    text, _, crc = line.rpartition(b',"crc":"')
    if len(line) > _MAX_LINE or crc != b'%08x"}' % zlib.crc32(text):
        raise ValueError("it is too long, or its checksum does not match")
    return dict(json.loads(text + b"}"))


@dataclass(frozen=True, slots=True)
class PreferenceSummary:
    """Stored preference without its segments."""

    id: int
    choice: Choice
    labeller: str
    answered_at: float
    """Seconds since the epoch."""
    withdrawn: bool = False
    repeats: int | None = None
    """Number of the first answer to the same pair, if this answer repeats it to measure consistency."""
    swapped: bool = False
    """True if left and right are swapped with respect to the first answer."""
    shapes: tuple[SegmentShape, ...] = ()
    """Sizes of the left and right segment; none of a repeat."""
    changes: tuple[tuple[Choice, int], ...] = ()
    """Earlier choices, oldest first, each with the number of the answer that was then the newest; clocks may be wrong."""


class AnswerState:
    """State of all answers after the lines of a log."""

    def __init__(self) -> None:
        self.seq, self.size, self.newest = 0, 0, 0
        """Number of lines so far, their size in bytes, and highest number of an answer."""
        self.records: dict[int, dict[str, Any]] = {}
        """Answers as first given, in the form in which they are stored, by number."""
        self.undone: set[int] = set()
        """Numbers of the answers that redo can restore."""
        self._rows: dict[int, PreferenceSummary] = {}
        self._changes: dict[int, list[tuple[Choice, int]]] = {}  # outside the rows: a row is copied at each change

    def row(self, key: int) -> PreferenceSummary:
        """Return the current state of an answer."""
        row, changes = self._rows[key], self._changes.get(key)
        return replace(row, changes=tuple(changes)) if changes else row

    def apply(self, line: bytes) -> None:
        """Apply the next line, without its line feed. Raises one of DAMAGE, and applies nothing, if it is damaged."""
        body = decode(line)
        if body["seq"] != self.seq + 1:
            raise ValueError("a line before it is missing, or it is there twice")
        if body["do"] == "add":
            self._add(body["answer"])
        else:
            self._alter(require_count(body["id"]), body)
        self.seq, self.size = self.seq + 1, self.size + len(line) + 1

    def _add(self, record: dict[str, Any]) -> None:
        key, repeats, swapped = require_count(record["id"]), record["repeats"], record["swapped"]
        if not self.newest < key <= _MAX_ID:
            raise ValueError(f"{key} can't be the number of its answer")
        if repeats is not None and self._rows[require_count(repeats)].repeats is not None:
            raise ValueError(f"answer {repeats} is itself a repeat")
        shapes = tuple(_segment_shape(record[side]) for side in ("left", "right") if record[side] is not None)
        if len(shapes) != (2 if repeats is None else 0) or type(swapped) is not bool:
            raise ValueError("it has no segments, or those of another answer too")
        require_count(record["query"])
        if record["disagreement"] is not None:
            _number(record["disagreement"])
        for pair in (record["returns"], record["pool_returns"]):
            if pair is not None:
                _, _ = map(_number, pair)
        choice, labeller, at = Choice(record["choice"]), _text(record["labeller"]), _number(record["answered_at"])
        self._rows[key] = PreferenceSummary(key, choice, labeller, at, False, repeats, swapped, shapes)
        self.records[key], self.newest = record, key
        self.undone.clear()  # after a new answer, redo can restore nothing

    def _alter(self, key: int, body: dict[str, Any]) -> None:
        row = self._rows[key]
        match body["do"]:
            case "undo" if not row.withdrawn:
                self._rows[key] = replace(row, withdrawn=True)
                self.undone.add(key)
            case "redo" if key in self.undone:
                self._rows[key] = replace(row, withdrawn=False)
                self.undone.remove(key)
            case "change" if not row.withdrawn and row.repeats is None:
                _number(body["at"])
                self._rows[key] = replace(row, choice=Choice(body["choice"]), labeller=_text(body["labeller"]))
                self._changes.setdefault(key, []).append((row.choice, self.newest))
            case _:
                raise ValueError(f"it can't {body['do']!r:.20} answer {key}")


class PreferenceStore:
    """Answers of one session. Use each object in one thread; one object at a time may write."""

    def __init__(self, folder: Path, read_only: bool = False, require_owner: Callable[[], None] = lambda: None) -> None:
        """Open the store in `folder`, or create an empty one there unless `read_only`.

        require_owner: called before each write; raises UserError if this process must not write.
        Raises UserError if the log is damaged, or if files of answers are missing.
        """
        self.folder, self._read_only, self._require_owner = folder, read_only, require_owner
        self._state = AnswerState()
        with self._plain_errors():
            if not read_only and not os.path.lexists(folder):
                folder.mkdir()
                files.write_atomically(folder / LOG, b"")
                files.sync_folder(folder.parent)
            # before the log: a file gets its final name after its line
            numbers = {int(name[:8]) for name in os.listdir(folder) if re.fullmatch(FILE_NAME, name, re.ASCII)}
            mode = "rb" if read_only else "r+b"
            self._log = open(folder / LOG, mode, 0, opener=files.open_regular)  # noqa: SIM115
            self._identity = files.identity(folder / LOG)
        try:
            self._refresh()
            if lost := numbers - self._state.records.keys():
                raise damaged(folder, f"has lost {pluralize(len(lost), 'answer')} at its end")
            for part, path in (_paths(folder, key) for key in self._state.records if key not in numbers):
                if not os.path.lexists(part) and not os.path.lexists(path):
                    raise damaged(folder, "is missing", path.name)
                if not read_only:
                    with contextlib.suppress(OSError):  # not renamed because of a crash; it is read under either name
                        os.replace(part, path)
        except BaseException:
            self._log.close()
            raise

    def close(self) -> None:
        self._log.close()

    def add(
        self, query: Query, choice: Choice, labeller: str, returns: tuple[float, float] | None = None
    ) -> Preference:
        """Store an answer. It is on disk when this returns; from then on, `redo` can't restore earlier answers.

        returns: true returns of left and right, if the labeller gave them (the target ablation, 3.3)

        Raises UserError if the answer can't be written, or if the query's pair is not that of the answer it repeats.
        """
        self._refresh()
        pool, arrays = query.pool_returns, dict[str, np.ndarray]()
        record: dict[str, Any] = {"id": self._state.newest + 1, "query": query.id, "repeats": query.repeats}
        record |= {"swapped": False, "choice": str(choice), "labeller": labeller, "answered_at": time.time()}
        record |= {"disagreement": None if np.isnan(query.disagreement) else float(query.disagreement)}
        record |= {"returns": returns and [float(value) for value in returns]}
        record |= {"pool_returns": pool and [float(pool.worst), float(pool.mean)], "left": None, "right": None}
        if query.repeats is None:
            for side, segment in (("left", query.left), ("right", query.right)):
                record[side] = {"env_steps": int(segment.env_steps), **asdict(shape_of(segment))}
                arrays |= {f"{side}.{name}": array for name, array in to_arrays(segment).items()}
        else:
            first = self.row(query.repeats)
            if first.repeats is not None or {query.left.id, query.right.id} != {2 * first.id - 1, 2 * first.id}:
                raise UserError(f"This pair is not the pair of answer {first.id}: it can't be its repeat.")
            record["swapped"] = query.left.id == 2 * first.id
        self._write({"do": "add", "answer": record}, arrays)
        return Preference(record["id"], query, choice, labeller, record["answered_at"], returns)

    def change(self, key: int, choice: Choice, labeller: str) -> Preference:
        """Change the choice and labeller of an answer. Raises UserError if it is withdrawn or a repeat."""
        row = self.row(key)
        if row.withdrawn or row.repeats is not None:
            raise UserError(f"Answer {key} was undone, or repeats another one: change one that counts.")
        before = self._append_change(key, "change", choice=str(choice), labeller=labeller, at=time.time())
        return replace(before, choice=choice, labeller=labeller)

    def undo(self) -> Preference | None:
        """Withdraw the latest answer that stands and return it; None if there is none."""
        standing = [row.id for row in self.rows() if not row.withdrawn]
        return self._append_change(standing[-1], "undo") if standing else None

    def redo(self) -> Preference | None:
        """Restore the answer that was withdrawn last and return it; None if an answer was added since."""
        self._refresh()
        return self._append_change(min(self._state.undone), "redo") if self._state.undone else None

    def undone(self) -> list[Preference]:
        """Return the withdrawn answers that `redo` can restore, except damaged ones."""
        self._refresh()
        found = []
        for key in sorted(self._state.undone):
            with contextlib.suppress(UserError):
                found.append(self.answer(key))
        return found

    def _append_change(self, key: int, do: str, **values: Any) -> Preference:
        files.require_same(self.folder / LOG, self._identity)  # otherwise the error would be that one answer is missing
        answer = self.answer(key)
        self._write({"do": do, "id": key, **values})
        return answer

    def rows(self) -> list[PreferenceSummary]:
        """Return summaries of all answers, in the order given; reads no segment."""
        self._refresh()
        return [self._state.row(key) for key in self._state.records]

    def row(self, key: int) -> PreferenceSummary:
        """Return the summary of an answer. Raises UserError if there is no such answer."""
        self._refresh()
        if key not in self._state.records:
            raise UserError(f"{self.folder} has no answer {key}.")
        return self._state.row(key)

    def labels(self) -> list[PreferenceSummary]:
        """Return the summaries of the labels, which are the answers that are neither withdrawn nor repeats."""
        return [row for row in self.rows() if not row.withdrawn and row.repeats is None]

    def count(self) -> int:
        """Return the number of labels."""
        return len(self.labels())

    def each(self) -> Iterator[Preference]:
        """Iterate over the labels in the order given, reading one at a time. Raises UserError at a damaged one."""
        return (self.answer(row.id) for row in self.labels())

    def answer(self, key: int) -> Preference:
        """Return the answer with this number, with its segments. Raises UserError if it does not exist or is damaged."""
        row, record = self.row(key), self._state.records[key]
        first = row.repeats or key
        try:
            found, segments = _read_answer(self.folder, first)
            if found != self._state.records[first]:
                raise ValueError("it belongs to another answer")
        except DAMAGE as error:
            fault = f"can't be read ({files.reason(error)})" if isinstance(error, OSError) else f"is damaged ({error})"
            raise damaged(self.folder, fault, _paths(self.folder, first)[1].name) from error
        left, right = reversed(segments) if row.swapped else segments
        pool, returns = record["pool_returns"], record["returns"]
        disagreement = np.nan if record["disagreement"] is None else record["disagreement"]
        query = Query(record["query"], left, right, disagreement, pool and PoolReturns(*pool), row.repeats)
        return Preference(key, query, row.choice, row.labeller, row.answered_at, returns and tuple(returns))

    def snapshot(self) -> Contents:
        """Yield the files of a copy of the store. Answers given meanwhile are left out."""
        self._refresh()
        keys = list(self._state.records)
        with self._plain_errors():
            self._log.seek(0)
            yield LOG, self._log.read(self._state.size)
            for key in keys:
                yield _read_file(self.folder, key)

    def _refresh(self) -> None:
        """Apply the lines appended since the last call, except a last line without line feed, which is incomplete."""
        state = self._state
        with self._plain_errors():
            size = os.fstat(self._log.fileno()).st_size
            if not state.size <= size <= MAX_LOG:
                raise damaged(self.folder, "is damaged (it was truncated, or is too long)")
            self._log.seek(state.size)
            lines = self._log.read(size - state.size).split(b"\n")[:-1]
        for line in lines:
            try:
                state.apply(line)
            except DAMAGE as error:
                raise damaged(self.folder, f"is damaged (line {state.seq + 1}: {error})") from error

    def _write(self, body: dict[str, Any], arrays: dict[str, np.ndarray] | None = None) -> None:
        """Write the file of a new answer, if any, and append a line to the log. Both are on disk when this returns.

        Raises UserError if this object, or this process, must not write, or if writing fails.
        """
        if self._read_only:
            raise UserError(f"{self.folder} was opened for reading only: nothing was written.")
        files.require_same(self.folder / LOG, self._identity)
        self._require_owner()
        line, end = encode(self._state.seq + 1, body), self._state.size
        if end + len(line) > MAX_LOG:
            raise UserError(f"{self.folder} holds as many answers as a session can: start a new session.")
        with self._plain_errors("written"):
            if arrays is not None:
                part, path = _paths(self.folder, body["answer"]["id"])
                files.write_synced(part, tensor_file.as_file(body["answer"], arrays))
                files.sync_folder(self.folder)
            try:
                self._log.truncate(end)  # a crash may have left a torn line
                self._log.seek(end)
                rest = memoryview(line)
                while rest:
                    rest = rest[self._log.write(rest) :]
                os.fsync(self._log.fileno())
            except BaseException:  # the line may yet be on disk: the file stays
                with contextlib.suppress(OSError):  # the next append tries again
                    self._log.truncate(end)
                raise
        self._state.apply(line[:-1])
        if arrays is not None:
            with contextlib.suppress(OSError):  # it is stored, and also found under its temporary name
                os.replace(part, path)

    @contextlib.contextmanager
    def _plain_errors(self, what: str = "read") -> Iterator[None]:
        try:
            yield
        except OSError as error:
            path = Path(error.filename or self.folder)
            if isinstance(error, FileNotFoundError):
                raise damaged(self.folder, "is missing", path.name) from error
            remedy = files.remedy(error) if what == "written" else "check the disk and this file's permissions"
            raise UserError(f"{path} can't be {what} ({files.reason(error)}): {remedy}.") from error


def damaged(folder: Path, problem: str, name: str = LOG) -> UserError:
    """Return the error for a missing or damaged file of the store in `folder`. problem: predicate of the sentence"""
    saves = f"{COMMAND_LINE} preferences export {quote(str(folder.parent))} FOLDER saves the undamaged answers"
    return UserError(f"{folder / name} {problem}: put a copy of it back; {saves}.")


@dataclass(frozen=True)
class Rescued:
    """Repaired copy of a store.

    answers, lost: numbers of answers in it, and of those known to be lost
    changes_lost: number of changes, undos and redos that are left out because they are damaged
    lines_lost: True if lines are gone from the log, perhaps of changes, undos and redos too; a damaged line next to them
        can hide that
    """

    contents: Contents
    answers: int
    lost: int
    changes_lost: int
    lines_lost: bool


def rescue(folder: Path) -> Rescued:
    """Return a repaired copy without damaged lines and answers.

    An answer whose line is lost is taken from its file, which repeats the line. Raises UserError if the store had answers,
    but none of them can be read.
    """
    numbers, added, log = set[int](), set[int](), None
    with contextlib.suppress(OSError):  # what can't be read is lost, and counted where that is possible
        numbers = {int(name[:8]) for name in os.listdir(folder) if re.fullmatch(FILE_NAME, name, re.ASCII)}
        log = bytes(files.read_regular(folder / LOG, MAX_LOG))
    lines = log.split(b"\n")[:-1] if log else []
    newest, events = 0, list[tuple[int, dict[str, Any]]]()  # each with the number of the newest answer then
    for line in lines:
        with contextlib.suppress(*DAMAGE):
            body = decode(line)
            if body["do"] == "add":
                newest = require_count(body["answer"]["id"])
                added.add(newest)
            else:
                events.append((max(newest, require_count(body["id"])), body))
    # The answers whose files alone were found have unread lines, too.
    unread = len(lines) - len(events) - len(numbers | added)
    numbers |= added
    for key in numbers:
        with contextlib.suppress(*DAMAGE):
            events.append((key, {"do": "add", "answer": _read_answer(folder, key)[0]}))
    state, kept, refused = AnswerState(), list[bytes](), list[dict[str, Any]]()
    for _, body in sorted(events, key=lambda event: (event[0], event[1]["do"] != "add")):
        line = encode(state.seq + 1, body)
        try:
            state.apply(line[:-1])
            kept.append(line)
        except DAMAGE:
            refused.append(body)
    if not state.records and log != b"":
        raise UserError(f"{folder} has no answer that can be read: put a copy of it back.")
    contents: Contents = itertools.chain([(LOG, b"".join(kept))], (_read_file(folder, key) for key in state.records))
    changes_lost = max(0, unread) + sum(body.get("id") in state.records for body in refused)
    return Rescued(contents, len(state.records), len(numbers) - len(state.records), changes_lost, unread < 0)


def _paths(folder: Path, key: int) -> tuple[Path, Path]:
    """Return the temporary and final path of an answer's file. Check them in this order: it may be renamed meanwhile."""
    path = folder / f"{key:08d}.safetensors"
    return path.with_suffix(".part"), path


def _read_file(folder: Path, key: int) -> tuple[str, bytearray]:
    """Return the final name and the content of an answer's file. Raises OSError.

    The file has a temporary name until shortly after its line is in the log.
    """
    part, path = _paths(folder, key)
    with contextlib.suppress(FileNotFoundError):
        return path.name, files.read_regular(part, _MAX_FILE)
    return path.name, files.read_regular(path, _MAX_FILE)


def _read_answer(folder: Path, key: int) -> tuple[dict[str, Any], list[Segment]]:
    """Read the record of an answer, and its left and right segment (none for a repeat). Raises one of DAMAGE."""
    record, arrays = tensor_file.parse(_read_file(folder, key)[1])
    if record["id"] != key:
        raise ValueError("it belongs to another answer")
    segments = []
    for number, side in enumerate(("left", "right"), 2 * key - 1):
        if record[side] is not None:
            segments.append(from_arrays(number, record[side]["env_steps"], without_prefix(arrays, f"{side}.")))
            if shape_of(segments[-1]) != _segment_shape(record[side]):
                raise ValueError("its segments are not of the size that the log says")
    return record, segments


def _segment_shape(side: dict[str, Any]) -> SegmentShape:
    """Return the size of a segment from the entry `left` or `right` of an answer's record."""
    require_count(side["env_steps"])
    observation = tuple(map(require_count, side["observation"]))
    return SegmentShape(require_count(side["steps"]), observation, require_count(side["action"]))


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.40} is not a finite number")
    return float(value)


def _text(value: Any) -> str:
    return str.encode(value).decode()  # raises ValueError for half a surrogate pair, which no file can hold
