"""Any other Gymnasium environment, as the task gym:ENV_ID, or gym:ENV_ID@RATE with a number of steps per second.

Gymnasium is too large to import in the window, so nothing is looked up here: an unknown ID is reported when the
environment is made, and its rate (core.envs.gymnasium.steps_per_second) is added to the name when a session is created.
"""

from dataclasses import dataclass

from core.errors import UserError
from core.tasks.base import INSTRUCTION, Task

GYM_PREFIX = "gym:"
RATES = (1.0, 125.0)
"""Lowest and highest number of steps per second. The highest is that of Gymnasium's Hopper; a clip of it has a megabyte."""
USUAL_RATE = 20.0
"""Steps per second if neither the name nor the environment gives a rate."""
_AT = "@"
_PICTURES_PER_SECOND = 25.0
"""Smallest number of pictures per second of a clip."""
_CLIP = 30, 1.0
"""Fewest steps and shortest time in seconds of a clip; below, the same of an episode and of a rest."""
_EPISODE = 300, 10.0
_REST = 15, 0.25


@dataclass(frozen=True, kw_only=True)
class GymTask(Task):
    """An environment of Gymnasium's registry, with a Box observation."""

    env_id: str
    rate: float
    """Steps per second, which determines the speed of clips and the lengths of clips and episodes."""
    rest_steps: int
    """Number of steps for which the end of an attempt is held still before the next attempt."""

    @property
    def step_seconds(self) -> float:
        return 1 / self.rate

    @property
    def steps_per_picture(self) -> int:
        """Number of steps per picture of a clip: several in a fast environment, as drawing is slow."""
        return max(1, int(self.rate / _PICTURES_PER_SECOND))

    @property
    def has_true_reward(self) -> bool:
        return True


def gym_task(name: str) -> GymTask:
    """Return the task with this name. Raises UserError if its rate is not a number within RATES."""
    env_id, at, text = name.removeprefix(GYM_PREFIX).partition(_AT)
    rate = _rate(name, text) if at else USUAL_RATE
    clip, episode, rest = (max(steps, round(seconds * rate)) for steps, seconds in (_CLIP, _EPISODE, _REST))
    return GymTask(
        name=name,
        title=env_id,
        instruction=INSTRUCTION,
        env_id=env_id,
        rate=rate,
        segment_steps=clip,
        episode_steps=episode,
        rest_steps=rest,
        measure_name="return_per_episode",
        measure_title="Return per episode",
    )


def _rate(name: str, text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not RATES[0] <= rate <= RATES[1]:
        low, high = RATES
        raise UserError(
            f"{name:.80} has no rate that can be used: after {_AT}, write the steps per second, {low:g} to {high:g}."
        )
    return rate


def with_rate(name: str, rate: float) -> str:
    """Return the name gym:ENV_ID with this rate."""
    return f"{name}{_AT}{rate:g}"


def without_rate(name: str) -> str:
    """Return the name without its rate, if it has one: gym:ENV_ID."""
    return name.partition(_AT)[0]
