"""State of a training that answers drive: on hold, continuing without answers, or finishing. Pure."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from statistics import fmean, pstdev

from core.config import Config
from core.preferences.schedule import DONE, FINISHED, HOLDS
from core.types import Choice, PolicyComparison, Query

_JUDGED_SHARE = 0.1
"""Share of a finish over whose steps the predicted return is averaged, before it and at its end."""


class TrainingCourse:
    """State of the training, updated from the reports of the rollout.

    follows_answers: training holds without answers and can be finished
    lifted: the person lets training continue without answers
    holding: training waits for the next answer
    finishing: share of the finish that is done; None if none is under way
    finished: the finish is over
    done: the session has taken all its steps
    just_compared: the newest answer completes the comparison of the policies from before and after a finish
    """

    def __init__(self, config: Config) -> None:
        self.follows_answers = config.query.schedule == "answers" and config.rollout.steps_per_answer > 0
        self.lifted = self.holding = self.finished = self.done = self.just_compared = False
        self.finishing: float | None = None
        self._steps = max(1, config.rollout.finish_steps)
        self._env_steps = self._resumed_at = 0
        self._fitted_before = False
        self._finish_from: int | None = None
        """Environment steps at which the person asked for a finish; None for one of an earlier run until it is over."""
        self._before: list[float] = []
        """Predicted returns of the batches just before the finish."""
        self._returns: deque[tuple[int, float]] = deque(maxlen=1000)
        """Environment steps and predicted return of the latest batches."""
        self._compared: dict[int, tuple[Query, Choice]] = {}
        """Answers that compare the policies from before and after the latest finish, by id."""
        self._last_before = 0
        """Id of the newest query that was offered before that finish: later ones can be about it."""

    def resumed(self, env_steps: int, fitted: bool, returns: Iterable[tuple[int, float]] = ()) -> None:
        """Set the point from which training continues.

        fitted: a reward was fitted by then
        returns: environment steps and predicted returns of the batches by then
        """
        self._env_steps, self._resumed_at, self._fitted_before = env_steps, env_steps, fitted
        self._returns.clear()
        self._returns.extend((steps, value) for steps, value in returns if math.isfinite(value))

    def waited(self, reason: str) -> None:
        """Update the state from the rollout's reason for waiting."""
        self.holding, self.finished, self.done = reason == HOLDS, reason == FINISHED, reason == DONE
        if self.holding or self.finished or self.done:
            self.finishing = None
        if self.finished and self._finish_from is None:
            self._begin_finish(self._env_steps - self._steps)

    def reported(self, env_steps: int, predicted_return: float, finishing: float | None) -> None:
        """Take a report: training is under way. finishing: as in RolloutReported"""
        self._env_steps, self.finishing = env_steps, finishing
        self.holding = self.finished = False
        if math.isfinite(predicted_return):
            self._returns.append((env_steps, predicted_return))

    def end_finish(self) -> None:
        """End the finish, if there is one: an answer allows more training, or the finish was undone."""
        self._finish_from = self.finishing = None
        self.holding = self.finished = False

    def finish(self, newest_query: int = 0) -> None:
        """Begin a finish. newest_query: id of the pair on screen"""
        self._begin_finish(self._env_steps)
        self.finishing, self.finished = 0.0, False
        self._compared.clear()
        self._last_before = newest_query

    def compare(self, answer: int, query: Query, choice: Choice) -> None:
        """Count the answer with this id if it compares the policies from before and after the latest finish."""
        comparison = self.comparison(query)
        self.just_compared = comparison is not None and comparison.left == 1
        if comparison is not None:
            self._compared[answer] = query, choice

    def comparison(self, query: Query) -> PolicyComparison | None:
        """Return the comparison that this pair makes; None if it makes none, or that of an earlier finish."""
        return query.comparison if query.id > self._last_before else None

    def change_comparison(self, answer: int, choice: Choice) -> None:
        """Give an answer another choice, if it was counted."""
        if answer in self._compared:
            self._compared[answer] = self._compared[answer][0], choice

    def withdraw_comparison(self, answer: int) -> None:
        """Count an answer no longer, if it was counted."""
        self._compared.pop(answer, None)
        self.just_compared = False

    @property
    def preferred(self) -> tuple[int, int, int] | None:
        """Number of answers that prefer the policy from before the latest finish, of those that prefer the one from after
        it, and of all that compare them; None until the last of these pairs is answered."""
        answers, complete = list[bool | None](), False
        for query, choice in self._compared.values():
            assert query.comparison is not None
            complete |= query.comparison.left == 1
            preferred = {Choice.LEFT: query.left, Choice.RIGHT: query.right}.get(choice)
            answers.append(None if preferred is None else preferred.env_steps < query.comparison.split)
        return (answers.count(True), answers.count(False), len(answers)) if complete else None

    @property
    def prefers_earlier(self) -> bool:
        """True if clearly more answers prefer the policy from before the latest finish: by two at least, not by chance."""
        return self.preferred is not None and self.preferred[0] >= self.preferred[1] + 2

    def _begin_finish(self, env_steps: int) -> None:
        before = self._returns_since(env_steps - _JUDGED_SHARE * self._steps, env_steps)
        self._finish_from, self._before = env_steps, before

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
