"""How far and how fast: counts, pace, and what to expect next. Pure."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from app.labelling.countdown import USUAL_START, Countdown
from app.labelling.milestones import Milestone, Tracker
from core.config import Config
from core.preferences.schedule import scheduled

_WINDOW = 60.0
"""Seconds that a pace is measured over."""
_SPEED_WINDOW = 10.0
_LONGEST_SILENCE = 60.0
"""Seconds. An idle job says so four times in each, and never all four are at work for longer: the computer slept."""


class Progress:
    """Labels, environment steps and their pace."""

    def __init__(
        self, config: Config, clock: Callable[[], float] = time.monotonic, usual_start: float = USUAL_START
    ) -> None:
        """usual_start: seconds from the start to the first pair, as they were the last time."""
        self.target, self.labels, self.env_steps = config.labels, 0, 0
        self.divergences = 0
        """How often in the session a simulation failed and was started anew."""
        self.milestones = Tracker(config.labels)
        self.first_pair, self.drawing = Countdown(usual_start, clock), Countdown(None, clock)
        self._config = config
        self._clock = clock
        self._answers: deque[float] = deque(maxlen=1000)
        self._offers: deque[float] = deque(maxlen=16)
        self._steps: deque[tuple[float, int]] = deque(maxlen=256)
        self.seconds_before = 0.0
        """Of teaching, in earlier runs of the session."""
        self._ran = 0.0
        self._since: float | None = None

    def run(self, on: bool) -> None:
        """Teaching goes on, or rests."""
        self.passed()
        self._since = self._clock() if on else None

    def passed(self) -> None:
        """Something has come from the jobs: they are at work, and the computer is awake."""
        self._ran += self._under_way
        self._since = None if self._since is None else self._clock()

    @property
    def _under_way(self) -> float:
        return 0.0 if self._since is None else min(self._clock() - self._since, _LONGEST_SILENCE)

    @property
    def seconds(self) -> float:
        """Of teaching so far, without pauses and while the computer slept."""
        return self.seconds_before + self._ran + self._under_way

    def answered(self) -> None:
        self.labels += 1
        self._answers.append(self._clock())

    def withdrawn(self) -> None:
        self.labels -= 1
        if self._answers:
            self._answers.pop()

    def counted(self, labels: int) -> None:
        """So many answers the session has already."""
        self.labels = labels
        self.milestones.start(labels)

    def offered(self) -> None:
        self._offers.append(self._clock())

    def reported(self, env_steps: int, divergences: int = 0) -> None:
        self.env_steps, self.divergences = env_steps, divergences
        self._steps.append((self._clock(), env_steps))

    @property
    def due(self) -> int:
        """Labels that the schedule wants by now (A); a person may be ahead of it or behind."""
        return 0 if self.explores else scheduled(self.env_steps, self._config)

    @property
    def explores(self) -> bool:
        """Whether the policy still seeks what is new to it, before anything is asked."""
        return self.labels == 0 and self.env_steps < self._config.explored_steps

    @property
    def seconds_of_exploring(self) -> float | None:
        """That are left, at the present speed; None where there is none yet."""
        pace = self.steps_per_second
        return max(1.0, (self._config.explored_steps - self.env_steps) / pace) if pace else None

    @property
    def labels_per_minute(self) -> float:
        """Over the last minute, or over the time since the first answer in it."""
        now = self._clock()
        recent = [t for t in self._answers if now - t < _WINDOW]
        if len(recent) < 2:
            return float(len(recent))
        return 60 * len(recent) / max(now - recent[0], 1.0)

    @property
    def next_milestone(self) -> Milestone | None:
        return self.milestones.next(self.labels)

    @property
    def minutes_to_milestone(self) -> float | None:
        """At the present pace; None where there is no pace, or no milestone is left."""
        milestone, pace = self.next_milestone, self.labels_per_minute
        return (milestone.labels - self.labels) / pace if milestone and pace else None

    @property
    def steps_per_second(self) -> float:
        """End to end: what was taken over the last seconds, waiting included. 0 where nothing is known."""
        now = self._clock()
        recent = [(t, n) for t, n in self._steps if now - t < _SPEED_WINDOW]
        if len(recent) < 2:
            return 0.0
        return max(0.0, (recent[-1][1] - recent[0][1]) / (recent[-1][0] - recent[0][0] or 1.0))

    @property
    def seconds_to_next_offer(self) -> float | None:
        """From the gaps between the last offers, bursts counted as one; None where there is no pace yet."""
        gaps = [b - a for a, b in zip(self._offers, list(self._offers)[1:], strict=False) if b - a > 0.5]
        if not gaps:
            return None
        expected = sorted(gaps)[len(gaps) // 2]
        return max(1.0, expected - (self._clock() - self._offers[-1]))
