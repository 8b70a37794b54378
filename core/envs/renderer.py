"""Clips of segments, drawn on demand at any size: from simulator states by MuJoCo, or from recorded pictures."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from core.envs.motion_marks import TRACE_HZ, TRACE_SECONDS, MotionMarks
from core.errors import UserError, lack
from core.io.image_codec import Pixels, decode_image, fit_to_square, fitted_size
from core.robots.appearance import separate_surfaces
from core.robots.floor import floor_of
from core.robots.models import load_model
from core.robots.physics import FULL, positions_of
from core.robots.structure import carriers, drawn_geoms, extent, ray_distance, shown_trees, still
from core.tasks.base import Camera, RobotTask, Task
from core.types import Float64, Frames

_GREY = 128
_SLICES, _STACKS = 20, 6
"""Segments around and along round geoms: fewer than MuJoCo's default, which makes up for the time of the shadow."""
_NEAR = 0.05
"""Largest distance of the near clipping plane, relative to the camera's distance from the robot."""
_BELOW, _ABOVE = 0.3, 0.29
"""Extent of the picture below and above its middle, in metres per metre of the camera's distance."""
_THROUGH = 0.15
"""Opacity of geoms that hide the robot from the camera."""
_STEEP = 0.5
"""Largest downward angle of the camera in rad that is taken into account to keep a robot's near side in the picture."""
_LEAST_SIZE = 64
"""Size in pixels of the picture that is created to check for OpenGL."""
_NO_OPENGL = "Clips can't be rendered because OpenGL is missing: sudo apt-get install libegl1 libgl1-mesa-dri"


class Renderer(ABC):
    """Draws the states of one task's segments. Use it in one thread only, and close it after use."""

    def __init__(self, task: Task) -> None:
        self._step_seconds = task.step_seconds

    def prepare(self) -> None:  # noqa: B027 - only MuJoCo's needs something
        """Raise UserError if nothing can be drawn here."""

    def close(self) -> None:  # noqa: B027 - only MuJoCo's has something to release
        """Release the resources used for drawing."""

    def render(self, states: npt.NDArray[Any], size: int, fps: float) -> Frames:
        """Draw states (k, S), one per step, at real-time speed: n frames (n, size, size, 3), n = k * step seconds * fps."""
        pixels = np.empty((len(self._frame_times(len(states), fps)), size, size, 3), np.uint8)
        for image, picture in zip(pixels, self.pictures(states, size, fps), strict=True):
            image[:] = picture
        return Frames(pixels, fps)

    def clip(self, states: npt.NDArray[Any], size: int, fps: float) -> Frames:
        """Like `render`, in the picture's own aspect ratio: (n, height, width, 3), the longer side of `size` pixels."""
        return self.render(states, size, fps)

    @abstractmethod
    def pictures(self, states: npt.NDArray[Any], size: int, fps: float) -> Iterator[Pixels]:
        """Yield the frames of `render`, (size, size, 3) uint8, each drawn only when it is requested."""

    def _frame_times(self, steps: int, fps: float) -> Float64:
        """Return the time of each frame (n,), in steps."""
        times: Float64 = np.arange(0, steps * self._step_seconds - 1e-9, 1 / fps) / self._step_seconds
        return times


def renderer_for(task: Task) -> Renderer:
    return MujocoRenderer(task) if isinstance(task, RobotTask) else FrameRenderer(task)


class FrameRenderer(Renderer):
    """Shows pictures that were recorded during the rollout."""

    def render(self, states: npt.NDArray[Any], size: int, fps: float) -> Frames:
        """Render at no more than one frame per step: those of a slow environment would take much memory."""
        return super().render(states, size, min(fps, 1 / self._step_seconds))

    def clip(self, states: npt.NDArray[Any], size: int, fps: float) -> Frames:
        """Render a clip without the black margins that make a picture square."""
        frames = self.render(states, size, fps)
        shown = next((picture for state in states if (picture := decode_image(state)) is not None), None)
        if shown is None:
            return frames
        height, width = fitted_size(shown, size)
        top, left = (size - height) // 2, (size - width) // 2
        return Frames(np.ascontiguousarray(frames.pixels[:, top : top + height, left : left + width]), frames.fps)

    def pictures(self, states: npt.NDArray[Any], size: int, fps: float) -> Iterator[Pixels]:
        """Yield recorded pictures. states: (k, ROW_BYTES), an encoded picture per step; a step without one is grey"""
        shown = -1
        for step in (self._frame_times(len(states), fps) + 1e-9).astype(int):
            if step != shown:
                shown, picture = step, decode_image(states[step])
                grey = np.full((size, size, 3), _GREY, np.uint8)
                image = grey if picture is None else fit_to_square(picture, size)
            yield image


class MujocoRenderer(Renderer):
    """Draws simulator states with MuJoCo, with marks that show the motion in place of MuJoCo's shadows."""

    def __init__(self, task: RobotTask) -> None:
        super().__init__(task)
        self._model = load_model(task)
        quality = self._model.vis.quality
        quality.offsamples = 0  # together with shadows off: 7 ms a frame instead of 43 without a GPU
        quality.numslices, quality.numstacks = _SLICES, _STACKS
        self._data = mujoco.MjData(self._model)
        self._body, self._fixed = self._model.body(task.camera.body).id, task.camera.fixed
        tree = self._model.body_treeid[self._model.geom_bodyid]
        self._geoms = np.flatnonzero(tree == self._model.body_treeid[self._body])
        separate_surfaces(self._model, self._geoms)
        surroundings = still(self._model) & drawn_geoms(self._model) & (tree != self._model.body_treeid[self._body])
        surroundings[floor_of(self._model)[0]] = False
        shown = np.flatnonzero(np.isin(self._model.body_treeid, shown_trees(self._model))).tolist()
        mounts = {mount for body in shown for mount in carriers(self._model, body)}
        surroundings &= ~np.isin(self._model.geom_bodyid, [*mounts])  # such as the palm that carries the fingers
        self._surroundings = np.flatnonzero(surroundings).tolist()
        self._own_near = self._model.vis.map.znear
        self._camera = mujoco.MjvCamera()  # free: its point of view is set for each frame
        self.look_from(task.camera)
        self._renderer: mujoco.Renderer | None = None

    def look_from(self, camera: Camera) -> None:
        """Change the direction, distance and height of the camera; the body that it follows stays the same."""
        self._marks = MotionMarks(self._model, camera)
        self._camera.distance, self._camera.azimuth = camera.distance, camera.azimuth
        near = _NEAR * camera.distance / self._model.stat.extent
        self._model.vis.map.znear = min(self._own_near, near)  # znear is relative to the scene's size
        self._camera.elevation = -camera.elevation
        self._height = camera.height
        self._camera.lookat[:] = *camera.centre, camera.height

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def prepare(self) -> None:
        self._renderer_of_size(_LEAST_SIZE)

    def pictures(self, states: Float64, size: int, fps: float) -> Iterator[Pixels]:
        """Yield drawings of `states` (k, S). Poses are interpolated between states, for smooth motion at any frame rate.

        The trace covers the last TRACE_SECONDS: most clips entirely, and the current part of an episode.
        """
        every = max(1, round(fps / TRACE_HZ))
        path: deque[Float64] = deque(maxlen=round(TRACE_SECONDS * fps / every))
        start: Float64 | None = None
        for number, time in enumerate(np.minimum(self._frame_times(len(states), fps), len(states) - 1)):
            renderer = self._renderer_of_size(size)
            self._pose(states, time)
            position = self._data.subtree_com[self._body].copy()
            if not self._fixed:
                self._follow(position)
                start = position if start is None else start
            renderer.update_scene(self._data, camera=self._camera)
            if self._surroundings:
                self._uncover(renderer.scene, position)
            self._marks.add(renderer.scene, self._data, [*path, position], start)
            if number % every == 0:
                path.append(position)
            renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
            renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
            yield renderer.render()

    def _follow(self, position: Float64) -> None:
        """Aim at the robot's centre of mass, `position` (3,), at the usual height unless part of the robot would be cut off."""
        low, high = extent(self._model, self._data, self._geoms)
        turned, tilt = np.radians([self._camera.azimuth, -self._camera.elevation])
        nearer = float(np.abs([np.cos(turned), np.sin(turned)]) @ (high - low)[:2]) / 2  # than its middle
        height = max(self._height, float(high[2]) - _ABOVE * self._camera.distance)
        height = min(height, float(low[2] - nearer * np.tan(min(tilt, _STEEP))) + _BELOW * self._camera.distance)
        self._camera.lookat[:] = *position[:2], height

    def _uncover(self, scene: mujoco.MjvScene, position: Float64) -> None:
        """Make walls between the camera and the robot transparent. position: (3,) of the robot's centre of mass"""
        eye: Float64 = np.array([camera.pos for camera in scene.camera], np.float64).mean(0)
        low, high = extent(self._model, self._data, self._geoms)
        near, covering = float(np.linalg.norm(high - low)) / 2, set[int]()
        for height in (position[2], low[2], high[2]):
            way = np.array([*position[:2], height]) - eye
            far = float(np.linalg.norm(way))
            for geom in self._surroundings:
                if 0 <= ray_distance(self._model, self._data, geom, eye, way / far) < far - near:
                    covering.add(geom)
        for geom in scene.geoms[: scene.ngeom]:
            if geom.objtype == mujoco.mjtObj.mjOBJ_GEOM and geom.objid in covering:
                geom.rgba[3], geom.transparent = _THROUGH, 1

    def _renderer_of_size(self, size: int) -> mujoco.Renderer:
        """Return a renderer for size x size pixels. Raises UserError if OpenGL or its driver is missing."""
        if self._renderer is None or self._renderer.height != size:
            self.close()
            self._model.vis.global_.offwidth = self._model.vis.global_.offheight = max(size, 480)
            try:
                self._renderer = mujoco.Renderer(self._model, size, size)
            except (AttributeError, ImportError, RuntimeError) as error:  # a missing driver causes any of these
                if lack(error):
                    raise
                raise UserError(_NO_OPENGL) from error
        return self._renderer

    def _pose(self, states: Float64, time: float) -> None:
        """Set the simulator to the pose at `time`, in steps, interpolated between two of the states (k, S)."""
        before = int(time)
        after = min(before + 1, len(states) - 1)
        mujoco.mj_setState(self._model, self._data, states[before], FULL)
        if after > before:
            positions, step = positions_of(self._model, states), np.zeros(self._model.nv)
            mujoco.mj_differentiatePos(self._model, step, 1.0, positions[before], positions[after])
            mujoco.mj_integratePos(self._model, self._data.qpos, step, time - before)
        mujoco.mj_forward(self._model, self._data)
