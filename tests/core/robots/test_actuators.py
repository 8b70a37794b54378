"""Actuators of imported robots, and the effect of an untrained policy, which acts around 0."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from core.envs.mujoco import MujocoVectorEnv
from core.errors import UserError
from core.robots.importing import import_robot
from core.tasks import get_task
from core.tasks.behaviour_tasks import task_text
from tests.core.robot_toys import SIT

ARM = """<mujoco><worldbody><body pos="0 0 1"><joint name="elbow" type="hinge" axis="0 1 0" damping="1"/>
<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/></body></worldbody>
<actuator>{}</actuator><keyframe><key name="home" qpos="1" {}/></keyframe></mujoco>"""
SERVO = '<position joint="elbow" kp="50" kv="5" ctrlrange="-2 2" {}/>'
GENERAL = (
    '<general joint="elbow" biastype="affine" gainprm="20" biasprm="0 -50 -5" ctrlrange="-9 9"/>'  # 2.5 holds it at 1
)
SPEED = '<intvelocity joint="elbow" kp="50" kv="5" ctrlrange="-2 2" actrange="-3 3"/>'


@pytest.mark.parametrize("motor", ['<motor joint="elbow" ctrlrange="-1 1"/>', ""], ids=["with a motor", "alone"])
def test_an_actuator_without_a_control_is_refused_by_its_name(motor: str) -> None:
    brake = '<dcmotor name="brake" joint="elbow" motorconst="1" resistance="1" input="none"/>'
    Path("arm.xml").write_text(ARM.format(motor + brake, ""))
    with pytest.raises(UserError, match="actuator brake has no controls: give it one, or remove it"):
        import_robot(Path("arm.xml"))


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("actuator", "key"),
    [
        (GENERAL, ""),
        (SERVO.format(""), 'ctrl="1"'),
        (SERVO.format('timeconst="0.3"'), 'ctrl="1"'),
        (SPEED, ""),
        (SPEED, 'ctrl="0"'),
        (SERVO.format("").replace("-2 2", "-2 1.05"), 'ctrl="1"'),
        (SERVO.format("").replace("-2 2", "1 2"), ""),
        ('<general joint="elbow" dyntype="integrator" ctrlrange="-1 1"/>', 'act="-.764"'),
    ],
    ids=[
        *("another gain than bias", "servo", "filtered servo", "integrating servo", "its control given"),
        *("near an end of its range", "at an end of its range", "activation given"),
    ],
)
def test_action_0_holds_the_starting_pose(actuator: str, key: str, batch: Callable[..., MujocoVectorEnv]) -> None:
    Path("arm.xml").write_text(ARM.format(actuator, key))
    hold = {**SIT, "name": "hold", "robot": "mjcf:arm.xml", "start": "standing", "oracle": "joint[elbow]"}
    Path("hold.json").write_text(json.dumps(hold))
    env = batch(get_task(task_text("hold.json", import_robot)), 1)
    angles = [float(env.step(np.zeros((1, 1), np.float32)).true_rewards[0]) for _ in range(20)]
    assert np.array(angles) == pytest.approx(1, abs=0.1)
