"""The thread that owns the store of answers: an answer is on disk before the next pair shows."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QThread, Signal

from core.errors import UserError, summary
from core.events import AnswersReplayed, PreferenceAdded, PreferenceChanged, PreferenceWithdrawn
from core.preferences.review import Repeats
from core.preferences.store import PreferenceStore
from core.session.routing import Port, deliver
from core.types import Choice, Query

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Request:
    carry_out: Callable[[PreferenceStore], None]
    refused: Callable[[str], object]
    """Told one sentence where it can't be carried out. Each kind has its own: who waits for one must not go on because
    of another."""
    failure: str
    """The sentence's beginning where the reason was not foreseen."""
    anew: bool = False
    """Whether the store is opened for it once more: the person may have put a whole one back."""


class PreferenceWriter(QThread):
    """Adds, changes and withdraws answers, in the order asked, and tells the jobs of each.

    It alone sends answers to the jobs, so a job that is started again gets every answer once: none twice, none missed.

    Signals:
        answer_kept(object): an answer is on disk; the Preference.
        answer_withdrawn(object): the last answer was taken back; the Preference, or None where there was none.
        answer_given_again(object): what was taken back last stands again; the Preference, or None where nothing can.
        answer_refused(str): an answer could not be added, withdrawn or given again; nothing was changed. One sentence.
        answer_changed(object): an answer has another choice; the Preference.
        change_refused(str): an answer could not be changed. One sentence.
        trouble_arose(str): something that no answer waits for could not be done. One sentence.
        replay_refused(object, str): these jobs, by name, could not be given every answer; one sentence. They have some
            of them at most: to go on they must be started anew.
        repeat_found(object): the Query of a pair that is to be put to the person again.
        answers_counted(int): how many labels the session has, before jobs are given them.
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
    answers_counted = Signal(int)

    def __init__(
        self, open_store: Callable[[], PreferenceStore], ports: Mapping[str, Port], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._open_store, self._ports = open_store, ports
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()

    def add(self, query: Query, choice: Choice, labeller: str) -> None:
        """answer_kept or answer_refused answers."""
        self._ask(lambda store: self._add(store, query, choice, labeller), self.answer_refused.emit, "kept")

    def undo(self) -> None:
        """answer_withdrawn or answer_refused answers."""
        self._ask(self._withdraw_last, self.answer_refused.emit, "taken back")

    def redo(self) -> None:
        """answer_given_again or answer_refused answers."""
        self._ask(self._give_again, self.answer_refused.emit, "given again")

    def change(self, key: int, choice: Choice, labeller: str) -> None:
        """answer_changed or change_refused answers."""
        self._ask(lambda store: self._change(store, key, choice, labeller), self.change_refused.emit, "changed")

    def find_repeat(self, repeats: Repeats) -> None:
        """Looks for an answer whose pair may be shown again; `repeat_found` follows where there is one."""
        self._ask(
            lambda store: self._find_repeat(store, repeats), self.trouble_arose.emit, "looked up to be shown again"
        )

    def replay(self, names: tuple[str, ...], waiting: tuple[Query, ...]) -> None:
        """Gives every answer so far to these jobs, which have just been started; `waiting` has none as yet.

        replay_refused answers where they could not be given all.
        """
        refused = partial(self.replay_refused.emit, names)
        self._ask(lambda store: self._replay(store, names, waiting), refused, "given to the stages", anew=True)

    def _ask(
        self,
        carry_out: Callable[[PreferenceStore], None],
        refused: Callable[[str], object],
        done: str,
        anew: bool = False,
    ) -> None:
        self._requests.put(_Request(carry_out, refused, f"An answer could not be {done}", anew))

    def end(self) -> None:
        """Ends the thread after what was asked so far."""
        self._requests.put(None)

    def run(self) -> None:
        store: PreferenceStore | None = None
        while (request := self._requests.get()) is not None:
            if request.anew and store:
                store.close()
                store = None
            try:
                store = store or self._open_store()  # anew at each request until it opens: the disk may be mended
                request.carry_out(store)
            except UserError as error:
                log.warning("%s", error)
                request.refused(str(error))
            except Exception as error:  # the boundary of the thread
                log.exception("%s.", request.failure)
                reason = summary(error).rstrip(".")
                request.refused(f"{request.failure} ({reason}): try again, or stop and start the session.")
        if store:
            store.close()

    def _add(self, store: PreferenceStore, query: Query, choice: Choice, labeller: str) -> None:
        preference = store.add(query, choice, labeller)
        self.answer_kept.emit(preference)  # first: the person waits for it, the jobs don't
        deliver(PreferenceAdded(preference), self._ports)

    def _change(self, store: PreferenceStore, key: int, choice: Choice, labeller: str) -> None:
        preference = store.change(key, choice, labeller)
        self.answer_changed.emit(preference)
        deliver(PreferenceChanged(preference), self._ports)

    def _find_repeat(self, store: PreferenceStore, repeats: Repeats) -> None:
        try:
            key = repeats.pick(store.rows())
            if key is None:
                return
            (kept,) = store.answers(key)
        except UserError as error:  # nobody has asked for it, and another will do
            log.warning("A pair can't be shown again: %s", error)
            return
        self.repeat_found.emit(repeats.repeated_query(kept.preference))

    def _withdraw_last(self, store: PreferenceStore) -> None:
        preference = store.undo()
        self.answer_withdrawn.emit(preference)
        if preference and preference.query.repeats is None:
            deliver(PreferenceWithdrawn(preference.id), self._ports)

    def _give_again(self, store: PreferenceStore) -> None:
        preference = store.redo()
        self.answer_given_again.emit(preference)
        if preference:
            deliver(PreferenceAdded(preference), self._ports)

    def _replay(self, store: PreferenceStore, names: tuple[str, ...], waiting: tuple[Query, ...]) -> None:
        ports: dict[str, Any] = {name: self._ports[name] for name in names if name in self._ports}
        self.answers_counted.emit(store.count())
        for preference in store.each():
            deliver(PreferenceAdded(preference), ports)
        deliver(AnswersReplayed(waiting), ports)
