"""Garbage collection only in the window's thread.

Python collects in whichever thread allocates. Widgets of a closed window in a reference cycle, which pyqtgraph leaves
behind, would be deleted there. That may deadlock: the deletion holds a lock of Qt while it waits for the GIL, and the
window's thread may hold the GIL while it waits for that lock.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QTimer

_INTERVAL_MS = 250


@contextmanager
def collected_here() -> Iterator[None]:
    """Collect on a timer of this thread, and keep Python from collecting by itself.

    Objects that exist by now are excluded from collections, so that each takes less time than a frame.
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
    """Collect the oldest generation that is due by Python's own thresholds."""
    for generation in (2, 1, 0):
        if gc.get_count()[generation] > gc.get_threshold()[generation]:
            gc.collect(generation)
            return
