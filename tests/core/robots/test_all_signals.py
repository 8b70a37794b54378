"""Signals of robots in random motion compared with MuJoCo, and functions and figures compared with plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from core.behaviours.behaviour import Behaviour, NamedFigure
from core.behaviours.expressions import compile_expression
from core.envs.mujoco import MujocoVectorEnv
from core.robots.kinematics import Kinematics
from core.robots.signals import signal_series
from core.tasks.base import Physics
from core.tasks.behaviour_tasks import behaviour_task
from core.tasks.robots import ROBOTS
from tests.core.robot_toys import MakeBatch, imported

COUNT, STEPS = 3, 20
GIMBAL = """
<mujoco><compiler angle="radian"/><option timestep=".005" gravity="0 0 -3"/>
  <worldbody><geom type="plane" size="1 1 1"/>
  <body name="mount" pos="0 0 1.2" euler=".3 .2 .1"><geom type="box" size=".05 .05 .05"/>
    <body name="ball"><joint name="yaw" axis="0 0 1"/><joint name="tilt" axis="0 1 0"/><joint name="roll" axis="1 0 0"/>
      <geom name="ball" type="ellipsoid" size=".3 .2 .1" mass="3"/>
      <body name="tip" pos=".3 0 0"><joint name="slip" type="slide" axis="1 0 0" range="-.2 .2" limited="true"/>
        <geom name="tip" type="cylinder" size=".05 .1" mass=".5"/></body></body></body></worldbody>
  <actuator><motor joint="yaw" ctrlrange="-3 3"/><motor joint="tilt" ctrlrange="-3 3"/><motor joint="roll" ctrlrange="-3 3"/>
    <position joint="slip" kp="30" ctrlrange="-.2 .2"/></actuator></mujoco>
"""


def recorded(task: Any, batch: MakeBatch) -> tuple[MujocoVectorEnv, list[dict[str, Any]]]:
    """Return an environment in random motion, and the signals (N,) by name, states and previous states of each step."""
    kept: list[Physics] = []
    whole = replace(task, true_reward=lambda physics: kept.append(physics) or np.zeros(COUNT), needs_signals=True)
    env, rng, steps = batch(whole, COUNT), np.random.default_rng(1), []
    for _ in range(STEPS):
        before = env.states.copy()
        actions = rng.uniform(-1.3, 1.3, (COUNT, env.sizes[1])).astype(np.float32)
        env.step(actions)
        physics = kept.pop()
        values = {name: physics.signals[name].copy() for name in task.names.all()}
        steps.append({"signals": values, "before": before, "after": env.states.copy(), "actions": actions})
    return env, steps


def independent(env: MujocoVectorEnv, task: Any, state: Any, before: Any, action: Any) -> dict[str, float]:
    """Return the same signals of one robot from MuJoCo's data at both states."""
    model, full = env.model, mujoco.mjtState.mjSTATE_FULLPHYSICS
    kinematics = Kinematics(model)
    root, floor = kinematics.root, kinematics.floor
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, before, full)
    mujoco.mj_forward(model, data)
    earlier = data.xpos[root].copy()
    mujoco.mj_setState(model, data, state, full)
    mujoco.mj_forward(model, data)
    place, turned = data.xpos[root], data.xmat[root].reshape(3, 3)
    local, world = np.zeros(6), np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, root, local, 1)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, root, world, 0)
    speed = (place - earlier) / task.step_seconds
    gravity = turned.T @ [0, 0, -1.0]  # in the frame of the body
    values = dict(zip(("x", "y", "height"), place, strict=True))
    values |= dict(zip(("forward_speed", "side_speed", "vertical_speed"), speed, strict=True))
    values |= {"up": turned[2, 2], "roll": math.atan2(-gravity[1], -gravity[2])}
    values |= {"pitch": math.atan2(gravity[0], -gravity[2]), "yaw": math.atan2(turned[1, 0], turned[0, 0])}
    values |= {"roll_rate": local[0], "pitch_rate": local[1], "yaw_rate": world[2], "time": data.time}
    mujoco.mj_subtreeVel(model, data)
    values["mass_speed"] = data.subtree_linvel[root][0]
    for name in task.names.joints:
        joint = next(j for j in range(model.njnt) if model.joint(j).name == name)
        values[f"joint[{name}]"] = data.qpos[model.jnt_qposadr[joint]]
        values[f"joint_rate[{name}]"] = data.qvel[model.jnt_dofadr[joint]]
    for index, name in enumerate(task.names.actions):
        values[f"action[{name}]"] = min(1.0, max(-1.0, float(action[index])))
    touching = False
    for name, geom in kinematics.geoms.items():
        height = mujoco.mj_geomDistance(model, data, geom, floor, 1000.0, None)
        margin = model.geom_margin[geom] + model.geom_margin[floor]
        contact = kinematics.touchable(geom) and height < margin + 0.005
        values[f"x[{name}]"], values[f"y[{name}]"] = data.geom_xpos[geom, :2]
        values[f"height[{name}]"], values[f"contact[{name}]"] = height, float(contact)
        touching |= contact
    return {**values, "airborne": float(not touching)}


def mean_rates(model: Any, before: Any, after: Any, seconds: float) -> dict[str, float]:
    """Return the rates of the root during a step from MuJoCo's rotation between the orientations."""
    quaternions = []
    for state in (before, after):
        data = mujoco.MjData(model)
        mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        mujoco.mj_kinematics(model, data)
        quaternions.append(data.xquat[Kinematics(model).root].copy())
    back, turned, body, world = np.zeros(4), np.zeros(4), np.zeros(3), np.zeros(3)
    mujoco.mju_negQuat(back, quaternions[0])
    mujoco.mju_mulQuat(turned, back, quaternions[1])
    mujoco.mju_quat2Vel(body, turned, seconds)
    mujoco.mju_mulQuat(turned, quaternions[1], back)
    mujoco.mju_quat2Vel(world, turned, seconds)
    return {"roll_rate": body[0], "pitch_rate": body[1], "yaw_rate": world[2]}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", [*ROBOTS, "gimbal"])
def test_every_signal_matches_mujoco(name: str, batch: MakeBatch) -> None:
    task: Any = ROBOTS.get(name)
    if name == "gimbal":
        Path("gimbal.xml").write_text(GIMBAL)
        _, task = imported(Path("gimbal.xml"))
    env, steps = recorded(task, batch)
    planar = name not in ("ant", "gimbal")
    for step in steps[:: 1 + STEPS // 8]:
        for index in range(COUNT):
            expected = independent(env, task, step["after"][index], step["before"][index], step["actions"][index])
            if name == "gimbal":  # several hinges turn its root, so the signals are means of the step
                expected |= mean_rates(env.model, step["before"][index], step["after"][index], task.step_seconds)
            for signal in task.names.all():
                found, wanted = float(step["signals"][signal][index]), expected[signal]
                if signal in ("roll", "pitch", "yaw") and planar:  # unwrapped; it does not turn about other axes
                    turning = abs(expected[f"{signal}_rate"]) > 1e-9
                    found, wanted = (math.remainder(found - wanted, 2 * math.pi), 0.0) if turning else (found, 0.0)
                assert found == pytest.approx(wanted, abs=1e-6), (signal, index)


FUNCTIONS = [
    "abs(pitch) + min(height, 1.2, x) - max(height, 1.2, x)",
    "clip(forward_speed, -0.3, 0.2) * sqrt(abs(height)) / (1 + exp(-vertical_speed))",
    "sin(pi * pitch) ** 2 + cos(pitch) ** 2 - 2 ** -3",
    "(height > 1.1 and pitch < 0.1 or not airborne) + (1 < 2 < 3) - (height == height)",
    "-pitch_rate * airborne + 0.5 * height - 2 * contact[torso_geom] + action[leg_joint]",
    "0.3 < height <= 1.2 != 0",
]


@pytest.mark.parametrize("text", FUNCTIONS)
def test_expressions_match_plain_python(text: str, batch: MakeBatch) -> None:
    task = ROBOTS["hopper"]
    _, steps = recorded(task, batch)
    expression = compile_expression(text, task.names)
    words = {"clip": lambda v, low, high: min(max(v, low), high), "pi": math.pi, "abs": abs, "min": min, "max": max}
    words |= {name: getattr(math, name) for name in ("sqrt", "exp", "sin", "cos")}
    plain = text.replace("contact[torso_geom]", "torso").replace("action[leg_joint]", "leg")
    for step in steps:
        given = type("Given", (), {"count": COUNT, "__getitem__": lambda _, name, now=step: now["signals"][name]})()
        found = expression(given)
        for index in range(COUNT):
            values = {name: float(series[index]) for name, series in step["signals"].items() if name.isidentifier()}
            values["torso"] = float(step["signals"]["contact[torso_geom]"][index])
            values["leg"] = float(step["signals"]["action[leg_joint]"][index])
            assert found[index] == pytest.approx(float(eval(plain, {**words, **values})), abs=1e-9)


FIGURES: dict[str, Callable[[dict[str, list[float]], float], float]] = {
    "mean(height)": lambda s, dt: sum(s["height"]) / len(s["height"]),
    "highest(height) - lowest(x)": lambda s, dt: max(s["height"]) - min(s["x"]),
    "last(pitch)": lambda s, dt: s["pitch"][-1],
    "share(height < 1)": lambda s, dt: sum(h < 1 for h in s["height"]) / len(s["height"]),
    "longest(height < 1)": lambda s, dt: (
        dt * max(map(len, "".join("x" if h < 1 else " " for h in s["height"]).split(" ")))
    ),
    "count(vertical_speed > 0)": lambda s, dt: float(
        sum(a <= 0 < b for a, b in zip([0.0, *s["vertical_speed"]], s["vertical_speed"], strict=False))
    ),
    "turns(-pitch)": lambda s, dt: math.floor(max(0.0, *((s["pitch"][0] - p) / (2 * math.pi) for p in s["pitch"]))),
    "turns(pitch)": lambda s, dt: math.floor(max(0.0, *((p - s["pitch"][0]) / (2 * math.pi) for p in s["pitch"]))),
}


def test_figures_of_an_episode_match_its_steps(batch: MakeBatch) -> None:
    """A Hopper is rotated in the air by hand, so that there are turns to count."""
    plots = tuple(NamedFigure(f"figure_{number}", text, text) for number, text in enumerate(FIGURES))
    behaviour = Behaviour("b", "hopper", "B", "Which?", 1.0, start="air", plots=plots, oracle="pitch_rate")
    kept: list[dict[str, float]] = []
    task: Any = behaviour_task(behaviour)

    def reward(physics: Physics) -> Any:
        kept.append({name: float(physics.signals[name][0]) for name in ("height", "x", "pitch", "vertical_speed")})
        return np.zeros(1)

    env = batch(replace(task, true_reward=reward, episode_steps=60), 1, staggered=False)
    rng, finished = np.random.default_rng(5), list[Any]()
    while not finished:
        env.states[:, 1 + 2] += -0.35 if len(kept) > 12 else 0.1
        finished = env.step(rng.uniform(-1, 1, (1, 3)).astype(np.float32)).finished
    series = {name: [step[name] for step in kept] for name in kept[0]}
    ((_, figures),) = finished
    for number, (text, computed) in enumerate(FIGURES.items()):
        assert figures[f"figure_{number}"] == pytest.approx(computed(series, task.step_seconds), abs=1e-9), text
    assert figures["figure_6"] >= 2


def test_the_signals_of_a_recorded_motion_are_those_of_its_steps(batch: MakeBatch) -> None:
    task = ROBOTS["walker"]
    env, steps = recorded(task, batch)
    states = np.stack([steps[0]["before"][0], *(step["after"][0] for step in steps)])
    actions = np.stack([step["actions"][0] for step in steps] + [steps[-1]["actions"][0]])
    series = signal_series(env.model, states, actions, task.step_seconds)
    assert list(series) == task.names.all()
    for name, values in series.items():
        assert values[1:] == pytest.approx([step["signals"][name][0] for step in steps], abs=1e-4), name
