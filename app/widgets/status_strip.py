"""A strip of figures: labels, pace, steps, and what the stages are doing."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.controller import Controller
from app.widgets.labels import label

_CAPTIONS = ("labels", "due by now", "labels a minute", "steps a second", "environment steps")


class StatusStrip(QWidget):
    """Pulls its figures from the controller when told to."""

    def __init__(self, controller: Controller, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._controller = controller
        self._figures = [label("figure", "–") for _ in _CAPTIONS]
        self.stages = label("stages", wrap=True)
        self.stages.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 0, 4, 0)
        row.setSpacing(32)
        for figure, caption in zip(self._figures, _CAPTIONS, strict=True):
            row.addLayout(_cell(figure, caption))
        row.addWidget(self.stages, 1)

    def refresh(self) -> None:
        progress = self._controller.progress
        speed, pace = progress.steps_per_second, progress.labels_per_minute
        texts = (
            f"{progress.labels} / {progress.target}",
            f"{progress.due}",
            f"{pace:.0f}",
            f"{speed:,.0f}" if speed else "–",
            f"{progress.env_steps:,}",
        )
        for figure, text in zip(self._figures, texts, strict=True):
            figure.setText(text)
        waits = self._controller.waits
        self.stages.setText("\n".join(waits[job] for job in ("reward", "policy") if job in waits))


def _cell(figure: QLabel, caption: str) -> QVBoxLayout:
    cell = QVBoxLayout()
    cell.setSpacing(0)
    cell.addWidget(figure)
    cell.addWidget(label("caption", caption))
    return cell
