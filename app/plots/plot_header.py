"""The line above a plot: title with the newest value, key, and a menu."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSizePolicy, QToolButton, QWidget

from app.plots.plot_shortcuts import WORDS
from app.style.labels import label

_HELP = (
    "Drag to pan, turn the wheel to zoom (after a click, or with Ctrl), also on an axis; double click to fit again.\n"
    "Double click the title for a window of its own. Keys: "
    + "; ".join(f"{keys}: {words[0].lower()}{words[1:]}" for keys, words in WORDS)
    + "."
)


class _MenuButton(QToolButton):
    """Narrow, as the plot may be."""

    def sizeHint(self) -> QSize:
        return QSize(24, 24)


class PlotHeader(QWidget):
    """The button takes no focus: the plot's own keys, and its context menu, do what it does.

    Signals:
        double_clicked(): on the title or beside it.
    """

    double_clicked = Signal()

    def __init__(self, title: str, menu: QMenu, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.key = label("plotTitle", title), label("plotKey", rich=True)
        self.key.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.key.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)  # the plot may be narrow
        self.setToolTip(_HELP)
        self.menu_button = _MenuButton(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_button.setText("⋮")
        self.menu_button.setObjectName("plotMenu")
        self.menu_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.menu_button.setAccessibleName(f"What can be done with {title}")
        self.menu_button.setToolTip("Fit, enlarge, save")
        self.menu_button.setMenu(menu)
        policy = self.menu_button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # nothing moves while a picture is taken without it
        self.menu_button.setSizePolicy(policy)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self.title)
        row.addWidget(self.key, 1)
        row.addWidget(self.menu_button)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.double_clicked.emit()
