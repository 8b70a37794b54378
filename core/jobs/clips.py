"""The clips job: draws segments when asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from core.clips import renderer_for
from core.config import Config
from core.events import ClipsRendered, ClipsRequested, Event, JobState, Waited
from core.tasks import find


class ClipsJob:
    """Answers each ClipsRequested with its ClipsRendered, in order."""

    def __init__(self, config: Config) -> None:
        self._renderer = renderer_for(find(config.task))
        self._requests: deque[ClipsRequested] = deque()

    def receive(self, event: Event) -> None:
        if isinstance(event, ClipsRequested):
            self._requests.append(event)

    def run(self) -> Iterator[Event | None]:
        while True:
            if not self._requests:
                yield Waited("clips", "no clips to draw")
                continue
            request = self._requests.popleft()
            clips = []
            for segment in request.segments:
                clips.append(self._renderer.render(segment.states, request.size, request.fps))
                yield None
            yield ClipsRendered(request.token, tuple(clips))

    def get_state(self) -> JobState:
        return JobState({}, {})

    def set_state(self, state: JobState) -> None:
        """Nothing outlives a drawing."""
