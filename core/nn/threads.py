"""Two things at once in one process: torch lets go of the GIL inside its products, so plain threads are enough.

torch's own threads are no help with networks this small: their barriers cost more than the products, and they take
the cores from the physics. What is split here is split the same way on any machine, so that the figures of a run do
not depend on how many cores it had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

import torch
from threadpoolctl import threadpool_limits

T = TypeVar("T")


class Both(Protocol):
    """Calls both functions and returns their results, or raises what one of them raised."""

    def __call__(self, first: Callable[[], T], second: Callable[[], T], /) -> tuple[T, T]: ...


_threads = 1


def set_num_threads(threads: int) -> None:
    """How many threads of this process may compute at once; each has its own products, and libraries make none."""
    global _threads
    _threads = threads
    torch.set_num_threads(1)
    threadpool_limits(1, "blas")  # numpy's, for good: with more its products are rounded in other ways


@contextmanager
def two_threads() -> Iterator[Both]:
    """A caller of two functions: at once where two threads are allowed, else one after the other."""
    if _threads < 2:
        yield lambda first, second: (first(), second())
        return
    with ThreadPoolExecutor(1, "second lane") as pool:

        def both(first: Callable[[], T], second: Callable[[], T]) -> tuple[T, T]:
            later = pool.submit(second)
            try:
                result = first()
            finally:
                later.exception()  # waits
            return result, later.result()

        yield both
