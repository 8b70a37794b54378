"""A button that shows a key and captures a new one."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QPushButton

from app.keys.key_map import key_symbol
from app.style.labels import literal

_MODIFIERS = (
    Qt.Key.Key_Control,
    Qt.Key.Key_Shift,
    Qt.Key.Key_Alt,
    Qt.Key.Key_Meta,
    Qt.Key.Key_AltGr,
    Qt.Key.Key_unknown,
    Qt.Key.Key_CapsLock,
    Qt.Key.Key_NumLock,
    Qt.Key.Key_ScrollLock,
)
_UNUSABLE = "press another key…"
"""Text after a key that can't be used."""
_CAUGHT = (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress)


class KeyButton(QPushButton):
    """Button that captures the next key after a click or Space. Esc keeps the old key, Delete removes it.

    Signals:
        key_chosen(str): name of the key that was pressed; '' to remove it.
    """

    key_chosen = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__()
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
                self._capture_key(event)
            return True
        return super().event(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.setChecked(False)
        super().focusOutEvent(event)

    def _capture_key(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in _MODIFIERS:
            return
        pressed = pressed_key(event)
        if not pressed:
            self.setText(_UNUSABLE)
            self.setAccessibleDescription(_UNUSABLE)
            return
        self.setChecked(False)
        if pressed != "Esc":
            self.key_chosen.emit("" if pressed == "Del" else pressed)

    def _refresh(self) -> None:
        text = "press a key…" if self.isChecked() else key_symbol(self.key) or "–"
        self.setText(literal(text))
        self.setAccessibleDescription(text)


def pressed_key(event: QKeyEvent) -> str:
    """Return the name of the key that was pressed, as in a KeyMap; a keypad key has the name of its main key.

    '' for a key without a name of its own: a dead key, such as ^ on some keyboards.
    """
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    combination = QKeySequence(modifiers | Qt.Key(event.key()))
    name = combination.toString(QKeySequence.SequenceFormat.PortableText)
    return _without_shift(name) if QKeySequence(name) == combination else ""


def _without_shift(key: str) -> str:
    """Drop Shift from a key that is not a letter, because Qt matches the character on any layout: ? instead of Shift+?."""
    sign = key.rpartition("Shift+")[2]
    return key.replace("Shift+", "") if len(sign) == 1 and not sign.isalpha() else key
