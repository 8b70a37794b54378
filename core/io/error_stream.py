"""Standard streams whose write errors do not end the program: stderr for messages and progress bars, and stdout."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Any, TextIO, cast


class ErrorStream:
    """A wrapper of a text stream that discards text that can't be written, as when a terminal is closed or a disk full."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):  # ValueError: the stream is closed
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def prepare_streams() -> None:
    """Make sys.stderr discard text that it can't write, and sys.stdout escape characters that its encoding lacks."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if not isinstance(sys.stderr, ErrorStream):
        nowhere = open(os.devnull, "w", encoding="utf-8") if sys.stderr is None else None  # noqa: SIM115, it stays
        sys.stderr = cast(TextIO, ErrorStream(nowhere or sys.stderr))


def flush_stdout() -> None:
    """Flush stdout. Raises OSError if that fails; the rest of the output is discarded then."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again when it exits
        raise


def drop_stdout() -> None:
    """Flush stdout, or discard the rest of the output if its reader has ended or the disk is full."""
    with contextlib.suppress(OSError):
        flush_stdout()
