"""Answers in an open form, for other programs: a folder with a JSON table and a safetensors file.

preferences.json: {"format": "somersault-preferences", "version": 2, "task", "segments": [{"id", "env_steps"}],
    "preferences": [{"id", "left", "right", "query", "disagreement", "choice", "labeller", "answered_at", "withdrawn",
    "undone", "returns", "pool_returns", "repeats", "changes"}]}, in the order given. left and right are ids of
    segments, choice is one of "left", "right", "tie" and "can't tell", answered_at is in seconds since 1970; null
    stands for what is not known. repeats is the id of the first answer to the same pair, where this one only shows
    whether it is given again; no reward is fitted to it. changes: [{"choice", "labeller", "changed_at", "newest"}], the
    choices that the answer had before, oldest first; newest is the id of the newest answer when it was changed. Version
    1 had neither. undone: whether an answer that was taken back can still be given again; where it is missing it can't.
segments.safetensors: for each segment N the arrays observations.N (k, o), actions.N (k, a), states.N (k, s) and, where
    the task has one, true_rewards.N (k,), bit for bit as they were recorded. Where a task is seen in pictures,
    observations and states are packed, as core.io.segment_codec describes: 5,500 answers would take 35 GB otherwise.
config.json: the session's settings, from which a new session with these answers can be made.
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save

from core.errors import UserError
from core.events import require_count
from core.io import files as disk
from core.io import tensor_file as files
from core.io.segment_codec import from_arrays, require_unpackable, to_arrays
from core.preferences.records import ChoiceRevision
from core.preferences.salvage import rescued
from core.preferences.store import StoredPreference
from core.session.compatibility import require_fitting
from core.session.session import Session, read_config
from core.types import Choice, PoolReturns, Preference, Query, Segment
from core.version import COMMAND_LINE

log = logging.getLogger(__name__)
_FORMAT, _VERSION = "somersault-preferences", 2
_TABLE, _ARRAYS, _CONFIG = "preferences.json", "segments.safetensors", "config.json"
_MAX_TABLE, _MAX_ARRAYS = 24 << 20, 768 << 20
"""Bytes. A table of 50,000 answers is as large; read, lists of nothing could make 25 times as much of it. Arrays are
held once: 5,500 answers about a game take some 300 MB.
"""
_NUMBERS = 1 << 31
"""Answers are numbered below; the next one gets the number after the highest."""
_DAMAGE = (SafetensorError, ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)


def export_preferences(session: Session, folder: Path) -> tuple[int, int]:
    """Writes all answers, those taken back too, into a new folder. Returns how many, and how many were damaged.

    From a damaged store it takes what is whole. UserError where nothing can be read, or the folder can't be written,
    or where there is more than can be imported, unless the store is damaged: then this alone saves it.
    """
    disk.require_new(folder)
    kept, lost, damaged = _all_that_is_whole(session)
    segments = {s.id: s for k in kept for s in (k.preference.query.left, k.preference.query.right)}
    table = {
        "format": _FORMAT,
        "version": _VERSION,
        "task": session.config.task,
        "segments": [{"id": segment.id, "env_steps": segment.env_steps} for segment in segments.values()],
        "preferences": [_row(entry) for entry in kept],
    }
    arrays = save(_arrays(segments.values()))
    text = json.dumps(table, indent=1, allow_nan=False).encode()
    _require_importable(arrays, text, f"{session.folder} has {len(kept):,} answers", damaged)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"{folder} can't be made ({disk.reason(error)}): {disk.remedy(error)}.") from error
    with _without_trace(folder):
        disk.write_atomically(folder / _ARRAYS, arrays)
        disk.write_atomically(folder / _CONFIG, json.dumps(session.config.to_dict(), indent=1).encode())
        disk.write_atomically(folder / _TABLE, text)
    return len(kept), lost


def _require_importable(arrays: bytes, table: bytes, what: str, damaged: bool) -> None:
    try:
        files.require_believable(len(arrays), arrays[:8], _MAX_ARRAYS)
        if len(table) <= _MAX_TABLE:
            return
    except ValueError as error:
        log.info("The arrays can't be imported (%s).", error)
    if not damaged:
        whole = f"{COMMAND_LINE} export SESSION FILE"
        raise UserError(f"{what}, more than can be imported again: take them along with {whole}.")
    log.warning("%s, more than can be imported again: read them with another program.", what)


@contextmanager
def _without_trace(folder: Path, keep: bool = False) -> Iterator[None]:
    """Empties the folder where something fails, so that it can be tried again; and deletes it, unless `keep`."""
    try:
        yield
    except BaseException:
        with suppress(OSError):  # why it failed is told, and not that the rest of it stays
            for path in folder.iterdir():
                path.unlink(missing_ok=True)
            if not keep:
                folder.rmdir()
        raise


def _all_that_is_whole(session: Session) -> tuple[list[StoredPreference], int, bool]:
    """The answers, how many are lost, and whether the store is damaged."""
    try:
        with closing(session.store()) as store:
            return store.history(), 0, False
    except UserError:
        return *rescued(session.folder / "preferences.sqlite"), True


def _arrays(segments: Iterable[Segment]) -> dict[str, np.ndarray]:
    found = {f"{name}.{s.id}": array for s in segments for name, array in to_arrays(s).items()}
    return {name: np.ascontiguousarray(array) for name, array in found.items()}


def _row(entry: StoredPreference) -> dict[str, Any]:
    preference, query = entry.preference, entry.preference.query
    pool = query.pool_returns
    return {
        "id": preference.id,
        "left": query.left.id,
        "right": query.right.id,
        "query": query.id,
        "disagreement": None if np.isnan(query.disagreement) else query.disagreement,
        "choice": str(preference.choice),
        "labeller": preference.labeller,
        "answered_at": preference.answered_at,
        "withdrawn": entry.withdrawn,
        "undone": entry.undone,
        "returns": preference.returns,
        "pool_returns": None if pool is None else [pool.worst, pool.mean],
        "repeats": query.repeats,
        "changes": [{**asdict(change), "choice": str(change.choice)} for change in entry.changes],
    }


def import_preferences(source: Path, folder: Path) -> int:
    """Makes a new session in `folder` with the answers that were exported to `source`; returns how many.

    It is trained from the start. UserError says in one sentence what is wrong, and there is no session then.
    """
    config = read_config(source)
    try:
        kept = _read(source)
    except OSError as error:
        raise UserError(f"{source} can't be read ({disk.reason(error)}): name a folder that export wrote.") from error
    except _DAMAGE as error:
        raise UserError(f"{source} holds no exported answers, or they are damaged ({error}).") from error
    was_there = os.path.exists(folder)
    session = Session.create(folder, config)  # refuses a folder with anything in it
    with _without_trace(folder, keep=was_there), closing(session), closing(session.store()) as store:
        store.restore(kept)
        require_fitting(store, config, remedy="name answers to that task")
    return len(kept)


def _read(source: Path) -> list[StoredPreference]:
    table = json.loads(disk.read_small(source / _TABLE, _MAX_TABLE))
    if table["format"] != _FORMAT:
        raise ValueError("it has another format")
    if table["version"] not in (1, _VERSION):
        raise UserError(f"{source} was written by another version of Somersault: import it with that one.")
    arrays = files.load(source / _ARRAYS, _MAX_ARRAYS)
    own: dict[str, dict[str, np.ndarray]] = {}
    for full, array in arrays.items():
        name, _, key = full.rpartition(".")
        own.setdefault(key, {})[name] = array
    segments = {entry["id"]: _segment(entry, own) for entry in table["segments"]}
    for segment in segments.values():
        require_unpackable(segment)
    kept = [_entry(row, segments) for row in table["preferences"]]
    if len({entry.preference.id for entry in kept}) < len(kept):
        raise ValueError("an answer is there twice")
    return kept


def _segment(entry: Mapping[str, Any], arrays: Mapping[str, Mapping[str, np.ndarray]]) -> Segment:
    """arrays: of each segment by its id, as text."""
    key = require_count(entry["id"])
    try:
        return from_arrays(key, require_count(entry["env_steps"]), arrays[str(key)])
    except KeyError as error:
        raise ValueError(f"segment {key} is not whole") from error


def _entry(row: Mapping[str, Any], segments: Mapping[int, Segment]) -> StoredPreference:
    pool = None if row["pool_returns"] is None else PoolReturns(*map(_finite, row["pool_returns"]))
    disagreement = np.nan if row["disagreement"] is None else _finite(row["disagreement"])
    repeats = None if row.get("repeats") is None else require_count(row["repeats"])
    sides = segments[row["left"]], segments[row["right"]]
    query = Query(require_count(row["query"]), *sides, disagreement, pool, repeats)
    returns = None if row["returns"] is None else (_finite(row["returns"][0]), _finite(row["returns"][1]))
    labeller, answered_at = _text(row["labeller"]), _finite(row["answered_at"])
    preference = Preference(_number(row["id"]), query, Choice(row["choice"]), labeller, answered_at, returns)
    withdrawn, undone = row["withdrawn"] is True, row.get("undone") is True
    return StoredPreference(preference, withdrawn, tuple(map(_change, row.get("changes", ()))), withdrawn and undone)


def _change(entry: Mapping[str, Any]) -> ChoiceRevision:
    told = Choice(entry["choice"]), _text(entry["labeller"]), _finite(entry["changed_at"])
    return ChoiceRevision(*told, require_count(entry["newest"]))


def _number(value: Any) -> int:
    """Of an answer; ValueError where none has it. 0 is that of the seal of the store's version."""
    if not 0 < require_count(value) < _NUMBERS:
        raise ValueError(f"{value} is the number of no answer")
    return int(value)


def _finite(value: Any) -> float:
    if not math.isfinite(number := float(value)):
        raise ValueError(f"{value!r:.40} is no number to go on with")
    return number


def _text(value: Any) -> str:
    """ValueError where it is half a character, which no file can hold."""
    text = str(value)
    text.encode()
    return text
