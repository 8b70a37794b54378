"""Cache of rendered answers: still images for the list, and clips to play. No widgets.

Memory is bounded: only answers on screen are rendered, and only the latest are kept.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QPixmap

from app.labelling.pair_queue import CLIP_FPS, CLIP_SIZE, Pair
from app.style.images import of_pixels
from app.workers.background_thread import StoreThread
from app.workers.job_requests import JobRequests
from core.errors import UserError
from core.io.segment_codec import can_be_shown
from core.preferences.store import PreferenceStore
from core.service_events import ClipsRendered, ClipsRequested
from core.types import Frames, Query, Segment
from core.version import COMMAND_LINE

STILL = 84
"""Side of a still in the list in pixels; stills have twice as many, for dense screens."""
_ONE_FRAME = 1.0
_MAX_STILLS, _MAX_PAIRS = 64, 2
"""14 MB of stills, and 120 MB of clips."""
_MAX_WAITING = 24
"""Maximum number of rows that wait for stills; earlier ones were scrolled past."""
Stills = tuple[QPixmap, QPixmap]


@dataclass(frozen=True, eq=False)
class _Task:
    """Reading and rendering of one answer. clips: for clips to play, or else for stills; key: the answer's id"""

    clips: bool
    key: int


class ClipCache(QObject):
    """Renders one answer at a time, clips before stills: labelling needs the same child.

    troubles: reasons why answers can't be shown, one sentence each, by the answer's id

    Signals:
        stills_drawn(int): the stills of this answer are ready.
        pair_drawn(int, object): the clips of this answer are ready; a Pair.
        trouble_found(int, str): this answer can't be shown; one sentence.
    """

    stills_drawn = Signal(int)
    pair_drawn = Signal(int, object)
    trouble_found = Signal(int, str)

    def __init__(self, reader: StoreThread, requests: JobRequests, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reader, self._job_requests = reader, requests
        self._stills: OrderedDict[int, Stills] = OrderedDict()
        self._pairs: OrderedDict[int, Pair] = OrderedDict()
        self.troubles: dict[int, str] = {}
        self._waiting: list[int] = []
        """Ids of answers without stills."""
        self._to_play: int | None = None
        self._task: _Task | None = None
        """The task under way; one that is not this object was cancelled."""
        self._token = 0
        """Token of the latest rendering."""

    @property
    def idle(self) -> bool:
        return not self._task and not self._waiting

    def stills(self, key: int) -> Stills | None:
        """Return the stills of an answer on screen, or None; then `stills_drawn` follows."""
        if key in self._stills:
            self._stills.move_to_end(key)
            return self._stills[key]
        under_way = self._task is not None and self._task.key == key and not self._task.clips
        if key not in self._waiting and key not in self.troubles and not under_way:
            self._waiting.append(key)
            del self._waiting[:-_MAX_WAITING]
            self._start_next()
        return None

    def play(self, key: int) -> None:
        """Request the clips of an answer; `pair_drawn` follows, unless another answer is requested first."""
        self._to_play = key
        if key in self._pairs:
            self._to_play = None
            self._pairs.move_to_end(key)
            self.pair_drawn.emit(key, self._pairs[key])
        else:
            self._start_next()

    def clear(self) -> None:
        self._job_requests.cancel(self._token)
        self._task = None
        self._stills.clear()
        self._pairs.clear()
        self.troubles.clear()
        self._waiting.clear()
        self._to_play = None

    def _start_next(self) -> None:
        if self._task:
            return
        if self._to_play is not None:
            task, self._to_play = _Task(True, self._to_play), None
        elif self._waiting:
            task = _Task(False, self._waiting.pop())
        else:
            return
        self._task = task
        done, refused = partial(self._on_read, task), partial(self._on_refused, task)
        self._reader.ask(lambda store: _read_query(store, task.key), done, refused)

    def _on_read(self, task: _Task, query: Query) -> None:
        if task is not self._task:
            return  # cancelled
        segments, fps = (query.left, query.right), CLIP_FPS
        if not task.clips:
            segments, fps = (_middle(query.left), _middle(query.right)), _ONE_FRAME
        self._token = self._job_requests.send(
            lambda token: ClipsRequested(token, segments, CLIP_SIZE, fps), partial(self._on_rendered, task, query)
        )

    def _on_rendered(self, task: _Task, query: Query, event: ClipsRendered) -> None:
        self._task = None
        if task.clips:
            self._pairs[task.key] = Pair(query, *event.clips)
            _trim(self._pairs, _MAX_PAIRS)
            self.pair_drawn.emit(task.key, self._pairs[task.key])
        else:
            self._stills[task.key] = _still(event.clips[0]), _still(event.clips[1])
            _trim(self._stills, _MAX_STILLS)
            self.stills_drawn.emit(task.key)
        self._start_next()

    def _on_refused(self, task: _Task, sentence: str) -> None:
        if task is not self._task:
            return
        self._task = None
        self.troubles[task.key] = sentence
        self.trouble_found.emit(task.key, sentence)
        self._start_next()


def _read_query(store: PreferenceStore, key: int) -> Query:
    """Return an answer's query. Raises UserError, short enough for a row of the list, if it can't be read or shown."""
    try:
        query = store.answer(key).query
    except UserError as error:
        if error.__cause__ is None:
            raise
        saves = f"{COMMAND_LINE} preferences export SESSION FOLDER saves the undamaged answers"
        raise UserError(f"Answer {key} can't be read ({error.__cause__}): {saves}.") from error
    if not can_be_shown(query):
        raise UserError(f"Answer {key} has no pictures: it was given without a window.")
    return query


def _middle(segment: Segment) -> Segment:
    """Return the middle state of a segment, with nothing that rendering does not need."""
    middle, nothing = len(segment.states) // 2, segment.actions[:0]
    state = segment.states[middle : middle + 1].copy()
    return replace(segment, observations=nothing, actions=nothing, states=state, true_rewards=None)


def _still(frames: Frames) -> QPixmap:
    image = of_pixels(frames.pixels[0])
    smooth, whole = Qt.TransformationMode.SmoothTransformation, Qt.AspectRatioMode.KeepAspectRatio
    return QPixmap.fromImage(image.scaled(2 * STILL, 2 * STILL, whole, smooth))


def _trim(cache: OrderedDict[int, Any], size: int) -> None:
    while len(cache) > size:
        cache.popitem(last=False)
