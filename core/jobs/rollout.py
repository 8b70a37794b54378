"""The rollout job: acts, keeps segments, offers queries, and reports measures.

No other job reads the true reward, except that reward.target=returns fits the reward to the true returns of answers.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from core.config import Config
from core.envs.base import FinishedEpisode
from core.errors import NotFiniteError
from core.events import (
    DemonstrationRecorded,
    Event,
    Job,
    JobState,
    PolicyPublished,
    RewardPublished,
    RolloutBatchReady,
    RolloutReported,
    Waited,
)
from core.io.segment_codec import state_size
from core.jobs.collectors import Collectors
from core.jobs.query_offers import QueryOffers
from core.jobs.training_budget import TrainingBudget
from core.nn.device import device_for
from core.nn.state import load_state_arrays, require_array, state_arrays
from core.preferences.queries import agreement
from core.preferences.schedule import DONE, FINISHED, exploration_share, scheduled
from core.reward.ensemble import RewardEnsemble, build_ensemble
from core.reward.image_ensemble import ImageEnsemble
from core.reward.normalization import RunningWindow, disagreement_std, normalize_reward
from core.rollout.actor import Actor
from core.rollout.collector import RolloutBatch, segment_period
from core.rollout.episodes import demonstrate, mean_measure, predicted_reward
from core.rollout.exploration import knn_entropy_bonus
from core.rollout.segments import SegmentPool
from core.seeding import generator, get_rng_state, set_rng_state
from core.session.job_states import KEPT_REWARD, pool_arrays, pool_segments
from core.tasks import get_task
from core.types import Float32, Segment, Teacher, require_count

log = logging.getLogger(__name__)
_AGREEMENT_PAIRS, _AGREEMENT_WINDOW = 48, 400
"""Number of pairs of a batch whose predictions are compared, and number of pairs in the running agreement."""
_EPISODES = 100
"""Number of finished episodes in the reported means."""
_MOST_NOVELTY = 0.4
"""Largest share of a session's steps during which novelty is rewarded."""


class RolloutJob(Job):
    """Collects a batch whenever the policy is at most config.policy.lag batches behind, and offers queries."""

    def __init__(self, config: Config, processes: bool = False) -> None:
        """processes: collect in several processes, if the task has environments for several collectors."""
        self.config = config
        self.task = get_task(config.task, config.true_reward)
        self._query_rng = generator(config.seed, "queries")
        stagger = self._query_rng.integers(0, segment_period(config, self.task), config.rollout.environments)
        self.collectors = Collectors(config, stagger, processes)
        self.pool = SegmentPool(config.query.pool, config.query.pool_old, self._query_rng)
        self.offers = QueryOffers(config, self._query_rng)
        self.ensemble: RewardEnsemble | ImageEnsemble | None = None
        self._recent_predictions = RunningWindow(config.reward.members)
        self._episodes: deque[FinishedEpisode] = deque(maxlen=_EPISODES)
        """True return and measures of the last finished episodes."""
        self._means: tuple[float, dict[str, float]] = float("nan"), {}
        self._env_steps = 0
        self._batches_sent = 0
        self._policy_version = -1
        self._policy_weights: dict[str, np.ndarray] | None = None
        self._demonstrated = True
        """True if the newest policy has been recorded, or there is none yet."""
        self._agreement = self._agreement_weight = 0.0
        """Exponential average of the share of new pairs on which all members agree, starting at 0, and its weight."""
        self._exploration_share = exploration_share(config)
        self.budget = TrainingBudget(config)
        self._demonstrator = Actor(config, None)
        self._demonstration_rng = generator(config.seed, "demonstrations")

    def receive(self, event: Event) -> None:
        match event:
            case PolicyPublished(version, weights, _, waiting):
                self.collectors.load_policy(weights)
                self._policy_weights, self._demonstrated = weights, False
                if self._policy_version < 0 or version <= self._policy_version:
                    self._batches_sent = (
                        version + waiting
                    )  # one of the jobs was restarted: no other batches are in progress
                self._policy_version = version
            case RewardPublished(weights):
                self._load_reward(weights)
            case _:
                self.offers.receive(event)
                self.budget.receive(event, self._env_steps)

    def run(self) -> Iterator[Event | None]:
        if self._env_steps:
            yield self._report()  # a resumed session shows its figures before its next batch
        while True:
            yield from self._offer_queries()
            reason = self._reason_to_wait()
            if reason:
                yield from self._demonstrate_at_rest()
                yield Waited("rollout", reason)
            else:
                for event in self._collect_batch():
                    yield event
                    if event is None and self.config.teacher == Teacher.HUMAN:  # a human may have answered all by now
                        yield from self._offer_queries()

    @property
    def _on_true_reward(self) -> bool:
        return self.config.teacher == Teacher.NONE

    @property
    def _clips_suffice(self) -> bool:
        """True if there are enough clips for the pairs that are asked before the policy is trained."""
        own = scheduled(self._env_steps, self.config) - self.config.query.taken
        return self.pool.added >= self.config.query.first_clips * own

    def _offer_queries(self) -> Iterator[Event | None]:
        if not self._on_true_reward:
            few = self.ensemble is None and not self._clips_suffice
            most = self.config.query.taken + self.pool.added // self.config.query.first_clips if few else None
            yield from self.offers.offer(self.pool, self._env_steps, self.ensemble, most)

    def _renew_queries(self) -> Iterator[Event]:
        """Withdraw prepared queries that, by the newest reward and segments, are no longer worth asking a human."""
        if self.ensemble is not None and self.config.query.by_answers and self.config.teacher == Teacher.HUMAN:
            yield from self.offers.renew(self.pool, self._env_steps, self.ensemble)

    def _reason_to_wait(self) -> str:
        """Return the reason why no batch can be collected now; '' if one can."""
        if self._policy_version < 0:
            return "waiting for the policy"
        if self._env_steps >= self.config.steps:
            return DONE
        if not (self._on_true_reward or self.offers.replayed):
            return "waiting for the answers"
        answers = len(self.offers.usable)
        if self.ensemble:
            self.budget.start(self._env_steps, answers)
            hold = self.budget.reason_to_hold(self._env_steps, answers)
            if hold == FINISHED or hold and self.offers.any_waiting:  # otherwise there would be nothing to answer
                return hold
        if self._on_true_reward or self.ensemble:
            ahead = self._batches_sent - self._policy_version
            return "waiting for the policy" if ahead > self.config.policy.lag else ""
        enough = answers >= self.config.query.first_of(self.config.labels)
        asked = self._clips_suffice and (enough or self.offers.any_waiting)
        return "training starts when the first pairs are answered" if asked else ""

    def _collect_batch(self) -> Iterator[Event | None]:
        """Collect a batch, yield it with its rewards for the policy, offer queries, and report."""
        batch = yield from self.collectors.collect(self._env_steps)
        # A finish takes many steps: its clips would displace those of behaviour that the policy may unlearn in it.
        finish = self.budget.finish_began
        for segment in batch.segments:
            self.pool.add(segment, before=math.inf if finish is None else finish)
        self._env_steps += batch.log_probs.size
        if finish is not None and self.budget.share_finished(self._env_steps) == 1:
            yield from self.offers.compare_policies(finish)
        if batch.finished:  # small batches seldom end an episode
            self._add_episodes(batch.finished)

        raw: Float32 | None = None  # (M, T, N) predictions of each member
        predicted: Float32 | None = None  # (T, N) normalized mean
        if self.ensemble is not None:
            raw = self.collectors.predict()
            self._note_agreement(batch.segments)
            if not np.isfinite(raw).all():
                raise NotFiniteError("rollout", "the predicted reward")
            std = self.config.reward.std
            recent = self._recent_predictions
            predicted = recent.normalized(raw, std) if self.task.pictures else normalize_reward(raw, std)
        rewards = self._rewards(batch, raw, predicted)
        if rewards is not None:
            self._batches_sent += 1
            yield RolloutBatchReady(
                self._policy_version,
                self._env_steps,
                batch.observations,
                batch.actions,
                batch.log_probs,
                rewards,
                batch.ends,
                batch.end_observations,
                batch.last_observations,
                1 - self.config.policy.decay * self.budget.progress(self._env_steps),
                *((self._bonus_weight(), self._novelty_weight()) if self._replays else ()),
            )
        yield from self._renew_queries()
        yield from self._offer_queries()
        yield self._report(batch, raw, predicted)
        every = self.config.rollout.demonstrate_every
        if every and self._batches_sent % every == 0 and not self._demonstrated:
            yield from self._demonstrate()

    def _rewards(self, batch: RolloutBatch, raw: Float32 | None, predicted: Float32 | None) -> Float32 | None:
        """Return rewards (T, N) for the policy: the predicted reward plus bonuses for disagreement and for novelty.

        With teacher 'none', the rewards are the true ones, clipped in games and otherwise normalized. SAC adds the bonuses
        and normalizes by itself, as it learns from the steps of many batches. Returns None before the first fit.

        raw: (M, T, N), predictions of each member; predicted: (T, N), normalized mean
        """
        if self._on_true_reward:
            if not np.isfinite(batch.true_rewards).all():
                raise NotFiniteError("rollout", "the true reward")
            if self.task.pictures:  # as in A.2; most small batches have no rewards to normalize by
                return batch.true_rewards.clip(-1, 1)
            return batch.true_rewards if self._replays else normalize_reward(batch.true_rewards[None], 1.0)
        if predicted is None or self._replays:
            return predicted
        bonus, novelty = self._bonus_weight(), self._novelty_weight()
        if bonus and raw is not None:
            predicted = predicted + bonus * disagreement_std(raw)
        if novelty:
            predicted = predicted + novelty * normalize_reward(knn_entropy_bonus(batch.observations)[None], 1.0)
        return predicted

    @property
    def _replays(self) -> bool:
        """True if the optimizer learns from the steps of many batches, whose rewards it predicts itself."""
        return self.config.policy.algorithm == "sac"

    def _bonus_weight(self) -> float:
        """Return the weight of the reward for disagreement, which is lower if answers come fast.

        It falls as the members come to agree on new pairs, and while the learning rate falls at the end.
        """
        finished = self.budget.progress(self._env_steps) if self.config.query.by_answers else 0.0
        return self.config.reward.bonus * self._exploration_share * (1 - self._agreement) * (1 - finished)

    def _novelty_weight(self) -> float:
        """Return the weight of the reward for novelty, which falls to 0; lower and for fewer steps if answers come fast."""
        reward, share = self.config.reward, self._exploration_share
        steps = share * min(reward.novelty_steps, _MOST_NOVELTY * self.config.planned_steps)
        return share * reward.novelty * max(0.0, 1 - self._env_steps / max(1.0, steps))

    def _note_agreement(self, segments: list[Segment]) -> None:
        """Update the running agreement with pairs of a batch's new segments."""
        segments = segments[: 2 * _AGREEMENT_PAIRS]
        if self.ensemble is None or len(segments) < 2:
            return
        returns = self.ensemble.predicted_returns(segments)
        half = len(segments) // 2
        new = agreement(returns[:, :half], returns[:, half : 2 * half])
        rate = min(1.0, half / _AGREEMENT_WINDOW)
        self._agreement += (new - self._agreement) * rate
        self._agreement_weight += (1 - self._agreement_weight) * rate

    def _add_episodes(self, finished: list[FinishedEpisode]) -> None:
        self._episodes += finished
        returns = [total for total, _ in self._episodes]
        self._means = float(np.mean(returns)) if returns else float("nan"), mean_measure(list(self._episodes))

    def _report(
        self, batch: RolloutBatch | None = None, raw: Float32 | None = None, predicted: Float32 | None = None
    ) -> RolloutReported:
        """Return a report of the latest episodes and of a batch, if given. raw: (M, T, N); predicted: (T, N)"""
        correlation = predicted_return = float("nan")
        if batch is not None and raw is not None and predicted is not None:
            # An episode's sum of the last step's mean reward before normalization, which would make it zero.
            predicted_return = float(raw[:, -1].mean()) * self.task.episode_steps
            if predicted.std() > 0 and batch.true_rewards.std() > 0:
                correlation = float(np.corrcoef(predicted.ravel(), batch.true_rewards.ravel())[0, 1])
        return RolloutReported(
            env_steps=self._env_steps,
            batch_steps=0 if batch is None else batch.log_probs.size,
            true_return=self._means[0],
            predicted_return=predicted_return,
            measure=self._means[1],
            correlation=correlation,
            divergences=self.collectors.divergences,
            agreement=self._agreement / self._agreement_weight if self._agreement_weight else float("nan"),
            finishing=self.budget.share_finished(self._env_steps),
        )

    def _demonstrate_at_rest(self) -> Iterator[Event | None]:
        """Record the newest policy once, if collecting is paused and no batch is left to improve the policy."""
        complete = self._batches_sent <= self._policy_version
        if complete and not self._demonstrated and self.config.rollout.demonstrate_every:
            yield from self._demonstrate()

    def _demonstrate(self) -> Iterator[Event | None]:
        """Record one episode without noise for the live view; if its simulation diverges, none is recorded."""
        self._demonstrated = True
        if self._policy_weights is not None:
            self._demonstrator.load(self._policy_weights)
        episode = yield from demonstrate(self.task, self._demonstrator, self._demonstration_rng, self._env_steps)
        if episode is None:
            log.info("The simulation diverged in the demonstration after %d steps.", self._env_steps)
            return
        predicted = predicted_reward(self.ensemble, episode.segment)
        yield DemonstrationRecorded(episode.segment, predicted, self._env_steps, episode.measure, episode.signals)

    def _load_reward(self, weights: dict[str, np.ndarray]) -> None:
        if self.ensemble is None:
            self.ensemble = build_ensemble(self.config, device_for(self.config))
        load_state_arrays(self.ensemble, weights)
        self.collectors.load_reward(weights)
        self._recent_predictions.forget()

    def get_state(self) -> JobState:
        """Return the job's state without the policy, which the policy job publishes again after a resume."""
        collectors = self.collectors.get_state()
        arrays = dict(collectors.arrays)
        arrays |= pool_arrays(list(self.pool))
        if self.ensemble is not None:
            arrays |= {f"{KEPT_REWARD}{name}": array for name, array in state_arrays(self.ensemble).items()}
            arrays["recent"] = self._recent_predictions.raw.copy()
        values: dict[str, Any] = {
            **collectors.values,
            "env_steps": self._env_steps,
            "sent": self._batches_sent,
            "query_rng": get_rng_state(self._query_rng),
            "demonstration_rng": get_rng_state(self._demonstration_rng),
            "episodes": list(self._episodes),
            "selector": self.offers.selector.get_state(),
            "pool": list(self.pool.counts),
            "agreement": self._agreement,
            "agreement_weight": self._agreement_weight,
            "budget": self.budget.get_state(),
        }
        return JobState(arrays, values)

    def set_state(self, state: JobState) -> None:
        self.collectors.set_state(state)
        segments = pool_segments(state)
        if all(state_size(segment) == self.collectors.state_size for segment in segments):
            old, replaced = map(require_count, state.values["pool"])
            self.pool.restore(segments, (old, replaced))
        if reward := state.under(KEPT_REWARD):
            self._load_reward(reward)
            members = self.config.reward.members
            self._recent_predictions.raw = require_array(state.arrays["recent"], np.float32, members, -1)
        values = state.values
        self._env_steps = require_count(values["env_steps"])
        self._batches_sent = require_count(values["sent"])
        set_rng_state(self._query_rng, values["query_rng"])
        set_rng_state(self._demonstration_rng, values["demonstration_rng"])
        self._add_episodes([(float(total), dict(measures)) for total, measures in values["episodes"]])
        self.offers.selector.set_state(values["selector"])
        self._agreement = float(values["agreement"])
        self._agreement_weight = float(values["agreement_weight"])
        self.budget.set_state(values["budget"])

    def close(self) -> None:
        """End the collectors' processes and simulations."""
        self.collectors.close()
