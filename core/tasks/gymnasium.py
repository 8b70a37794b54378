"""Any other Gymnasium environment, as the task gym:ENV_ID.

Gymnasium is too heavy for the window, so nothing is looked up here: an unknown ID is reported when the environment is
made.
"""

from dataclasses import dataclass

from core.tasks.base import INSTRUCTION, Task

PREFIX = "gym:"
_STEPS_PER_SECOND = 20
"""Playback rate of clips, whatever the environment's own clock: 30 steps then last the paper's 1.5 s."""


@dataclass(frozen=True, kw_only=True)
class GymTask(Task):
    """An environment of Gymnasium's registry, with a Box observation."""

    env_id: str
    rest_steps: int
    """Steps for which an attempt that the environment has ended is held still before the next one."""

    @property
    def step_seconds(self) -> float:
        return 1 / _STEPS_PER_SECOND

    @property
    def has_true_reward(self) -> bool:
        return True


def gym_task(name: str) -> GymTask:
    env_id = name.removeprefix(PREFIX)
    return GymTask(
        name=name,
        title=env_id,
        instruction=INSTRUCTION,
        env_id=env_id,
        segment_steps=30,
        episode_steps=300,
        rest_steps=15,
        measure_name="return_per_episode",
        measure_title="Return per episode",
    )
