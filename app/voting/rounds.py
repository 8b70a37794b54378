"""Votes of an audience in a session: one round for each pair, with the majority as its answer. No widgets."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.labelling.labelling import Labelling
from app.workers.job_worker import MakeProcess
from app.workers.service_process import ServiceProcess
from core.errors import UserError
from core.events import Event, JobSpec
from core.service_events import VoteKept, VoteOpened, VotesCounted, VotesNotStored, VotingServed
from core.types import AUDIENCE, Choice, Preference, Teacher
from core.voting.ballot import majority

ROUND_SECONDS = 15.0
"""Time for the votes on a pair: two clips are seen some five times."""


class VoteRounds(QObject):
    """Serves the voting page in a child process, from `start` to `stop` or `close`. No round is open while votes wait.

    url: address of the page; '' while it is off
    decided: True if the newest answer is the majority's

    Signals:
        opened(str): guests can vote at this address.
        votes_changed(object, float): number of votes by choice, and the seconds left of the round.
        ended(str): the page is off; the reason in one sentence, or '' if it was switched off on request.
    """

    opened = Signal(str)
    votes_changed = Signal(object, float)
    ended = Signal(str)

    def __init__(
        self,
        folder: Path,
        labelling: Labelling,
        make_process: MakeProcess,
        waits: Callable[[], bool],
        parent: QObject | None = None,
    ) -> None:
        """waits: returns True while the votes wait; call `follow` when that has changed"""
        super().__init__(parent)
        self.url = ""
        self._waits = waits
        self._folder, self._labelling = folder, labelling
        self._page = ServiceProcess(make_process, self._on_event, self._on_end, self)
        self.decided = False
        self._round, self._open, self._deciding, self._stopping = 0, False, False, False
        labelling.pair_shown.connect(self._open_round)
        labelling.pair_awaited.connect(self._close_round)
        labelling.answer_kept.connect(self._on_answer_kept)
        labelling.preference_writer.answer_refused.connect(self._on_answer_refused)

    @property
    def on(self) -> bool:
        return self._page.runs

    def start(self) -> None:
        """Switch the page on; `opened` or `ended` follows."""
        try:
            self._page.start(JobSpec("voting", {}))
        except UserError as error:
            self.ended.emit(f"The voting page can't be started: {error}.")

    def stop(self) -> None:
        """Switch the page off, and end its round without an answer; `ended` follows."""
        self.url, self._stopping = "", self.on
        self._page.cancel()

    def close(self) -> None:
        """Switch the page off and wait for its process to end."""
        self._page.close()

    def follow(self) -> None:
        """End the round without an answer if the votes must wait now; open one on the pair if they no longer must."""
        if self._open and not self._deciding and self._waits():
            self._close_round()
        elif not self._open and not self._waits() and not self._labelling.flash_timer.isActive():
            self._open_round_on_pair()

    def _open_round_on_pair(self) -> None:
        if self._labelling.pairs.shown is not None:
            self._open_round()

    def _open_round(self, _: object = None) -> None:
        if self.url:
            self._labelling.set_teacher(Teacher.HUMAN)
            self._begin_round(0.0 if self._waits() else ROUND_SECONDS)

    def _close_round(self) -> None:
        if self.url:
            self._begin_round(0.0)

    def _begin_round(self, seconds: float) -> None:
        """End the round under way, and open one of `seconds`; none if they are 0."""
        self._round, self._open, self._deciding = self._round + 1, seconds > 0, False
        self._page.send(VoteOpened(self._round, seconds))
        self.votes_changed.emit({}, seconds)

    def _on_event(self, event: Event) -> None:
        match event:
            case VotingServed(url) if not self._stopping:
                self.url = url
                self.opened.emit(url)
                self._open_round_on_pair()
            case VotesNotStored(reason):
                self._labelling.trouble_arose.emit(f"The answer is saved, but not its votes: {reason}")
            case VotesCounted(number, counts, seconds, final) if self.url and number == self._round:
                self.votes_changed.emit(counts, seconds)
                choice = majority(counts)
                if final and choice is not None:
                    self._decide(choice)

    def _decide(self, choice: Choice) -> None:
        """Give the majority's answer; if none can be given now, let the audience vote once more."""
        if self._labelling.open and self._labelling.idle and self._labelling.pairs.shown is not None:
            self._deciding = True
            self._labelling.answer(choice, AUDIENCE)
        else:
            self._open_round()

    def _on_answer_kept(self, preference: Preference) -> None:
        """Request that the votes are saved, unless the presenter has given this answer instead of the audience."""
        self.decided, self._deciding = self._deciding, False
        if self.decided:
            self._page.send(VoteKept(str(self._folder), self._round, preference.id, str(preference.choice)))

    def _on_answer_refused(self) -> None:
        """Let the audience vote once more, as its answer could not be saved."""
        if self._deciding:
            self._deciding = False
            self._open_round()

    def _on_end(self, reason: str, failure: str) -> None:
        self.url, self._stopping = "", False
        lost = "" if reason == "stopped" else "The voting page stopped unexpectedly: start voting again."
        self.ended.emit(f"{failure}." if failure else lost)
