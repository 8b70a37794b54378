"""Table of the current values of a robot's signals, shown in the live view."""

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem

from core.types import Float32

_LEAST, _MOST = 96, 190
"""Minimum and maximum height in pixels; where there is little room, the picture gets more of it."""
_VALUES = "Now (SI units)"


class SignalValues(QTableWidget):
    """A row for each signal: its name in expressions, and its value."""

    def __init__(self) -> None:
        super().__init__(0, 2)
        self.setAccessibleName("Signals")
        self.setMinimumHeight(_LEAST)
        self.setMaximumHeight(_MOST)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the keys to the clips
        self.setShowGrid(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 6)
        self.setHorizontalHeaderLabels(["Signal (its name in expressions)", _VALUES])
        self.horizontalHeader().setSectionsClickable(False)
        self.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.Fixed)  # to its contents: 0.1 s a frame
        self.horizontalHeader().resizeSection(1, self.fontMetrics().horizontalAdvance(_VALUES) + 24)
        self._series: Mapping[str, Float32] = {}

    def set_series(self, series: Mapping[str, Float32]) -> None:
        """series: (k,) values of each signal by name, one for each step"""
        names, known = list(series), list(self._series)
        self._series = series
        if names != known:
            self.setRowCount(len(names))
            for row, name in enumerate(names):
                self.setItem(row, 0, QTableWidgetItem(name))
                value = QTableWidgetItem()
                value.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(row, 1, value)
        self.show_share(0.0)

    def show_share(self, share: float) -> None:
        """Show the values at this share of the episode, from 0 to 1."""
        for row, values in enumerate(self._series.values()):
            item = self.item(row, 1)
            if len(values) and item is not None:
                value = round(float(values[min(len(values) - 1, int(share * len(values)))]), 2)
                item.setText(f"{value + 0.0:.2f}")  # -0.0 + 0.0 is 0.0
