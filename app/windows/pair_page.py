"""Stack of the two clips to compare, and a page for the time without a pair."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.clips.clip_pair import ClipPair, size_in
from app.labelling.pair_queue import Pair
from app.session.controller import Controller


class PairPage(QStackedWidget):
    """Shows the clips or the waiting page, depending on the labelling and the session's state.

    Signals:
        page_updated(bool): the page may have changed; True if there is a pair to answer.
    """

    page_updated = Signal(bool)

    def __init__(self, controller: Controller, waiting_page: QWidget) -> None:
        super().__init__()
        self._controller, self._waiting_page, self.clips = controller, waiting_page, ClipPair()
        self.addWidget(waiting_page)
        self.addWidget(self.clips)
        labelling = controller.labelling
        labelling.pair_shown.connect(self._on_pair_shown)
        labelling.pair_awaited.connect(self._on_pair_awaited)
        labelling.answer_withdrawn.connect(self.clips.end_flash)
        controller.state_changed.connect(self.update_page)

    @property
    def has_pair(self) -> bool:
        """True if a pair is on screen and can be answered."""
        return self.currentWidget() is self.clips

    def update_page(self) -> None:
        has_pair = self._controller.labelling.open and self.clips.shown is not None
        self.setCurrentWidget(self.clips if has_pair else self._waiting_page)
        self.page_updated.emit(has_pair)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.ask_for_size()

    def ask_for_size(self) -> None:
        """Ask for clips that suit the screen's resolution."""
        self._controller.labelling.clip_size = size_in(self)

    def _on_pair_shown(self, pair: Pair) -> None:
        self.clips.show_pair(pair)
        self.update_page()

    def _on_pair_awaited(self) -> None:
        self.clips.show_pair(None)
        self.update_page()
