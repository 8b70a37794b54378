"""Numbers in texts for users."""

import math


def pluralize(number: int, noun: str) -> str:
    """Format a count with its noun: '1 answer', '1,200 answers'."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_duration(seconds: float) -> str:
    """Format a duration: in seconds below 90, in minutes below two hours, then in hours."""
    if seconds < 90:
        return pluralize(round(seconds), "second")
    if seconds < 2 * 3600:
        return pluralize(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"


def format_number(value: float) -> str:
    """Format a measure: '5.3', '0.42', '1,204'; a dash if it is not finite."""
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if 0 < abs(value) < 1 else f"{value:.1f}"
