"""Figure of one plot for a paper or a slide: vector drawing on white, as PNG or SVG.

It holds plain data, so it looks the same whatever the window's size and colours are.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPen, QPolygonF
from PySide6.QtSvg import QSvgGenerator

from app.style.images import encoded
from app.style.palette import LIGHT
from core.types import Float64

_WIDTH, _HEIGHT = 800, 480
"""Size in points of the drawing; a column of a paper is about 250 points wide, so texts stay readable at a third."""
_SCALE = 3
"""Pixels of the PNG per point."""
_DOTS_PER_METRE = 11811
"""300 dots per inch, at which the PNG is 8 inches wide."""
_LINE, _AXIS, _POINT = 2.2, 1.2, 3.2
_TITLE, _TEXT = 19, 15
_TOP, _BOTTOM, _SIDE, _EDGE = 100, 62, 84, 22
"""Margins around the axes: above and below, at a side with a scale, and at a side without."""
_BESIDE_NUMBERS = 40
"""Width of a scale without its numbers: ticks and title."""
_ROW, _SAMPLE, _BETWEEN = 22, 30, 18
"""Height of a row of the legend, and widths of a line in it and of the space after its name."""
_PIECE = 25
"""Most points of a curve that are drawn at once as pixels. Qt holds Python's lock meanwhile, and takes up to a second for a
thousand points, during which the window would not respond."""
_TICKS = 6
"""Maximum number of intervals between ticks."""
_NARROW = 3.0
"""Logarithmic ranges up to this ratio of their ends have even ticks; wider ones have ticks at 1, 2 and 5 times powers
of ten."""
_WIDE = 100.0
"""From this ratio on, only powers of ten have ticks."""
_ALPHA = 26
_RIGHT, _LEFT, _CENTRE = Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignHCenter
_MIDDLE = Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True)
class Line:
    """One curve. x, y: (n,) float64, NaN leaves a gap; right: it uses the right scale."""

    name: str
    x: Float64
    y: Float64
    colour: str
    dashed: bool = False
    right: bool = False


@dataclass(frozen=True)
class PlotFigure:
    """Curves with axes. x_range: visible part of x; tick: formats x; band: shaded range of the left scale."""

    title: str
    subtitle: str
    x_title: str
    left_title: str
    right_title: str
    lines: tuple[Line, ...]
    x_range: tuple[float, float]
    tick: Callable[[float], str]
    band: tuple[float, float] | None = None
    right_log: bool = False

    def as_png(self) -> bytes:
        """Return the figure as PNG; callable in any thread."""
        image = QImage(QSize(_WIDTH, _HEIGHT) * _SCALE, QImage.Format.Format_RGB32)
        image.setDotsPerMeterX(_DOTS_PER_METRE)
        image.setDotsPerMeterY(_DOTS_PER_METRE)
        painter = QPainter(image)
        painter.scale(_SCALE, _SCALE)
        self._paint(painter, _PIECE)
        painter.end()
        return encoded(image, "PNG")

    def as_svg(self) -> bytes:
        """Return the figure as SVG, in some 10 ms.

        Call it in the window's thread, as QSvgGenerator connects signals; see app.style.images.
        """
        content = QByteArray()
        buffer = QBuffer(content)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        generator = QSvgGenerator()
        generator.setOutputDevice(buffer)
        generator.setSize(QSize(_WIDTH, _HEIGHT))
        generator.setViewBox(QRectF(0, 0, _WIDTH, _HEIGHT))
        generator.setTitle(self.title)
        generator.setDescription(self.subtitle)
        painter = QPainter(generator)
        self._paint(painter)
        painter.end()
        buffer.close()
        return bytes(content.data())

    def _paint(self, painter: QPainter, piece: int = sys.maxsize) -> None:
        """piece: most points of a curve that are drawn at once"""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(QRectF(0, 0, _WIDTH, _HEIGHT), QColor("white"))
        has_right = any(line.right for line in self.lines)
        _set_font(painter, _TEXT)
        sides = [self._side(painter, right=False), self._side(painter, right=True) if has_right else _EDGE]
        rows = self._legend_rows(painter, _WIDTH - sides[0] - _EDGE)
        top = _TOP + _ROW * max(0, len(rows) - 1)
        box = QRectF(sides[0], top, _WIDTH - sum(sides), _HEIGHT - top - _BOTTOM)
        self._write_heads(painter)
        self._write_legend(painter, rows, box.left())
        left = self._scale(right=False)
        if self.band:
            self._shade(painter, box, left)
        self._draw_scale(painter, box, left, self.left_title, right=False)
        if has_right:
            self._draw_scale(painter, box, self._scale(right=True), self.right_title, right=True)
        self._draw_x(painter, box)
        painter.setClipRect(box.adjusted(-_POINT, -_POINT, _POINT, _POINT))
        for line in self.lines:
            self._draw_line(painter, box, line, piece)

    def _side(self, painter: QPainter, right: bool) -> float:
        """Return the margin for a scale: with the title and the widest number."""
        widest = max((painter.fontMetrics().horizontalAdvance(text) for _, text in self._ticks(right)), default=0)
        return max(_SIDE, widest + _BESIDE_NUMBERS)

    def _ticks(self, right: bool) -> list[tuple[float, str]]:
        """Return the ticks of a vertical scale, none without points."""
        known = any(len(self._visible(line)) for line in self.lines if line.right == right)
        return ticks(*self._scale(right), right and self.right_log) if known else []

    def _legend_rows(self, painter: QPainter, room: float) -> list[list[tuple[Line, float]]]:
        """Return the lines of the legend, with the widths of their names, in rows of at most `room`."""
        rows, used = list[list[tuple[Line, float]]](), math.inf
        for line in self.lines if len(self.lines) > 1 else ():
            name = float(painter.fontMetrics().horizontalAdvance(line.name))
            if used + _SAMPLE + name > room:
                rows.append([])
                used = 0.0
            rows[-1].append((line, name))
            used += _SAMPLE + name + _BETWEEN
        return rows

    def _write_heads(self, painter: QPainter) -> None:
        """Write the title and the subtitle."""
        _set_font(painter, _TITLE, bold=True)
        _write(painter, QRectF(_EDGE, 10, _WIDTH - 2 * _EDGE, 28), self.title, _LEFT | _MIDDLE, LIGHT.text)
        _set_font(painter, _TEXT)
        _write(painter, QRectF(_EDGE, 38, _WIDTH - 2 * _EDGE, 22), self.subtitle, _LEFT | _MIDDLE, LIGHT.muted)

    def _write_legend(self, painter: QPainter, rows: list[list[tuple[Line, float]]], left: float) -> None:
        for number, row in enumerate(rows):
            x, y = left, 78 + _ROW * number
            for line, name in row:
                painter.setPen(_pen(line))
                painter.drawLine(QLineF(x, y, x + 24, y))
                _write(painter, QRectF(x + _SAMPLE, y - 12, name + 2, 24), line.name, _LEFT | _MIDDLE, LIGHT.text)
                x += _SAMPLE + name + _BETWEEN

    def _visible(self, line: Line) -> Float64:
        low, high = self.x_range
        y = line.y[(line.x >= low) & (line.x <= high)]
        return y[np.isfinite(y)]

    def _scale(self, right: bool) -> tuple[float, float]:
        """Ends of a vertical scale, with some room around the visible points."""
        values = [self._visible(line) for line in self.lines if line.right == right]
        every = np.concatenate(values) if values else np.empty(0)
        if not len(every):
            return 0.0, 1.0
        low, high = float(every.min()), float(every.max())
        room = 0.06 * (high - low) or 0.1 * abs(high) or 0.5
        return low - room, high + room

    def _draw_scale(self, painter: QPainter, box: QRectF, ends: tuple[float, float], title: str, right: bool) -> None:
        low, high = ends
        edge, out = (box.right(), 1) if right else (box.left(), -1)
        painter.setPen(QPen(QColor(LIGHT.muted), _AXIS))
        painter.drawLine(QLineF(edge, box.top(), edge, box.bottom()))
        for value, text in self._ticks(right):
            y = box.bottom() - box.height() * (value - low) / (high - low)
            painter.setPen(QPen(QColor(LIGHT.muted), _AXIS))
            painter.drawLine(QLineF(edge, y, edge + 5 * out, y))
            if not right:
                painter.setPen(QPen(QColor(LIGHT.line), 0.6))
                painter.drawLine(QLineF(box.left(), y, box.right(), y))
            place = QRectF(edge + 7, y - 10, _WIDTH - edge - 7, 20) if right else QRectF(0, y - 10, edge - 9, 20)
            _write(painter, place, text, (_LEFT if right else _RIGHT) | _MIDDLE, LIGHT.text)
        painter.save()
        painter.translate(QPointF(_WIDTH - 12 if right else 16, box.center().y()))
        painter.rotate(-90)
        _write(
            painter, QRectF(-box.height() / 2 - 30, -12, box.height() + 60, 24), title, _CENTRE | _MIDDLE, LIGHT.text
        )
        painter.restore()

    def _draw_x(self, painter: QPainter, box: QRectF) -> None:
        low, high = self.x_range
        painter.setPen(QPen(QColor(LIGHT.muted), _AXIS))
        painter.drawLine(QLineF(box.left(), box.bottom(), box.right(), box.bottom()))
        for value, _ in ticks(low, high) if any(len(self._visible(line)) for line in self.lines) else ():
            x = box.left() + box.width() * (value - low) / (high - low)
            painter.setPen(QPen(QColor(LIGHT.muted), _AXIS))
            painter.drawLine(QLineF(x, box.bottom(), x, box.bottom() + 5))
            _write(painter, QRectF(x - 50, box.bottom() + 7, 100, 20), self.tick(value), _CENTRE, LIGHT.text)
        below = QRectF(box.left(), box.bottom() + 31, box.width(), 24)
        _write(painter, below, self.x_title, _CENTRE | _MIDDLE, LIGHT.text)

    def _shade(self, painter: QPainter, box: QRectF, ends: tuple[float, float]) -> None:
        assert self.band is not None
        low, high = ends
        tops = [box.bottom() - box.height() * (value - low) / (high - low) for value in self.band]
        colour = QColor(LIGHT.green)
        colour.setAlpha(_ALPHA)
        painter.fillRect(box & QRectF(box.left(), tops[1], box.width(), tops[0] - tops[1]), colour)

    def _draw_line(self, painter: QPainter, box: QRectF, line: Line, piece: int) -> None:
        (left, right), (low, high) = self.x_range, self._scale(line.right)
        xs = box.left() + box.width() * (line.x - left) / (right - left)
        ys = box.bottom() - box.height() * (line.y - low) / (high - low)
        lengths = np.hypot(np.diff(xs, prepend=xs[:1]), np.diff(ys, prepend=ys[:1])) / _LINE
        drawn = np.where(np.isfinite(lengths), lengths, 0.0).cumsum()
        painter.setPen(_pen(line))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for run in runs(line.y):
            if run.stop - run.start > 1:
                for first in range(run.start, run.stop - 1, piece):
                    part = slice(first, min(run.stop, first + piece + 1))
                    points = [QPointF(x, y) for x, y in zip(xs[part].tolist(), ys[part].tolist(), strict=True)]
                    painter.setPen(_pen(line, float(drawn[first] - drawn[run.start])))
                    painter.drawPolyline(QPolygonF(points))
            else:
                painter.setBrush(QColor(line.colour))
                painter.drawEllipse(QPointF(float(xs[run.start]), float(ys[run.start])), _POINT, _POINT)
                painter.setBrush(Qt.BrushStyle.NoBrush)


def extent(lines: Sequence[Line]) -> tuple[float, float]:
    """Ends of x of all points, with some room for the lines' width; 0 and 1 without points."""
    xs = np.concatenate([np.empty(0), *(line.x[np.isfinite(line.x)] for line in lines)])
    if not len(xs):
        return 0.0, 1.0
    low, high = float(xs.min()), float(xs.max())
    room = 0.02 * (high - low) or 0.5
    return low - room, high + room


def runs(y: Float64) -> list[slice]:
    """Stretches of (n,) float64 y without NaN; one of length 1 is a point that a line alone would not show."""
    known = np.concatenate([[False], np.isfinite(y), [False]])
    edges = np.flatnonzero(known[1:] != known[:-1])
    return [slice(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def ticks(low: float, high: float, log: bool = False) -> list[tuple[float, str]]:
    """Values at round numbers from low to high, with their texts. log: low and high are base-10 logarithms"""
    if not high > low:
        return []
    if log:
        return [(math.log10(value), log_text(value)) for value in _log_values(10.0**low, 10.0**high)]
    return [(value, f"{value:,.10g}") for value in _even_values(low, high)]


def _even_values(low: float, high: float) -> list[float]:
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_values(low: float, high: float) -> list[float]:
    if high <= _NARROW * low:
        return _even_values(low, high)
    first, last = math.floor(math.log10(low)), math.floor(math.log10(high))
    digits = (1, 2, 5) if high < _WIDE * low else (1,)
    values = [digit * 10.0**power for power in range(first, last + 1, 1 + (last - first) // 8) for digit in digits]
    return [value for value in values if low <= value <= high]


def log_text(value: float) -> str:
    """Return a short text of a number above 0, such as 0.012, 2.5e-4 or 1e7."""
    mantissa, _, power = f"{value:.2e}".partition("e")
    return f"{float(f'{value:.3g}'):g}" if -2 <= int(power) <= 4 else f"{float(mantissa):g}e{int(power)}"


def _pen(line: Line, drawn: float = 0.0) -> QPen:
    """Return the pen of a curve. drawn: length of its earlier pieces in widths of the line, at which dashes continue"""
    pen = QPen(QColor(line.colour), _LINE)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    if line.dashed:
        pen.setDashPattern([3.0, 2.0])
        pen.setDashOffset(drawn)
    else:
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)  # as a join between two pieces
    return pen


def _set_font(painter: QPainter, pixels: int, bold: bool = False) -> None:
    font = QFont("DejaVu Sans")
    font.setStyleHint(QFont.StyleHint.SansSerif)
    font.setPixelSize(pixels)
    font.setBold(bold)
    painter.setFont(font)


def _write(painter: QPainter, place: QRectF, text: str, align: Qt.AlignmentFlag, colour: str) -> None:
    """Write a line, shortened to the width of its place."""
    painter.setPen(QColor(colour))
    short = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, math.ceil(place.width()))
    painter.drawText(place, align, short)
