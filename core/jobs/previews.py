"""The previews job: draws a moment of a task when asked, for whoever looks through the catalogue."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from core.envs import make_envs
from core.envs.base import CaptureSchedule, VectorEnv
from core.envs.renderer import renderer_for
from core.errors import UserError, summary
from core.events import Event, JobState, PreviewDrawn, PreviewRefused, PreviewRequested, Waited
from core.seeding import generator
from core.tasks import get_task
from core.tasks.base import RobotTask
from core.types import Float32, Frames

SECONDS, FPS, SIZE = 2.0, 12.0, 320
_BEFORE = 5
"""A game begins with little to be seen: so many times SECONDS are played first, of which nearly no picture is taken."""
_HELD_SECONDS = 0.25
"""How long a discrete action is kept up: changing it at each step would only look like trembling."""
_SWAY = (0.6, 1.4)
"""Hz between which continuous actions swing, each at its own pace."""


class PreviewsJob:
    """Answers each PreviewRequested, in order, with a PreviewDrawn or a PreviewRefused. One bad task stops no other."""

    def __init__(self) -> None:
        self._requests: deque[str] = deque()

    def receive(self, event: Event) -> None:
        if isinstance(event, PreviewRequested):
            self._requests.append(event.task)

    def run(self) -> Iterator[Event | None]:
        while True:
            if not self._requests:
                yield Waited("previews", "no task to draw")
                continue
            task = self._requests.popleft()
            try:
                drawn: Event = PreviewDrawn(task, preview(task))
            except UserError as error:
                drawn = PreviewRefused(task, str(error))
            except Exception as error:  # a task may run anybody's environment; what it did is told on its card
                drawn = PreviewRefused(task, f"{task} can't be drawn: {summary(error).rstrip('.')}.")
            yield drawn

    def get_state(self) -> JobState:
        return JobState({}, {})

    def set_state(self, state: JobState) -> None:
        """Nothing outlives a drawing."""


def preview(name: str) -> Frames:
    """Two seconds of the task, at random but the same each time. UserError where there is none of that name."""
    task = get_task(name)
    rng = generator(0, f"preview of {name}")
    steps = math.ceil(SECONDS / task.step_seconds)
    before = 0 if isinstance(task, RobotTask) else _BEFORE
    env = make_envs(task, 1, rng, threads=1, staggered=False, film=CaptureSchedule(1, steps, max(1, before)))
    try:
        act = _key_presses(env, rng, task.step_seconds) if env.discrete else _swaying(env, rng, task.step_seconds)
        states = _played(env, act, (before + 1) * steps)[-steps:]
    finally:
        env.close()
    with renderer_for(task) as renderer:
        return renderer.render(states, SIZE, FPS)


Act = Callable[[], Float32]
"""-> (1, a)"""


def _played(env: VectorEnv, act: Act, steps: int) -> npt.NDArray[Any]:
    """(steps, S) what each step can be drawn from."""
    states = []
    for _ in range(steps):
        states.append(env.states[0])
        env.step(act())
    return np.stack(states)


def _swaying(env: VectorEnv, rng: np.random.Generator, step_seconds: float) -> Act:
    """Each motor swings at its own pace: noise of each step on its own would only make the robot tremble."""
    acted = env.sizes[1]
    pace, start = rng.uniform(*_SWAY, acted), rng.uniform(0, 2 * np.pi, acted)
    taken = 0

    def act() -> Float32:
        nonlocal taken
        taken += 1
        actions = 0.9 * np.sin(2 * np.pi * pace * taken * step_seconds + start)
        return actions[None].astype(np.float32)

    return act


def _key_presses(env: VectorEnv, rng: np.random.Generator, step_seconds: float) -> Act:
    """One action at random after the other, each for a moment."""
    held = max(1, round(_HELD_SECONDS / step_seconds))
    taken, action = 0, np.zeros((1, env.sizes[1]), np.float32)

    def act() -> Float32:
        nonlocal taken, action
        if taken % held == 0:
            action = np.eye(env.sizes[1], dtype=np.float32)[rng.integers(env.sizes[1])][None]
        taken += 1
        return action

    return act
