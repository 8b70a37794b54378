"""Pictures of answered pairs, drawn when somebody looks: a still of each clip for a list, both clips to be played.

Memory is bounded: only the latest are kept, and only what is on screen is asked for. No widgets.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QImage, QPixmap

from app.labelling.pair_queue import CLIP_FPS, CLIP_SIZE, Pair
from app.workers.store_reader import StoreReader
from core.errors import UserError
from core.events import ClipsRendered, ClipsRequested
from core.preferences.records import unreadable
from core.preferences.store import PreferenceStore
from core.types import Frames, Query, Segment

STILL = 84
"""Pixels of a still's side in the list, kept twice as fine for dense screens."""
_ONE_FRAME = 1.0
_STILLS, _PAIRS = 64, 2
"""So many of each are kept: 14 MB and, at 60 MB a pair, 120 MB."""
_WAITING = 24
"""Rows that may wait for their stills; more were scrolled past."""
Stills = tuple[QPixmap, QPixmap]


class ClipCache(QObject):
    """Draws one thing at a time, the clips to be played before the stills: labelling needs the same child.

    Signals:
        stills_drawn(int): the stills of the answer of that number are there.
        pair_drawn(int, object): the clips of that answer; a Pair.
        trouble_found(int, str): that answer can't be shown; one sentence.
        clips_requested(object): a ClipsRequested for the clips job.
    """

    stills_drawn = Signal(int)
    pair_drawn = Signal(int, object)
    trouble_found = Signal(int, str)
    clips_requested = Signal(object)

    def __init__(self, reader: StoreReader, tokens: itertools.count[int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reader, self._tokens = reader, tokens
        self._stills: OrderedDict[int, Stills] = OrderedDict()
        self._pairs: OrderedDict[int, Pair] = OrderedDict()
        self.troubles: dict[int, str] = {}
        self._wanted: list[int] = []
        self._to_play: int | None = None
        self._under_way = ""
        self._drawing: tuple[ClipsRequested, Query] | None = None
        reader.task_done.connect(self._on_read)
        reader.task_refused.connect(self._on_refused)

    def stills(self, key: int) -> Stills | None:
        """Those of an answer on screen, if they are drawn already; otherwise `stills_drawn` follows."""
        if key in self._stills:
            self._stills.move_to_end(key)
            return self._stills[key]
        if key not in self._wanted and key not in self.troubles and self._under_way != f"stills {key}":
            self._wanted.append(key)
            del self._wanted[:-_WAITING]
            self._next()
        return None

    def play(self, key: int) -> None:
        """Asks for the clips of an answer; of several asked for in a row only the last is drawn."""
        self._to_play = key
        if key in self._pairs:
            self._to_play = None
            self._pairs.move_to_end(key)
            self.pair_drawn.emit(key, self._pairs[key])
        else:
            self._next()

    def forget(self) -> None:
        """Nobody looks any more; what is under way comes to nobody."""
        self._ended()
        self._stills.clear()
        self._pairs.clear()
        self.troubles.clear()
        self._wanted.clear()
        self._to_play = None

    def take_clips(self, event: ClipsRendered) -> bool:
        """False where the clips are another's."""
        if self._drawing is None or event.token != self._drawing[0].token:
            return False
        query = self._drawing[1]
        kind, key = self._ended()
        if kind == "pair":
            _keep(self._pairs, key, Pair(query, *event.clips), _PAIRS)
            self.pair_drawn.emit(key, self._pairs[key])
        else:
            _keep(self._stills, key, (_small(event.clips[0]), _small(event.clips[1])), _STILLS)
            self.stills_drawn.emit(key)
        self._next()
        return True

    def redraw(self) -> None:
        """The clips job was started anew: what it was drawing would not come."""
        if self._drawing:
            self.clips_requested.emit(self._drawing[0])

    def _next(self) -> None:
        if self._under_way:
            return
        if self._to_play is not None:
            kind, key, self._to_play = "pair", self._to_play, None
        elif self._wanted:
            kind, key = "stills", self._wanted.pop()
        else:
            return
        self._under_way = f"{kind} {key}"
        self._reader.ask(lambda store: _query(store, key), self._under_way)

    def _on_read(self, name: str, result: Any) -> None:
        if name != self._under_way or self._drawing:
            return
        both = result.left, result.right
        segments, fps = (both, CLIP_FPS) if name.startswith("pair") else (tuple(map(_moment, both)), _ONE_FRAME)
        self._drawing = ClipsRequested(next(self._tokens), segments, CLIP_SIZE, fps), result
        self.clips_requested.emit(self._drawing[0])

    def _on_refused(self, name: str, sentence: str) -> None:
        if name != self._under_way:
            return
        key = self._ended()[1]
        self.troubles[key] = sentence
        self.trouble_found.emit(key, sentence)
        self._next()

    def _ended(self) -> tuple[str, int]:
        """Kind and number of what was under way."""
        kind, _, key = self._under_way.partition(" ")
        self._under_way, self._drawing = "", None
        return kind, int(key or 0)


def _query(store: PreferenceStore, key: int) -> Query:
    """UserError, in a sentence short enough for a row of a list, where the answer can't be read."""
    try:
        return store.answers(key)[0].preference.query
    except UserError as error:
        if error.__cause__ is None:
            raise
        raise UserError(unreadable(key, error.__cause__)) from error


def _moment(segment: Segment) -> Segment:
    """The middle of a segment, with nothing that isn't drawn."""
    middle, nothing = len(segment.states) // 2, segment.actions[:0]
    shown = segment.states[middle : middle + 1].copy()
    return replace(segment, observations=nothing, actions=nothing, states=shown, true_rewards=None)


def _small(frames: Frames) -> QPixmap:
    pixels = frames.pixels[0]
    height, width = pixels.shape[:2]
    image = QImage(pixels.data, width, height, 3 * width, QImage.Format.Format_RGB888)
    smooth, whole = Qt.TransformationMode.SmoothTransformation, Qt.AspectRatioMode.KeepAspectRatio
    return QPixmap.fromImage(image.scaled(2 * STILL, 2 * STILL, whole, smooth))


def _keep(kept: OrderedDict[int, Any], key: int, value: Any, most: int) -> None:
    kept[key] = value
    while len(kept) > most:
        kept.popitem(last=False)
