"""Live view above the plots, in the dock of the main window."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter

from app import settings
from app.live.live_view import LiveView
from app.plots.plot_panel import PlotPanel

_SHARE = "window/live share"
_AROUND, _MOST = 122, 0.6
"""Pixels of the live view above and below its square picture, and its largest share of the height."""


class ProgressPanel(QSplitter):
    """Gives the live view the height at which its picture fills the width, and the plots the rest.

    Once the person has moved the division, both keep their shares, in later sessions too.
    """

    def __init__(self, live: LiveView, plots: PlotPanel) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self.setContentsMargins(10, 10, 14, 14)
        self.addWidget(live)
        self.addWidget(plots)
        self.setChildrenCollapsible(False)
        self._share = _chosen_share()
        self.splitterMoved.connect(self._on_moved)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = self.contentsRect()
        live = min(room.width() + _AROUND, round(_MOST * room.height()))
        if self._share is not None:
            live = round(self._share * room.height())
        self.setSizes([live, room.height() - live])

    def _on_moved(self) -> None:
        live, plots = self.sizes()
        self._share = live / (live + plots)
        settings.keep(_SHARE, f"{self._share:.4f}")


def _chosen_share() -> float | None:
    """Return the live view's share of the height that the person has chosen; None if they have chosen none."""
    try:
        share = float(settings.text(_SHARE))
    except ValueError:
        return None
    return share if 0 < share < 1 else None
