"""Who gets a key: the window's commands, or the control that the person went to with Tab."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QAbstractSlider, QApplication, QComboBox, QWidget

_ARROWS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)
_PRESS = (Qt.Key.Key_Space,)
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_OWN: tuple[tuple[type[QWidget], tuple[Qt.Key, ...]], ...] = (
    (QAbstractButton, _PRESS),
    (QAbstractSlider, _ARROWS),
    (QComboBox, _ARROWS + _PRESS),
    (QAbstractItemView, _ARROWS + _PRESS),
)
"""Keys without which a control can't be worked. An arrow on a button is an answer: the hints are buttons."""


class Focus(QObject):
    """Lets a control with the focus keep its own keys; Enter presses a button too, and Esc goes back home.

    It looks at the events of the control with the focus alone: looking at all would cost the clips their rhythm.
    """

    def __init__(self, window: QWidget, home: QWidget) -> None:
        """home: has the focus while no control was asked for, so that every key is the window's own."""
        super().__init__(window)
        self._window, self._home = window, home
        home.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        home.setFocus()
        self._control: QWidget | None = None
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._on_focus_changed)

    def _on_focus_changed(self, old: QWidget | None, new: QWidget | None) -> None:
        if self._control is not None and self._control is old:
            old.removeEventFilter(self)
        gone = old is not None and old.window() is self._window and not (old.isEnabled() and old.isVisible())
        if gone and new is not None and new.window() is self._window:
            self._home.setFocus()  # not on to its neighbour, which the next key would press
            return
        self._control = new if new is not None and new.window() is self._window else None
        if self._control is not None:
            self._control.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or not isinstance(watched, QWidget):
            return False
        if event.type() == QEvent.Type.ShortcutOverride and not event.modifiers() and _keeps(watched, event.key()):
            event.accept()  # then it comes as a plain key press
        return event.type() == QEvent.Type.KeyPress and self._handled(watched, event.key())

    def _handled(self, control: QWidget, key: int) -> bool:
        if key == Qt.Key.Key_Escape:
            self._home.setFocus()
            return True
        if key in _ENTER and isinstance(control, QAbstractButton):
            control.click()
            return True
        return False


def _keeps(control: QWidget, key: int) -> bool:
    return any(isinstance(control, kind) and key in keys for kind, keys in _OWN)
