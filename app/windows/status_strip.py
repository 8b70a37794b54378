"""Row of figures below the clips: answers, how sure the predictors are, pace, steps."""

import math

from PySide6.QtWidgets import QWidget

from app.session.controller import Controller
from app.style.glossary import help_button
from app.style.labels import label, tip
from app.style.layouts import column, row
from core.formatting import format_age

_CAPTIONS = ("Answers given", "Until training starts", "Predictors agree on new pairs", "Answers per minute")
_START, _AGREE = 1, 2
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
        self._steps = label("caption")
        parts = [column(*cell, spacing=0) for cell in zip(self._figures, self._captions, strict=True)]
        spaced = [part for cell in parts for part in (None, cell)][1:]
        row(
            *spaced, None, self._steps, self._diverged_cell, help_button("answers given"), of=self, margins=(4, 0, 4, 0)
        )
        caption = label("caption", _DIVERGED)
        column(self._diverged, caption, of=self._diverged_cell, margins=(_GAP, 0, 0, 0), spacing=0)

    def refresh(self) -> None:
        progress = self._controller.progress
        texts = (
            f"{progress.labels:,}",
            f"{progress.labels_to_start}",
            "–" if math.isnan(progress.agreement) else f"{100 * progress.agreement:.0f} %",
            f"{progress.labels_per_minute:.0f}",
        )
        better = progress.seconds_since_better
        self._captions[_AGREE].setText(_CAPTIONS[_AGREE] + ("" if better is None else f", better {format_age(better)}"))
        for figure, name, text in zip(self._figures, self._captions, texts, strict=True):
            figure.setText(text)
            figure.setAccessibleName(f"{name.text()}: {text}")
        for part in (self._figures[_START], self._captions[_START]):
            part.setVisible(progress.labels_to_start > 0)
        self._steps.setText(f"{progress.env_steps:,} steps")
        count = f"{progress.divergences:,}"
        self._diverged.setText(count)
        self._diverged.setAccessibleName(f"{_DIVERGED}: {count}")
        self._diverged_cell.setVisible(progress.divergences > 0)
