"""What the runs of a figure came to: read back from their files, put into a table, and drawn as curves."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import UserError
from core.headless.charts import Curve
from core.io.files import reason

Points = list[tuple[int, float]]
_GRID = 200
"""Points of a drawn curve."""
_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("task", "kind"), str),
    **dict.fromkeys(("true_return", "random_return"), (int, float)),
    **{"curve": list, "config": dict},
}


def read(path: Path) -> dict[str, Any]:
    """A result. UserError where it is none that is whole."""
    try:
        return _checked(json.loads(path.read_bytes()))
    except OSError as error:
        raise UserError(f"{path} can't be read ({reason(error)}): check its permissions.") from error
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise damaged(path) from error


def damaged(path: Path) -> UserError:
    return UserError(f"{path} is damaged: delete it, and its run is done again.")


def _checked(result: Any) -> dict[str, Any]:
    """ValueError, TypeError, KeyError or OverflowError where it is no result."""
    for name, kind in _KINDS.items():
        if not isinstance(result[name], kind) or isinstance(result[name], bool):
            raise ValueError(f"{name} is {result[name]!r:.40}")
    return {**result, "curve": [_point(point) for point in result["curve"]]}


def points(path: Path) -> Points:
    """Reports by env steps; what was done again after an interruption stands in place of what was lost.

    A line that is not whole is passed over: who wrote it was killed.
    """
    found: dict[int, float] = {}
    for line in path.read_text(errors="replace").splitlines():
        try:
            steps, value = _point(json.loads(line))
        except (ValueError, TypeError, OverflowError, RecursionError):
            continue
        found[steps] = value
    return sorted(found.items())


def _point(values: Any) -> tuple[int, float]:
    """ValueError or TypeError where it is none."""
    steps, value = values
    if type(steps) is not int or type(value) not in (int, float):
        raise TypeError(f"{values!r:.40} is no point")
    return steps, float(value)


def tabulated(results: Sequence[dict[str, Any]]) -> str:
    """Markdown: mean and standard deviation over the seeds, and the share of the true reward's gain over random."""
    kinds = list(dict.fromkeys(result["kind"] for result in results))
    columns = ["task", "seeds", "random", *(c for k in kinds for c in ((k,) if k == "true reward" else (k, "share")))]
    lines = [_row(columns), _row(["---"] * len(columns))]
    for task in dict.fromkeys(result["task"] for result in results):
        of_task = [result for result in results if result["task"] == task]
        random = [result["random_return"] for result in of_task if result["kind"] == "true reward"]
        best = _returns(of_task, "true reward")
        cells = [task, str(len(random)), _spread(random)]
        for kind in kinds:
            cells.append(_spread(_returns(of_task, kind)))
            if kind != "true reward":
                cells.append(f"{share(_returns(of_task, kind), random, best):.2f}")
        lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def share(returns: Sequence[float], random: Sequence[float], best: Sequence[float]) -> float:
    """(return - random) / (true-reward return - random), of means; nan where the true reward gained nothing."""
    gained = float(np.mean(best) - np.mean(random))
    return float(np.mean(returns) - np.mean(random)) / gained if gained else float("nan")


def curves(results: Sequence[dict[str, Any]], task: str) -> list[Curve]:
    """One a kind: mean and standard deviation over the seeds, against env steps; and the random policy's level."""
    of_task = [result for result in results if result["task"] == task]
    ends = [result["curve"][-1][0] for result in of_task if result["curve"]]
    if not ends:
        return []
    steps = np.linspace(0, max(ends), _GRID)
    found = []
    for kind in dict.fromkeys(result["kind"] for result in of_task):
        lines = []
        for result in of_task:
            if result["kind"] == kind and result["curve"]:
                at, values = zip(*[(0, result["random_return"]), *result["curve"]], strict=True)
                lines.append(np.interp(steps, at, values))
        if lines:
            found.append(Curve(kind, steps, np.mean(lines, axis=0), np.std(lines, axis=0)))
    level = np.full(_GRID, np.mean([result["random_return"] for result in of_task]))
    return [*found, Curve("random", steps, level, np.zeros(_GRID))]


def _returns(results: Sequence[dict[str, Any]], kind: str) -> list[float]:
    return [result["true_return"] for result in results if result["kind"] == kind]


def _spread(values: Sequence[float]) -> str:
    """Mean and deviation, with as many decimals as tell three digits of the larger, and at least one."""
    mean, deviation = float(np.mean(values)), float(np.std(values))
    largest = max(abs(mean), deviation)
    decimals = max(1, 2 - math.floor(math.log10(largest))) if 0 < largest < math.inf else 1
    return f"{mean:.{decimals}f} ± {deviation:.{decimals}f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
