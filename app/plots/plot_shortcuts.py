"""Keys of a focused plot."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from app.plots.plot_canvas import PlotCanvas

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
"""Keys and their effects, for tooltips and the key list."""
Action = Callable[[], object]


class PlotShortcuts:
    """step(±1): shows the values at the next or previous point; enlarge: None if already enlarged."""

    def __init__(self, canvas: PlotCanvas, step: Callable[[int], object], enlarge: Action | None) -> None:
        key = Qt.Key
        self._actions: dict[tuple[int, Qt.KeyboardModifier], Action] = {
            (key.Key_Plus, _NONE): lambda: canvas.zoom(_ZOOM_IN),
            (key.Key_Equal, _NONE): lambda: canvas.zoom(_ZOOM_IN),
            (key.Key_Minus, _NONE): lambda: canvas.zoom(1 / _ZOOM_IN),
            (key.Key_Left, _CTRL): lambda: canvas.pan(-_PAN),
            (key.Key_Right, _CTRL): lambda: canvas.pan(_PAN),
            (key.Key_Left, _SHIFT): lambda: step(-1),
            (key.Key_Right, _SHIFT): lambda: step(1),
            (key.Key_Home, _NONE): canvas.fit,
        }
        if enlarge:
            self._actions[key.Key_Return, _NONE] = self._actions[key.Key_Enter, _NONE] = enlarge

    def action(self, event: QKeyEvent) -> Action | None:
        """Action for this key press; the keypad counts as the main keys, and + may need Shift."""
        modifiers = event.modifiers() & ~_KEYPAD
        if event.key() == Qt.Key.Key_Plus:
            modifiers &= ~_SHIFT
        return self._actions.get((event.key(), modifiers))
