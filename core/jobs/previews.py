"""The previews job: renders two seconds of a task for the catalogue, on request."""

import math
from collections.abc import Iterator
from contextlib import closing

import numpy as np

from core.envs import make_envs, steps_per_second
from core.envs.base import CaptureSchedule
from core.envs.renderer import renderer_for
from core.errors import refusal
from core.events import Event
from core.jobs.service import Service
from core.rollout.random_actions import held_actions, oscillating_actions
from core.seeding import generator
from core.service_events import PREVIEW_FPS, PreviewDrawn, PreviewRefused, PreviewRequested
from core.tasks import get_task
from core.tasks.base import RobotTask
from core.tasks.behaviour_tasks import with_own_rate
from core.types import Frames

SECONDS, SIZE = 2.0, 320
_GAME_LEAD_IN = 5
"""Multiple of SECONDS for which a game is played before the preview, since little can be seen at its start."""


class PreviewsJob(Service[PreviewRequested]):
    """Answers each PreviewRequested with a PreviewDrawn or, if the task fails, a PreviewRefused."""

    name, requests = "previews", PreviewRequested

    def answer(self, request: PreviewRequested) -> Iterator[Event | None]:
        try:
            drawn: Event = PreviewDrawn(request.task, preview(request.task))
        except Exception as error:  # from the code of any environment; shown on the task's card
            drawn = PreviewRefused(request.task, refusal(error, "The task can't be rendered"))
        yield drawn


def preview(name: str) -> Frames:
    """Render SECONDS of the task with random actions, the same at each call. Raises UserError for an unknown task."""
    task = get_task(with_own_rate(name, steps_per_second))
    rng = generator(0, f"preview of {name}")
    steps = math.ceil(SECONDS / task.step_seconds)
    lead_in = 0 if isinstance(task, RobotTask) else _GAME_LEAD_IN
    env = make_envs(task, 1, rng, threads=1, staggered=False, capture=CaptureSchedule(1, steps, max(1, lead_in)))
    try:
        actions = (held_actions if env.discrete else oscillating_actions)(env, rng, task.step_seconds)
        states = []
        for _ in range((lead_in + 1) * steps):
            states.append(env.states[0])
            env.step(next(actions))
    finally:
        env.close()
    with closing(renderer_for(task)) as renderer:
        return renderer.render(np.stack(states[-steps:]), SIZE, PREVIEW_FPS)
