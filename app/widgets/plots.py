"""Live plots. They pull from the metrics when told to; lines are one pixel wide and at most 1,000 points long."""

from __future__ import annotations

import math

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app import recorder, theme
from app.widgets.labels import label
from core.metrics import SHOWN, Metrics

_DASHED = 300
"""Points of a dashed curve: dashes cost several times what a solid line does."""


class Curve:
    """One series of the metrics, drawn anew only when it has grown."""

    def __init__(self, item: pg.PlotDataItem, series: str, limit: int) -> None:
        self._item, self._series, self._limit = item, series, limit
        self._drawn: tuple[int, float] = (0, 0.0)
        self.latest = float("nan")

    def refresh(self, metrics: Metrics) -> bool:
        x, y = metrics.snapshot(self._series, self._limit)
        if not len(x) or self._drawn == (len(x), x[-1]) and self.latest == y[-1]:
            return False
        self._drawn, self.latest = (len(x), x[-1]), float(y[-1])
        self._item.setData(x, y, connect="finite", skipFiniteCheck=False)
        return True


class Plot(QWidget):
    """A title with the newest value and a key, above one plot."""

    def __init__(self, title: str, key: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title, self._curves = title, list[Curve]()
        self._label = label("plotTitle", title)
        self.plot = pg.PlotWidget(background=theme.PANEL)
        self.plot.setMenuEnabled(False)
        self.plot.hideButtons()
        self.plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.plot.setMinimumHeight(90)
        for side in ("left", "bottom", "right"):
            self._dress(self.plot.getAxis(side))
        head = QHBoxLayout()
        head.addWidget(self._label)
        head.addStretch(1)
        head.addWidget(label("plotKey", key))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(self.plot, 1)

    def _dress(self, axis: pg.AxisItem) -> None:
        axis.setPen(theme.LINE)
        axis.setTextPen(theme.MUTED)
        axis.enableAutoSIPrefix(False)
        axis.setStyle(tickLength=4, hideOverlappingLabels=True)

    def add(self, series: str, colour: str, dashed: bool = False, view: pg.ViewBox | None = None) -> None:
        style = Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine
        item = pg.PlotDataItem(pen=pg.mkPen(colour, width=1, style=style), antialias=False)
        (view or self.plot).addItem(item)
        self._curves.append(Curve(item, series, _DASHED if dashed else SHOWN))

    def add_right_view(self) -> pg.ViewBox:
        """A second scale, on the right, over the same steps."""
        view = pg.ViewBox(enableMouse=False)
        main = self.plot.getViewBox()
        self.plot.showAxis("right")
        self.plot.scene().addItem(view)
        self.plot.getAxis("right").linkToView(view)
        view.setXLink(main)
        main.sigResized.connect(lambda: view.setGeometry(main.sceneBoundingRect()))
        return view

    def refresh(self, metrics: Metrics) -> None:
        changed = [curve.refresh(metrics) for curve in self._curves]
        if any(changed) and math.isfinite(self._curves[0].latest):
            self._label.setText(f"{self._title}:  {_short(self._curves[0].latest)}")


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


class Plots(QWidget):
    """Loss per member, predicted and true return, and the task's own measure."""

    def __init__(self, members: int, measure: str, measure_title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.loss = self._loss(members)
        self.returns = self._returns()
        self.measure = Plot(measure_title, "")
        self.measure.add(measure, theme.GREEN)
        self.measure.plot.setLabel("bottom", "environment steps, thousands", color=theme.MUTED)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for plot in (self.measure, self.returns, self.loss):
            column.addWidget(plot, 1)

    def _loss(self, members: int) -> Plot:
        plot = Plot("Loss of each member", "— train   ┅ validation")
        for member in range(members):
            colour = theme.MEMBERS[member % len(theme.MEMBERS)]
            plot.add(recorder.train_loss(member), colour)
            plot.add(recorder.validation_loss(member), colour, dashed=True)
        return plot

    def _returns(self) -> Plot:
        true = f"<span style='color:{theme.GREEN}'>true (left)</span>"
        predicted = f"<span style='color:{theme.BLUE}'>predicted (right)</span>"
        plot = Plot("Return", f"{true} &nbsp; {predicted}")
        plot.add(recorder.TRUE, theme.GREEN)
        plot.add(recorder.PREDICTED, theme.BLUE, view=plot.add_right_view())
        return plot

    def refresh(self, metrics: Metrics) -> None:
        for plot in (self.measure, self.returns, self.loss):
            plot.refresh(metrics)
