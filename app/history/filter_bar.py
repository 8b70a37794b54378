"""Controls above the list of answers: all answers with filters, or disagreements with the predictor."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QPushButton, QStackedWidget, QTabBar, QWidget

from app.history.preference_history import Judgement
from app.history.preference_text import CHOICES, GUESTS, PreferenceFilter, at
from app.style.labels import label, tab_button
from app.style.layouts import column, row
from core.types import AUDIENCE, Teacher

_LABELLERS = (
    ("All teachers", None),
    ("You", Teacher.HUMAN),
    ("Guests", GUESTS),
    ("Audience", AUDIENCE),
    ("Computer", Teacher.ORACLE),
)


class FilterBar(QWidget):
    """Two tabs, each with its own row of controls.

    Signals:
        changed(): the person has chosen another tab or filter.
        judgement_requested(): compare the answers with the predictor again.
    """

    changed = Signal()
    judgement_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.tabs = QTabBar(drawBase=False, expanding=False)
        self.tabs.setAccessibleName("Answers to show")
        self.tabs.addTab("&All answers")
        self.tabs.addTab("&Disagreements")
        self.choice, self.labeller = QComboBox(), QComboBox()
        self.choice.setAccessibleName("Filter by choice")
        self.choice.addItem("All choices", None)
        for choice, words in CHOICES.items():
            self.choice.addItem(words, choice)
        self.labeller.setAccessibleName("Filter by teacher")
        for words, name in _LABELLERS:
            self.labeller.addItem(words, name)
        self.changed_only, self.withdrawn_too = QPushButton("&Changed only"), QPushButton("Include &undone")
        for switch in (self.changed_only, self.withdrawn_too):
            switch.setCheckable(True)
        self.judgement, self.again = label("caption", wrap=True), tab_button("Refresh")
        self.rows = QStackedWidget()
        filters, judgement = QWidget(), QWidget()
        row(self.choice, self.labeller, self.changed_only, self.withdrawn_too, None, of=filters, spacing=10)
        row((self.judgement, 1), self.again, of=judgement, spacing=10)
        self.rows.addWidget(filters)
        self.rows.addWidget(judgement)
        column(self.tabs, self.rows, of=self, spacing=8)
        self.tabs.currentChanged.connect(self.rows.setCurrentIndex)
        self.tabs.currentChanged.connect(self.changed)
        for box in (self.choice, self.labeller):
            box.currentIndexChanged.connect(self.changed)
        for switch in (self.changed_only, self.withdrawn_too):
            switch.toggled.connect(self.changed)
        self.again.clicked.connect(self.judgement_requested)

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
        share = f"The reward model disagrees with {disagreements:,} of {len(judgement.left):,} answers"
        self.judgement.setText(f"{share} (fit {judgement.generation}, computed at {at(judgement.at)}).")
