"""An answer in words, for the lists that show many. Pure; no Qt."""

from __future__ import annotations

import time
from dataclasses import dataclass

from app.keys.commands import COMMANDS
from core.preferences.records import PreferenceSummary
from core.preferences.review import Consistency, comment
from core.types import Choice

CHOICES = {choice: COMMANDS[choice].name for choice in Choice}


@dataclass(frozen=True)
class PreferenceFilter:
    """Which answers are shown; None lets all through."""

    choice: Choice | None = None
    labeller: str | None = None
    changed_only: bool = False
    withdrawn_too: bool = False

    def passes(self, row: PreferenceSummary) -> bool:
        """Whether the answer is shown."""
        return (
            self.choice in (None, row.choice)
            and self.labeller in (None, row.labeller)
            and (bool(row.changes) or not self.changed_only)
            and (self.withdrawn_too or not row.withdrawn)
        )


def when(row: PreferenceSummary) -> str:
    """Day and time of the answer, as the clock of this place had it."""
    return _clock(row.answered_at, "%Y-%m-%d %H:%M:%S")


def at(seconds: float) -> str:
    return _clock(seconds, "%H:%M:%S")


def notes(row: PreferenceSummary, against: float | None = None) -> list[str]:
    """What else is to be said of it; against: how much the predictor contradicts it, where that is the matter."""
    told = []
    if against is not None:
        side, much = ("one side", (1 + against) / 2) if row.choice == Choice.TIE else ("the other side", against)
        told.append(f"the predictor gives {side} {much:.0%}")
    if row.withdrawn:
        told.append("taken back")
    if row.repeats is not None:
        told.append(f"repeats {row.repeats}")
    if row.changes:
        told.append(f"was “{CHOICES[row.changes[-1].choice]}”")
    return told


def sentence(row: PreferenceSummary, against: float | None = None) -> str:
    """All of it in a line, as a screen reader says it."""
    return ", ".join([f"Answer {row.id}: {CHOICES[row.choice]}", row.labeller, when(row), *notes(row, against)])


def consistency_figure(found: Consistency) -> str:
    """The figure alone; a dash where there is none yet."""
    if not found.compared:
        return "–"
    return f"{found.share:.0%} alike ({found.alike} of {found.compared})"


def consistency_comment(found: Consistency, error_rate: float, switched_on: bool) -> str:
    told = comment(found, error_rate)
    if found.undecided:
        told += f" {found.undecided} more with can't tell are left out."
    return told if switched_on else f"{told} Labelling > Show some pairs again asks for more."


def _clock(seconds: float, form: str) -> str:
    try:
        return time.strftime(form, time.localtime(seconds))
    except (ValueError, OverflowError, OSError):
        return "unknown time"
