"""Row of figures below the clips: answers, pace, next milestone, steps."""

from PySide6.QtWidgets import QWidget

from app.labelling.progress import Progress
from app.session.controller import Controller
from app.style.labels import label, tip
from app.style.layouts import column, row

_MILESTONE = 3
_CAPTIONS = ("Answers", "Due by now", "Answers per minute", "To the end", "Steps per second", "Environment steps")
_DIVERGED = "Diverged"
_DIVERGED_TIP = "The simulation diverged this many times. It was reset each time, and no clip shows it."
_GAP = 24
"""Pixels before the figure of diverged simulations."""


class StatusStrip(QWidget):
    """Reads its figures from the controller on `refresh`."""

    def __init__(self, controller: Controller, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Figures of the session")
        self._controller = controller
        self._figures = [label("figure", "–") for _ in _CAPTIONS]
        self._captions = [label("caption", caption) for caption in _CAPTIONS]
        self._diverged, self._diverged_cell = label("figure"), QWidget()
        self._diverged_cell.setToolTip(tip(_DIVERGED_TIP))
        self._diverged_cell.hide()
        parts = [column(*cell, spacing=0) for cell in zip(self._figures, self._captions, strict=True)]
        spaced = [part for cell in parts for part in (None, cell)][1:]
        row(*spaced, self._diverged_cell, of=self, margins=(4, 0, 4, 0))
        caption = label("caption", _DIVERGED)
        column(self._diverged, caption, of=self._diverged_cell, margins=(_GAP, 0, 0, 0), spacing=0)

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
        for figure, name, text in zip(self._figures, self._captions, texts, strict=True):
            figure.setText(text)
            figure.setAccessibleName(f"{name.text()}: {text}")
        count = f"{progress.divergences:,}"
        self._diverged.setText(count)
        self._diverged.setAccessibleName(f"{_DIVERGED}: {count}")
        self._diverged_cell.setVisible(progress.divergences > 0)


def _to_milestone(progress: Progress) -> tuple[str, str]:
    """Time to the next milestone, and the caption below it."""
    milestone, minutes = progress.next_milestone, progress.minutes_to_milestone
    if milestone is None:
        return "✓", "All answers given"
    text = "–" if minutes is None else "< 1 min" if minutes < 1 else f"{minutes:.0f} min"
    return text, f"To {milestone.labels} answers ({milestone.percent} %)"
