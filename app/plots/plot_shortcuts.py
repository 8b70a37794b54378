"""What the keys do to a plot that has the focus."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from app.plots.plot_canvas import PlotCanvas

_CLOSER, _PAN = 0.8, 0.1
_SHIFT, _CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
_NONE, _KEYPAD = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier
WORDS = (
    ("+ or −", "Zoom in or out"),
    ("Ctrl+← or Ctrl+→", "Pan"),
    ("Home", "Fit everything again"),
    ("Shift+← or Shift+→", "Read the values off, point by point"),
    ("Enter", "Enlarge, in a window of its own"),
)
"""The same for people."""
Action = Callable[[], object]


class PlotShortcuts:
    """step(±1): reads off the next recorded point or the one before; enlarge: None where it can't be larger."""

    def __init__(self, canvas: PlotCanvas, step: Callable[[int], object], enlarge: Action | None) -> None:
        key = Qt.Key
        self._actions: dict[tuple[int, Qt.KeyboardModifier], Action] = {
            (key.Key_Plus, _NONE): lambda: canvas.zoom(_CLOSER),
            (key.Key_Equal, _NONE): lambda: canvas.zoom(_CLOSER),
            (key.Key_Minus, _NONE): lambda: canvas.zoom(1 / _CLOSER),
            (key.Key_Left, _CTRL): lambda: canvas.pan(-_PAN),
            (key.Key_Right, _CTRL): lambda: canvas.pan(_PAN),
            (key.Key_Left, _SHIFT): lambda: step(-1),
            (key.Key_Right, _SHIFT): lambda: step(1),
            (key.Key_Home, _NONE): canvas.fit,
        }
        if enlarge:
            self._actions[key.Key_Return, _NONE] = self._actions[key.Key_Enter, _NONE] = enlarge

    def action(self, event: QKeyEvent) -> Action | None:
        """Keys of the keypad are like the others; + is above another key on many keyboards."""
        modifiers = event.modifiers() & ~_KEYPAD
        if event.key() == Qt.Key.Key_Plus:
            modifiers &= ~_SHIFT
        return self._actions.get((event.key(), modifiers))
