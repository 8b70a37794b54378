"""Numbers and names in texts for users and in JSON."""

import json
import math
import re
from collections.abc import Callable, Container
from itertools import count, filterfalse
from typing import Any

import numpy as np


def capitalized(text: str) -> str:
    """Return the text with its first letter capitalized and the rest unchanged."""
    return text[:1].upper() + text[1:]


def first_free(name: Callable[[int], str], is_taken: Callable[[str], bool]) -> str:
    """Return the first of name(1), name(2), ... that is not taken."""
    return next(filterfalse(is_taken, map(name, count(1))))


def slug(name: str) -> str:
    """Return the name as part of a folder's name."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "session"


def unique_name(name: str, taken: Container[str]) -> str:
    """Return the name or, if it is taken, the first of name_2, name_3, ... that is not."""
    return first_free(lambda number: f"{name}_{number}" if number > 1 else name, taken.__contains__)


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


def format_steps(steps: int) -> str:
    """Format a number of environment steps with three digits: '850 steps', '98.3k steps', '1.01M steps', '1.2G steps'."""
    if steps < 1000:
        return pluralize(steps, "step")
    for size, unit in ((1000, "k"), (1_000_000, "M")):
        if steps < 999.5 * size:
            return f"{steps / size:.3g}{unit} steps"
    return f"{steps / 1_000_000_000:.3g}G steps"


def format_moment(labels: int, env_steps: int) -> str:
    """Format a moment of a session: answers first, steps second; 'after 12 answers, 340k steps'."""
    if not env_steps:
        return "at the start"
    answers = f"{pluralize(labels, 'answer')}, " if labels else ""
    return f"after {answers}{format_steps(env_steps)}"


def format_number(value: float) -> str:
    """Format a measure: '5.3', '0.42', '1,204'; a dash if it is not finite."""
    if not math.isfinite(value):
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    value = round(value, 2) + 0.0  # + 0.0 turns -0.0 into 0.0
    return f"{value:.2f}" if 0 < abs(value) < 1 else f"{value:.1f}"


def format_age(seconds: float) -> str:
    """Format an age in seconds in its largest whole unit: '3 minutes ago'."""
    for size, unit in ((86400 * 365, "year"), (86400 * 30, "month"), (86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def without_nan(value: Any) -> Any:
    """Return the value with None in place of NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {name: without_nan(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def format_result(result: dict[str, Any], as_json: bool) -> str:
    """Format a result as one JSON object, or with one line per value; a measure has one line per figure.

    An unknown figure, such as the true return of a behaviour without an oracle, is null or a dash.
    """
    if as_json:
        return json.dumps(without_nan(result), allow_nan=False)
    flat = {name: value for name, value in result.items() if name != "measure"}
    flat |= {f"measure {name}": value for name, value in result.get("measure", {}).items()}
    width = max(map(len, flat)) + 2
    return "\n".join(f"{name:{width}}{'–' if without_nan(value) is None else value}" for name, value in flat.items())
