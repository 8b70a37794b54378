"""Moving pictures of the tasks: from the person's cache, or drawn by a child process, one by one. No widgets."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from platformdirs import user_cache_dir
from PySide6.QtCore import QObject, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QImage

from app.style.images import encoded
from app.workers.background_thread import BackgroundThread
from app.workers.job_worker import JobWorker, MakeProcess, Process
from core.config import Config
from core.errors import summary
from core.events import Event, Failed, JobSpec, PreviewDrawn, PreviewRefused, PreviewRequested
from core.io import files
from core.system.child_process import JobDiedError
from core.types import Frames
from core.version import VERSION

log = logging.getLogger(__name__)
FPS = 12.0
_DRAWING = 1
"""Part of the cached files' place: to be raised when tasks are drawn otherwise, so that old pictures are not shown."""
_LONGEST = 16 << 20
_JOB = "previews"
_LINGER_MS = 1000
"""How long the child stays when there is nothing to draw: more is often wanted at once."""


@dataclass(frozen=True)
class Preview:
    """Square pictures, one under the other in one image, so that a frame is a part of it and nothing is copied."""

    strip: QImage

    @property
    def count(self) -> int:
        return self.strip.height() // self.strip.width()

    def place(self, frame: int) -> QRect:
        """Of this frame of the loop within the strip."""
        side = self.strip.width()
        return QRect(0, frame % self.count * side, side, side)

    def still(self, side: int, frame: int = 0) -> QImage:
        """One frame, this small."""
        return self.strip.copy(self.place(frame)).scaledToWidth(side, Qt.TransformationMode.SmoothTransformation)


def of_frames(frames: Frames) -> Preview:
    count, height, width, _ = frames.pixels.shape
    image = QImage(frames.pixels.data, width, count * height, 3 * width, QImage.Format.Format_RGB888)
    return Preview(image.convertToFormat(QImage.Format.Format_RGB32))  # a copy, as the frames may go


def cache_folder() -> Path:
    return Path(user_cache_dir("somersault", appauthor=False)) / "previews" / f"{VERSION}-{_DRAWING}"


class Previews(QObject):
    """Brings each preview that is asked for. A child process is there only while there is something to draw.

    Signals:
        preview_ready(str, object): the task's name and its Preview.
        preview_refused(str, str): the task can't be drawn; its name and one sentence.
    """

    preview_ready = Signal(str, object)
    preview_refused = Signal(str, str)

    def __init__(self, make_process: MakeProcess, folder: Path | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._make_process, self._folder = make_process, folder or cache_folder()
        self._wanted: deque[str] = deque()
        self._drawing: str | None = None
        self._worker: JobWorker | None = None
        self._process: Process | None = None
        self._on = True
        self._rest = QTimer(self, singleShot=True, interval=_LINGER_MS)
        self._rest.timeout.connect(self._on_rest)
        self._disk = BackgroundThread(self)
        self._disk.task_done.connect(self._on_looked_up)
        self._disk.task_refused.connect(self._on_miss)
        self._disk.start()

    def request(self, task: str) -> None:
        """preview_ready or preview_refused follows."""
        self._disk.do(lambda: self._cached(task), task)

    def hold(self, on: bool) -> None:
        """Whether to draw nothing for now: a session wants the processor. What is wanted is drawn afterwards."""
        self._on = not on
        if on:
            self._on_rest()
        self._draw_next()

    def close(self) -> None:
        """Ends the child and the thread; blocks until they have ended."""
        self._on = False
        self._rest.stop()
        self._on_rest()
        if self._worker:
            self._worker.wait()
        self._disk.end()
        self._disk.wait()

    def _path(self, task: str) -> Path:
        return self._folder / f"{quote(task, safe='')}.jpg"

    def _cached(self, task: str) -> Preview | None:
        """In the disk's thread. A file that is damaged counts as none."""
        try:
            content = files.read_small(self._path(task), _LONGEST)
        except (OSError, ValueError):
            return None
        image = QImage.fromData(content).convertToFormat(QImage.Format.Format_RGB32)
        whole = not image.isNull() and image.height() >= image.width() and image.height() % image.width() == 0
        return Preview(image) if whole else None

    def _keep(self, task: str, frames: Frames) -> Preview:
        """In the disk's thread. What can't be kept is only drawn again another time."""
        preview = of_frames(frames)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            files.write_atomically(self._path(task), encoded(preview.strip))
        except Exception as error:
            log.warning("The picture of %s can't be kept: %s", task, error)
        return preview

    def _on_looked_up(self, task: str, preview: Preview | None) -> None:
        if preview is not None:
            self.preview_ready.emit(task, preview)
        else:
            self._want(task)

    def _on_miss(self, task: str, sentence: str) -> None:
        log.warning("The picture of %s can't be read: %s", task, sentence)
        self._want(task)

    def _want(self, task: str) -> None:
        if task != self._drawing and task not in self._wanted:
            self._wanted.append(task)
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
            process = self._process or self._start()
            with contextlib.suppress(JobDiedError):  # _on_finished comes next, and tells
                process.send(PreviewRequested(task))
        except Exception as error:  # too many open files, above all
            self._refuse(task, f"{task} can't be drawn: {summary(error).rstrip('.')}.")
            self._draw_next()

    def _on_rest(self) -> None:
        if self._worker:
            self._worker.cancel()

    def _start(self) -> Process:
        self._process = process = self._make_process(JobSpec(_JOB, Config().to_dict()))
        self._worker = JobWorker(_JOB, process, lambda event: True, self)
        self._worker.event_arrived.connect(self._on_event)
        self._worker.finished_with.connect(self._on_finished)
        self._worker.start()
        return process

    def _on_event(self, event: Event) -> None:
        match event:
            case PreviewDrawn(task, frames):
                self._drawing = None
                self._disk.do(lambda: self._keep(task, frames), task)
            case PreviewRefused(task, sentence):
                self._refuse(task, sentence)
            case Failed():
                log.error("The %s stage failed: %s\n%s", event.job, event.summary, event.text)
                return
            case _:
                return
        self._draw_next()

    def _refuse(self, task: str, sentence: str) -> None:
        self._drawing = None
        log.warning("%s", sentence)
        self.preview_refused.emit(task, sentence)

    def _on_finished(self, name: str, reason: str) -> None:
        """A child that died took only the task with it that it was drawing; the others are drawn by another."""
        worker, self._worker, self._process = self._worker, None, None
        assert worker is not None
        worker.wait()
        worker.deleteLater()
        if self._drawing and reason == "stopped":
            self._wanted.appendleft(self._drawing)
            self._drawing = None
        elif self._drawing:
            self._refuse(self._drawing, f"{self._drawing} can't be drawn: the process that draws it has ended.")
        self._draw_next()
