"""Requests from the window to the child jobs, each answered through a callback."""

import itertools
from collections.abc import Callable, Container, Iterable
from typing import Any

from core.events import AnswersPredicted, Event, PredictionsRequested
from core.service_events import ClipsRendered, ClipsRequested, ReplayRefused, ReplayRendered, ReplayRequested
from core.session.routing import receivers

JobRequest = ClipsRequested | ReplayRequested | PredictionsRequested
JobAnswer = ClipsRendered | ReplayRendered | ReplayRefused | AnswersPredicted


class JobRequests:
    """Open requests by token. Use it in the window's thread only."""

    def __init__(self, send: Callable[[Event, Iterable[str]], None]) -> None:
        """send: hands an event to the named jobs; a job that is not running takes none."""
        self._tokens = itertools.count(1)
        self._send = send
        self._open: dict[int, tuple[JobRequest, Callable[[Any], object]]] = {}

    def send(self, make_request: Callable[[int], JobRequest], on_answer: Callable[[Any], object]) -> int:
        """Make a request of a new token, send it to its job, and return the token.

        `on_answer` gets the answer unless the request is cancelled first.
        """
        request = make_request(next(self._tokens))
        self._open[request.token] = request, on_answer
        self._send(request, receivers(type(request)))
        return request.token

    def cancel(self, token: int) -> None:
        """Drop the answer to this request. Unknown tokens are ignored."""
        self._open.pop(token, None)

    def resend(self, jobs: Container[str]) -> None:
        """Send every open request of these jobs again: they have been restarted and have lost it."""
        for request, _ in list(self._open.values()):
            self._send(request, [name for name in receivers(type(request)) if name in jobs])

    def answer(self, event: JobAnswer) -> None:
        """Pass an answer to the callback of its request; answers to cancelled requests are dropped."""
        if event.token in self._open:
            _, on_answer = self._open.pop(event.token)
            on_answer(event)
