"""The person's self-consistency: how often repeated pairs got the same answer."""

from collections.abc import Iterable

from PySide6.QtWidgets import QFrame

from app.keys.commands import COMMANDS, Command
from app.style.labels import label
from app.style.layouts import column
from core.preferences.review import comment, consistency
from core.preferences.store import PreferenceSummary


class ConsistencyBox(QFrame):
    def __init__(self, error_rate: float) -> None:
        """error_rate: share of random answers that the reward fit assumes"""
        super().__init__()
        self.setObjectName("consistency")
        self._error_rate = error_rate
        self.figure, self.comment = label("figure", "–"), label("caption", wrap=True)
        title = label("plotTitle", "Consistency on repeated pairs")
        column(title, self.figure, self.comment, of=self, margins=(14, 10, 14, 10), spacing=4)

    def show_consistency(self, rows: Iterable[PreferenceSummary], repeats_on: bool) -> None:
        result = consistency(rows)
        same = f"{result.share:.0%} the same ({result.alike} of {result.compared})" if result.compared else "–"
        text = comment(result, self._error_rate)
        if result.undecided:
            more, verb = " more" if result.compared else "", "is" if result.undecided == 1 else "are"
            text += f" {result.undecided}{more} with “can't tell” {verb} left out."
        if not repeats_on:
            text += f" To repeat some pairs, choose Labelling > {COMMANDS[Command.REPEATS].name}."
        self.figure.setText(same)
        self.comment.setText(text)
