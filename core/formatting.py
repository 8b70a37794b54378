"""Numbers as a person says them."""

from __future__ import annotations

import math


def pluralize(number: int, what: str) -> str:
    """'1 answer', '1,200 answers'."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def format_duration(seconds: float) -> str:
    """A time: in seconds up to a minute and a half, in hours from two."""
    if seconds < 90:
        return pluralize(round(seconds), "second")
    if seconds < 2 * 3600:
        return pluralize(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"


def format_number(value: float) -> str:
    """A measure: 5.3, 0.42, 1,204; a dash where there is none."""
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if 0 < abs(value) < 1 else f"{value:.1f}"
