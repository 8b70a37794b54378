"""TODO-DOC."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import UserError, lack


@contextmanager
def checkpoint_errors(job: str) -> Iterator[None]:
    """Tells in one sentence of a state that lacks something, or has it in another shape, than this job's."""
    try:
        yield
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError, RuntimeError) as error:
        if lack(error):
            raise
        raise UserError(
            f"The checkpoint does not fit the {job} stage of this session ({type(error).__name__}: {error}): delete"
            " the session's folder checkpoints, and training starts anew with every answer."
        ) from error


@contextmanager
def weight_errors() -> Iterator[None]:
    """Tells in one sentence of a policy's weights that are another session's."""
    try:
        yield
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        if lack(error):
            raise
        raise UserError(f"This earlier policy is not one of this session's ({error}): choose another one.") from error
