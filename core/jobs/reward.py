"""The reward job: trains the ensemble on the preferences and publishes snapshots of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np

from core.config import Config
from core.errors import NotFiniteError, checkpoint_errors
from core.events import (
    AnswersPredicted,
    AnswersReplayed,
    Arrays,
    Event,
    Job,
    JobState,
    PolicyPublished,
    PredictionsRequested,
    PreferenceAdded,
    PreferenceChanged,
    PreferenceWithdrawn,
    RewardFitted,
    RewardPublished,
    RewardRequested,
    Waited,
)
from core.formatting import pluralize
from core.nn.device import device_for
from core.nn.state import load_state_arrays, state_arrays
from core.reward.ensemble import build_ensemble
from core.reward.trainer import EpochReport, RewardTrainer
from core.seeding import generator, get_rng_state, set_rng_state
from core.session.job_states import SNAPSHOT, published_weights
from core.types import require_count


class RewardJob(Job):
    """Trains for one round (a number of epochs) after each new policy and after new answers, and then publishes.

    So reward and policy keep pace on any machine. Two settings make rounds rarer: config.reward.interval (environment
    steps between rounds) if batches are small, such as A2C's of 80 steps, and config.reward.steps_per_label (environment
    steps per answer in an epoch) if training takes long, as with images. With the latter, new answers do not start a round
    but wait for the next one.

    The first round is longer, and begins when the answers about the untrained policy are complete (A). Answers given
    during a round are used from its next epoch on; training never starts over.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._rng = generator(config.seed, "reward")
        device = device_for(config)
        self.trainer = RewardTrainer(build_ensemble(config, device), config.reward, self._rng, device)
        self._first_count = max(1, min(config.query.first_of(config.labels), config.reward.max_labels or config.labels))
        self._generation = 0
        self._round_due = self._in_round = self._new_answers = False
        self._epochs_left = 0
        self._answers_passed = 0.0
        """Number of answers that this round's epochs have processed beyond the share of the batches so far."""
        self.turn_over = False
        self._batch_steps = config.rollout.environments * config.rollout.steps
        self._version = self._fitted_version = 0
        """Versions of the newest policy, and of the policy at the start of the last round."""
        self._pending_state: JobState | None = None
        """The state to restore once the store's answers have been replayed."""
        self._snapshot: Arrays | None = None
        """Weights published last; during a round the ensemble's own weights differ."""
        self._unreceived = False
        """True if the rollout may lack the reward, such as one from another session: it is published before any round."""
        self._borrowed = False
        """True if a reward from another session has not been fitted here yet: a fit to one or two answers would undo it."""
        self._prediction_token: int | None = None

    def receive(self, event: Event) -> None:
        match event:
            case AnswersReplayed():
                self._restore_pending()
            case PreferenceAdded(preference) | PreferenceChanged(preference):
                self.trainer.add(preference)
                self._note_change()
            case PreferenceWithdrawn(preference_id):
                self.trainer.remove(preference_id)
                self._note_change()
            case PolicyPublished(version):
                self._version = version
                if abs(version - self._fitted_version) * self._batch_steps >= self._steps_between_rounds:
                    self._round_due = True
            case PredictionsRequested(token):
                self._prediction_token = token
            case RewardRequested():
                self._unreceived |= self._snapshot is not None

    def _note_change(self) -> None:
        self._new_answers = True
        self._round_due |= not (self._config.reward.steps_per_label and self._generation)

    @property
    def _steps_between_rounds(self) -> float:
        """Environment steps from one round to the next, unless new answers start a round."""
        reward = self._config.reward
        return max(1, reward.interval, reward.steps_per_label * reward.epochs * self.trainer.count)

    def run(self) -> Iterator[Event | None]:
        while True:
            yield from self._predict_answers()
            if self._unreceived and self._snapshot:
                self._unreceived = False
                yield RewardPublished(self._snapshot)
            if self.trainer.count >= self._first_count:
                self._borrowed = False
            fitted = self._generation and not self._borrowed
            missing = (1 if fitted else self._first_count) - self.trainer.count
            if self._pending_state is not None:
                yield Waited("reward", "the reward waits for the answers of the session")
            elif missing > 0:
                yield Waited("reward", f"the first reward fit waits for {pluralize(missing, 'more answer')}")
            elif not self._round_due and not self._epochs_left:
                new = "new answers wait for the next reward fit"
                yield Waited("reward", new if self._new_answers else "the reward is fitted to all answers")
            else:
                if not self._epochs_left:  # otherwise a restored round continues
                    self._round_due = self._new_answers = False
                    self._fitted_version = self._version
                    reward = self._config.reward
                    self._epochs_left = reward.epochs if self._generation else reward.epochs_first
                self._in_round = True
                yield from self._round()

    def _round(self) -> Iterator[Event | None]:
        reports: list[EpochReport] = []
        for report in self.trainer.epochs(self._epochs_left):
            if report is not None:
                reports.append(report)
                self._epochs_left -= 1
                self.turn_over = self._passed_batch_share()
            yield None
            self.turn_over = False
            yield from self._predict_answers()
        weights = state_arrays(self.trainer.ensemble)
        if not all(np.isfinite(array).all() for array in weights.values()):
            raise NotFiniteError("reward fit", "a weight")
        if not self._generation and self.trainer.count < self._first_count:  # answers were undone during the first fit
            self._end_round()
            self._round_due = True
            return
        self._generation += 1
        self._snapshot = weights
        yield RewardFitted(
            self.trainer.count,
            tuple(reports[-1].train_loss.tolist()),
            tuple(reports[-1].validation_loss.tolist()),
            tuple(self.trainer.l2.tolist()),
        )
        self._end_round()
        self._unreceived = False
        yield RewardPublished(weights)

    def _end_round(self) -> None:
        self._in_round, self._epochs_left, self._answers_passed = False, 0, 0.0

    def _passed_batch_share(self) -> bool:
        """Return True when the epochs have processed as many answers as steps_per_label allots to one batch.

        Each round after the first is spread over the batches until the next one, so that jobs that run in turns need not
        wait for a whole round.
        """
        steps_per_label = self._config.reward.steps_per_label
        if not steps_per_label or not self._generation or not self._epochs_left:
            return False
        share = self._batch_steps / steps_per_label
        self._answers_passed += self.trainer.count
        if self._answers_passed < share:
            return False
        self._answers_passed = min(self._answers_passed - share, share)
        return True

    def _predict_answers(self) -> Iterator[Event | None]:
        """Reply to a PredictionsRequested with the published snapshot's predictions, computed in chunks."""
        if self._prediction_token is None or self._pending_state is not None:
            return
        token, self._prediction_token = self._prediction_token, None
        generation, predicted = self._generation if self._snapshot else 0, dict[int, float]()
        if self._snapshot:
            ensemble, ids = copy.deepcopy(self.trainer.ensemble), self.trainer.ids
            load_state_arrays(ensemble, self._snapshot)
            chunk = self.trainer.dataset.chunk
            for start in range(0, len(ids), chunk):
                predicted |= self.trainer.preference_probabilities(ids[start : start + chunk], ensemble)
                yield None
        ids_array, left = np.array([*predicted], np.int64), np.array([*predicted.values()], np.float32)
        yield AnswersPredicted(token, generation, ids_array, left)

    def get_state(self) -> JobState:
        if self._pending_state is not None:
            return self._pending_state  # not restored yet
        values = {
            "generation": self._generation,
            "round_due": self._round_due,
            "in_round": self._in_round,
            "epochs_left": self._epochs_left,
            "answers_passed": self._answers_passed,
            "version": self._version,
            "fitted_version": self._fitted_version,
            "rng": get_rng_state(self._rng),
            "unreceived": self._unreceived,
            "borrowed": self._borrowed,
        }
        arrays = self.trainer.get_state()
        if self._in_round and self._snapshot:  # the ensemble's weights differ from it
            arrays |= {f"{SNAPSHOT}{name}": array for name, array in self._snapshot.items()}
        return JobState(arrays, values)

    def set_state(self, state: JobState) -> None:
        """Restore the state from `get_state` when the answers of the store have been replayed."""
        self._pending_state = state
        self._generation = require_count(state.values["generation"])

    def _restore_pending(self) -> None:
        state, self._pending_state = self._pending_state, None
        if state is None:
            return
        values = state.values
        with checkpoint_errors("reward"):
            self.trainer.set_state(state.arrays)
            self._epochs_left = require_count(values["epochs_left"])
            self._in_round = self._epochs_left > 0
            interrupted = values["in_round"] and not self._in_round  # saved between the last epoch and publication
            self._round_due = values["round_due"] or interrupted or not self.trainer.matches(state.arrays)
            self._new_answers = self._round_due
            self._answers_passed = values["answers_passed"]
            if self._generation:
                self._snapshot = published_weights(state)
            self._unreceived, self._borrowed = bool(values["unreceived"]), bool(values["borrowed"])
            set_rng_state(self._rng, values["rng"])
            self._version, self._fitted_version = (
                require_count(values[name]) for name in ("version", "fitted_version")
            )
