"""Checks of names and fields in user input: suggestion of the nearest known name, required and optional fields."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from core.errors import UserError

_ALIKE = 0.61
"""Smallest similarity, from 0 to 1, of a suggested name."""
_MEANT = {
    **dict.fromkeys(("speed", "velocity", "vx", "x_speed", "speed_x", "forward_velocity"), "forward_speed"),
    **dict.fromkeys(("z", "altitude"), "height"),
    **dict.fromkeys(("average", "avg"), "mean"),
    **dict.fromkeys(("joint_speed", "joint_velocity"), "joint_rate"),
    **dict.fromkeys(("touch", "touching", "touches"), "contact"),
    **dict.fromkeys(("angle", "position"), "joint"),
    **{"t": "time", "upright": "up", "maximum": "highest", "minimum": "lowest", "reward": "oracle"},
}
"""Names by their synonyms, for which similar spelling would suggest a wrong name."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the most similar known name, or None if none is similar. The order of a name's parts does not matter."""
    known = list(known)
    if (meant := _MEANT.get(word.lower())) in known:
        return meant
    found = max(known, key=lambda name: _likeness(word, name), default=None)
    return found if found is not None and _likeness(word, found) >= _ALIKE else None


def _likeness(word: str, name: str) -> float:
    pairs = (name, word), (_in_order(name), _in_order(word))
    return max(difflib.SequenceMatcher(None, *pair).ratio() for pair in pairs)


def _in_order(name: str) -> str:
    return "_".join(sorted(re.split(r"[\W_]+", name.lower())))


def suggestion(word: str, known: Sequence[str]) -> str:
    """Return the end of a sentence about an unknown word: the nearest known word, or all known words."""
    found = nearest(word, known)
    if found:
        return f"did you mean {found}?"
    return f"choose one of {', '.join(dict.fromkeys(known))}." if known else "the robot has none."


def require_fields(what: str, values: Any, required: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Raise UserError unless `values` is an object with all required fields and no unknown ones.

    what: name of the object in error messages
    """
    if not isinstance(values, dict):
        raise UserError(f"{what} must be an object with {' and '.join(required)}.")
    for name in values:
        if name not in (*required, *optional):
            known = tuple(dict.fromkeys((*required, *optional)))
            raise UserError(f"There is no field {name!r:.40} in {what}: {suggestion(name, known)}")
    for name in required:
        if name not in values:
            raise UserError(f"The field {name!r} is missing in {what}.")
