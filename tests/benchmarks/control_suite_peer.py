"""Random states of DeepMind Control's tasks with its rewards. control_suite.py runs this file in dm_control's environment.

python control_suite_peer.py DOMAIN TASK STATES SEED FILE.npz
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from dm_control import suite


def steps_of_an_episode(env: Any) -> int:
    env.reset()
    steps = 1
    while not env.step(np.zeros(env.action_spec().shape)).last():
        steps += 1
    return steps


def main(domain: str, name: str, states: int, seed: int, path: str) -> None:
    env = suite.load(domain, name)
    physics, rng = env.physics, np.random.default_rng(seed)
    size, model = physics.model.nq, physics.model
    sub_steps = round(env.control_timestep() / physics.timestep())
    episode_steps = steps_of_an_episode(env)
    lows, highs = np.where(model.jnt_limited.astype(bool)[:, None], model.jnt_range, [-3.0, 3.0]).T
    rows: dict[str, list[np.ndarray]] = {
        "positions": [],
        "velocities": [],
        "rewards": [],
        "actions": [],
        "next": [],
        "next_velocities": [],
        "next_rewards": [],
    }
    for _ in range(states):
        positions = rng.uniform(lows, highs)
        spread = rng.choice([0.3, 3.0, 10.0])
        velocities = rng.normal(0, spread, size)
        action = rng.uniform(-1, 1, model.nu)
        with physics.reset_context():
            physics.data.qpos[:], physics.data.qvel[:] = positions, velocities
        rows["positions"].append(positions)
        rows["velocities"].append(velocities)
        rows["rewards"].append(np.asarray(env.task.get_reward(physics)))
        physics.set_control(action)
        physics.step(sub_steps)
        rows["actions"].append(action)
        rows["next"].append(physics.data.qpos.copy())
        rows["next_velocities"].append(physics.data.qvel.copy())
        rows["next_rewards"].append(np.asarray(env.task.get_reward(physics)))
    np.savez(
        path,
        step_seconds=env.control_timestep(),
        episode_steps=episode_steps,
        **{name: np.array(each) for name, each in rows.items()},
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
