"""Errors that a person can cause and mend."""

from __future__ import annotations

import errno
import re
from enum import StrEnum


class UserError(Exception):
    """Bad input. Its text is one plain sentence that says what to do; exit code 2, or a dialog."""


class NotFiniteError(Exception):
    """A stage produced NaN or infinity. It stops there, so that nothing after it is spoiled."""

    def __init__(self, stage: str, what: str) -> None:
        super().__init__(f"{stage}: {what} is no longer finite; the last checkpoint is kept.")
        self.stage, self.what = stage, what

    def __reduce__(self) -> tuple[type[NotFiniteError], tuple[str, str]]:
        """It may be raised in another process than the one that hears of it."""
        return NotFiniteError, (self.stage, self.what)


class StageFailedError(Exception):
    """A stage of a run without a window has raised what nobody foresaw. Its text is one sentence."""


class CutShortError(KeyboardInterrupt):
    """Ctrl+C for the second time: the run ends at once, and nothing more is saved."""


class Lack(StrEnum):
    """Of what there was not enough, where a stage failed for that."""

    NOTHING = ""
    MEMORY = "memory"
    GPU_MEMORY = "GPU memory"


_NO_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "cannot allocate memory",
    "host_allocation_failed",
)
_FULL_GPU = re.compile(r"(cublas|cudnn|cusolver|cusparse|cufft|hipblas|miopen)_\w*(?<!host_)alloc(ation)?_?failed")
"""As CUDA's libraries say it, each in its own way, when they find no room for themselves."""


def lack(error: BaseException) -> Lack:
    """PyTorch says by a RuntimeError's text alone that an allocation has failed."""
    text = str(error).lower()
    if not isinstance(error, MemoryError | RuntimeError | OSError):
        return Lack.NOTHING
    if "out of memory" in text and ("cuda" in text or "gpu" in text) or _FULL_GPU.search(text):
        return Lack.GPU_MEMORY
    short = isinstance(error, MemoryError) or isinstance(error, OSError) and error.errno == errno.ENOMEM
    return Lack.MEMORY if short or any(words in text for words in _NO_MEMORY) else Lack.NOTHING


def summary(error: BaseException) -> str:
    """One sentence about an error, for a person: a UserError's own, otherwise what kind it was and what it said."""
    if isinstance(error, UserError | NotFiniteError):
        return str(error)
    if isinstance(error, MemoryError) and not str(error):
        return "there was not enough memory"
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
