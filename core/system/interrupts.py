"""Ctrl+C in a run without a window: it ends the run between two steps, so that what is saved resumes bit for bit."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import Any

from core.errors import CutShortError

_STDERR = 2
_MESSAGE = b"\nStopping after this step. Press Ctrl+C again to stop at once without saving.\n"


class Interrupts:
    """Context manager for the main thread: the first Ctrl+C sets `asked`, the second raises CutShortError."""

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        # A parent may have chosen to ignore Ctrl+C for this process.
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            self._before = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _on_interrupt(self, number: int, frame: object) -> None:
        if self.asked:
            raise CutShortError
        self.asked = True
        with contextlib.suppress(OSError):
            os.write(_STDERR, _MESSAGE)  # a stream may be in the middle of a write of its own, and refuse another
