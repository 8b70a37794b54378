"""Message about something that succeeded, over the lower part of a page for some seconds; nothing moves for it."""

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QLabel, QWidget

from app.style.labels import read_out

_SHOWN_MS = 10_000
_MARGIN = 16


class Toast(QLabel):
    """Message over the lower part of a page; a click hides it at once."""

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self.setObjectName("toast")
        self.setAccessibleName("Result")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setWordWrap(True)
        self._expiry = QTimer(self, singleShot=True, interval=_SHOWN_MS)
        self._expiry.timeout.connect(self.hide)
        page.installEventFilter(self)
        self.hide()

    def show_message(self, sentence: str) -> None:
        self.setText(sentence)
        self._place()
        self.raise_()
        self.show()
        self._expiry.start()
        read_out(self, sentence)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.hide()

    def _place(self) -> None:
        page = self.parentWidget()
        assert page is not None
        room = page.width() - 2 * _MARGIN
        text = self.fontMetrics().horizontalAdvance(self.text()) + 2 * 24
        width = min(room, text)
        height = self.heightForWidth(width)
        self.setGeometry((page.width() - width) // 2, page.height() - height - _MARGIN, width, height)
