"""Ctrl+C in a run without a window: heard at once, taken at a boundary, so that what is saved goes on bit for bit."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import Any

from core.errors import CutShortError

_STDERR = 2
_TOLD = b"\nStopping after the step under way; once more ends it at once, without saving.\n"


class Interrupts:
    """While it is entered, in the main thread: the first Ctrl+C only sets `asked`, the second raises CutShortError."""

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        # Whoever started the program may have chosen that Ctrl+C is not for it.
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _take(self, number: int, frame: object) -> None:
        if self.asked:
            raise CutShortError
        self.asked = True
        with contextlib.suppress(OSError):
            os.write(_STDERR, _TOLD)  # a stream may be in the middle of a write of its own, and refuse another
