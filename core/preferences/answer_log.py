"""Log of answers: one JSON object a line, with a sequence number and a checksum; lines are only ever appended.

A line adds an answer, or undoes, restores or changes an earlier one. docs/answers.md describes the format for other
programs. A log may come from another person, so every value is checked before it is used.
"""

from __future__ import annotations

import json
import math
import zlib
from dataclasses import replace
from typing import Any

from core.io.segment_codec import SegmentShape
from core.preferences.records import ChoiceRevision, PreferenceSummary
from core.types import Choice, require_count

MAX_LOG = 16 << 20
"""Bytes: about 50,000 answers, nine times the paper's largest experiment. Reading them takes two seconds at most."""
MAX_ID = 99_999_999
_MAX_LINE = 4096
DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)
"""Exceptions raised by a line or an answer file that is damaged or makes no sense."""
_FIELDS = {
    *("id", "query", "repeats", "swapped", "choice", "labeller", "answered_at", "disagreement", "returns"),
    *("pool_returns", "left", "right"),
}


def encode(seq: int, body: dict[str, Any]) -> bytes:
    """Line of the log for `body`, with its line feed."""
    text = json.dumps({**body, "seq": seq}, allow_nan=False, separators=(",", ":"))[:-1].encode()
    return b'%s,"crc":"%08x"}\n' % (text, zlib.crc32(text))


def decode(line: bytes) -> dict[str, Any]:
    """Body of a line without its line feed. Raises one of DAMAGE."""
    text, _, crc = line.rpartition(b',"crc":"')
    if len(line) > _MAX_LINE or crc != b'%08x"}' % zlib.crc32(text):
        raise ValueError("it is too long, or its checksum does not match")
    body: dict[str, Any] = json.loads(text + b"}")
    return body


class AnswerState:
    """Answers that the lines of a log add up to, by number, in the order given."""

    def __init__(self) -> None:
        self.records: dict[int, dict[str, Any]] = {}
        """Answers as first given, in the form in which they are stored."""
        self._summaries: dict[int, PreferenceSummary] = {}
        self._changes: dict[int, list[ChoiceRevision]] = {}
        self._undone: set[int] = set()

    def summary(self, key: int) -> PreferenceSummary:
        """Present state of an answer."""
        found, changes = self._summaries[key], self._changes.get(key)
        return replace(found, changes=tuple(changes)) if changes else found

    @property
    def newest(self) -> int:
        """Highest number of an answer; 0 if there is none."""
        return next(reversed(self.records), 0)

    def apply(self, body: dict[str, Any]) -> None:
        """Apply one line. Raises one of DAMAGE, and changes nothing, if the line makes no sense here."""
        if body["do"] == "add":
            self._add(body["answer"])
            return
        key = require_count(body["id"])
        row = self._summaries[key]
        match body["do"]:
            case "undo" if not row.withdrawn:
                self._summaries[key] = replace(row, withdrawn=True, undone=True)
                self._undone.add(key)
            case "redo" if row.undone:
                self._summaries[key] = replace(row, withdrawn=False, undone=False)
                self._undone.remove(key)
            case "change" if not row.withdrawn and row.repeats is None:
                before = ChoiceRevision(row.choice, row.labeller, _number(body["at"]), self.newest)
                self._summaries[key] = replace(row, choice=Choice(body["choice"]), labeller=_text(body["labeller"]))
                self._changes.setdefault(key, []).append(before)
            case _:
                raise ValueError(f"it can't {body['do']!r:.20} answer {key}")

    def _add(self, record: dict[str, Any]) -> None:
        summary = _summary(record)
        if not self.newest < summary.id <= MAX_ID:
            raise ValueError(f"{summary.id} can't be the number of its answer")
        if summary.repeats is not None and self._summaries[summary.repeats].repeats is not None:
            raise ValueError(f"answer {summary.repeats} is itself a repeat")
        for key in self._undone:  # a new answer ends what redo could restore
            self._summaries[key] = replace(self._summaries[key], undone=False)
        self._undone.clear()
        self.records[summary.id], self._summaries[summary.id] = record, summary


def _summary(record: dict[str, Any]) -> PreferenceSummary:
    """Summary of an answer as first given, after a check of each of its values. Raises one of DAMAGE."""
    if record.keys() != _FIELDS or not isinstance(record["swapped"], bool):
        raise ValueError("it has not the fields of an answer")
    key, repeats = require_count(record["id"]), record["repeats"]
    require_count(record["query"])
    if record["disagreement"] is not None:
        _number(record["disagreement"])
    for pair in (record["returns"], record["pool_returns"]):
        if pair is not None:
            _, _ = map(_number, pair)
    for side in ("left", "right"):
        if (record[side] is None) != (repeats is not None):
            raise ValueError("it has no segments, or those of another answer too")
        if repeats is None:
            require_count(record[side]["env_steps"])
            segment_shape(record[side])
    first = key if repeats is None else require_count(repeats)
    sides = (2 * first, 2 * first - 1) if record["swapped"] else (2 * first - 1, 2 * first)
    choice, labeller, at = Choice(record["choice"]), _text(record["labeller"]), _number(record["answered_at"])
    return PreferenceSummary(key, choice, labeller, at, repeats=repeats, sides=sides)


def segment_shape(side: dict[str, Any]) -> SegmentShape:
    """Size of a segment from the `left` or `right` of an answer's record. Raises one of DAMAGE."""
    return SegmentShape(
        require_count(side["steps"]), tuple(map(require_count, side["observation"])), require_count(side["action"])
    )


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.40} is not a finite number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} is not text")
    value.encode()  # raises ValueError for half a surrogate pair, which no file can hold
    return value
