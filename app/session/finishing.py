"""Beginning and end of "Finish training", as the person asks for it: between the checkpoints and the rollout."""

from collections.abc import Callable

from app.labelling.training_course import TrainingCourse
from app.workers.checkpointer import Checkpointer
from core.events import Event, FinishRequested


class Finishing:
    """Begins a finish once the checkpoint from before it is saved, so that it can be undone, and ends it.

    waiting: True if a finish that the person has asked for waits for this checkpoint
    """

    def __init__(self, course: TrainingCourse, checkpointer: Checkpointer, send: Callable[[Event], object]) -> None:
        """send: sends an event to the jobs"""
        self._course, self._checkpointer, self._send = course, checkpointer, send
        self._checkpoint = 0
        """Number of the checkpoint after which a finish begins; 0 for none."""

    @property
    def waiting(self) -> bool:
        return bool(self._checkpoint)

    def begin(self) -> None:
        """Start a finish. The next answer ends it, and it can be undone until the next finish.

        Two finishes without an answer between them are undone together, and so are two if the answers prefer the policy
        from before the first one, as the policy between them may already have lost a behaviour.
        """
        unwanted = self._checkpointer.can_undo_finish and self._course.comparison.prefers_earlier
        together = self._course.finish_asked or unwanted
        self._checkpoint = 0 if together else self._checkpointer.keep_before_finish()
        self._course.finish()
        if not self.waiting:
            self._request()

    def saved(self, checkpoint: int) -> None:
        """Begin the finish that waits for this checkpoint, which has been saved or could not be."""
        if self.waiting and checkpoint == self._checkpoint:
            self._checkpoint = 0
            self._request()

    def end(self) -> None:
        """End a finish, also one that has not begun; an earlier one can then still be undone."""
        self._course.end_finish()
        self._checkpoint = 0
        self._checkpointer.cancel_before_finish()

    def _request(self) -> None:
        self._course.comparison.restart()  # not before: pairs of an earlier finish may have come since the person asked
        self._send(FinishRequested())
