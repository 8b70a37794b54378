"""State of labelling: the pair on screen, the teacher, answers, undo and redo. No widgets."""

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping

import numpy as np
from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.labelling.pair_queue import CLIP_FPS, CLIP_SIZE, Pair, PairQueue
from app.labelling.progress import Progress
from app.workers.job_requests import JobRequests
from app.workers.preference_writer import PreferenceWriter
from core.config import Config
from core.errors import UserError
from core.preferences import oracle
from core.preferences.review import Repeats
from core.preferences.store import PreferenceStore
from core.service_events import ClipsRendered, ClipsRequested
from core.session.routing import Port
from core.tasks import get_task
from core.types import Choice, Preference, Query, Teacher

_ORACLE_MS = 700
"""Time each pair stays on screen before the oracle answers, so that an audience can follow."""
_RETRY_MS = 5000
"""Time before the oracle tries again after an answer that could not be kept."""
FLASH_MS = 250
"""Time that an answered pair stays on screen with the tick of its answer; keys for answers are ignored meanwhile."""
_MAX_RECENT_PAIRS = 2
"""Answered pairs whose clips stay in memory, for an instant undo; older ones are rendered again."""


class Labelling(QObject):
    """The pair on screen, its teacher, and the writing of its answer to disk.

    teacher: labeller of the next pairs
    teacher_after_demo: the teacher to restore after demo mode; None outside demo mode
    open: True while answers are accepted
    pairs: the queue of pairs
    clip_size: pixels of the next clips that are rendered
    repeats: when to show a pair again
    preference_writer: thread that writes the answers; its signals report changed answers
    oracle_timer: time until the oracle answers the pair on screen
    retry_timer: time until it tries again, after an answer that could not be kept
    flash_timer: time until the next pair follows the answered one

    Signals:
        pair_shown(object): this Pair is to be answered.
        pair_awaited(): there is no pair to answer now.
        answers_counted(): the stored answers are counted.
        answer_kept(object): the answer to the pair on screen is on disk; the Preference.
        answer_withdrawn(object): an answer was undone; the Preference.
        answer_restored(object): an answer to a pair that is not on screen was redone; the Preference.
        finish_ended(): a new answer that counts is on disk; it ends a finish that is under way.
        trouble_arose(str): the store refused a request; nothing was lost. One sentence.
        replay_refused(object, str): these jobs, by name, did not get every answer; one sentence. Answers are not
            accepted until the jobs are restarted and get all.
        teacher_changed(str): another Teacher answers from now on.
    """

    pair_shown = Signal(object)
    pair_awaited = Signal()
    answers_counted = Signal()
    answer_kept = Signal(object)
    answer_withdrawn = Signal(object)
    answer_restored = Signal(object)
    finish_ended = Signal()
    trouble_arose = Signal(str)
    replay_refused = Signal(object, str)
    teacher_changed = Signal(str)

    def __init__(
        self,
        open_store: Callable[[], PreferenceStore],
        ports: Mapping[str, Port],
        progress: Progress,
        requests: JobRequests,
        config: Config,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.teacher = Teacher.HUMAN
        self.teacher_after_demo: Teacher | None = None
        self.open, self._replay_incomplete = False, False
        self.pairs, self.clip_size = PairQueue(), CLIP_SIZE
        self.repeats = Repeats(config.query, Teacher.HUMAN, np.random.default_rng())
        self._config, self._progress, self._job_requests = config, progress, requests
        self._writing = False
        self._queued: deque[Callable[[], None]] = deque()
        self._recent: OrderedDict[int, Pair] = OrderedDict()
        self._renderings: dict[int, Query] = {}
        """Queries whose clips are requested, by the request's token."""
        self._undone: dict[int, Query] = {}
        """Queries of answers that can be redone, by the answer's id."""
        self.oracle_timer = QTimer(self, singleShot=True, interval=_ORACLE_MS)
        self.oracle_timer.timeout.connect(self._answer_as_oracle)
        self.retry_timer = QTimer(self, singleShot=True, interval=_RETRY_MS)
        self.retry_timer.timeout.connect(self.wake_oracle)
        self.flash_timer = QTimer(self, singleShot=True, interval=FLASH_MS, timerType=Qt.TimerType.PreciseTimer)
        self.flash_timer.timeout.connect(self._advance)
        writer = self.preference_writer = PreferenceWriter(open_store, ports, self)
        writer.answer_kept.connect(self._on_added)
        writer.answer_given_again.connect(self._on_redone)
        writer.answer_withdrawn.connect(self._on_undone)
        writer.answer_refused.connect(self._on_refused)
        writer.trouble_arose.connect(self.trouble_arose)
        writer.replay_refused.connect(self._on_replay_refused)
        writer.answers_counted.connect(self._on_counted)
        writer.answer_changed.connect(lambda changed: progress.course.comparison.change(changed.id, changed.choice))
        writer.repeat_found.connect(self._on_repeat_found)
        writer.count()

    @property
    def idle(self) -> bool:
        """True if no answer, undo or redo is on its way to the disk."""
        return not self._writing and not self._queued

    def replay(self, names: tuple[str, ...]) -> None:
        """Send every answer so far to these jobs, which have just been started."""
        self._replay_incomplete = False
        if names:
            self.preference_writer.replay(names, self.pairs.known)

    def set_open(self, on: bool) -> None:
        """Accept answers or not; none are accepted while a job lacks earlier ones."""
        self.open = on and not self._replay_incomplete
        if not self.open:
            self._queued.clear()
        self.wake_oracle()

    def answer(self, choice: Choice, labeller: str = Teacher.HUMAN) -> None:
        """Answer the pair on screen. Ignored without a pair, or while the last answer is being written."""
        pair = self.pairs.shown
        if pair is None or self._writing or not self.open:
            return
        self._writing = True
        self.oracle_timer.stop()
        self.preference_writer.add(pair.query, choice, labeller)

    def undo(self) -> None:
        """Withdraw the last answer, even one that is still being written."""
        self._request_when_idle(self.preference_writer.undo)

    def redo(self) -> None:
        """Restore the answer that was undone last, with the same choice; impossible after a new answer."""
        self._request_when_idle(self.preference_writer.redo)

    def _request_when_idle(self, request: Callable[[], None]) -> None:
        """Carry out a request now, or after the requests under way; ignored while no answers are accepted."""
        if self.open and self._writing:
            self._queued.append(request)
        elif self.open:
            self._writing = True
            self.oracle_timer.stop()
            request()

    @property
    def lasting_teacher(self) -> Teacher:
        """The teacher that is stored for the next time the session is opened."""
        return self.teacher_after_demo or self.teacher

    def set_teacher(self, teacher: str) -> None:
        """Let this Teacher answer from now on. The oracle is refused if the task has no true reward."""
        if teacher == Teacher.ORACLE and not get_task(self._config.task).has_true_reward:
            self.trouble_arose.emit("The computer can't answer: this task has no true reward. Answer yourself.")
        elif teacher != self.teacher:
            self.teacher = Teacher(teacher)
            self.retry_timer.stop()
            self.teacher_changed.emit(teacher)
        self.wake_oracle()

    def wake_oracle(self) -> None:
        """Let the oracle answer if the schedule asks for a label, or training waits for one.

        Labels spent before the policy moves would teach far less (3.3).
        """
        can_answer = self.open and not self._writing and self.pairs.shown is not None
        asked = self._progress.asks_oracle
        if self.teacher != Teacher.ORACLE or not can_answer or not asked or self.retry_timer.isActive():
            self.oracle_timer.stop()
        elif not self.oracle_timer.isActive():
            self.oracle_timer.start()

    def offer(self, query: Query) -> None:
        """Queue a query of the rollout."""
        self._progress.offered()
        self._progress.course.comparison.offered(query)
        self.pairs.offer(query)
        if self.teacher == Teacher.HUMAN and self.teacher_after_demo is None and self.repeats.due():  # guests get none
            self.preference_writer.find_repeat(self.repeats)
        self._render_next()

    def withdraw_query(self, query_id: int) -> None:
        """Drop a query that the rollout no longer offers, unless it is on screen or its answer was undone."""
        self.pairs.withdraw(query_id)
        self._render_next()

    def forget_offered(self) -> None:
        """Drop all but the shown and the undone pairs: a restarted rollout offers others."""
        self.pairs.forget_offered()
        self._cancel_renderings()

    def close(self) -> None:
        """End the writer's thread; block until every answer is on disk."""
        self.oracle_timer.stop()
        self.retry_timer.stop()
        self.flash_timer.stop()
        self.preference_writer.close()

    def _advance(self) -> None:
        pair = self.pairs.advance()
        if pair is None:
            self.pair_awaited.emit()
        else:
            self._show(pair)
        self._render_next()

    def _show(self, pair: Pair) -> None:
        self.oracle_timer.stop()  # each pair stays on screen for its full time
        self.pair_shown.emit(pair)
        self.wake_oracle()

    def _render_next(self) -> None:
        self._cancel_renderings()
        for query in self.pairs.next_renderings():
            self._request_clips(query)

    def _request_clips(self, query: Query, first: bool = False) -> None:
        if self.pairs.rendering == 1:  # the first; an earlier one may have been dropped without an end
            self._progress.drawing.begin()
        segments, size = (query.left, query.right), self.clip_size
        token = self._job_requests.send(
            lambda token: ClipsRequested(token, segments, size, CLIP_FPS, first), self._on_clips_rendered
        )
        self._renderings[token] = query

    def _cancel_renderings(self) -> None:
        """Cancel the requests for clips that the queue no longer needs."""
        for token, query in list(self._renderings.items()):
            if not self.pairs.renders(query):
                del self._renderings[token]
                self._job_requests.cancel(token)

    def _on_clips_rendered(self, event: ClipsRendered) -> None:
        if not self.pairs.add_clips(self._renderings.pop(event.token), event.clips):
            return
        self._progress.drawing.end()
        if self.pairs.rendering:
            self._progress.drawing.begin()
        if self.pairs.shown is None and not self.flash_timer.isActive():
            self._advance()
        self._render_next()

    def _on_added(self, preference: Preference) -> None:
        self._undone.clear()  # as in the store: after a new answer nothing can be redone
        if preference.query.repeats is None and preference.choice.usable:
            self.finish_ended.emit()
        self._count_answer(preference, preference.query)

    def _on_redone(self, preference: Preference | None) -> None:
        if preference is None:
            self._end_refused("There is no answer to redo.")
            return
        self._count_answer(preference, self._undone.pop(preference.id, preference.query))

    def _count_answer(self, preference: Preference, query: Query) -> None:
        """Count an answer to this query; if its pair is on screen, show the next one after a flash."""
        self._writing = False
        shown = self.pairs.shown
        answers_shown = shown is not None and shown.query is query
        self._progress.course.comparison.add(preference.id, query, preference.choice)
        if preference.query.repeats is None:  # the answer to a repeat is no label
            self._progress.answered(preference.choice is Choice.CANT_TELL)
        self.pairs.drop(query)
        if shown is not None and answers_shown:  # it stays on screen for the flash, but takes no other answer
            self.flash_timer.start()
            self._recent[preference.id] = shown
            while len(self._recent) > _MAX_RECENT_PAIRS:
                self._recent.popitem(last=False)
        (self.answer_kept if answers_shown else self.answer_restored).emit(preference)
        if shown is None and not self.flash_timer.isActive():
            self._advance()
        else:
            self.wake_oracle()
        self._carry_out_queued()

    def _on_undone(self, preference: Preference | None) -> None:
        if preference is None:
            self._end_refused("There is no answer to undo.")
            return
        self._writing = False
        self._progress.course.comparison.withdraw(preference.id)
        if preference.query.repeats is None:
            self._progress.withdrawn(preference.choice is Choice.CANT_TELL)
        self.set_teacher(Teacher.HUMAN)  # the oracle would give the same answer again
        self.answer_withdrawn.emit(preference)
        self.flash_timer.stop()
        pair = self._recent.pop(preference.id, None)
        self._undone[preference.id] = pair.query if pair else preference.query
        if pair:
            self.pairs.show_first(pair)
            self._show(pair)
        else:
            self.pairs.render_first(preference.query)
            self._request_clips(preference.query, first=True)  # of several that are undone, the last one
            self.pair_awaited.emit()
        self._carry_out_queued()

    def _carry_out_queued(self) -> None:
        if self._queued:
            self._request_when_idle(self._queued.popleft())

    def _on_refused(self, sentence: str) -> None:
        self.retry_timer.start()  # the teacher stays: nobody has chosen another
        self._end_refused(sentence)

    def _end_refused(self, sentence: str) -> None:
        self._writing = False
        self._queued.clear()
        self.trouble_arose.emit(sentence)
        self.wake_oracle()

    def _on_repeat_found(self, query: Query) -> None:
        self.pairs.offer(query)
        self._render_next()

    def _on_replay_refused(self, names: tuple[str, ...], sentence: str) -> None:
        self._replay_incomplete = True
        self.set_open(False)
        self.replay_refused.emit(names, sentence)

    def _on_counted(self, labels: int, unsure: int) -> None:
        self._progress.counted(labels, unsure)
        self.answers_counted.emit()

    def _answer_as_oracle(self) -> None:
        if self.pairs.shown is None or not self._progress.asks_oracle:  # a finish may have been requested meanwhile
            return
        query = self.pairs.shown.query
        # Repeats measure the person's consistency only, and practice pairs have no true reward.
        if query.repeats is not None or query.left.true_rewards is None:
            self.pairs.drop(query)
            self._advance()
            return
        try:
            self.answer(oracle.answer(query, self._config).choice, Teacher.ORACLE)
        except UserError as error:
            self._on_refused(str(error))
