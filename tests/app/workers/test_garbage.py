"""Garbage collection, which runs only in the window's thread."""

from __future__ import annotations

import gc
import threading

from app.workers.garbage import collect_if_due, collected_here


class Cycle:
    """Object in a reference cycle that records the thread in which it is deleted."""

    def __init__(self, deleted: list[int]) -> None:
        self.itself, self._deleted = self, deleted

    def __del__(self) -> None:
        self._deleted.append(threading.get_ident())


def test_only_the_window_thread_collects_garbage() -> None:
    deleted, kept = list[int](), list[list[int]]()

    def allocate() -> None:
        kept.extend([number] for number in range(200_000))
        for _ in range(100):
            Cycle(deleted)

    with collected_here():
        other = threading.Thread(target=allocate)
        other.start()
        other.join()
        assert deleted == []
        collect_if_due()
        assert deleted == [threading.get_ident()] * 100
        collect_if_due()  # does nothing: no collection is due
    assert gc.isenabled() and gc.get_freeze_count() == 0
