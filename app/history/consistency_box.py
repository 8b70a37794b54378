"""How often the person answered alike where a pair came again."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from app.history.preference_text import consistency_comment, consistency_figure
from app.style.labels import label
from core.preferences.records import PreferenceSummary
from core.preferences.review import consistency


class ConsistencyBox(QFrame):
    def __init__(self, error_rate: float, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("consistency")
        self._error_rate = error_rate
        self.figure, self.comment = label("figure", "–"), label("caption", wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 10, 14, 10)
        column.setSpacing(4)
        column.addWidget(label("plotTitle", "Self-consistency, from pairs shown again"))
        column.addWidget(self.figure)
        column.addWidget(self.comment)

    def tell(self, rows: Iterable[PreferenceSummary], switched_on: bool) -> None:
        found = consistency(rows)
        self.figure.setText(consistency_figure(found))
        self.comment.setText(consistency_comment(found, self._error_rate, switched_on))
