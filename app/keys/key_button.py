"""A button that shows a key, and takes another one when pressed."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QPushButton, QWidget

from app.keys.commands import symbol

_ALONE = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr, Qt.Key.Key_unknown)
"""Keys that only modify another."""
_CAUGHT = (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress)


class KeyButton(QPushButton):
    """Click it or press Space on it, then press the key. Esc keeps the old one, Delete leaves none.

    Signals:
        key_chosen(str): this key was pressed; '' for none.
    """

    key_chosen = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setCheckable(True)
        self.setAutoDefault(False)
        self.setAccessibleName(name)
        self.setMinimumWidth(130)
        self.key = ""
        self.toggled.connect(lambda on: self._refresh())

    def set_key(self, key: str) -> None:
        self.key = key
        self._refresh()

    def event(self, event: QEvent) -> bool:
        if self.isChecked() and event.type() in _CAUGHT and isinstance(event, QKeyEvent):
            event.accept()  # before any shortcut, and before Tab moves on
            if event.type() == QEvent.Type.KeyPress:
                self._take(event)
            return True
        return super().event(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.setChecked(False)
        super().focusOutEvent(event)

    def _take(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in _ALONE:
            return
        self.setChecked(False)
        if key == Qt.Key.Key_Escape:
            return
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        pressed = QKeySequence(modifiers | key).toString(QKeySequence.SequenceFormat.PortableText)
        self.key_chosen.emit("" if key == Qt.Key.Key_Delete else _without_shift(pressed))

    def _refresh(self) -> None:
        self.setText("press a key…" if self.isChecked() else symbol(self.key) or "–")


def _without_shift(key: str) -> str:
    """A sign that is typed with Shift is named without it, as Qt matches it on any layout: ? and not Shift+?."""
    sign = key.rpartition("Shift+")[2]
    typed_so = len(sign) == 1 and not sign.isalnum()
    return key.replace("Shift+", "") if typed_so else key
