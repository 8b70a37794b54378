"""The pose that a Reacher's fitted reward ranks highest, for many targets.

    .venv/bin/python -m tests.benchmarks.reacher_optimum SESSION ...

Prints one JSON object for each session: the mean distance in m from the target to the fingertip in the resting pose
that is ranked highest in a grid of both joint angles. If this distance is small and the policy's mean distance is not,
the policy is stuck and the reward is not to blame.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from core.api import fitted_ensemble, load_session
from core.errors import UserError
from core.reward.normalization import standardize_members
from core.tasks import get_task
from core.tasks.reacher import observation, place_target

_TARGETS, _ANGLES = 60, 48


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sessions", nargs="+", type=Path, metavar="SESSION")
    for folder in parser.parse_args().sessions:
        print(json.dumps({"session": str(folder), "distance_at_optimum": round(distance_at_optimum(folder), 4)}))


def distance_at_optimum(folder: Path) -> float:
    """Return the mean distance for a session. Raises UserError for a session of another robot."""
    config, states = load_session(folder)
    if get_task(config.task).name != "reacher":
        raise UserError(f"{folder} does not teach the Reacher: name a session that does.")
    positions, velocities = np.zeros((_TARGETS, 4)), np.zeros((_TARGETS, 4))
    place_target(np.random.default_rng(0), positions, velocities)
    angles = np.linspace(-np.pi, np.pi, _ANGLES, endpoint=False)
    poses = np.repeat(positions[:, None], _ANGLES**2, axis=1)  # (targets, poses, 4)
    poses[..., 0], poses[..., 1] = (grid.ravel() for grid in np.meshgrid(angles, angles))
    seen = observation(poses.reshape(-1, 4), np.zeros((poses.size // 4, 4))).astype(np.float32)
    raw = fitted_ensemble(config, states["reward"]).predict(seen, np.zeros((len(seen), 2), np.float32))
    best = standardize_members(raw).mean(axis=0).reshape(_TARGETS, -1).argmax(axis=1)
    return float(seen[:, -1].reshape(_TARGETS, -1)[np.arange(_TARGETS), best].mean())


if __name__ == "__main__":
    main()
