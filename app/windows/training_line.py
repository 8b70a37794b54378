"""One line below the clips: the state of the training, and buttons to continue or finish it."""

import math
import time

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.labelling.pair_queue import Pair
from app.session.controller import Controller, State
from app.style.glossary import explain
from app.style.labels import ElidedLabel, keep_place, set_property, tab_button, tip
from app.style.layouts import row
from core.types import Teacher

_SETTLED_SECONDS = 2.0
"""Minimum time between two changes of the text, so that it does not flicker."""
_UNDO = "undo the finish."
_JUDGE = f"If the policy got worse, {_UNDO}"
_JUDGE_ALONE = "If the policy got worse, answer more pairs."
"""Advice after a finish that can't be undone."""
_JUDGE_TIP = (
    "The predicted return can rise while the behaviour gets worse: a policy may exploit errors of the reward model,"
    " especially after few answers. Watch the newest policy. If it is worse, undo the finish, which returns to the policy"
    " from before it, answer some more pairs, and finish again. Your next pairs compare the policies from before and after"
    " the finish; you can still undo it after these answers. If that does not help, begin a new session with the answers of"
    " this one."
)


class TrainingLine(QWidget):
    """Text with three buttons, in a session whose answers drive the training; otherwise the text alone.

    keep: button that lets training continue without answers, or makes it wait again
    """

    def __init__(self, controller: Controller, finish: QAction, undo_finish: QAction) -> None:
        super().__init__()
        self._controller, self._finish, self._undo_finish = controller, finish, undo_finish
        self._changed_at, self._marks_pair = -math.inf, False
        self.text, self.keep = ElidedLabel("stages"), tab_button("Keep training")
        self.undo_finish, self.finish = tab_button("Undo finish"), tab_button("Finish training")
        keep_place(self.finish, controller.course.follows_answers)  # else the clips would jump
        for part in (self.keep, self.finish, self.undo_finish):
            part.hide()  # until the first refresh
        self.text.setSizePolicy(
            QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred
        )  # the window is no wider for it
        self.keep.setToolTip("Switch between waiting for your answers and training without them")
        self.keep.clicked.connect(self._on_keep_clicked)
        controller.labelling.pair_shown.connect(self._on_pair_shown)
        for button, action in ((self.finish, finish), (self.undo_finish, undo_finish)):
            button.setToolTip(action.statusTip())
            button.clicked.connect(action.trigger)
        explain(self, "finish")
        row((self.text, 1), self.keep, self.finish, self.undo_finish, of=self, margins=(4, 0, 4, 0))

    def refresh(self, at_once: bool = False) -> None:
        """Update the text, at most every two seconds unless the person has just done something."""
        controller, course = self._controller, self._controller.course
        can_finish, can_undo = controller.can_finish, controller.can_undo_finish
        self._finish.setEnabled(can_finish)
        self._undo_finish.setEnabled(can_undo)
        self.undo_finish.setVisible(can_undo and (course.finish_asked or course.done or bool(_comparison(controller))))
        self.finish.setVisible(can_finish)
        self.keep.setVisible(can_finish and not course.finished)  # a finish ends with the next answer only
        self.keep.setText("Wait for answers" if course.lifted else "Keep training")
        self.finish.setText("Finish again" if course.finished else "Finish training")
        advised = course.comparison.prefers_earlier
        if self.undo_finish.property("advised") != advised:
            set_property(self.undo_finish, "advised", advised)
        text = _sentence(controller)
        at_once = at_once or not text
        if text != self.text.text() and (at_once or time.monotonic() - self._changed_at >= _SETTLED_SECONDS):
            self._changed_at = time.monotonic()
            self.text.setText(text)
            self.text.setToolTip(tip(_JUDGE_TIP) if text.endswith((_UNDO, _JUDGE_ALONE)) else "")

    def _on_pair_shown(self, pair: Pair) -> None:
        """Mark a pair that compares two policies as soon as it is shown, and only while it is shown."""
        marked, self._marks_pair = self._marks_pair, pair.query.comparison is not None
        if marked or self._marks_pair:
            self.refresh(at_once=True)

    def _on_keep_clicked(self) -> None:
        self._controller.hold(self._controller.course.lifted)
        self.refresh(at_once=True)


def _sentence(controller: Controller) -> str:
    course, progress = controller.course, controller.progress
    if controller.state != State.RUNNING:
        return ""  # a bar at the top says more
    if (share := course.finishing) is not None:
        return f"Finishing training: {100 * share:.0f}%. Your next answer ends this and resumes teaching."
    if controller.can_undo_finish and (text := _comparison(controller)):
        return text
    if course.done:
        return "All steps are used. Begin a new session with what this one has learned."
    if course.finished:
        return _result(controller)
    if course.holding:
        return _hold(controller)
    if progress.labels_to_start:  # the strip counts them: a line that changes every two seconds would lag
        first = "answer" if progress.first_labels == 1 else f"{progress.first_labels} answers"
        return f"Training starts after the first {first}, not counting “can't tell”."
    if not course.started:
        return "The reward model is learning from your answers."
    if not course.advancing:  # the jobs of a resumed session
        return "Training is starting."
    return "Training continues without answers." if course.lifted else "Training is running."


def _comparison(controller: Controller) -> str:
    """Return a sentence about the answers that compare the policies from before and after the finish; '' for none."""
    pair, comparison = controller.labelling.pairs.shown, controller.course.comparison
    if pair is not None and (made := comparison.made_by(pair.query)) is not None:
        return f"Pairs left: {made.left}. The clips are from before and after the finish."
    if (preferred := comparison.preferred) is None:
        return ""
    earlier, later, total = preferred
    if comparison.prefers_earlier:
        return f"The earlier policy was preferred in {earlier} of {total} pairs: {_UNDO}"
    result = f"The finished policy was preferred in {later} of {total} pairs, the earlier one in {earlier}."
    return result if comparison.just_completed else ""


def _hold(controller: Controller) -> str:
    if controller.labelling.teacher != Teacher.ORACLE:
        return "Training waits for your next answer. If you like what you see, finish the training."
    if controller.progress.asks_oracle:
        return "Training waits for the computer's next answer."
    return "The computer has given all its answers. Answer yourself, or finish the training."


def _result(controller: Controller) -> str:
    results = {
        None: "Training is finished.",
        True: "Finished: the predicted return rose.",
        False: "Finished: the predicted return did not rise.",
    }
    return f"{results[controller.course.gained]} {_JUDGE if controller.can_undo_finish else _JUDGE_ALONE}"
