"""Texts about an answer, and the filter of the list. Pure; no widgets."""

import time
from dataclasses import dataclass

from app.keys.commands import COMMANDS
from app.labelling.guests import is_guest, name_of
from core.preferences.store import PreferenceSummary
from core.types import AUDIENCE, Choice

GUESTS = "guests"
"""Value of a filter that accepts all guests, but not the audience."""
CHOICES = {choice: COMMANDS[choice].name for choice in Choice}


@dataclass(frozen=True)
class PreferenceFilter:
    """Filter of the list; None accepts any value."""

    choice: Choice | None = None
    labeller: str | None = None
    """Name of a labeller, or GUESTS."""
    changed_only: bool = False
    withdrawn_too: bool = False

    def passes(self, row: PreferenceSummary) -> bool:
        guest = is_guest(row.labeller) and row.labeller != AUDIENCE
        return (
            self.choice in (None, row.choice)
            and (self.labeller in (None, row.labeller) or self.labeller == GUESTS and guest)
            and (bool(row.changes) or not self.changed_only)
            and (self.withdrawn_too or not row.withdrawn)
        )


def when(row: PreferenceSummary) -> str:
    return _clock(row.answered_at, "%Y-%m-%d %H:%M:%S")


def at(seconds: float) -> str:
    """Local time of day. seconds: since the epoch"""
    return _clock(seconds, "%H:%M:%S")


def notes(row: PreferenceSummary, against: float | None = None) -> list[str]:
    """Remarks about an answer. against: the predictor's contradiction, 0 to 1, or None."""
    remarks = []
    if against is not None and row.choice.usable:
        side, share = ("one side", (1 + against) / 2) if row.choice == Choice.TIE else ("the other side", against)
        remarks.append(f"the reward model gives {side} {share:.0%}")
    if row.withdrawn:
        remarks.append("undone")
    if row.repeats is not None:
        remarks.append(f"repeats {row.repeats}")
    if row.changes:
        remarks.append(f"was “{CHOICES[row.changes[-1][0]]}”")
    return remarks


def sentence(row: PreferenceSummary, against: float | None = None) -> str:
    """One line with everything about an answer, for screen readers."""
    return ", ".join(
        [f"Answer {row.id}: {CHOICES[row.choice]}", name_of(row.labeller), when(row), *notes(row, against)]
    )


def _clock(seconds: float, form: str) -> str:
    try:
        return time.strftime(form, time.localtime(seconds))
    except (ValueError, OverflowError, OSError):
        return "unknown time"
