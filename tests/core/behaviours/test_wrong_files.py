"""Two hundred invalid behaviour and MJCF files on the command line: each is one sentence without any other effect.

Some are written by hand; the others are valid files with a random change of fixed seed. If a change leaves a file
valid, the sentence is about the folder of the session, which is occupied, so that nothing is taught.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.behaviours.shipped import FOLDER
from tests.core.builders import BEHAVIOUR

OCCUPIED = "occupied"
BOX = """<mujoco><compiler angle="radian"/>{}<asset>{}</asset><worldbody>{}
<body name="box" pos="0 0 .3"><freejoint/><geom type="box" size=".2 .1 .1"/><body name="arm" pos=".2 0 0">
<joint name="elbow" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body></worldbody>
<actuator><motor joint="elbow" ctrlrange="-1 1"/></actuator></mujoco>"""


@pytest.fixture
def refusal(cli: Callable[..., Any]) -> Callable[[str], str]:
    """Teach a behaviour file, and return the sentence that refuses it."""
    Path(OCCUPIED).mkdir()
    Path(OCCUPIED, "thesis.tex").write_text("x")

    def teach(path: str) -> str:
        before = sorted(Path().rglob("*"))
        sentence = cli("teach", path, "--session", OCCUPIED, "--labels", "4", code=2).err
        assert len(sentence) < 900 and "Traceback" not in sentence
        assert sorted(Path().rglob("*")) == before
        return sentence

    return teach


WRONG_FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"reward": "height"}, "There is no field 'reward' in the behaviour: did you mean oracle?"),
    ({"robot": "mjcf:/etc/passwd"}, "name an .xml file"),
    ({"robot": "gym:../../etc", "oracle": None}, "Malformed"),
    ({"title": "\ud800"}, "can't be"),
    ({"plots": [{"title": "x", "expression": "height"}]}, "has a value at each step"),
    ({"measure": {"name": "x", "expression": "mean(contact[torso])"}}, "did you mean torso_geom?"),
    ({"oracle": "2 + 1"}, "The oracle gives the same reward at every step"),
    ({"oracle": "__import__('os').system('touch hacked')"}, "can be used"),
]
"""Refusals of each step of reading a file; the tests of those steps have more."""


def test_a_wrong_field_or_expression_is_one_sentence_and_runs_nothing(refusal: Any) -> None:
    wrong = []
    for changes, expected in WRONG_FIELDS:
        Path("kneel.json").write_text(json.dumps({**BEHAVIOUR, "oracle": "height", **changes}))
        sentence = refusal("kneel.json")
        if expected not in sentence or OCCUPIED in sentence:
            wrong.append((str(changes)[:80], sentence))
    assert not wrong and not Path("hacked").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b'"kneel"',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"name": 1e999999}',
        b'{"name": ' + b"1" * 100_000 + b"}",
        b"\xff\xfe{\x00}\x00",
        b"{" + b",".join(b'"%d": 0' % number for number in range(200_000)) + b"}",
        b"{} {}",
        b"{'name': 1}",
        b"\x00" * 1000,
        b'{"name": "\\ud800"}',
        b" " * (5 << 20),
    ],
    ids=range(14),
)
def test_a_file_without_a_json_object_is_refused(content: bytes, refusal: Any) -> None:
    Path("kneel.json").write_bytes(content)
    assert OCCUPIED not in refusal("kneel.json")


def behave(robot: str = "box.xml") -> None:
    """Write a behaviour of the robot."""
    Path("in/kneel.json").write_text(json.dumps({**BEHAVIOUR, "robot": f"mjcf:{robot}", "oracle": "height"}))


MESH = '<geom type="mesh" mesh="m"/>'
ASSETS: list[tuple[tuple[str, str, str], str]] = [
    # names of files, none of which may be outside the folder
    (("", '<mesh name="m" file="../secret.obj"/>', MESH), "outside"),
    (("", '<mesh name="m" file="{root}/secret.obj"/>', MESH), "outside"),
    (("", '<mesh name="m" file="link.obj"/>', MESH), "outside"),
    (("", '<mesh name="m" file="folder/secret.obj"/>', MESH), "outside"),
    (("", '<mesh name="m" file="nowhere.obj"/>', MESH), "can't be read"),
    (("", '<mesh name="m" file="/dev/zero"/>', MESH), "outside"),
    (("", '<mesh name="m" file="."/>', MESH), "can't be read"),
    (("", '<mesh name="m" file="&#10;"/>', MESH), "can't be read"),
    (("", '<mesh name="m" file="pipe"/>', MESH), "can't be read"),
    (("", '<texture name="t" type="2d" file="../secret.png"/>', ""), "outside"),
    (("", '<texture name="t" type="cube" fileright="../secret.png"/>', ""), "outside"),
    (("", '<texture name="t" type="skybox" fileup="/etc/passwd"/>', ""), "outside"),
    (("", '<hfield name="h" file="../secret.png" size="1 1 1 1"/>', ""), "outside"),
    (('<deformable><skin file="../secret.skn"/></deformable>', "", ""), "outside"),
    (("", "", '<flexcomp name="f" type="mesh" file="../secret.obj"/>'), "outside"),
    (("", '<model name="other" file="../secret.xml"/>', ""), "can't be used"),
    (("", '<model name="other" file="other.xml"/>', ""), "can't be used"),
    (('<compiler meshdir="/"/>', '<mesh name="m" file="etc/passwd"/>', MESH), "outside"),
    (('<compiler assetdir=".."/>', '<mesh name="m" file="secret.obj"/>', MESH), "outside"),
    (('<compiler texturedir="../in/.."/>', '<texture name="t" type="2d" file="secret.png"/>', ""), "outside"),
    (('<compiler strippath="true"/>', '<mesh name="m" file="a.obj"/>', MESH), "strippath"),
    (('<include file="../secret.xml"/>', "", ""), "outside"),
    (('<include file="/etc/passwd"/>', "", ""), "outside"),
    (('<include file="link.xml"/>', "", ""), "outside"),
    (('<include file="box.xml"/>', "", ""), "in a circle"),
    (('<include file="ring.xml"/>', "", ""), "in a circle"),
    (("<include/>", "", ""), "names no file"),
    (('<x xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="/etc/passwd"/></x>', "", ""), "rejects"),
    (('<extension><plugin plugin="mujoco.pid"/></extension>', "", ""), "plugin"),
    (("", '<mesh name="m"><plugin plugin="mujoco.sdf.gear"/></mesh>', ""), "plugin"),
]
ASSETS += [
    # models that would take too much memory or time
    (("", "", '<replicate count="1000000"><body><geom size="1"/></body></replicate>'), "copies"),
    (("", "", '<replicate count="100"><replicate count="100"><geom size="1"/></replicate></replicate>'), "copies"),
    (("", "", '<body><flexcomp name="f" type="grid" count="1000 1000 1000"/></body>'), "parts"),
    (("", "", '<body><composite type="cable" count="100000 1 1"/></body>'), "parts"),
    (("", '<texture name="t" type="2d" builtin="flat" width="1000000" height="1000000"/>', ""), "larger than 4,096"),
    (("", '<hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/>', ""), "larger than 4,096"),
    (("", '<mesh name="m" builtin="sphere" params="30"/>', MESH), ""),
    (("", '<mesh name="m" builtin="supersphere" params="100000 1 1"/>', MESH), "larger"),
    (('<size memory="1000G"/>', "", ""), "memory"),
    (('<size memory="9999999999999"/>', "", ""), "memory"),
    (('<size nkey="1000000000"/>', "", ""), "larger"),
    (('<size nuserdata="2000000000"/>', "", ""), "larger"),
    (('<size nuser_body="1e9"/>', "", ""), "larger"),
    (('<option iterations="1000000000"/>', "", ""), "larger"),
    (('<option ls_iterations="1e300"/>', "", ""), "larger"),
    (('<option timestep="1e-9"/>', "", ""), "timestep"),
    (('<option timestep="0"/>', "", ""), ""),
    (('<option timestep="nan"/>', "", ""), ""),
    (('<option timestep="10"/>', "", ""), "timestep"),
    (('<custom><numeric name="n" size="1000000000"/></custom>', "", ""), "larger"),
    (('<visual><quality shadowsize="1000000"/></visual>', "", ""), "larger"),
    (('<visual><global offwidth="10000000"/></visual>', "", ""), "larger"),
    (('<compiler><lengthrange mode="all" inttotal="1e9"/></compiler>', "", ""), "larger"),
    (("", "", "<body>" * 5000 + "</body>" * 5000), "levels"),
    (("", "", '<geom size="1"/>' * 30_000), "elements"),
    (("", "", '<body><joint/><geom size=".01"/></body>' * 600), "joints"),
    (("", "", "<!--" + "x" * (5 << 20) + "-->"), "larger than 4 MB"),
]
ASSETS += [
    # models that MuJoCo or the program can't use
    (("<option timestep=", "", ""), "not XML"),
    (("<unknown/>", "", ""), "rejects"),
    (("", '<mesh name="m" file="text.obj"/>', MESH), "rejects"),
    (("", '<mesh name="m" file="short.stl"/>', MESH), "rejects"),
    (("", '<mesh name="m" file="huge.msh"/>', MESH), "rejects"),
    (("", '<mesh name="m" file="x.exe"/>', MESH), "rejects"),
    (("", '<texture name="t" type="2d" file="text.png"/>', ""), "rejects"),
    (("", "", '<geom size="-1"/>'), "rejects"),
    (("", "", '<geom size="nan"/>'), "rejects"),
    (("", "", '<geom type="box" size="1 1"/>'), "rejects"),
    (("", "", '<geom type="mesh" mesh="nothing"/>'), "rejects"),
    (("", "", '<body name="box"/>'), "rejects"),
    (("", "", "<body><freejoint/></body>"), "rejects"),
    (("", "", '<geom size=".1" quat="0 0 0 0"/>'), "rejects"),
    (('<actuator><motor joint="nothing"/></actuator>', "", ""), "rejects"),
    (('<actuator><motor name="m" joint="elbow"/></actuator>', "", ""), "actuator m has no ctrlrange"),
    (('<actuator><motor joint="elbow" ctrlrange="-1e300 1e300"/></actuator>', "", ""), "ctrlrange"),
    (('<equality><weld body1="box" body2="nothing"/></equality>', "", ""), "rejects"),
    (('<default><joint stiffness="1e12"/></default>', "", ""), "unstable"),
    (('<option gravity="0 0 -1e12"/>', "", ""), "unstable"),
]


def lay_out_files() -> None:
    """Make the folder `in` with the files of a robot, and secrets outside it."""
    Path("in").mkdir()
    triangle = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
    for name, text in {
        "secret.obj": triangle,
        "secret.xml": BOX.format("", "", ""),
        "secret.png": "x",
        "secret.skn": "x",
        "in/other.xml": BOX.format("", "", ""),
        "in/ring.xml": '<mujoco><include file="ring.xml"/></mujoco>',
        "in/a.obj": triangle,
        "in/text.obj": "this is no mesh",
        "in/short.stl": "solid",
        "in/x.exe": "MZ",
        "in/text.png": "this is no picture",
    }.items():
        Path(name).write_text(text)
    Path("in/huge.msh").write_bytes(b"\xff\xff\xff\x7f" * 4 + b"x")
    Path("in/link.obj").symlink_to(Path("secret.obj").absolute())
    Path("in/link.xml").symlink_to(Path("secret.xml").absolute())
    Path("in/folder").symlink_to(Path().absolute())
    os.mkfifo("in/pipe")


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and pipes")
def test_a_model_that_is_unusable_too_large_or_reads_other_folders_is_refused(refusal: Any) -> None:
    lay_out_files()
    behave()
    wrong = []
    for (first, asset, world), expected in ASSETS:
        text = BOX.format(first, asset, world).replace("{root}", str(Path().absolute()))
        Path("in/box.xml").write_text(text)
        sentence = refusal("in/kneel.json")
        if expected not in sentence or OCCUPIED in sentence:
            wrong.append((first[:80], asset[:80], world[:80], sentence))
    assert not wrong


WRONG_XML = [
    b"",
    b"<",
    b"<mujoco>",
    b"<mujoco></worldbody>",
    b'<!DOCTYPE m [<!ENTITY x SYSTEM "/etc/passwd">]><mujoco>&x;</mujoco>',
    b'<!DOCTYPE m [<!ENTITY a "aa"><!ENTITY b "&a;&a;&a;">]><mujoco>&b;</mujoco>',
    '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE m [<!ENTITY a "b">]><mujoco>&a;</mujoco>'.encode("utf-16"),
    b'<?xml version="1.0" encoding="utf-7"?><mujoco/>',
    b"<mujoco>\xff\xff</mujoco>",
    b"<mujoco>&nothing;</mujoco>",
    b"<robot/>",
    b"<html><body/></html>",
    b"<mujoco/>",
    b"<mujoco><worldbody/></mujoco>",
    b"\x00" * 100,
    b"PK\x03\x04",
    b"<a>" * 100_000,
]


def test_a_file_that_is_not_mjcf_is_refused(refusal: Any) -> None:
    Path("in").mkdir()
    behave()
    for content in WRONG_XML:
        Path("in/box.xml").write_bytes(content)
        assert OCCUPIED not in refusal("in/kneel.json")


@pytest.mark.parametrize("count", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_randomly_changed_files_are_refused_in_one_sentence_or_valid(refusal: Any, count: int) -> None:
    """The files are shipped behaviours and the model of a robot, with a word cut, doubled, or replaced."""
    rng, refused = np.random.default_rng(30), 0
    Path("in").mkdir()
    shipped = [path.read_text() for path in sorted(FOLDER.glob("*.json"))]
    words = ["1e308", "1e-300", "-1", "0", "nan", "9" * 40, '"', "{", "]", "<"]
    words += ["height", "\\u0000", "x" * 3000, "", "a b c"]
    for number in range(count * 3 // 5):
        mutated = change(shipped[number % len(shipped)], rng, words)
        Path("in/one.json").write_text(mutated)
        refused += OCCUPIED not in refusal("in/one.json")
    behave()
    for _ in range(count * 2 // 5):
        Path("in/box.xml").write_text(change(BOX.format("", "", ""), rng, words))
        refused += OCCUPIED not in refusal("in/kneel.json")
    assert count / 2 < refused < count


def change(text: str, rng: np.random.Generator, words: list[str]) -> str:
    """Cut, double or replace one of the text's words, numbers or signs."""
    parts = re.findall(r"\w+|\s+|[^\w\s]", text)
    index = int(rng.integers(len(parts)))
    new = ["", 2 * parts[index], words[int(rng.integers(len(words)))]][int(rng.integers(3))]
    return "".join([*parts[:index], new, *parts[index + 1 :]])
