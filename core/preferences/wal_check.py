"""The log of writes that SQLite keeps beside a store of answers: whether it is whole, before SQLite reads it.

SQLite reads its log up to the first frame with a wrong checksum, takes that for the end, says nothing, and deletes the
log when it closes. That is right after a power cut, where the frame was of an answer that nobody had been told is kept.
It is wrong where later answers follow: then a disk has spoiled the frame, and all that follow would be lost.
Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import struct
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np

from core.errors import UserError
from core.io import files

_logger = logging.getLogger(__name__)
_HEADER = struct.Struct(">8I")
"""Magic, version, bytes a page, checkpoint, two salts, two checksums."""
_FRAME = struct.Struct(">6I")
"""Page, pages after the commit (0 where it ends no transaction), two salts, two checksums."""
_WORDS = {0x377F0682: "<u4", 0x377F0683: ">u4"}
"""How the magic says that checksums read a page."""
_PAGES = tuple(1 << n for n in range(9, 17))
_MOST_FRAMES = 1 << 18
"""Looked at after a bad one: a file that only claims to be large must not take minutes."""

_Sums = tuple[int, int]


@dataclass(frozen=True)
class Extent:
    """How far a log is whole."""

    header: bytes
    whole: int
    """Bytes before the first bad frame."""
    spoiled: bool
    """Whether a transaction that was finished follows the bad frame."""


def beside(store: Path) -> Path:
    """The log of this store; it is there only while a program has the store open, or after one was killed."""
    return store.with_name(store.name + "-wal")


def require_whole(store: Path, rescue: str) -> None:
    """UserError where its log is spoiled; rescue: what saves the answers that are whole."""
    try:
        spoiled = is_spoiled(store)
    except OSError as error:
        raise UserError(f"{beside(store)} can't be read ({files.reason(error)}): {files.remedy(error)}.") from error
    if spoiled:
        holds = f"{beside(store)}, which holds the newest answers,"
        raise UserError(f"{holds} is damaged: put a copy of it back, or {rescue}.")


def is_spoiled(store: Path) -> bool:
    """Whether finished transactions follow a bad frame of its log. Touches nothing; OSError where it can't be read.

    Another connection may be writing meanwhile: only what is bad twice, in the same place, is damaged.
    """
    found = extent(store)
    return found.spoiled and extent(store) == found


def extent(store: Path) -> Extent:
    """How far the log of this store is whole; nothing is spoiled where there is none."""
    try:
        with open(beside(store), "rb") as file:
            return _extent(file)
    except FileNotFoundError:
        return Extent(b"", 0, False)


def keep_aside(store: Path) -> None:
    """A copy of the log, once: what is kept first stays. SQLite deletes the log itself when it closes."""
    log = beside(store)
    aside = log.with_name(log.name + ".damaged")
    if not log.exists() or aside.exists():
        return
    try:
        shutil.copyfile(log, aside)
    except OSError as error:
        _logger.warning("%s can't be kept (%s).", log, files.reason(error))


def _extent(file: BinaryIO) -> Extent:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return Extent(header, 0, False)
    magic, _, page, _, *rest = _HEADER.unpack(header)
    salts, sums = tuple(rest[:2]), (rest[2], rest[3])
    words = _WORDS.get(magic, "")
    if not words or page not in _PAGES or _summed(header[:24], words, (0, 0)) != sums:
        return Extent(header, 0, file.read(1) != b"")  # a header is on disk before the first frame is written
    whole = file.tell()
    while frame := _Frame.read(file, page):
        if frame.salts != salts or not frame.follows(sums, words):
            return Extent(header, whole, _goes_on(file, whole, page, salts, words))
        whole, sums = file.tell(), frame.sums
    return Extent(header, whole, False)


def _goes_on(file: BinaryIO, at: int, page: int, salts: tuple[int, ...], words: str) -> bool:
    """Whether some transaction from `at` on was finished before another one began: its last frame has a successor.

    Not so in what a failed or unfinished write leaves behind.
    """
    size = _FRAME.size + page
    start, end = at, at + _MOST_FRAMES * size
    while start < end:
        file.seek(start)
        head = file.read(_FRAME.size)
        if len(head) < _FRAME.size:
            return False
        _, commit, *rest = _FRAME.unpack(head)
        start += size
        if commit and tuple(rest[:2]) == salts:
            file.seek(start)
            after = _Frame.read(file, page)
            if after and after.salts == salts and after.follows((rest[2], rest[3]), words):
                return True
        elif not any(head):  # perhaps in a hole
            start += (_written(file, start) - start) // size * size
    return False


def _written(file: BinaryIO, at: int) -> int:
    """Where anything is written from `at` on, or the file's end: reading the zeros of a hole takes seconds.

    Never before `at`, and `at` where the file system can't say.
    """
    if sys.platform == "win32":
        return at
    try:
        return file.seek(at, os.SEEK_DATA)
    except OSError as error:
        return max(at, file.seek(0, os.SEEK_END)) if error.errno == errno.ENXIO else at


@dataclass(frozen=True)
class _Frame:
    content: bytes
    """What its checksum covers, besides the frames before it."""
    salts: tuple[int, ...]
    sums: _Sums

    @staticmethod
    def read(file: BinaryIO, page: int) -> _Frame | None:
        """None at the end of the file, also where only a part of it is left."""
        raw = file.read(_FRAME.size + page)
        if len(raw) < _FRAME.size + page:
            return None
        _, _, *rest = _FRAME.unpack(raw[: _FRAME.size])
        return _Frame(raw[:8] + raw[_FRAME.size :], tuple(rest[:2]), (rest[2], rest[3]))

    def follows(self, sums: _Sums, words: str) -> bool:
        """sums: of the frame before it, or of the header."""
        return _summed(self.content, words, sums) == self.sums


def _summed(content: bytes, words: str, sums: _Sums) -> _Sums:
    """SQLite adds each word to the sum of the last two results, modulo 2^32: Fibonacci numbers are the weights."""
    values = np.frombuffer(content, words).astype(np.uint32)
    weights = _fibonacci(len(values) + 2)[::-1]
    last = int(np.dot(values, weights[1:-1])) + sums[1] * int(weights[0]) + sums[0] * int(weights[1])
    before = int(np.dot(values, weights[2:])) + sums[1] * int(weights[1]) + sums[0] * int(weights[2])
    return before & 0xFFFFFFFF, last & 0xFFFFFFFF


@lru_cache(maxsize=8)
def _fibonacci(count: int) -> np.ndarray:
    """F(0) ... F(count - 1), modulo 2^32."""
    found = [0, 1]
    while len(found) < count:
        found.append((found[-1] + found[-2]) & 0xFFFFFFFF)
    return np.array(found, np.uint32)
