"""All settings of the config that the form itself does not show, generated from the config's fields."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.new_session.setting_row import SettingRow
from app.session.config_draft import ConfigDraft, sections
from app.style.labels import label
from app.style.layouts import column, row
from app.style.search_field import SearchField


class AdvancedSettings(QWidget):
    """Rows in sections, with a search field.

    Signals:
        edited(str, object): name and new value of a setting.
        reset_requested(str): name of the setting to reset to its default; '' for all.
    """

    edited = Signal(str, object)
    reset_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, SettingRow] = {}
        self._headings: dict[str, QWidget] = {}
        self.search = SearchField("Search settings: discount, clip, A.1 …", "Search settings")
        self.search.textChanged.connect(self.show_matching)
        self.reset_all = QPushButton("Reset all")
        self.reset_all.clicked.connect(lambda: self.reset_requested.emit(""))
        self.no_match = label("settingHelp", "No matching settings.")
        self.no_match.hide()
        parts: list[QWidget] = []
        for section in sections():
            heading = self._headings[section.name] = QWidget()
            name = label("sectionName", section.name.capitalize())
            about = label("settingHelp", section.about, wrap=True)
            column(name, about, of=heading, margins=(0, 14, 0, 2), spacing=0)
            parts.append(heading)
            for setting in section.settings:
                setting_row = self.rows[setting.name] = SettingRow(setting)
                setting_row.edited.connect(self.edited)
                setting_row.reset_requested.connect(self.reset_requested)
                parts.append(setting_row)
        column(row((self.search, 1), self.reset_all), self.no_match, *parts, None, of=self)

    def show_draft(self, draft: ConfigDraft) -> None:
        for setting_row in self.rows.values():
            setting_row.show_draft(draft)
        self.reset_all.setEnabled(any(name in self.rows for name in draft.changes))

    def show_matching(self, words: str) -> None:
        """Show only the settings that contain all of these words, and the headings above them."""
        for section in sections():
            matching = [setting for setting in section.settings if setting.matches(words)]
            self._headings[section.name].setVisible(bool(matching))
            for setting in section.settings:
                self.rows[setting.name].setVisible(setting in matching)
        self.no_match.setVisible(all(heading.isHidden() for heading in self._headings.values()))
