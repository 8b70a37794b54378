"""The floor of a MuJoCo model: the geom that serves as the floor, and the plane added to an imported robot without one."""

from __future__ import annotations

import mujoco
import numpy as np

from core.errors import UserError
from core.robots.structure import base_joints, data_at_zero, extent, lift_of, root_of, solid, still
from core.types import Float64

FLOOR = "somersault_floor"
"""Name of an added floor, and of the texture and material of every robot's floor."""
_PLANE, _BOX, _CYLINDER, _FIELD = (
    int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}")) for name in ("PLANE", "BOX", "CYLINDER", "HFIELD")
)
_LEVEL, _SLOPE = 1 - 1e-9, 0.5
"""Minimum cosine between the vertical and the normal of a level plane, and of a plane on which a robot can stand."""
_ON_A_SLOPE = "its ground is a slope: replace it with a level plane, box or height field."
_BELOW = 0.001
"""Depth in m of an added floor below height fields and tops of boxes: at the same height, the two would flicker."""
_CONTACT = (
    *("contype", "conaffinity", "condim", "priority", "friction"),
    *("solmix", "solref", "solimp", "margin", "gap"),
)
"""Attributes of a geom that define its contacts."""


def level_planes(model: mujoco.MjModel) -> dict[int, float]:
    """Return the immovable level planes and their heights in m; only those that can be touched, if there are any."""
    data = data_at_zero(model)
    level = (model.geom_type == _PLANE) & still(model) & (data.geom_xmat[:, 8] > _LEVEL)
    touched = level & solid(model)
    return {int(geom): float(data.geom_xpos[geom, 2]) for geom in np.flatnonzero(touched if touched.any() else level)}


def needs_floor(model: mujoco.MjModel) -> bool:
    """Return whether a robot has no level plane, or only planes for decoration through which it would fall."""
    planes = list(level_planes(model))
    if not planes or solid(model)[planes].any() or lift_of(model, root_of(model)) is None:
        return not planes
    data = data_at_zero(model)
    return _falls_for_ever(model) or _ground(model, data) is not None or _terrain_base(model, data) is not None


def _falls_for_ever(model: mujoco.MjModel) -> bool:
    """Return whether a robot that can be lifted has weight, and nothing holds it up."""
    return has_weight(model) and not (still(model) & solid(model)).any()


def has_weight(model: mujoco.MjModel) -> bool:
    """Return whether gravity pulls down a robot that can be lifted, and neither a spring nor compensation holds it."""
    weightless = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY or not model.opt.gravity.any()
    held = model.jnt_stiffness[base_joints(model, root_of(model))].any() or model.body_gravcomp.any()
    return not (weightless or held)


def floor_of(model: mujoco.MjModel) -> tuple[int, float]:
    """Return the geom that is the floor, the highest level plane, and its height. Raises ValueError if there is none."""
    return max(level_planes(model).items(), key=lambda plane: plane[1])


def has_own_floor(model: mujoco.MjModel) -> bool:
    """Return whether the floor is from the robot's file, not added by `add_floor`."""
    return bool(model.geom(floor_of(model)[0]).name != FLOOR)


def add_floor(spec: mujoco.MjSpec, model: mujoco.MjModel, drawn_floor: float | None) -> None:
    """Add a level plane to a robot that needs one, in place of planes for decoration.

    For a robot that stands, it replaces the box on which the robot stands, else it is below the height fields, else in
    place of the highest plane for decoration, else at height 0.

    model: the compiled spec
    drawn_floor: height in m of a floor for loose objects only; None for a floor on which the robot stands

    Raises UserError if the robot stands on a slope.
    """
    data, drawn = data_at_zero(model), level_planes(model)
    stands = lift_of(model, root_of(model)) is not None
    ground = _ground(model, data) if stands else None
    if ground is not None:
        number, top = ground
        geom = next(geom for geom in spec.geoms if geom.id == number)
        kept = {name: np.array(getattr(geom, name)).tolist() for name in _CONTACT}
        name = geom.name
        _delete(spec, {number, *drawn})
        spec.worldbody.add_geom(name=name or FLOOR, type=_PLANE, pos=top, size=[1, 1, 1], **kept)
        return
    if stands and _has_slope(model, data):
        raise UserError(_ON_A_SLOPE)
    base = _terrain_base(model, data) if stands else None
    _delete(spec, {*drawn})
    kind = int(drawn_floor is None or (model.jnt_type == mujoco.mjtJoint.mjJNT_FREE).any())
    height = max(drawn.values(), default=drawn_floor or 0.0) if base is None else base
    if base is not None or _is_top(model, data, height):
        height -= _BELOW
    spec.worldbody.add_geom(name=FLOOR, type=_PLANE, pos=[0, 0, height], size=[1, 1, 1], contype=kind, conaffinity=kind)


def _delete(spec: mujoco.MjSpec, geoms: set[int]) -> None:
    """Delete geoms by their indices in the compiled model, all at once, as a deletion changes them."""
    for geom in [geom for geom in spec.geoms if geom.id in geoms]:
        spec.delete(geom)


def _ground(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[int, Float64] | None:
    """Return the box or cylinder that the robot stands on, and the middle (3,) of its top; None if there is none.

    It is more than twice as long and as wide as the robot with all joints at zero: a smaller one is a pedestal or a step.
    Raises UserError if it is tilted.
    """
    root = root_of(model)
    robot = extent(model, data, np.flatnonzero(model.body_treeid[model.geom_bodyid] == model.body_treeid[root]))
    found, slanted = None, False
    for geom in np.flatnonzero(np.isin(model.geom_type, (_BOX, _CYLINDER)) & solid(model) & still(model)):
        turned, half = data.geom_xmat[geom].reshape(3, 3), model.geom_size[geom]
        half = half if model.geom_type[geom] == _BOX else half[[0, 0, 1]]
        place = (data.xpos[root] - data.geom_xpos[geom]) @ turned
        below = turned[2, 2] > _SLOPE and (np.abs(place[:2]) < half[:2]).all() and place[2] > half[2]
        top = data.geom_xpos[geom] + turned[:, 2] * half[2]
        wide = half[:2].min() > float(np.ptp(robot, axis=0).max())
        if below and wide and (found is None or top[2] > found[1][2]):
            found, slanted = (int(geom), top), bool(turned[2, 2] <= _LEVEL)
    if slanted:
        raise UserError(_ON_A_SLOPE)
    return found


def _terrain_base(model: mujoco.MjModel, data: mujoco.MjData) -> float | None:
    """Return the height in m of the lowest base of the model's height fields; None if there are none."""
    fields = (model.geom_type == _FIELD) & solid(model) & still(model)
    return float(data.geom_xpos[fields, 2].min()) if fields.any() else None


def _is_top(model: mujoco.MjModel, data: mujoco.MjData, height: float) -> bool:
    """Return whether the top of an immovable geom other than a plane is at this height in m."""
    geoms = np.flatnonzero(still(model) & (model.geom_type != _PLANE))
    return any(abs(extent(model, data, np.array([geom]))[1, 2] - height) < _BELOW for geom in geoms)


def _has_slope(model: mujoco.MjModel, data: mujoco.MjData) -> bool:
    """Return whether the robot can stand on a plane that is not level."""
    upward = data.geom_xmat[:, 8]
    planes = (model.geom_type == _PLANE) & solid(model) & still(model)
    return bool((planes & (upward > _SLOPE) & (upward <= _LEVEL)).any())
