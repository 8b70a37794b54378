"""The scenes job: renders the robot of a behaviour in random motion, from the behaviour's point of view.

It serves the page on which behaviours are edited. Unless the robot, the start or the timing changes, the motion stays
the same, so that the effect of a change can be seen.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from core.behaviours.behaviour import STARTS, Behaviour, parse
from core.envs.mujoco import MujocoVectorEnv
from core.envs.renderer import MujocoRenderer
from core.errors import UserError, refusal
from core.events import Event, Job, Waited
from core.jobs.practice import practice_pairs
from core.robots.signals import constant_signals
from core.rollout.random_actions import oscillating_actions
from core.seeding import generator
from core.service_events import (
    PracticePairDrawn,
    PracticeRequested,
    SceneDrawn,
    SceneRefused,
    SceneRequested,
)
from core.tasks.base import RobotTask
from core.tasks.behaviour_tasks import behaviour_task
from core.types import Float64, Frames

FPS = 15.0
_STARTS_SHOWN = 3
"""Number of episodes that are shown, one after the other, if starts differ."""


class ScenesJob(Job):
    """Answers the newest SceneRequested or PracticeRequested."""

    def __init__(self) -> None:
        self._request: SceneRequested | PracticeRequested | None = None
        self._scene: Scene | None = None

    def receive(self, event: Event) -> None:
        if isinstance(event, SceneRequested | PracticeRequested):
            self._request = event

    def run(self) -> Iterator[Event | None]:
        while True:
            if self._request is not None:
                request, self._request = self._request, None
                yield from self._practise(request) if isinstance(request, PracticeRequested) else self._draw(request)
            else:
                yield Waited("scenes", "nothing to draw")

    def _draw(self, request: SceneRequested) -> Iterator[Event | None]:
        """Draw until a newer request arrives."""
        pixels: list[npt.NDArray[np.uint8]] = []
        try:
            behaviour = parse(request.behaviour)
            if self._scene is None or not self._scene.shows(behaviour):
                if self._scene is not None:
                    self._scene.close()
                self._scene = None
                self._scene = Scene(behaviour)
            for picture in self._scene.pictures(behaviour, request.size, request.still):
                pixels.append(picture)
                yield None
                if self._request is not None:
                    return
        except Exception as error:  # an imported robot may fail anywhere
            yield SceneRefused(request.token, refusal(error, "The robot can't be rendered"))
        else:
            yield SceneDrawn(request.token, Frames(np.stack(pixels), FPS), self._scene.constant)

    def _practise(self, request: PracticeRequested) -> Iterator[Event | None]:
        """Draw the pairs, until a newer request arrives."""
        try:
            for pair in practice_pairs(parse(request.behaviour), request.pairs, request.size, request.token):
                yield pair and PracticePairDrawn(request.token, *pair)
                if self._request is not None:
                    return
        except Exception as error:  # as above
            yield SceneRefused(request.token, refusal(error, "The robot can't be rendered"))


class Scene:
    """A robot in random motion from one kind of start, simulated only as long as clips require.

    constant: signals that never change on this robot
    """

    def __init__(self, behaviour: Behaviour) -> None:
        """Create the scene. Raises UserError if the behaviour has no MuJoCo robot, or does not fit it."""
        self._behaviour = behaviour
        task = self._task(behaviour)
        rng = generator(0, f"scene of {behaviour.robot}")
        self._episodes = 1 if behaviour.start == STARTS[0] else _STARTS_SHOWN
        self._env = MujocoVectorEnv(task, self._episodes, rng, threads=1, staggered=False)
        self._actions = oscillating_actions(self._env, rng, task.step_seconds)
        self._states: list[Float64] = []
        self._renderer = MujocoRenderer(task)
        self.constant = frozenset(constant_signals(self._env.model))

    def shows(self, behaviour: Behaviour) -> bool:
        """Return whether the scene fits this behaviour: robot, start, control rate and episode length are the same."""
        kept = self._behaviour
        same = ("robot", "start", "model", "control_rate", "episode_seconds")
        return all(getattr(kept, name) == getattr(behaviour, name) for name in same)

    def pictures(self, behaviour: Behaviour, size: int, still: int | None) -> Iterator[npt.NDArray[np.uint8]]:
        """Yield the frames (size, size, 3) of one clip of each episode, or only the frame with the index `still`."""
        task = self._task(behaviour)
        self._renderer.look_from(task.camera)
        frames = math.ceil(task.segment_seconds * FPS - 1e-9)
        while len(self._states) < task.segment_steps:
            self._states.append(self._env.states)
            self._env.step(next(self._actions))
        states = np.stack(self._states[: task.segment_steps])
        if still is None:
            for episode in range(self._episodes):
                yield from self._renderer.pictures(states[:, episode], size, FPS)
        else:
            episode, frame = divmod(still % (frames * self._episodes), frames)
            step = min(int(frame / FPS / task.step_seconds), len(states) - 1)
            yield from self._renderer.pictures(states[step : step + 1, episode], size, 1 / task.step_seconds)

    def close(self) -> None:
        self._renderer.close()
        self._env.close()

    def _task(self, behaviour: Behaviour) -> RobotTask:
        """Return the behaviour's task without its expressions, which may still be wrong."""
        task = behaviour_task(replace(behaviour, plots=(), oracle=None, measure=None))
        if not isinstance(task, RobotTask):
            raise UserError(f"{behaviour.robot} has a camera of its own, so there is no picture of it here.")
        return task
