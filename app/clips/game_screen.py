"""Screen of a game: the newest frame, as large as fits."""

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.style.images import of_pixels


class GameScreen(QWidget):
    """Black until there is a frame. Scaled without smoothing."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("The game")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(160, 210)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.pixels: npt.NDArray[np.uint8] | None = None

    def sizeHint(self) -> QSize:
        return QSize(480, 630)

    def show_picture(self, pixels: npt.NDArray[np.uint8]) -> None:
        """pixels: (height, width, 3) uint8 RGB; kept alive until the next frame, as QImage does not copy them"""
        self.pixels = pixels
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(0, 0, 0))
        if self.pixels is not None:
            height, width = self.pixels.shape[:2]
            size = QSize(width, height).scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
            place = QRect((self.width() - size.width()) // 2, (self.height() - size.height()) // 2, 0, 0)
            place.setSize(size)
            painter.drawImage(place, of_pixels(self.pixels))
        painter.end()
