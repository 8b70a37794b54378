"""The rollout job's state as arrays and JSON values, so that a resumed run goes on as if it had not stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from core.events import JobState
from core.io.files import whole
from core.io.segment_codec import LOOSE, from_arrays, state_size, to_arrays
from core.seeding import restored, saved
from core.session.session import REWARD
from core.types import Segment

if TYPE_CHECKING:
    from core.jobs.rollout import RolloutJob

_RNGS = ("query_rng", "demonstration_rng")
_COUNTERS = ("env_steps", "episode_count", "sent")
"""Not the version: no weights are kept here, so a resumed rollout waits until the policy publishes its own."""


def pack(job: RolloutJob) -> JobState:
    gathered = job.gathering.get_state()
    arrays = dict(gathered.arrays)
    arrays |= {f"pool_{name}": value for name, value in _joined(job.pool.all()).items()}
    if job.ensemble is not None:
        arrays |= {f"{REWARD}{name}": value.copy() for name, value in job.ensemble.to_arrays().items()}
        arrays["recent"] = job.recent.raw.copy()
    values: dict[str, Any] = {**gathered.values, **{name: getattr(job, name) for name in _COUNTERS}}
    values |= {name: saved(getattr(job, name)) for name in _RNGS}
    values |= {"episodes": list(job.episodes), "selector": job.selector.get_state()}
    return JobState(arrays, values)


def unpack(job: RolloutJob, state: JobState) -> None:
    job.gathering.set_state(state)
    drawable = job.gathering.drawable
    for segment in kept_segments(state):
        if state_size(segment) == drawable:
            job.pool.add(segment)
    if reward := state.under(REWARD):
        job.load_reward(reward)
        job.recent.raw = state.arrays.get("recent", job.recent.raw)
    for name in _COUNTERS:
        setattr(job, name, whole(state.values[name]))
    for name in _RNGS:
        restored(getattr(job, name), state.values[name])
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
