"""Line charts as PNG files, drawn with matplotlib, an optional dependency (the extra [figures])."""

import io
import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import missing_packages
from core.io.files import write_atomically
from core.types import Float64

log = logging.getLogger(__name__)
_COLOURS = (
    *("tab:orange", "tab:blue", "tab:green", "tab:purple", "tab:red"),
    *("tab:gray", "tab:brown", "tab:pink", "tab:olive", "tab:cyan"),
)
"""Orange is first: the paper's colour of the true reward."""
_STYLES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Curve:
    """A curve. x, y, spread: (k,) float64 each; the spread is drawn as a band around y"""

    label: str
    x: Float64
    y: Float64
    spread: Float64


def require_matplotlib() -> None:
    """Raise UserError if charts can't be drawn."""
    try:
        import matplotlib.backends.backend_agg  # noqa: F401
    except ImportError as error:
        raise missing_packages("A chart", "matplotlib") from error


def draw_chart(path: Path, title: str, curves: Sequence[Curve]) -> None:
    """Draw true return against environment steps, mean and spread.

    Raises UserError if matplotlib is missing, or if the file can't be written.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 6.0), layout="constrained")  # inches, at 100 pixels per inch
    axes = figure.add_subplot(title=_plain(title), xlabel="time steps", ylabel="true reward per episode")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    styles = [style for style in _STYLES for _ in _COLOURS]
    axes.set_prop_cycle(color=len(_STYLES) * _COLOURS, linestyle=styles)
    for curve in curves:
        (line,) = axes.plot(curve.x, curve.y, label=_plain(curve.label))
        low, high = curve.y - curve.spread, curve.y + curve.spread
        axes.fill_between(curve.x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.grid(alpha=0.3)
    if curves:
        axes.legend()
    png = io.BytesIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FigureCanvasAgg(figure).print_png(png)
    if caught:
        log.warning("%s: the font of the charts lacks characters of some names; the table has them.", path.name)
    write_atomically(path, png.getvalue())


def _plain(text: str) -> str:
    """Return the text with escaped dollar signs, which matplotlib would read as formulas."""
    return text.replace("$", r"\$")
