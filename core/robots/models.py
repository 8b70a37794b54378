"""MuJoCo models of the robots: Gymnasium's, with the sensors that a task needs and a calmer appearance."""

import logging
import re
import warnings
from pathlib import Path

import gymnasium
import mujoco
import numpy as np

from core.errors import UserError
from core.robots.mjcf import unpack
from core.tasks.base import RobotTask

log = logging.getLogger(__name__)
mujoco.set_mju_user_warning(log.info)  # by default it writes MUJOCO_LOG.TXT into the current folder
_TOTAL_MASS = re.compile(r'settotalmass="([0-9.]+)"')
_CONTACT_FIELDS = [getattr(mujoco.mjtConDataField, f"mjCONDATA_{name}") for name in ("FORCE", "TORQUE", "POS")]
_FLOOR = "somersault_floor"
"""Name of the floor, its texture and its material in an imported robot."""
_NET_FORCE = 3
"""Reduction of a contact sensor: all contacts as one force at their common centre."""
_FIELD = 36.0
"""Vertical field of view of the clips' camera in degrees."""
_FLOOR_METRES = 400.0
_FLOOR_COLOURS = ((0.36, 0.42, 0.48), (0.62, 0.68, 0.72))
_SKY = ((0.75, 0.82, 0.88), (0.45, 0.55, 0.66))


def load_model(task: RobotTask) -> mujoco.MjModel:
    """Compile the task's robot, with sensors for its contact points and, if needed, its contact forces.

    Raises UserError if it is an imported one that is damaged.
    """
    if task.packed_model:
        return compile_mjcf(*unpack(task.packed_model), task)
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    text = (assets / task.model).read_text()
    total_mass = _TOTAL_MASS.search(text)
    text = _TOTAL_MASS.sub("", text)  # MuJoCo warns that it will drop this attribute
    spec = mujoco.MjSpec.from_string(text)
    spec.option.timestep = task.timestep
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{task.integrator.upper()}")
    for number, (geom_name, end) in enumerate(task.contact_points):
        _add_contact_point(spec, f"touch_{number}", geom_name, end)
    if has_contact_sensors(task):
        _add_contact_sensors(spec)
    if total_mass:
        scale = float(total_mass[1]) / spec.compile().body_mass.sum()
        for geom in spec.geoms:
            geom.density *= scale
    _restyle(spec, task)
    return spec.compile()


def compile_mjcf(xml: str, assets: dict[str, bytes], task: RobotTask | None = None) -> mujoco.MjModel:
    """Compile an imported robot, with a floor at height 0 if it has none. Raises UserError if MuJoCo refuses it.

    task: whose appearance it gets
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about outdated attributes, which change nothing
            spec = mujoco.MjSpec.from_string(xml, assets=assets)
        if not any(geom.type == mujoco.mjtGeom.mjGEOM_PLANE for geom in spec.worldbody.geoms):
            plane = mujoco.mjtGeom.mjGEOM_PLANE
            spec.worldbody.add_geom(name=_FLOOR, type=plane, size=[1, 1, 1], contype=1, conaffinity=1)
        moving = [body for body in spec.bodies if body.joints]
        if not moving:
            raise UserError("it has no joints, so nothing of it can move.")
        moving[0].name = moving[0].name or "root"
        _restyle_imported(spec)
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise UserError(f"MuJoCo refuses it ({' '.join(str(error).split())[:200]}).") from error
    if task and signal_sizes(model) != (task.names.sizes, len(task.start_positions)):
        raise UserError("The robot in the behaviour is damaged: create the session again from its file.")
    return model


def signal_sizes(model: mujoco.MjModel) -> tuple[tuple[int, int], int]:
    """Return the numbers of (actuators, geoms of the robot) and of positions."""
    return (int(model.nu), int((model.geom_bodyid > 0).sum())), int(model.nq)


def has_contact_sensors(task: RobotTask) -> bool:
    """Whether contact forces come from sensors, which see only the first stage of the Runge-Kutta integrator."""
    return task.extra_fields == ("cfrc_ext",) and task.integrator != "rk4"


def _add_contact_sensors(spec: mujoco.MjSpec) -> None:
    """Add sensors of the contact force, torque and position (9 numbers) of each body, then the centre of mass (3)."""
    _, *bodies = spec.bodies
    for number, body in enumerate(bodies):
        body.name = body.name or f"body_{number}"
        sensor = spec.add_sensor(
            name=f"contact_{number}",
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            objname=body.name,
        )
        sensor.intprm[:3] = sum(1 << int(field) for field in _CONTACT_FIELDS), _NET_FORCE, 1
    spec.add_sensor(
        name="centre",
        type=mujoco.mjtSensor.mjSENS_SUBTREECOM,
        objtype=mujoco.mjtObj.mjOBJ_BODY,
        objname=bodies[0].name,
    )


def _add_contact_point(spec: mujoco.MjSpec, name: str, geom_name: str, end: float) -> None:
    """Add a position sensor at one end (+1 or -1) of a capsule."""
    geom = spec.geom(geom_name)
    centre, half_axis = _capsule(geom)
    site = geom.parent.add_site(name=name, pos=centre + end * half_axis)
    spec.add_sensor(
        name=name, type=mujoco.mjtSensor.mjSENS_FRAMEPOS, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site.name
    )


def _capsule(geom: mujoco.MjsGeom) -> tuple[np.ndarray, np.ndarray]:
    """Return centre (3,) and vector from there to the +1 end (3,) in the body's frame; models use three notations."""
    ends = np.array(geom.fromto)
    if np.isfinite(ends).all():
        return (ends[:3] + ends[3:]) / 2, (ends[:3] - ends[3:]) / 2
    quaternion, axis = np.array(geom.quat), np.zeros(3)
    if geom.alt.type == mujoco.mjtOrientation.mjORIENTATION_AXISANGLE:
        *rotation_axis, angle = geom.alt.axisangle
        mujoco.mju_axisAngle2Quat(quaternion, np.array(rotation_axis), angle)
    mujoco.mju_rotVecQuat(axis, np.array([0.0, 0.0, 1.0]), quaternion)
    return np.array(geom.pos), geom.size[1] * axis


def _restyle(spec: mujoco.MjSpec, task: RobotTask) -> None:
    """Brighten the robot and give it the same calm chequered floor as the others, for an hour of watching clips."""
    _set_light(spec)
    for name, colour in task.colours.items():
        spec.geom(name).rgba = [*colour, 1.0]
    plane = mujoco.mjtGeom.mjGEOM_PLANE
    planes = [geom for geom in spec.geoms if geom.type == plane]
    if not planes:  # one that is drawn but touches nothing
        planes = [spec.worldbody.add_geom(name="floor", type=plane, size=[1, 1, 1], contype=0, conaffinity=0)]
    floor = planes[0]
    if task.floor_height is not None:
        floor.pos[2] = task.floor_height
    floor.size = [_FLOOR_METRES, _FLOOR_METRES, floor.size[2]]  # as drawn; as an obstacle a plane is infinite
    if not floor.material:
        checker, flat = mujoco.mjtBuiltin.mjBUILTIN_CHECKER, mujoco.mjtTexture.mjTEXTURE_2D
        spec.add_texture(name="texplane", type=flat, builtin=checker, width=100, height=100)
        material = spec.add_material(name="MatPlane", reflectance=0.5, shininess=1, specular=1)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "texplane"
        gradient, sky = mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, mujoco.mjtTexture.mjTEXTURE_SKYBOX
        spec.add_texture(name="sky", type=sky, builtin=gradient, width=100, height=100)
        floor.material = "MatPlane"
    floor.rgba = [1.0] * 4  # the texture's own colours
    spec.material(floor.material).texrepeat[:] = 2 * _FLOOR_METRES / task.floor_pattern
    for texture in spec.textures:
        if texture.name == "texplane":
            texture.rgb1, texture.rgb2 = _FLOOR_COLOURS
        if texture.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX:
            texture.rgb1, texture.rgb2 = _SKY


def _restyle_imported(spec: mujoco.MjSpec) -> None:
    """Give an imported robot the clips' field of view, a light, and the calm chequered floor."""
    _set_light(spec)
    checker, flat = mujoco.mjtBuiltin.mjBUILTIN_CHECKER, mujoco.mjtTexture.mjTEXTURE_2D
    light, dark = _FLOOR_COLOURS
    spec.add_texture(name=_FLOOR, type=flat, builtin=checker, width=100, height=100, rgb1=light, rgb2=dark)
    material = spec.add_material(name=_FLOOR, reflectance=0.5, shininess=1, specular=1)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = _FLOOR
    material.texrepeat[:] = 2 * _FLOOR_METRES
    for geom in spec.worldbody.geoms:
        if geom.type == mujoco.mjtGeom.mjGEOM_PLANE:
            geom.size, geom.material, geom.rgba = [_FLOOR_METRES, _FLOOR_METRES, 1.0], _FLOOR, [1.0] * 4
    if not any(texture.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX for texture in spec.textures):
        gradient, sky = mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, mujoco.mjtTexture.mjTEXTURE_SKYBOX
        above, below = _SKY
        spec.add_texture(
            name="somersault_sky", type=sky, builtin=gradient, width=100, height=100, rgb1=above, rgb2=below
        )


def _set_light(spec: mujoco.MjSpec) -> None:
    spec.visual.global_.fovy = _FIELD
    spec.visual.headlight.ambient[:] = 0.35
    if not spec.lights:
        directional = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
        spec.worldbody.add_light(
            type=directional, dir=[0, 0, -1], pos=[0, 0, 1.3], diffuse=[0.5] * 3, specular=[0.1] * 3
        )
