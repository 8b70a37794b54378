"""The form for a new session: the task with its picture, what is asked for, and a fold with everything else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.session.config_draft import PLAIN, TEACHERS, ConfigDraft, setting
from app.start_page.advanced_settings import AdvancedSettings
from app.start_page.folder_field import FolderField
from app.start_page.number_box import ChoiceBox
from app.start_page.preview_view import PreviewView
from app.start_page.previews import Preview
from app.start_page.setting_row import Editor, editor_for, show_value
from app.style.labels import label
from core.tasks import get_task
from core.tasks.gymnasium import PREFIX

_FIELD = 320
_TYPING_MS = 700
"""How long nothing is typed before an environment's picture is asked for."""
_WORDS = {
    "human": "You, with the arrow keys",
    "oracle": "The oracle, which judges by the true reward",
    "auto": "Automatic: a GPU where there is one",
    "cpu": "The processor (cpu)",
    "cuda": "An NVIDIA GPU (cuda)",
}
_LABELS = {"teacher": "&Teacher", "labels": "&Labels", "seed": "S&eed", "device": "&Device"}


class NewSessionForm(QWidget):
    """Create can be pressed only while there is nothing to mend; what there is stands beside it in one sentence.

    Signals:
        create_requested(object, object): a session in this folder (Path) with this Config is to be made and opened.
        back_requested(): the person wants none after all.
        preview_wanted(str): the picture of this task is to be seen.
    """

    create_requested = Signal(object, object)
    back_requested = Signal()
    preview_wanted = Signal(str)

    def __init__(self, root: Path, given: Mapping[str, Any], parent: QWidget | None = None) -> None:
        """given: settings from the command line, for the first session that is made."""
        super().__init__(parent)
        self._given = {name: value for name, value in given.items() if value is not None}
        self.draft = ConfigDraft("hopper-backflip", self._given)
        self.refusal = ""
        self._typing = QTimer(self, singleShot=True, interval=_TYPING_MS)
        self._typing.timeout.connect(self._ask_for_picture)
        self.place = FolderField(root)
        self.place.edited.connect(self._show_draft)
        self._make_task()
        self._make_fields()
        self._make_fold()
        self._make_foot()
        self._arrange()

    def _make_task(self) -> None:
        self.picture = PreviewView()
        self.title = label("pageTitle", wrap=True)
        self.instruction = label("settingHelp", wrap=True)
        self.env_id = QLineEdit(placeholderText="CartPole-v1")
        self.env_id.setAccessibleName("Gymnasium environment")
        self.env_id.textEdited.connect(self._on_env_typed)

    def _make_fields(self) -> None:
        self.fields: dict[str, Editor] = {name: editor_for(setting(name)) for name in PLAIN if name != "task"}
        teacher, device = self._worded("teacher", TEACHERS), self._worded("device", setting("device").options)
        self.fields |= {"teacher": teacher, "device": device}
        for name in ("labels", "seed"):
            self.fields[name].edited.connect(lambda value, name=name: self._on_edited(name, value))  # type: ignore[union-attr]

    def _worded(self, name: str, options: tuple[str, ...]) -> ChoiceBox:
        box = editor_for(setting(name))
        assert isinstance(box, ChoiceBox)
        box.clear()
        for option in options:
            box.addItem(_WORDS[option], option)
        box.activated.connect(lambda: self._on_edited(name, box.currentData()))
        return box

    def _make_fold(self) -> None:
        self.fold = QToolButton(arrowType=Qt.ArrowType.RightArrow)
        self.fold.setObjectName("fold")
        self.fold.setText("Advanced settings")
        self.fold.setCheckable(True)
        self.fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.fold.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.fold.toggled.connect(self._on_folded)
        self.advanced: AdvancedSettings | None = None

    def _make_foot(self) -> None:
        self.problem = label("problem", wrap=True)
        self.back = QPushButton("Back")
        self.make = QPushButton("Create and start")
        self.make.setObjectName("primary")
        self.make.setToolTip("Ctrl+Enter")
        self.back.clicked.connect(self.back_requested)
        self.make.clicked.connect(self._on_create_requested)
        for key, slot in (("Esc", self.back_requested.emit), ("Ctrl+Return", self._on_create_requested)):
            shortcut = QShortcut(QKeySequence(key), self)  # at once, where a button's own comes late
            shortcut.activated.connect(slot)

    def _arrange(self) -> None:
        left = QVBoxLayout()
        left.setSpacing(12)
        left.addWidget(self.picture)
        for words in (self.title, self.instruction):
            words.setFixedWidth(self.picture.width())
            left.addWidget(words, 0, Qt.AlignmentFlag.AlignTop)
        left.addStretch(1)
        inside = QWidget()
        inside.setObjectName("page")
        self._column = QVBoxLayout(inside)
        self._column.setContentsMargins(2, 0, 16, 0)
        self._column.setSpacing(14)
        self._column.addWidget(label("pageTitle", "New session"))
        self._column.addLayout(self._rows())
        self._column.addWidget(self.fold, 0, Qt.AlignmentFlag.AlignLeft)
        self._column.addStretch(1)
        self.area = QScrollArea(widgetResizable=True)
        self.area.setWidget(inside)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        top = QHBoxLayout()
        top.setSpacing(36)
        top.addLayout(left)
        top.addWidget(self.area, 1)
        foot = QHBoxLayout()
        foot.addWidget(self.problem, 1)
        foot.addWidget(self.back)
        foot.addWidget(self.make)
        page = QVBoxLayout(self)
        page.setContentsMargins(36, 28, 36, 22)
        page.setSpacing(18)
        page.addLayout(top, 1)
        page.addLayout(foot)

    def _rows(self) -> QFormLayout:
        self.form = QFormLayout(horizontalSpacing=18, verticalSpacing=10)
        self.form.setLabelAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.env_row = self._row("Gymnasium &id", self.env_id, "any environment that is installed here")
        for name, text in _LABELS.items():
            self._row(text, self.fields[name], setting(name).help)
        self._row("&Name", self.place.name, "of the folder that keeps it")
        self.form.addRow("", self.place)
        return self.form

    def _row(self, text: str, editor: QWidget, about: str) -> QHBoxLayout:
        """A field with its meaning beside it."""
        editor.setFixedWidth(_FIELD)
        name = label("settingName", text)
        name.setBuddy(editor)
        name.ensurePolished()  # or the column is as wide as the words are in another font
        name.setMinimumSize(name.sizeHint().width() + 4, editor.sizeHint().height())
        row = QHBoxLayout()
        row.setSpacing(14)
        row.addWidget(editor)
        row.addWidget(label("settingHelp", about, wrap=True), 1)
        self.form.addRow(name, row)
        return row

    def begin(self, task: str) -> None:
        """A fresh form for this task; for one of Gymnasium's, PREFIX alone, whose id is still to be typed."""
        self.draft = ConfigDraft(task, self._given)
        self.place.begin()
        typed = task.startswith(PREFIX)
        self.form.setRowVisible(self.env_row, typed)
        self.env_id.setText(task.removeprefix(PREFIX))
        self.fold.setChecked(False)
        self.area.verticalScrollBar().setValue(0)
        self._show_task()
        self._ask_for_picture()
        (self.env_id if typed else self.fields["teacher"]).setFocus()

    def set_preview(self, task: str, preview: Preview) -> None:
        if task == self.draft.task:
            self.refusal = ""
            self.picture.set_preview(preview)
            self._show_draft()

    def set_refusal(self, task: str, sentence: str) -> None:
        """The task's environment can't be made or drawn."""
        if task == self.draft.task:
            self.refusal = sentence
            self.picture.set_preview(None, "No picture")
            self._show_draft()

    def let_go(self) -> None:
        self.picture.set_preview(None)

    def _show_task(self) -> None:
        task = get_task(self.draft.task)
        _tell(self.title, task.title or "Any environment of Gymnasium")
        _tell(self.instruction, task.instruction)
        self.refusal = ""
        self.picture.set_preview(None, "Drawing …" if task.title else "Type the id of an environment.")
        self.place.propose(task.name)
        self._show_draft()

    def _ask_for_picture(self) -> None:
        if self.draft.task != PREFIX:
            self.preview_wanted.emit(self.draft.task)

    def _show_draft(self) -> None:
        for name, editor in self.fields.items():
            value = self.draft.value(name)
            if isinstance(editor, ChoiceBox):
                editor.setCurrentIndex(max(0, editor.findData(value)))
            else:
                show_value(editor, value)
        if self.advanced is not None:
            self.advanced.show_draft(self.draft)
        sentence = self._sentence()
        self.problem.setText(sentence)
        self.make.setEnabled(not sentence)

    def _sentence(self) -> str:
        """What is to be mended first; '' where nothing is."""
        if self.draft.task == PREFIX:
            return "Type the id of an environment of Gymnasium, such as CartPole-v1."
        return self.place.problem or self.draft.problem or self.refusal

    def _on_edited(self, name: str, value: Any) -> None:
        self.draft.set(name, value)
        self._show_draft()

    def _on_reset_requested(self, name: str) -> None:
        kept = {plain for plain in self.draft.changes if plain in PLAIN}
        self.draft.reset(*([name] if name else set(self.draft.changes) - kept or ["steps"]))
        self._show_draft()

    def _on_env_typed(self, text: str) -> None:
        self.draft.set_task(PREFIX + text.strip())
        self._typing.start()
        self._show_task()

    def _on_folded(self, on: bool) -> None:
        """Made when it is first wanted: sixty rows are more than most people need."""
        if on and self.advanced is None:
            self.advanced = AdvancedSettings()
            self.advanced.edited.connect(self._on_edited)
            self.advanced.reset_requested.connect(self._on_reset_requested)
            self._column.insertWidget(self._column.indexOf(self.fold) + 1, self.advanced)
        self.fold.setArrowType(Qt.ArrowType.DownArrow if on else Qt.ArrowType.RightArrow)
        if self.advanced is not None:
            self.advanced.setVisible(on)
            self.advanced.search.clear()
            self._show_draft()

    def _on_create_requested(self) -> None:
        if self.draft.config is not None and not self._sentence():
            self.create_requested.emit(self.place.folder, self.draft.config)


def _tell(place: QLabel, text: str) -> None:
    """As high as the text needs: a layout beside a scroll area would cut its last line."""
    place.setText(text)
    place.setFixedHeight(place.heightForWidth(place.width()))
