"""Every setting of the config that the form does not ask for by itself, made from the config's own fields."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.session.config_draft import ConfigDraft, sections
from app.start_page.setting_row import SettingRow
from app.style.labels import label


class AdvancedSettings(QWidget):
    """Rows in sections, with a field to search them by.

    Signals:
        edited(str, object): the person gave the setting of this name another value.
        reset_requested(str): it is to be as it suits the task again; '' for all of them.
    """

    edited = Signal(str, object)
    reset_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: dict[str, SettingRow] = {}
        self._places: list[QWidget] = []
        self.search = QLineEdit(placeholderText="Search the settings: discount, labels, A.1 …", clearButtonEnabled=True)
        self.search.setAccessibleName("Search the settings")
        self.search.textChanged.connect(self.show_matching)
        self.reset_all = QPushButton("Reset all")
        self.reset_all.clicked.connect(lambda: self.reset_requested.emit(""))
        self._nothing = label("settingHelp", "No setting has these words.")
        self._nothing.hide()
        head = QHBoxLayout()
        head.addWidget(self.search, 1)
        head.addWidget(self.reset_all)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(head)
        column.addWidget(self._nothing)
        for section in sections():
            column.addWidget(self._place(section.name, section.about))
            self._fill(column, section.name)
        column.addStretch(1)

    def _place(self, name: str, about: str) -> QWidget:
        """The section's headline."""
        made = QWidget()
        made.setObjectName(name)
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 14, 0, 2)
        column.setSpacing(0)
        column.addWidget(label("sectionName", name.capitalize()))
        column.addWidget(label("settingHelp", about, wrap=True))
        self._places.append(made)
        return made

    def _fill(self, column: QVBoxLayout, name: str) -> None:
        section = next(section for section in sections() if section.name == name)
        for setting in section.settings:
            row = SettingRow(setting)
            row.edited.connect(self.edited)
            row.reset_requested.connect(self.reset_requested)
            self.rows[setting.name] = row
            column.addWidget(row)

    def show_draft(self, draft: ConfigDraft) -> None:
        for row in self.rows.values():
            row.show_draft(draft)
        self.reset_all.setEnabled(any(name in self.rows for name in draft.changes))

    def show_matching(self, words: str) -> None:
        """Only the settings that have all of these words, and the headlines above them."""
        shown = set()
        for section in sections():
            for setting in section.settings:
                matches = setting.matches(words)
                self.rows[setting.name].setVisible(matches)
                shown |= {section.name} if matches else set()
        for place in self._places:
            place.setVisible(place.objectName() in shown)
        self._nothing.setVisible(not shown)
