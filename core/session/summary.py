"""What a list of sessions shows of one: a small file in its folder, and beside it the last picture.

Whoever runs the session keeps it up to date, coarsely. It is a convenience: a session is whole without one.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from core.errors import UserError
from core.io import files

NAME, PICTURE = "summary.json", "picture.jpg"
_LONGEST = 1 << 16
_KINDS = {"str": str, "int": int, "float": int | float, "float | None": int | float | None}


@dataclass(frozen=True)
class Summary:
    task: str
    teacher: str
    labels: int
    """Answers that stand."""
    planned: int
    env_steps: int
    measure_title: str
    best: float | None
    """Of the task's measure, the best mean over the last episodes so far; None where there is none yet."""
    opened_at: float
    """Seconds since the epoch, when it was last opened."""


def write(folder: Path, summary: Summary) -> None:
    """UserError where it can't be written; the old one is untouched then."""
    files.write_atomically(folder / NAME, json.dumps(asdict(summary), indent=1, allow_nan=False).encode())


def read(folder: Path) -> Summary | None:
    """None where there is none. UserError where it can't be read."""
    path = folder / NAME
    try:
        return _checked(json.loads(files.read_small(path, _LONGEST)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(f"{path} can't be read ({error}).") from error


def better(figure: float, best: float | None, falls: bool) -> float | None:
    """The better of two, where `falls` says that less is better. What is not finite counts for nothing."""
    if not math.isfinite(figure):
        return best
    if best is None:
        return figure
    return min(figure, best) if falls else max(figure, best)


def _checked(values: dict[str, object]) -> Summary:
    kept = {}
    for field in fields(Summary):
        value = values[field.name]
        if not isinstance(value, _KINDS[str(field.type)]) or isinstance(value, bool):
            raise ValueError(f"{field.name} is {value!r:.40}")
        if isinstance(value, int | float) and not math.isfinite(value):
            raise ValueError(f"{field.name} is not finite")
        kept[field.name] = value
    return Summary(**kept)  # type: ignore[arg-type]
