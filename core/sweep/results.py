"""Results of a sweep: as a table for people, as rows for programs, and as averaged curves."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.sweep.charts import Curve
from core.types import Float64

_MAX_POINTS = 5_000
"""Most points of a run's curve. A game with the paper's batches of 80 steps has a hundred times as many."""
_GRID = 200
"""Number of points of an averaged curve."""
TRUE, RANDOM = "true reward", "random"
"""Names of the curve with which others are compared, and of the untrained policy."""


@dataclass(frozen=True)
class Result:
    """Returns and learning curve of one cell.

    task: name of the task, with the preset in brackets if the plan has several presets; curve: name of the curve
    points: [env_steps, true_return] pairs of the curve, ascending
    true_return, random_return: NaN without an episode
    """

    task: str
    curve: str
    seed: int
    points: Sequence[Sequence[float]]
    true_return: float
    random_return: float


@dataclass(frozen=True)
class Results:
    """The plan's tasks, curves and seeds, and the results found for them."""

    tasks: tuple[str, ...]
    curves: tuple[str, ...]
    seeds: tuple[int, ...]
    found: Sequence[Result]

    def of(self, task: str, curve: str) -> dict[int, Result]:
        """Return the results of a task and curve by seed, without those that lack the true or the untrained return."""
        return {
            result.seed: result
            for result in self.found
            if (result.task, result.curve) == (task, curve)
            and math.isfinite(result.true_return)
            and math.isfinite(result.random_return)
        }

    def untrained(self, task: str) -> list[float]:
        """Return the untrained policy's return for each seed, from the true reward's cells, or else the first curve's."""
        found: dict[int, Result] = {}
        for curve in (*reversed(self.curves), TRUE):
            found |= self.of(task, curve)
        return [found[seed].random_return for seed in self.seeds if seed in found]


def read_curve(path: Path) -> list[tuple[int, float]]:
    """Return (env_steps, true_return) of each line `[env_steps, true_return]`, ascending.

    Of several lines with the same steps, repeated after a resume, the last is used. Incomplete lines, from a killed
    program, are skipped. A longer curve is thinned out evenly; its last point is kept.
    """
    points: dict[int, float] = {}
    for line in path.read_text(errors="replace").splitlines():
        try:
            steps, value = json.loads(line)
            points[int(steps)] = float(value)
        except (ValueError, TypeError, OverflowError, RecursionError):
            continue
    ordered = sorted(points.items())
    stride = max(1, math.ceil(len(ordered) / _MAX_POINTS))
    return ordered[::-stride][::-1]


def to_table(results: Results) -> str:
    """Return a Markdown table: mean and standard deviation over the seeds, and share of the true reward's gain over random.

    A mean over fewer seeds than the plan's is marked. Shares are over the seeds that both curves have.
    """
    shared = [curve for curve in results.curves if curve != TRUE and TRUE in results.curves]
    columns = ["task", "seeds", RANDOM]
    for curve in results.curves:
        columns += [curve, "share"] if curve in shared else [curve]
    rows = [[column.replace("|", r"\|") for column in columns], ["---"] * len(columns)]
    for task in results.tasks:
        random = results.untrained(task)
        row = [task, str(len(results.seeds)), _mean_and_deviation(random) + _fewer(random, results) if random else ""]
        for curve in results.curves:
            found = results.of(task, curve)
            values = [result.true_return for result in found.values()]
            row.append(_mean_and_deviation(values) + _fewer(values, results) if values else "none")
            if curve in shared:
                share = _share(found, results.of(task, TRUE))
                row.append("" if math.isnan(share) else f"{share:.2f}")
        rows.append(row)
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def to_rows(results: Results) -> list[dict[str, Any]]:
    """Return the table's numbers: for each task and curve, the seeds, their returns, mean, standard deviation and share."""
    rows: list[dict[str, Any]] = []
    for task in results.tasks:
        for curve in results.curves:
            found = results.of(task, curve)
            if not found:
                continue
            values = [result.true_return for result in found.values()]
            random = float(np.mean([result.random_return for result in found.values()]))
            row: dict[str, Any] = {"task": task, "curve": curve, "seeds": list(found), "true_returns": values}
            row |= {"mean": float(np.mean(values)), "std": float(np.std(values)), "random": random}
            rows.append(row | {"share": _share(found, results.of(task, TRUE)) if curve != TRUE else math.nan})
    return rows


def _fewer(values: Sequence[Any], results: Results) -> str:
    return f" ({len(values)} of {len(results.seeds)})" if len(values) < len(results.seeds) else ""


def _share(own: Mapping[int, Result], true: Mapping[int, Result]) -> float:
    """Return the share of the true reward's mean gain over random, over the seeds that both have.

    NaN if there are none, or if the true reward gained nothing.
    """
    both = [seed for seed in own if seed in true]
    if not both:
        return math.nan
    gain, most = (
        float(np.mean([results[seed].true_return - results[seed].random_return for seed in both]))
        for results in (own, true)
    )
    return gain / most if most > 0 else math.nan


def average_curves(results: Results, task: str) -> list[Curve]:
    """Return a curve for each kind of run, mean and standard deviation over the seeds, and one for the untrained policy."""
    drawn = {curve: [each for each in results.of(task, curve).values() if each.points] for curve in results.curves}
    ends = [result.points[-1][0] for found in drawn.values() for result in found]
    if not ends:
        return []
    steps = np.linspace(0, max(ends), _GRID)
    curves = []
    for curve, found in drawn.items():
        if found:
            rows = [_on_grid(result, steps) for result in found]
            curves.append(Curve(curve + _fewer(found, results), steps, np.mean(rows, axis=0), np.std(rows, axis=0)))
    level = np.full(_GRID, np.mean(results.untrained(task)))
    return [*curves, Curve(RANDOM, steps, level, np.zeros(_GRID))]


def _on_grid(result: Result, steps: Float64) -> Float64:
    """Return the true returns at these steps, from the untrained policy on; NaN beyond the end of the run."""
    at, values = zip(*[(0, result.random_return), *result.points], strict=True)
    return np.interp(steps, at, values, right=np.nan)


def _mean_and_deviation(values: Sequence[float]) -> str:
    """Format mean and standard deviation with three digits of the larger one, and at least one decimal."""
    mean, deviation = float(np.mean(values)), float(np.std(values))
    largest = max(abs(mean), deviation)
    decimals = max(1, 2 - math.floor(math.log10(largest))) if 0 < largest < math.inf else 1
    return f"{mean:.{decimals}f} ± {deviation:.{decimals}f}"
