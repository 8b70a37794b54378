"""Keyboard focus: keys go to the window's commands, or to the control reached with Tab."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QAbstractSlider, QApplication, QWidget

from app.style.labels import ENTER

_ARROWS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)
_PRESS = (Qt.Key.Key_Space,)
_CONTROL_KEYS: tuple[tuple[type[QWidget], tuple[Qt.Key, ...]], ...] = (
    (QAbstractButton, _PRESS),
    (QAbstractSlider, _ARROWS),
    (QAbstractItemView, _ARROWS + _PRESS),
)
"""Keys that each kind of control needs. Arrows on a button stay answers, because the key hints are buttons."""


class Focus(QObject):
    """Lets the focused control keep its own keys; Enter presses a button too, and Esc returns the focus to `home`."""

    def __init__(self, window: QWidget, home: QWidget) -> None:
        """home: widget with the focus while no control has it, so that every key goes to the window."""
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
            self._home.setFocus()  # not its neighbour, which the next key would press
            return
        self._control = new if new is not None and new.window() is self._window else None
        if self._control is not None:
            self._control.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or not isinstance(watched, QWidget):
            return False
        if event.type() == QEvent.Type.ShortcutOverride and _is_plain(event) and _needs(watched, event.key()):
            event.accept()  # Qt then delivers it as a plain key press
        return event.type() == QEvent.Type.KeyPress and self._handle_key(watched, event)

    def _handle_key(self, control: QWidget, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Escape:
            self._home.setFocus()
            return True
        if event.key() in ENTER and isinstance(control, QAbstractButton):
            if not event.isAutoRepeat():  # held, it presses once, as Space does
                control.click()
            return True
        return False


def _is_plain(event: QKeyEvent) -> bool:
    return not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier


def _needs(control: QWidget, key: int) -> bool:
    return any(isinstance(control, kind) and key in keys for kind, keys in _CONTROL_KEYS)
