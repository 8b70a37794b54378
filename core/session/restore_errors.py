"""Errors of states and weights that do not fit a job, as one sentence for the user."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from core.errors import UserError, lack


def checkpoint_errors(job: str) -> AbstractContextManager[None]:
    """Raise UserError if the job's state lacks something or has another shape; lack of memory passes through."""
    return _misfit(
        f"The checkpoint does not fit the {job} stage of this session ({{}}): delete the folder checkpoints in the"
        " session's folder, and training starts again with all answers."
    )


def weight_errors() -> AbstractContextManager[None]:
    """Raise UserError if a policy's weights are from another session; lack of memory passes through."""
    return _misfit("This earlier policy is not from this session ({}): choose another one.")


@contextmanager
def _misfit(sentence: str) -> Iterator[None]:
    """Raise UserError with this sentence, in which {} stands for the error."""
    try:
        yield
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError, RuntimeError) as error:
        if lack(error):
            raise
        raise UserError(sentence.format(f"{type(error).__name__}: {error}")) from error
