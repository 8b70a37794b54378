"""Searchable list of the robot's signals; the ticked ones are plotted."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from app.style.labels import label
from app.style.layouts import column
from app.style.search_field import SearchField

_HEIGHT = 168
_NAME = Qt.ItemDataRole.UserRole


class SignalList(QWidget):
    """Each row has the signal's title and its name in expressions. Signals that never change are hidden unless they were ticked.

    Signals:
        ticked(str, bool): name of a signal, and whether it is to be plotted.
    """

    ticked = Signal(str, bool)

    def __init__(self) -> None:
        super().__init__()
        self.search = SearchField("Search: height, speed, joint …", "Search signals")
        self.search.textChanged.connect(self._show_matching)
        self.list = QListWidget()
        self.list.setObjectName("signals")
        self.list.setAccessibleName("Signals to plot")
        self.list.setMinimumHeight(_HEIGHT)
        self.list.setUniformItemSizes(True)
        self.list.itemChanged.connect(self._on_changed)
        self.list.itemActivated.connect(lambda item: item.setCheckState(_opposite(item.checkState())))
        self._titles: dict[str, str] = {}
        self._constant: frozenset[str] = frozenset()
        self._ever_ticked: set[str] = set()
        """Their rows stay, so that a click can be taken back."""
        self.nothing = label("settingHelp", "No matching signals.")
        self.nothing.hide()
        column(self.search, self.nothing, (self.list, 1), of=self, spacing=6)

    def set_signals(self, titles: Mapping[str, str], plotted: Callable[[str], bool]) -> None:
        """titles: titles by signal name; plotted: returns True for a ticked signal"""
        self.list.blockSignals(True)
        if dict(titles) != self._titles:
            self._titles, self._constant, self._ever_ticked = dict(titles), frozenset(), set()
            self.list.clear()
            for name, title in titles.items():
                item = QListWidgetItem(f"{title}   ·   {name}", self.list)
                item.setData(_NAME, name)
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        for row in range(self.list.count()):
            item = self.list.item(row)
            name = item.data(_NAME)
            item.setCheckState(Qt.CheckState.Checked if plotted(name) else Qt.CheckState.Unchecked)
            if plotted(name):
                self._ever_ticked.add(name)
        self.list.blockSignals(False)
        self._show_matching(self.search.text())

    def hide_constant(self, names: frozenset[str]) -> None:
        """Hide these signals of the robot, which never change."""
        self._constant = names
        self._show_matching(self.search.text())

    def _show_matching(self, words: str) -> None:
        items = [self.list.item(row) for row in range(self.list.count())]
        for item in items:
            useless = item.data(_NAME) in self._constant - self._ever_ticked
            matches = all(word in item.text().lower() for word in words.lower().split())
            item.setHidden(useless or not matches)
        self.nothing.setVisible(bool(items) and all(item.isHidden() for item in items))

    def _on_changed(self, item: QListWidgetItem) -> None:
        self.ticked.emit(item.data(_NAME), item.checkState() == Qt.CheckState.Checked)


def _opposite(state: Qt.CheckState) -> Qt.CheckState:
    return Qt.CheckState.Unchecked if state == Qt.CheckState.Checked else Qt.CheckState.Checked
