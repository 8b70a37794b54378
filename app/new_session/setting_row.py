"""One setting of the config: name, editor, description, and a button that resets it."""

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QPushButton, QWidget

from app.new_session.number_box import ChoiceBox, NumberBox, format_value
from app.session.config_draft import ConfigDraft, Setting
from app.style.labels import keep_place, label, set_property

_SET_FOR = {"task": "Set for this task", "window": "Set for interactive use", "": ""}

Editor = NumberBox | ChoiceBox


def editor_for(setting: Setting, names: Mapping[str, str] | None = None) -> Editor:
    """Make the editor for this kind of setting, with name and description for screen readers.

    names: titles by option, of the options that are offered; by default all are offered under their own names
    """
    editor: Editor
    if setting.options:
        editor = ChoiceBox()
        for option, name in (names or {option: option for option in setting.options}).items():
            editor.addItem(name, option)
    else:
        editor = NumberBox(setting)
    editor.setAccessibleName(setting.title)
    editor.setAccessibleDescription(setting.help)
    return editor


class SettingRow(QWidget):
    """Shows one setting of the draft.

    Signals:
        edited(str, object): name and new value of the setting.
        reset_requested(str): name of the setting to reset to its default.
    """

    edited = Signal(str, object)
    reset_requested = Signal(str)

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting = setting
        self.editor = editor_for(setting)
        self.editor.setFixedWidth(190)
        name = label("settingName", setting.title)
        name.setBuddy(self.editor)
        paper = f"  (paper: {setting.paper})" if setting.paper else ""
        self.mark = label("settingMark")
        self.reset = QPushButton("Reset")
        self.reset.setObjectName("quiet")
        self.reset.setAccessibleName(f"Reset {setting.title}")
        self.reset.clicked.connect(lambda: self.reset_requested.emit(setting.name))
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 4, 0, 4)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(0)
        grid.addWidget(name, 0, 0)
        grid.addWidget(label("settingHelp", f"{setting.help}{paper}", wrap=True), 1, 0)
        grid.addWidget(self.mark, 0, 1)
        grid.addWidget(self.editor, 0, 2, 2, 1)
        grid.addWidget(self.reset, 0, 3, 2, 1)
        self.problem = label("fieldProblem", wrap=True)
        self.problem.hide()
        grid.addWidget(self.problem, 2, 0, 1, 4)
        grid.setColumnStretch(0, 1)
        keep_place(self.reset)
        self.editor.edited.connect(lambda value: self.edited.emit(setting.name, value))

    def show_draft(self, draft: ConfigDraft) -> None:
        name = self.setting.name
        self.editor.set_value(draft.value(name))
        changed, suits = name in draft.changes, draft.default_source(name)
        self.mark.setText("Changed" if changed else _SET_FOR[suits])
        self.mark.setToolTip(f"Usual default: {format_value(self.setting.default)}." if suits else "")
        self.problem.setText(draft.wrong.get(name, ""))
        self.problem.setVisible(bool(self.problem.text()))
        kind = "wrong" if name in draft.wrong else "changed" if changed else ""
        if self.mark.property("kind") != kind:
            for widget in (self.mark, self.editor):
                set_property(widget, "kind", kind)
        if not changed and self.reset.hasFocus():
            self.editor.setFocus()
        self.reset.setVisible(changed)
