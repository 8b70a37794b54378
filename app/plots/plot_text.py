"""Texts of a plot: title with the newest value, legend, readout at one x, and a table."""

import csv
import io
import math
from collections.abc import Callable
from html import escape

import numpy as np

from app.plots.plot_specs import SECONDS, CurveSpec, PlotSpec
from app.session.metrics_recorder import PREDICTED_REWARD, TRUE_REWARD
from app.style.palette import Palette
from core.metrics import CAPACITY, Metrics
from core.types import Float64

_ONE_COLUMN = 4
"""Number of curves up to which the readout has one column; more would be higher than a small plot."""


def headline(spec: PlotSpec, source: Metrics, hidden: bool) -> str:
    """The title with the newest value, averaged over ensemble members."""
    if spec.axis is SECONDS:
        return spec.title
    newest = []
    for curve in spec.visible_curves(hidden):
        y = source.snapshot(curve.series, CAPACITY)[1]
        known = y[np.isfinite(y)]
        if len(known) and not curve.right and not curve.dashed:
            newest.append(float(known[-1]))
    if not newest:
        return spec.title
    value = sum(newest) / len(newest)
    figure = f"{value:.0%}" if spec.percent else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{spec.title}: {figure} on average" if spec.averaged else f"{spec.title}: {figure}"


def legend(spec: PlotSpec, hidden: bool, palette: Palette) -> str:
    """Names of the curves with their colours, as rich text."""
    shown = spec.visible_curves(hidden)
    if spec.legend or len(shown) < 2 and not (shown and shown != spec.curves):
        return spec.legend
    return " &nbsp;".join(_legend_entry(curve, palette) for curve in shown)


def _legend_entry(curve: CurveSpec, palette: Palette) -> str:
    side = " →" if curve.right else ""  # its scale is on the right
    dashes = "┅ " if curve.dashed else ""
    return f"<span style='color:{curve.colour(palette)}'>{dashes}{escape(curve.short or curve.name)}{side}</span>"


def agreement_text(episode: Metrics) -> str:
    """Agreement of predicted and true reward along the episode; '' if either is constant or missing."""
    predicted, true = (episode.snapshot(name, CAPACITY)[1] for name in (PREDICTED_REWARD, TRUE_REWARD))
    if len(predicted) != len(true) or not len(true) or not (predicted.std() > 0 and true.std() > 0):  # NaN too
        return ""
    r = float(np.corrcoef(predicted, true)[0, 1])
    degrees = {0.9: "agree closely", 0.6: "agree", 0.3: "agree weakly", -0.3: "are unrelated", -1.1: "disagree"}
    degree = next(text for lowest, text in degrees.items() if r >= lowest)
    return f"Predicted and true reward {degree} (r = {round(r, 2) + 0.0:.2f})."  # + 0.0 turns -0.0 into 0.0


def values_at(
    spec: PlotSpec, source: Metrics, hidden: bool, x: float
) -> tuple[float, list[tuple[CurveSpec, float]]] | None:
    """The recorded x nearest to this one, and each curve's value there (NaN before its first point).

    None if no curve has points.
    """
    points = [(curve, *source.snapshot(curve.series, CAPACITY)) for curve in spec.visible_curves(hidden)]
    every_x = all_x(spec, source, hidden)
    if not len(every_x):
        return None
    nearest = float(every_x[np.abs(every_x - x).argmin()])
    return nearest, [(curve, _value_at(xs, ys, nearest)) for curve, xs, ys in points]


def readout(x_text: str, values: list[tuple[CurveSpec, float]], palette: Palette) -> str:
    """Values at the crosshair as rich text: one line per curve, in two columns if there are many."""
    cells = [
        f"<td style='color:{curve.colour(palette)}'>{'┅ ' if curve.dashed else ''}{escape(curve.name)} </td>"
        f"<td align='right'>{_figure(value)}</td>"
        for curve, value in values
    ]
    columns = 2 if len(cells) > _ONE_COLUMN else 1
    rows = ("<tr>" + "<td>&nbsp;</td>".join(cells[i : i + columns]) + "</tr>" for i in range(0, len(cells), columns))
    return f"<b>{x_text}</b><table cellspacing='0'>{''.join(rows)}</table>"


def spoken(x_text: str, values: list[tuple[CurveSpec, float]]) -> str:
    """The readout for a screen reader."""
    return "; ".join([x_text, *(f"{curve.name} {_figure(value)}" for curve, value in values)])


def _figure(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.6g}"


def all_x(spec: PlotSpec, source: Metrics, hidden: bool) -> Float64:
    """Sorted x of all points of the visible curves, `(n,) float64`."""
    series = [source.snapshot(curve.series, CAPACITY)[0] for curve in spec.visible_curves(hidden)]
    return np.unique(np.concatenate(series)) if series else np.empty(0)


def _value_at(xs: Float64, ys: Float64, x: float) -> float:
    """Last value at or before x; NaN if there is none. xs: sorted, xs and ys: `(n,) float64`."""
    last = int(np.searchsorted(xs, x, side="right")) - 1
    return float(ys[last]) if last >= 0 else math.nan


def csv_maker(spec: PlotSpec, source: Metrics, hidden: bool) -> Callable[[], bytes]:
    """Return a function that makes a table of the current points; it takes long, and is callable in any thread.

    One row per x and one column per curve; empty cells without a point, numbers at full precision.
    """
    curves = spec.visible_curves(hidden)
    points = [source.snapshot(curve.series, CAPACITY) for curve in curves]
    heads = [spec.axis.column, *(curve.name for curve in curves)]

    def make() -> bytes:
        columns = [dict(zip(xs.tolist(), ys.tolist(), strict=True)) for xs, ys in points]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(heads)
        for x in sorted(set().union(*columns)):
            writer.writerow([repr(x), *(repr(column[x]) if x in column else "" for column in columns)])
        return text.getvalue().encode()

    return make
