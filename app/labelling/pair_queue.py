"""Queue of pairs: offered, being rendered, ready, shown. Pure; no Qt."""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass

from core.types import Frames, Query

CLIP_SIZE, LARGE_CLIP_SIZE, CLIP_FPS = 480, 720, 30.0
"""Pixels and frames a second of every pair: the renderer has to be set up again for another size."""
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
    """First in, first out; an undone pair comes before all others.

    shown: the pair to answer; None if there is none
    """

    def __init__(self, tokens: itertools.count[int]) -> None:
        """tokens: source of the numbers that identify renderings"""
        self._tokens = tokens
        self._offered: deque[Query] = deque()
        self._rendering: dict[int, Query] = {}
        self._ready: deque[Pair] = deque()
        self._undone: int | None = None
        """Token of the undone pair that is being rendered."""
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
        return self._undone is not None

    @property
    def known(self) -> tuple[Query, ...]:
        """Queries that `forget_offered` keeps."""
        shown = () if self.shown is None else (self.shown.query,)
        return *shown, *(query for token, query in self._rendering.items() if token == self._undone)

    def offer(self, query: Query) -> None:
        self._offered.append(query)

    def next_renderings(self) -> list[tuple[int, Query]]:
        """Return token and query of the pairs to render now."""
        renderings = []
        while self._offered and len(self._rendering) + len(self._ready) < _AHEAD:
            renderings.append(self._start_rendering(self._offered.popleft()))
        return renderings

    def _start_rendering(self, query: Query) -> tuple[int, Query]:
        token = next(self._tokens)
        self._rendering[token] = query
        return token, query

    def add_clips(self, token: int, clips: tuple[Frames, ...]) -> bool:
        """Take the clips of a rendering; False if it is no longer needed."""
        query = self._rendering.pop(token, None)
        if query is None:
            return False
        pair = Pair(query, *clips)
        if token == self._undone:
            self._undone = None
            self._ready.appendleft(pair)
        else:
            self._ready.append(pair)
        return True

    def advance(self) -> Pair | None:
        """Show the next pair and return it; None if none is ready."""
        waiting = not self._ready or self.waits_for_undone
        self.shown = None if waiting else self._ready.popleft()
        return self.shown

    def show_first(self, pair: Pair) -> None:
        """Show this pair now, and the one on screen after it."""
        self._postpone_shown()
        self.shown = pair

    def render_first(self, query: Query) -> tuple[int, Query]:
        """Show nothing until this query's clips are rendered again; return token and query."""
        self._postpone_shown()
        rendering = self._start_rendering(query)
        self._undone = rendering[0]
        return rendering

    def _postpone_shown(self) -> None:
        if self.shown:
            self._ready.appendleft(self.shown)
        self.shown = None
        if self._undone is not None:  # another pair comes before it, so its clips would only take memory
            self._offered.appendleft(self._rendering.pop(self._undone))
            self._undone = None
        while len(self._ready) > _AHEAD:  # many undone answers must not fill the memory: render these again later
            self._offered.appendleft(self._ready.pop().query)

    def drop(self, query: Query) -> None:
        """Remove a query that needs no answer any more; ignored if it is not waiting."""
        token = next((token for token, rendered in self._rendering.items() if rendered is query), None)
        if token is not None:
            del self._rendering[token]
            if token == self._undone:
                self._undone = None
        self._offered = deque(offered for offered in self._offered if offered is not query)
        self._ready = deque(pair for pair in self._ready if pair.query is not query)

    def withdraw(self, query_id: int) -> list[int]:
        """Drop the offered query with this ID, unless it is on screen or undone. Return the unneeded tokens."""
        tokens = [token for token, query in self._rendering.items() if query.id == query_id and token != self._undone]
        for query in [
            *(self._rendering[token] for token in tokens),
            *(query for query in self._offered if query.id == query_id),
            *(pair.query for pair in self._ready if pair.query.id == query_id),
        ]:
            self.drop(query)
        return tokens

    def forget_offered(self) -> list[int]:
        """Drop all but the shown and the undone pair: a restarted rollout offers others. Return the unneeded tokens."""
        self._offered.clear()
        self._ready.clear()
        unneeded = [token for token in self._rendering if token != self._undone]
        for token in unneeded:
            del self._rendering[token]
        return unneeded
