"""Reading the session's answers for the history page, and comparing them with the reward model. No widgets."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.history.clip_cache import ClipCache
from app.workers.background_thread import StoreThread
from app.workers.job_requests import JobRequests
from app.workers.preference_writer import PreferenceWriter
from core.events import AnswersPredicted, PredictionsRequested
from core.preferences.store import PreferenceStore
from core.session.session import Session
from core.types import Preference


@dataclass(frozen=True)
class Judgement:
    """A reward snapshot's view of the answers.

    generation: of the snapshot; 0 if there is none yet
    left: P[left is preferred] by the answer's id
    at: seconds since the epoch
    """

    generation: int
    left: Mapping[int, float]
    at: float


class PreferenceHistory(QObject):
    """Reads the store only between `open` and `close_page`.

    preference_writer: changes answers, and reports changed ones and refusals

    Signals:
        rows_read(object): all PreferenceSummary of the session, in order.
        row_read(object): a PreferenceSummary that is new or has changed.
        refused(str): the store can't be read; one sentence.
        judged(object): a Judgement.
    """

    rows_read = Signal(object)
    row_read = Signal(object)
    refused = Signal(str)
    judged = Signal(object)

    def __init__(self, session: Session, writer: PreferenceWriter, requests: JobRequests, parent: QObject) -> None:
        super().__init__(parent)
        self.preference_writer, self._job_requests = writer, requests
        self._judgement_token = 0
        self._page_open = False
        self._reader = StoreThread(session.reader, self)
        self.clip_cache = ClipCache(self._reader, requests, self)
        for news in (writer.answer_kept, writer.answer_given_again, writer.answer_withdrawn, writer.answer_changed):
            news.connect(self._on_news)

    def open(self) -> None:
        """Read all rows, without their segments."""
        self._page_open = True
        self._reader.ask(PreferenceStore.rows, self.rows_read.emit, self.refused.emit)

    def close_page(self) -> None:
        """Stop reading and empty the cache: no page is open."""
        self._page_open = False
        self._job_requests.cancel(self._judgement_token)
        self.clip_cache.clear()
        self._reader.reopen()

    def reopen(self) -> None:
        """Read all rows again if a page is open: the person may have restored a copy of the answers."""
        if self._page_open:
            self.close_page()
            self.open()

    def judge(self) -> None:
        """Ask for the newest reward snapshot's view of the answers; `judged` follows, when training runs."""
        self._job_requests.cancel(self._judgement_token)
        self._judgement_token = self._job_requests.send(PredictionsRequested, self._on_judged)

    def close(self) -> None:
        self._reader.close()

    def _on_judged(self, event: AnswersPredicted) -> None:
        left = dict(zip(event.ids.tolist(), event.left.tolist(), strict=True))
        self.judged.emit(Judgement(event.generation, left, time.time()))

    def _on_news(self, preference: Preference | None) -> None:
        if self._page_open and preference is not None:
            self._reader.ask(lambda store: store.row(preference.id), self.row_read.emit, self.refused.emit)
