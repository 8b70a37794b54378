"""The behaviour file: one JSON object that describes what a robot should do.

    {"name": "kneel", "robot": "walker", "title": "Walker: kneeling",
     "instruction": "Choose the clip in which the robot kneels more steadily.",
     "clip_seconds": 1.5, "start": "standing",
     "camera": {"azimuth": 60, "elevation": 20, "distance": 3.5},
     "plots": [{"title": "Height (m)", "expression": "mean(height)"}],
     "oracle": "-abs(height - 0.7) - 0.2 * abs(forward_speed)",
     "measure": {"name": "share_kneeling", "expression": "share(height < 0.8)"}}

`start`, `episode_seconds`, `control_rate`, `camera`, `plots`, `oracle` and `measure` may be left out. `robot` is a
robot's name, mjcf:FILE or gym:ENV_ID. For an MJCF file, a session adds the robot itself as `model`. The text of each error
is one sentence.
"""

from __future__ import annotations

import errno
import json
import re
import unicodedata
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.behaviours.robot_model import RobotModel, robot_model
from core.errors import UserError
from core.formatting import unique_name
from core.input_checks import require_fields
from core.io import files

SUFFIX = ".json"
STARTS = ("standing", "lying", "tilted", "air", "mixed", "random")
STARTS_ANYWHERE = ("standing", "random")
"""Starts of robots that do not stand freely on a floor."""
MAX_BYTES = 4 << 20
"""Largest size of a behaviour file, most of it for the robot's files; without these it has a few thousand bytes."""
MAX_NAME, MAX_TITLE, MAX_INSTRUCTION, MAX_PLOTS = 48, 60, 400, 6
CLIP_SECONDS = (0.25, 10.0)
"""Shortest and longest clip in seconds; it must also fit into an episode of the robot."""
EPISODE_SECONDS, CONTROL_RATE = (1.0, 100.0), (5.0, 200.0)
"""Shortest and longest episode in seconds; lowest and highest control rate in actions per second."""
CAMERA = {"azimuth": (-360.0, 360.0), "elevation": (0.0, 89.0), "distance": (0.1, 100.0)}
"""Smallest and largest values of each field of a camera."""
_NAME = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")
_REQUIRED = ("name", "robot", "title", "instruction", "clip_seconds")
_OPTIONAL = ("episode_seconds", "control_rate", "start", "camera", "plots", "oracle", "measure", "model")


@dataclass(frozen=True)
class NamedFigure:
    """A figure of an episode: the name under which it is reported, its title in plots, and its expression."""

    name: str
    title: str
    expression: str


@dataclass(frozen=True)
class CameraView:
    """Point of view of the clips, in place of the robot's own; the camera still follows the robot.

    azimuth: direction of view in degrees, 0 along x and 90 along y
    elevation: angle in degrees by which the camera looks down
    distance: metres to the middle of the picture
    """

    azimuth: float
    elevation: float
    distance: float


@dataclass(frozen=True)
class Behaviour:
    """Contents of a behaviour file. Its expressions are checked against the robot in core.tasks.behaviour_tasks."""

    name: str
    robot: str
    title: str
    instruction: str
    clip_seconds: float
    start: str = "standing"
    plots: tuple[NamedFigure, ...] = ()
    oracle: str | None = None
    measure: NamedFigure | None = None
    camera: CameraView | None = None
    model: RobotModel | None = None
    """The robot itself, if `robot` is an MJCF file that has been read."""
    episode_seconds: float | None = None
    """Length of an episode in seconds; None for the robot's own."""
    control_rate: float | None = None
    """Actions per second; None for the robot's own rate."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the file except `model`; those left out are None or empty."""
        measure = self.measure and asdict(self.measure)
        if measure and measure["title"] == _title_of(measure["name"]):
            del measure["title"]
        plots = [{"title": plot.title, "expression": plot.expression} for plot in self.plots]
        values: dict[str, Any] = {name: getattr(self, name) for name in (*_REQUIRED, *_OPTIONAL) if name != "model"}
        camera = self.camera and asdict(self.camera)
        return {**values, "camera": camera, "plots": plots, "measure": measure}

    def to_text(self) -> str:
        """Return the file's text on one line, without optional fields that are not set; a session stores this form."""
        given = {name: value for name, value in self.to_dict().items() if value not in (None, [])}
        if self.start == STARTS[0]:
            del given["start"]
        if self.model:
            given["model"] = self.model.to_dict()
        return json.dumps(given)


def read_file(path: Path) -> Behaviour:
    """Read a behaviour file. Raises UserError, with the path, if it can't be read or is not a behaviour file."""
    try:
        text = bytes(files.read_linked(path, MAX_BYTES)).decode(
            "utf-8-sig"
        )  # some Windows editors write a byte order mark
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno != errno.EFBIG:
            raise UserError(f"{path} can't be read ({files.reason(error)}): check its name and permissions.") from error
        raise UserError(
            f"{path} is not a behaviour file: it must be UTF-8 text of at most {MAX_BYTES:,} bytes."
        ) from error
    try:
        return parse(text)
    except UserError as error:
        raise UserError(f"{path} is invalid: {error}") from error


def parse(text: str) -> Behaviour:
    """Read the text of a behaviour file. Raises UserError if a field is missing, unknown or invalid."""
    if len(text) > MAX_BYTES:
        raise UserError(f"The behaviour has {len(text):,} characters: give at most {MAX_BYTES:,}.")
    if not text.strip():
        raise UserError("It is empty: write one JSON object, {...}.")
    try:
        values = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise UserError(f"It is not valid JSON at line {error.lineno}, column {error.colno} ({error.msg}).") from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, thousands of brackets
        raise UserError("It is not valid JSON.") from error
    if not isinstance(values, dict):
        raise UserError("It must be one JSON object: {...}.")
    require_fields("the behaviour", values, _REQUIRED, _OPTIONAL)
    name = _text("name", values["name"], MAX_NAME)
    if not is_name(name):
        raise UserError(f"name is {name!r}: use lower-case letters and digits, with - or _ between words.")
    start = STARTS[0] if values.get("start") is None else values["start"]
    if start not in STARTS:
        raise UserError(f"start is {_written(start)}: choose one of {', '.join(STARTS)}.")
    measure = _measure(values.get("measure"))
    return Behaviour(
        name=name,
        robot=_text("robot", values["robot"], 400),
        title=_prose("title", values["title"], MAX_TITLE),
        instruction=_prose("instruction", values["instruction"], MAX_INSTRUCTION),
        clip_seconds=_number("clip_seconds", values["clip_seconds"], CLIP_SECONDS),
        episode_seconds=_optional_number("episode_seconds", values, EPISODE_SECONDS),
        control_rate=_optional_number("control_rate", values, CONTROL_RATE),
        start=start,
        camera=_camera(values.get("camera")),
        plots=_plots(values.get("plots"), {measure.name} if measure else set()),
        oracle=None if values.get("oracle") is None else _text("oracle", values["oracle"], MAX_BYTES),
        measure=measure,
        model=None if values.get("model") is None else robot_model(values["model"]),
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict[str, Any]()
    for name, value in pairs:
        if name in values:
            raise UserError(f"The field {name!r:.40} appears twice.")
        values[name] = value
    return values


def _refuse_constant(name: str) -> float:
    raise UserError(f"{name} is not a JSON number.")


_SHAPING = dict.fromkeys((0xAD, *range(0x200C, 0x2010), 0xFE0E, 0xFE0F))
"""Code points to delete: soft hyphens, joiners, direction marks and variation selectors."""


def _written(value: Any) -> str:
    """Return the first 40 characters of a value's JSON text."""
    return json.dumps(value)[:40]


def _text(field: str, value: Any, longest: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{field} is {_written(value)}: give a non-empty string.")
    if len(value) > longest:
        raise UserError(f"{field} has {len(value)} characters: give at most {longest}.")
    if not is_showable(value):
        raise UserError(f"{field} has characters that can't be shown: remove them.")
    return value


def is_showable(text: str) -> bool:
    """Return whether a text has only whitespace, printable characters, and invisible ones that shape their neighbours."""
    return "".join(text.split()).translate(_SHAPING).isprintable()


def _prose(field: str, value: Any, longest: int) -> str:
    return " ".join(_text(field, value, longest).split())


def _number(field: str, value: Any, limits: tuple[float, float]) -> float:
    low, high = limits
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise UserError(f"{field} is {_written(value)}: give a number from {low:g} to {high:g}.")
    return float(value)


def _optional_number(field: str, values: dict[str, Any], limits: tuple[float, float]) -> float | None:
    return None if values.get(field) is None else _number(field, values[field], limits)


def _camera(values: Any) -> CameraView | None:
    if values is None:
        return None
    require_fields("camera", values, tuple(CAMERA))
    return CameraView(**{name: _number(f"the {name} of camera", values[name], CAMERA[name]) for name in CAMERA})


def is_name(text: str) -> bool:
    """Return whether a behaviour or a measure can have this name."""
    return len(text) <= MAX_NAME and _NAME.fullmatch(text) is not None


def plain_name(text: str, joint: str) -> str:
    """Return the text in lower-case ASCII letters and digits, with `joint` for each run of others; '' if none are left."""
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", joint, letters)[:MAX_NAME].strip(joint)


def _plots(values: Any, taken: set[str]) -> tuple[NamedFigure, ...]:
    """Read the plots, and give each figure a unique name. taken: names already in use"""
    if values is None:
        return ()
    if not isinstance(values, list) or len(values) > MAX_PLOTS:
        raise UserError(f"plots must be a list of at most {MAX_PLOTS} objects.")
    plots: list[NamedFigure] = []
    for value in values:
        require_fields("a plot", value, ("title", "expression"))
        title = _prose("the title of a plot", value["title"], MAX_TITLE)
        name = unique_name(plain_name(title, "_") or "plot", taken)
        taken = {*taken, name}
        plots.append(NamedFigure(name, title, _text("the expression of a plot", value["expression"], MAX_BYTES)))
    return tuple(plots)


def _measure(value: Any) -> NamedFigure | None:
    if value is None:
        return None
    require_fields("measure", value, ("name", "expression"), ("title",))
    name = _text("the name of the measure", value["name"], MAX_NAME)
    if not is_name(name):
        raise UserError(
            f"the name of the measure is {name!r}: use lower-case letters and digits, with - or _ between words."
        )
    title = value.get("title")
    title = _title_of(name) if title is None else _prose("the title of the measure", title, MAX_TITLE)
    return NamedFigure(name, title, _text("the expression of the measure", value["expression"], MAX_BYTES))


def _title_of(name: str) -> str:
    """Return the default title of a measure with this name."""
    words = re.split("[-_]", name)
    return " ".join([words[0].capitalize(), *words[1:]])
