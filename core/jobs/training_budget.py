"""Training that a session's answers allow: how many steps may be taken before the next answer, and how training ends."""

from __future__ import annotations

from typing import Any

from core.config import Config
from core.events import Event, FinishRequested, HoldChanged, PreferenceAdded, PreferenceChanged, PreferenceWithdrawn
from core.preferences.schedule import FINISHED, HOLDS, finishing
from core.types import Teacher


class TrainingBudget:
    """Environment steps that may be taken, in a session whose schedule follows the answers.

    A human's session holds when each answer has been trained on for config.rollout.steps_per_answer steps, so that the
    result depends neither on the machine's speed nor on the human's. The hold can be lifted. A finish, which the human
    requests and the next answer ends, takes config.rollout.finish_steps more, or the session's remaining steps, the second
    half at a falling learning rate. In a headless session, answers come when they are due, and the finish is its last part.

    An undone answer keeps its steps: the answers given next would allow none otherwise, and redoing it allows no more.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._by_answers = config.query.by_answers
        self._limited = self._by_answers and config.teacher == Teacher.HUMAN and config.rollout.steps_per_answer > 0
        self._started: int | None = None
        """Environment steps from which answers are counted: at the first reward, or later (see `reason_to_hold`)."""
        self._answers = config.query.first_of(config.labels) - 1
        """Number of answers that allow no steps beyond `_started`."""
        self.finish_began: int | None = None
        """Environment steps at which a human requested a finish; None without one, or if an answer has ended it."""
        self._newest_answer = 0
        """Id of the newest preference: preferences replayed after a restart do not end a finish."""
        self._usable, self._undone = set[int](), set[int]()
        """Ids of the answers without "can't tell", and of those that were undone since training started."""
        self._lifted = False

    def receive(self, event: Event, env_steps: int) -> None:
        match event:
            case HoldChanged(on):
                self._lifted = not on
            case FinishRequested():
                self.finish_began = env_steps
            case PreferenceAdded(preference) | PreferenceChanged(preference):
                usable = preference.choice.usable
                self._undone.discard(preference.id)
                self._usable.discard(preference.id)
                if usable:
                    self._usable.add(preference.id)
                if preference.id > self._newest_answer:
                    self._newest_answer = preference.id
                    self.finish_began = None if usable else self.finish_began
            case PreferenceWithdrawn(preference_id) if preference_id in self._usable:
                self._usable.remove(preference_id)
                self._undone.add(preference_id)

    def start(self, env_steps: int, answers: int) -> None:
        """Count answers from these steps, at which there is a first reward to train on; later calls have no effect.

        answers: see `reason_to_hold`; fewer than usual if the reward was taken over from another session
        """
        if self._started is None:
            self._started, self._answers = env_steps, min(self._answers, answers - 1)
            self._undone.clear()

    def reason_to_hold(self, env_steps: int, answers: int) -> str:
        """Return why training holds at this number of answers (not undone, without "can't tell"); '' if it may continue.

        While the hold is lifted or a finish is under way, counting restarts whenever the answers' steps are spent.
        """
        if not self._limited or self._started is None:
            return ""
        answers += len(self._undone)
        spent = env_steps >= self._started + self._config.rollout.steps_per_answer * max(0, answers - self._answers)
        if not self._lifted and self.finish_began is None:
            return HOLDS if spent else ""
        if spent:  # later answers count from here
            self._started, self._answers = env_steps, answers
        return FINISHED if self._finish is not None and env_steps >= self._finish.stop else ""

    def progress(self, env_steps: int) -> float:
        """Return the progress, 0 to 1, of the falling learning rate; in the paper's schedule, that of the whole session."""
        config = self._config
        if not self._by_answers:
            return min(1.0, env_steps / config.planned_steps)
        if config.teacher != Teacher.HUMAN:
            return finishing(env_steps, config.planned_steps, config.finishing_steps)
        finish = self._finish
        return 0.0 if finish is None else finishing(env_steps, finish.stop, len(finish) // 2)

    def share_finished(self, env_steps: int) -> float | None:
        """Return the progress of the finish, 0 to 1; None if no human has requested one since the last answer."""
        finish = self._finish
        return None if finish is None else finishing(env_steps, finish.stop, len(finish))

    @property
    def _finish(self) -> range | None:
        """Environment steps of the finish that a human has requested, which ends with the session's steps at the latest."""
        if self.finish_began is None:
            return None
        return range(self.finish_began, min(self.finish_began + self._config.rollout.finish_steps, self._config.steps))

    def get_state(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {
            "started": self._started,
            "answers": self._answers,
            "finished_from": self.finish_began,
            "newest_answer": self._newest_answer,
            "undone": sorted(self._undone),
        }

    def set_state(self, values: dict[str, Any]) -> None:
        self._started, self.finish_began = (
            None if values[name] is None else int(values[name]) for name in ("started", "finished_from")
        )
        self._answers, self._newest_answer = int(values["answers"]), int(values["newest_answer"])
        self._undone = set(values["undone"])
