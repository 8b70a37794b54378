"""Two concurrent computations in one process. Python threads suffice, as torch releases the GIL in its operations.

Torch's own threads do not help with such small networks: their synchronization takes longer than the products, and they
take cores from the physics. Work is divided in two on every machine, so that results do not depend on the number of cores.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

import torch
from threadpoolctl import threadpool_limits

A = TypeVar("A")
B = TypeVar("B")


class Both(Protocol):
    """Calls two functions and returns their results; raises the exception of either."""

    def __call__(self, first: Callable[[], A], second: Callable[[], B], /) -> tuple[A, B]: ...


_threads = 1


def limit_threads(threads: int) -> None:
    """Set the number of threads that `two_threads` may use in this process; torch and BLAS use one thread in each."""
    global _threads
    _threads = threads
    torch.set_num_threads(1)
    threadpool_limits(1, "blas")  # permanently: with more threads NumPy rounds its products differently


@contextmanager
def two_threads() -> Iterator[Both]:
    """Yield a function that calls two functions: concurrently if two threads are allowed, else one after the other."""
    if _threads < 2:
        yield lambda first, second: (first(), second())
        return
    with ThreadPoolExecutor(1, "second thread", torch.set_num_threads, (1,)) as pool:

        def both(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
            later = pool.submit(second)
            try:
                result = first()
            finally:
                later.exception()  # waits for its end
            return result, later.result()

        yield both
