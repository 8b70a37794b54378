"""Summary of a session for the session list: a small JSON file and the last picture, both in the session's folder."""

from __future__ import annotations

import json
import logging
import math
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.io import files
from core.types import is_number

log = logging.getLogger(__name__)
NAME, PICTURE = "summary.json", "picture.jpg"
MAX_PICTURE = 1 << 20
"""Largest size of the picture in bytes; usually it has about 5 kB."""
_MAX_BYTES = 4 << 20
"""Largest size of the summary in bytes, most of it for an imported robot, which is part of the task's text."""
_FIELD_TYPES = {"str": str, "int": int, "float": int | float, "float | None": int | float | None}


@dataclass(frozen=True)
class Summary:
    """Task, progress and best figure of a session, for the start page to show without opening it."""

    task: str
    teacher: str
    labels: int
    """Number of preferences that count as labels."""
    env_steps: int
    measure_title: str
    best: float | None
    """Best mean of the task's measure over recent episodes so far; None before the first."""
    used_at: float
    """Time of writing, and so of the session's last use, in seconds since the epoch."""


def write(folder: Path, summary: Summary) -> None:
    """Replace the summary atomically. Raises UserError if it can't be written."""
    files.write_atomically(folder / NAME, json.dumps(asdict(summary), indent=1, allow_nan=False).encode())


def renew(folder: Path, current: Summary, best_may_fall: bool = False) -> None:
    """Replace the summary of an existing session; figures that this run does not know yet are kept from the earlier one.

    best_may_fall: a larger best figure of the earlier one is not kept, because training has returned to an earlier policy

    Raises UserError if it can't be written.
    """
    best, steps = current.best, current.env_steps
    try:
        earlier = read(folder)
    except UserError as error:
        log.warning("%s Writing a new one.", error)
        earlier = None
    if earlier is not None:
        if earlier.measure_title == current.measure_title and (best is None or not best_may_fall):
            best = earlier.best if best is None else better(best, earlier.best)
        steps = steps or earlier.env_steps
    write(folder, replace(current, best=best, env_steps=steps))


def read(folder: Path) -> Summary | None:
    """Return the summary, or None if there is no file. Raises UserError if it can't be read or is damaged."""
    path = folder / NAME
    try:
        values = json.loads(files.read_regular(path, _MAX_BYTES))
        return Summary(
            **{field.name: _checked(field.name, field.type, values[field.name]) for field in fields(Summary)}
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(f"{path} can't be read ({files.reason(error)}).") from error


def better(figure: float, best: float | None) -> float | None:
    """Return the larger of two figures; `best` if `figure` is not finite."""
    if not math.isfinite(figure):
        return best
    return figure if best is None else max(figure, best)


def _checked(name: str, kind: object, value: Any) -> Any:
    """Return the value if it has this type. Raises ValueError otherwise."""
    if not isinstance(value, _FIELD_TYPES[str(kind)]) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r:.40}")
    if isinstance(value, int | float) and not is_number(value):
        raise ValueError(f"{name} is not finite")
    return value
