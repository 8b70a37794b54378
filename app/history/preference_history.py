"""The answers of the session, to be looked through, changed, and held against what the predictor thinks. No widgets."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.history.clip_cache import ClipCache
from app.labelling.labelling import Labelling
from app.workers.store_reader import StoreReader
from core.events import AnswersJudged, ClipsRendered, JudgementRequested
from core.preferences.records import PreferenceSummary
from core.preferences.store import PreferenceStore
from core.session.session import Session
from core.types import Choice, Preference


@dataclass(frozen=True)
class Judgement:
    """What a reward snapshot thinks of the answers; generation 0 where there is none yet.

    left: P[left is preferred] by number of the answer. at: seconds since the epoch.
    """

    generation: int
    left: Mapping[int, float]
    at: float


class PreferenceHistory(QObject):
    """Reads only while somebody looks: between `open` and `rest`.

    Signals:
        rows_read(object): every AnswerRow of the session, in the order given.
        row_read(object): an AnswerRow that is new, or no longer what it was.
        refused(str): the store can't be read; one sentence.
        answer_changed(object): an answer has another choice; the Preference.
        change_refused(str): it could not be changed; one sentence.
        judged(object): a Judgement.
        judgement_requested(object): a JudgementRequested for the reward job.
        clips_requested(object): a ClipsRequested for the clips job.
    """

    rows_read = Signal(object)
    row_read = Signal(object)
    refused = Signal(str)
    answer_changed = Signal(object)
    change_refused = Signal(str)
    judged = Signal(object)
    judgement_requested = Signal(object)
    clips_requested = Signal(object)

    def __init__(
        self, session: Session, labelling: Labelling, tokens: itertools.count[int], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._labelling, self._tokens = labelling, tokens
        self._token, self._judging = 0, False
        self._looked_at = False
        self._reader = StoreReader(session.reader, self)
        self._reader.task_done.connect(self._on_read)
        self._reader.task_refused.connect(self._on_refused)
        self.clip_cache = ClipCache(self._reader, tokens, self)
        self.clip_cache.clips_requested.connect(self.clips_requested)
        added, gone = (labelling.answer_kept, labelling.answer_restored), (labelling.answer_withdrawn,)
        for news in (*added, *gone, labelling.answer_changed):
            news.connect(self._on_news)
        labelling.answer_changed.connect(self.answer_changed)
        labelling.change_refused.connect(self.change_refused)

    def open(self) -> None:
        """Reads all rows, without their segments."""
        self._looked_at = True
        self._reader.ask(PreferenceStore.rows, "rows")

    def rest(self) -> None:
        """Nobody looks any more: nothing is kept for it."""
        self._looked_at = self._judging = False
        self.clip_cache.forget()

    def change(self, key: int, choice: Choice) -> None:
        self._labelling.change(key, choice)

    def judge(self) -> None:
        """Asks what the newest snapshot thinks; `judged` follows when the reward job comes to it."""
        self._token, self._judging = next(self._tokens), True
        self.judgement_requested.emit(JudgementRequested(self._token))

    def judge_again(self) -> None:
        """Whoever was asked, and has not answered, may be gone."""
        if self._judging:
            self.judge()

    def take_judgement(self, event: AnswersJudged) -> None:
        if event.token == self._token:
            self._judging = False
            left = dict(zip(event.ids.tolist(), event.left.tolist(), strict=True))
            self.judged.emit(Judgement(event.generation, left, time.time()))

    def take_clips(self, event: ClipsRendered) -> bool:
        """False where the clips are another's."""
        return self.clip_cache.take_clips(event)

    def redraw(self) -> None:
        self.clip_cache.redraw()

    def close(self) -> None:
        if self._reader.isRunning():
            self._reader.end()
            self._reader.wait()

    def _on_news(self, preference: Preference) -> None:
        if self._looked_at:
            self._reader.ask(lambda store: store.rows(preference.id), "row")

    def _on_read(self, name: str, result: Any) -> None:
        rows: list[PreferenceSummary] = result if name in ("rows", "row") else []
        if name == "rows":
            self.rows_read.emit(rows)
        for row in rows if name == "row" else ():
            self.row_read.emit(row)

    def _on_refused(self, name: str, sentence: str) -> None:
        if name in ("rows", "row"):
            self.refused.emit(sentence)
