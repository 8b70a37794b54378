"""MuJoCo models of the robots: Gymnasium's, with a task's sensors, and those of imported files; all look alike."""

import itertools
import logging
import re
import warnings
from pathlib import Path

import gymnasium
import mujoco
import numpy as np

from core.errors import UserError
from core.robots.actuators import complete_ranges
from core.robots.mjcf import unpack
from core.robots.structure import (
    drawn_geoms,
    floor_of,
    ground_box,
    has_slope,
    level_planes,
    lift_of,
    root_of,
    terrain_base,
)
from core.tasks.base import RobotTask

log = logging.getLogger(__name__)
mujoco.set_mju_user_warning(log.info)  # by default it writes MUJOCO_LOG.TXT into the current folder
_DIVERGED = [int(getattr(mujoco.mjtWarning, f"mjWARN_{kind}")) for kind in ("BADQPOS", "BADQVEL", "BADQACC")]
_TOTAL_MASS = re.compile(r'settotalmass="([0-9.]+)"')
_LINE = re.compile(r",? ?\(?line \d+\)?")
"""Line in a message of MuJoCo, which counts those of a text that was put together from several files."""
_FLOOR = "somersault_floor"
"""Name of the floor, its texture and its material in an imported robot."""
_PLANE = mujoco.mjtGeom.mjGEOM_PLANE
_CONTACT = (
    *("contype", "conaffinity", "condim", "priority", "friction"),
    *("solmix", "solref", "solimp", "margin", "gap"),
)
"""Attributes of a geom that say what it touches and how."""
_FIELD = 36.0
"""Vertical field of view of the clips' camera in degrees."""
_FLOOR_METRES = 400.0
_FLOOR_COLOURS = ((0.36, 0.42, 0.48), (0.62, 0.68, 0.72))
_TRUNK = (0.16, 0.42, 0.56)
"""Colour of the torso, the body that the camera follows. Gymnasium draws it like a leg: in a fallen robot they look alike."""
_SKY = ((0.75, 0.82, 0.88), (0.45, 0.55, 0.66))


def load_model(task: RobotTask) -> mujoco.MjModel:
    """Compile the task's robot, with sensors for its contact points.

    Raises UserError if it is an imported one that is damaged.
    """
    if task.packed_model:
        return compile_mjcf(*unpack(task.packed_model), task, task.floor_height)
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    text = (assets / task.model).read_text()
    total_mass = _TOTAL_MASS.search(text)
    text = _TOTAL_MASS.sub("", text)  # MuJoCo warns that it will drop this attribute
    spec = mujoco.MjSpec.from_string(text)
    spec.option.timestep = task.timestep
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{task.integrator.upper()}")
    for number, (geom_name, end) in enumerate(task.contact_points):
        _add_contact_point(spec, f"touch_{number}", geom_name, end)
    if total_mass:
        _set_total_mass(spec, float(total_mass[1]))
    _restyle(spec, task)
    return spec.compile()


def compile_mjcf(
    xml: str, assets: dict[str, bytes], task: RobotTask | None = None, drawn_floor: float | None = None
) -> mujoco.MjModel:
    """Compile an imported robot, with a floor if it has none. Raises UserError if MuJoCo refuses it.

    task: gives the timestep, and the numbers of signals that the robot must have
    drawn_floor: height in m of an added floor on which only loose objects lie; None for one at height 0 on which the
        robot stands
    """
    try:
        total_mass = _TOTAL_MASS.search(xml)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about outdated attributes, which change nothing
            spec = mujoco.MjSpec.from_string(_TOTAL_MASS.sub("", xml), assets=assets)
            if total_mass:
                _set_total_mass(spec, float(total_mass[1]))
            spec.compiler.discardvisual = False  # or the floor's material and all that is only seen would go
            for sensor in spec.sensors:  # nothing reads them
                spec.delete(sensor)
            for light in spec.lights:
                spec.delete(light)
            if task:
                spec.option.timestep = task.timestep
            if spec.option.integrator == mujoco.mjtIntegrator.mjINT_RK4:  # four times the work
                spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
            _name_moving_bodies(spec)
            _add_appearance(spec)
            model = spec.compile()
            if not level_planes(model):
                _add_floor(spec, model, drawn_floor)
                model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        said = _LINE.sub("", " ".join(str(error).split()))
        raise UserError(f"MuJoCo refuses it ({said[:200]}).") from error
    _lay_floor(model)
    _show_every_body(model)
    complete_ranges(model)
    if task and signal_sizes(model) != (task.names.sizes, len(task.start_positions)):
        raise UserError("The robot in the behaviour is damaged: create the session again from its file.")
    return model


def _add_floor(spec: mujoco.MjSpec, model: mujoco.MjModel, drawn_floor: float | None) -> None:
    """Add a level plane: in place of a box that the robot stands on, below height fields, or where `compile_mjcf` says.

    Raises UserError if the robot stands on a slope.
    """
    stands = lift_of(model, root_of(model)) is not None
    box = ground_box(model) if stands else None
    if box is not None:
        number, top = box
        geom = next(geom for geom in spec.geoms if geom.id == number)
        kept = {name: np.array(getattr(geom, name)).tolist() for name in _CONTACT}
        name = geom.name
        spec.delete(geom)
        spec.worldbody.add_geom(name=name or _FLOOR, type=_PLANE, pos=top, size=[1, 1, 1], **kept)
        return
    if stands and has_slope(model):
        raise UserError("its ground is a slope: replace it with a level plane, box or height field.")
    base = terrain_base(model) if stands else None
    kind = int(drawn_floor is None or (model.jnt_type == mujoco.mjtJoint.mjJNT_FREE).any())
    height = base if base is not None else drawn_floor or 0.0
    spec.worldbody.add_geom(
        name=_FLOOR, type=_PLANE, pos=[0, 0, height], size=[1, 1, 1], contype=kind, conaffinity=kind
    )


def has_diverged(data: mujoco.MjData) -> bool:
    """Return whether MuJoCo has reset a simulation that diverged, silently but for its counters of warnings."""
    return any(data.warning[kind].number for kind in _DIVERGED)


def _name_moving_bodies(spec: mujoco.MjSpec) -> None:
    """Name the bodies that have joints and no name: 'root', 'root_2', ..."""
    moving = [body for body in spec.bodies if body.joints]
    if not moving:
        raise UserError("it has no joints, so nothing of it can move.")
    taken = {body.name for body in spec.bodies}
    for body in moving:
        if not body.name:
            names = ("root" if number == 1 else f"root_{number}" for number in itertools.count(1))
            body.name = next(name for name in names if name not in taken)
            taken.add(body.name)


def has_own_floor(model: mujoco.MjModel) -> bool:
    """Return whether the floor is the robot's own, and not one that `compile_mjcf` has added."""
    return bool(model.geom(floor_of(model)[0]).name != _FLOOR)


def _set_total_mass(spec: mujoco.MjSpec, kilograms: float) -> None:
    scale = kilograms / spec.compile().body_mass.sum()
    for geom in spec.geoms:
        geom.density *= scale
        geom.mass *= scale  # NaN where the density counts
    for body in spec.bodies:
        if body.explicitinertial:
            body.mass *= scale
            body.inertia = np.array(body.inertia) * scale
            body.fullinertia = np.array(body.fullinertia) * scale


def signal_sizes(model: mujoco.MjModel) -> tuple[tuple[int, int], int]:
    """Return the numbers of (actuators, geoms of the robot) and of positions."""
    return (int(model.nu), int((model.geom_bodyid > 0).sum())), int(model.nq)


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
    if not task.camera.fixed:
        for geom in spec.body(task.camera.body).geoms:
            geom.material, geom.rgba = "", [*_TRUNK, 1.0]
    for name, colour in task.colours.items():
        spec.geom(name).rgba = [*colour, 1.0]
    planes = [geom for geom in spec.geoms if geom.type == _PLANE]
    if not planes:  # one that is drawn but touches nothing
        planes = [spec.worldbody.add_geom(name="floor", type=_PLANE, size=[1, 1, 1], contype=0, conaffinity=0)]
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


def _add_appearance(spec: mujoco.MjSpec) -> None:
    """Give an imported robot the clips' field of view, a light, a sky, and the material of the calm chequered floor."""
    _set_light(spec)
    checker, flat = mujoco.mjtBuiltin.mjBUILTIN_CHECKER, mujoco.mjtTexture.mjTEXTURE_2D
    light, dark = _FLOOR_COLOURS
    spec.add_texture(name=_FLOOR, type=flat, builtin=checker, width=100, height=100, rgb1=light, rgb2=dark)
    material = spec.add_material(name=_FLOOR, reflectance=0.5, shininess=1, specular=1)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = _FLOOR
    material.texrepeat[:] = 2 * _FLOOR_METRES
    skies = [texture for texture in spec.textures if texture.type == mujoco.mjtTexture.mjTEXTURE_SKYBOX]
    above, below = _SKY
    for sky in skies or [spec.add_texture(name="somersault_sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX)]:
        if not sky.file and not any(sky.cubefiles):
            sky.builtin, sky.mark = mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, mujoco.mjtMark.mjMARK_NONE
            sky.width, sky.height, sky.rgb1, sky.rgb2 = 100, 600, above, below


def _lay_floor(model: mujoco.MjModel) -> None:
    """Give the floor its material, and make it end beyond what is seen."""
    floor, _ = floor_of(model)
    model.geom_matid[floor] = model.material(_FLOOR).id
    model.geom_size[floor, :2], model.geom_rgba[floor] = _FLOOR_METRES, 1.0
    model.geom_group[floor] = 0


def _show_every_body(model: mujoco.MjModel) -> None:
    """Show the geoms of moving bodies that have no visible one, such as bodies with geoms for contacts only."""
    seen = drawn_geoms(model)
    for body in np.flatnonzero(model.body_treeid >= 0):
        geoms = np.flatnonzero(model.geom_bodyid == body)
        if not seen[geoms].any():
            model.geom_group[geoms], model.geom_rgba[geoms, 3] = 0, 1.0


def _set_light(spec: mujoco.MjSpec) -> None:
    spec.visual.global_.fovy = _FIELD
    spec.visual.headlight.ambient[:] = 0.35
    if not spec.lights:
        directional = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
        spec.worldbody.add_light(
            type=directional, dir=[0, 0, -1], pos=[0, 0, 1.3], diffuse=[0.5] * 3, specular=[0.1] * 3
        )
