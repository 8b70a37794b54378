"""Behaviour files: read, written, and refused in one sentence."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from core.behaviours.behaviour import MAX_BYTES, Behaviour, CameraView, NamedFigure, is_showable, parse, read_file
from core.errors import UserError
from tests.core.builders import BEHAVIOUR
from tests.screens import ROOT

WHOLE: dict[str, Any] = {
    **BEHAVIOUR,
    "start": "lying",
    "plots": [{"title": "Height (m)", "expression": "mean(height)"}, {"title": "height, m", "expression": "last(x)"}],
    "oracle": "-abs(height - 0.7)",
    "measure": {"name": "share_kneeling", "expression": "share(height < 0.8)"},
}


def test_a_file_is_read_and_written() -> None:
    read = parse(json.dumps(WHOLE))
    plots = (NamedFigure("height_m", "Height (m)", "mean(height)"), NamedFigure("height_m_2", "height, m", "last(x)"))
    measure = NamedFigure("share_kneeling", "Share kneeling", "share(height < 0.8)")
    texts = BEHAVIOUR["title"], BEHAVIOUR["instruction"]
    assert read == Behaviour("kneel", "walker", *texts, 1.5, "lying", plots, "-abs(height - 0.7)", measure)
    assert json.loads(read.to_text()) == WHOLE and parse(read.to_text()) == read
    (plot,) = parse(json.dumps({**WHOLE, "plots": [{"title": "Share kneeling", "expression": "last(x)"}]})).plots
    assert plot.name == "share_kneeling_2"  # the measure has the other one
    assert parse(json.dumps(BEHAVIOUR)) == Behaviour("kneel", "walker", *texts, 1.5)
    titled = {**WHOLE, "measure": {**WHOLE["measure"], "title": "Share of time on its knees"}}
    assert parse(json.dumps(titled)).measure == dataclasses.replace(measure, title="Share of time on its knees")
    assert json.loads(parse(json.dumps(titled)).to_text()) == titled


def test_null_stands_for_the_default_of_an_optional_field() -> None:
    optional = ("start", "camera", "plots", "oracle", "measure", "control_rate", "episode_seconds")
    required = {name: value for name, value in BEHAVIOUR.items() if name not in optional}
    assert parse(json.dumps({**required, **dict.fromkeys(optional)})) == parse(json.dumps(required))


def test_the_page_about_behaviours_lists_every_field() -> None:
    section = (
        (ROOT / "docs" / "behaviours.md").read_text("utf-8").partition("\n## As a file\n")[2].partition("\n## ")[0]
    )
    cells = (line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
    listed = {name for cell in cells for name in re.findall("`(.+?)`", cell)}
    assert listed == {field.name for field in dataclasses.fields(Behaviour)}


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "kneel.json").write_text(json.dumps(BEHAVIOUR), encoding="utf-8-sig")
    assert read_file(tmp_path / "kneel.json") == parse(json.dumps(BEHAVIOUR))


def test_words_of_any_script_and_pasted_spaces_can_be_shown() -> None:
    for title in (
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "Astronaut \U0001f469\u200d\U0001f680",
        "Knie\u00adbeuge",
        "a\u00a0b\tc",
    ):
        assert is_showable(title)
    assert not is_showable("a\u202eb") and not is_showable("\x00")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"x" * 100_000: 1}, "There is no field"),
        ({"__class__": "x"}, "There is no field"),
        ({"Name": "x"}, "did you mean name?"),
        ({"orcale": "1"}, "There is no field 'orcale' in the behaviour: did you mean oracle?"),
        ({"measure": {"unit": "x"}}, "no field 'unit' in measure"),
        ({"measure": {"name": "x", "title": 5, "expression": "1"}}, "the title of the measure is 5"),
        ({"measure": {"name": "x", "expression": None}}, "measure is null"),
        ({"measure": {"name": "x"}}, "'expression' is missing in measure"),
        ({"measure": {"name": "X y", "expression": "1"}}, "lower-case letters"),
        ({"measure": 5}, "measure must be an object"),
        ({"plots": {}}, "plots must be a list"),
        ({"plots": [[]]}, "a plot must be"),
        ({"plots": [{"title": "x" * 61, "expression": "1"}]}, "at most 60"),
        ({"plots": [{"title": "x", "expression": "1"}] * 7}, "at most 6"),
        ({"plots": [{"title": "x", "expression": 1}]}, "the expression of a plot is 1: give a non-empty string"),
        ({"name": "../kneel"}, "lower-case letters"),
        ({"name": "kneel\n"}, "lower-case letters"),
        ({"name": "-"}, "lower-case letters"),
        ({"name": None}, "name is null"),
        ({"name": "x" * 49}, "name has 49 characters: give at most 48"),
        ({"title": ""}, 'title is "": give a non-empty string'),
        ({"title": " \n\t"}, "give a non-empty string"),
        ({"title": "a\u202eb"}, "can't be shown"),
        ({"title": "\u0000"}, "can't be shown"),
        ({"title": "\ud800"}, "can't be shown"),
        ({"instruction": "x" * 401}, "at most 400"),
        ({"instruction": ["x"]}, 'instruction is ["x"]'),
        ({"clip_seconds": True}, "clip_seconds is true: give a number from 0.25 to 10"),
        ({"clip_seconds": "1.5"}, 'clip_seconds is "1.5"'),
        ({"clip_seconds": None}, "clip_seconds is null"),
        ({"clip_seconds": -1e300}, "clip_seconds is -1e+300"),
        ({"clip_seconds": 10**400}, "clip_seconds is 1000"),
        ({"clip_seconds": 1e400}, "clip_seconds is Infinity"),
        ({"clip_seconds": 11}, "clip_seconds is 11"),
        ({"episode_seconds": 0}, "episode_seconds is 0: give a number from 1 to 100"),
        ({"control_rate": "fast"}, 'control_rate is "fast": give a number from 5 to 200'),
        ({"start": "sitting"}, 'start is "sitting": choose one of standing, lying, tilted, air, mixed'),
        ({"start": []}, "start is []"),
        ({"oracle": 5}, "oracle is 5"),
        ({"oracle": "   "}, "give a non-empty string"),
        ({"camera": []}, "camera must be"),
        ({"model": {"packed": "AAAA"}}, "model"),
        ({"model": "x"}, "model"),
        ({"robot": ""}, 'robot is ""'),
        ({"robot": "x" * 401}, "at most 400"),
        ({"robot": None}, "robot is null"),
    ],
)
def test_a_wrong_field_is_one_sentence(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(UserError) as refused:
        parse(json.dumps({**BEHAVIOUR, **changes}).replace("Infinity", "1e400"))
    assert expected in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"name": "kneel"}', "The field 'robot' is missing in the behaviour."),
        (b'{"name": "a", "name": "b"}', "The field 'name' appears twice."),
        (b'{"clip_seconds": NaN}', "NaN is not a JSON number"),
        (b'{"clip_seconds": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b"[" * 9000, "JSON"),
        (b"{,", "not valid JSON at line 1, column 2"),
        (b"[]", "one JSON object"),
        (b"\xff", "UTF-8"),
        (b" " * (MAX_BYTES + 1), "of at most"),
        (None, "can't be read"),
    ],
)
def test_a_path_that_is_no_behaviour_file_is_refused_by_name(content: bytes | None, expected: str) -> None:
    if content is not None:
        Path("mine.json").write_bytes(content)
    with pytest.raises(UserError) as refused:
        read_file(Path("mine.json"))
    assert str(refused.value).startswith("mine.json") and expected in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(sys.platform == "win32", reason="making a link there takes a privilege")
def test_a_file_may_be_a_link() -> None:
    Path("kneel.json").write_text(json.dumps(BEHAVIOUR))
    Path("mine.json").symlink_to("kneel.json")
    assert read_file(Path("mine.json")) == read_file(Path("kneel.json"))
    Path("ring.json").symlink_to("ring.json")
    with pytest.raises(UserError, match="ring.json can't be read"):
        read_file(Path("ring.json"))


def test_a_camera_is_read_and_an_unusable_one_refused() -> None:
    camera = {"azimuth": -30, "elevation": 20, "distance": 3.5}
    read = parse(json.dumps({**BEHAVIOUR, "camera": camera}))
    assert read.camera == CameraView(-30.0, 20.0, 3.5) and parse(read.to_text()) == read
    for changes, expected in (
        ({"elevation": 95}, "the elevation of camera is 95: give a number from 0 to 89."),
        ({"distance": True}, "the distance of camera is true"),
        ({"zoom": 2}, "There is no field 'zoom' in camera"),
    ):
        with pytest.raises(UserError, match=re.escape(expected)):
            parse(json.dumps({**BEHAVIOUR, "camera": {**camera, **changes}}))
    with pytest.raises(UserError, match="'distance' is missing in camera"):
        parse(json.dumps({**BEHAVIOUR, "camera": {"azimuth": 0, "elevation": 0}}))
