"""Segments to clips, at any size, when somebody wants to see them: states drawn by MuJoCo, or pictures taken before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import mujoco
import numpy as np
import numpy.typing as npt

from core.envs.robot_models import CAMERA, load_model
from core.errors import UserError, lack
from core.io.image_codec import Pixels, decoded, fitted
from core.tasks.base import RobotTask, Task
from core.types import Float64, Frames

_NO_PICTURE = 128
_NO_OPENGL = "Clips can't be drawn, as OpenGL is missing here: sudo apt-get install libegl1 libgl1-mesa-dri"
_FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS


class Renderer(ABC):
    """Draws the states of one task's segments. Use in one thread, as a context; close it when done."""

    def __init__(self, task: Task) -> None:
        self._step_seconds = task.step_seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...

    def render(self, states: npt.NDArray[Any], size: int, fps: float) -> Frames:
        """states (k, S), one a step -> k steps of real time at `fps`, size x size pixels."""
        pixels = np.empty((len(self._moments(len(states), fps)), size, size, 3), np.uint8)
        for image, picture in zip(pixels, self.pictures(states, size, fps), strict=True):
            image[:] = picture
        return Frames(pixels, fps)

    @abstractmethod
    def pictures(self, states: npt.NDArray[Any], size: int, fps: float) -> Iterator[Pixels]:
        """Those of `render`, each (size, size, 3) and drawn only when it is asked for: a long film fits no memory."""

    def _moments(self, steps: int, fps: float) -> Float64:
        """When each picture is, counted in steps."""
        moments: Float64 = np.arange(0, steps * self._step_seconds - 1e-9, 1 / fps) / self._step_seconds
        return moments


def renderer_for(task: Task) -> Renderer:
    """What draws the task's clips: a simulator, or else the pictures that were taken."""
    return MujocoRenderer(task) if isinstance(task, RobotTask) else FrameRenderer(task)


class FrameRenderer(Renderer):
    """Shows the pictures that were taken while the task went on."""

    def close(self) -> None:
        """There is nothing to close."""

    def pictures(self, states: npt.NDArray[Any], size: int, fps: float) -> Iterator[Pixels]:
        """states (k, bytes) pictures, one a step; grey where no picture was kept."""
        shown = -1
        for step in (self._moments(len(states), fps) + 1e-9).astype(int):
            if step != shown:
                shown, picture = step, decoded(states[step])
                image = np.full((size, size, 3), _NO_PICTURE, np.uint8) if picture is None else fitted(picture, size)
            yield image


class MujocoRenderer(Renderer):
    """Draws the states of one task. Use in one thread; close it when done."""

    def __init__(self, task: RobotTask) -> None:
        super().__init__(task)
        self._model = load_model(task)
        self._model.vis.quality.offsamples = 0  # with shadows, this is what costs most without a GPU: 43 ms to 7
        self._data = mujoco.MjData(self._model)
        self._renderer: mujoco.Renderer | None = None

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def pictures(self, states: Float64, size: int, fps: float) -> Iterator[Pixels]:
        """They follow the robot. Between two states the pose is interpolated: motion is even at any frame rate."""
        for moment in np.minimum(self._moments(len(states), fps), len(states) - 1):
            renderer = self._sized(size)
            self._pose(states, moment)
            renderer.update_scene(self._data, camera=CAMERA)
            self._plain(renderer)
            yield renderer.render()

    def _sized(self, size: int) -> mujoco.Renderer:
        if self._renderer is None or self._renderer.height != size:
            self.close()
            self._model.vis.global_.offwidth = self._model.vis.global_.offheight = max(size, 480)
            self._renderer = self._made(size)
        return self._renderer

    def _made(self, size: int) -> mujoco.Renderer:
        """UserError where OpenGL or its driver is missing, which MuJoCo tells by whatever fails first."""
        try:
            return mujoco.Renderer(self._model, size, size)
        except (AttributeError, ImportError, RuntimeError) as error:
            if lack(error):
                raise
            raise UserError(_NO_OPENGL) from error

    def _pose(self, states: Float64, time: float) -> None:
        """Sets the simulator between two states: positions follow the shortest way, by MuJoCo's own difference."""
        before = int(time)
        after = min(before + 1, len(states) - 1)
        mujoco.mj_setState(self._model, self._data, states[before], _FULL)
        if after > before:
            nq = self._model.nq
            step = np.zeros(self._model.nv)
            mujoco.mj_differentiatePos(self._model, step, 1.0, states[before, 1 : 1 + nq], states[after, 1 : 1 + nq])
            mujoco.mj_integratePos(self._model, self._data.qpos, step, time - before)
        mujoco.mj_forward(self._model, self._data)

    @staticmethod
    def _plain(renderer: mujoco.Renderer) -> None:
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
        renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
