"""Page with a headline and a detail line, shown where there is no content yet."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.style.labels import label


class EmptyState(QWidget):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("empty")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.headline = label("headline", wrap=True, centred=True)
        self.detail = label("detail", wrap=True, centred=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(40, 40, 40, 40)
        column.addStretch(1)
        column.addWidget(self.headline)
        column.addSpacing(8)
        column.addWidget(self.detail)
        column.addStretch(1)

    def set_message(self, headline: str, detail: str) -> None:
        self.setAccessibleName(headline)
        self.setAccessibleDescription(detail)
        self.headline.setText(headline)
        self.detail.setText(detail)
