"""Progress of a session: counts, pace, and expected times. Pure."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from statistics import median_high

from app.labelling.countdown import DEFAULT_START_SECONDS, Countdown
from app.labelling.training_course import TrainingCourse
from core.config import Config
from core.preferences.schedule import scheduled
from core.session.policy_snapshots import SnapshotInfo

_LABEL_WINDOW, _LEAST_WINDOW = 60.0, 10.0
"""Seconds over which the labelling pace is measured, and the minimum, so that two quick answers do not show as 60 a minute."""
_SPEED_WINDOW = 10.0
"""Seconds over which the speed of the simulation is measured."""
_NOTICEABLE = 0.03
"""Rise of the agreement above its best that counts: chance alone moves a share of 400 pairs by 0.025."""
_LONGEST_SILENCE = 60.0
"""Seconds. Jobs report several times a second: after a longer silence the computer must have slept."""


class Progress:
    """Labels, environment steps and their pace.

    course: state of the training, if the answers drive it
    agreement: share of pairs of new segments on which all predictors agree; nan before the first fit
    best_agreement: the highest in the session so far, when it last rose noticeably; nan before the first fit
    first_labels: labels at which training starts; "can't tell" does not count
    divergences: simulations in the session that failed and were reset
    first_pair, drawing: countdowns to the first pair and to the next rendered pair
    seconds_before: seconds of training in earlier runs of the session
    """

    def __init__(
        self, config: Config, clock: Callable[[], float] = time.monotonic, usual_start: float = DEFAULT_START_SECONDS
    ) -> None:
        """usual_start: expected seconds from the start to the first pair"""
        self.labels, self.env_steps, self.divergences = 0, 0, 0
        self.agreement = self.best_agreement = math.nan
        self._better_at: float | None = None
        self.course = TrainingCourse(config)
        self.first_labels = config.query.first_of(config.labels)
        self._unsure = 0
        self.first_pair, self.drawing = Countdown(usual_start, clock), Countdown(None, clock)
        self.seconds_before = 0.0
        self._config, self._clock = config, clock
        self._answers: deque[float] = deque(maxlen=1000)
        self._offers: deque[float] = deque(maxlen=16)
        self._steps: deque[tuple[float, int]] = deque(maxlen=256)
        self._ran = 0.0
        self._since: float | None = None

    def run(self, on: bool) -> None:
        """Start or stop the clock of training time."""
        self.passed()
        self._since = self._clock() if on else None

    def passed(self) -> None:
        """Note an event from the jobs: they are at work, and the computer is awake."""
        self._ran += self._under_way
        self._since = None if self._since is None else self._clock()

    def take_time_from(self, snapshots: Sequence[SnapshotInfo]) -> None:
        """Set the seconds of earlier runs from the newest snapshot, unless this run has begun."""
        if not self.seconds and snapshots:
            self.seconds_before = snapshots[-1].seconds

    @property
    def _under_way(self) -> float:
        return 0.0 if self._since is None else min(self._clock() - self._since, _LONGEST_SILENCE)

    @property
    def seconds(self) -> float:
        """Seconds of training so far, without pauses and sleep."""
        return self.seconds_before + self._ran + self._under_way

    def answered(self, unsure: bool = False) -> None:
        """Count an answer. unsure: it is "can't tell", which is not trained on"""
        self.labels += 1
        self._unsure += unsure
        self._answers.append(self._clock())

    def withdrawn(self, unsure: bool = False) -> None:
        """Remove the last answer from the count. unsure: as in `answered`"""
        self.labels -= 1
        self._unsure -= unsure
        if self._answers:  # it may be of an earlier run
            self._answers.pop()

    def counted(self, labels: int, unsure: int = 0) -> None:
        """Set the number of labels of the session so far, and the number of "can't tell" among them."""
        self.labels, self._unsure = labels, unsure

    @property
    def usable(self) -> int:
        """Labels that are trained on."""
        return self.labels - self._unsure

    @property
    def labels_to_start(self) -> int:
        """Number of labels that are still missing before training starts for the first time."""
        return 0 if self.course.started else max(0, self.first_labels - self.usable)

    @property
    def asks_oracle(self) -> bool:
        """True if the schedule asks for a label or training waits for one, and not all labels have been given.

        False from the moment a person asks for a finish, which an answer would end.
        """
        if self.course.finish_asked:
            return False
        return not self.gives_no_more and (self.usable < self.due or self.course.holding)

    @property
    def gives_no_more(self) -> bool:
        """True once the session has the number of answers after which the oracle stops."""
        return self.usable >= self._config.labels

    def offered(self) -> None:
        self._offers.append(self._clock())

    def resumed(
        self, env_steps: int, agreement: float, best: float, fitted: bool, returns: Iterable[tuple[int, float]] = ()
    ) -> None:
        """Take the figures of a checkpoint from which training continues.

        best: the highest agreement of the session so far; nan if unknown
        fitted, returns: as in TrainingCourse.resumed
        """
        self.env_steps, self.agreement, self.best_agreement = env_steps, agreement, best
        self.course.resumed(env_steps, fitted, returns)

    def reported(self, env_steps: int, divergences: int = 0, agreement: float = math.nan) -> None:
        self.env_steps, self.divergences, self.agreement = env_steps, divergences, agreement
        if math.isnan(self.best_agreement):
            self.best_agreement = agreement
        elif agreement >= self.best_agreement + _NOTICEABLE:
            self.best_agreement, self._better_at = agreement, self._clock()
        self._steps.append((self._clock(), env_steps))

    @property
    def seconds_since_better(self) -> float | None:
        """Seconds since the agreement last rose noticeably above its previous best; None if it has not in this run."""
        return None if self._better_at is None else self._clock() - self._better_at

    @property
    def due(self) -> int:
        """Labels that the schedule asks for by now (A); the person may be ahead or behind."""
        return scheduled(self.env_steps, self._config)

    @property
    def labels_per_minute(self) -> float:
        """Answers per minute over the last minute: those after the first one, per time since it; nan if there is only one."""
        now = self._clock()
        recent = [t for t in self._answers if now - t < _LABEL_WINDOW]
        if len(recent) == 1:
            return math.nan
        return 60 * (len(recent) - 1) / max(now - recent[0], _LEAST_WINDOW) if recent else 0.0

    @property
    def steps_per_second(self) -> float:
        """End-to-end speed over the last seconds, waiting included; 0 if unknown."""
        now = self._clock()
        recent = [(t, n) for t, n in self._steps if now - t < _SPEED_WINDOW]
        if len(recent) < 2:
            return 0.0
        return max(0.0, (recent[-1][1] - recent[0][1]) / (recent[-1][0] - recent[0][0] or 1.0))

    @property
    def seconds_to_next_offer(self) -> float | None:
        """Expected seconds to the next query: median gap of the last ones, bursts counted as one; None if unknown."""
        gaps = [b - a for a, b in zip(self._offers, list(self._offers)[1:], strict=False) if b - a > 0.5]
        if not gaps:
            return None
        return max(1.0, median_high(gaps) - (self._clock() - self._offers[-1]))
