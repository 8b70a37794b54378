"""Thread that writes the store of answers: an answer is on disk before the next pair is shown."""

import logging
from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.workers.background_thread import Receiver, StoreThread
from core.errors import UserError, summary
from core.events import AnswersReplayed, PreferenceAdded, PreferenceChanged, PreferenceWithdrawn
from core.preferences.review import Repeats
from core.preferences.store import PreferenceStore
from core.session.routing import Port, deliver
from core.types import Choice, Query

log = logging.getLogger(__name__)


class PreferenceWriter(StoreThread):
    """Adds, changes and withdraws answers in the order of the requests, and sends each to the jobs.

    No other object sends answers to the jobs, so a restarted job misses none. It receives an answer twice, to no effect, if
    the answer was written between its start and `replay`.

    Signals:
        answer_kept(object): the Preference is on disk.
        answer_withdrawn(object): the Preference was undone; None if there was none.
        answer_given_again(object): the Preference was restored by redo; None if there was none.
        answer_refused(str): an answer could not be added, undone or restored, and nothing was changed; one sentence.
        answer_changed(object): the Preference has another choice.
        change_refused(str): an answer could not be changed; one sentence.
        trouble_arose(str): a request in the background failed; one sentence.
        replay_refused(object, str): names of jobs that could not be sent every answer, and one sentence. They must be
            restarted, as they have only some of the answers.
        repeat_found(object): Query of a pair to show to the person again.
        answers_counted(int, int): number of labels of the session, and number of "can't tell" among them; emitted before
            they are sent to jobs, and after a change.
        undo_changed(bool, bool): True if there is an answer to undo; True if there is one to redo.
    """

    answer_kept = Signal(object)
    answer_withdrawn = Signal(object)
    answer_given_again = Signal(object)
    answer_refused = Signal(str)
    answer_changed = Signal(object)
    change_refused = Signal(str)
    trouble_arose = Signal(str)
    replay_refused = Signal(object, str)
    repeat_found = Signal(object)
    answers_counted = Signal(int, int)
    undo_changed = Signal(bool, bool)

    def __init__(
        self, open_store: Callable[[], PreferenceStore], ports: Mapping[str, Port], parent: QObject | None = None
    ) -> None:
        super().__init__(open_store, parent)
        self._ports = ports

    def add(self, query: Query, choice: Choice, labeller: str) -> None:
        self._request(lambda store: self._add(store, query, choice, labeller), self.answer_refused.emit, "saved")

    def count(self) -> None:
        """Count the answers; `answers_counted` follows."""
        self._request(self._count, self.trouble_arose.emit, "counted")

    def undo(self) -> None:
        self._request(self._withdraw_last, self.answer_refused.emit, "undone")

    def redo(self) -> None:
        self._request(self._give_again, self.answer_refused.emit, "restored")

    def change(self, key: int, choice: Choice, labeller: str) -> None:
        self._request(lambda store: self._change(store, key, choice, labeller), self.change_refused.emit, "changed")

    def find_repeat(self, repeats: Repeats) -> None:
        """Look for an answer whose pair may be shown again; `repeat_found` follows if there is one."""
        self._request(lambda store: self._find_repeat(store, repeats), self.trouble_arose.emit, "chosen for a repeat")

    def replay(self, names: tuple[str, ...], waiting: tuple[Query, ...]) -> None:
        """Send every answer so far to these jobs, which have just started; `replay_refused` follows if that fails.

        waiting: queries that have no answer yet
        """
        self.reopen()
        refused = partial(self.replay_refused.emit, names)
        self._request(lambda store: self._replay(store, names, waiting), refused, "sent to the training processes")

    def _request(self, carry_out: Callable[[PreferenceStore], None], refused: Receiver, done: str) -> None:
        """done: completes the sentence after an unexpected exception"""

        def task() -> None:
            try:
                carry_out(self._opened())
            except UserError as error:
                log.warning("%s", error)
                raise
            except Exception as error:
                log.exception("An answer could not be %s.", done)
                reason = summary(error).rstrip(".")
                advice = "try again, or stop and start the session."
                raise UserError(f"An answer could not be {done} ({reason}): {advice}") from error

        self.do(task, refused=refused)

    def _add(self, store: PreferenceStore, query: Query, choice: Choice, labeller: str) -> None:
        try:
            preference = store.add(query, choice, labeller)
        except UserError as error:
            raise UserError(f"The answer was not saved: {error}") from error
        self.answer_kept.emit(preference)  # first: the person is waiting for it
        deliver(PreferenceAdded(preference), self._ports)
        self._report_undo(store)

    def _change(self, store: PreferenceStore, key: int, choice: Choice, labeller: str) -> None:
        preference = store.change(key, choice, labeller)
        self.answer_changed.emit(preference)
        deliver(PreferenceChanged(preference), self._ports)
        self._count(store)

    def _find_repeat(self, store: PreferenceStore, repeats: Repeats) -> None:
        try:
            key = repeats.pick(store.rows())
            if key is None:
                return
            kept = store.answer(key)
        except UserError as error:  # the person has not asked for it
            log.warning("A pair can't be shown again: %s", error)
            return
        self.repeat_found.emit(repeats.repeated_query(kept))

    def _withdraw_last(self, store: PreferenceStore) -> None:
        preference = store.undo()
        self.answer_withdrawn.emit(preference)
        if preference and preference.query.repeats is None:
            deliver(PreferenceWithdrawn(preference.id), self._ports)
        self._report_undo(store)

    def _give_again(self, store: PreferenceStore) -> None:
        preference = store.redo()
        self.answer_given_again.emit(preference)
        if preference:
            deliver(PreferenceAdded(preference), self._ports)
        self._report_undo(store)

    def _report_undo(self, store: PreferenceStore) -> None:
        rows = store.rows()
        can_redo = bool(rows) and rows[-1].withdrawn  # an answer given since would end the list
        self.undo_changed.emit(any(not row.withdrawn for row in rows), can_redo)

    def _count(self, store: PreferenceStore) -> None:
        choices = [row.choice for row in store.labels()]
        self.answers_counted.emit(len(choices), choices.count(Choice.CANT_TELL))
        self._report_undo(store)

    def _replay(self, store: PreferenceStore, names: tuple[str, ...], waiting: tuple[Query, ...]) -> None:
        ports: dict[str, Port] = {name: self._ports[name] for name in names if name in self._ports}
        self._count(store)
        for preference in store.each():
            if self.ending:  # the jobs end too
                return
            deliver(PreferenceAdded(preference), ports)
        undone = tuple(preference.query for preference in store.undone() if preference.query.repeats is None)
        deliver(AnswersReplayed(waiting, undone), ports)
