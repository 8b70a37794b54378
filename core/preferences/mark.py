"""A mark beside a store of answers: how many were kept in it, so that answers that are lost are missed.

It is written after each answer and not synced: a kill leaves it right, and a power cut at worst as it was some seconds
before. So it never tells of an answer that the store did not keep.
"""

from __future__ import annotations

import logging
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from core.formatting import pluralize
from core.io import files

log = logging.getLogger(__name__)
_LONGEST = 64


@dataclass(frozen=True)
class Mark:
    """What a store holds, or held."""

    answers: int = 0
    """Those taken back too."""
    changes: int = 0
    """Of answers."""

    def beyond(self, other: Mark) -> str:
        """What this has and the other lacks: '2 answers and 1 changed choice', or '' where that is nothing."""
        lacking = (self.answers - other.answers, "answer"), (self.changes - other.changes, "changed choice")
        return " and ".join(pluralize(number, what) for number, what in lacking if number > 0)


def beside(store: Path) -> Path:
    return store.with_name(store.name + "-mark")


def read(store: Path) -> Mark:
    """Nothing where there is none that can be read: older versions made none, and it is no answer itself."""
    try:
        told, digest = files.read_small(beside(store), _LONGEST).split(b"#")
        if zlib.crc32(told) != int(digest, 16):
            raise ValueError("it does not match its checksum")
        answers, changes = told.split()
        return Mark(int(answers), int(changes))
    except FileNotFoundError:
        return Mark()
    except (OSError, ValueError) as error:
        log.info("The mark of %s can't be read (%s).", store.name, error)
        return Mark()


def write(store: Path, kept: Mark) -> None:
    """In place: it is short, and always as long. Where it can't be written the answers are as safe as without it."""
    told = b"%012d %012d" % (kept.answers, kept.changes)
    try:
        file = files.no_link(str(beside(store)), os.O_WRONLY | os.O_CREAT)
        try:
            os.write(file, b"%s#%08x\n" % (told, zlib.crc32(told)))
        finally:
            os.close(file)
    except OSError as error:
        log.info("The mark of %s can't be written (%s).", store.name, files.reason(error))
