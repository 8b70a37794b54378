"""The pairs on their way to the screen: offered, being drawn, ready, shown. Pure; no Qt."""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass

from core.types import Frames, Query

CLIP_SIZE, CLIP_FPS = 480, 30.0
"""Pixels and pictures a second, wherever pairs are shown: the simulator's picture is set up anew for each other size,
which takes longer."""
_AHEAD = 3
"""Pairs drawn ahead of the one on screen: each is some 60 MB."""


@dataclass(frozen=True)
class Pair:
    """A query with its clips: what the labeller sees."""

    query: Query
    left: Frames
    right: Frames


class PairQueue:
    """First offered, first shown; a pair that was taken back goes before all others."""

    def __init__(self, tokens: itertools.count[int]) -> None:
        self._tokens = tokens
        self._offered: deque[Query] = deque()
        self._drawing: dict[int, Query] = {}
        self._ready: deque[Pair] = deque()
        self._taken_back: int | None = None
        self.shown: Pair | None = None

    @property
    def drawing(self) -> int:
        return len(self._drawing)

    @property
    def pair_ready(self) -> bool:
        """Whether the next answer would bring up a pair at once."""
        return bool(self._ready)

    @property
    def waits_for_taken_back(self) -> bool:
        return self._taken_back is not None

    def offer(self, query: Query) -> None:
        self._offered.append(query)

    def to_draw(self) -> list[tuple[int, Query]]:
        """What the clips job should be asked for now: token and query."""
        asked = []
        while self._offered and len(self._drawing) + len(self._ready) < _AHEAD:
            asked.append(self._ask(self._offered.popleft()))
        return asked

    def _ask(self, query: Query) -> tuple[int, Query]:
        token = next(self._tokens)
        self._drawing[token] = query
        return token, query

    def drawn(self, token: int, clips: tuple[Frames, ...]) -> bool:
        """Takes the clips in; False where nobody waits for that token any more."""
        query = self._drawing.pop(token, None)
        if query is None:
            return False
        pair = Pair(query, *clips)
        if token == self._taken_back:
            self._taken_back = None
            self._ready.appendleft(pair)
        else:
            self._ready.append(pair)
        return True

    def advance(self) -> Pair | None:
        """The next pair becomes the shown one; None where none is ready."""
        waiting = not self._ready or self.waits_for_taken_back
        self.shown = None if waiting else self._ready.popleft()
        return self.shown

    def put_first(self, pair: Pair) -> None:
        """Shows this pair now; the shown one comes after it."""
        self._step_aside()
        self.shown = pair

    def draw_first(self, query: Query) -> tuple[int, Query]:
        """Nothing is shown before this query's clips are drawn anew."""
        self._step_aside()
        asked = self._ask(query)
        self._taken_back = asked[0]
        return asked

    def _step_aside(self) -> None:
        if self.shown:
            self._ready.appendleft(self.shown)
        self.shown = None
        if self._taken_back is not None:  # another is wanted before it: its clips would only fill the memory
            self._offered.appendleft(self._drawing.pop(self._taken_back))
            self._taken_back = None
        while len(self._ready) > _AHEAD:  # many answers taken back must not fill the memory: these are drawn again
            self._offered.appendleft(self._ready.pop().query)

    def drop(self, query: Query) -> None:
        """It needs no answer any more; where it is not waiting here, nothing happens."""
        token = next((token for token, drawn in self._drawing.items() if drawn is query), None)
        if token is not None:
            del self._drawing[token]
        if token is not None and token == self._taken_back:
            self._taken_back = None
        self._offered = deque(offered for offered in self._offered if offered is not query)
        self._ready = deque(pair for pair in self._ready if pair.query is not query)

    def redraw(self) -> list[tuple[int, Query]]:
        """Everything that was being drawn, to be asked for again: the clips job was started anew."""
        return list(self._drawing.items())

    @property
    def kept(self) -> tuple[Query, ...]:
        """What forget_offered leaves."""
        shown = () if self.shown is None else (self.shown.query,)
        return *shown, *(query for token, query in self._drawing.items() if token == self._taken_back)

    def forget_offered(self) -> None:
        """Drops all but the shown and the taken-back pair: the rollout was started anew and offers others."""
        self._offered.clear()
        self._ready.clear()
        self._drawing = {token: query for token, query in self._drawing.items() if token == self._taken_back}
