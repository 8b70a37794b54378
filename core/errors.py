"""Exceptions, and the sentences that report them."""

import errno
import re
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum

from core.version import PYTHON


class UserError(Exception):
    """Error that the user can correct. The text is one plain sentence that says how; shown with exit code 2, or in a dialog."""


def missing_packages(what: str, *packages: str) -> UserError:
    """Return the error for a feature whose optional packages are not installed.

    what: the feature, as the subject of the sentence; packages: pip's requirement specifiers
    """
    names = " and ".join(re.split("[<>=]", package)[0] for package in packages)
    wanted = " ".join(map(shlex.quote, packages))
    return UserError(f"{what} needs {names}: {PYTHON} -m pip install {wanted}.")


class NotFiniteError(Exception):
    """NaN or infinity in a stage's results. The stage stops before these values reach other stages.

    args: the stage, and the name of the value that is not finite
    """

    def __str__(self) -> str:
        return "{}: {} is no longer finite.".format(*self.args)


class StageFailedError(Exception):
    """Unexpected exception in a stage of a headless run. The text is one sentence."""


class ChildDiedError(Exception):
    """A child process has ended. exit_code: negative for a signal, None if it was never started"""

    def __init__(self, name: str, exit_code: int | None) -> None:
        super().__init__(name, exit_code)  # so that it can be sent to another process
        self.name, self.exit_code = name, exit_code

    def __str__(self) -> str:
        return f"the {self.name} process ended with exit code {self.exit_code}"


class CutShortError(KeyboardInterrupt):
    """Second request to stop: the run ends at once and saves nothing more. args: the signal's number"""


class NoGpuError(UserError):
    """A session asks for a GPU, but torch can't use one here."""


class Lack(StrEnum):
    """Resource that made a stage fail because it is exhausted or missing."""

    NOTHING = ""
    MEMORY = "memory"
    GPU_MEMORY = "GPU memory"
    GPU = "GPU"


_NO_MEMORY = re.compile("(out of|not enough|can't allocate|cannot allocate) memory|host_allocation_failed")
_NO_GPU_MEMORY = re.compile(r"(cublas|cudnn|cusolver|cusparse|cufft|hipblas|miopen)_\w*(?<!host_)alloc(ation)?_?failed")
"""Matches allocation failures in messages of the GPU libraries."""


def lack(error: BaseException) -> Lack:
    """Return the resource that `error` reports as exhausted or missing.

    PyTorch raises RuntimeError for failed allocations, so the text has to be searched.
    """
    text = str(error).lower()
    if isinstance(error, NoGpuError):
        return Lack.GPU
    if not isinstance(error, MemoryError | RuntimeError | OSError):
        return Lack.NOTHING
    if "out of memory" in text and ("cuda" in text or "gpu" in text) or _NO_GPU_MEMORY.search(text):
        return Lack.GPU_MEMORY
    short = isinstance(error, MemoryError) or isinstance(error, OSError) and error.errno == errno.ENOMEM
    return Lack.MEMORY if short or _NO_MEMORY.search(text) else Lack.NOTHING


def refusal(error: Exception, failed: str) -> str:
    """Return one sentence for the user: the text of a UserError, otherwise `failed` and a summary of the error."""
    return str(error) if isinstance(error, UserError) else f"{failed}: {summary(error).rstrip('.')}."


def summary(error: BaseException) -> str:
    """Describe an error in one sentence for the user: its own text if that is a sentence, otherwise type and message."""
    if isinstance(error, UserError | NotFiniteError | StageFailedError | ChildDiedError):
        return str(error)
    if isinstance(error, MemoryError) and not str(error):
        return "there was not enough memory"
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")


def checkpoint_errors(job: str) -> AbstractContextManager[None]:
    """Context manager for restoring a job's state. Raises UserError if the state lacks an entry or has another shape.

    Errors for lack of memory pass through.
    """
    return _misfit(
        f"The checkpoint does not fit the {job} stage of this session ({{}}): put back the config.json that belongs to it,"
        " or move the folder checkpoints out of the session's folder, and training starts again with all answers."
    )


def weight_errors() -> AbstractContextManager[None]:
    """Context manager for loading a policy's weights. Raises UserError if they are from another session.

    Errors for lack of memory pass through.
    """
    return _misfit("This earlier policy is not from this session ({}): choose another one.")


@contextmanager
def _misfit(sentence: str) -> Iterator[None]:
    """Turn errors of the block into a UserError with this sentence, in which {} is replaced by the error."""
    try:
        yield
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError, RuntimeError) as error:
        if lack(error):
            raise
        raise UserError(sentence.format(f"{type(error).__name__}: {error}")) from error
