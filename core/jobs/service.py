"""Base of the jobs that answer requests: films, previews, exports."""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from typing import ClassVar, Generic, TypeVar

from core.events import Event, Job, Waited

Request = TypeVar("Request", bound=Event)


class Service(Job, Generic[Request]):
    """A job that answers requests one after the other, in the order of their arrival."""

    name: ClassVar[str]
    requests: type[Request]
    """Class of the events that the job answers; other events are ignored."""

    def __init__(self) -> None:
        self._waiting: deque[Request] = deque()

    def receive(self, event: Event) -> None:
        if isinstance(event, self.requests):
            self._waiting.append(event)

    def run(self) -> Iterator[Event | None]:
        while True:
            if self._waiting:
                yield from self.answer(self._waiting.popleft())
            else:
                yield Waited(self.name, "no request")

    @abstractmethod
    def answer(self, request: Request) -> Iterator[Event | None]:
        """Yield the reply to a request, and before it None and reports of progress."""
