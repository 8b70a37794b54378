"""Queue of pairs: offered, being rendered, ready, shown. Pure; no Qt."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from core.types import Frames, Query

CLIP_SIZE, LARGE_CLIP_SIZE, CLIP_FPS = 480, 720, 30.0
"""Pixels and frames a second of clips: the renderer has to be set up again for another size."""
_LARGE = 640
"""Side of a clip on screen, in pixels, from which the large size is worth its time (16 ms a frame instead of 8)."""


def clip_size(pixels: float) -> int:
    """Return the size at which to render clips whose side on screen has this many pixels."""
    return LARGE_CLIP_SIZE if pixels >= _LARGE else CLIP_SIZE


_AHEAD = 1
"""Pairs rendered ahead of the one on screen: more would be about outdated behaviour."""


@dataclass(frozen=True)
class Pair:
    """Query with its rendered clips."""

    query: Query
    left: Frames
    right: Frames


class PairQueue:
    """First in, first out; an undone pair comes before all others that are not drawn yet.

    shown: the pair to answer; None if there is none
    """

    def __init__(self) -> None:
        self._offered: deque[Query] = deque()
        self._rendering: list[Query] = []
        self._ready: deque[Pair] = deque()
        self._undone: list[Query] = []
        """Queries whose answers were undone and that have no new answer yet, wherever they wait."""
        self._first: Query | None = None
        """The undone query that is being rendered and is shown next."""
        self.shown: Pair | None = None

    @property
    def rendering(self) -> int:
        """Number of pairs that are being rendered."""
        return len(self._rendering)

    @property
    def ready(self) -> int:
        """Number of rendered pairs behind the one on screen."""
        return len(self._ready)

    @property
    def waits_for_undone(self) -> bool:
        return self._first is not None

    @property
    def known(self) -> tuple[Query, ...]:
        """Queries that `forget_offered` keeps."""
        if self.shown is None:
            return tuple(self._undone)
        return self.shown.query, *_without(self._undone, self.shown.query)

    def renders(self, query: Query) -> bool:
        """Return whether the clips of this query are being rendered."""
        return _contains(self._rendering, query)

    def offer(self, query: Query) -> None:
        self._offered.append(query)

    def next_renderings(self) -> list[Query]:
        """Return the queries to render now."""
        queries = []
        while self._offered and len(self._rendering) + len(self._ready) < _AHEAD:
            queries.append(self._offered.popleft())
            self._rendering.append(queries[-1])
        return queries

    def add_clips(self, query: Query, clips: tuple[Frames, ...]) -> bool:
        """Take the clips of a rendering; False if it is no longer needed."""
        if not self.renders(query):
            return False
        self._rendering = _without(self._rendering, query)
        if query is self._first:
            self._first = None
            self._ready.appendleft(Pair(query, *clips))
        else:
            self._ready.append(Pair(query, *clips))
        return True

    def advance(self) -> Pair | None:
        """Show the next pair and return it; None if none is ready."""
        waiting = not self._ready or self.waits_for_undone
        self.shown = None if waiting else self._ready.popleft()
        return self.shown

    def show_first(self, pair: Pair) -> None:
        """Show this undone pair now, and the one on screen after it."""
        self._postpone_shown()
        self._undone.append(pair.query)
        self.shown = pair

    def render_first(self, query: Query) -> None:
        """Show nothing until the clips of this undone query, which are to be rendered again, are added."""
        self._postpone_shown()
        self._undone.append(query)
        self._rendering.append(query)
        self._first = query

    def _postpone_shown(self) -> None:
        if self.shown:
            self._ready.appendleft(self.shown)
        self.shown = None
        if self._first is not None:  # another pair comes before it, so its clips would only take memory
            self._rendering = _without(self._rendering, self._first)
            self._offered.appendleft(self._first)
            self._first = None
        while len(self._ready) > _AHEAD:  # many undone answers must not fill the memory: render these again later
            self._offered.appendleft(self._ready.pop().query)

    def drop(self, query: Query) -> None:
        """Remove a query that needs no answer any more, wherever it is; ignored if it is not there."""
        if self.shown is not None and self.shown.query is query:
            self.shown = None
        if self._first is query:
            self._first = None
        self._undone, self._rendering = _without(self._undone, query), _without(self._rendering, query)
        self._offered = deque(_without(self._offered, query))
        self._ready = deque(pair for pair in self._ready if pair.query is not query)

    def withdraw(self, query_id: int) -> None:
        """Drop the offered query with this ID, unless it is on screen or undone."""
        for query in [*self._offered, *self._rendering, *(pair.query for pair in self._ready)]:
            if query.id == query_id and not _contains(self._undone, query):
                self.drop(query)

    def forget_offered(self) -> None:
        """Drop all but the shown and the undone pairs: a restarted rollout offers others."""
        self._offered = deque(query for query in self._offered if _contains(self._undone, query))
        self._rendering = [query for query in self._rendering if _contains(self._undone, query)]
        self._ready = deque(pair for pair in self._ready if _contains(self._undone, pair.query))


def _contains(queries: Iterable[Query], query: Query) -> bool:
    return any(other is query for other in queries)


def _without(queries: Iterable[Query], query: Query) -> list[Query]:
    return [other for other in queries if other is not query]
