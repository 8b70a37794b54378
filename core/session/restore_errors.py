"""Errors of states and weights that do not fit a job, as one sentence for the user."""

from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import UserError, lack


@contextmanager
def checkpoint_errors(job: str) -> Iterator[None]:
    """Raise UserError if the job's state lacks something or has another shape; lack of memory passes through."""
    try:
        yield
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError, RuntimeError) as error:
        if lack(error):
            raise
        raise UserError(
            f"The checkpoint does not fit the {job} stage of this session ({type(error).__name__}: {error}): delete"
            " the folder checkpoints in the session's folder, and training starts again with all answers."
        ) from error


@contextmanager
def weight_errors() -> Iterator[None]:
    """Raise UserError if a policy's weights are from another session; lack of memory passes through."""
    try:
        yield
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        if lack(error):
            raise
        raise UserError(f"This earlier policy is not from this session ({error}): choose another one.") from error
