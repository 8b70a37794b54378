"""One plot: title, legend, menu, canvas, readout at the crosshair, and keys."""

import math
from collections.abc import Callable
from functools import partial
from html import escape

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QMouseEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from app.plots import plot_text
from app.plots.figure import Line, PlotFigure, extent
from app.plots.plot_canvas import PlotCanvas
from app.plots.plot_specs import SECONDS, CurveSpec, PlotSpec
from app.style import theme
from app.style.glossary import explain, help_button
from app.style.labels import ElidedLabel, label
from app.style.layouts import column, row
from app.style.palette import LIGHT
from core.metrics import SHOWN, Metrics
from core.types import Float64

_DASHED = 300
"""Points of a dashed curve, which is several times slower to draw than a solid one."""
_ZOOM_IN, _PAN = 0.8, 0.1
_SHIFT, _CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
_NONE, _KEYPAD = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier
KEY_TEXTS = (
    ("+ or −", "Zoom in or out"),
    ("Ctrl+← or Ctrl+→", "Pan"),
    ("Home", "Show everything"),
    ("Shift+← or Shift+→", "Read values point by point"),
    ("Enter", "Open in its own window"),
)
"""Keys and their effects, for tooltips and the key list; the last one opens a window."""
KINDS = {"png": "Save &picture", "svg": "Save d&rawing", "csv": "Save &data"}
"""Kinds of files that a plot is saved as, with their entries in the menu."""
_PART = "Only a part is shown; double-click to show everything."
Action = Callable[[], object]


def _help(in_window: bool) -> str:
    texts = KEY_TEXTS[:-1] if in_window else KEY_TEXTS
    wheel = "scroll" if in_window else "scroll with Ctrl"
    title = "" if in_window else "Double-click the title to open the plot in its own window. "
    keys = "; ".join(f"{keys}: {effect[0].lower()}{effect[1:]}" for keys, effect in texts)
    return f"Drag to pan; {wheel} to zoom, also on an axis; double-click to show everything.\n{title}Keys: {keys}."


class Plot(QWidget):
    """Widget for one PlotSpec. in_window: the plot has its own window; hidden: the true reward is hidden.

    source: source of the curves; `draw_changes` draws it

    Signals:
        enlarge_requested(): open the plot in its own window.
        save_requested(object, str, object): this plot, the proposed file name, and a function that returns the bytes,
            callable in any thread.
    """

    enlarge_requested = Signal()
    save_requested = Signal(object, str, object)
    _built = False

    def __init__(self, spec: PlotSpec, hidden: bool, in_window: bool = False) -> None:
        super().__init__()
        self.spec, self._hidden, self._in_window = spec, hidden, in_window
        self.source = Metrics()
        self.heading: Callable[[], tuple[str, str]] = lambda: ("", "")
        """Returns title and subtitle of saved pictures: the task, and the session with its answers and steps."""
        self._drawn: dict[CurveSpec, tuple[Float64, Float64]] = {}
        explain(self, spec.word)
        self.setObjectName("plot")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.canvas = self._make_canvas()
        self.items = {curve: self.canvas.add_curve(curve.right) for curve in spec.curves}
        self.header = self._make_header()
        self.note = label("plotKey")
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.readout, self.message = label("readout", rich=True), label("plotMessage", wrap=True, centred=True)
        for overlay in (self.readout, self.message):
            overlay.setParent(self.canvas)
            overlay.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.readout.hide()
        self._keys = self._make_keys()
        column(self.header, self.note, (self.canvas, 1), of=self, margins=(4, 2, 4, 2), spacing=2)
        self._built = True
        self._refresh_look()

    def _make_keys(self) -> dict[tuple[int, Qt.KeyboardModifier], Action]:
        """Make the actions of the keys while the plot has the focus."""
        key = Qt.Key
        actions: dict[tuple[int, Qt.KeyboardModifier], Action] = {
            (key.Key_Plus, _NONE): lambda: self.canvas.zoom(_ZOOM_IN),
            (key.Key_Equal, _NONE): lambda: self.canvas.zoom(_ZOOM_IN),
            (key.Key_Minus, _NONE): lambda: self.canvas.zoom(1 / _ZOOM_IN),
            (key.Key_Left, _CTRL): lambda: self.canvas.pan(-_PAN),
            (key.Key_Right, _CTRL): lambda: self.canvas.pan(_PAN),
            (key.Key_Left, _SHIFT): lambda: self._step_reading(-1),
            (key.Key_Right, _SHIFT): lambda: self._step_reading(1),
            (key.Key_Home, _NONE): self.canvas.fit,
        }
        if not self._in_window:
            actions[key.Key_Return, _NONE] = actions[key.Key_Enter, _NONE] = self.enlarge_requested.emit
        return actions

    def _make_canvas(self) -> PlotCanvas:
        spec, has_right = self.spec, any(curve.right for curve in self.spec.curves)
        canvas = PlotCanvas(spec.axis.tick, spec.percent, spec.right_log, has_right, spec.band)
        canvas.takes_wheel = self._in_window
        canvas.axes["bottom"].setLabel(spec.axis.title)
        if self._in_window:
            canvas.axes["left"].setLabel(escape(spec.left_title or spec.title))
            if has_right:
                canvas.axes["right"].setLabel(spec.right_title)
        canvas.pointed_at.connect(self.read_off)
        canvas.pointer_left.connect(self.stop_reading)
        canvas.x_chosen.connect(lambda: self.update_note())
        canvas.view.sigResized.connect(lambda: self._place_overlays())
        return canvas

    def _make_header(self) -> QWidget:
        """Make title, legend and menu button; the button takes no focus, as keys and the context menu do the same."""
        header = QWidget()
        header.setToolTip(_help(self._in_window))
        self.title = ElidedLabel(
            "plotTitle", self.spec.title, Qt.TextElideMode.ElideMiddle
        )  # a figure stands at its end
        self.legend = label("plotKey", rich=True)
        self.legend.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.legend.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)  # the plot may be narrow
        button = QToolButton(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setText("⋮")
        button.setFixedSize(24, 24)
        button.setObjectName("plotMenu")
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.setAccessibleName(f"Menu of {self.spec.title}")
        button.setToolTip("Show everything, enlarge, save")
        button.setMenu(self._make_menu())
        row(self.title, help_button(self.spec.word), (self.legend, 1), button, of=header, spacing=6)
        return header

    def _make_menu(self) -> QMenu:
        self.menu = QMenu(self)
        self.menu.addAction("Show &everything\tHome", self.canvas.fit)
        if not self._in_window:
            self.menu.addAction("Open in its own &window\tEnter", self.enlarge_requested.emit)
        self.menu.addSeparator()
        for kind, text in KINDS.items():
            self.menu.addAction(f"{text} ({kind.upper()})…", partial(self.save, kind))
        return self.menu

    def hide_true_reward(self, on: bool) -> None:
        self._hidden = on
        self.stop_reading()
        self._refresh_look()

    def draw_changes(self) -> bool:
        """Draw the changed curves if the plot is visible; return True if there were any."""
        return self.isVisible() and not self.visibleRegion().isEmpty() and self._draw()

    def _draw(self) -> bool:
        changed = [self._draw_curve(curve) for curve in self.spec.curves]
        if any(changed):
            self._update_texts()
        return any(changed)

    def _draw_curve(self, curve: CurveSpec) -> bool:
        points = np.empty(0), np.empty(0)
        if curve in self.spec.visible_curves(self._hidden):
            points = self.source.snapshot(curve.series, _DASHED if curve.dashed else SHOWN)
        if curve in self._drawn and all(
            np.array_equal(new, old, equal_nan=True) for new, old in zip(points, self._drawn[curve], strict=True)
        ):
            return False
        self._drawn[curve] = points
        x, y = points
        if curve.right and self.spec.right_log:
            y = np.log10(np.where(y > 0, y, math.nan))
        self.canvas.draw(self.items[curve], x, y, curve.colour(theme.palette()), curve.dashed)
        return True

    def _update_texts(self) -> None:
        title = plot_text.headline(self.spec, self.source, self._hidden)
        self.title.setText(title)
        self.setAccessibleName(title)
        self.update_note()
        shown = self.spec.visible_curves(self._hidden)
        self.message.setText(self.spec.empty_message)
        left, right = (
            any(np.isfinite(self._drawn[curve][1]).any() for curve in shown if curve.right == side)
            for side in (False, True)
        )
        self.canvas.show_ticks(left, right)
        self.message.setVisible(not left and not right)

    def update_note(self) -> None:
        """Show below the title that only a part is shown, or the agreement of predicted and true reward."""
        text = ""
        if self.canvas.chosen_x is not None:
            text = _PART
        elif self.spec.axis is SECONDS and not self._hidden:
            text = plot_text.agreement_text(self.source)
        self.note.setText(text)
        self.note.setVisible(bool(text))

    def _refresh_look(self) -> None:
        """Redraw with the palette on screen and the visible curves."""
        self.canvas.apply_palette()
        self.canvas.show_right(any(curve.right for curve in self.spec.visible_curves(self._hidden)))
        self.legend.setText(plot_text.legend(self.spec, self._hidden, theme.palette()))
        self._drawn.clear()
        self._draw()

    def read_off(self, x: float) -> None:
        """Show the crosshair and the values of all curves at the recorded point nearest to x."""
        point = plot_text.values_at(self.spec, self.source, self._hidden, x)
        if point is None:
            return
        nearest, values = point
        x_text = self.spec.axis.write(nearest)
        self.canvas.show_crosshair(nearest, next((value for curve, value in values if not curve.right), math.nan))
        self.readout.setText(plot_text.readout(x_text, values, theme.palette()))
        self.setAccessibleDescription(plot_text.spoken(x_text, values))
        self._place_overlays()
        self.readout.show()
        self.readout.raise_()

    def stop_reading(self) -> None:
        self.canvas.hide_crosshair()
        self.readout.clear()
        self.setAccessibleDescription("")
        self.readout.hide()

    def _place_overlays(self) -> None:
        """Place the message over the canvas, and the readout in the corner away from the crosshair.

        The readout of many curves is higher than a small plot, so it may cover neighbouring plots.
        """
        self.message.setGeometry(self.canvas.rect())
        host, inside, pointed = self.parentWidget() or self, self.canvas.inside(), self.canvas.crosshair_x
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
        """Move the crosshair to the next or previous recorded point; it starts at the newest that is visible."""
        every_x = plot_text.all_x(self.spec, self.source, self._hidden)
        if not len(every_x):
            return
        pointed = self.canvas.crosshair_x
        if pointed is None:
            index = int(np.searchsorted(every_x, self.canvas.x_range[1], side="right")) - 1
        else:
            index = int(np.abs(every_x - pointed).argmin()) + step
        self.read_off(float(every_x[min(max(index, 0), len(every_x) - 1)]))

    def figure(self) -> PlotFigure:
        """The chosen part of the plot, or all of it, as a figure for a paper. The plot need not have been painted."""
        spec, (task, moment) = self.spec, self.heading()
        lines = []
        for curve in spec.visible_curves(self._hidden):
            x, y = self.source.snapshot(curve.series, SHOWN)
            if curve.right and spec.right_log:
                y = np.log10(np.where(y > 0, y, math.nan))
            lines.append(Line(curve.name, x, y, curve.colour(LIGHT), curve.dashed, curve.right))
        return PlotFigure(
            f"{task} – {spec.title}",
            moment,
            spec.axis.title,
            spec.left_title or spec.title,
            spec.right_title,
            tuple(lines),
            self.canvas.chosen_x or extent(lines),
            spec.axis.tick,
            spec.band,
            spec.right_log,
        )

    def files(self) -> dict[str, Callable[[], bytes]]:
        """Return, for each kind of file, a function that returns its bytes, callable in any thread."""
        figure = self.figure()
        drawing = figure.as_svg()
        table = plot_text.csv_maker(self.spec, self.source, self._hidden)
        return {"png": figure.as_png, "svg": lambda: drawing, "csv": table}

    def save(self, kind: str) -> None:
        """Request a file of this kind, one of KINDS; `save_requested` follows."""
        self.save_requested.emit(self, f"{self.spec.key}.{kind}", self.files()[kind])

    def event(self, event: QEvent) -> bool:
        """While focused, its keys take precedence over the window's."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._action(event):
            event.accept()
            return True
        return super().event(event)

    def _action(self, event: QKeyEvent) -> Action | None:
        """Action for this key press; the keypad counts as the main keys, and + may need Shift."""
        modifiers = event.modifiers() & ~_KEYPAD
        if event.key() == Qt.Key.Key_Plus:
            modifiers &= ~_SHIFT
        return self._keys.get((event.key(), modifiers))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        action = self._action(event)
        if action:
            action()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu.popup(event.globalPos())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.header.geometry().contains(event.position().toPoint()):
            self.enlarge_requested.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.stop_reading()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._built:
            self._refresh_look()

    def sizeHint(self) -> QSize:
        return QSize(900, 560) if self._in_window else QSize(360, 150)
