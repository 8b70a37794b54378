"""Places of bodies and heights of geoms, computed from positions for N robots at once, as MuJoCo's mj_kinematics does.

mujoco.rollout gives states only, and its sensors are a physics step old. With numpy the cost is some 50 us a joint for
256 robots, and nothing for what is not asked for.

Of a body's pose, coordinate k (0 x, 1 y, 2 z) needs only row k of its rotation matrix: heights need a third of the work.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
import numpy.typing as npt

from core.tasks.base import quaternion_row
from core.types import Float64

FREE, BALL, SLIDE, HINGE = (
    int(getattr(mujoco.mjtJoint, f"mjJNT_{name}")) for name in ("FREE", "BALL", "SLIDE", "HINGE")
)
_PLANE, _SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _MESH = (
    int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}"))
    for name in ("PLANE", "SPHERE", "CAPSULE", "ELLIPSOID", "CYLINDER", "MESH")
)
_UPRIGHT, _LEVEL = 0.999, 0.5
"""Least and largest cosine to the vertical of an axis that counts as vertical, and as level."""
_OF_JOINT, _OF_SITE = int(mujoco.mjtWrap.mjWRAP_JOINT), int(mujoco.mjtWrap.mjWRAP_SITE)
SENSED = 0.1
"""Height in m of a geom's lowest point from which `floor_sense` sees no difference."""


def data_at_zero(model: mujoco.MjModel) -> mujoco.MjData:
    """Return data with the poses of the model's bodies and geoms while all joints are at their zero."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return data


def level_planes(model: mujoco.MjModel) -> dict[int, float]:
    """Return the level planes that stand still, and their heights in m; those that can be touched, if there are any."""
    data = data_at_zero(model)
    still = model.body_weldid[model.geom_bodyid] == 0
    level = (model.geom_type == _PLANE) & still & (data.geom_xmat[:, 8] > 1 - 1e-9)
    touched = level & ((model.geom_contype | model.geom_conaffinity) != 0)
    return {int(geom): float(data.geom_xpos[geom, 2]) for geom in np.flatnonzero(touched if touched.any() else level)}


def floor_of(model: mujoco.MjModel) -> tuple[int, float]:
    """Return the geom that is the floor, the highest level plane, and its height. Raises ValueError if there is none."""
    return max(level_planes(model).items(), key=lambda plane: plane[1])


def acts_on_joint(model: mujoco.MjModel, index: int) -> bool:
    """Return whether the actuator acts on a joint, and not on a tendon, a site or a body."""
    kinds = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    return int(model.actuator_trntype[index]) in map(int, kinds)


def extent(model: mujoco.MjModel, data: mujoco.MjData, geoms: npt.NDArray[np.int64]) -> Float64:
    """Return the lowest and highest places in m that the boxes around these geoms take, (2, 3)."""
    turned = data.geom_xmat[geoms].reshape(-1, 3, 3)
    centres = data.geom_xpos[geoms] + np.einsum("gij,gj->gi", turned, model.geom_aabb[geoms, :3])
    halves = np.einsum("gij,gj->gi", np.abs(turned), model.geom_aabb[geoms, 3:])
    return np.stack([(centres - halves).min(axis=0), (centres + halves).max(axis=0)])


def moved_trees(model: mujoco.MjModel) -> list[int]:
    """Return the trees of bodies with joints that actuators move, in the order of the actuators; else the first tree."""
    bodies = [body for index in range(model.nactuator) for body in _moved_by(model, index)]
    trees = dict.fromkeys(int(model.body_treeid[body]) for body in bodies)
    return [tree for tree in trees if tree >= 0] or [int(model.body_treeid[model.jnt_bodyid[0]])]


def _moved_by(model: mujoco.MjModel, index: int) -> list[int]:
    """Return the bodies that an actuator acts on."""
    target = int(model.actuator_trnid[index, 0])
    if acts_on_joint(model, index):
        return [int(model.jnt_bodyid[target])]
    match mujoco.mjtTrn(int(model.actuator_trntype[index])):
        case mujoco.mjtTrn.mjTRN_SITE | mujoco.mjtTrn.mjTRN_SLIDERCRANK:
            return [int(model.site_bodyid[target])]
        case mujoco.mjtTrn.mjTRN_BODY:
            return [target]
        case mujoco.mjtTrn.mjTRN_TENDON:
            joints, sites = (_parts_of(model, target, kind) for kind in (_OF_JOINT, _OF_SITE))
            return [*model.jnt_bodyid[joints].tolist(), *model.site_bodyid[sites].tolist()]
    return []


def _parts_of(model: mujoco.MjModel, tendon: int, kind: int) -> list[int]:
    """Return the joints or sites that a tendon consists of. kind: _OF_JOINT or _OF_SITE"""
    parts = slice(model.tendon_adr[tendon], model.tendon_adr[tendon] + model.tendon_num[tendon])
    return [int(number) for number in model.wrap_objid[parts][model.wrap_type[parts] == kind]]


def root_of(model: mujoco.MjModel) -> int:
    """Return the root body: the first body with a joint in the tree that the first actuator moves.

    A body without a shape that only holds joints for the next body, such as slides along x and y, is skipped: the root
    is the body that it carries.
    """
    tree = moved_trees(model)[0]
    root = next(int(body) for body in model.jnt_bodyid if model.body_treeid[body] == tree)
    while not model.body_geomnum[root] and not (model.jnt_type[_joints_of(model, root)] == FREE).any():
        carried = np.flatnonzero(model.body_parentid == root)
        if len(carried) != 1 or not model.body_jntnum[carried[0]]:
            break
        root = int(carried[0])
    return root


def base_joints(model: mujoco.MjModel, root: int) -> list[int]:
    """Return the joints that move the root body in the world, those nearest to the world first."""
    return [joint for body in reversed(carriers(model, root)) for joint in _joints_of(model, body)]


def carriers(model: mujoco.MjModel, body: int) -> list[int]:
    """Return the body, the one that carries it, and so on, without the world."""
    found = list[int]()
    while body:
        found.append(body)
        body = int(model.body_parentid[body])
    return found


def _joints_of(model: mujoco.MjModel, body: int) -> list[int]:
    first = int(model.body_jntadr[body])
    return list(range(first, first + int(model.body_jntnum[body])))


def joint_axes(model: mujoco.MjModel) -> Float64:
    """Return the joints' axes in the world, (joints, 3), with all joints at their zero."""
    return np.array(data_at_zero(model).xaxis)


def lift_of(model: mujoco.MjModel, root: int) -> tuple[int, int, float] | None:
    """Return the indices of the position and velocity that raise the root body, and their sign; None if none do.

    A joint with limits or a motor holds the robot where it is, as does what ties it to the world or another robot.
    """
    if _is_tied(model, int(model.body_treeid[root])):
        return None
    axes = joint_axes(model)
    held = model.jnt_limited.astype(bool)
    held[_driven_joints(model)] = True
    for joint in base_joints(model, root):
        index, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        if model.jnt_type[joint] == FREE:
            return index + 2, dof + 2, 1.0
        if model.jnt_type[joint] == SLIDE and abs(axes[joint, 2]) > _UPRIGHT and not held[joint]:
            return index, dof, float(np.sign(axes[joint, 2]))
    return None


def turn_of(model: mujoco.MjModel, root: int) -> int | None:
    """Return the joint by which the root body lies or stands: free, or a level hinge without limits. None if none is."""
    axes = joint_axes(model)
    for joint in base_joints(model, root):
        level = model.jnt_type[joint] == HINGE and abs(axes[joint, 2]) < _LEVEL and not model.jnt_limited[joint]
        if level or model.jnt_type[joint] == FREE:
            return joint
    return None


def _driven_joints(model: mujoco.MjModel) -> list[int]:
    """Return the joints that an actuator, also by a tendon, or another joint moves."""
    joints = [int(model.actuator_trnid[index, 0]) for index in range(model.nu) if acts_on_joint(model, index)]
    for tendon in _actuated_tendons(model):
        joints += _parts_of(model, tendon, _OF_JOINT)
    coupled = (model.eq_type == int(mujoco.mjtEq.mjEQ_JOINT)) & model.eq_active0.astype(bool)
    joints += [joint for joint in (*model.eq_obj1id[coupled], *model.eq_obj2id[coupled]) if joint >= 0]
    return joints


def coupled_joints(model: mujoco.MjModel) -> list[int]:
    """Return the joints that constraints couple to others, or to tendons."""
    by_joint, by_tendon = (model.eq_type == int(getattr(mujoco.mjtEq, f"mjEQ_{kind}")) for kind in ("JOINT", "TENDON"))
    joints = [*model.eq_obj1id[by_joint].tolist(), *model.eq_obj2id[by_joint].tolist()]
    for tendon in (*model.eq_obj1id[by_tendon].tolist(), *model.eq_obj2id[by_tendon].tolist()):
        joints += _parts_of(model, tendon, _OF_JOINT) if tendon >= 0 else []
    return [joint for joint in joints if joint >= 0]


def _actuated_tendons(model: mujoco.MjModel) -> set[int]:
    by_tendon = model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_TENDON)
    return set(model.actuator_trnid[by_tendon, 0].tolist())


def joined_bodies(model: mujoco.MjModel) -> list[tuple[int, int]]:
    """Return the pairs of bodies that a constraint connects or welds to each other; 0 is the world."""
    pairs = []
    equalities = zip(model.eq_obj1id, model.eq_obj2id, model.eq_type, model.eq_objtype, model.eq_active0, strict=True)
    for one, other, kind, of, active in equalities:
        if active and int(kind) in (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)):
            bodies = model.site_bodyid[[one, other]] if of == int(mujoco.mjtObj.mjOBJ_SITE) else (one, other)
            pairs.append((int(bodies[0]), int(bodies[1])))
    return pairs


def _is_tied(model: mujoco.MjModel, tree: int) -> bool:
    """Return whether an equality constraint or a tendon with a force joins a tree of bodies to the world or another tree."""
    joined = [set(model.body_treeid[list(bodies)].tolist()) for bodies in joined_bodies(model)]
    pulling = model.tendon_limited.astype(bool) | (model.tendon_stiffness > 0)
    for tendon in {*np.flatnonzero(pulling).tolist(), *_actuated_tendons(model)}:
        sites = _parts_of(model, tendon, _OF_SITE)
        joined.append(set(model.body_treeid[model.site_bodyid[sites]].tolist()))
    return any(tree in trees and len(trees) > 1 for trees in joined)


def unique_names(own: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return a name for each part: its own, or the other one where that is ''. The second of a name gets a _2."""
    taken = {name for name in own if name}
    names = []
    for name, other in zip(own, others, strict=True):
        if not name:
            numbered = (f"{other}_{number}" if number > 1 else other for number in range(1, len(own) + len(taken) + 2))
            name = next(each for each in numbered if each not in taken)
            taken.add(name)
        names.append(name)
    return names


def geom_names(model: mujoco.MjModel) -> dict[str, int]:
    """Return the geoms of the robot, not of the world, by name; one without a name has that of its body."""
    geoms = np.flatnonzero(model.geom_bodyid).tolist()
    bodies = [model.body(model.geom_bodyid[geom]).name or f"geom_{geom}" for geom in geoms]
    return dict(zip(unique_names([model.geom(geom).name for geom in geoms], bodies), geoms, strict=True))


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
        """(3, 3) of each body relative to its parent; None if it is not turned."""
        self.geom_turns = [_matrix(quaternion) for quaternion in model.geom_quat]
        self.joint_offsets = [at if at.any() else None for at in model.jnt_pos]
        self.sensed = [geom for geom in self.geoms.values() if self.touchable(geom)]
        """Geoms that can touch the floor."""
        trees = model.body_treeid[model.geom_bodyid]
        self.standing = [geom for geom in self.sensed if trees[geom] == model.body_treeid[self.root]]
        """Those of the root body's tree: the robot itself, without a ball or a box that lies about."""
        self.corners = {geom: _corners(model, geom) for geom in self.geoms.values()}

    def touchable(self, geom: int) -> bool:
        """Return whether the geom can touch the floor: by the kinds of both, or as a pair that the model names.

        Geoms that never move can't: MuJoCo computes no contacts between two of them.
        """
        if self.model.body_weldid[self.model.geom_bodyid[geom]] == 0:
            return False
        if self.model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
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
        """Return the number of the contact pair of geom and floor that the model names; None if there is none."""
        pairs = zip(self.model.pair_geom1.tolist(), self.model.pair_geom2.tolist(), strict=True)
        return next((number for number, pair in enumerate(pairs) if set(pair) == {geom, self.floor}), None)

    def lowest(self, positions: Float64) -> Float64:
        """(N,) height above the floor in m of the lowest point of the robot's geoms that can touch it."""
        poses = Poses(self, positions)
        return np.min([poses.height(geom) for geom in self.standing or self.sensed or self.geoms.values()], axis=0)


class Poses:
    """Poses of N robots at positions (N, nq); each part is computed when it is first asked for."""

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
        """(N,) height in m above the floor of the geom's lowest point."""
        if geom not in self._heights:
            model = self._model
            row = self.body(int(model.geom_bodyid[geom]), 2)[1]
            drop = _drop(model, geom, row, self._kinematics.geom_turns[geom], self._kinematics.corners[geom])
            self._heights[geom] = self.centre(geom, 2) - drop - self._kinematics.floor_height
        return self._heights[geom]

    def floor_sense(self) -> Float64:
        """Return the height above the floor of each of Kinematics.sensed, (N, sensed): 0 or less on it, 1 from SENSED."""
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
        """Rotate the rows (N, 3) by a hinge: row times the matrix of Rodrigues' formula."""
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
    """(N,) how far a geom reaches below its centre, in m.

    row (N, 3): heights of the ends of its body's unit axes; turns (3, 3): of the geom relative to its body
    """
    size, kind = model.geom_size[geom], int(model.geom_type[geom])
    if kind == _SPHERE:
        return np.full(len(row), size[0])
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
    """Return the corners (V, 3) of a mesh that can be its lowest point, those of its convex hull; None for others."""
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
    """Return the matrix whose product with a column is the cross product of the axis with it."""
    x, y, z = axis
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
