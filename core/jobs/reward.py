"""The reward job: fits the ensemble to the answers and publishes snapshots."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator

import numpy as np

from core.config import Config
from core.errors import NotFiniteError
from core.events import (
    AnswersJudged,
    AnswersReplayed,
    Arrays,
    Event,
    JobState,
    JudgementRequested,
    PolicyPublished,
    PreferenceAdded,
    PreferenceChanged,
    PreferenceWithdrawn,
    RewardFitted,
    RewardPublished,
    Waited,
    require_count,
)
from core.nn.device import device_for
from core.preferences.schedule import first_labels
from core.reward.ensemble import build_ensemble
from core.reward.trainer import FitReport, RewardTrainer
from core.seeding import generator, get_rng_state, set_rng_state
from core.session.restore_errors import checkpoint_errors

SNAPSHOT = "snapshot_"
"""Before the names of the weights published last, in a state taken amid a round."""


class RewardJob:
    """Fits a round for each new policy, so that reward and policy keep pace on any machine, and for new answers.

    Where batches are small (A2C's have 80 steps) it is a round for each few policies: config.reward.interval. Where a
    fit takes long, as with pictures, rounds become rarer the more labels there are: config.reward.steps_per_label. New answers
    wait for the next one then.
    The first round is a long one and comes when the untrained policy's share of the labels is there (A). Answers that
    come while a round runs join it; the fit is never started over.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._rng = generator(config.seed, "reward")
        self._fit = RewardTrainer(
            build_ensemble(config, device_for(config)), config.reward, self._rng, device_for(config)
        )
        self._first = max(1, min(first_labels(config.labels, config.query), config.reward.max_labels or config.labels))
        self._generation = 0
        self._owed = self._under_way = self._unfitted = False
        self._epochs_left, self._answers_passed = 0, 0.0
        """Of the round, and how many answers its epochs have passed that are not yet made up for by a batch."""
        self.turn_over = False
        """Whether others may have theirs, where jobs take turns (core.headless.lockstep)."""
        self._batch = config.rollout.environments * config.rollout.steps
        self._version = self._fitted_for = 0
        self._awaiting_answers: JobState | None = None
        self._snapshot: Arrays | None = None
        """What was published last; the ensemble itself is moving while a round runs."""
        self._asked: int | None = None

    def receive(self, event: Event) -> None:
        match event:
            case AnswersReplayed():
                self._take_up()
            case PreferenceAdded(preference) | PreferenceChanged(preference):
                self._fit.add(preference)
                self._note_change()
            case PreferenceWithdrawn(preference_id):
                self._fit.remove(preference_id)
                self._note_change()
            case PolicyPublished(version):
                self._version = version
                if abs(version - self._fitted_for) * self._batch >= self._steps_between:
                    self._owed = True
            case JudgementRequested(token):
                self._asked = token

    def _note_change(self) -> None:
        """Of the answers: reason enough for a round, but where rounds are so long that they keep a pace."""
        self._unfitted = True
        self._owed |= not (self._config.reward.steps_per_label and self._generation)

    @property
    def _steps_between(self) -> float:
        """Environment steps, at least, between two rounds that no answer asks for."""
        reward = self._config.reward
        return max(1, reward.interval, reward.steps_per_label * reward.epochs * self._fit.count)

    def run(self) -> Iterator[Event | None]:
        while True:
            yield from self._judge()
            missing = self._first - self._fit.count if self._generation == 0 else 1 - self._fit.count
            if self._awaiting_answers is not None:
                yield Waited("reward", "the reward waits for the answers of the session")
            elif missing > 0:
                yield Waited("reward", f"the first reward fit waits for {missing} more answers")
            elif not self._owed and not self._epochs_left:
                new = "new answers wait for the next reward fit"
                yield Waited("reward", new if self._unfitted else "the reward is fitted to all answers")
            else:
                if not self._epochs_left:  # else one goes on that was cut short
                    self._owed = self._unfitted = False
                    self._fitted_for = self._version
                    reward = self._config.reward
                    self._epochs_left = reward.epochs if self._generation else reward.epochs_first
                self._under_way = True
                yield from self._round()

    def _round(self) -> Iterator[Event | None]:
        seconds, started = 0.0, time.perf_counter()
        reports: list[FitReport] = []
        for report in self._fit.epochs(self._epochs_left):
            if report is not None:
                reports.append(report)
                self._epochs_left -= 1
                self.turn_over = self._kept_pace()
            seconds += time.perf_counter() - started
            yield None
            started, self.turn_over = time.perf_counter(), False
            yield from self._judge()
        if not reports:
            self._end_round()
            return  # the only answer was taken back
        weights = self._fit.ensemble.to_arrays()
        if not all(np.isfinite(array).all() for array in weights.values()):
            raise NotFiniteError("reward fit", "a weight")
        self._generation += 1
        self._snapshot = weights
        yield self._fitted(reports[-1], seconds)
        self._end_round()
        yield RewardPublished(self._generation, weights)

    def _end_round(self) -> None:
        self._under_way, self._epochs_left, self._answers_passed = False, 0, 0.0

    def _kept_pace(self) -> bool:
        """Whether, after an epoch, as many answers were passed as go with a batch. All but the first round are spread
        over the batches between two of them, lest others that take turns with this job wait for a whole one."""
        pace = self._config.reward.steps_per_label
        if not pace or not self._generation or not self._epochs_left:
            return False
        share = self._batch / pace
        self._answers_passed += self._fit.count
        if self._answers_passed < share:
            return False
        self._answers_passed = min(self._answers_passed - share, share)
        return True

    def _fitted(self, report: FitReport, seconds: float) -> RewardFitted:
        return RewardFitted(
            self._generation,
            self._fit.count,
            tuple(report.train_loss.tolist()),
            tuple(report.validation_loss.tolist()),
            tuple(self._fit.l2.tolist()),
            report.accuracy,
            seconds,
        )

    def _judge(self) -> Iterator[Event | None]:
        """Says what the snapshot thinks of the answers, where that was asked; a piece at a time."""
        if self._asked is None or self._awaiting_answers is not None:
            return
        token, self._asked = self._asked, None
        generation, found = self._generation if self._snapshot else 0, dict[int, float]()
        if self._snapshot:
            judge, ids = copy.deepcopy(self._fit.ensemble), self._fit.ids
            judge.load_arrays(self._snapshot)
            for start in range(0, len(ids), self._fit.chunk):
                found |= self._fit.preference_probabilities(ids[start : start + self._fit.chunk], judge)
                yield None
        yield AnswersJudged(token, generation, np.array([*found], np.int64), np.array([*found.values()], np.float32))

    def get_state(self) -> JobState:
        if self._awaiting_answers is not None:
            return self._awaiting_answers  # nothing of it is in the fit as yet
        owed = self._owed or self._under_way  # without epochs left it wasn't told, and is made anew
        values = {"generation": self._generation, "owed": owed, "rng": get_rng_state(self._rng)}
        values |= {"version": self._version, "fitted_for": self._fitted_for, "under_way": self._under_way}
        values |= {"owed_next": self._owed, "epochs_left": self._epochs_left, "answers_passed": self._answers_passed}
        arrays = self._fit.get_state()
        if self._under_way and self._snapshot:  # which the ensemble is not, then
            arrays |= {f"{SNAPSHOT}{name}": array for name, array in self._snapshot.items()}
        return JobState(arrays, values)

    def set_state(self, state: JobState) -> None:
        """Goes on from there once the answers, which come from the store, have been replayed."""
        self._awaiting_answers = state
        self._generation = require_count(state.values["generation"])

    def _take_up(self) -> None:
        state, self._awaiting_answers = self._awaiting_answers, None
        if state is None:
            return
        with checkpoint_errors("reward"):
            self._fit.set_state(state.arrays)
            self._epochs_left = require_count(state.values.get("epochs_left", 0))
            self._under_way = self._epochs_left > 0
            owed = state.values["owed_next"] if self._epochs_left else state.values["owed"]
            self._owed = owed or not self._fit.knows_all_of(state.arrays)
            self._answers_passed = state.values.get("answers_passed", 0.0)
            if self._generation:
                self._snapshot = snapshot_of(state)
            set_rng_state(self._rng, state.values["rng"])
            self._version, self._fitted_for = (require_count(state.values[name]) for name in ("version", "fitted_for"))


def snapshot_of(state: JobState) -> Arrays | None:
    """The weights that were published last before the reward job's state was taken; None where it doesn't tell."""
    if found := state.under(SNAPSHOT):
        return found
    return None if state.values.get("under_way", True) else state.under("ensemble_")
