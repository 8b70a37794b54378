"""Starts of episodes other than standing: lying, tilted, in the air, any of these, or in any pose.

Robots never start below the floor.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import mujoco
import numpy as np

from core.errors import UserError
from core.robots.kinematics import Kinematics
from core.robots.structure import (
    FREE,
    HINGE,
    SLIDE,
    carriers,
    coupled_joints,
    joined_bodies,
    joints_in,
    lift_of,
    moved_trees,
    ray_distance,
    solid,
    turn_of,
)
from core.types import Float64, Mask

_MIXED = ("standing", "turned over", "tilted", "air")
_LYING = "lying"
_RANDOM = "random"
"""Each joint is drawn uniformly within its limits, a hinge or ball joint without limits from all angles, as in the DeepMind
Control Suite."""
_LYING_ANGLES = (-np.pi / 2, np.pi / 2, np.pi)
"""Angles in rad by which a robot may be rotated to lie."""
_LYING_DIRECTIONS = 16
"""Number of horizontal axes about which a free body may be rotated to lie."""
_LOW = 0.5
"""Largest height of the centre of mass at which a robot counts as lying, as a share of the range of its heights."""
_TILT = 0.8
"""Largest angle in rad of a tilted start."""
_GAP = (0.0, 0.02)
"""Smallest and largest height in m of the lowest point at the start of a robot that lies or is tilted."""
_AIR = (0.3, 1.0)
"""The same for a robot in the air."""
_DEEP = 0.01
"""Penetration depth in m of a table, step or wall, beyond that of the usual start, above which a placed robot is raised."""
_SLACK = 0.05
"""Rad or m by which a joint may exceed its limits at the start."""
_RAISES, _RAISED = 5, 0.25
"""Number of raises, or of further random poses, and height in m of each raise.

A robot that then still penetrates an obstacle or itself starts as usual.
"""
_SPIN, _RISE = 8.0, 2.0
"""Largest speeds in rad/s and m/s, in either direction, of a robot thrown into the air."""


def can_lift_and_turn(kinematics: Kinematics) -> bool:
    """Return whether a robot can be lifted and turned."""
    model, root = kinematics.model, kinematics.root
    return lift_of(model, root) is not None and turn_of(model, root) is not None


def randomize(model: mujoco.MjModel, joints: Iterable[int], rng: np.random.Generator, positions: Float64) -> None:
    """Draw positions of these joints uniformly within their limits, in place, in `positions` (n, nq).

    Hinge and ball joints without limits get any angle, free bodies any orientation; slides without limits are unchanged.
    """
    count = len(positions)
    for joint in joints:
        first, kind = int(model.jnt_qposadr[joint]), int(model.jnt_type[joint])
        if kind in (HINGE, SLIDE):
            if model.jnt_limited[joint]:
                low, high = model.jnt_range[joint]
                positions[:, first] = rng.uniform(low, high, count)
            elif kind == HINGE:
                positions[:, first] = rng.uniform(-np.pi, np.pi, count)
            continue
        first += 3 * (kind == FREE)
        turned = rng.standard_normal((count, 4))
        if model.jnt_limited[joint]:  # a ball joint: the limit is of its angle about any axis
            half = rng.uniform(0, model.jnt_range[joint, 1] / 2, (count, 1))
            axis = turned[:, 1:] / np.linalg.norm(turned[:, 1:], axis=1, keepdims=True)
            turned = np.concatenate([np.cos(half), np.sin(half) * axis], axis=1)
        positions[:, first : first + 4] = turned / np.linalg.norm(turned, axis=1, keepdims=True)


class Starts:
    """Places robots for a kind of start (core.behaviours.behaviour.STARTS)."""

    def __init__(self, kinematics: Kinematics, start: str, scale: float = 1.0) -> None:
        """Raise UserError if the start requires that the robot can be lifted and turned, but it can't.

        scale: factor of heights and speeds, less than 1 for a small robot
        """
        self._kinematics, self._start, self._scale = kinematics, start, scale
        model, root = kinematics.model, kinematics.root
        lift, turn = lift_of(model, root), turn_of(model, root)
        self._data, self._movable, self._trees = mujoco.MjData(model), False, [int(model.body_treeid[root])]
        self._obstacles: list[int] = []
        """Geoms that a robot placed elsewhere must not penetrate."""
        self._barred: list[int] = []
        """Geoms that a robot in a random pose must not penetrate."""
        self._tendons = np.zeros(0, np.int64)
        """Tendons whose length limits a robot that can't be lifted must keep in a random pose."""
        if lift is not None and turn is not None:
            self._movable = True
            self._lift, self._lift_rate, self._lift_sign = lift
            self._free = bool(model.jnt_type[turn] == FREE)
            self._turn = int(model.jnt_qposadr[turn]) + 3 * self._free
            self._turn_rate = int(model.jnt_dofadr[turn]) + 3 * self._free
            own = kinematics.own[model.geom_bodyid]
            self._obstacles = np.flatnonzero(solid(model) & ~own).tolist()
            if kinematics.floor in self._obstacles:
                self._obstacles.remove(kinematics.floor)
            self._barred = np.flatnonzero(solid(model) & own).tolist()
        elif start == _RANDOM:
            self._barred = np.flatnonzero(solid(model)).tolist()  # also the floor and the robot's own parts
            self._tendons, self._trees = np.flatnonzero(model.tendon_limited), moved_trees(model)
        else:
            raise UserError("The robot can't be lifted: set start to standing or random.")
        self._lying: list[tuple[float, float]] = []
        """Rotations with which the robot lies: angle and direction of the axis, in rad."""
        joints = _uncoupled_joints(model, self._trees)
        self._joints = joints if self._movable else [joint for joint in joints if model.jnt_type[joint] != FREE]

    def throw(self, rng: np.random.Generator, positions: Float64, velocities: Float64) -> None:
        """Place robots, and throw those that start above the floor, so that they turn and rise or fall.

        Changes positions (n, nq) and velocities (n, nv) in place. Only for robots that can be lifted and turned.
        """
        blocked = self.place(rng, positions)
        count = len(positions)
        rows = (self._kinematics.lowest(positions) > _GAP[1] * self._scale) & ~blocked
        fastest = _RISE * self._scale**0.5  # rises to a height in proportion to the scale
        rise, spin = rng.uniform(-fastest, fastest, count), rng.uniform(-_SPIN, _SPIN, count)
        direction = rng.uniform(-np.pi, np.pi, count)
        velocities[rows, self._lift_rate] += self._lift_sign * rise[rows]
        if self._free:
            velocities[rows, self._turn_rate] += (spin * np.cos(direction))[rows]
            velocities[rows, self._turn_rate + 1] += (spin * np.sin(direction))[rows]
        else:
            velocities[rows, self._turn_rate] += spin[rows]

    def place(self, rng: np.random.Generator, positions: Float64) -> Mask:
        """Change usual starting positions (n, nq) to this kind of start, in place.

        Returns which robots (n,) keep their usual start because of an obstacle.
        """
        usual = positions.copy()
        blocked = np.zeros(len(positions), np.bool_)

        def redraw(rows: Mask) -> None:
            again = usual[rows]
            self._randomize(rng, again)
            positions[rows] = again

        def lift(rows: Mask) -> None:
            positions[rows, self._lift] += self._lift_sign * self._scale * _RAISED

        if self._start == _RANDOM:
            redraw(~blocked)
            blocked |= self._clear(positions, usual, self._barred, redraw)
        else:
            self._turn_and_lift(rng, positions)
        if self._obstacles:
            blocked |= self._clear(positions, usual, self._obstacles, lift)
        positions[blocked] = usual[blocked]
        return blocked

    def _clear(self, positions: Float64, usual: Float64, geoms: list[int], move: Callable[[Mask], None]) -> Mask:
        """Move robots at positions (n, nq) that penetrate these geoms deeper than in their usual starts (n, nq).

        move: changes the positions of these rows in place

        Returns which robots (n,) still penetrate a geom.
        """
        blocked = np.ones(len(positions), np.bool_)
        most = np.array([self._depth(own, geoms) + _DEEP for own in usual])
        for _ in range(1 + _RAISES):
            blocked[blocked] = [self._depth(row, geoms) for row in positions[blocked]] > most[blocked]
            if not blocked.any():
                break
            move(blocked)
        return blocked

    def _depth(self, positions: Float64, geoms: list[int]) -> float:
        """Return the depth in m to which a robot at positions (nq,) penetrates these geoms; 0 if it does not.

        The length in m by which a tendon exceeds its limits counts in the same way.
        """
        model = self._kinematics.model
        self._data.qpos[:] = positions
        mujoco.mj_fwdPosition(model, self._data)
        contacts = self._data.contact
        robot = np.isin(model.body_treeid[model.geom_bodyid[contacts.geom]], self._trees)
        within = contacts.dist[(robot & np.isin(contacts.geom, geoms)[:, ::-1]).any(axis=1)]
        lengths, (low, high) = self._data.ten_length[self._tendons], model.tendon_range[self._tendons].T
        return max(
            0.0, -float(within.min(initial=0.0)), float(np.maximum(low - lengths, lengths - high).max(initial=0.0))
        )

    def _bend(self, positions: Float64, rows: Mask) -> None:
        """Move the joints of these robots into their limits if they exceed them by more than noise.

        The Ant's usual start, a drop, exceeds them: on the floor its legs would snap down and throw it metres high.
        """
        model = self._kinematics.model
        for joint in self._joints:
            if model.jnt_limited[joint] and model.jnt_type[joint] in (HINGE, SLIDE):
                low, high = model.jnt_range[joint]
                place = positions[:, int(model.jnt_qposadr[joint])]
                beyond = rows & ((place < low - _SLACK) | (place > high + _SLACK))
                place[beyond] = place[beyond].clip(low, high)

    def _ground(self, usual: Float64) -> float:
        """Return the height in m above the floor of an obstacle, such as a table, below the root in its usual start (nq,)."""
        if not self._obstacles:
            return 0.0
        model, data = self._kinematics.model, self._data
        data.qpos[:] = usual
        mujoco.mj_kinematics(model, data)
        place, down = data.xpos[self._kinematics.root], np.array([0.0, 0.0, -1.0])
        above = float(place[2]) - self._kinematics.floor_height
        away = [ray_distance(model, data, geom, place, down) for geom in self._obstacles]
        return max(0.0, above - min([one for one in away if one >= 0], default=above))

    def _turn_and_lift(self, rng: np.random.Generator, positions: Float64) -> None:
        count, usual = len(positions), positions[0].copy()
        if self._start == _LYING:
            kinds = np.full(count, _MIXED.index("turned over"))
        else:
            kinds = np.full(count, _MIXED.index(self._start)) if self._start in _MIXED else rng.integers(4, size=count)
        sides = rng.choice([-1.0, 1.0], count)
        half = np.pi if self._free else np.pi / 2  # a free body is also turned by half a turn
        over = np.where(rng.random(count) < 0.5, np.pi / 2, half)
        angles = np.choose(
            kinds,
            [np.zeros(count), over * sides, rng.uniform(-_TILT, _TILT, count), rng.uniform(-np.pi, np.pi, count)],
        )
        air = self._scale * rng.uniform(*_AIR, count)
        gaps = np.where(kinds == _MIXED.index("air"), air, self._scale * rng.uniform(*_GAP, count))
        direction = rng.uniform(-np.pi, np.pi, count)
        if self._start == _LYING:
            self._lying = self._lying or self._lying_turns(usual)
            angles, direction = rng.choice(self._lying, count).T
        moved = kinds != _MIXED.index("standing")
        self._turn_by(positions, angles, direction, moved)
        self._bend(positions, moved & (kinds != _MIXED.index("air")))
        lift = gaps + self._ground(usual) - self._kinematics.lowest(positions)
        positions[moved, self._lift] += self._lift_sign * lift[moved]

    def _turn_by(self, positions: Float64, angles: Float64, direction: Float64, rows: Mask) -> None:
        if self._free:
            turned = _turned(positions[:, self._turn : self._turn + 4], angles, direction)
            positions[rows, self._turn : self._turn + 4] = turned[rows]
        else:
            positions[rows, self._turn] += angles[rows]

    def _lying_turns(self, usual: Float64) -> list[tuple[float, float]]:
        """Return the rotations from the usual start (nq,) that bring the robot's centre of mass close to the floor.

        So an upright robot lies on its front or back, and a robot with a horizontal body on its back, not on end.
        """
        model, data = self._kinematics.model, self._data
        directions = np.linspace(0, np.pi, _LYING_DIRECTIONS, endpoint=False).tolist() if self._free else [0.0]
        turns = list(itertools.product(_LYING_ANGLES, directions))
        positions, every = np.tile(usual, (len(turns), 1)), np.ones(len(turns), np.bool_)
        angle, direction = np.array(turns).T
        self._turn_by(positions, angle, direction, every)
        self._bend(positions, every)
        heights = -self._kinematics.lowest(positions)
        for row, place in enumerate(positions):
            data.qpos[:] = place
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            heights[row] += data.subtree_com[self._kinematics.root, 2]
        low = heights <= heights.min() + _LOW * np.ptp(heights)
        return [turn for turn, kept in zip(turns, low, strict=True) if kept]

    def _randomize(self, rng: np.random.Generator, positions: Float64) -> None:
        """Draw the robot's joints, without changing its position, and lift a robot that would be below the floor."""
        randomize(self._kinematics.model, self._joints, rng, positions)
        if self._movable:
            below = np.maximum(0.0, -self._kinematics.lowest(positions))
            positions[:, self._lift] += self._lift_sign * below


def _uncoupled_joints(model: mujoco.MjModel, trees: list[int]) -> list[int]:
    """Return the joints of these trees of bodies, except those that a constraint couples to others, as in a linkage."""
    own = joints_in(model, trees)
    own[coupled_joints(model)] = False
    for one, other in joined_bodies(model):
        own &= ~np.isin(model.jnt_bodyid, list({*carriers(model, one)} ^ {*carriers(model, other)}))
    return np.flatnonzero(own).tolist()


def _turned(quaternions: Float64, angles: Float64, direction: Float64) -> Float64:
    """Rotate orientations (n, 4) by angles (n,) about horizontal axes of the world at `direction` (n,) rad from x."""
    half, zero = angles / 2, np.zeros(len(angles))
    turns = np.stack([np.cos(half), np.sin(half) * np.cos(direction), np.sin(half) * np.sin(direction), zero], axis=1)
    turned = np.zeros_like(quaternions)
    for result, turn, quaternion in zip(turned, turns, quaternions, strict=True):
        mujoco.mju_mulQuat(result, turn, quaternion)
    return turned
