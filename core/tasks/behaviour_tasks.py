"""Tasks from behaviour files: the file's robot, with the file's oracle as true reward, its figures and its clips."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from core.behaviours.behaviour import (
    CONTROL_RATE,
    MAX_TITLE,
    STARTS,
    SUFFIX,
    Behaviour,
    NamedFigure,
    parse,
    plain_name,
    read_file,
)
from core.behaviours.expressions import Expression, compile_expression
from core.behaviours.figures import EpisodeFigures, compile_figure
from core.behaviours.robot_model import MJCF_PREFIX, RobotModel
from core.behaviours.signals import SignalNames, write
from core.errors import UserError
from core.input_checks import suggestion
from core.tasks.base import INSTRUCTION, Physics, RobotTask, Task
from core.tasks.gymnasium import GYM_PREFIX, gym_task, with_rate, without_rate
from core.tasks.robots import ROBOTS, imported_robot
from core.types import Float64

_CLIP_SECONDS = 1.5
_UNMEASURED = NamedFigure("forward_speed", "Forward speed (m/s)", "mean(forward_speed)")
"""Measure of a behaviour without measure, plots and oracle."""


def task_text(word: str, import_robot: Callable[[Path], RobotModel] | None = None) -> str:
    """Return the value of Config.task for a task named by the user: the word itself, or the text of a behaviour.

    word: name of a task, path of a behaviour file, or mjcf:FILE for a robot without a behaviour
    import_robot: reads an MJCF file (core.robots.importing); None if MuJoCo must not be loaded

    Raises UserError if the word names a file that is not a behaviour file, or if its robot can't be used.
    """
    if word.startswith(MJCF_PREFIX) and import_robot is not None:
        return behaviour_without_goal(_file_of(word), import_robot).to_text()
    return checked_file(Path(word), import_robot).to_text() if word.lower().endswith(SUFFIX) else word


def behaviour_without_goal(path: Path, import_robot: Callable[[Path], RobotModel]) -> Behaviour:
    """Return a behaviour without a particular goal, for the robot in an MJCF file. Raises UserError as `import_robot`."""
    model = import_robot(path)
    name = plain_name(path.stem, "-") or "robot"
    title = " ".join(path.stem.split())[:MAX_TITLE]
    title = title if title.isprintable() and title else "Robot"
    return Behaviour(name, f"{MJCF_PREFIX}{path.name}"[:400], title, INSTRUCTION, _CLIP_SECONDS, model=model)


def checked_file(path: Path, import_robot: Callable[[Path], RobotModel] | None = None) -> Behaviour:
    """Read a behaviour file with its robot, and check that they fit. For arguments and errors, see `task_text`."""
    behaviour = read_file(path)
    try:
        if behaviour.robot.startswith(MJCF_PREFIX) and behaviour.model is None and import_robot is not None:
            behaviour = replace(behaviour, model=import_robot(path.parent / _file_of(behaviour.robot)))
        behaviour_task(behaviour)
    except UserError as error:
        raise UserError(f"{path} is invalid: {error}") from error
    return behaviour


def _file_of(robot: str) -> Path:
    """Return the path in mjcf:FILE, in which ~ is the home folder. Raises UserError if there is none."""
    name = robot.removeprefix(MJCF_PREFIX)
    if not name.strip():
        raise UserError(f"{MJCF_PREFIX} names no file: write {MJCF_PREFIX}FILE.xml.")
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        raise UserError(f"{robot:.80} names an unknown home folder: write the whole path.") from error


def with_own_rate(task: str, rate_of: Callable[[str], float]) -> str:
    """Return the value of Config.task with the rate of its Gymnasium environment added, if it has one without a rate.

    rate_of: returns the steps per second of an environment ID (core.envs.gymnasium)

    Raises UserError if the task is invalid, or as `rate_of` does.
    """

    def named(robot: str) -> str:
        return with_rate(robot, rate_of(robot.removeprefix(GYM_PREFIX))) if without_rate(robot) == robot else robot

    return _renamed(task, named)


def without_own_rate(task: str) -> str:
    """Return the value of Config.task without the rate of its Gymnasium environment, if it has one."""
    return _renamed(task, without_rate)


def _renamed(task: str, rename: Callable[[str], str]) -> str:
    """Return the value of Config.task with its Gymnasium environment renamed, if it has one."""
    behaviour = parse(task) if is_behaviour_text(task) else None
    robot = behaviour.robot if behaviour else task
    if not robot.startswith(GYM_PREFIX) or (name := rename(robot)) == robot:
        return task
    return replace(behaviour, robot=name).to_text() if behaviour else name


def is_behaviour_text(name: str) -> bool:
    """Return whether a value of Config.task is the text of a behaviour file instead of a name."""
    return name.startswith("{")


@functools.lru_cache(maxsize=256)
def behaviour_text_task(text: str) -> Task:
    """Return the task described by the text of a behaviour file. Raises UserError if the text is invalid."""
    return behaviour_task(parse(text))


def behaviour_task(behaviour: Behaviour) -> Task:
    """Return the behaviour as a task of its robot. Raises UserError if it does not fit the robot."""
    if behaviour.robot.startswith(GYM_PREFIX):
        return _gym_behaviour(behaviour)
    robot = _timed(_robot_of(behaviour), behaviour)
    if behaviour.start not in robot.starts:
        raise UserError(
            f"{robot.name} does not stand freely on a floor, or can't be turned over: make start"
            f" {' or '.join(robot.starts)}."
        )
    oracle = compile_expression(behaviour.oracle, robot.names, "oracle") if behaviour.oracle else None
    if oracle and not oracle.signals:
        raise UserError("The oracle gives the same reward at every step: use a signal in it, such as height.")
    first = behaviour.measure or next(iter(behaviour.plots), None) or _default_measure(behaviour, robot.names)
    place = "measure" if behaviour.measure else f"plot {first.title!r}"
    figures = {first.name: compile_figure(first.expression, robot.names, place)}
    plots = [plot for plot in behaviour.plots if plot == first or plot.expression != first.expression]
    for plot in plots:
        if plot != first:
            figures[plot.name] = compile_figure(plot.expression, robot.names, f"plot {plot.title!r}")

    return replace(
        robot,
        name=behaviour.name,
        title=behaviour.title,
        instruction=behaviour.instruction,
        segment_steps=_segment_steps(behaviour, robot),
        start=behaviour.start,
        camera=replace(robot.camera, **asdict(behaviour.camera)) if behaviour.camera else robot.camera,
        true_reward=_reward(oracle) if oracle else None,
        measure=functools.partial(EpisodeFigures, figures),
        needs_signals=True,
        measure_name=first.name,
        measure_title=first.title,
        plots={plot.name: plot.title for plot in plots},
        behaviour=behaviour,
    )


def _default_measure(behaviour: Behaviour, names: SignalNames) -> NamedFigure:
    if behaviour.oracle:
        text = f"mean({behaviour.oracle})"
        with suppress(UserError):  # too long or too deep for a figure
            compile_figure(text, names)
            return NamedFigure("mean_reward", "Mean true reward", text)
    return _UNMEASURED


def _robot_of(behaviour: Behaviour) -> RobotTask:
    """Return the robot of the behaviour. Raises UserError if there is none."""
    if behaviour.robot.startswith(MJCF_PREFIX):
        if behaviour.model is None:
            raise UserError(f"{behaviour.robot} has not been read yet: give the behaviour file to teach.")
        return imported_robot(behaviour.robot, behaviour.model)
    if behaviour.model is not None:
        raise UserError(f"{behaviour.robot} is not an MJCF file: leave out model.")
    if behaviour.robot not in ROBOTS:
        file = re.sub(r"^mjcf[ ;,]+", "", behaviour.robot.rpartition(":")[2])
        known = (
            f"write {MJCF_PREFIX}{file}."
            if file.endswith(".xml")
            else suggestion(behaviour.robot, (*ROBOTS, f"{MJCF_PREFIX}FILE", f"{GYM_PREFIX}ENV_ID"))
        )
        raise UserError(f"There is no robot {behaviour.robot!r:.60}: {known}")
    return ROBOTS[behaviour.robot]


def _timed(robot: RobotTask, behaviour: Behaviour) -> RobotTask:
    """Return the robot with the behaviour's control rate and episode length. Raises UserError if the rate is impossible."""
    seconds = behaviour.episode_seconds or robot.episode_steps * robot.step_seconds
    asked = behaviour.control_rate
    if asked is not None:
        skip = 1 / (asked * robot.timestep)
        if abs(skip - round(skip)) > 1e-6 or round(skip) < 1:
            longest = int(1 / (CONTROL_RATE[0] * robot.timestep) + 1e-6)
            rates = [1 / (robot.timestep * number) for number in range(1, longest + 1)]
            allowed = (rate for rate in rates if rate <= CONTROL_RATE[1])
            near = sorted(allowed, key=lambda rate: abs(rate - asked))[:2]
            raise UserError(
                f"control_rate is {asked:g}, but an action must last a whole number of physics steps"
                f" ({1 / robot.timestep:g} per second): give {' or '.join(f'{r:.10g}' for r in near)}."
            )
        robot = replace(robot, frame_skip=round(skip))
    return replace(robot, episode_steps=max(2, round(seconds / robot.step_seconds)))


def unseen_by_predictors(task: RobotTask, oracle: str, remedy: str = "", see_actions: bool = False) -> str:
    """Return a warning about signals in a valid oracle that the predictors do not see; '' if they see all of them.

    A position counts as seen if the robot can't move away, or if the oracle reads several positions on the same axis.

    remedy: sentence that says how to let them see actions; see_actions: they do
    """
    signals = compile_expression(oracle, task.names).signals
    geoms = [name for name in task.names.geoms if name not in task.surroundings]
    actions = {signal for signal in signals if signal.startswith("action[") and not see_actions}
    unseen = actions | {"time", *(write("joint", name) for name in task.unseen_joints)} & signals
    for axis in () if task.camera.fixed else ("x", "y"):
        places = {axis, *(write(axis, name) for name in geoms)} & signals
        unseen |= places if len(places) == 1 else set()
    if not unseen:
        return ""
    sentence = f"The predictors can't learn a reward for {' and '.join(sorted(unseen))}, which they do not see."
    return f"{sentence} {remedy}" if actions and remedy else sentence


def _reward(oracle: Expression) -> Callable[[Physics], Float64]:
    return lambda physics: oracle(physics.signals)


def _segment_steps(behaviour: Behaviour, task: Task) -> int:
    """Return the number of steps of a clip. Raises UserError if an episode is shorter."""
    steps = max(1, round(behaviour.clip_seconds / task.step_seconds))
    if steps > task.episode_steps:
        longest = task.episode_steps * task.step_seconds
        raise UserError(
            f"clip_seconds is {behaviour.clip_seconds:g}, but an episode of {behaviour.robot} lasts {longest:g}:"
            " give no more than that."
        )
    return steps


def _gym_behaviour(behaviour: Behaviour) -> Task:
    """Return the behaviour as a task of a Gymnasium environment, which has its own reward and no signals."""
    unusable = {
        "an oracle": behaviour.oracle,
        "a measure": behaviour.measure,
        "plots": behaviour.plots,
        "a camera": behaviour.camera,
        "a start": behaviour.start != STARTS[0],
        "episode_seconds": behaviour.episode_seconds,
        "a control_rate": behaviour.control_rate,
    }
    for what, given in unusable.items():
        if given:
            raise UserError(f"{behaviour.robot} has no signals, so the behaviour can't have {what}: leave that out.")
    task = gym_task(behaviour.robot)
    return replace(
        task,
        name=behaviour.name,
        title=behaviour.title,
        instruction=behaviour.instruction,
        segment_steps=_segment_steps(behaviour, task),
    )
