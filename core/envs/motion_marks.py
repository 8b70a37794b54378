"""Marks in a clip that show where the robot is and has been: its shadow on the floor, its trace, and the start line."""

from collections.abc import Sequence
from itertools import pairwise

import mujoco
import numpy as np

from core.robots.floor import floor_of
from core.robots.structure import FREE, SLIDE, base_joints, drawn_geoms, joint_axes, root_of
from core.tasks.base import Camera
from core.types import Float64

TRACE_SECONDS = 1.5
"""Duration of the trace in seconds, the same as that of most clips."""
TRACE_HZ = 15.0
"""Points of the trace per second."""
_SHADOW, _FADED = np.array([0.1, 0.13, 0.16]), np.array([0.28, 0.33, 0.38])
"""Colours of a shadow at the floor and far above it. They are opaque: where parts overlap, nothing is twice as dark."""
_FADE_HEIGHT = 1.2
"""Height in m above the floor at which a shadow is halfway between its two colours."""
_MARGIN = 0.015
"""Width in m by which a shadow is larger than its geom, per metre of the camera's distance."""
_FLAT = 1e-3
"""Thickness of a shadow relative to its geom; at 0 MuJoCo could not light it."""
_TRACE, _TRACE_PIXELS = (1.0, 0.95, 0.6, 0.55), 2.0
_START = (0.85, 0.5, 0.1, 0.8)
_START_WIDTH, _START_LENGTH = 0.008, 0.13
"""Half sizes in m of the start line, along and across the robot's direction, per metre of the camera's distance."""
_LIFT = 1e-3
"""Height in m of the marks above the floor, per metre of the camera's distance; on the floor itself they would flicker."""


class MotionMarks:
    """Adds the marks to scenes of one model, as geoms: MuJoCo's own shadows take longer than the rest of a picture."""

    def __init__(self, model: mujoco.MjModel, camera: Camera) -> None:
        self._scale = camera.distance
        _, self._floor = floor_of(model)
        self._terrain = bool((model.geom_type == mujoco.mjtGeom.mjGEOM_HFIELD).any())
        """True if the model has a terrain: the marks on the floor, which lies below it, are left out."""
        sizes = [_START_WIDTH, _START_LENGTH]
        self._line = [*(reversed(sizes) if _runs_along_y(model) else sizes), _FLAT]
        seen = (model.geom_bodyid > 0) & drawn_geoms(model)
        self._geoms = np.flatnonzero(seen & (model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE))  # of the robot
        self._sizes = _half_sizes(model)[self._geoms] + _MARGIN * self._scale

    def add(self, scene: mujoco.MjvScene, data: mujoco.MjData, path: Sequence[Float64], start: Float64 | None) -> None:
        """Add the marks of a pose.

        path: positions (3,) in m of the robot, from the oldest to the current one
        start: its position (3,) at the clip's first frame; None for no start line
        """
        if not self._terrain:
            if start is not None:
                self._add_start_line(scene, start)
            self._add_shadow(scene, data)
        self._add_trace(scene, path)

    def _add_start_line(self, scene: mujoco.MjvScene, start: Float64) -> None:
        size = self._scale * np.array(self._line)
        at = np.array([start[0], start[1], self._floor + _LIFT * self._scale])
        _add_geom(scene, mujoco.mjtGeom.mjGEOM_BOX, size, at, np.eye(3), _START)

    def _add_shadow(self, scene: mujoco.MjvScene, data: mujoco.MjData) -> None:
        """Add an ellipsoid around each geom, flattened onto the floor."""
        at, turned = data.geom_xpos[self._geoms], data.geom_xmat[self._geoms].reshape(-1, 3, 3)
        strength = _FADE_HEIGHT / (_FADE_HEIGHT + max(0.0, float(at[:, 2].min()) - self._floor))
        colour = (*(strength * _SHADOW + (1 - strength) * _FADED).tolist(), 1.0)
        at[:, 2] = self._floor + 2 * _LIFT * self._scale
        turned[:, 2] *= _FLAT
        for size, place, matrix in zip(self._sizes, at, turned, strict=True):
            _add_geom(scene, mujoco.mjtGeom.mjGEOM_ELLIPSOID, size, place, matrix, colour)

    def _add_trace(self, scene: mujoco.MjvScene, path: Sequence[Float64]) -> None:
        for before, after in pairwise(path):
            geom = _add_geom(scene, mujoco.mjtGeom.mjGEOM_LINE, np.zeros(3), before, np.eye(3), _TRACE)
            mujoco.mjv_connector(geom, mujoco.mjtGeom.mjGEOM_LINE, _TRACE_PIXELS, before, after)


def _runs_along_y(model: mujoco.MjModel) -> bool:
    """Return whether the robot can travel along y but not along x."""
    joints = base_joints(model, root_of(model))
    kinds, ways = model.jnt_type[joints], np.abs(joint_axes(model)[joints])
    slides = ways[kinds == SLIDE]
    return not (kinds == FREE).any() and bool((slides[:, 1] > 0.5).any() and (slides[:, 0] < 0.5).all())


def _half_sizes(model: mujoco.MjModel) -> Float64:
    """Return the half sizes (geoms, 3) in m of each geom along its own axes."""
    sizes = model.geom_size.copy()
    kinds = mujoco.mjtGeom
    round_geoms = np.isin(model.geom_type, (kinds.mjGEOM_SPHERE, kinds.mjGEOM_CAPSULE))
    sizes[round_geoms] = sizes[round_geoms][:, [0, 0, 1]] + sizes[round_geoms][:, [2, 2, 0]]
    cylinders = model.geom_type == kinds.mjGEOM_CYLINDER
    sizes[cylinders] = sizes[cylinders][:, [0, 0, 1]]
    return sizes


def _add_geom(
    scene: mujoco.MjvScene,
    kind: int,
    size: Float64,
    position: Float64,
    matrix: Float64,
    colour: tuple[float, float, float, float],
) -> mujoco.MjvGeom:
    """Add a geom to a scene and return it. size, position: (3,) in m; matrix: (3, 3), from its axes to the world's"""
    geom = scene.geoms[scene.ngeom]
    mujoco.mjv_initGeom(geom, kind, size, position, matrix.ravel(), np.array(colour, np.float32))
    geom.specular = 0.0
    scene.ngeom += 1
    return geom
