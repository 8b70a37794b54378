"""The previews job: draws a moment of a task when asked, for whoever looks through the catalogue."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from core.clips import renderer_for
from core.envs import make
from core.envs.base import Environment, Film
from core.errors import UserError, summary
from core.events import Event, JobState, PreviewDrawn, PreviewRefused, PreviewRequested, Waited
from core.records import Float32, Frames
from core.rollout import run_episodes
from core.seeding import generator
from core.tasks import find

SECONDS, FPS, SIZE = 2.0, 12.0, 320
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
    """Two seconds of the task, moved at random but smoothly. The same each time. UserError where there is no such."""
    task = find(name)
    rng = generator(0, f"preview of {name}")
    steps = math.ceil(SECONDS / task.step_seconds)
    env = make(task, 1, rng, threads=1, staggered=False, film=Film(1, steps))
    try:
        act = _key_presses(env, rng, task.step_seconds) if env.discrete else _swaying(env, rng, task.step_seconds)
        _, states = run_episodes(env, act, steps, steps)
    finally:
        env.close()
    with renderer_for(task) as renderer:
        return renderer.render(states, SIZE, FPS)


Act = Callable[[Float32], tuple[Float32, Float32]]


def _swaying(env: Environment, rng: np.random.Generator, step_seconds: float) -> Act:
    """Each motor swings at its own pace: noise of each step on its own would only make the robot tremble."""
    acted = env.sizes[1]
    pace, start = rng.uniform(*_SWAY, acted), rng.uniform(0, 2 * np.pi, acted)
    taken = 0

    def act(observations: Float32) -> tuple[Float32, Float32]:
        nonlocal taken
        taken += 1
        actions = 0.9 * np.sin(2 * np.pi * pace * taken * step_seconds + start)
        return actions[None].astype(np.float32), np.zeros(1, np.float32)

    return act


def _key_presses(env: Environment, rng: np.random.Generator, step_seconds: float) -> Act:
    """One action at random after the other, each for a moment."""
    held = max(1, round(_HELD_SECONDS / step_seconds))
    taken, action = 0, np.zeros((1, env.sizes[1]), np.float32)

    def act(observations: Float32) -> tuple[Float32, Float32]:
        nonlocal taken, action
        if taken % held == 0:
            action = np.eye(env.sizes[1], dtype=np.float32)[rng.integers(env.sizes[1])][None]
        taken += 1
        return action, np.zeros(1, np.float32)

    return act
