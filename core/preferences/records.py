"""Records of the store of answers: a stored preference, and its summary without segments for lists of thousands."""

from __future__ import annotations

from dataclasses import dataclass

from core.types import Choice, Preference
from core.version import COMMAND_LINE


@dataclass(frozen=True, slots=True)
class ChoiceRevision:
    """Choice that an answer had before it was changed."""

    choice: Choice
    labeller: str
    changed_at: float
    """Seconds since the epoch."""
    newest: int
    """Number of the newest answer at the time of the change. Clocks can be set back; numbers only grow."""


@dataclass(frozen=True, slots=True)
class PreferenceSummary:
    """Stored preference without its segments."""

    id: int
    choice: Choice
    labeller: str
    answered_at: float
    """Seconds since the epoch."""
    withdrawn: bool = False
    repeats: int | None = None
    """Number of the first answer to the same pair, if this answer repeats it to measure consistency."""
    sides: tuple[int, int] = (0, 0)
    """Numbers of the left and right segment. A repeat may have them swapped."""
    changes: tuple[ChoiceRevision, ...] = ()
    """Earlier choices, oldest first."""
    undone: bool = False
    """Withdrawn, and can still be restored with redo."""

    def choice_at(self, newest: int) -> Choice:
        """Choice that the answer had when answer `newest` was given."""
        return next((change.choice for change in self.changes if change.newest >= newest), self.choice)


@dataclass(frozen=True)
class StoredPreference:
    """Preference as stored, with its earlier choices, oldest first."""

    preference: Preference
    withdrawn: bool
    changes: tuple[ChoiceRevision, ...] = ()
    undone: bool = False
    """Withdrawn, and can still be restored with redo."""


def unreadable(key: int, error: BaseException) -> str:
    """Sentence about one answer that cannot be read, short enough for a row of a list."""
    return f"Answer {key} can't be read ({error}): {COMMAND_LINE} preferences export saves the undamaged answers."
