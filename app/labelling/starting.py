"""How long the first pair took to come on this machine, kept so that the next start can count down to it."""

from __future__ import annotations

import math

from app import settings
from app.labelling.progress import USUAL_START

_LONGEST = 600.0


def usual_start(task: str) -> float:
    """Seconds from the start to the first pair, as it was the last time."""
    try:
        seconds = float(settings.text(_name(task)))
    except ValueError:
        return USUAL_START
    return seconds if math.isfinite(seconds) and seconds > 0 else USUAL_START


def keep_start(task: str, seconds: float) -> None:
    """Not where the computer must have slept in between."""
    if seconds > _LONGEST:
        return
    settings.keep(_name(task), f"{seconds:.1f}")


def _name(task: str) -> str:
    return f"start/{task.replace('/', ' ')}"
