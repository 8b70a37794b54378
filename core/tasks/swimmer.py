"""The Swimmer: three links in a thick fluid. Gymnasium's model at 40 Hz, so that a clip of 60 steps lasts 1.5 s (A.1)."""

from core.tasks.base import Camera, RobotTask, averages, forward, observe_turning

SWIMMER = RobotTask(
    name="swimmer",
    robot="swimmer",
    sizes=(9, 2),
    title="Swimmer",
    instruction="Choose the clip in which the middle of the robot's body moves faster to the right.",
    model="swimmer.xml",
    timestep=0.0125,
    integrator="rk4",
    frame_skip=2,
    segment_steps=60,
    episode_steps=400,
    observe=observe_turning(2, slice(2, 3)),  # front link and joints
    true_reward=forward,
    measure=averages(forward_speed=forward),
    measure_name="forward_speed",
    measure_title="Forward speed (m/s)",
    reset_noise=0.1,
    exploration_std=0.5,
    camera=Camera("torso", height=0.0, distance=5.3, elevation=60.0),
    paper_presets={"policy.entropy_bonus": 0.001},  # A.1, for the Swimmer alone
)
