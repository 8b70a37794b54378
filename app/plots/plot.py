"""One plot with its title, its key, a readout, and what can be done with it."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QImage, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QVBoxLayout, QWidget

from app.plots import plot_text
from app.plots.plot_canvas import PlotCanvas
from app.plots.plot_header import PlotHeader
from app.plots.plot_shortcuts import PlotShortcuts
from app.plots.plot_specs import CurveSpec, PlotSpec, Source
from app.session.metrics_recorder import EpisodeRewards
from app.style import theme
from app.style.images import picture_of, png
from app.style.labels import label
from core.metrics import SHOWN, Metrics
from core.types import Float64

_DASHED = 300
"""Points of a dashed curve: dashes cost several times what a solid line does."""
_HIDDEN = "The true reward is hidden (View menu)."


class Plot(QWidget):
    """Shows one Plotted. `alone`: in a window of its own.

    Signals:
        enlarge_requested(): the person wants it in a window of its own.
        save_requested(str, object): the person wants a file; a name for it, and a function that makes its bytes, to be
            called in any thread.
    """

    enlarge_requested = Signal()
    save_requested = Signal(str, object)
    _built = False

    def __init__(self, plotted: PlotSpec, hidden: bool, alone: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plotted, self._hidden, self._alone = plotted, hidden, alone
        self._source: Source = Metrics()
        self._drawn: dict[CurveSpec, tuple[Float64, Float64]] = {}
        self.setObjectName("plot")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.canvas = self._make_canvas()
        self._items = {curve: self.canvas.add_curve(curve.right) for curve in plotted.curves}
        self.head = PlotHeader(plotted.title, self._make_menu())
        self.head.double_clicked.connect(self.enlarge_requested)
        self.note = label("plotKey")
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.readout, self.message = label("readout", rich=True), label("plotMessage", wrap=True, centred=True)
        for overlay in (self.readout, self.message):
            self.canvas.overlay(overlay)
        self.readout.hide()
        self._keys = PlotShortcuts(self.canvas, self._step_reading, None if alone else self.enlarge_requested.emit)
        self._arrange()
        self._built = True
        self._dress()

    def _make_canvas(self) -> PlotCanvas:
        plotted, has_right = self.plotted, any(curve.right for curve in self.plotted.curves)
        canvas = PlotCanvas(plotted.axis.tick, plotted.right_log, has_right, plotted.band)
        canvas.takes_wheel = self._alone
        if self._alone:
            canvas.name_x(plotted.axis.title)
        canvas.pointed_at.connect(self.read_off)
        canvas.pointer_left.connect(self.stop_reading)
        canvas.pressed.connect(self.setFocus)
        canvas.resized.connect(self._place_overlays)
        return canvas

    def _make_menu(self) -> QMenu:
        self.menu = QMenu(self)
        self.menu.addAction("&Fit everything\tHome", self.canvas.fit)
        if not self._alone:
            self.menu.addAction("&Enlarge\tEnter", self.enlarge_requested.emit)
        self.menu.addSeparator()
        self.menu.addAction("Save as &picture (PNG)…", self.save_picture)
        self.menu.addAction("Save the &figures (CSV)…", self.save_figures)
        return self.menu

    def _arrange(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(4, 2, 4, 2)
        column.setSpacing(2)
        column.addWidget(self.head)
        column.addWidget(self.note)
        column.addWidget(self.canvas, 1)

    def hide_true_reward(self, on: bool) -> None:
        self._hidden = on
        self.stop_reading()
        self._dress()

    def take(self, source: Source) -> None:
        """What is drawn from now on; `draw_news` does it."""
        self._source = source

    def draw_news(self) -> bool:
        """Draws the curves that have changed, where they can be seen; whether there were any."""
        return self.isVisible() and not self.visibleRegion().isEmpty() and self._draw()

    def _draw(self) -> bool:
        changed = [self._draw_curve(curve) for curve in self.plotted.curves]
        if any(changed):
            self._tell()
        return any(changed)

    def _draw_curve(self, curve: CurveSpec) -> bool:
        points = np.empty(0), np.empty(0)
        if curve in self.plotted.shown(self._hidden):
            points = self._source.snapshot(curve.series, _DASHED if curve.dashed else SHOWN)
        if curve in self._drawn and all(map(_same, points, self._drawn[curve])):
            return False
        self._drawn[curve] = points
        x, y = points
        if curve.right and self.plotted.right_log:
            y = np.log10(np.where(y > 0, y, math.nan))
        self.canvas.draw(self._items[curve], x, y, curve.colour(theme.palette()), curve.dashed)
        return True

    def _tell(self) -> None:
        """Title, note and message, as the points are now."""
        title = plot_text.headline(self.plotted, self._source, self._hidden)
        self.head.title.setText(title)
        self.setAccessibleName(title)
        note = plot_text.alike(self._source) if isinstance(self._source, EpisodeRewards) and not self._hidden else ""
        self.note.setText(note)
        self.note.setVisible(bool(note))
        shown = self.plotted.shown(self._hidden)
        self.message.setText(self.plotted.awaits if shown else _HIDDEN)
        self.message.setVisible(not any(len(self._drawn[curve][0]) for curve in shown))

    def _dress(self) -> None:
        """In the present scheme, and with the curves that are to be seen now."""
        self.canvas.dress()
        self.canvas.show_right(any(curve.right for curve in self.plotted.shown(self._hidden)))
        self.head.key.setText(plot_text.legend(self.plotted, self._hidden, theme.palette()))
        self._drawn.clear()
        self._draw()

    def read_off(self, x: float) -> None:
        """Puts the crosshair on the recorded point nearest to x, and tells what every curve was there."""
        found = plot_text.values_at(self.plotted, self._source, self._hidden, x)
        if found is None:
            return
        place, values = self.plotted.axis.write(found[0]), found[1]
        self.canvas.point(found[0], next((value for curve, value in values if not curve.right), math.nan))
        self.readout.setText(plot_text.readout(place, values, theme.palette()))
        self.setAccessibleDescription(plot_text.spoken(place, values))
        self._place_overlays()
        self.readout.show()
        self.readout.raise_()

    def stop_reading(self) -> None:
        self.canvas.stop_pointing()
        self.readout.clear()
        self.setAccessibleDescription("")
        self.readout.hide()

    def _place_overlays(self) -> None:
        """The message over all of the canvas; the readout in the corner away from the crosshair.

        The readout of many curves is higher than a small plot, so it lies over the plot's neighbours too.
        """
        self.message.setGeometry(self.canvas.rect())
        host, inside, pointed = self.parentWidget() or self, self.canvas.inside(), self.canvas.pointed
        if self.readout.parentWidget() is not host:
            self.readout.setParent(host)
        self.readout.adjustSize()
        left = pointed is not None and self.canvas.is_right_of_middle(pointed)
        x = inside.left() + 4 if left else inside.right() - 4 - self.readout.width()
        place = self.canvas.mapTo(host, QPoint(x, inside.top() + 2))
        seen = host.visibleRegion().boundingRect()
        lowest = seen.bottom() + 1 - self.readout.height()
        self.readout.move(place.x(), max(seen.top(), min(place.y(), lowest)))

    def _step_reading(self, step: int) -> None:
        """To the next recorded point, or the one before; from the newest where there is no crosshair yet."""
        known = plot_text.places(self.plotted, self._source, self._hidden)
        if not len(known):
            return
        pointed = self.canvas.pointed
        at = len(known) - 1 if pointed is None else int(np.abs(known - pointed).argmin()) + step
        self.read_off(float(known[min(max(at, 0), len(known) - 1)]))

    def picture(self) -> QImage:
        """Title, key and curves."""
        self.head.menu_button.hide()
        image = picture_of(self)
        self.head.menu_button.show()
        return image

    def save_picture(self) -> None:
        image = self.picture()
        self.save_requested.emit(f"{self.plotted.key}.png", lambda: png(image))

    def save_figures(self) -> None:
        text = plot_text.as_csv(self.plotted, self._source, self._hidden)
        self.save_requested.emit(f"{self.plotted.key}.csv", text.encode)

    def event(self, event: QEvent) -> bool:
        """With the focus, its keys are its own, whatever they mean to the window."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._keys.action(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        action = self._keys.action(event)
        if action:
            action()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu.popup(event.globalPos())

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.canvas.takes_wheel = True

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.canvas.takes_wheel = self._alone

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._built:
            self._dress()

    def sizeHint(self) -> QSize:
        return QSize(900, 560) if self._alone else QSize(360, 150)


def _same(a: Float64, b: Float64) -> bool:
    return np.array_equal(a, b, equal_nan=True)
