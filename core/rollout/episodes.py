"""A policy acting for an episode without noise, to be looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.envs import make
from core.envs.base import Film
from core.reward.ensemble import RewardEnsemble, normalised
from core.reward.image_ensemble import PictureEnsemble
from core.rollout.collector import Act, Collected, Crew, collect
from core.rollout.segments import SegmentCutter
from core.tasks.base import Task
from core.types import Float32, Segment


@dataclass(frozen=True)
class Episode:
    """segment: all of it but its last step; measure: the task's own figures of the whole of it."""

    segment: Segment
    measure: dict[str, float]


def episode(task: Task, act: Act, rng: np.random.Generator, env_steps: int = 0) -> Iterator[Episode | None]:
    """Yields None now and then, and the episode last; none where its simulation failed.

    rng: what its start is drawn from
    """
    env = make(task, 1, rng, threads=1, film=Film(1, task.episode_steps))
    try:
        cutter = SegmentCutter(env, task.episode_steps - 1, np.zeros(1, np.int64), task.pictures)
        collected: Collected | None = None
        for collected in collect([Crew(env, act, cutter)], task.episode_steps, env_steps):
            if collected is None:
                yield None
        assert collected is not None
    finally:
        env.close()
    if collected.segments:
        yield Episode(collected.segments[0], collected.finished[0][1] if collected.finished else {})


def predicted_reward(ensemble: RewardEnsemble | PictureEnsemble | None, segment: Segment) -> Float32:
    """(k,) to mean 0 and std 1 over the segment; (0,) where no reward was fitted yet."""
    if ensemble is None:
        return np.zeros(0, np.float32)
    return normalised(ensemble.predict(segment.observations, segment.actions), 1.0)
