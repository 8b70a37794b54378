"""Writer of the open session's summary and picture, for the list of sessions. No widgets."""

import logging
import math
import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Qt

from app.live.demonstrations import Demonstration
from app.session.controller import Controller, State
from app.session.metrics_recorder import of_figure
from app.style.images import encoded, of_pixels
from core.events import Event, RolloutReported
from core.io import files
from core.metrics import CAPACITY
from core.session import summary
from core.session.session import Session
from core.session.summary import Summary

log = logging.getLogger(__name__)
_PICTURE_SIZE = 192


class SummaryWriter(QObject):
    """Writes the summary once the answers are counted, and after each pause, stop, checkpoint and change of teacher.

    Make it in the same turn of the event loop as the controller, which counts them. It writes in the thread of the
    session's files, which the controller ends. A failure is logged, shown once, and stops nothing: a session is complete
    without its summary.
    """

    def __init__(self, controller: Controller) -> None:
        super().__init__(controller)
        self._controller = controller
        self._counted = self._undone = False
        self._best: float | None = None
        self._demonstration: Demonstration | None = None
        self._failure_told = False
        controller.job_group.event_arrived.connect(self._on_event)
        controller.demonstrations.demonstration_drawn.connect(self._on_demonstration_drawn)
        controller.demonstrations.forgotten.connect(self._on_undone)
        controller.checkpointer.saved.connect(self.write)
        controller.state_changed.connect(self._on_state_changed)
        controller.labelling.teacher_changed.connect(self.write)
        controller.labelling.answers_counted.connect(self._on_counted)

    def write(self) -> None:
        """Write the current summary and picture; ignored before the answers are counted."""
        if not self._counted:
            return
        controller, task = self._controller, self._controller.task
        current = Summary(
            task=controller.session.config.task,
            teacher=controller.labelling.lasting_teacher,
            labels=controller.progress.labels,
            env_steps=controller.progress.env_steps,
            measure_title=task.measure_title,
            best=self._best,
            used_at=time.time(),
        )
        session, demonstration = controller.session, self._demonstration
        self._do(partial(_write_summary, session, current, self._undone), "summary")
        if demonstration is not None:
            self._demonstration = None
            self._do(partial(_write_picture, session, demonstration), "picture")

    def _do(self, write: Callable[[], None], name: str) -> None:
        self._controller.checkpointer.disk.do(write, self._on_written, partial(self._on_refused, name))

    def _on_counted(self) -> None:
        self._counted = True
        self.write()

    def _on_event(self, event: Event) -> None:
        task = self._controller.task
        late = self._undone and self._controller.state != State.RUNNING  # perhaps of the undone finish
        if isinstance(event, RolloutReported) and task.measure_name in event.measure and not late:
            if self._undone and self._best is None:
                _, figures = self._controller.metrics.snapshot(of_figure(task.measure_name), CAPACITY)
                self._best = max(filter(math.isfinite, figures.tolist()), default=None)
            self._best = summary.better(event.measure[task.measure_name], self._best)

    def _on_undone(self) -> None:
        """Forget the figures and the picture of the undone finish; the metrics, which go back too, have the earlier ones."""
        self._undone, self._best, self._demonstration = True, None, None

    def _on_demonstration_drawn(self, demonstration: Demonstration) -> None:
        self._demonstration = demonstration

    def _on_state_changed(self, state: str) -> None:
        if state in (State.PAUSED, State.STOPPED):
            self.write()

    def _on_written(self, result: None) -> None:
        self._failure_told = False

    def _on_refused(self, name: str, sentence: str) -> None:
        text = f"The session's {name} was not saved: {sentence}"
        log.warning("%s", text)
        if not self._failure_told:
            self._failure_told = True
            self._controller.trouble_arose.emit(text)


def _write_summary(session: Session, current: Summary, best_may_fall: bool) -> None:
    session.require_folder()
    summary.renew(session.folder, current, best_may_fall)


def _write_picture(session: Session, demonstration: Demonstration) -> None:
    """Write the middle frame of the demonstration."""
    session.require_folder()
    pixels = demonstration.frames.pixels[len(demonstration.frames.pixels) // 2].copy()
    smooth = Qt.TransformationMode.SmoothTransformation
    small = of_pixels(pixels).scaled(_PICTURE_SIZE, _PICTURE_SIZE, Qt.AspectRatioMode.KeepAspectRatio, smooth)
    files.write_atomically(session.folder / summary.PICTURE, encoded(small, "JPG"))
