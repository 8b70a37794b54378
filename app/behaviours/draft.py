"""Draft of a behaviour: the choices made so far, and the problems found in them. No Qt."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.behaviours.signal_titles import mean_of, title_of
from core.behaviours.behaviour import (
    CLIP_SECONDS,
    MAX_INSTRUCTION,
    MAX_PLOTS,
    MAX_TITLE,
    STARTS,
    Behaviour,
    CameraView,
    is_name,
    is_showable,
    parse,
    plain_name,
)
from core.behaviours.expressions import compile_expression
from core.behaviours.figures import compile_figure
from core.behaviours.robot_model import RobotModel
from core.behaviours.signals import SignalNames
from core.errors import UserError
from core.tasks.base import RobotTask
from core.tasks.behaviour_tasks import behaviour_task, unseen_by_predictors
from core.tasks.robots import ROBOTS, imported_robot

FIRST_ROBOT = "hopper"
USUAL_SECONDS = 1.5
_OF_ROBOT = ("robot", "clip_seconds", "start", "camera", "episode_seconds", "control_rate")
"""Name of the robot, and choices that suit only this robot."""
_NAMELESS = "Give the behaviour a name."
_WORDLESS = "Write the sentence that is shown above the clips."
_SEE_ACTIONS = (
    "They see actions if you save the behaviour, choose Settings… in its card's menu, and set inputs to observation_action"
    " under Advanced settings."
)


@dataclass
class PlotDraft:
    """One figure to plot, as typed."""

    title: str
    expression: str

    @property
    def empty(self) -> bool:
        return not self.title.strip() and not self.expression.strip()


@dataclass
class BehaviourDraft:
    """Content of the page. Change it, then call `check`.

    path: file of the behaviour that is being edited; None for a new one
    problems: sentences by field: 'title', 'instruction', 'oracle', 'measure', 'plot 0', ...
    warning: sentence about signals of a valid oracle that the predictors do not see; '' if there are none
    behaviour: the behaviour; None while something is missing or wrong
    """

    path: Path | None = None
    robot: str = FIRST_ROBOT
    model: RobotModel | None = None
    title: str = ""
    instruction: str = ""
    clip_seconds: float = USUAL_SECONDS
    start: str = STARTS[0]
    camera: CameraView | None = None
    plots: list[PlotDraft] = field(default_factory=list)
    oracle: str = ""
    measure: str = ""
    measure_name: str = ""
    episode_seconds: float | None = None
    control_rate: float | None = None
    problems: dict[str, str] = field(default_factory=dict)
    warning: str = ""
    behaviour: Behaviour | None = None
    missing: str = ""
    """Sentence about the first field that is still empty; '' if none is."""
    choices_by_robot: dict[RobotModel | str, dict[str, Any]] = field(default_factory=dict, compare=False)
    """Choices made for robots other than the present one, by their models, or by their names without one."""
    origin: Behaviour | None = field(default=None, compare=False)
    """The behaviour from which the draft was made, or as which it was saved last; None for a new one."""

    @staticmethod
    def new() -> BehaviourDraft:
        draft = BehaviourDraft()
        draft.plots = draft.usual_plots()
        draft.check()
        return draft

    @staticmethod
    def of(behaviour: Behaviour, path: Path | None = None) -> BehaviourDraft:
        """Return a draft of this behaviour; path: its file, if that is to be replaced."""
        draft = BehaviourDraft(
            path,
            behaviour.robot,
            behaviour.model,
            behaviour.title,
            behaviour.instruction,
            behaviour.clip_seconds,
            behaviour.start,
            behaviour.camera,
            [PlotDraft(plot.title, plot.expression) for plot in behaviour.plots],
            behaviour.oracle or "",
            behaviour.measure.expression if behaviour.measure else "",
            behaviour.measure.name if behaviour.measure else "",
            behaviour.episode_seconds,
            behaviour.control_rate,
            origin=behaviour,
        )
        draft.check()
        return draft

    @property
    def changed(self) -> bool:
        """True if there are changes since it was made or saved."""
        return self != BehaviourDraft.new() if self.origin is None else self.behaviour != self.origin

    @property
    def shown_title(self) -> str:
        """The title in messages."""
        return self.title.strip() or "the new behaviour"

    @property
    def task(self) -> RobotTask | None:
        """The robot; None for a Gymnasium environment, which has no signals."""
        if self.model is not None:
            return imported_robot(self.robot, self.model)
        return ROBOTS.get(self.robot)

    @property
    def names(self) -> SignalNames:
        return self.task.names if self.task else SignalNames()

    @property
    def starts(self) -> tuple[str, ...]:
        """The ways in which episodes of the robot can start."""
        return self.task.starts if self.task else STARTS[:1]

    @property
    def longest_clip(self) -> float:
        """Length of the longest possible clip, in seconds."""
        task = self.task
        own = task.episode_steps * task.step_seconds if task else CLIP_SECONDS[1]
        return min(CLIP_SECONDS[1], self.episode_seconds or own)

    @property
    def motion(self) -> tuple[object, ...]:
        """All choices that the clips depend on, except the camera."""
        robot = self.model or self.robot
        return robot, self.clip_seconds, self.start, self.episode_seconds, self.control_rate

    @property
    def view(self) -> CameraView:
        """The camera of the clips: the chosen one, else the robot's own."""
        own = self.task.camera if self.task else None
        return self.camera or (CameraView(own.azimuth, own.elevation, own.distance) if own else CameraView(90, 12, 4))

    def usual_plots(self) -> list[PlotDraft]:
        """Return the default plots of the robot."""
        signals = ("height", "forward_speed") if self.task and self.task.floor_sense else ("forward_speed",)
        return [PlotDraft(title_of(signal), mean_of(signal)) for signal in signals if self.task]

    def set_robot(self, robot: str, model: RobotModel | None = None) -> None:
        """Switch to another robot and restore its choices, or reset and limit the settings that do not suit a new one."""
        usual = self.plots == self.usual_plots()
        self.choices_by_robot[self.model or self.robot] = {name: getattr(self, name) for name in _OF_ROBOT}
        self.robot, self.model = robot, model
        if before := self.choices_by_robot.get(model or robot):
            for name, chosen in before.items():
                setattr(self, name, chosen)
        else:
            self.camera = self.episode_seconds = self.control_rate = None
            self.start = self.start if self.start in self.starts else STARTS[0]
            self.clip_seconds = min(self.clip_seconds, self.longest_clip)
        if usual:
            self.plots = self.usual_plots()

    def plotted(self, signal: str) -> bool:
        return any(plot.expression == mean_of(signal) for plot in self.plots)

    def plot_signal(self, signal: str, on: bool) -> None:
        """Add the mean of a signal to the plots, or remove it."""
        self.plots = [plot for plot in self.plots if plot.expression != mean_of(signal)]
        if on and len(self.plots) < MAX_PLOTS:
            self.plots.append(PlotDraft(title_of(signal)[:MAX_TITLE], mean_of(signal)))

    def check(self) -> None:
        """Find missing and invalid fields, and create the behaviour if there are none."""
        self.problems, self.warning, self.behaviour, self.missing = {}, "", None, ""
        self._check_words()
        self._check_expressions()
        try:
            self._scene()  # robot, start, camera and length fit
        except UserError as error:
            self.problems["robot"] = str(error)
        if self.problems or self.missing:
            return
        try:
            behaviour = dataclasses.replace(parse(json.dumps(self._values())), model=self.model)
            behaviour_task(behaviour)
            self.behaviour = behaviour
        except UserError as error:
            self.problems["robot"] = str(error)

    def scene_text(self) -> str:
        """Return the text of a behaviour file for the picture; '' if robot, start, camera or length is invalid."""
        try:
            return self._scene().to_text()
        except UserError:
            return ""

    def _scene(self) -> Behaviour:
        words = {"name": "scene", "title": "Scene", "instruction": "Scene"}
        values = {**self._values(), **words, "plots": [], "oracle": None, "measure": None}
        behaviour = dataclasses.replace(parse(json.dumps(values)), model=self.model)
        behaviour_task(behaviour)
        return behaviour

    def _values(self) -> dict[str, Any]:
        measure = {"name": self._measure_name(), "expression": self.measure}
        kept = self.origin and self.origin.measure
        if kept and (kept.name, kept.expression) == (measure["name"], measure["expression"]):
            measure["title"] = kept.title
        return {
            "name": self._name(),
            "robot": self.robot,
            "title": self.title,
            "instruction": self.instruction,
            "clip_seconds": self.clip_seconds,
            "start": self.start,
            "camera": self.camera and dataclasses.asdict(self.camera),
            "plots": [{"title": plot.title, "expression": plot.expression} for plot in self.plots if not plot.empty],
            "oracle": self.oracle or None,
            "measure": measure if self.measure.strip() else None,
            "episode_seconds": self.episode_seconds,
            "control_rate": self.control_rate,
        }

    def _name(self) -> str:
        """Return the name of the behaviour, which changes only with the title."""
        if self.origin is not None and self.origin.title == self.title:
            return self.origin.name
        return plain_name(self.title, "-") or "behaviour"

    def _measure_name(self) -> str:
        if is_name(self.measure_name):
            return self.measure_name
        return plain_name(self.measure_name, "_") or "measure"

    def _check_words(self) -> None:
        for name, text, longest in (
            ("title", self.title, MAX_TITLE),
            ("instruction", self.instruction, MAX_INSTRUCTION),
        ):
            if len(text) > longest:
                self.problems[name] = f"Too long: {len(text)} characters, at most {longest}."
            elif not is_showable(text):
                self.problems[name] = "Remove the characters that can't be shown."
        self.missing = "" if self.title.strip() else _NAMELESS
        self.missing = self.missing or ("" if self.instruction.strip() else _WORDLESS)

    def _check_expressions(self) -> None:
        names = self.names
        plots = {f"plot {number}": plot for number, plot in enumerate(self.plots) if not plot.empty}
        checks: dict[str, tuple[Callable[[str, SignalNames, str], object], str, str]] = {
            key: (compile_figure, plot.expression, "The figure") for key, plot in plots.items()
        }
        if self.measure.strip():
            checks["measure"] = compile_figure, self.measure, "The figure"
        if self.oracle.strip():
            checks["oracle"] = compile_expression, self.oracle, "The oracle"
        for key, (compiles, text, what) in checks.items():
            try:
                compiles(text, names, what)
            except UserError as error:
                self.problems[key] = str(error)
        if self.task and "oracle" in checks and "oracle" not in self.problems:
            self.warning = unseen_by_predictors(self.task, self.oracle, _SEE_ACTIONS)
        for key, plot in plots.items():
            if not plot.title.strip():
                self.problems.setdefault(key, "Give the plot a title.")
