"""Line above a plot: title with the newest value, legend, and a menu button."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from app.plots.plot_shortcuts import KEY_TEXTS
from app.style.labels import label
from app.style.layouts import row

_HELP = (
    "Drag to pan; scroll to zoom (after a click, or with Ctrl), also on an axis; double-click to show everything.\n"
    "Double-click the title to open the plot in its own window. Keys: "
    + "; ".join(f"{keys}: {effect[0].lower()}{effect[1:]}" for keys, effect in KEY_TEXTS)
    + "."
)


class PlotHeader(QWidget):
    """The menu button takes no focus: keys and the plot's context menu do the same.

    Signals:
        double_clicked(): the header was double-clicked.
    """

    double_clicked = Signal()

    def __init__(self, title: str, menu: QMenu, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.legend = label("plotTitle", title), label("plotKey", rich=True)
        self.legend.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.legend.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)  # the plot may be narrow
        self.setToolTip(_HELP)
        self.menu_button = QToolButton(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_button.setText("⋮")
        self.menu_button.setFixedSize(24, 24)
        self.menu_button.setObjectName("plotMenu")
        self.menu_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.menu_button.setAccessibleName(f"Menu of {title}")
        self.menu_button.setToolTip("Show everything, enlarge, save")
        self.menu_button.setMenu(menu)
        policy = self.menu_button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # keeps its place while a picture is taken without it
        self.menu_button.setSizePolicy(policy)
        row(self.title, (self.legend, 1), self.menu_button, of=self, spacing=6)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.double_clicked.emit()
