"""Animated previews of the tasks: clips of the goal that ship, or of random motion, rendered once and cached. No widgets."""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from platformdirs import user_cache_dir
from PySide6.QtCore import QObject, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QImage

from app.style import theme
from app.style.images import decoded, encoded, of_pixels
from app.workers.background_thread import BackgroundThread
from app.workers.job_worker import MakeProcess
from app.workers.service_process import ServiceProcess
from core.errors import UserError
from core.events import Event, JobSpec
from core.io import files
from core.service_events import PreviewDrawn, PreviewRefused, PreviewRequested
from core.tasks import get_task
from core.tasks.behaviour_tasks import is_behaviour_text
from core.types import Frames
from core.version import VERSION

log = logging.getLogger(__name__)
GOALS = theme.RESOURCES / "goals"
"""Clips of trained policies, by the tasks' names; tests/benchmarks/goal_clips.py makes them."""
UNTRAINED = "untrained"
"""Text on the previews of untrained policies."""
_DRAWING = 3
"""Part of the cache's path. Raise it when tasks are rendered differently, so that old pictures are not shown."""
_LONGEST = 16 << 20
_LINGER_MS = 1000
"""Time that the child stays when there is nothing to render: the next request often follows at once."""


@dataclass(frozen=True)
class Preview:
    """A loop of square pictures, stacked vertically in one image so that no frame has to be copied.

    shows_goal: it is of a trained policy, and otherwise of random actions
    """

    strip: QImage
    shows_goal: bool = False

    @property
    def count(self) -> int:
        return self.strip.height() // self.strip.width()

    def place(self, frame: int) -> QRect:
        """Return the rectangle of this frame of the loop within the strip."""
        side = self.strip.width()
        return QRect(0, frame % self.count * side, side, side)

    def still(self, side: int, frame: int = 0) -> QImage:
        return self.strip.copy(self.place(frame)).scaledToWidth(side, Qt.TransformationMode.SmoothTransformation)


def of_frames(frames: Frames) -> Preview:
    count, height, width, _ = frames.pixels.shape
    image = of_pixels(frames.pixels.reshape(count * height, width, 3))
    return Preview(image.convertToFormat(QImage.Format.Format_RGB32))  # a copy, as the frames may go


def _name(task: str) -> str:
    """Return the name of a task in sentences."""
    return get_task(task).title if is_behaviour_text(task) else task


def _file_name(task: str) -> str:
    return sha256(task.encode()).hexdigest() if is_behaviour_text(task) else quote(task, safe="")


def of_file(path: Path, shows_goal: bool = False) -> Preview | None:
    """Return the preview that is kept in a file, or None if there is no undamaged one."""
    try:
        content = files.read_regular(path, _LONGEST)
    except OSError:
        return None
    image = decoded(content).convertToFormat(QImage.Format.Format_RGB32)
    whole = not image.isNull() and image.height() >= image.width() and image.height() % image.width() == 0
    return Preview(image, shows_goal) if whole else None


def cache_folder() -> Path:
    return Path(user_cache_dir("somersault", appauthor=False)) / "previews" / f"{VERSION}-{_DRAWING}"


class Previews(QObject):
    """Provides the previews that are requested. A child process runs only while there is something to render.

    Signals:
        preview_ready(str, object): the task's name and its Preview.
        preview_refused(str, str): the task can't be rendered; its name and one sentence.
    """

    preview_ready = Signal(str, object)
    preview_refused = Signal(str, str)

    def __init__(self, make_process: MakeProcess, folder: Path | None = None, goals: Path = GOALS) -> None:
        """folder: the user's cache"""
        super().__init__()
        self._folder, self._goals = folder or cache_folder(), goals
        self._wanted: deque[str] = deque()
        self._drawing: str | None = None
        self._process = ServiceProcess(make_process, self._on_event, self._on_end, self)
        self._on = True
        self._rest = QTimer(self, singleShot=True, interval=_LINGER_MS)
        self._rest.timeout.connect(self._process.cancel)
        self._disk = BackgroundThread(self)

    def request(self, task: str, urgent: bool = False) -> None:
        """Request the preview of a task. urgent: before all earlier requests"""
        want = partial(self._want, task, urgent)
        self._disk.do(lambda: self._stored(task), partial(self._on_looked_up, task, want), lambda _: want())

    def hold(self, on: bool) -> None:
        """Render nothing while `on`, since a session needs the processor. Open requests are rendered afterwards."""
        self._on = not on
        if on:
            self._process.cancel()
        self._draw_next()

    def close(self) -> None:
        """End the child and the thread, and block until they have ended."""
        self._on = False
        self._rest.stop()
        self._process.close()
        self._disk.close()

    def _path(self, task: str) -> Path:
        return self._folder / f"{_file_name(task)}.jpg"

    def _stored(self, task: str) -> Preview | None:
        """Read the clip that ships, else the cache, in the disk's thread."""
        goal = self._goals / f"{_file_name(task)}.jpg"
        return of_file(goal, shows_goal=True) or of_file(self._path(task))

    def _keep(self, task: str, frames: Frames) -> Preview:
        """Write to the cache, in the disk's thread. A preview that can't be written is rendered again another time."""
        preview = of_frames(frames)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            files.write_atomically(self._path(task), encoded(preview.strip, "JPG"))
        except Exception as error:
            log.warning("The picture of %s can't be kept: %s", _name(task), error)
        return preview

    def _on_looked_up(self, task: str, want: Callable[[], None], preview: Preview | None) -> None:
        if preview is not None:
            self.preview_ready.emit(task, preview)
        else:
            want()

    def _want(self, task: str, urgent: bool) -> None:
        if urgent and task in self._wanted:
            self._wanted.remove(task)
        if task != self._drawing and task not in self._wanted:
            self._wanted.insert(0 if urgent else len(self._wanted), task)
        self._draw_next()

    def _draw_next(self) -> None:
        if self._drawing or not self._on:
            return
        if not self._wanted:
            self._rest.start()
            return
        self._rest.stop()
        self._drawing = task = self._wanted.popleft()
        try:
            self._process.start(JobSpec("previews", {}))
        except UserError as error:
            self._refuse(task, f"{_name(task)} can't be rendered: {error}.")
            self._draw_next()
        else:
            self._process.send(PreviewRequested(task))

    def _on_event(self, event: Event) -> None:
        match event:
            case PreviewDrawn(task, frames):
                self._drawing = None
                self._disk.do(lambda: self._keep(task, frames), partial(self.preview_ready.emit, task))
            case PreviewRefused(task, sentence):
                self._refuse(task, sentence)
            case _:
                return
        self._draw_next()

    def _refuse(self, task: str, sentence: str) -> None:
        self._drawing = None
        log.warning("%s", sentence)
        self.preview_refused.emit(task, sentence)

    def _on_end(self, reason: str, failure: str) -> None:
        """Refuse the task that a child was rendering when it ended; a new child renders the others."""
        if self._drawing and reason == "stopped":
            self._wanted.appendleft(self._drawing)
            self._drawing = None
        elif self._drawing:
            why = failure or "the rendering process ended unexpectedly"
            self._refuse(self._drawing, f"{_name(self._drawing)} can't be rendered: {why}.")
        self._draw_next()
