"""Appearance of robots in clips: the same light, sky and low-contrast checkered floor for all of them."""

from __future__ import annotations

import mujoco
import numpy as np
import numpy.typing as npt

from core.robots.floor import FLOOR, floor_of
from core.robots.structure import drawn_geoms
from core.tasks.base import RobotTask

_FIELD = 36.0
"""Vertical field of view of the clips' camera in degrees."""
_FLOOR_METRES, _FLOOR_PATTERNS = 400.0, 200.0
"""Half the side of the drawn floor in m, and in pairs of its squares if that is more: a model may be in millimetres. In
contacts, a plane is infinite."""
_LIGHT, _DARK = (0.36, 0.42, 0.48), (0.62, 0.68, 0.72)
"""Colours of the floor's squares."""
_ABOVE, _BELOW = (0.75, 0.82, 0.88), (0.45, 0.55, 0.66)
"""Colours of the sky."""
_TRUNK = (0.16, 0.42, 0.56)
"""Colour of the torso, the body that the camera follows. In Gymnasium's colours, a fallen robot's torso looks like a leg."""
_RADII, _THICKER = 3, 0.04
"""Number of different radii of equal round geoms, and the difference between two of them, relative to the radius: it exceeds
the error with which a renderer approximates round surfaces."""


def add_appearance(spec: mujoco.MjSpec, floor_pattern: float = 1.0) -> None:
    """Give a robot the clips' field of view, a light, a sky, and the material of its floor.

    floor_pattern: side in m of two squares of the floor
    """
    spec.visual.global_.fovy = _FIELD
    spec.visual.headlight.ambient[:] = 0.35
    if not spec.lights:
        directional = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
        spec.worldbody.add_light(
            type=directional, dir=[0, 0, -1], pos=[0, 0, 1.3], diffuse=[0.5] * 3, specular=[0.1] * 3
        )
    checker, flat = mujoco.mjtBuiltin.mjBUILTIN_CHECKER, mujoco.mjtTexture.mjTEXTURE_2D
    spec.add_texture(name=FLOOR, type=flat, builtin=checker, width=100, height=100, rgb1=_LIGHT, rgb2=_DARK)
    material = spec.add_material(name=FLOOR, reflectance=0.5, shininess=1, specular=1)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = FLOOR
    material.texrepeat[:] = 2 * _half_side(floor_pattern) / floor_pattern
    skies = [texture for texture in spec.textures if texture.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX]
    for sky in skies or [spec.add_texture(name="somersault_sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX)]:
        if not sky.file and not any(sky.cubefiles):
            sky.builtin, sky.mark = mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, mujoco.mjtMark.mjMARK_NONE
            sky.width, sky.height, sky.rgb1, sky.rgb2 = 100, 600, _ABOVE, _BELOW


def colour(spec: mujoco.MjSpec, task: RobotTask) -> None:
    """Colour the geoms that the task names, and the body that the camera follows."""
    if not task.camera.fixed:
        for geom in spec.body(task.camera.body).geoms:
            geom.material, geom.rgba = "", [*_TRUNK, 1.0]
    for name, rgb in task.colours.items():
        spec.geom(name).rgba = [*rgb, 1.0]


def lay_floor(model: mujoco.MjModel, floor_pattern: float = 1.0) -> None:
    """Give the floor its material, and make it visible up to the horizon. floor_pattern: side in m of two of its squares"""
    floor, _ = floor_of(model)
    half_side = _half_side(floor_pattern)
    model.geom_matid[floor] = model.material(FLOOR).id
    model.geom_size[floor, :2], model.geom_rgba[floor] = half_side, 1.0
    model.geom_group[floor] = 0
    model.vis.map.zfar = 2 * half_side / model.stat.extent  # relative to the scene's size


def _half_side(floor_pattern: float) -> float:
    return max(_FLOOR_METRES, _FLOOR_PATTERNS * floor_pattern)


def show_every_body(model: mujoco.MjModel) -> None:
    """Show the geoms of moving bodies that have no visible one, such as bodies with geoms for contacts only."""
    seen = drawn_geoms(model)
    for body in np.flatnonzero(model.body_treeid >= 0):
        geoms = np.flatnonzero(model.geom_bodyid == body)
        if not seen[geoms].any():
            model.geom_group[geoms], model.geom_rgba[geoms, 3] = 0, 1.0


def separate_surfaces(model: mujoco.MjModel, geoms: npt.NDArray[np.int64]) -> None:
    """Draw round geoms of different colours with different radii: where their surfaces coincide, colours would flicker.

    For a model that is only drawn: contacts would change.

    geoms: indices of the robot's geoms
    """
    kinds = [int(mujoco.mjtGeom.mjGEOM_SPHERE), int(mujoco.mjtGeom.mjGEOM_CAPSULE)]
    rounds = geoms[np.isin(model.geom_type[geoms], kinds)]
    order = dict[tuple[float, ...], int]()
    looks = [(float(model.geom_matid[geom]), *model.geom_rgba[geom].tolist()) for geom in rounds]
    ranks = np.array([order.setdefault(look, len(order)) for look in looks], np.int64) % _RADII
    model.geom_size[rounds, 0] *= 1 + _THICKER * (min(len(order), _RADII) - 1 - ranks)
