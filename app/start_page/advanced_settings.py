"""All settings of the config that the form itself does not show, generated from the config's fields."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.session.config_draft import ConfigDraft, sections
from app.start_page.setting_row import SettingRow
from app.style.labels import label


class AdvancedSettings(QWidget):
    """Rows in sections, with a search field.

    Signals:
        edited(str, object): name and new value of a setting.
        reset_requested(str): name of the setting to reset to its default; '' for all.
    """

    edited = Signal(str, object)
    reset_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: dict[str, SettingRow] = {}
        self._headings: list[QWidget] = []
        self.search = QLineEdit(placeholderText="Search settings: discount, labels, A.1 …", clearButtonEnabled=True)
        self.search.setAccessibleName("Search settings")
        self.search.textChanged.connect(self.show_matching)
        self.reset_all = QPushButton("Reset all")
        self.reset_all.clicked.connect(lambda: self.reset_requested.emit(""))
        self.no_match = label("settingHelp", "No setting matches.")
        self.no_match.hide()
        head = QHBoxLayout()
        head.addWidget(self.search, 1)
        head.addWidget(self.reset_all)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(head)
        column.addWidget(self.no_match)
        for section in sections():
            column.addWidget(self._make_heading(section.name, section.about))
            for setting in section.settings:
                row = SettingRow(setting)
                row.edited.connect(self.edited)
                row.reset_requested.connect(self.reset_requested)
                self.rows[setting.name] = row
                column.addWidget(row)
        column.addStretch(1)

    def _make_heading(self, name: str, about: str) -> QWidget:
        heading = QWidget()
        heading.setObjectName(name)
        column = QVBoxLayout(heading)
        column.setContentsMargins(0, 14, 0, 2)
        column.setSpacing(0)
        column.addWidget(label("sectionName", name.capitalize()))
        column.addWidget(label("settingHelp", about, wrap=True))
        self._headings.append(heading)
        return heading

    def show_draft(self, draft: ConfigDraft) -> None:
        for row in self.rows.values():
            row.show_draft(draft)
        self.reset_all.setEnabled(any(name in self.rows for name in draft.changes))

    def show_matching(self, words: str) -> None:
        """Show only the settings that contain all of these words, and the headings above them."""
        shown = set()
        for section in sections():
            for setting in section.settings:
                matches = setting.matches(words)
                self.rows[setting.name].setVisible(matches)
                shown |= {section.name} if matches else set()
        for heading in self._headings:
            heading.setVisible(heading.objectName() in shown)
        self.no_match.setVisible(not shown)
