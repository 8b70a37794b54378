"""State of a training that answers drive: on hold, continuing without answers, or finishing. Pure."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from statistics import fmean, pstdev

from app.labelling.finish_comparison import FinishComparison
from core.config import Config
from core.preferences.schedule import DONE, FINISHED, HOLDS

_JUDGED_SHARE = 0.1
"""Share of the steps of a finish over which the predicted return is averaged, before it and at its end."""


class TrainingCourse:
    """State of the training, updated from the reports of the rollout.

    follows_answers: training holds without answers and can be finished
    lifted: training may continue without answers
    holding: training waits for the next answer
    finishing: share of the finish that is done; None if none is under way
    finished: the finish is over
    done: the session has taken all its steps
    comparison: answers about the policies from before and after the latest finish
    """

    def __init__(self, config: Config) -> None:
        self.follows_answers = config.query.by_answers and config.rollout.steps_per_answer > 0
        self.lifted = self.holding = self.finished = self.done = False
        self.finishing: float | None = None
        self._steps = max(1, config.rollout.finish_steps)
        self._env_steps = self._resumed_at = 0
        self._fitted_before = False
        self._finish_from: int | None = None
        """Environment steps at which the person asked for a finish; None for one of an earlier run until it is over."""
        self._inferred = False
        """True if the finish was inferred from the rollout's wait; a late report of it can follow the answer that ended the finish."""
        self._before: list[float] = []
        """Predicted returns of the batches just before the finish."""
        self._returns: deque[tuple[int, float]] = deque(maxlen=1000)
        """Environment steps and predicted return of the latest batches."""
        self.comparison = FinishComparison()

    def resumed(self, env_steps: int, fitted: bool, returns: Iterable[tuple[int, float]] = ()) -> None:
        """Set the point from which training continues.

        fitted: True if a reward was fitted by then
        returns: environment steps and predicted returns of the batches by then
        """
        self._env_steps, self._resumed_at, self._fitted_before = env_steps, env_steps, fitted
        self._returns.clear()
        self._returns.extend((steps, value) for steps, value in returns if math.isfinite(value))

    def waited(self, reason: str) -> None:
        """Update the state from the rollout's reason for waiting."""
        if reason == HOLDS and self._finish_from is not None:
            if not self._inferred:
                return  # sent before the rollout received the request to finish
            self.end_finish()
        self.holding, self.finished, self.done = reason == HOLDS, reason == FINISHED, reason == DONE
        if self.holding or self.finished or self.done:
            self.finishing = None
        if self.finished and self._finish_from is None:
            self._begin_finish(self._env_steps - self._steps)
            self._inferred = True

    def reported(self, env_steps: int, predicted_return: float, finishing: float | None) -> None:
        """Take a report: training is under way. finishing: as in RolloutReported"""
        if finishing is None and self._inferred:
            self.end_finish()
        self._env_steps = env_steps
        if finishing is not None or self._finish_from is None:  # else sent before the rollout received the request
            self.finishing = finishing
        self.holding = self.finished = False
        if math.isfinite(predicted_return):
            self._returns.append((env_steps, predicted_return))

    def end_finish(self) -> None:
        """End the finish, if there is one: an answer allows more training, or the finish was undone."""
        self._finish_from = self.finishing = None
        self.holding = self.finished = self._inferred = False

    def finish(self) -> None:
        """Begin a finish."""
        self._begin_finish(self._env_steps)
        self.finishing, self.finished = 0.0, False

    def _begin_finish(self, env_steps: int) -> None:
        before = self._returns_since(env_steps - _JUDGED_SHARE * self._steps, env_steps)
        self._finish_from, self._before, self._inferred = env_steps, before, False

    @property
    def finish_asked(self) -> bool:
        """True from the request for a finish until an answer ends it."""
        return self._finish_from is not None or self.finishing is not None or self.finished

    @property
    def started(self) -> bool:
        """True once there is a reward to train on."""
        return self._fitted_before or bool(self._returns)

    @property
    def advancing(self) -> bool:
        """True once environment steps were taken since the session began or was resumed."""
        return self._env_steps > self._resumed_at

    @property
    def gained(self) -> bool | None:
        """True if the mean predicted return rose in the finish by more than it varied before; None if that is unknown.

        A share would mean nothing, as the zero of the predicted return is arbitrary.
        """
        if self._finish_from is None or not self._before:
            return None
        after = self._returns_since(self._finish_from + (1 - _JUDGED_SHARE) * self._steps)
        return fmean(after) > fmean(self._before) + pstdev(self._before) if after else None

    def _returns_since(self, env_steps: float, until: float = math.inf) -> list[float]:
        return [value for steps, value in self._returns if env_steps < steps <= until]
