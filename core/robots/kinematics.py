"""Positions of bodies and heights of geoms, computed from joint positions for N robots at once, as in mj_kinematics.

mujoco.rollout returns only states, and its sensor data are one physics step old. With NumPy, the cost is about 50 us per
joint for 256 robots, and only requested parts are computed.

Coordinate k (0 x, 1 y, 2 z) of a body's position needs only row k of its rotation matrix: heights take a third of the work.
"""

from __future__ import annotations

import mujoco
import numpy as np
import numpy.typing as npt

from core.robots.floor import floor_of
from core.robots.structure import FREE, HINGE, SLIDE, drawn_geoms, geom_names, robot_trees, root_of, still
from core.tasks.base import quaternion_row
from core.types import Float64

_PLANE, _SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _MESH = (
    int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}"))
    for name in ("PLANE", "SPHERE", "CAPSULE", "ELLIPSOID", "CYLINDER", "MESH")
)
_NO_CONTACTS = int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
SENSED = 0.1
"""Height in m of a geom's lowest point above which `floor_sense` is constant."""


class Kinematics:
    """Constants of a model: its bodies, joints, geoms, and floor."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model
        self.geoms = geom_names(model)
        """Indices of the robot's geoms by name."""
        self.floor, self.floor_height = floor_of(model)
        self.root = root_of(model)
        self.skew = [_skew(axis) for axis in model.jnt_axis]
        self.body_turns = [None if quaternion[0] == 1 else _matrix(quaternion) for quaternion in model.body_quat]
        """Rotation matrix (3, 3) of each body relative to its parent; None if it is not rotated."""
        self.geom_turns = [_matrix(quaternion) for quaternion in model.geom_quat]
        self.joint_offsets = [at if at.any() else None for at in model.jnt_pos]
        self.sensed = [geom for geom in self.geoms.values() if self.touchable(geom)]
        """Geoms that can touch the floor."""
        self.own = np.isin(model.body_treeid, robot_trees(model, self.root))
        """Mask (bodies,) of the robot's own bodies, without loose objects such as a ball or a box."""
        self.standing = [geom for geom in self.sensed if self.own[model.geom_bodyid[geom]]]
        drawn = np.flatnonzero(self.own[model.geom_bodyid] & drawn_geoms(model)).tolist()
        self._placed = sorted({*self.standing, *drawn}) or list(self.geoms.values())
        """Geoms of the robot that starts place above the floor, even if they could fall through it."""
        self.corners = {geom: _corners(model, geom) for geom in self.geoms.values()}

    def touchable(self, geom: int) -> bool:
        """Return whether the geom can touch the floor: by the contact types of both, or as a pair that the model defines.

        Immovable geoms can't: MuJoCo computes no contacts between two of them.
        """
        if still(self.model)[geom]:
            return False
        if self.model.opt.disableflags & _NO_CONTACTS:
            return False
        if self._pair(geom) is not None:
            return True
        bodies = sorted((int(self.model.geom_bodyid[geom]), int(self.model.geom_bodyid[self.floor])))
        if (bodies[0] << 16) + bodies[1] in self.model.exclude_signature:
            return False
        kind, other = self.model.geom_contype, self.model.geom_conaffinity
        return bool(kind[geom] & other[self.floor] or kind[self.floor] & other[geom])

    def margin(self, geom: int) -> float:
        """Return the height above the floor in m at which MuJoCo's contact forces on the geom begin."""
        if self.model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
            return float(self.model.opt.o_margin)
        pair = self._pair(geom)
        if pair is not None:
            return float(self.model.pair_margin[pair])
        return float(self.model.geom_margin[geom] + self.model.geom_margin[self.floor])

    def _pair(self, geom: int) -> int | None:
        """Return the index of the contact pair of geom and floor that the model defines; None if there is none."""
        pairs = zip(self.model.pair_geom1.tolist(), self.model.pair_geom2.tolist(), strict=True)
        return next((number for number, pair in enumerate(pairs) if set(pair) == {geom, self.floor}), None)

    def lowest(self, positions: Float64) -> Float64:
        """Return the height (N,) in m above the floor of the lowest point of the robot's drawn or touchable geoms."""
        poses = Poses(self, positions)
        return np.min([poses.height(geom) for geom in self._placed], axis=0)


class Poses:
    """Poses of N robots at positions (N, nq); each part is computed when it is first requested."""

    def __init__(self, kinematics: Kinematics, positions: Float64) -> None:
        self._kinematics, self._model, self._positions = kinematics, kinematics.model, positions
        self._bodies: dict[tuple[int, int], tuple[Float64, Float64]] = {}
        self._angles: dict[int, tuple[Float64, Float64]] = {}
        self._heights: dict[int, Float64] = {}

    def body(self, body: int, k: int) -> tuple[Float64, Float64]:
        """Return coordinate k of the body's frame in the world (N,) in m, and row k of its rotation matrix (N, 3)."""
        if (body, k) not in self._bodies:
            self._bodies[body, k] = self._compute(body, k)
        return self._bodies[body, k]

    def centre(self, geom: int, k: int) -> Float64:
        """Return coordinate k of the geom's centre in the world, (N,) in m."""
        place, row = self.body(int(self._model.geom_bodyid[geom]), k)
        return place + row @ self._model.geom_pos[geom]

    def height(self, geom: int) -> Float64:
        """Return the height (N,) in m above the floor of the geom's lowest point."""
        if geom not in self._heights:
            model = self._model
            row = self.body(int(model.geom_bodyid[geom]), 2)[1]
            drop = _drop(model, geom, row, self._kinematics.geom_turns[geom], self._kinematics.corners[geom])
            self._heights[geom] = self.centre(geom, 2) - drop - self._kinematics.floor_height
        return self._heights[geom]

    def floor_sense(self) -> Float64:
        """Return the heights (N, sensed) of Kinematics.sensed above the floor, divided by SENSED and clipped to [-1, 1]."""
        heights = np.stack([self.height(geom) for geom in self._kinematics.sensed], axis=1)
        return np.clip(heights / SENSED, -1, 1)

    def _compute(self, body: int, k: int) -> tuple[Float64, Float64]:
        model, positions = self._model, self._positions
        if body == 0:
            return np.zeros(len(positions)), np.broadcast_to(np.eye(3)[k], (len(positions), 3))
        joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
        if len(joints) and model.jnt_type[joints[0]] == FREE:
            start = model.jnt_qposadr[joints[0]]
            return positions[:, start + k], quaternion_row(positions[:, start + 3 : start + 7], k)
        place, row = self.body(int(model.body_parentid[body]), k)
        place = place + row @ model.body_pos[body]
        if (turns := self._kinematics.body_turns[body]) is not None:
            row = row @ turns
        for joint in joints:
            if model.jnt_type[joint] == SLIDE:
                index = model.jnt_qposadr[joint]
                place = place + row @ model.jnt_axis[joint] * (positions[:, index] - model.qpos0[index])
                continue
            turned = self._turn(joint, row) if model.jnt_type[joint] == HINGE else self._ball(joint, row)
            if (offset := self._kinematics.joint_offsets[joint]) is not None:
                place = place + (row - turned) @ offset
            row = turned
        return place, row

    def _turn(self, joint: int, row: Float64) -> Float64:
        """Rotate the rows (N, 3) by a hinge: each row times the matrix of Rodrigues' formula."""
        if joint not in self._angles:
            index = self._model.jnt_qposadr[joint]
            angle = self._positions[:, index] - self._model.qpos0[index]
            self._angles[joint] = np.cos(angle)[:, None], np.sin(angle)[:, None]
        (cosine, sine), axis = self._angles[joint], self._model.jnt_axis[joint]
        along = (row @ axis)[:, None]
        return cosine * row + sine * (row @ self._kinematics.skew[joint]) + (1 - cosine) * along * axis

    def _ball(self, joint: int, row: Float64) -> Float64:
        start = self._model.jnt_qposadr[joint]
        quaternions = self._positions[:, start : start + 4]
        matrices = np.stack([quaternion_row(quaternions, k) for k in range(3)], axis=1)
        return np.einsum("ni,nij->nj", row, matrices)


def _drop(model: mujoco.MjModel, geom: int, row: Float64, turns: Float64, corners: Float64 | None) -> Float64:
    """Return how far (N,) a geom reaches below its centre, in m.

    row (N, 3): z components of its body's axes; turns (3, 3): rotation of the geom relative to its body
    """
    size, kind = model.geom_size[geom], int(model.geom_type[geom])
    if kind == _SPHERE:
        return np.full(len(row), size[0])
    if kind == _PLANE:  # it has no thickness, and its size is that of its grid
        return np.zeros(len(row))
    if kind == _CAPSULE:
        return np.abs(row @ turns[:, 2]) * size[1] + size[0]
    row = row @ turns
    if kind == _CYLINDER:
        return np.abs(row[:, 2]) * size[1] + np.hypot(row[:, 0], row[:, 1]) * size[0]
    if kind == _ELLIPSOID:
        return np.linalg.norm(row * size, axis=1)
    if corners is not None:
        return -(row @ corners.T).min(axis=1)
    return np.abs(row) @ size  # a box


def _corners(model: mujoco.MjModel, geom: int) -> Float64 | None:
    """Return the corners (V, 3) of a mesh's convex hull, which can be its lowest point; None for other geoms."""
    if model.geom_type[geom] != _MESH:
        return None
    mesh = model.geom_dataid[geom]
    start, count, hull = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh], hull_corners(model, mesh)
    corners = model.mesh_vert[start : start + count].astype(np.float64)
    return corners if hull is None else corners[hull]


def hull_corners(model: mujoco.MjModel, mesh: int) -> npt.NDArray[np.int64] | None:
    """Return the indices of a mesh's vertices that are corners of its convex hull; None if MuJoCo made no hull."""
    hull = model.mesh_graphadr[mesh]
    if hull < 0:
        return None
    number = model.mesh_graph[hull]  # then the number of faces, an index for each corner, and the corner's own number
    corners: npt.NDArray[np.int64] = model.mesh_graph[hull + 2 + number : hull + 2 + 2 * number].astype(np.int64)
    return corners


def _matrix(quaternion: Float64) -> Float64:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def _skew(axis: Float64) -> Float64:
    """Return the matrix (3, 3) whose product with a vector is the cross product of the axis and the vector."""
    x, y, z = axis
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
