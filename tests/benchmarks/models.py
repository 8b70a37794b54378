"""Models in MJCF files as robots: import, speed, visibility in clips, and learning.

    .venv/bin/python -m tests.benchmarks.models FOLDER_OR_FILE... --out build/models [--teach STEPS]

Prints a table, and writes a strip of stills of each model to --out: the start, random motion, and the start raised by
0.4 of the robot's size, as in a jump. With --teach, 40 answers of an oracle teach each mobile robot to go forward, and
the others to raise their last part; "learned" is the difference between the returns of the taught and the untrained
policy, in standard deviations of the latter's episodes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import core  # noqa: F401  chooses the backend of OpenGL before MuJoCo is imported

# isort: split
import cv2
import mujoco
import numpy as np

from core.behaviours.behaviour import Behaviour
from core.behaviours.robot_model import MJCF_PREFIX, RobotModel
from core.behaviours.signals import write
from core.envs.mujoco import MujocoVectorEnv
from core.envs.renderer import MujocoRenderer
from core.errors import UserError
from core.robots.importing import import_robot
from core.robots.kinematics import Kinematics
from core.robots.models import load_model
from core.robots.structure import lift_of
from core.rollout.random_actions import oscillating_actions
from core.tasks.base import Camera, RobotTask
from core.tasks.behaviour_tasks import behaviour_task

_FIELD = np.radians(36.0)
_SIZE, _ENVIRONMENTS, _LABELS = 320, 128, 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/models"))
    parser.add_argument("--teach", type=int, default=0, metavar="STEPS")
    args = parser.parse_args()
    warnings.simplefilter("error")
    args.out.mkdir(parents=True, exist_ok=True)
    print("| model | actuators | Hz | packed kB | import s | steps/s | diverged | in picture | frame ms | learned |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for path in models(args.paths):
        print(row(path, args.out, args.teach), flush=True)


def models(paths: list[Path]) -> list[Path]:
    """Return the files themselves, and the MJCF files below folders."""
    found = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.xml")))]
    return [file for file in found if "<mujoco" in file.read_text(errors="replace")[:2000]]


def row(path: Path, out: Path, teach_steps: int) -> str:
    name, started = f"{path.parent.name}/{path.stem}", time.monotonic()
    try:
        model = import_robot(path)
    except UserError as error:
        return f"| {name} | {str(error).split('robot: ', 1)[-1]} |"
    seconds = time.monotonic() - started
    behaviour = behaviour_of(path, model)
    task: Any = behaviour_task(behaviour)
    speed, diverged = stepping(task)
    seen, frame = stills(task, out / f"{path.parent.name}-{path.stem}.png")
    learned = f"{teach(behaviour, out, teach_steps):.1f}" if teach_steps else ""
    return (
        f"| {name} | {len(model.actions)} | {1 / task.step_seconds:.0f} | {len(model.content()) >> 10} | {seconds:.1f} |"
        f" {speed:,.0f} | {diverged:.1%} | {seen:.0%} | {frame:.0f} | {learned} |"
    )


def behaviour_of(path: Path, model: RobotModel) -> Behaviour:
    words = "Trial", "Choose the clip in which it goes farther, or is higher."
    bare = Behaviour("trial", f"{MJCF_PREFIX}{path.name}", *words, 1.5, model=model)
    if not model.fixed:
        return replace(bare, oracle="clip(forward_speed, -3, 3)")
    compiled = load_model(behaviour_task(bare))
    kinematics = Kinematics(compiled)
    trees = compiled.body_treeid[compiled.geom_bodyid]
    own = [name for name, geom in kinematics.geoms.items() if trees[geom] == compiled.body_treeid[kinematics.root]]
    return replace(bare, oracle=write("height", own[-1]))


def stepping(task: RobotTask) -> tuple[float, float]:
    """Return environment steps a second with random actions, and the share of a second's simulations that diverged."""
    rng, steps = np.random.default_rng(0), round(1 / task.step_seconds)
    with closing(MujocoVectorEnv(task, _ENVIRONMENTS, rng)) as env:
        started = time.monotonic()
        for _ in range(steps):
            step = env.step(rng.normal(0, 0.5, (_ENVIRONMENTS, env.sizes[1])).astype(np.float32))
        assert np.isfinite(step.observations).all() and np.isfinite(step.true_rewards).all()
        return steps * _ENVIRONMENTS / (time.monotonic() - started), env.divergences / _ENVIRONMENTS


def stills(task: RobotTask, file: Path) -> tuple[float, float]:
    """Write the stills; return the share of the robot's parts that are in the pictures, and milliseconds a picture."""
    rng = np.random.default_rng(0)
    with closing(MujocoVectorEnv(task, 1, rng, threads=1, staggered=False)) as env:
        actions = oscillating_actions(env, rng, task.step_seconds)
        states = [env.states[0]]
        for _ in range(round(1.5 / task.step_seconds)):
            env.step(next(actions))
            states.append(env.states[0])
        lift = lift_of(env.model, Kinematics(env.model).root)
        if lift is not None:
            index, _, sign = lift
            jumping = states[0].copy()
            jumping[1 + index] += sign * 0.4 * task.camera.distance * 0.65 / 1.9
            states.append(jumping)
        chosen = np.stack(states)[[0, len(states) // 3, 2 * len(states) // 3, -2, -1]]
        seen = np.mean([in_picture(env.model, state, task.camera) for state in chosen])
    with closing(MujocoRenderer(task)) as renderer:
        pictures = [next(iter(renderer.pictures(state[None], _SIZE, 1 / task.step_seconds))) for state in chosen]
        started = time.monotonic()
        renderer.render(chosen, _SIZE, 1 / task.step_seconds)
        frame = (time.monotonic() - started) / len(chosen)
    cv2.imwrite(str(file), np.concatenate(pictures, axis=1)[:, :, ::-1])
    return float(seen), 1000 * frame


def in_picture(model: mujoco.MjModel, state: np.ndarray, camera: Camera) -> float:
    """Return the share of the moving geoms whose centres the camera sees."""
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    mujoco.mj_forward(model, data)
    body = model.body(camera.body).id
    middle = np.array([*(camera.centre if camera.fixed else data.subtree_com[body][:2]), camera.height])
    azimuth, elevation = np.radians(camera.azimuth), np.radians(-camera.elevation)
    ahead = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
    above = np.cross(right, ahead)
    tree = model.body_treeid[body]
    geoms = model.body_treeid[model.geom_bodyid] == tree
    offsets = data.geom_xpos[geoms] - (middle - camera.distance * ahead)
    depth = offsets @ ahead
    reach = np.tan(_FIELD / 2) * depth
    inside = (depth > 0) & (np.abs(offsets @ right) < reach) & (np.abs(offsets @ above) < reach)
    return float(inside.mean())


def teach(behaviour: Behaviour, out: Path, steps: int) -> float:
    """Return by how many standard deviations of untrained episodes the taught policy is better than the untrained."""
    file = out / "trial.json"
    file.write_text(behaviour.to_text())
    session = out / f"session-{time.monotonic_ns()}"
    command = [sys.executable, "-m", "core", "teach", str(file), "--labels", str(_LABELS), "--steps", str(steps)]
    done = subprocess.run([*command, "--session", str(session), "--json"], capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-400:], file=sys.stderr)
        return float("nan")
    result = json.loads(done.stdout.splitlines()[-1])
    if result["true_return"] is None:  # no episode has ended: give more steps
        return float("nan")
    return float((result["true_return"] - result["random_return"]) / untrained_spread(behaviour))


def untrained_spread(behaviour: Behaviour) -> float:
    task: Any = behaviour_task(behaviour)
    rng, returns = np.random.default_rng(0), list[float]()
    with closing(MujocoVectorEnv(task, 32, rng, staggered=False)) as env:
        for _ in range(task.episode_steps):
            actions = rng.normal(0, task.exploration_std, (32, env.sizes[1])).astype(np.float32)
            returns += [finished[0] for finished in env.step(actions).finished]
    return max(1e-9, float(np.std(returns)))


if __name__ == "__main__":
    main()
