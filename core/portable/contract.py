"""contract.json: the description that another program needs to use the exported files."""

from importlib import metadata
from typing import Any

import numpy as np

from core.config import Config
from core.envs.atari import score_boxes
from core.envs.base import VectorEnv
from core.envs.emulators import interface, rom
from core.errors import UserError
from core.portable.graphs import IR_VERSION, OPSET, Controls
from core.portable.observation import observation_numbers
from core.robots.models import load_model
from core.robots.signals import actuator_names
from core.tasks import get_task
from core.tasks.atari import FRAME_SKIP, AtariTask
from core.tasks.base import RobotTask, Task
from core.tasks.gymnasium import GymTask
from core.version import VERSION

_LIBRARIES = ("onnx", "onnxruntime", "torch", "numpy", "mujoco", "gymnasium", "ale-py")


def controls_of(task: Task, env: VectorEnv) -> Controls:
    """Determine the environment's own form of observations and actions, by converting actions."""
    observations, actions, _ = env.sizes
    shape = task.pictures or (observations,)
    if env.discrete:
        first = int(env.controls(np.eye(actions, dtype=np.float32)[:1])[0])
        return Controls(shape, bool(task.pictures), (), first=first)
    low, rest, high = (env.controls(np.full((1, actions), side, np.float32))[0] for side in (-1, 0, 1))
    if np.issubdtype(low.dtype, np.integer):
        raise UserError(f"{task.name} has integer vectors as actions, which can't be exported.")
    dtype = str(low.dtype) if isinstance(task, GymTask) else "float32"
    lowest, middle, highest = (part.astype(np.float32).reshape(-1) for part in (low, rest, high))
    return Controls(shape, False, low.shape, lowest, middle, highest, dtype=dtype)


def contract(config: Config, env: VectorEnv, controls: Controls) -> dict[str, Any]:
    """Describe observations, actions and control rate of the session's task, and the versions of the libraries used."""
    task = get_task(config.task, config.true_reward)
    return {
        "format": 1,
        "task": task.name,
        "title": task.title,
        "control": _control(task),
        "observation": {
            "input": "observation",
            "shape": ["batch", *controls.observation],
            "dtype": "uint8" if controls.pictures else "float32",
            **_observation(task, controls),
        },
        "action": {
            "output": "action",
            "shape": ["batch", *controls.action],
            "dtype": "int64" if controls.discrete else controls.dtype,
            **_action(task, env, controls),
        },
        "versions": {
            "somersault": VERSION,
            "onnx_opset": OPSET,
            "onnx_ir": IR_VERSION,
            **{name: metadata.version(name) for name in _LIBRARIES},
        },
    }


def _control(task: Task) -> dict[str, Any]:
    rate = {"seconds_per_step": task.step_seconds, "steps_per_second": 1 / task.step_seconds}
    if isinstance(task, RobotTask):
        steps = {"timestep": task.timestep, "frame_skip": task.frame_skip, "integrator": task.integrator}
        model = {"model": "the robot's own MJCF file"} if task.packed_model else {"model": f"Gymnasium's {task.model}"}
        return {**rate, "simulator": "mujoco", **model, **steps}
    if isinstance(task, AtariTask):
        return {**rate, "simulator": "ale-py", "game": task.game, "frame_skip": FRAME_SKIP, "sticky_actions": 0.0}
    assert isinstance(task, GymTask)
    text = "an action every step of the environment; the seconds are those of a clip"
    return {**rate, "simulator": "gymnasium", "environment": task.env_id, "meaning": text}


def _observation(task: Task, controls: Controls) -> dict[str, Any]:
    if isinstance(task, RobotTask):
        return {"numbers": observation_numbers(task, load_model(task))}
    if isinstance(task, AtariTask):
        text = (
            "the last pictures, oldest first: for each step, the pixelwise maximum of its last two frames in grayscale,"
            " reduced with OpenCV's INTER_AREA, with the rows and columns in `blanked` (end excluded) then set to 0"
        )
        assert task.pictures is not None
        boxes = score_boxes(task, *task.pictures[1:])
        blanked = [
            {"rows": [rows.start, rows.stop], "columns": [columns.start, columns.stop]} for rows, columns in boxes
        ]
        return {"meaning": text, "blanked": blanked}
    numbers = [{"name": f"observation[{index}]", "unit": ""} for index in range(controls.observation[0])]
    return {"meaning": "the environment's own, flattened to a row", "numbers": numbers}


def _action(task: Task, env: VectorEnv, controls: Controls) -> dict[str, Any]:
    if isinstance(task, AtariTask):
        names = [action.name for action in interface(rom(task)).getMinimalActionSet()]
        return {"meaning": "index in this list, the game's minimal action set", "names": names}
    if controls.low is None or controls.high is None:
        return {"meaning": "number of the action", "first": controls.first, "count": env.sizes[1]}
    limits = list(zip(controls.low.tolist(), controls.high.tolist(), strict=True))
    if not isinstance(task, RobotTask):
        return {"numbers": [{"name": f"action[{n}]", "unit": "", "limits": pair} for n, pair in enumerate(limits)]}
    model = load_model(task)
    return {
        "meaning": "MuJoCo's data.ctrl, held for a whole step",
        "numbers": [
            {"name": f"action[{name}]", "unit": "actuator's control", "limits": pair, "gear": gear}
            for name, gear, pair in zip(actuator_names(model), model.actuator_gear[:, 0].tolist(), limits, strict=True)
        ],
    }
