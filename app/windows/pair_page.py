"""Where a pair is asked about, in whatever window: the clips, or a page that says why there are none."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.clips.clip_pair import ClipPair
from app.labelling.pair_queue import Pair
from app.session.controller import Controller


class PairPage(QStackedWidget):
    """Follows the labelling and the session's state by itself.

    Signals:
        settled(bool): whether there is a pair to answer now; sent after each change.
    """

    settled = Signal(bool)

    def __init__(self, controller: Controller, waits: QWidget, parent: QWidget | None = None) -> None:
        """waits: the page for when there is nothing to answer."""
        super().__init__(parent)
        self._controller, self._waits, self.clips = controller, waits, ClipPair()
        self.addWidget(waits)
        self.addWidget(self.clips)
        labelling = controller.labelling
        labelling.pair_shown.connect(self._on_pair_shown)
        labelling.pair_awaited.connect(self._on_pair_awaited)
        labelling.answer_withdrawn.connect(self.clips.end_flash)
        controller.state_changed.connect(self.settle)
        self.clips.flash_ended.connect(self._on_flash_ended)

    @property
    def asks(self) -> bool:
        return self.currentWidget() is self.clips

    def settle(self) -> None:
        """Clips where there are any to answer, otherwise the reason why not."""
        asks = self._controller.labelling.open and self.clips.shown is not None
        self.setCurrentWidget(self.clips if asks else self._waits)
        self.settled.emit(self.asks)

    def _on_pair_shown(self, pair: Pair) -> None:
        self.clips.show_pair(pair)
        self.settle()

    def _on_pair_awaited(self) -> None:
        if self.clips.flashed is None:
            self._clear()

    def _on_flash_ended(self) -> None:
        """With no pair to follow, the answered one has stayed so that its flash could be seen."""
        if self._controller.labelling.pairs.shown is None:
            self._clear()

    def _clear(self) -> None:
        self.clips.show_pair(None)
        self.settle()
