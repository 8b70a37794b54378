"""Controls above the list of answers: all answers with filters, or disagreements with the predictor."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from app.history.preference_history import Judgement
from app.history.preference_text import CHOICES, PreferenceFilter, at
from app.style.labels import button, label
from core.types import Teacher


class FilterBar(QWidget):
    """Two tabs, each with its own row of controls.

    Signals:
        changed(): another tab, or another filter.
        judgement_requested(): the person asks for the predictor's view again.
    """

    changed = Signal()
    judgement_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tabs = QTabBar(drawBase=False, expanding=False)
        self.tabs.addTab("&All answers")
        self.tabs.addTab("&Disagreements")
        self.choice, self.labeller = QComboBox(), QComboBox()
        self.choice.setAccessibleName("Filter by choice")
        self.choice.addItem("Every choice", None)
        for choice, words in CHOICES.items():
            self.choice.addItem(words, choice)
        self.labeller.setAccessibleName("Filter by labeller")
        for words, name in (("Everyone's", None), ("Human's", Teacher.HUMAN), ("Oracle's", Teacher.ORACLE)):
            self.labeller.addItem(words, name)
        self.changed_only, self.withdrawn_too = QPushButton("&Changed only"), QPushButton("Include &undone")
        for switch in (self.changed_only, self.withdrawn_too):
            switch.setCheckable(True)
        self.judgement, self.again = label("caption", wrap=True), button("Refresh")
        self.rows = QStackedWidget()
        self.rows.addWidget(_row(self.choice, self.labeller, self.changed_only, self.withdrawn_too))
        self.rows.addWidget(_row(self.judgement, self.again, wide=self.judgement))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.tabs)
        column.addWidget(self.rows)
        self.tabs.currentChanged.connect(self.rows.setCurrentIndex)
        for change in (
            *(self.tabs.currentChanged, self.choice.currentIndexChanged, self.labeller.currentIndexChanged),
            *(self.changed_only.toggled, self.withdrawn_too.toggled),
        ):
            change.connect(lambda _: self.changed.emit())
        self.again.clicked.connect(lambda _: self.judgement_requested.emit())

    @property
    def on_disagreements(self) -> bool:
        return self.tabs.currentIndex() == 1

    @property
    def preference_filter(self) -> PreferenceFilter:
        return PreferenceFilter(
            self.choice.currentData(),
            self.labeller.currentData(),
            self.changed_only.isChecked(),
            self.withdrawn_too.isChecked(),
        )

    def show_judgement(self, judgement: Judgement | None, disagreements: int) -> None:
        if judgement is None or not judgement.generation:
            self.judgement.setText("")
            return
        share = f"The predictor disagrees with {disagreements:,} of {len(judgement.left):,} answers"
        self.judgement.setText(f"{share} (generation {judgement.generation}, computed at {at(judgement.at)}).")


def _row(*widgets: QWidget, wide: QWidget | None = None) -> QWidget:
    """Return a row of widgets, of which `wide` takes the room that is left."""
    made = QWidget()
    row = QHBoxLayout(made)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(10)
    for widget in widgets:
        row.addWidget(widget, 1 if widget is wide else 0)
    if wide is None:
        row.addStretch(1)
    return made
