"""The rollout job's state as arrays and JSON values, so that a resumed run goes on as if it had not stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from core.disk import whole
from core.events import JobState
from core.records import Segment
from core.seeding import restored, saved

if TYPE_CHECKING:
    from core.jobs.rollout import RolloutJob

_RNGS = ("env_rng", "act_rng", "query_rng", "demonstration_rng")
_COUNTERS = ("env_steps", "episode_count", "sent")
"""Not the version: no weights are kept here, so a resumed rollout waits until the policy publishes its own."""


def pack(job: RolloutJob) -> JobState:
    arrays = {f"env_{name}": value.copy() for name, value in job.env.get_state().items()}
    arrays |= {f"cutter_{name}": value.copy() for name, value in job.cutter.get_state().items()}
    arrays |= {f"pool_{name}": value for name, value in _stacked(job.pool.all()).items()}
    if job.ensemble is not None:
        arrays |= {f"reward_{name}": value.copy() for name, value in job.ensemble.to_arrays().items()}
    values: dict[str, Any] = {name: getattr(job, name) for name in _COUNTERS}
    values |= {name: saved(getattr(job, name)) for name in _RNGS}
    values |= {"episodes": list(job.episodes), "selector": job.selector.get_state(), "next_id": job.cutter.next_id}
    return JobState(arrays, values)


def unpack(job: RolloutJob, state: JobState) -> None:
    job.env.set_state(_under("env_", state))
    drawable = job.env.sizes[2]
    next_id = whole(state.values["next_id"])
    cut = _under("cutter_", state)
    if cut["states"].shape[2] == drawable:  # else it was taught without a window, and there are no pictures to show
        job.cutter.set_state(cut, next_id)
    job.cutter.next_id = next_id
    for segment in _unstacked(_under("pool_", state)):
        if segment.states.shape[1] == drawable:
            job.pool.add(segment)
    if reward := _under("reward_", state):
        job.load_reward(reward)
    for name in _COUNTERS:
        setattr(job, name, whole(state.values[name]))
    for name in _RNGS:
        restored(getattr(job, name), state.values[name])
    job.episodes.extend((float(total), dict(figures)) for total, figures in state.values["episodes"])
    job.selector.set_state(state.values["selector"])


def _under(prefix: str, state: JobState) -> dict[str, np.ndarray]:
    return {n.removeprefix(prefix): a for n, a in state.arrays.items() if n.startswith(prefix)}


def _stacked(segments: list[Segment]) -> dict[str, np.ndarray]:
    if not segments:
        return {}
    arrays = {name: np.stack([getattr(s, name) for s in segments]) for name in ("observations", "actions", "states")}
    rewards = [s.true_rewards for s in segments if s.true_rewards is not None]
    if rewards:
        arrays["true_rewards"] = np.stack(rewards)
    return arrays | {"ids": np.array([s.id for s in segments]), "steps": np.array([s.env_steps for s in segments])}


def _unstacked(arrays: dict[str, np.ndarray]) -> list[Segment]:
    rewards = arrays.get("true_rewards")
    return [
        Segment(
            int(arrays["ids"][i]),
            arrays["observations"][i],
            arrays["actions"][i],
            arrays["states"][i],
            None if rewards is None else rewards[i],
            int(arrays["steps"][i]),
        )
        for i in range(len(arrays.get("ids", ())))
    ]
