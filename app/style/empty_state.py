"""Page with a headline and a detail line, shown where there is no content yet."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.style.labels import label
from app.style.layouts import column


class EmptyState(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("empty")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.headline = label("headline", wrap=True, centred=True)
        self.detail = label("detail", wrap=True, centred=True)
        texts = column(self.headline, self.detail, spacing=16)
        column(None, texts, None, of=self, margins=(40, 40, 40, 40))

    def set_message(self, headline: str, detail: str) -> None:
        self.setAccessibleName(headline)
        self.setAccessibleDescription(detail)
        self.headline.setText(headline)
        self.detail.setText(detail)
