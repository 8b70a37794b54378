"""Pictures of the robot for the page, drawn by a child process that runs while the page is open."""

import logging

from PySide6.QtCore import QObject, Signal

from app.labelling.pair_queue import Pair
from app.workers.job_worker import MakeProcess
from app.workers.service_process import ServiceProcess
from core.errors import UserError
from core.events import Event, JobSpec
from core.service_events import PracticePairDrawn, PracticeRequested, SceneDrawn, SceneRefused, SceneRequested

log = logging.getLogger(__name__)


class Scenes(QObject):
    """Draws the scene that was requested last. While a still is being drawn, only the newest of the other requests waits.

    Signals:
        drawn(object): Frames of whole clips.
        still_drawn(object): Frames with the one picture that was requested.
        constant_found(object): names of signals (frozenset) that never change on the robot that was drawn.
        pair_drawn(object): Pair of the practice that was requested last.
        refused(str): nothing can be drawn; one sentence.
    """

    drawn = Signal(object)
    still_drawn = Signal(object)
    constant_found = Signal(object)
    pair_drawn = Signal(object)
    refused = Signal(str)

    def __init__(self, make_process: MakeProcess) -> None:
        super().__init__()
        self._process = ServiceProcess(make_process, self._on_event, self._on_end, self)
        self._sent: SceneRequested | PracticeRequested | None = None
        self._next: SceneRequested | PracticeRequested | None = None
        self._token = 0

    def request(self, behaviour: str, size: int, still: int | None = None) -> None:
        """Draw a robot.

        behaviour: text of a behaviour file; size: pixels of the picture; still: index of the only frame to draw; None for all
        """
        self._token += 1
        wanted = SceneRequested(self._token, behaviour, size, still)
        if isinstance(self._sent, SceneRequested) and self._sent.still is not None:
            self._next = wanted
        else:
            self._send(wanted)

    def practise(self, behaviour: str, pairs: int, size: int) -> None:
        """Draw practice pairs; `pair_drawn` follows for each.

        behaviour: text of a behaviour file; size: pixels of the clips
        """
        self._token += 1
        self._next = None
        self._send(PracticeRequested(self._token, behaviour, pairs, size))

    def rest(self) -> None:
        """End the child; the next request starts another."""
        self._sent = self._next = None
        self._process.cancel()

    def close(self) -> None:
        """End the child, and block until it has ended."""
        self._sent = self._next = None
        self._process.close()

    def _send(self, request: SceneRequested | PracticeRequested) -> None:
        try:
            self._process.start(JobSpec("scenes", {}))
        except UserError as error:
            self.refused.emit(f"The robot can't be rendered: {error}.")
            return
        self._sent = request
        self._process.send(request)

    def _on_event(self, event: Event) -> None:
        match event:
            case SceneDrawn(token, frames, constant) if self._sent is not None and token == self._sent.token:
                if self._next is None:  # otherwise it may be about another robot
                    self.constant_found.emit(constant)
                whole = isinstance(self._sent, SceneRequested) and self._sent.still is None
                (self.drawn if whole else self.still_drawn).emit(frames)
                self._send_next()
            case PracticePairDrawn(token, query, left, right) if self._sent is not None and token == self._sent.token:
                self.pair_drawn.emit(Pair(query, left, right))
            case SceneRefused(token, sentence) if self._sent is not None and token == self._sent.token:
                self.refused.emit(sentence)
                self._send_next()

    def _send_next(self) -> None:
        self._sent, following, self._next = None, self._next, None
        if following is not None:
            self._send(following)

    def _on_end(self, reason: str, failure: str) -> None:
        wanted = self._next or self._sent
        self._sent = self._next = None
        if wanted is not None and reason == "stopped":  # requested while the child was ending
            self._send(wanted)
        elif wanted is not None:
            sentence = f"The robot can't be rendered: {failure or 'the rendering process ended unexpectedly'}."
            log.warning("%s", sentence)
            self.refused.emit(sentence)
