"""Import of robots from MJCF files: results, storage, and refusals."""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from core.behaviours.behaviour import parse
from core.behaviours.robot_model import robot_model
from core.errors import UserError
from core.presets import DEFAULT
from core.robots.importing import import_robot
from core.robots.kinematics import Kinematics
from core.robots.mjcf import pack, read_mjcf, unpack
from core.robots.models import load_model
from core.tasks import get_task
from core.tasks.behaviour_tasks import task_text
from tests.core.robot_toys import DOG, SIT, TRUNK, MakeBatch, imported, write_dog
from tests.screens import run_python


@pytest.fixture(autouse=True)
def dog() -> None:
    write_dog()
    included = "<mujoco>" + 20 * '<include file="more.xml"/>' + "</mujoco>"
    Path("many.xml").write_text(included)
    Path("more.xml").write_text(included.replace("more", "most"))
    Path("most.xml").write_text("<mujoco/>")
    Path("empty.png").write_bytes(b"")
    header = struct.pack(">I4s2I", 13, b"IHDR", 40_000, 30_000)
    Path("huge.png").write_bytes(b"\x89PNG\r\n\x1a\n" + header)


def test_a_robot_is_kept_in_the_behaviours_text_and_taught_without_its_files(batch: MakeBatch) -> None:
    text = task_text("sit.json", import_robot)
    for path in (*Path("meshes").iterdir(), *Path().glob("*.*")):
        path.unlink()
    task: Any = get_task(text)
    assert task.name == "sit" and task.names.joints == ("hip", "wheel") and task.names.actions == ("hip", "wheel")
    assert task.names.geoms == ("root", "leg", "tyre")  # neither the trunk nor its body has a name: it is the root
    assert task.step_seconds == pytest.approx(0.024) and task.episode_steps == 333 and task.segment_steps == 62
    assert task.presets == {**DEFAULT, "policy.initial_std": 1.0}
    env = batch(task, 40)
    assert (
        env.sizes[:2] == task.sizes == (1 + 1 + 2 + 5 + 8 + 3, 2)
    )  # no position; the wheel as sine and cosine; orientation; the floor
    kinematics, positions = Kinematics(env.model), env.states[:, 1:10]
    assert kinematics.lowest(positions).min() >= -0.01  # lifted, except for the noise of the standing ones
    for number in range(30):
        step = env.step(np.random.default_rng(number).uniform(-1, 1, (40, 2)).astype(np.float32))
    assert np.isfinite(step.observations).all() and step.true_rewards.std() > 0.1
    assert env.controls(np.array([1.0, -1.0], np.float32)).tolist() == [2.0, -3.0]
    moved = step.observations[:, -8 - 3 : -3]
    fastest = np.array([*[10.0] * 7, 100.0])  # the wheel may turn faster
    assert moved == pytest.approx(np.clip(env.states[:, 10:18], -fastest, fastest), abs=1e-5)


def test_a_robot_starts_in_its_keyframe_above_the_floor() -> None:
    model = import_robot(Path("dog.xml"))
    assert model.start[3:] == (1, 0, 0, 0, 0.5, 0) and model.start[2] == pytest.approx(
        0.3 * np.cos(0.5) + 0.03, abs=0.01
    )
    assert (model.timestep, model.frame_skip, model.integrator) == (0.004, 6, "implicitfast")
    assert (model.on_floor, model.planar, model.fixed, model.body) == (True, False, False, "root")
    assert robot_model(json.loads(json.dumps(model.to_dict()))) == model


def test_the_same_files_are_packed_to_the_same_bytes() -> None:
    xml, assets = read_mjcf(Path("dog.xml"))
    assert list(assets.values()) == [TRUNK.encode()] and "include" not in xml and "meshdir" not in xml
    assert pack(xml, assets) == pack(*unpack(pack(xml, assets)))


def test_visual_geoms_are_kept_even_if_the_file_discards_them() -> None:
    Path("dog.xml").write_text(DOG.replace("<asset>", '<compiler discardvisual="true"/><asset>'))
    assert import_robot(Path("dog.xml")).geoms == ("root", "leg", "tyre")


def test_a_path_of_windows_names_the_same_mesh() -> None:
    Path("meshes/parts").mkdir()
    Path("meshes/trunk.obj").rename("meshes/parts/trunk.obj")
    Path("dog.xml").write_text(DOG.replace('file="trunk.obj"', 'file="parts\\trunk.obj"'))
    assert import_robot(Path("dog.xml")).geoms == ("root", "leg", "tyre")


def test_files_may_be_links_within_their_folder() -> None:
    Path("meshes/trunk.obj").rename("meshes/body.obj")
    Path("meshes/trunk.obj").symlink_to("body.obj")
    Path("link.xml").symlink_to("dog.xml")
    assert import_robot(Path("link.xml")).geoms == ("root", "leg", "tyre")


def test_a_second_robot_that_is_moved_is_in_the_picture() -> None:
    arm = """<body pos="0 {y} 1"><joint name="j{y}" axis="0 1 0" range="-1 1" limited="true"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.5" size=".05"/></body>"""
    arms, motors = arm.format(y=0) + arm.format(y=2), '<motor joint="j0" ctrlrange="-1 1"/>'
    Path("arms.xml").write_text(f"<mujoco><worldbody>{arms}</worldbody><actuator>{motors}</actuator></mujoco>")
    alone = import_robot(Path("arms.xml"))
    both = motors + motors.replace("j0", "j2")
    Path("arms.xml").write_text(f"<mujoco><worldbody>{arms}</worldbody><actuator>{both}</actuator></mujoco>")
    pair = import_robot(Path("arms.xml"))
    assert alone.centre[1] == pytest.approx(0) and pair.centre[1] == pytest.approx(1)
    assert pair.distance > alone.distance and 0.65 * pair.distance > 2


def test_file_names_are_relative_to_the_file_that_contains_them() -> None:
    whole = import_robot(Path("dog.xml"))
    Path("parts").mkdir()
    Path("common.xml").rename("parts/inner.xml")
    Path("parts/outer.xml").write_text('<mujoco><include file="inner.xml"/></mujoco>')
    asset = next(line for line in DOG.splitlines() if "trunk.obj" in line)
    Path("parts/mesh.xml").write_text(f"<mujoco>{asset}</mujoco>")
    text = DOG.replace(asset, '<include file="parts/mesh.xml"/>').replace("common.xml", "parts/outer.xml")
    Path("dog.xml").write_text(text)
    mesh = Path("meshes/trunk.obj")
    for place in ("meshes/trunk.obj", "meshes/parts/trunk.obj", "parts/trunk.obj"):
        Path(place).parent.mkdir(exist_ok=True)
        mesh = mesh.rename(place)
        assert replace(import_robot(Path("dog.xml")), packed=whole.packed) == whole


def refuse(name: str, expected: str, **changes: str) -> None:
    content = DOG
    for old, new in changes.items():
        content = content.replace(PARTS[old], new)
    Path(name).write_text(content)
    with pytest.raises(UserError) as refused:
        import_robot(Path(name))
    assert expected in str(refused.value) and name in str(refused.value) and "\n" not in str(refused.value)


PARTS = {
    "wheel_range": ' ctrlrange="-3 3"',
    "mesh": "trunk.obj",
    "common": "common.xml",
    "start": "<mujoco>",
    "free": "<freejoint/>",
    "wheel": ' axis="0 1 0"/><geom name="tyre"',
    "asset": "<asset>",
    "key": '<key qpos="0 0 .1 1 0 0 0 .5 0"/>',
}


def test_an_invisible_robot_is_refused() -> None:
    body = '<body><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint name="hinge"/></body>'
    motor = '<actuator><motor joint="hinge" ctrlrange="-1 1"/></actuator>'
    Path("nothing.xml").write_text(f"<mujoco><worldbody>{body}</worldbody>{motor}</mujoco>")
    with pytest.raises(UserError, match="its bodies have no geoms, so it can.t be seen"):
        import_robot(Path("nothing.xml"))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"wheel_range": ""}, "actuator number 2 has no ctrlrange"),
        ({"mesh": "../trunk.obj"}, "can't be read"),
        ({"mesh": "nowhere.obj"}, "can't be read"),
        ({"mesh": "/etc/passwd"}, "is outside"),
        ({"common": "/etc/passwd"}, "is outside"),
        ({"common": "dog.xml"}, "include each other in a circle"),
        ({"common": ""}, "an <include> names no file"),
        ({"common": "many.xml"}, "more than 256 includes"),
        ({"wheel_range": ' ctrlrange="3 -3"'}, "its larger end first"),
        ({"wheel_range": ' ctrlrange="3 -3" gear="5"'}, "its larger end first"),
        ({"wheel": ' axis="0 1 0"/><geom name="' + "t" * 201 + '"'}, "is too long"),
        ({"asset": '<asset><texture name="t" type="2d" file="empty.png"/>'}, "'0-empty.png'"),
        ({"asset": '<asset><texture name="t" type="2d" file="huge.png"/>'}, "0-huge.png has more than"),
        ({"key": '<key name="home" qpos="nan 0 .1 1 0 0 0 .5 0"/>'}, "keyframe home has positions"),
        ({"key": '<key qpos="0 0 3e6 1 0 0 0 .5 0"/>'}, "farther than 1,000,000 m"),
        ({"start": "<!DOCTYPE x><mujoco>"}, "document type declaration"),
        ({"start": "<robot>"}, "is not XML"),
        (
            {"wheel": ' axis="0 0 0"/><geom name="tyre"'},
            "rejects it, although another version may accept it: correct what",
        ),
        (
            {"wheel": ' axis="0 1 0" limited="true" range="0 inf"/><geom name="tyre"'},
            "a joint's range is larger than 1e6",
        ),
        ({"wheel": ' type="slide" limited="true" range="-inf inf"/><geom name="tyre"'}, "a joint's range is larger"),
        ({"wheel": ' type="slide" limited="true" range="0 1e30"/><geom name="tyre"'}, "a joint's range is larger"),
        (
            {"free": "<freejoint/><unknown/>"},
            "rejects it, although another version may accept it: correct what",
        ),
        ({"asset": '<option timestep=".2"/><asset>'}, "its timestep is 0.2 s"),
        (
            {"asset": '<option integrator="Euler"/><default><joint stiffness="1e9"/></default><asset>'},
            "becomes unstable",
        ),
    ],
)
def test_an_unteachable_model_is_refused_with_the_reason(changes: dict[str, str], expected: str) -> None:
    refuse("dog.xml", expected, **changes)


QUADROTOR = """<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="2 2 .2"/><body>
  <joint type="free"/><geom type="box" size=".06 .035 .025" mass=".1"/><site name="motor" pos=".1 0 .01"/>
  <geom type="box" pos=".071 .071 0" size=".05 .01 .0025" mass=".025"/></body></worldbody>
  <actuator><motor site="motor" gear="0 0 4 0 0 0" ctrlrange="0 1"/></actuator></mujoco>"""
"""Its only motor, off its centre, turns it ever faster, so that a second after its start a short timestep is unstable too."""


def test_a_robot_that_becomes_unstable_a_second_after_its_start_is_refused() -> None:
    Path("quadrotor.xml").write_text(QUADROTOR)
    with pytest.raises(UserError, match="becomes unstable within seconds"):
        import_robot(Path("quadrotor.xml"))
    Path("quadrotor.xml").write_text(QUADROTOR.replace('gear="0 0 4', 'gear="0 0 .4'))
    assert import_robot(Path("quadrotor.xml")).timestep == 0.01


TROLLEY = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 1">
  <joint name="rail" type="slide" axis="1 0 0" range="-1 30"/><geom size=".1" mass="1"/></body></worldbody>
  <actuator><intvelocity joint="rail" kp="10000" ctrlrange="-.1 .1"/></actuator>
  <keyframe><key qpos="20"/></keyframe></mujoco>"""
"""Its servo, which would hurl it back from 20 m to 0 if it did not start at its place."""


def test_a_robot_is_tried_from_the_activations_of_its_start() -> None:
    Path("trolley.xml").write_text(TROLLEY)
    assert import_robot(Path("trolley.xml")).timestep == 0.002


MOVED = (
    "<worldbody><body><joint name='j'/><geom size='1'/></body></worldbody>"
    "<actuator><motor joint='j' ctrlrange='-1 1'/></actuator>"
)


WITHOUT_MEMORY = """
import resource, sys
from core.errors import UserError
from core.robots.models import compile_mjcf

with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (32 << 20), -1))  # the terrain takes 64 MB
try:
    compile_mjcf(sys.argv[1], {})
except UserError as error:
    print(error)
"""
"""A process of its own, as MuJoCo may hang or crash when it reads another model afterwards."""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process has no limit")
def test_a_robot_too_large_for_memory_is_refused() -> None:
    terrain = "<asset><hfield name='hill' nrow='4096' ncol='4096' size='1 1 1 1'/></asset>"
    ground = "<worldbody><geom type='hfield' hfield='hill'/></worldbody>"
    child = run_python("-c", WITHOUT_MEMORY, f"<mujoco>{terrain}{ground}{MOVED}</mujoco>")
    assert "rejects it, although another version may accept it: correct what" in child.stdout, child.stderr


def test_attributes_removed_from_mujoco_are_refused_with_advice_and_the_version() -> None:
    Path("other.xml").write_text(f"<mujoco>{MOVED}</mujoco>".replace("<joint", "<composite type='grid'/><joint"))
    advice = f"MuJoCo {mujoco.__version__} rejects it, .*: correct what this message names: .*'composite'$"
    with pytest.raises(UserError, match=advice):
        import_robot(Path("other.xml"))


def test_a_total_mass_of_0_leaves_the_masses_as_they_are() -> None:
    masses = []
    for compiler in ("", "<compiler settotalmass='0'/>"):
        Path("other.xml").write_text(f"<mujoco>{compiler}{MOVED}</mujoco>")
        masses.append(load_model(imported(Path("other.xml"))[1]).body_mass.tolist())
    assert masses[0] == masses[1]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<mujoco><worldbody><body><geom size='1'/></body></worldbody></mujoco>", "no joints"),
        ("<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>", "no actuators"),
        (
            "<mujoco><asset><model file='leg.xml'/></asset></mujoco>",
            "attaches the model of another file: save it whole",
        ),
        (f"<mujoco><option><flag actuation='disable'/></option>{MOVED}</mujoco>", "actuators are switched off"),
        (f"<mujoco><option actuatorgroupdisable='0'/>{MOVED}</mujoco>", "actuators are switched off"),
        ("<robot/>", "not an MJCF file"),
        ("", "not XML"),
        (
            "<mujoco>\n<worldbody><geom foo='1'/></worldbody></mujoco>",
            r"message names: .*'foo' Element 'geom'$",
        ),  # an unknown line
    ],
)
def test_files_that_are_no_robots_are_refused(content: str, expected: str) -> None:
    Path("other.xml").write_text(content)
    with pytest.raises(UserError, match=expected):
        import_robot(Path("other.xml"))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["packed", "joints", "timestep", "plain", "start", "body", "on_floor"])
def test_a_damaged_robot_in_a_text_is_refused(name: str) -> None:
    values = json.loads(task_text("sit.json", import_robot))
    for wrong in (None, "\n", [1e999], -1, {}):
        damaged = {**values, "model": {**values["model"], name: wrong}}
        with pytest.raises(UserError, match="leave out model"):
            parse(json.dumps(damaged).replace("Infinity", "1e999"))


def test_a_robot_that_does_not_fit_its_files_is_refused(batch: MakeBatch) -> None:
    values = json.loads(task_text("sit.json", import_robot))
    geoms = values["model"]["geoms"]
    wrong = {"body": "nobody", "packed": "AAAA", **dict.fromkeys(("velocities", "sensed", "activations"), 1)}
    for name, value in [("geoms", [*geoms, "another"]), ("geoms", geoms[::-1]), *wrong.items()]:
        damaged = {**values, "model": {**values["model"], name: value}}
        with pytest.raises(UserError, match="damaged"):
            batch(get_task(json.dumps(damaged)), 2)


def test_a_file_that_is_too_large_is_refused_with_the_limit() -> None:
    with open("meshes/trunk.obj", "ab") as mesh:
        mesh.truncate(33 << 20)
    with pytest.raises(UserError, match=r"trunk\.obj is larger than 32 MB: use a model with fewer parts, or simpler"):
        import_robot(Path("dog.xml"))


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("", r"mjcf: names no file: write mjcf:FILE\.xml\.$"),
        (" ", r"mjcf: names no file: write mjcf:FILE\.xml\.$"),
        ("nowhere.xml", "can't be read"),
        ("sit.json#.xml", "can't be read"),
        ("a" * 300, "can't be"),
        (".", "name an .xml file"),
        ("sit.json", "name an .xml file"),
        ("/etc/passwd", "name an .xml file"),
        ("/dev/zero", "name an .xml file"),
    ],
)
def test_a_name_without_an_mjcf_file_is_refused_as_a_robot(named: str, expected: str) -> None:
    Path("sit.json").write_text(json.dumps({**SIT, "robot": f"mjcf:{named}"}))
    with pytest.raises(UserError, match=expected):
        task_text("sit.json", import_robot)


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(Path.cwd()))
    monkeypatch.setenv("USERPROFILE", str(Path.cwd()))  # Windows
    assert task_text("mjcf:~/dog.xml", import_robot) == task_text("mjcf:dog.xml", import_robot)
    with pytest.raises(
        UserError, match=r"^mjcf:~nobody-here/dog\.xml names an unknown home folder: write the whole path\.$"
    ):
        task_text("mjcf:~nobody-here/dog.xml", import_robot)


def test_without_an_importer_the_file_must_be_read_first() -> None:
    with pytest.raises(UserError, match=r"mjcf:dog\.xml has not been read yet"):
        task_text("sit.json")
