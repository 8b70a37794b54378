"""Drawing area of one plot: curves on one or two scales, with zoom, pan and a crosshair."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QGraphicsGridLayout

from app.plots.figure import log_text, runs, ticks
from app.style import theme
from core.types import Float64

_POINTER_MS = 30
"""Interval at which the crosshair follows the pointer, because each move redraws the plot."""
_BAND_ALPHA = 34
_POINT, _TICK = 6, 4
"""Pixels of a point without neighbours, and of a tick."""
_MIN_HEIGHT = 112
"""Pixels; in a column without room for all plots at this height, the column scrolls."""


class UnitAxis(pg.AxisItem):
    """Bottom axis whose ticks are formatted by `write`, with the unit: a small plot has no room for an axis title."""

    def __init__(self, write: Callable[[float], str]) -> None:
        super().__init__("bottom")
        self._write = write

    def tickStrings(self, values: Iterable[float], scale: float, spacing: float) -> list[str]:
        return [self._write(value) for value in values]


class ValueAxis(pg.AxisItem):
    """Axis at the side, whose ticks are formatted as the plot's title formats the newest value."""

    def __init__(self, side: str, percent: bool = False) -> None:
        super().__init__(side)
        self._percent = percent

    def tickStrings(self, values: Iterable[float], scale: float, spacing: float) -> list[str]:
        places = max(0, math.ceil(-math.log10(spacing) - 1e-9))
        if self._percent:
            return [f"{value:.{max(0, places - 2)}%}" for value in values]
        texts = super().tickStrings(values, scale, spacing)
        return [
            f"{value:,.{places}f}" if abs(value) >= 1000 else text for value, text in zip(values, texts, strict=True)
        ]


class LogAxis(pg.AxisItem):
    """Axis over base-10 logarithms, with ticks at round numbers."""

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        """One level of ticks, as base-10 logarithms."""
        return [(1.0, [value for value, _ in ticks(minVal, maxVal, log=True)])]

    def tickStrings(self, values: Iterable[float], scale: float, spacing: float) -> list[str]:
        return [log_text(10.0**value) for value in values]


class _TimeView(pg.ViewBox):
    """View that the mouse zooms and pans along x, while y fits the visible points; over an axis, along that axis only."""

    def __init__(self) -> None:
        self.extent: tuple[float, float] | None = None
        super().__init__(enableMenu=False)
        fit_visible(self)

    def childrenBounds(self, *args: Any, **named: Any) -> list[Any]:
        """Return the bounds that the view is fitted to; those of x are shared by the plots, if there are points."""
        bounds: list[Any] = super().childrenBounds(*args, **named)
        return bounds if self.extent is None or bounds[0] is None else [list(self.extent), bounds[1]]

    def mouseDragEvent(self, ev: Any, axis: int | None = None) -> None:
        super().mouseDragEvent(ev, axis=0 if axis is None else axis)

    def wheelEvent(self, ev: Any, axis: int | None = None) -> None:
        super().wheelEvent(ev, axis=0 if axis is None else axis)


def fit_visible(view: pg.ViewBox) -> None:
    """Show all of x, and fit y to the visible points."""
    view.setAutoVisible(y=True)
    view.enableAutoRange(x=True, y=True)


class PlotCanvas(pg.GraphicsView):
    """Plot with fast lines: not antialiased and as thin as can be seen, as anything else is many times slower.

    pyqtgraph's own plot makes forms and menus for each plot, which take longer than all the rest of opening a window.

    Signals:
        pointed_at(float): x below the pointer.
        pointer_left(): the pointer left the plot.
        x_chosen(object): the person has zoomed or panned to this (low, high), or shows everything (None).
    """

    pointed_at = Signal(float)
    pointer_left = Signal()
    x_chosen = Signal(object)

    def __init__(
        self,
        tick: Callable[[float], str],
        percent: bool,
        right_log: bool,
        has_right: bool,
        band: tuple[float, float] | None,
    ) -> None:
        """tick: formats x; percent: y is a share; right_log: the right scale is logarithmic; band: shaded range of y."""
        super().__init__(background=theme.palette().panel)
        self.takes_wheel = False
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMinimumHeight(_MIN_HEIGHT)
        self.enableMouse(False)  # the view takes the mouse, not the scene
        self.view = _TimeView()
        right = LogAxis("right") if right_log else ValueAxis("right")
        self.axes: dict[str, pg.AxisItem] = {
            "left": ValueAxis("left", percent),
            "bottom": UnitAxis(tick),
            "right": right,
        }
        self._layout = self._arrange()
        right.setVisible(has_right)
        self.view.sigRangeChangedManually.connect(lambda _: self._tell_x())
        self._points: dict[pg.PlotCurveItem, pg.ScatterPlotItem] = {}
        """Points that have no neighbour, which a line alone would not show, of each curve that has had any."""
        self.right = self._add_right() if has_right else None
        self._band = self._add_band(band) if band else None
        self._lines = tuple(pg.InfiniteLine(angle=angle, movable=False) for angle in (90, 0))
        for line in self._lines:
            self.view.addItem(line, ignoreBounds=True)
            line.setVisible(False)
        self._pointer = QPointF()
        self._follow = QTimer(self, singleShot=True, interval=_POINTER_MS)
        self._follow.timeout.connect(self._on_follow_due)
        self.viewport().setMouseTracking(True)
        for axis in self.axes.values():
            axis.enableAutoSIPrefix(False)  # which would scale the ticks by 1,000
        self.apply_palette()

    def _arrange(self) -> QGraphicsGridLayout:
        """Lay out the view between the axes."""
        area, layout = pg.GraphicsWidget(), QGraphicsGridLayout()
        layout.setContentsMargins(0, 0, 0, 3)
        layout.setSpacing(0)
        area.setLayout(layout)
        layout.addItem(self.view, 0, 1)
        for side, place in (("left", (0, 0)), ("right", (0, 2)), ("bottom", (1, 1))):
            axis = self.axes[side]
            axis.linkToView(self.view)
            axis.setZValue(-1000)
            axis.setFlag(axis.GraphicsItemFlag.ItemNegativeZStacksBehindParent)
            layout.addItem(axis, *place)
        layout.setRowStretchFactor(0, 100)
        layout.setColumnStretchFactor(1, 100)
        self.setCentralItem(area)
        return layout

    def _add_right(self) -> pg.ViewBox:
        """Second scale on the right, over the same x; it lies behind the first, which gets the mouse."""
        view = pg.ViewBox(enableMouse=False, enableMenu=False)
        view.setZValue(self.view.zValue() - 1)
        self.scene().addItem(view)
        self.axes["right"].linkToView(view)
        view.setXLink(self.view)
        view.setAutoVisible(y=True)
        view.enableAutoRange(y=True)
        self.view.sigResized.connect(lambda: view.setGeometry(self.view.sceneBoundingRect()))
        return view

    def _add_band(self, band: tuple[float, float]) -> pg.LinearRegionItem:
        region = pg.LinearRegionItem(band, orientation="horizontal", movable=False)
        region.setZValue(-10)
        self.view.addItem(region)
        return region

    def apply_palette(self) -> None:
        self.setBackground(theme.palette().panel)
        for axis in self.axes.values():
            axis.setPen(theme.palette().line)
            axis.setTextPen(theme.palette().muted)
            axis.setStyle(hideOverlappingLabels=True)
        for line in self._lines:
            line.setPen(pg.mkPen(theme.palette().muted, width=self._pen_width))
        if self._band:
            colour = QColor(theme.palette().green)
            colour.setAlpha(_BAND_ALPHA)
            self._band.setBrush(colour)
            for edge in self._band.lines:
                edge.setPen(pg.mkPen(theme.palette().line, width=self._pen_width))
            self._band.update()

    @property
    def _pen_width(self) -> int:
        """Width in pixels of the screen; a width of 1 would look thinner on a finer screen."""
        return max(1, round(self.devicePixelRatioF()))

    def add_curve(self, right: bool) -> pg.PlotCurveItem:
        item, scale = pg.PlotCurveItem(antialias=False), self.right if right else self.view
        assert scale is not None
        scale.addItem(item)
        return item

    def draw(self, item: pg.PlotCurveItem, x: Float64, y: Float64, colour: str, dashed: bool) -> None:
        """Draw a curve through x and y, both `(n,) float64`; NaN leaves a gap."""
        style = Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine
        pen = pg.mkPen(colour, width=self._pen_width, style=style)
        item.setData(x, y, pen=pen, connect="finite", skipFiniteCheck=False)
        alone = [run.start for run in runs(y) if run.stop - run.start == 1]
        if alone and item not in self._points:
            self._points[item] = pg.ScatterPlotItem(size=_POINT, pen=None)
            item.getViewBox().addItem(self._points[item])
        if item in self._points:
            self._points[item].setData(x[alone], y[alone], brush=pg.mkBrush(colour))

    def show_ticks(self, left: bool, right: bool) -> None:
        """Show the ticks of the scales that have points; those of x if any has."""
        for side, on in (("bottom", left or right), ("left", left), ("right", right)):
            self.axes[side].setStyle(showValues=on, tickLength=_TICK if on else 0)

    def show_right(self, on: bool) -> None:
        """Show the right scale, if there is one."""
        self.axes["right"].setVisible(on and self.right is not None)

    def fix_widths(self, left: int, right: int) -> None:
        """Give the scales these widths in pixels, so that the x axes of plots in a column are aligned."""
        self.axes["left"].setWidth(left)
        shown = self.right is not None and self.axes["right"].isVisible()
        self.axes["right"].setWidth(right if shown else None)
        self._layout.setContentsMargins(0, 0, 0 if shown else right, 0)

    def share_extent(self, low: float, high: float) -> None:
        """Use low and high as the ends of x, as the neighbouring plots do."""
        if self.view.extent != (low, high):
            self.view.extent = low, high
            self.view.queueUpdateAutoRange()

    def show_crosshair(self, x: float, y: float) -> None:
        """Show the crosshair at x and at y of the left scale; NaN for y shows only the vertical line."""
        across, along = self._lines
        across.setValue(x)
        across.show()
        along.setVisible(math.isfinite(y))
        if math.isfinite(y):
            along.setValue(y)

    def hide_crosshair(self) -> None:
        for line in self._lines:
            line.hide()

    @property
    def crosshair_x(self) -> float | None:
        """x of the crosshair, None while hidden."""
        across = self._lines[0]
        return float(across.value()) if across.isVisible() else None

    def inside(self) -> QRect:
        """Rectangle between the axes, in pixels."""
        return self.view.sceneBoundingRect().toRect()

    def is_right_of_middle(self, x: float) -> bool:
        return x > float(np.mean(self.view.viewRange()[0]))

    def fit(self) -> None:
        """Show everything, including new points."""
        self.follow_x(None)
        self.x_chosen.emit(None)

    def follow_x(self, chosen: tuple[float, float] | None) -> None:
        """Show this part of x, as chosen in another plot; None for everything."""
        if chosen is None:
            fit_visible(self.view)
            if self.right is not None:
                self.right.enableAutoRange(y=True)
        else:
            self.view.setXRange(*chosen, padding=0)

    def zoom(self, factor: float) -> None:
        """Scale the visible range of x about its middle; below 1 zooms in."""
        self.view.scaleBy(x=factor)
        self._tell_x()

    def pan(self, share: float) -> None:
        """Move along x by this share of the visible range."""
        low, high = self.view.viewRange()[0]
        self.view.translateBy(x=share * (high - low))
        self._tell_x()

    @property
    def x_range(self) -> tuple[float, float]:
        """Ends of the visible part of x."""
        low, high = self.view.viewRange()[0]
        return float(low), float(high)

    @property
    def chosen_x(self) -> tuple[float, float] | None:
        """The part of x to which the person has zoomed or panned; None while all of it is shown."""
        return None if self.view.autoRangeEnabled()[0] else self.x_range

    def _tell_x(self) -> None:
        if self.chosen_x is not None:  # not after a change of y alone
            self.x_chosen.emit(self.chosen_x)

    def wheelEvent(self, ev: QWheelEvent) -> None:
        """Zoom if `takes_wheel` or Ctrl is held; otherwise let the column scroll."""
        if self.takes_wheel or ev.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().wheelEvent(ev)
        else:
            ev.ignore()

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        super().mouseDoubleClickEvent(ev)
        self.fit()

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        super().mouseMoveEvent(ev)
        self._pointer = ev.position()
        if not self._follow.isActive():
            self._follow.start()

    def leaveEvent(self, ev: QEvent) -> None:
        super().leaveEvent(ev)
        self._follow.stop()
        self.pointer_left.emit()

    def _on_follow_due(self) -> None:
        point = self.mapToScene(self._pointer.toPoint())
        if self.view.sceneBoundingRect().contains(point):
            self.pointed_at.emit(self.view.mapSceneToView(point).x())
        else:
            self.pointer_left.emit()
