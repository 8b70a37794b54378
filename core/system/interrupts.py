"""Signals that stop a run without a window between two steps, so that it can be resumed exactly.

SIGINT (Ctrl+C) comes from the user, SIGTERM from a logout, a service manager or a job scheduler, and SIGHUP from a closed
terminal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from core.errors import CutShortError

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask a program to stop. Windows has no SIGHUP."""
_STDERR = 2
_MESSAGE = b"\nStopping after this step. Press Ctrl+C again to stop at once without saving.\n"


class Interrupts:
    """Context manager for the main thread: the first signal sets `asked`, the second raises CutShortError.

    asked: number of the received signal, or 0
    """

    def __init__(self) -> None:
        self.asked = 0
        self._handlers = contextlib.ExitStack()

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._handlers.enter_context(_handled(STOPPING, self._on_signal))
        return self

    def __exit__(self, *_: object) -> None:
        self._handlers.close()

    def _on_signal(self, number: int, frame: object) -> None:
        if self.asked:
            raise CutShortError(number)
        self.asked = number
        with contextlib.suppress(OSError):
            os.write(_STDERR, _MESSAGE)  # a stream may be in the middle of a write, and is not reentrant


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Within the context, SIGTERM and SIGHUP raise KeyboardInterrupt in the main thread, as Ctrl+C does.

    args of the exception: the signal's number
    """
    with _handled([number for number in STOPPING if number != signal.SIGINT], _stop):
        yield


@contextlib.contextmanager
def _handled(numbers: Iterable[int], handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Within the context, call `handler` on these signals, except ignored ones, as set by a parent such as nohup."""
    heard = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt(number)
