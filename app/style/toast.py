"""Message about a success, shown over a part of a page for some seconds; the layout does not change."""

from PySide6.QtCore import QEvent, QObject, QRect, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QLabel, QWidget

from app.style.labels import read_out

_SHOWN_MS = 10_000


class Toast(QLabel):
    """Message over a part of a page; a click hides it at once."""

    def __init__(self, page: QWidget, over: QWidget) -> None:
        """over: part of the page that is covered, such as a text that never changes"""
        super().__init__(page)
        self._over = over
        self.setObjectName("toast")
        self.setAccessibleName("Result")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setWordWrap(True)
        self._expiry = QTimer(self, singleShot=True, interval=_SHOWN_MS)
        self._expiry.timeout.connect(self.hide)
        over.installEventFilter(self)
        self.hide()

    def show_message(self, sentence: str) -> None:
        self.setText(sentence)
        self._place()
        self.raise_()
        self.show()
        self._expiry.start()
        read_out(self, sentence)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Move, QEvent.Type.Resize):
            self._place()
        return False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.hide()

    def _place(self) -> None:
        covered = self._over.geometry()
        place = QRect(0, 0, covered.width(), max(covered.height(), self.heightForWidth(covered.width())))
        place.moveCenter(covered.center())
        self.setGeometry(place)
