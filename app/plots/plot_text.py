"""What a plot says in words and figures: its headline, the values at one x, a table. Pure."""

from __future__ import annotations

import csv
import io
import math

import numpy as np

from app.plots.plot_specs import CurveSpec, PlotSpec, Source
from app.session.metrics_recorder import EpisodeRewards
from app.style.palette import Palette
from core.metrics import CAPACITY
from core.types import Float64

_ONE_COLUMN = 4
"""Curves whose values stand below each other; more would be higher than a small plot."""


def short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def headline(plotted: PlotSpec, source: Source, hidden: bool) -> str:
    """The title with the newest value: of several members the mean."""
    if plotted.of_episode:
        return plotted.title
    newest = []
    for curve in plotted.shown(hidden):
        y = source.snapshot(curve.series, CAPACITY)[1]
        known = y[np.isfinite(y)]
        if len(known) and not curve.right and not curve.dashed:
            newest.append(float(known[-1]))
    return f"{plotted.title}:  {short(sum(newest) / len(newest))}" if newest else plotted.title


def legend(plotted: PlotSpec, hidden: bool, scheme: Palette) -> str:
    """What the curves are, as rich text."""
    shown = plotted.shown(hidden)
    if plotted.legend or len(shown) < 2 and not (shown and shown != plotted.curves):
        return plotted.legend
    sided = any(curve.right for curve in shown)
    return " &nbsp; ".join(_named(curve, sided, scheme) for curve in shown)


def _named(curve: CurveSpec, sided: bool, scheme: Palette) -> str:
    side = (" (right)" if curve.right else " (left)") if sided else ""
    dashes = "┅ " if curve.dashed else ""
    return f"<span style='color:{curve.colour(scheme)}'>{dashes}{curve.short or curve.name}{side}</span>"


def alike(episode: EpisodeRewards) -> str:
    """How predicted and true reward go together along the episode, in words; '' where that can't be said."""
    r = episode.correlation
    if math.isnan(r):
        return ""
    words = (
        (0.9, "rise and fall as one"),
        (0.6, "go together"),
        (0.3, "go together loosely"),
        (-0.3, "have little in common"),
        (-1.1, "go against each other"),
    )
    said = next(words for least, words in words if r >= least)
    return f"Predicted and true {said} (r = {r:.2f})."


def values_at(
    plotted: PlotSpec, source: Source, hidden: bool, x: float
) -> tuple[float, list[tuple[CurveSpec, float]]] | None:
    """The recorded x nearest to this one, and what each curve had by then: nan for nothing yet. None: no points."""
    points = [(curve, *source.snapshot(curve.series, CAPACITY)) for curve in plotted.shown(hidden)]
    known = places(plotted, source, hidden)
    if not len(known):
        return None
    nearest = float(known[np.abs(known - x).argmin()])
    return nearest, [(curve, _by(xs, ys, nearest)) for curve, xs, ys in points]


def readout(place: str, values: list[tuple[CurveSpec, float]], scheme: Palette) -> str:
    """What the crosshair tells, as rich text: one line a curve, in two columns where there are many."""
    cells = [
        f"<td style='color:{curve.colour(scheme)}'>{'┅ ' if curve.dashed else ''}{curve.name} </td>"
        f"<td align='right'>{_figure(value)}</td>"
        for curve, value in values
    ]
    wide = 2 if len(cells) > _ONE_COLUMN else 1
    rows = ("<tr>" + "<td>&nbsp;</td>".join(cells[i : i + wide]) + "</tr>" for i in range(0, len(cells), wide))
    return f"<b>{place}</b><table cellspacing='0'>{''.join(rows)}</table>"


def spoken(place: str, values: list[tuple[CurveSpec, float]]) -> str:
    """The same for a screen reader."""
    return "; ".join([place, *(f"{curve.name} {_figure(value)}" for curve, value in values)])


def _figure(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.6g}"


def places(plotted: PlotSpec, source: Source, hidden: bool) -> Float64:
    """Every x at which a curve has a point, in order."""
    found = [source.snapshot(curve.series, CAPACITY)[0] for curve in plotted.shown(hidden)]
    return np.unique(np.concatenate(found)) if found else np.empty(0)


def _by(xs: Float64, ys: Float64, x: float) -> float:
    last = int(np.searchsorted(xs, x, side="right")) - 1
    return float(ys[last]) if last >= 0 else math.nan


def as_csv(plotted: PlotSpec, source: Source, hidden: bool) -> str:
    """One row an x, one named column a curve, empty where a curve has no point; figures read back exactly."""
    curves = plotted.shown(hidden)
    columns = [dict(zip(*(a.tolist() for a in source.snapshot(c.series, CAPACITY)), strict=True)) for c in curves]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([plotted.axis.column, *(curve.name for curve in curves)])
    for x in places(plotted, source, hidden).tolist():
        writer.writerow([repr(x), *(repr(column[x]) if x in column else "" for column in columns)])
    return text.getvalue()
