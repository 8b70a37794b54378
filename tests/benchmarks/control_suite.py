"""Comparison of the yardstick's rewards and physics with DeepMind Control's own, on random states.

    python3 -m venv PEER && PEER/bin/pip install dm_control==1.0.50 'mujoco<4'
    .venv/bin/python -m tests.benchmarks.control_suite PEER/bin/python

dm_control needs a MuJoCo older than this program's. Fails if a reward differs by more than 1e-6.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

from core.envs.mujoco import MujocoVectorEnv
from core.headless.settings import named_task
from core.robots.kinematics import Kinematics
from core.robots.signals import SignalSource, StepSignals, StepStates
from core.tasks import get_task
from core.tasks.base import Physics, RobotTask

ROOT = Path(__file__).resolve().parents[2]
TASKS = {"walker-walk": ("walker", "walk"), "walker-run": ("walker", "run"), "cheetah-run": ("cheetah", "run")}


def rewards_of(task: RobotTask, env: MujocoVectorEnv, positions: np.ndarray, velocities: np.ndarray) -> np.ndarray:
    """Return the rewards (N,) of states."""
    count = len(positions)
    actions, seconds = np.zeros((count, env.model.nu), np.float32), np.zeros(count)
    states = StepStates(positions, positions, velocities, actions, seconds, task.step_seconds)
    signals = StepSignals(SignalSource(Kinematics(env.model)), states)
    physics = Physics(positions, velocities, actions, positions, velocities, signals)
    return task.true_reward(physics)


def compare(name: str, peer: str, states: int, seed: int) -> float:
    """Print the largest differences of one task; return that of the rewards."""
    task = get_task(named_task(str(ROOT / "resources" / "yardstick" / f"{name}.json")))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/states.npz"
        script = Path(__file__).with_name("control_suite_peer.py")
        subprocess.run([peer, str(script), *TASKS[name], str(states), str(seed), path], check=True)
        theirs = dict(np.load(path))
    assert task.step_seconds == theirs["step_seconds"] and task.episode_steps == theirs["episode_steps"]
    with closing(MujocoVectorEnv(task, states, np.random.default_rng(0), 1, staggered=False)) as env:
        rewards = rewards_of(task, env, theirs["positions"], theirs["velocities"])
        nq = env.model.nq
        env.states[:, 1 : 1 + nq], env.states[:, 1 + nq :] = theirs["positions"], theirs["velocities"]
        step = env.step(theirs["actions"].astype(np.float32))
    worst = float(np.abs(rewards - theirs["rewards"]).max())
    after = np.abs(step.true_rewards - theirs["next_rewards"])
    print(
        f"{name}: {states} states, rewards from {theirs['rewards'].min():.3f} to {theirs['rewards'].max():.3f}, largest"
        f" difference {worst:.1e}; after one step, in the other MuJoCo, median {np.median(after):.1e}, largest"
        f" {after.max():.1e}"
    )
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", help="a Python with dm_control")
    parser.add_argument("--states", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    return int(max(compare(name, args.peer, args.states, args.seed) for name in TASKS) > 1e-6)


if __name__ == "__main__":
    sys.exit(main())
