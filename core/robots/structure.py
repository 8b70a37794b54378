"""Structure of a MuJoCo model: bodies, joints and geoms of the robot, and the joints, constraints and tendons that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import mujoco
import numpy as np
import numpy.typing as npt

from core.formatting import unique_name
from core.types import Float64, Mask

FREE, BALL, SLIDE, HINGE = (
    int(getattr(mujoco.mjtJoint, f"mjJNT_{name}")) for name in ("FREE", "BALL", "SLIDE", "HINGE")
)
_SHOWN_GROUPS = 3
"""Number of geom groups that MuJoCo draws, from 0 on."""
_UPRIGHT, _LEVEL = 0.999, 0.5
"""Smallest cosine between the vertical and an axis that counts as vertical, and largest of one that counts as level."""
_OF_JOINT, _OF_SITE = int(mujoco.mjtWrap.mjWRAP_JOINT), int(mujoco.mjtWrap.mjWRAP_SITE)


def data_at_zero(model: mujoco.MjModel) -> mujoco.MjData:
    """Return data with the poses of the model's bodies and geoms for all joints at zero."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return data


def acts_on_joint(model: mujoco.MjModel, index: int) -> bool:
    """Return whether the actuator acts on a joint, not on a tendon, a site or a body."""
    kinds = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    return int(model.actuator_trntype[index]) in map(int, kinds)


def extent(model: mujoco.MjModel, data: mujoco.MjData, geoms: npt.NDArray[np.int64]) -> Float64:
    """Return the lowest and highest coordinates (2, 3) in m of the bounding boxes of these geoms."""
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
    """Return the joints or sites of a tendon. kind: _OF_JOINT or _OF_SITE"""
    parts = slice(model.tendon_adr[tendon], model.tendon_adr[tendon] + model.tendon_num[tendon])
    return [int(number) for number in model.wrap_objid[parts][model.wrap_type[parts] == kind]]


def root_of(model: mujoco.MjModel) -> int:
    """Return the root body: the first body with a joint in the tree that the first actuator moves.

    A body without geoms that only has joints for its child, such as slides along x and y, is skipped: the root is then
    the child.
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
    """Return the joints that move the root body in the world, from the world to the body."""
    return [joint for body in reversed(carriers(model, root)) for joint in _joints_of(model, body)]


def carriers(model: mujoco.MjModel, body: int) -> list[int]:
    """Return the body, its parent, and so on, without the world."""
    found = list[int]()
    while body:
        found.append(body)
        body = int(model.body_parentid[body])
    return found


def _joints_of(model: mujoco.MjModel, body: int) -> list[int]:
    first = int(model.body_jntadr[body])
    return list(range(first, first + int(model.body_jntnum[body])))


def joint_axes(model: mujoco.MjModel) -> Float64:
    """Return the joints' axes in the world, (joints, 3), with all joints at zero."""
    return np.array(data_at_zero(model).xaxis)


def lift_of(model: mujoco.MjModel, root: int) -> tuple[int, int, float] | None:
    """Return the indices of the position and velocity that raise the root body, and their sign; None if there are none.

    A robot can't be lifted by a joint with limits or a motor, or if it is tied to the world or another robot.
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
    """Return the joint that tips the root body over: a free joint, or a level hinge without limits; None if there is none."""
    axes = joint_axes(model)
    for joint in base_joints(model, root):
        level = model.jnt_type[joint] == HINGE and abs(axes[joint, 2]) < _LEVEL and not model.jnt_limited[joint]
        if level or model.jnt_type[joint] == FREE:
            return joint
    return None


def _driven_joints(model: mujoco.MjModel) -> list[int]:
    """Return the joints moved by an actuator, directly or through a tendon, or by another joint."""
    joints = [int(model.actuator_trnid[index, 0]) for index in range(model.nu) if acts_on_joint(model, index)]
    for tendon in _actuated_tendons(model):
        joints += _parts_of(model, tendon, _OF_JOINT)
    return [*joints, *coupled_joints(model)]


def coupled_joints(model: mujoco.MjModel) -> list[int]:
    """Return the joints that a constraint couples to others, or to tendons, and those that it holds alone."""
    joints = _constrained(model, mujoco.mjtEq.mjEQ_JOINT).ravel()
    tendons = _constrained(model, mujoco.mjtEq.mjEQ_TENDON).ravel()
    of_tendons = [_parts_of(model, tendon, _OF_JOINT) for tendon in tendons[tendons >= 0].tolist()]
    return [*joints[joints >= 0].tolist(), *chain(*of_tendons)]


def _constrained(model: mujoco.MjModel, kind: mujoco.mjtEq) -> npt.NDArray[np.int64]:
    """Return the two objects (n, 2) of each active constraint of a kind; -1 if there is no second object."""
    chosen = (model.eq_type == int(kind)) & model.eq_active0.astype(bool)
    return np.stack([model.eq_obj1id[chosen], model.eq_obj2id[chosen]], axis=1).astype(np.int64)


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
    ties = _joined_trees(model) + _strung_trees(model)
    return any(tree in trees and len(trees) > 1 for trees in ties)


def _joined_trees(model: mujoco.MjModel) -> list[set[int]]:
    """Return the trees of bodies, -1 for the world, that each equality constraint joins."""
    return [set(model.body_treeid[list(bodies)].tolist()) for bodies in joined_bodies(model)]


def _strung_trees(model: mujoco.MjModel) -> list[set[int]]:
    """Return the trees of bodies, -1 for the world, that each tendon with a force joins."""
    pulling = model.tendon_limited.astype(bool) | (model.tendon_stiffness > 0)
    tendons = sorted({*np.flatnonzero(pulling).tolist(), *_actuated_tendons(model)})
    sites = [_parts_of(model, tendon, _OF_SITE) for tendon in tendons]
    return [set(model.body_treeid[model.site_bodyid[ends]].tolist()) for ends in sites]


def robot_trees(model: mujoco.MjModel, root: int) -> list[int]:
    """Return the robot's trees of bodies: that of the root body, and those that equality constraints join to it."""
    return _reached([int(model.body_treeid[root])], _joined_trees(model))


def shown_trees(model: mujoco.MjModel) -> list[int]:
    """Return the trees that actuators move, and those that constraints or tendons join to them, such as a load."""
    return _reached(moved_trees(model), _joined_trees(model) + _strung_trees(model))


def _reached(trees: list[int], ties: list[set[int]]) -> list[int]:
    """Return the trees and all trees that these ties join to them, directly or through others, but not through the world."""
    found = set(trees)
    for _ in ties:  # each pass follows at least one tie
        found |= set().union(*(tied for tied in ties if found & tied)) - {-1}
    return sorted(found)


def unique_names(own: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return a unique name for each part: its own, or the other one if that is '', with _2, _3, ... if it is taken."""
    taken = {name for name in own if name}
    names = []
    for name, other in zip(own, others, strict=True):
        if not name:
            name = unique_name(other, taken)
            taken.add(name)
        names.append(name)
    return names


def solid(model: mujoco.MjModel) -> Mask:
    """Return which geoms (geoms,) can touch others: by their contact types, or as a pair that the model defines."""
    found: Mask = (model.geom_contype | model.geom_conaffinity) != 0
    found[model.pair_geom1] = found[model.pair_geom2] = True
    return found


def still(model: mujoco.MjModel) -> Mask:
    """Return which geoms (geoms,) never move."""
    found: Mask = model.body_weldid[model.geom_bodyid] == 0
    return found


def drawn_geoms(model: mujoco.MjModel) -> Mask:
    """Return which geoms (geoms,) MuJoCo draws."""
    drawn: Mask = (model.geom_group < _SHOWN_GROUPS) & (model.geom_rgba[:, 3] > 0)
    return drawn


def joints_in(model: mujoco.MjModel, trees: Sequence[int]) -> Mask:
    """Return which joints (joints,) belong to these trees of bodies."""
    return np.isin(model.body_treeid[model.jnt_bodyid], trees)


def geom_names(model: mujoco.MjModel) -> dict[str, int]:
    """Return the geoms of moving bodies by name; a geom without a name has that of its body.

    Of several in a body, those that can touch something come first, as contact[calf] in an oracle refers to them.
    """
    geoms = np.flatnonzero(model.geom_bodyid).tolist()
    ranked = sorted(geoms, key=(~solid(model)).__getitem__)
    bodies = [model.body(model.geom_bodyid[geom]).name or f"geom_{geom}" for geom in ranked]
    named = dict(zip(ranked, unique_names([model.geom(geom).name for geom in ranked], bodies), strict=True))
    return {named[geom]: geom for geom in geoms}


def ray_distance(model: mujoco.MjModel, data: mujoco.MjData, geom: int, place: Float64, way: Float64) -> float:
    """Return the distance in m from a point (3,) to a geom along a unit vector (3,); -1 if the ray does not meet it."""
    match model.geom_type[geom]:
        case mujoco.mjtGeom.mjGEOM_MESH:
            return float(mujoco.mj_rayMesh(model, data, geom, place, way, None))
        case mujoco.mjtGeom.mjGEOM_HFIELD:
            return float(mujoco.mj_rayHfield(model, data, geom, place, way, None))
        case kind:
            at, turned = data.geom_xpos[geom], data.geom_xmat[geom]
            return float(mujoco.mju_rayGeom(at, turned, model.geom_size[geom], place, way, kind, None))
