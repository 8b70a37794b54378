"""The form for a new session: the task with its preview, the main settings, and collapsible advanced settings."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.command_line import DEFAULT_TASK
from app.keys.shortcuts import bind
from app.new_session.advanced_settings import AdvancedSettings
from app.new_session.begin_from import BeginFrom
from app.new_session.folder_field import FolderField
from app.new_session.setting_row import Editor, editor_for
from app.previews.preview_view import PreviewView
from app.previews.previews import Preview
from app.session.config_draft import HIDDEN, PLAIN, ConfigDraft, setting
from app.style.labels import ENTER, fold_button, label, press_on_enter, set_property
from app.style.layouts import column, row, tab_order
from app.style.scroll_area import ScrollArea
from core.errors import UserError
from core.tasks import get_task
from core.tasks.gymnasium import GYM_PREFIX
from core.types import Teacher

_FIELD, _WIDEST = 320, 1100
"""Width of a field and maximum width of the form, in pixels: in a wider form values would be far from their names."""
_TYPING_MS = 700
"""Pause in typing before the environment's preview is requested."""
_NAMES: dict[str, dict[str, str]] = {
    "teacher": {Teacher.HUMAN: "You, with the arrow keys", Teacher.ORACLE: "The computer, using the true reward"},
    "device": {
        "auto": "Automatic: a GPU for games",
        "cpu": "The processor (cpu)",
        "cuda": "An NVIDIA GPU (cuda)",
    },
}
"""Options that are offered, with their names, by setting."""
_LABELS = {"teacher": "&Teacher", "seed": "S&eed", "device": "&Device"}


_NAME, _ENVIRONMENT = "name", "environment"
"""Fields whose problems do not come from the config."""


class NewSessionForm(QWidget):
    """Form that can be submitted if all settings are valid; otherwise a sentence below the field describes the problem.

    problems: labels for these sentences, by field
    problem: for a sentence about several settings

    Signals:
        create_requested(object, object, object): folder (Path) and Config of the session to create and open, and what it
            begins with (core.session.taking.Beginning) or None.
        back_requested(): return to the start page.
        preview_requested(str): task whose preview is needed.
    """

    create_requested = Signal(object, object, object)
    back_requested = Signal()
    preview_requested = Signal(str)

    def __init__(self, root: Path, given: Mapping[str, Any]) -> None:
        """root: default parent folder; given: settings from the command line."""
        super().__init__()
        self._given = dict(given)
        self.draft = ConfigDraft(DEFAULT_TASK, self._given)
        self._opened_for: str | None = None
        self.preview_error = ""
        self._typing = QTimer(self, singleShot=True, interval=_TYPING_MS)
        self._typing.timeout.connect(self._request_preview)
        self.folder = FolderField(root)
        self.folder.edited.connect(self._show_draft)
        self.begin_from = BeginFrom()
        self._make_task_widgets()
        self._make_fields()
        self._make_fold()
        self._make_foot()
        self._arrange()

    def _make_task_widgets(self) -> None:
        self.picture = PreviewView()
        self.title = label("pageTitle", wrap=True)
        self.instruction = label("settingHelp", wrap=True)
        self.env_id = QLineEdit(placeholderText="CartPole-v1")
        self.env_id.setAccessibleName("Gymnasium environment")
        self.env_id.textEdited.connect(self._on_env_typed)

    def _make_fields(self) -> None:
        self.fields: dict[str, Editor] = {
            name: editor_for(setting(name), _NAMES.get(name)) for name in PLAIN if name != "task"
        }
        for name, editor in self.fields.items():
            editor.edited.connect(partial(self._on_edited, name))

    def _make_fold(self) -> None:
        self.fold = fold_button("Advanced settings")
        self.fold.toggled.connect(self._on_folded)
        self.advanced: AdvancedSettings | None = None

    def _make_foot(self) -> None:
        self.problem = label("problem", wrap=True)
        self.back = QPushButton("Back")
        self.create_button = QPushButton("Create and start")
        self.create_button.setObjectName("primary")
        self.create_button.setToolTip("Create the session and start teaching (Enter)")
        self.back.clicked.connect(self.back_requested)
        self.create_button.clicked.connect(self._on_create_requested)
        slots = (("Esc",), self.back_requested.emit), (("Ctrl+Return",), self._on_create_requested)
        bind(self, slots, Qt.ShortcutContext.WindowShortcut)  # a button's own shortcut would animate a click first

    def _arrange(self) -> None:
        left = column(self.picture, spacing=12)
        for words in (self.title, self.instruction):
            words.setFixedWidth(self.picture.width())
            left.addWidget(words, 0, Qt.AlignmentFlag.AlignTop)
        left.addStretch(1)
        inside = QWidget()
        inside.setObjectName("page")
        inside.setMaximumWidth(_WIDEST)
        heading = label("pageTitle", "New session")
        self._column = column(heading, self._rows(), of=inside, margins=(2, 0, 16, 0), spacing=14)
        self._column.addWidget(self.fold, 0, Qt.AlignmentFlag.AlignLeft)
        self._column.addStretch(1)
        self.area = ScrollArea(inside)
        self.area.verticalScrollBar().valueChanged.connect(self._show_foot)
        top = row(left, (self.area, 1), spacing=36)
        foot = row((self.problem, 1), self.back, self.create_button)
        column((top, 1), foot, of=self, margins=(36, 28, 36, 22), spacing=18)

    def _place_foot_last(self, advanced: AdvancedSettings) -> None:
        """Let Tab reach the buttons of the foot after the advanced settings, which are made later."""
        fields = [part for part in advanced.findChildren(QWidget) if part.focusPolicy() & Qt.FocusPolicy.TabFocus]
        tab_order(fields[-1], self.back, self.create_button)

    def _rows(self) -> QFormLayout:
        self.form = QFormLayout(horizontalSpacing=18, verticalSpacing=10)
        self.form.setLabelAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)  # next to the field
        self.problems: dict[str, QLabel] = {}
        self._names: dict[str, QLabel] = {}
        self.env_row = self._row(_ENVIRONMENT, "Gymnasium &ID", self.env_id, "any installed environment")
        for name, text in _LABELS.items():
            self._row(name, text, self.fields[name], setting(name).help)
        self._row(_NAME, "&Name", self.folder.name, "also the name of its folder")
        self.form.addRow("", self.folder)
        self.begin_from.setFixedWidth(_FIELD)
        _make_room(self.begin_from.title)
        self.form.addRow(self.begin_from.title, self.begin_from)
        captions = *self._names.values(), self.begin_from.title
        widest = max(caption.minimumWidth() for caption in captions)
        for caption in captions:
            caption.setMinimumWidth(widest)  # so that fields keep their place while some rows are hidden
        return self.form

    def _row(self, field: str, text: str, editor: QWidget, about: str) -> QVBoxLayout:
        """Add a field with its description to its right, and room for a problem below."""
        editor.setFixedWidth(_FIELD)
        name = label("settingName", text)
        name.setBuddy(editor)
        _make_room(name)
        self._names[field] = name
        problem = self.problems[field] = label("fieldProblem", wrap=True)
        problem.hide()
        parts = column(row(editor, (label("settingHelp", about, wrap=True), 1), spacing=14), problem, spacing=3)
        self.form.addRow(name, parts)
        return parts

    def open(self, task: str) -> None:
        """Show the form for this task, as it was left, or else with default settings.

        task: GYM_PREFIX alone stands for a Gymnasium environment yet to be typed
        """
        if task != self._opened_for:
            self._reset(task)
        else:
            self.folder.refresh()
        self._show_draft()
        self._request_preview()
        (self.env_id if task.startswith(GYM_PREFIX) else self.fields["teacher"]).setFocus()

    def forget(self) -> None:
        """Show default settings the next time the form is opened."""
        self._opened_for = None

    def _reset(self, task: str) -> None:
        self._opened_for = task
        self.draft = ConfigDraft(task, self._given)
        self.folder.reset()
        self.begin_from.reset()
        is_gymnasium = task.startswith(GYM_PREFIX)
        self.form.setRowVisible(self.env_row, is_gymnasium)
        self.env_id.setText(task.removeprefix(GYM_PREFIX))
        self.fold.setChecked(False)
        self.area.verticalScrollBar().setValue(0)
        self._show_task()

    def set_preview(self, task: str, preview: Preview) -> None:
        if task == self.draft.task:
            self.preview_error = ""
            self.picture.set_preview(preview)
            self._show_draft()

    def set_preview_error(self, task: str, sentence: str) -> None:
        """Report that the task can't be created or rendered, which is an error of an environment that was typed."""
        if task == self.draft.task:
            self.preview_error = sentence if task.startswith(GYM_PREFIX) else ""
            self.picture.set_preview(None, "No preview")
            self._show_draft()

    def _show_task(self) -> None:
        if self._wrong_task():  # a rate that is being typed
            self._show_draft()
            return
        task = get_task(self.draft.task)
        _set_text(self.title, task.title or "Any Gymnasium environment")
        _set_text(self.instruction, task.instruction)
        self.preview_error = ""
        self.picture.set_preview(None, "Loading preview…" if task.title else "Type the ID of an environment.")
        self.folder.propose(task.name)
        self.begin_from.show_fitting(task)
        self._show_draft()

    def _request_preview(self) -> None:
        if self.draft.task != GYM_PREFIX and not self._wrong_task():
            self.preview_requested.emit(self.draft.task)

    def _wrong_task(self) -> str:
        """Return a sentence about an invalid task name, or '' if this process finds no fault."""
        try:
            get_task(self.draft.task)
        except UserError as error:
            return str(error)
        return ""

    def _show_draft(self) -> None:
        for name, editor in self.fields.items():
            editor.set_value(self.draft.value(name))
        if self.advanced is not None and self.fold.isChecked():
            self.advanced.show_draft(self.draft)
        where, sentence = self._what_to_correct()
        for field, problem in self.problems.items():
            problem.setText(sentence if field == where else "")
            set_property(problem, "kind", "hint" if self.draft.task == GYM_PREFIX else "")
            problem.setVisible(bool(problem.text()))
        self.create_button.setEnabled(not sentence)
        self._show_foot()

    def _show_foot(self) -> None:
        """Show the problem at the foot if its field is out of view or it concerns no single field."""
        where, sentence = self._what_to_correct()
        name, view = self._names.get(where), self.area.viewport()
        seen = name is not None and view.rect().contains(name.mapTo(view, name.rect().center()))
        self.problem.setText("" if seen else sentence)

    def _what_to_correct(self) -> tuple[str, str]:
        """Return the field of the first problem ('' if it concerns no single field) and a sentence ('' without a problem)."""
        if self.draft.task == GYM_PREFIX:
            return _ENVIRONMENT, "Type the ID of a Gymnasium environment, such as CartPole-v1."
        if wrong := self._wrong_task():
            return _ENVIRONMENT, wrong
        if self.folder.problem:
            return _NAME, self.folder.problem
        if self.draft.problem:
            causes = (name for name, sentence in self.draft.wrong.items() if sentence == self.draft.problem)
            return next(causes, ""), self.draft.problem
        return _ENVIRONMENT, self.preview_error

    def _on_edited(self, name: str, value: Any) -> None:
        self.draft.set(name, value)
        self._show_draft()

    def _on_reset_requested(self, name: str) -> None:
        self.draft.reset([name] if name else set(self.draft.changes) - {*PLAIN, *HIDDEN})
        self._show_draft()

    def _on_env_typed(self, text: str) -> None:
        self.draft.set_task(GYM_PREFIX + text.strip().removeprefix(GYM_PREFIX))
        self._typing.start()
        self._show_task()

    def _on_folded(self, on: bool) -> None:
        """Show or hide the advanced settings, some sixty rows, which are created when first shown."""
        if on and self.advanced is None:
            self.advanced = AdvancedSettings()
            self.advanced.edited.connect(self._on_edited)
            self.advanced.reset_requested.connect(self._on_reset_requested)
            self._column.insertWidget(self._column.indexOf(self.fold) + 1, self.advanced)
            self._place_foot_last(self.advanced)
        if self.advanced is not None:
            self.advanced.setVisible(on)
            self.advanced.search.clear()
            self._show_draft()

    def _on_create_requested(self) -> None:
        if self.draft.config is not None and not self._what_to_correct()[1]:
            self.create_requested.emit(self.folder.path, self.draft.config, self.begin_from.chosen)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press the focused button on Enter, or create the session from any other field except the search."""
        if press_on_enter(self, event):
            return
        if event.key() not in ENTER:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat() and (self.advanced is None or self.focusWidget() is not self.advanced.search):
            self._on_create_requested()


def _make_room(name: QLabel) -> None:
    """Let the label be as wide as its text in its own font, which a form would measure in another one."""
    name.ensurePolished()
    name.setMinimumWidth(name.sizeHint().width() + 4)


def _set_text(target: QLabel, text: str) -> None:
    """Set text and height: a layout next to a scroll area would cut the last line."""
    target.setText(text)
    target.setMinimumHeight(0)  # heightForWidth returns no less
    target.setFixedHeight(target.heightForWidth(target.width()))
