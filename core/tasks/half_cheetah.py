"""The Half-Cheetah, running.

Gymnasium controls it at 20 Hz, at which the authors played its clips: 30 steps last 1.5 s (A.1).
"""

from core.tasks.base import Camera, RobotTask, averages, forward, observe_turning

HALF_CHEETAH = RobotTask(
    name="half-cheetah",
    robot="half-cheetah",
    sizes=(26, 6),
    title="Half-Cheetah",
    instruction="Choose the clip in which the robot moves faster to the right.",
    model="half_cheetah.xml",
    timestep=0.01,
    integrator="euler",
    frame_skip=5,
    segment_steps=30,
    episode_steps=200,
    observe=observe_turning(1, slice(2, 3)),  # height, pitch and joints
    floor_sense=True,
    true_reward=forward,
    measure=averages(forward_speed=forward),
    measure_name="forward_speed",
    measure_title="Forward speed (m/s)",
    reset_noise=0.1,
    exploration_std=0.5,
    normal_speeds=True,
    camera=Camera("torso", height=1.3, distance=4.4),
)
