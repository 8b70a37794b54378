"""Results of a sweep: as a table for people, as one for programs, and averaged to curves.

A result is a dict with the keys task, kind (the name of its curve), seed, true_return, random_return, and curve (a list of
(env_steps, true_return)). Its task has the preset in brackets where a plan has several.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.sweep.charts import Curve

Result = dict[str, Any]
_GRID = 200
"""Points of an averaged curve."""
TRUE = "true reward"
"""Name of the curve that others are compared with."""


def read_curve(path: Path) -> list[tuple[int, float]]:
    """(env_steps, true_return) of each line `[env_steps, true_return]`, ascending.

    The last of several lines for the same step counts: it was repeated after a resume. Incomplete lines are skipped:
    the program was killed while it wrote them.
    """
    points: dict[int, float] = {}
    for line in path.read_text(errors="replace").splitlines():
        try:
            steps, value = _point(json.loads(line))
        except (ValueError, TypeError, OverflowError, RecursionError):
            continue
        points[steps] = value
    return sorted(points.items())


def _point(values: Any) -> tuple[int, float]:
    """Raises ValueError or TypeError if it is not a point."""
    steps, value = values
    if type(steps) is not int or type(value) not in (int, float):
        raise TypeError(f"{values!r:.40} is not a point")
    return steps, float(value)


def to_table(results: Sequence[Result]) -> str:
    """Markdown: mean and standard deviation over the seeds, and the share of the true reward's gain over random.

    A mean over fewer seeds than the task has says so. Shares are of the seeds that both curves have.
    """
    kinds = list(dict.fromkeys(result["kind"] for result in results))
    shared = [kind for kind in kinds if kind != TRUE and TRUE in kinds]
    columns = ["task", "seeds", "random"]
    for kind in kinds:
        columns += [kind, "share"] if kind in shared else [kind]
    rows = [columns, ["---"] * len(columns)]
    for task in dict.fromkeys(result["task"] for result in results):
        of_task = [result for result in results if result["task"] == task]
        random = {result["seed"]: result["random_return"] for result in of_task}
        row = [task, str(len(random)), _mean_and_deviation(list(random.values()))]
        for kind in kinds:
            returns = _returns(of_task, kind)
            fewer = f" ({len(returns)} of {len(random)})" if 0 < len(returns) < len(random) else ""
            row.append(_mean_and_deviation(list(returns.values())) + fewer if returns else "")
            if kind in shared:
                share = _share(returns, random, _returns(of_task, TRUE))
                row.append("" if math.isnan(share) else f"{share:.2f}")
        rows.append(row)
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def to_rows(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the table's numbers: of each task and curve the seeds, their returns, mean, deviation, and share."""
    rows: list[dict[str, Any]] = []
    for task in dict.fromkeys(result["task"] for result in results):
        of_task = [result for result in results if result["task"] == task]
        random = {result["seed"]: result["random_return"] for result in of_task}
        true, level = _returns(of_task, TRUE), float(np.mean(list(random.values())))
        for kind in dict.fromkeys(result["kind"] for result in of_task):
            returns = _returns(of_task, kind)
            values = list(returns.values())
            row = {"task": task, "curve": kind, "seeds": list(returns), "true_returns": values}
            row |= {"mean": float(np.mean(values)), "std": float(np.std(values)), "random": level}
            rows.append(row | {"share": _share(returns, random, true) if kind != TRUE else math.nan})
    return rows


def _returns(results: Sequence[Result], kind: str) -> dict[int, float]:
    """Return the true return of each seed."""
    return {result["seed"]: result["true_return"] for result in results if result["kind"] == kind}


def _share(returns: Mapping[int, float], random: Mapping[int, float], best: Mapping[int, float]) -> float:
    """Return the share of the gain over the seeds that both have; NaN if there are none."""
    both = [seed for seed in returns if seed in best]
    if not both:
        return math.nan
    own, level, true = ([figures[seed] for seed in both] for figures in (returns, random, best))
    return share_of_gain(own, level, true)


def share_of_gain(returns: Sequence[float], random: Sequence[float], best: Sequence[float]) -> float:
    """(returns - random) / (best - random), of means; NaN if the best gained nothing over random."""
    gain = float(np.mean(best) - np.mean(random))
    return float(np.mean(returns) - np.mean(random)) / gain if gain else float("nan")


def average_curves(results: Sequence[Result], task: str) -> list[Curve]:
    """A curve for each kind of run, mean and standard deviation over the seeds, and one for the random policy."""
    of_task = [result for result in results if result["task"] == task]
    ends = [result["curve"][-1][0] for result in of_task if result["curve"]]
    if not ends:
        return []
    steps = np.linspace(0, max(ends), _GRID)
    lines: dict[str, list[np.ndarray]] = {}
    for result in of_task:
        if result["curve"]:
            at, values = zip(*[(0, result["random_return"]), *result["curve"]], strict=True)
            lines.setdefault(result["kind"], []).append(
                np.interp(steps, at, values, right=np.nan)
            )  # it is drawn no further
    curves = [Curve(kind, steps, np.mean(rows, axis=0), np.std(rows, axis=0)) for kind, rows in lines.items()]
    level = np.full(_GRID, np.mean([result["random_return"] for result in of_task]))
    return [*curves, Curve("random", steps, level, np.zeros(_GRID))]


def _mean_and_deviation(values: Sequence[float]) -> str:
    """Both with as many decimals as give three digits of the larger, and at least one."""
    mean, deviation = float(np.mean(values)), float(np.std(values))
    largest = max(abs(mean), deviation)
    decimals = max(1, 2 - math.floor(math.log10(largest))) if 0 < largest < math.inf else 1
    return f"{mean:.{decimals}f} ± {deviation:.{decimals}f}"
