"""The rollout job: acts, stores segments, offers queries, and measures. It alone holds the true reward."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from core.config import Config
from core.errors import NotFiniteError
from core.events import (
    AnswersReplayed,
    DemonstrationRecorded,
    Event,
    JobState,
    PolicyPublished,
    PreferenceAdded,
    PreferenceChanged,
    PreferenceWithdrawn,
    QueryOffered,
    RewardPublished,
    RolloutBatchReady,
    RolloutReported,
    Waited,
    require_count,
)
from core.io.segment_codec import LOOSE, from_arrays, state_size, to_arrays
from core.jobs.collectors import Collectors
from core.preferences.oracle import pool_returns
from core.preferences.queries import QuerySelector, predictions
from core.preferences.schedule import scheduled
from core.reward.ensemble import RewardEnsemble, build_ensemble, disagreement_std, normalize_reward
from core.reward.image_ensemble import ImageEnsemble
from core.reward.normalization import RunningWindow
from core.rollout.actor import Actor, acting_device
from core.rollout.collector import RolloutBatch
from core.rollout.episodes import DemonstrationEpisode, demonstrate, mean_measure, predicted_reward
from core.rollout.exploration import knn_entropy_bonus
from core.rollout.segments import SegmentPool
from core.seeding import generator, get_rng_state, set_rng_state
from core.session.routing import REWARD
from core.tasks import get_task
from core.types import Float32, Query, Segment

log = logging.getLogger(__name__)
_EPISODES = 100
"""Finished episodes that the reported means run over."""
_SEGMENTS_PER_QUERY = 4
"""Segments to choose from, for each query before the policy is taught."""
_NAN = float("nan")


class RolloutJob:
    """Collects a batch whenever the policy is near enough (config.policy.lag), and keeps the labeller supplied."""

    def __init__(self, config: Config, processes: bool = False) -> None:
        """processes: collect in several processes, if the task has environments for several collectors"""
        self.config = config
        self.task = get_task(config.task)
        self.query_rng = generator(config.seed, "queries")
        length = config.query.length(self.task.segment_steps)
        stagger = self.query_rng.integers(0, length, config.rollout.environments)
        self.collectors = Collectors(config, stagger, processes)
        self.pool = SegmentPool(config.query.pool)
        self.selector = QuerySelector(config.query, config.reward.error_rate, self.query_rng)
        self.episodes: deque[tuple[float, dict[str, float]]] = deque(maxlen=_EPISODES)
        self._means: tuple[float, dict[str, float]] = _NAN, {}
        self.demonstrator = Actor(config, None)
        self._newest: dict[str, np.ndarray] | None = None
        """Weights that the demonstrator acts with when it next does."""
        self.ensemble: RewardEnsemble | ImageEnsemble | None = None
        self.recent = RunningWindow(config.reward.members)
        self.env_steps = self.episode_count = self.sent = 0
        self.version = -1
        self.outstanding: set[int] = set()
        self.usable: set[int] = set()
        self._replayed = False
        self.demonstration_rng = generator(config.seed, "demonstrations")

    def receive(self, event: Event) -> None:
        match event:
            case PolicyPublished(version, weights, _, waiting):
                self.collectors.load_policy(weights)
                self._newest = weights
                if self.version < 0 or version <= self.version:
                    self.sent = version + waiting  # either side was started again: more under way there is not
                self.version = version
            case RewardPublished(_, weights):
                self.load_reward(weights)
            case PreferenceAdded(preference) | PreferenceChanged(preference):
                self.selector.spare(preference.query)
                self.outstanding.discard(preference.query.id)
                self.usable.discard(preference.id)
                if preference.choice.mu is not None:
                    self.usable.add(preference.id)
            case PreferenceWithdrawn(preference_id):
                self.usable.discard(preference_id)
            case AnswersReplayed(waiting):
                self._take_over(waiting)

    def _take_over(self, waiting: tuple[Query, ...]) -> None:
        """Counts as its own what is still before the labeller; what he has answered meanwhile was replayed."""
        self._replayed = True
        self.outstanding |= {query.id for query in waiting if self.selector.spare(query)}

    def run(self) -> Iterator[Event | None]:
        if self.env_steps:
            yield self._report(None, None, None, 0.0)  # a resumed session has figures before its next batch
        while True:
            yield from self._offer()
            reason = self._reason_to_wait()
            if reason:
                yield Waited("rollout", reason)
            else:
                for event in self._batch():
                    yield event
                    if event is None and self.config.teacher == "human":  # who may answer more meanwhile than is ready
                        yield from self._offer()

    @property
    def _on_true_reward(self) -> bool:
        return self.config.teacher == "none"

    @property
    def _exploring(self) -> bool:
        """Whether the policy still seeks what is new to it, and nothing is asked. Answers that it began with end it."""
        taught = self._on_true_reward or self.usable or self.ensemble
        return not taught and self.env_steps < self.config.explored_steps

    def _reason_to_wait(self) -> str:
        """Why no batch can be collected now; '' if one can."""
        if self.version < 0:
            return "rollout waits for the policy"
        if self.env_steps >= self.config.steps:
            return "all steps of the session are taken"
        if self._on_true_reward or self.ensemble or self._exploring:
            return "rollout waits for the policy" if self.sent - self.version > self.config.policy.lag else ""
        wanted = min(self.config.query.pool, _SEGMENTS_PER_QUERY * self._labels_due())
        return "training starts when the first pairs are answered" if len(self.pool) >= wanted else ""

    def _batch(self) -> Iterator[Event | None]:
        started = time.perf_counter()
        collected: RolloutBatch | None = None
        for collected in self.collectors.collect(self.env_steps):
            if collected is None:
                yield None
        assert collected is not None
        explored = self._exploring
        self._count(collected)
        raw = self._raw()
        predicted = None if raw is None else self._normalised(raw)
        rewards = _for_novelty(collected) if explored else self._rewards(collected, predicted, raw)
        if rewards is not None:
            self.sent += 1
            yield self._batch_event(collected, rewards)
        seconds = time.perf_counter() - started
        yield from self._offer()
        yield self._report(collected, raw, predicted, seconds)
        if self.config.rollout.demonstrate_every and self.sent % self.config.rollout.demonstrate_every == 0:
            yield from self._demonstrate()

    def _count(self, collected: RolloutBatch) -> None:
        for segment in collected.segments:
            self.pool.add(segment)
        self.env_steps += collected.log_probs.size
        self.episode_count += len(collected.finished)
        if collected.finished:
            self.take_episodes(collected.finished)

    def take_episodes(self, finished: list[tuple[float, dict[str, float]]]) -> None:
        """Of small batches few end an episode, so the means are not taken anew for each report."""
        self.episodes += finished
        returns = [total for total, _ in self.episodes]
        self._means = float(np.mean(returns)) if returns else _NAN, mean_measure(list(self.episodes))

    def _raw(self) -> Float32 | None:
        """(M, T, N) what each member predicts for the last batch, None before the first snapshot."""
        if self.ensemble is None:
            return None
        raw = self.collectors.predict()
        if not np.isfinite(raw).all():
            raise NotFiniteError("rollout", "the predicted reward")
        return raw

    def _normalised(self, raw: Float32) -> Float32:
        """(M, T, N) -> (T, N)"""
        std = self.config.reward.std
        return self.recent.normalized(raw, std) if self.task.pictures else normalize_reward(raw, std)

    def _rewards(self, collected: RolloutBatch, predicted: Float32 | None, raw: Float32 | None) -> Float32 | None:
        """(T, N) what the policy is to maximise: the predicted reward, and while answers are to come a bonus."""
        if self._on_true_reward:
            if not np.isfinite(collected.true_rewards).all():
                raise NotFiniteError("rollout", "the true reward")
            if self.task.pictures:  # as A.2 has it; most small batches have none to normalize by
                return collected.true_rewards.clip(-1, 1)
            return normalize_reward(collected.true_rewards[None], 1.0)
        bonus = self._bonus()
        return (
            predicted + bonus * disagreement_std(raw)
            if bonus and raw is not None and predicted is not None
            else predicted
        )

    def _bonus(self) -> float:
        """Weight of the members' disagreement in the reward: it fades as the answers come in."""
        answered = len(self.usable) / max(1, self.config.labels)
        return self.config.reward.bonus * max(0.0, 1 - answered)

    def _batch_event(self, collected: RolloutBatch, rewards: Float32) -> RolloutBatchReady:
        return RolloutBatchReady(
            self.version,
            self.env_steps,
            collected.observations,
            collected.actions,
            collected.log_probs,
            rewards,
            collected.ends,
            collected.end_observations,
            collected.last_observations,
        )

    def _report(
        self, collected: RolloutBatch | None, raw: Float32 | None, predicted: Float32 | None, seconds: float
    ) -> RolloutReported:
        correlation = predicted_return = _NAN
        if collected is not None and raw is not None and predicted is not None:
            # An episode at the newest step's reward, before normalization, which makes every mean zero.
            predicted_return = float(raw[:, -1].mean()) * self.task.episode_steps
            if predicted.std() > 0 and collected.true_rewards.std() > 0:
                correlation = float(np.corrcoef(predicted.ravel(), collected.true_rewards.ravel())[0, 1])
        return RolloutReported(
            env_steps=self.env_steps,
            seconds=seconds,
            batch_steps=0 if collected is None else collected.log_probs.size,
            episodes=self.episode_count,
            true_return=self._means[0],
            predicted_return=predicted_return,
            measure=self._means[1],
            correlation=correlation,
            divergences=self.collectors.divergences,
        )

    def _demonstrate(self) -> Iterator[Event | None]:
        """One episode without noise, for the live view, unless its simulation fails."""
        acted: DemonstrationEpisode | None = None
        if self._newest is not None:
            self.demonstrator.load(self._newest)
        for acted in demonstrate(self.task, self.demonstrator, self.demonstration_rng, self.env_steps):
            if acted is None:
                yield None
        if acted is None:
            log.info("The simulation failed in the demonstration after %d steps.", self.env_steps)
            return
        predicted = predicted_reward(self.ensemble, acted.segment)
        yield DemonstrationRecorded(acted.segment, predicted, self.env_steps, acted.measure)

    def _labels_due(self) -> int:
        return scheduled(self.env_steps, self.config)

    def _offer(self) -> Iterator[Event | None]:
        """Queries as the schedule wants them, or for a person enough to have some ready."""
        if not self._replayed:  # what is answered already would be offered again
            return
        if self._on_true_reward or self._exploring:
            return
        if self.config.teacher == "human":
            missing = self.config.query.ready - len(self.outstanding)
        else:
            missing = self._labels_due() - len(self.usable) - len(self.outstanding)
        if missing <= 0:
            return
        sums = self.ensemble.segment_sums if self.ensemble else None
        pool = self.pool.all()
        returns = pool_returns(pool, self.config.oracle)
        queries = self.selector.select(pool, missing, sums)
        told: list[tuple[float, ...]] = [()] * len(queries)
        if sums and self.config.teacher == "human":  # who may want to know afterwards
            told = predictions(queries, sums)
        for query, predicted in zip(queries, told, strict=True):
            self.outstanding.add(query.id)
            yield QueryOffered(replace(query, pool_returns=returns, predicted=predicted))

    def load_reward(self, weights: dict[str, np.ndarray]) -> None:
        if self.ensemble is None:
            self.ensemble = build_ensemble(self.config, acting_device(self.config))
        self.ensemble.load_arrays(weights)
        self.collectors.load_reward(weights)
        self.recent.forget()

    def get_state(self) -> JobState:
        return pack(self)

    def set_state(self, state: JobState) -> None:
        unpack(self, state)

    def close(self) -> None:
        self.collectors.close()


def _for_novelty(collected: RolloutBatch) -> Float32:
    return normalize_reward(knn_entropy_bonus(collected.observations)[None], 1.0)


_RNGS = ("query_rng", "demonstration_rng")

_COUNTERS = ("env_steps", "episode_count", "sent")
"""Not the version: no weights are kept here, so a resumed rollout waits until the policy publishes its own."""


def pack(job: RolloutJob) -> JobState:
    gathered = job.collectors.get_state()
    arrays = dict(gathered.arrays)
    arrays |= {f"pool_{name}": value for name, value in _joined(job.pool.all()).items()}
    if job.ensemble is not None:
        arrays |= {f"{REWARD}{name}": value.copy() for name, value in job.ensemble.to_arrays().items()}
        arrays["recent"] = job.recent.raw.copy()
    values: dict[str, Any] = {**gathered.values, **{name: getattr(job, name) for name in _COUNTERS}}
    values |= {name: get_rng_state(getattr(job, name)) for name in _RNGS}
    values |= {"episodes": list(job.episodes), "selector": job.selector.get_state()}
    return JobState(arrays, values)


def unpack(job: RolloutJob, state: JobState) -> None:
    job.collectors.set_state(state)
    drawable = job.collectors.state_size
    for segment in kept_segments(state):
        if state_size(segment) == drawable:
            job.pool.add(segment)
    if reward := state.under(REWARD):
        job.load_reward(reward)
        job.recent.raw = state.arrays.get("recent", job.recent.raw)
    for name in _COUNTERS:
        setattr(job, name, require_count(state.values[name]))
    for name in _RNGS:
        set_rng_state(getattr(job, name), state.values[name])
    job.take_episodes([(float(total), dict(figures)) for total, figures in state.values["episodes"]])
    job.selector.set_state(state.values["selector"])


def kept_segments(state: JobState) -> list[Segment]:
    """The pool in a state of the rollout job."""
    arrays = state.under("pool_")
    ids, steps = arrays.pop("ids", ()), arrays.pop("steps", ())
    ends = {name: arrays.pop(f"{name}_ends") for name in LOOSE if name in arrays}
    segments = []
    for i, (number, env_steps) in enumerate(zip(ids, steps, strict=True)):
        own = {name: a[_extent(ends[name], i)] if name in ends else a[i] for name, a in arrays.items()}
        segments.append(from_arrays(int(number), int(env_steps), own))
    return segments


def _extent(ends: np.ndarray, i: int) -> slice:
    return slice(int(ends[i - 1]) if i else 0, int(ends[i]))


def _joined(segments: list[Segment]) -> dict[str, np.ndarray]:
    """All segments in a few arrays: stacked, or one after the other where their lengths differ."""
    if not segments:
        return {}
    parts = [to_arrays(segment) for segment in segments]
    arrays: dict[str, np.ndarray] = {}
    for name in parts[0]:
        rows = [part[name] for part in parts]
        arrays[name] = np.concatenate(rows) if name in LOOSE else np.stack(rows)
        if name in LOOSE:
            arrays[f"{name}_ends"] = np.cumsum([len(row) for row in rows])
    return arrays | {"ids": np.array([s.id for s in segments]), "steps": np.array([s.env_steps for s in segments])}
