"""Undamaged answers of a damaged store, as the files of a new store."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.io import files, tensor_file
from core.preferences.answer_log import DAMAGE, MAX_LOG, AnswerState, decode, encode
from core.preferences.store import LOG, answer_file, file_numbers, read_segments
from core.types import require_count


def rescue(folder: Path) -> tuple[Iterator[tuple[str, bytes | bytearray]], int, int]:
    """Names and contents of the files of a new store, how many answers it has, and how many are known to be lost.

    Lines of the log that are damaged are left out; an answer whose line is lost is taken from its file, as first given.
    Raises UserError if there is no answer that can be read.
    """
    numbers: set[int] = set()
    lines: list[bytes] = []
    with contextlib.suppress(OSError):  # what can't be read is lost, and counted where that is possible
        numbers = file_numbers(folder)
        lines = bytes(files.read_regular(folder / LOG, MAX_LOG)).split(b"\n")
    timeline: list[tuple[int, dict[str, Any]]] = []
    """Lines, each with the number of the newest answer then."""
    newest = 0
    for line in lines:
        with contextlib.suppress(*DAMAGE):
            body = decode(line)
            if body["do"] == "add":
                newest = require_count(body["answer"]["id"])
            timeline.append((newest, body))
    logged = {key for key, body in timeline if body["do"] == "add"}
    for key in numbers - logged:
        with contextlib.suppress(OSError, *DAMAGE):
            record = tensor_file.parse(answer_file(folder, key)[1])[0]
            timeline.append((key, {"do": "add", "answer": record}))
    state, applied = AnswerState(), []
    for _, body in sorted(timeline, key=lambda entry: entry[0]):
        with contextlib.suppress(*DAMAGE):
            state.apply(body)
            applied.append(body)
    undamaged = {key for key, record in state.records.items() if _is_whole(folder, state.records, record)}
    if not undamaged:
        raise UserError(f"{folder} has no answer that can be read: put a copy of it back.")
    kept = [body for body in applied if (body["answer"] if body["do"] == "add" else body)["id"] in undamaged]
    log = b"".join(encode(seq, body) for seq, body in enumerate(kept, 1))
    contents = (answer_file(folder, key) for key in sorted(undamaged))
    return itertools.chain([(LOG, log)], contents), len(undamaged), len(numbers | logged) - len(undamaged)


def _is_whole(folder: Path, records: dict[int, dict[str, Any]], record: dict[str, Any]) -> bool:
    try:
        read_segments(folder, records[record["repeats"] or record["id"]])
        return True
    except (OSError, *DAMAGE):
        return False
