"""Fields for expressions: plots with their titles, oracle and measure, each with a line below for an error."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.behaviours.draft import BehaviourDraft, PlotDraft
from app.style.labels import label
from app.style.layouts import column, row, tab_before
from core.behaviours.behaviour import MAX_NAME, MAX_PLOTS, MAX_TITLE
from core.behaviours.expressions import MAX_TEXT

_FUNCTIONS = (
    "A figure summarizes an episode with mean, highest, lowest, last, share, longest, count or turns, for example"
    " share(height < 0.8) or turns(-pitch). The oracle is computed for each step, for example up - abs(height - 0.7)."
)


class ExpressionField(QWidget):
    """Text field for an expression, optionally with one for its title, and a line below for an error.

    Signals:
        edited(): the person has changed a text.
    """

    edited = Signal()

    def __init__(self, name: str, example: str, title: str = "") -> None:
        """title: placeholder of the title field; '' for no such field"""
        super().__init__()
        self.title = QLineEdit(placeholderText=title, maxLength=MAX_TITLE)
        self.title.setAccessibleName(f"Title of {name}")
        self.title.setFixedWidth(200)
        self.expression = QLineEdit(placeholderText=example, maxLength=MAX_TEXT)
        self.expression.setAccessibleName(name)
        self.problem = label("fieldProblem", wrap=True)
        self.problem.hide()
        self.line = row(self.title, (self.expression, 1), spacing=8)
        self.title.setVisible(bool(title))
        column(self.line, self.problem, of=self, spacing=2)
        for editor in (self.title, self.expression):
            editor.setAcceptDrops(False)  # files that are dropped here are the window's
            editor.textEdited.connect(lambda _: self.edited.emit())

    def show_texts(self, expression: str, title: str = "") -> None:
        for editor, text in ((self.expression, expression), (self.title, title)):
            if editor.text() != text:
                editor.setText(text)
                editor.setCursorPosition(0)  # a long text shows its beginning

    def show_problem(self, sentence: str) -> None:
        self.problem.setText(sentence)
        self.problem.setVisible(bool(sentence))


class ExpressionFields(QWidget):
    """All expressions of a draft.

    Signals:
        edited(): an expression of the draft was changed.
    """

    edited = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._draft = BehaviourDraft()
        self.plots: list[ExpressionField] = []
        self._rows = QVBoxLayout()
        self._rows.setContentsMargins(0, 0, 0, 0)
        self.add = QPushButton("Add a plot")
        self.add.setObjectName("small")
        self.add.clicked.connect(self._on_added)
        self.oracle = ExpressionField("Oracle", "for example up - 2 * abs(height - 0.7)")
        self.measure = ExpressionField("Measure", "for example share(height < 0.8)", "for example kneeling")
        self.measure.title.setMaxLength(MAX_NAME)
        for field in (self.oracle, self.measure):
            field.edited.connect(self._on_edited)
        column(
            label("settingHelp", _FUNCTIONS, wrap=True),
            label("settingName", "Plots: title and figure"),
            self._rows,
            row(self.add, None),
            label("settingName", "Oracle"),
            label(
                "settingHelp", "The true reward of one step, which lets the computer answer in your place.", wrap=True
            ),
            self.oracle,
            label("settingName", "Measure: name and figure"),
            label("settingHelp", "The figure that is reported first; by default the first plot.", wrap=True),
            self.measure,
            of=self,
            spacing=8,
        )

    def show_draft(self, draft: BehaviourDraft) -> None:
        self._draft = draft
        while len(self.plots) > len(draft.plots):
            self._remove_row()
        while len(self.plots) < len(draft.plots):
            self._add_row()
        for number, (field, plot) in enumerate(zip(self.plots, draft.plots, strict=True)):
            field.show_texts(plot.expression, plot.title)
            field.show_problem(draft.problems.get(f"plot {number}", ""))
        self.oracle.show_texts(draft.oracle)
        self.oracle.show_problem(draft.problems.get("oracle") or draft.warning)
        self.measure.show_texts(draft.measure, draft.measure_name)
        self.measure.show_problem(draft.problems.get("measure", ""))
        self.add.setEnabled(len(draft.plots) < MAX_PLOTS and draft.task is not None)
        for fixed in (self.oracle, self.measure):
            fixed.setEnabled(draft.task is not None)

    def _add_row(self) -> None:
        number = len(self.plots) + 1
        field = ExpressionField(f"Plot {number}", "for example mean(height)", "title, with the unit")
        remove = QPushButton("Remove")
        remove.setObjectName("quiet")
        remove.setAccessibleName(f"Remove plot {number}")
        remove.clicked.connect(lambda: self._on_removed(field))
        field.line.addWidget(remove)
        field.edited.connect(self._on_edited)
        self.plots.append(field)
        self._rows.addWidget(field)
        tab_before(self.add, field.title, field.expression, remove)

    def _remove_row(self) -> None:
        field = self.plots.pop()
        self._rows.removeWidget(field)
        field.hide()
        field.deleteLater()

    def _on_added(self) -> None:
        self._draft.plots.append(PlotDraft("", ""))
        self.edited.emit()
        self.plots[-1].title.setFocus()

    def _on_removed(self, field: ExpressionField) -> None:
        del self._draft.plots[self.plots.index(field)]
        self.edited.emit()

    def _on_edited(self) -> None:
        self._draft.plots = [PlotDraft(field.title.text(), field.expression.text()) for field in self.plots]
        self._draft.oracle = self.oracle.expression.text()
        self._draft.measure, self._draft.measure_name = self.measure.expression.text(), self.measure.title.text()
        self.edited.emit()
