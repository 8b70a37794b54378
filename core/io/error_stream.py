"""The stream of messages and progress bars, whose loss ends nothing."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, TextIO, cast


class ErrorStream:
    """A text stream like another one, except that it takes what can't be written: a terminal may close, or a disk be full."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):  # ValueError: it is closed
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def keep_stderr_writable() -> None:
    """Discard what is written to stderr, instead of raising an error, where it can't be written."""
    if not isinstance(sys.stderr, ErrorStream):
        nowhere = open(os.devnull, "w", encoding="utf-8") if sys.stderr is None else None  # noqa: SIM115, it stays
        sys.stderr = cast(TextIO, ErrorStream(nowhere or sys.stderr))


def flush_stdout() -> None:
    """Write what is left of the output. Raises OSError if that can't be done; nothing is left then."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python tries again at its end
        raise


def drop_stdout() -> None:
    """Write what is left of the output, or lose it if its reader has ended or the disk is full."""
    with contextlib.suppress(OSError):
        flush_stdout()
