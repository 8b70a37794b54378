"""A strip of figures: labels, pace, the next milestone, steps."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.labelling.progress import Progress
from app.session.controller import Controller
from app.style.labels import label, tip

_MILESTONE = 3
_BLOW_UPS = "blow-ups"
_BLOW_UPS_TOLD = "The simulation failed so often in this session. It was started anew each time, and no clip shows it."
_GAP = 24
"""Pixels between it and its neighbour."""
_CAPTIONS = ("labels", "due by now", "labels a minute", "to the end", "steps a second", "environment steps")


class StatusStrip(QWidget):
    """Pulls its figures from the controller when told to."""

    def __init__(self, controller: Controller, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Figures of the session")
        self._controller = controller
        self._figures = [label("figure", "–") for _ in _CAPTIONS]
        self._captions = [label("caption", caption) for caption in _CAPTIONS]
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 0, 4, 0)
        for place, (figure, caption) in enumerate(zip(self._figures, self._captions, strict=True)):
            if place:
                row.addStretch(1)
            row.addLayout(_cell(figure, caption))
        self._divergences = _BlowUps()
        row.addWidget(self._divergences)

    def refresh(self) -> None:
        progress = self._controller.progress
        speed = progress.steps_per_second
        minutes, caption = _to_milestone(progress)
        self._captions[_MILESTONE].setText(caption)
        texts = (
            f"{progress.labels} / {progress.target}",
            f"{progress.due}",
            f"{progress.labels_per_minute:.0f}",
            minutes,
            f"{speed:,.0f}" if speed else "–",
            f"{progress.env_steps:,}",
        )
        for figure, told, text in zip(self._figures, self._captions, texts, strict=True):
            figure.setText(text)
            figure.setAccessibleName(f"{told.text()}: {text}")
        self._divergences.tell(progress.divergences)


class _BlowUps(QWidget):
    """How often a simulation failed; not there while none has."""

    def __init__(self) -> None:
        super().__init__()
        self._figure = label("figure")
        cell = _cell(self._figure, label("caption", _BLOW_UPS))
        cell.setContentsMargins(_GAP, 0, 0, 0)
        self.setLayout(cell)
        self.setToolTip(tip(_BLOW_UPS_TOLD))
        self.hide()

    def tell(self, count: int) -> None:
        self._figure.setText(f"{count:,}")
        self._figure.setAccessibleName(f"{_BLOW_UPS}: {count:,}")
        self.setVisible(count > 0)


def _to_milestone(progress: Progress) -> tuple[str, str]:
    """The figure and its caption."""
    milestone, minutes = progress.next_milestone, progress.minutes_to_milestone
    if milestone is None:
        return "✓", "all labels given"
    text = "–" if minutes is None else "< 1 min" if minutes < 1 else f"{minutes:.0f} min"
    return text, f"to {milestone.labels} labels ({milestone.percent} %)"


def _cell(figure: QLabel, caption: QLabel) -> QVBoxLayout:
    cell = QVBoxLayout()
    cell.setSpacing(0)
    cell.addWidget(figure)
    cell.addWidget(caption)
    return cell
