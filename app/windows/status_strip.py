"""Row of figures below the clips: answers, steps, agreement of the predictors, and pace."""

import math

from PySide6.QtWidgets import QLabel, QLayout, QWidget

from app.labelling.progress import Progress
from app.session.controller import Controller
from app.style.glossary import help_button
from app.style.labels import keep_place, label, tip
from app.style.layouts import column, row
from core.formatting import format_age

_CAPTIONS = ("Answers given", "Until training starts", "Predictors agree on new pairs", "Answers per minute")
_START, _AGREE = 1, 2
_STEPS = "Steps"
"""Caption in place of _START once training has started."""
_DIVERGED = "Diverged"
_DIVERGED_TIP = "The simulation diverged this many times. It was reset each time, and no clip shows it."
_LONGEST = ("99,999", "999,999,999", "100%", "999")
_LONGEST_BETTER, _LONGEST_COUNT = "best 100%, 59 minutes ago", "9,999"
"""Longest texts for which the cells reserve room, so that nothing moves as the figures grow."""


class StatusStrip(QWidget):
    """Reads its figures from the controller on `refresh`."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self.setAccessibleName("Figures of the session")
        self._controller = controller
        self._figures = [_reserved(label("figure", "–"), text) for text in _LONGEST]
        self._captions = [_reserved(label("caption", caption), caption) for caption in _CAPTIONS]
        self._better = _reserved(label("caption"), _LONGEST_BETTER)
        self._diverged = _reserved(label("figure"), _LONGEST_COUNT)
        self._diverged_caption = label("caption", _DIVERGED)
        for part in (self._diverged, self._diverged_caption):
            part.setToolTip(tip(_DIVERGED_TIP))
            keep_place(part)
        cells = [column(*cell, spacing=0) for cell in zip(self._figures, self._captions, strict=True)]
        cells[_AGREE] = column(row(self._figures[_AGREE], self._better, None), self._captions[_AGREE], spacing=0)
        diverged = column(self._diverged, self._diverged_caption, spacing=0)
        parts: list[QWidget | QLayout] = [*cells, diverged, help_button("answers given")]
        spaced = [item for part in parts for item in (None, part)][1:]
        row(*spaced, of=self, margins=(4, 0, 4, 0))

    def refresh(self) -> None:
        progress = self._controller.progress
        texts = (
            f"{progress.labels:,}",
            f"{progress.labels_to_start}" if progress.labels_to_start else f"{progress.env_steps:,}",
            "–" if math.isnan(progress.agreement) else f"{100 * progress.agreement:.0f}%",
            "–" if math.isnan(progress.labels_per_minute) else f"{progress.labels_per_minute:.0f}",
        )
        self._captions[_START].setText(_CAPTIONS[_START] if progress.labels_to_start else _STEPS)
        self._better.setText(_best(progress))
        for figure, name, text in zip(self._figures, self._captions, texts, strict=True):
            figure.setText(text)
            figure.setAccessibleName(f"{name.text()}: {text}")
        count = f"{progress.divergences:,}"
        self._diverged.setText(count)
        self._diverged.setAccessibleName(f"{_DIVERGED}: {count}")
        for part in (self._diverged, self._diverged_caption):
            part.setVisible(progress.divergences > 0)


def _best(progress: Progress) -> str:
    """Return when the agreement last rose to its best, with that value if it is lower now; '' if there was no rise."""
    if (age := progress.seconds_since_better) is None:
        return ""
    lower = progress.agreement < progress.best_agreement
    return f"{f'best {100 * progress.best_agreement:.0f}%,' if lower else 'rose'} {format_age(age)}"


def _reserved(widget: QLabel, longest: str) -> QLabel:
    """Give the label room for this text."""
    widget.ensurePolished()  # or the width would be measured in another font
    widget.setMinimumWidth(widget.fontMetrics().horizontalAdvance(longest) + 2)
    return widget
