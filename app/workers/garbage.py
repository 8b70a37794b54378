"""Garbage collection only in the window's thread.

Python collects in the thread that happens to allocate. Widgets of a closed window that are left in a reference cycle, as
pyqtgraph leaves some, would be deleted there: under a lock of Qt that the window's thread may wait for, with Python's lock
held, while the deletion waits for Python's. Both would wait forever.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QTimer

_INTERVAL_MS = 250


@contextmanager
def collected_here() -> Iterator[None]:
    """Collect on a timer of this thread, and keep Python from collecting by itself.

    What exists by now is never looked at again, so that a collection takes less time than a frame.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    timer = QTimer(interval=_INTERVAL_MS)
    timer.timeout.connect(collect_if_due)
    timer.start()
    try:
        yield
    finally:
        timer.stop()
        gc.enable()
        gc.unfreeze()


def collect_if_due() -> None:
    """Collect the oldest generation that Python would have collected by itself."""
    for generation in (2, 1, 0):
        if gc.get_count()[generation] > gc.get_threshold()[generation]:
            gc.collect(generation)
            return
