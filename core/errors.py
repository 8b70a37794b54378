"""Errors that a person can cause and mend."""

from __future__ import annotations


class UserError(Exception):
    """Bad input. Its text is one plain sentence that says what to do; exit code 2, or a dialog."""


class NotFiniteError(Exception):
    """A stage produced NaN or infinity. It stops there, so that nothing after it is spoiled."""

    def __init__(self, stage: str, what: str) -> None:
        super().__init__(f"{stage}: {what} is no longer finite; the last checkpoint is kept.")
        self.stage = stage
