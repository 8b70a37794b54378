"""Readers of the jobs' states in a checkpoint, for code that runs no jobs; the jobs write and read the same arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.events import ENSEMBLE_PREFIX, Arrays, JobState, RewardPublished
from core.io.segment_codec import LOOSE, from_arrays, to_arrays
from core.types import Segment

KEPT_REWARD = "reward_"
"""Prefix of the reward snapshot's weights in the rollout's state and, with SAC, in the policy's."""
POOL = "pool_"
"""Prefix of the segment pool's arrays in the rollout's state."""
SNAPSHOT = "snapshot_"
"""Prefix of the weights published last, in a reward state saved during a round."""


def has_reward(state: JobState) -> bool:
    """Return whether the reward job has published a fitted reward, from its state."""
    return bool(state.values.get("generation"))


def published_weights(state: JobState) -> Arrays:
    """Return the ensemble's weights published last, from the reward job's state; empty if no reward has been fitted."""
    return (state.under(SNAPSHOT) or state.under(ENSEMBLE_PREFIX)) if has_reward(state) else {}


def kept_reward(states: Mapping[str, JobState]) -> RewardPublished | None:
    """Return the reward snapshot in a checkpoint's rollout state, for a job that starts later than it was published."""
    weights = states["rollout"].under(KEPT_REWARD) if "rollout" in states else {}
    return RewardPublished(weights) if weights else None


def request_publication(states: Mapping[str, JobState]) -> None:
    """Make the reward job publish its reward again if the states were saved after its first publication, but before the
    rollout received it: otherwise the rollout would wait for the next answer."""
    if "reward" in states and has_reward(states["reward"]) and kept_reward(states) is None:
        states["reward"].values["unreceived"] = True


def pool_arrays(segments: list[Segment]) -> Arrays:
    """Return the segments of the pool as a few arrays, whose names have the prefix POOL.

    Arrays of the segments are stacked, or concatenated and accompanied by their ends if their lengths differ (LOOSE).
    """
    if not segments:
        return {}
    parts = [to_arrays(segment) for segment in segments]
    arrays: Arrays = {}
    for name in parts[0]:
        rows = [part[name] for part in parts]
        arrays[name] = np.concatenate(rows) if name in LOOSE else np.stack(rows)
        if name in LOOSE:
            arrays[f"{name}_ends"] = np.cumsum([len(row) for row in rows])
    arrays |= {"ids": np.array([s.id for s in segments]), "steps": np.array([s.env_steps for s in segments])}
    return {f"{POOL}{name}": array for name, array in arrays.items()}


def pool_segments(state: JobState) -> list[Segment]:
    """Return the segments of the pool, from the rollout job's state."""
    arrays = state.under(POOL)
    ids, steps = arrays.pop("ids", ()), arrays.pop("steps", ())
    ends = {name: arrays.pop(f"{name}_ends") for name in LOOSE if name in arrays}
    segments = []
    for i, (number, env_steps) in enumerate(zip(ids, steps, strict=True)):
        rows: dict[str, Any] = {}
        for name, array in arrays.items():
            start = int(ends[name][i - 1]) if i and name in ends else 0
            rows[name] = array[start : int(ends[name][i])] if name in ends else array[i]
        segments.append(from_arrays(int(number), int(env_steps), rows))
    return segments
