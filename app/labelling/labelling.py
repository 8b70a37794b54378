"""Labelling: which pair is on screen, who answers it, and how an answer is taken back. No widgets."""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from app.labelling.pair_queue import CLIP_FPS, CLIP_SIZE, Pair, PairQueue
from app.labelling.progress import Progress
from app.workers.preference_writer import PreferenceWriter
from core.config import Config
from core.errors import UserError
from core.events import ClipsRendered, ClipsRequested
from core.preferences import oracle
from core.preferences.review import Repeats
from core.preferences.store import PreferenceStore
from core.session.routing import Port
from core.types import Choice, Preference, Query, Teacher

_ORACLE_MS = 700
"""How long the oracle lets each pair stand, so that an audience can follow."""
_REMEMBERED = 2
"""Answered pairs whose clips stay in memory, so that taking back is instant; older ones are drawn anew."""


class Labelling(QObject):
    """The labeller's side of a session.

    Signals:
        pair_shown(object): this Pair is to be answered.
        pair_awaited(): there is none to answer now.
        answer_kept(object): an answer is on disk; the Preference.
        answer_withdrawn(object): an answer was taken back; the Preference.
        answer_restored(object): an answer stands again to a pair that is not on screen; the Preference.
        milestone_reached(object): the session has as many labels as this Milestone wants, for the first time.
        answer_changed(object): an answer has another choice; the Preference.
        change_refused(str): an answer could not be changed. One sentence.
        trouble_arose(str): something that was asked of the store was refused; nothing was lost. One sentence.
        replay_refused(object, str): these jobs, by name, could not be given every answer; one sentence. None is taken
            until they are started and given them again.
        teacher_changed(str): 'human' or 'oracle' answers from now on.
        clips_requested(object): a ClipsRequested for the clips job.
    """

    pair_shown = Signal(object)
    pair_awaited = Signal()
    answer_kept = Signal(object)
    answer_withdrawn = Signal(object)
    answer_restored = Signal(object)
    milestone_reached = Signal(object)
    answer_changed = Signal(object)
    change_refused = Signal(str)
    trouble_arose = Signal(str)
    replay_refused = Signal(object, str)
    teacher_changed = Signal(str)
    clips_requested = Signal(object)

    def __init__(
        self,
        open_store: Callable[[], PreferenceStore],
        ports: Mapping[str, Port],
        progress: Progress,
        tokens: itertools.count[int],
        config: Config,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.teacher = Teacher.HUMAN
        self._config = config
        self.open, self._lacking = False, False
        self.pairs = PairQueue(tokens)
        self.repeats = Repeats(config.query, Teacher.HUMAN, np.random.default_rng())
        self._progress = progress
        self._busy = False
        self._asked: deque[Callable[[], None]] = deque()
        self._answered: OrderedDict[int, Pair] = OrderedDict()
        self._returned: dict[int, Query] = {}
        self._oracle = QTimer(self, singleShot=True, interval=_ORACLE_MS)
        self._oracle.timeout.connect(self._on_oracle_due)
        self._answers = PreferenceWriter(open_store, ports, self)
        self._answers.answer_kept.connect(self._on_kept)
        self._answers.answer_given_again.connect(self._on_given_again)
        self._answers.answer_withdrawn.connect(self._on_withdrawn)
        self._answers.answer_refused.connect(self._on_refused)
        self._answers.trouble_arose.connect(self.trouble_arose)
        self._answers.replay_refused.connect(self._on_replay_refused)
        self._answers.answers_counted.connect(self._on_counted)
        self._answers.answer_changed.connect(self.answer_changed)
        self._answers.change_refused.connect(self.change_refused)
        self._answers.repeat_found.connect(self._on_repeat_found)
        self._answers.start()

    def replay(self, names: tuple[str, ...]) -> None:
        """Gives every answer so far to these jobs, which have just been started."""
        self._lacking = False
        if names:
            self._answers.replay(names, self.pairs.kept)

    def set_open(self, on: bool) -> None:
        """Whether answers are taken at all: not while a job lacks some of those before."""
        self.open = on and not self._lacking
        self.wake_oracle()

    def answer(self, choice: Choice, labeller: str = Teacher.HUMAN) -> None:
        """Ignored while there is no pair, or while the last answer is on its way to the disk."""
        pair = self.pairs.shown
        if pair is None or self._busy or not self.open:
            return
        self._busy = True
        self._oracle.stop()
        self._answers.add(pair.query, choice, labeller)

    def undo(self) -> None:
        """Takes the last answer back; one that is still on its way to the disk too, once it is there."""
        self._when_free(self._answers.undo)

    def redo(self) -> None:
        """Gives the answer that was taken back last again, with the same choice; a new answer ends that."""
        self._when_free(self._answers.redo)

    def _when_free(self, request: Callable[[], None]) -> None:
        """Requests go to the store one by one, in the order asked."""
        if not self.open:
            return
        if self._busy:
            self._asked.append(request)
            return
        self._busy = True
        self._oracle.stop()
        request()

    def change(self, key: int, choice: Choice) -> None:
        """Gives an earlier answer another choice, the person's; what is on screen stays."""
        self._answers.change(key, choice, Teacher.HUMAN)

    def set_teacher(self, teacher: str) -> None:
        if teacher != self.teacher:
            self.teacher = teacher
            self.teacher_changed.emit(teacher)
        self.wake_oracle()

    def wake_oracle(self) -> None:
        """Lets it answer what is due: all its labels spent before the policy moves would teach far less (3.3)."""
        wanted = self.open and self.teacher == Teacher.ORACLE and self.pairs.shown is not None and not self._busy
        if not wanted or self._progress.labels >= self._progress.due:
            self._oracle.stop()
        elif not self._oracle.isActive():
            self._oracle.start()

    def offer(self, query: Query) -> None:
        self._progress.offered()
        self.pairs.offer(query)
        if self.teacher == Teacher.HUMAN and self.repeats.due():
            self._answers.find_repeat(self.repeats)
        self._ask_for_clips()

    def take_clips(self, event: ClipsRendered) -> bool:
        """False where the clips are not a pair's."""
        if not self.pairs.drawn(event.token, event.clips):
            return False
        self._progress.drawing.end()
        if self.pairs.drawing:
            self._progress.drawing.begin()
        if self.pairs.shown is None:
            self._advance()
        self._ask_for_clips()
        return True

    def forget_offered(self) -> None:
        self.pairs.forget_offered()

    def redraw(self) -> None:
        for token, query in self.pairs.redraw():
            self._request(token, query)

    def close(self) -> None:
        self._oracle.stop()
        self._answers.end()
        self._answers.wait()

    def _advance(self) -> None:
        pair = self.pairs.advance()
        if pair is None:
            self.pair_awaited.emit()
        else:
            self._show(pair)
        self._ask_for_clips()

    def _show(self, pair: Pair) -> None:
        self._oracle.stop()  # each pair stands its full time
        self.pair_shown.emit(pair)
        self.wake_oracle()

    def _ask_for_clips(self) -> None:
        for token, query in self.pairs.to_draw():
            self._request(token, query)

    def _request(self, token: int, query: Query) -> None:
        if not self._progress.drawing.under_way:
            self._progress.drawing.begin()
        self.clips_requested.emit(ClipsRequested(token, (query.left, query.right), CLIP_SIZE, CLIP_FPS))

    def _on_kept(self, preference: Preference) -> None:
        self._returned.clear()  # as in the store: a new answer ends what could be given again
        self._on_given(preference, self._shown_of(preference.query))

    def _on_given_again(self, preference: Preference | None) -> None:
        if preference is None:
            self._refuse("There is no answer to give again.")
            return
        query = self._returned.pop(preference.id, preference.query)
        pair = self._shown_of(query)
        if pair is None:
            self.pairs.drop(query)
        self._on_given(preference, pair)

    def _shown_of(self, query: Query) -> Pair | None:
        """The pair on screen, if it is this query's and not another's, or the same put again."""
        shown = self.pairs.shown
        return shown if shown and shown.query is query else None

    def _on_given(self, preference: Preference, pair: Pair | None) -> None:
        """pair: the one on screen that it answers, which gives way to the next."""
        self._busy = False
        if preference.query.repeats is None:  # else it is no label
            self._progress.answered()
        if pair:
            self._remember(preference, pair)
        (self.answer_kept if pair else self.answer_restored).emit(preference)
        if milestone := self._progress.milestones.reached(self._progress.labels):
            self.milestone_reached.emit(milestone)
        if pair or self.pairs.shown is None:
            self._advance()
        else:
            self.wake_oracle()
        self._go_on()

    def _remember(self, preference: Preference, pair: Pair) -> None:
        self._answered[preference.id] = pair
        while len(self._answered) > _REMEMBERED:
            self._answered.popitem(last=False)

    def _on_withdrawn(self, preference: Preference | None) -> None:
        if preference is None:
            self._refuse("There is no answer to take back.")
            return
        self._busy = False
        if preference.query.repeats is None:
            self._progress.withdrawn()
        self.set_teacher(Teacher.HUMAN)  # or the oracle would give the same answer again
        self.answer_withdrawn.emit(preference)
        self._bring_back(preference)
        self._go_on()

    def _go_on(self) -> None:
        """With what was asked for meanwhile."""
        if self._asked:
            self._when_free(self._asked.popleft())

    def _bring_back(self, preference: Preference) -> None:
        pair = self._answered.pop(preference.id, None)
        self._returned[preference.id] = pair.query if pair else preference.query
        if pair:
            self.pairs.put_first(pair)
            self._show(pair)
        else:
            self._request(*self.pairs.draw_first(preference.query))
            self.pair_awaited.emit()

    def _on_refused(self, sentence: str) -> None:
        self.set_teacher(Teacher.HUMAN)  # the oracle would run into the same wall again and again
        self._refuse(sentence)

    def _refuse(self, sentence: str) -> None:
        self._busy = False
        self._asked.clear()
        self.trouble_arose.emit(sentence)
        self.wake_oracle()

    def _on_repeat_found(self, query: Query) -> None:
        self.pairs.offer(query)
        self._ask_for_clips()

    def _on_replay_refused(self, names: tuple[str, ...], sentence: str) -> None:
        self._lacking = True
        self.set_open(False)
        self.replay_refused.emit(names, sentence)

    def _on_counted(self, count: int) -> None:
        self._progress.counted(count)

    def _on_oracle_due(self) -> None:
        if self.pairs.shown is None:
            return
        if self.pairs.shown.query.repeats is not None:  # it is the person who may be of another mind
            self._advance()
            return
        try:
            self.answer(oracle.answer(self.pairs.shown.query, self._config).choice, Teacher.ORACLE)
        except UserError as error:
            self._on_refused(str(error))
