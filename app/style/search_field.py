"""Field for words to search for."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit


class SearchField(QLineEdit):
    """Field with a button that clears it. Esc clears it too; if it is empty, the page handles Esc."""

    def __init__(self, placeholder: str, name: str) -> None:
        """name: for screen readers"""
        super().__init__(placeholderText=placeholder, clearButtonEnabled=True)
        self.setAccessibleName(name)
        self.setAcceptDrops(False)  # files that are dropped here are the window's

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and self._is_to_clear(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._is_to_clear(event):
            self.clear()
        else:
            super().keyPressEvent(event)

    def _is_to_clear(self, event: QEvent) -> bool:
        return isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape and bool(self.text())
