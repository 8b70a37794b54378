"""Plans of sweeps: tasks, curves and seeds. Those of the paper's figures have names, others are read from a small file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core.behaviours.behaviour import SUFFIX
from core.behaviours.shipped import FOLDER
from core.config import Config
from core.errors import UserError
from core.headless.settings import Changes, make_config, refuse_settings
from core.input_checks import require_fields, suggestion
from core.io.files import read_linked, reason
from core.presets import ABLATIONS, PRESETS
from core.sweep.cell import Cell, reduced
from core.sweep.results import RANDOM, TRUE
from core.tasks import PAPER_GAMES, PAPER_ROBOTS, behaviours, get_task
from core.types import Teacher

_MAX_BYTES = 1 << 20
_MAX_CELLS = 100_000
YARDSTICK = ("walker-walk", "walker-run", "cheetah-run")
"""Files of the three tasks of the DeepMind Control Suite in resources/yardstick."""
_TEACHERS = (Teacher.NONE.value, Teacher.ORACLE.value, Teacher.PERSON.value)
_FIELDS = ("tasks", "seeds", "curves", "preset", "steps", "settings")
_CURVE_FIELDS = ("name", "teacher", "labels", "ablation", "settings")
_PLACES = {
    "task": "use --tasks, or tasks in the plan's file",
    "seed": "use --seeds, or seeds in the plan's file",
    "steps": "use --steps, or steps in the plan's file",
    "labels": "use --labels, or labels of a curve in the plan's file",
    "teacher": "use --teachers, or teacher of a curve in the plan's file",
    "query.taken": "it belongs to sessions that begin from another one",
}
"""Settings that have to be given in another way, with the advice how."""


@dataclass(frozen=True)
class PlannedCurve:
    """One line of a chart: runs that differ only in their seed.

    labels: 0 for the preset's own number. On the true reward, 0 means the largest number of the other curves: if the
        environment steps depend on the labels, it then has as many steps as the curves with which it is compared
    ablation: a name in core.presets.ABLATIONS, or ''
    """

    name: str
    teacher: str = Teacher.ORACLE.value
    labels: int = 0
    ablation: str = ""
    settings: Changes = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Every curve for every task, preset and seed.

    tasks: values of Config.task
    steps: environment steps of each run; None for those of the preset
    settings: settings of all runs; a curve's ablation and its own settings override them
    teachers: teachers whose curves are run
    """

    name: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    curves: tuple[PlannedCurve, ...]
    presets: tuple[str, ...] = ("default",)
    steps: int | None = None
    settings: Changes = field(default_factory=dict)
    teachers: tuple[str, ...] = tuple(Teacher)

    def cells(self) -> list[Cell]:
        """Return the runs, grouped by task and seed. Raises UserError if a setting is invalid."""
        refuse_settings(self.settings, _PLACES)
        names = [get_task(task).name for task in self.tasks]
        for doubled in {name for name in names if names.count(name) > 1}:
            raise UserError(f"Two tasks of {self.name} are called {doubled}: give them different names.")
        return [
            self._cell(task, seed, preset, curve)
            for task in self.tasks
            for seed in self.seeds
            for preset in self.presets
            for curve in self.curves
            if curve.teacher in self.teachers
        ]

    def _cell(self, task: str, seed: int, preset: str, curve: PlannedCurve) -> Cell:
        known = get_task(task)
        if not known.has_true_reward:
            raise UserError(f"{known.name} has no true reward, so nothing can be compared: leave it out of the plan.")
        labels = curve.labels
        if curve.teacher == Teacher.NONE and not labels:  # as many steps as the curves with which it is compared
            others = [each for each in self.curves if each.teacher != Teacher.NONE]
            labels = max((self._config(task, seed, preset, each, each.labels).labels for each in others), default=0)
        config = self._config(task, seed, preset, curve, labels)
        return Cell(known.name, curve.name, seed, preset, reduced(config))

    def _config(self, task: str, seed: int, preset: str, curve: PlannedCurve, labels: int) -> Config:
        """Return the config of one run. labels: 0 for the preset's own"""
        given: dict[str, Any] = {**self.settings, "teacher": curve.teacher, "seed": seed}
        if labels:
            given["labels"] = labels
        if self.steps:
            given["steps"] = self.steps
        ablation = ABLATIONS[curve.ablation].changes if curve.ablation else {}
        return make_config(task, preset, given, ablation, curve.settings)


def labels_curves(labels: Sequence[int], teachers: Sequence[str] = _TEACHERS[:2]) -> tuple[PlannedCurve, ...]:
    """Return the curve of the true reward, and for each number of labels a curve of each other teacher."""
    names = {Teacher.ORACLE.value: "{} labels", Teacher.PERSON.value: "person, {} labels"}
    answered = [(count, teacher) for count in labels for teacher in teachers if teacher in names]
    true = (PlannedCurve(TRUE, Teacher.NONE.value, max(labels)),) if Teacher.NONE.value in teachers else ()
    return (*true, *(PlannedCurve(names[teacher].format(count), teacher, count) for count, teacher in answered))


def ablation_curves(labels: Sequence[int], segments: bool) -> tuple[PlannedCurve, ...]:
    """Return the curve of the true reward, and for each number of labels those of the whole method and its ablations.

    segments: include the ablation of segments, which the paper has only for robots (3.3)
    """
    names = [name for name in ABLATIONS if segments or name != "no-segments"]
    ablated = [
        PlannedCurve(
            name.replace("-", " ") + (f", {count} labels" if len(labels) > 1 else ""), labels=count, ablation=name
        )
        for count in labels
        for name in names
    ]
    return (*labels_curves(labels), *ablated)


def _behaviours() -> tuple[str, ...]:
    return tuple(name for name, task in behaviours().items() if task.has_true_reward)


def _yardstick() -> tuple[str, ...]:
    return tuple(str(FOLDER.parent / "yardstick" / f"{name}.json") for name in YARDSTICK)


@dataclass(frozen=True)
class _Named:
    """A named plan: its tasks (or behaviour files), labels, number of seeds, and function from labels to curves.

    steps: environment steps of each run; None for those of the preset
    """

    tasks: Callable[[], tuple[str, ...]]
    labels: tuple[int, ...]
    seeds: int
    curves: Callable[[Sequence[int]], tuple[PlannedCurve, ...]] = labels_curves
    steps: int | None = None


_ROBOT_STEPS = 2_000_000
"""Steps of a run in the paper's figures. Their many labels would otherwise allow steps that take hours."""
_NAMED: dict[str, _Named] = {
    # The 5,500 labels in the paper's figures 3 and 6 were given by people, and by the oracle.
    "fig2": _Named(lambda: PAPER_ROBOTS, (350, 700, 1400), 5, steps=_ROBOT_STEPS),
    "fig3": _Named(lambda: PAPER_GAMES, (350, 700, 1400, 3300, 5500), 3),
    "fig5": _Named(lambda: PAPER_ROBOTS, (700,), 5, lambda labels: ablation_curves(labels, True), _ROBOT_STEPS),
    "fig6": _Named(lambda: PAPER_GAMES, (5500,), 3, lambda labels: ablation_curves(labels, False)),
    "behaviours": _Named(_behaviours, (100,), 3),
    "person": _Named(
        lambda: ("hopper-backflip", *PAPER_ROBOTS, "half-cheetah-one-leg"),
        (100,),
        5,
        lambda labels: labels_curves(labels, _TEACHERS),
    ),
    "yardstick": _Named(_yardstick, (100,), 3),
}
NAMES = tuple(_NAMED)


def find_plan(word: str, task_text: Callable[[str], str], labels: Sequence[int] | None = None) -> Plan:
    """Return the plan with this name, or from a file whose name ends in .json or .toml.

    task_text: returns the value of Config.task for a task's name or behaviour file
    labels: numbers of labels in place of a named plan's own

    Raises UserError if there is no such plan, or if its content is invalid.
    """
    path = Path(word)
    if path.suffix in (".json", ".toml"):
        if labels:
            raise UserError("--labels works only with named plans: change the curves in the file instead.")
        return _read(path, task_text)
    if word not in _NAMED:
        raise UserError(f"There is no plan {word!r:.60}: choose one of {', '.join(NAMES)}, or a .json or .toml file.")
    named = _NAMED[word]
    tasks, curves = tuple(map(task_text, named.tasks())), named.curves(tuple(dict.fromkeys(labels or named.labels)))
    return Plan(word, tasks, tuple(range(named.seeds)), curves, steps=named.steps)


def only_teachers(plan: Plan, teachers: Sequence[str]) -> Plan:
    """Return the plan that runs only the curves of these teachers. Raises UserError if there are none.

    The other curves still determine how long the true reward is trained on.
    """
    if not any(curve.teacher in teachers for curve in plan.curves):
        raise UserError(f"{plan.name} has no curve with --teachers {' '.join(teachers)}: name others.")
    return replace(plan, teachers=tuple(teachers))


def _read(path: Path, task_text: Callable[[str], str]) -> Plan:
    try:
        text = bytes(read_linked(path, _MAX_BYTES)).decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path} can't be read ({reason(error)}): name a plan's file.") from error
    except ValueError as error:
        raise UserError(f"{path} is not a plan: it must be UTF-8 text.") from error
    try:
        values = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid {path.suffix[1:].upper()} ({str(error).rstrip('.')}).") from error
    try:
        return _plan(path.stem, values, lambda word: task_text(_beside(path, word)))
    except UserError as error:
        raise UserError(f"{path} is invalid: {error}") from error


def _beside(path: Path, word: str) -> str:
    """Return the path of a behaviour file, which a plan gives relative to its own folder; other words unchanged."""
    return str(path.parent / word) if word.lower().endswith(SUFFIX) else word


def _plan(name: str, values: Any, task_text: Callable[[str], str]) -> Plan:
    require_fields("the plan", values, ("tasks", "curves"), _FIELDS)
    tasks = _list("tasks", values["tasks"], str)
    seeds = values.get("seeds", 3)
    seeds = list(range(seeds)) if type(seeds) is int and 1 <= seeds <= 1000 else _list("seeds", seeds, int)
    presets = values.get("preset", ["default"])
    presets = [presets] if isinstance(presets, str) else _list("preset", presets, str)
    for preset in presets:
        _require_known("preset", preset, PRESETS)
    steps = values.get("steps")
    if steps is not None and (type(steps) is not int or steps < 1):
        raise UserError(f"steps is {steps!r:.40}: give a whole number of at least 1.")
    curves = [_curve(each) for each in _list("curves", values["curves"], dict)]
    names = [curve.name for curve in curves]
    for doubled in {curve for curve in names if names.count(curve) > 1}:
        raise UserError(f"Two curves are called {doubled!r:.40}: give them different names.")
    if len(tasks) * len(seeds) * len(presets) * len(curves) > _MAX_CELLS:
        raise UserError(f"It has more than {_MAX_CELLS:,} cells: split it.")
    settings = _settings(values.get("settings", {}))
    texts = tuple(dict.fromkeys(task_text(word) for word in tasks))
    return Plan(name, texts, tuple(dict.fromkeys(seeds)), tuple(curves), tuple(dict.fromkeys(presets)), steps, settings)


def _curve(values: Mapping[str, Any]) -> PlannedCurve:
    require_fields("a curve", values, ("name",), _CURVE_FIELDS)
    name, labels = values["name"], values.get("labels", 0)
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 60:
        raise UserError(f"the name of a curve is {name!r:.40}: give a short string.")
    if name.startswith("_"):
        raise UserError(
            f"the name of a curve is {name!r:.40}: begin it with another character, as a legend leaves it out."
        )
    if name != name.strip():
        raise UserError(f"the name of a curve is {name!r:.40}: remove the spaces around it.")
    if name == RANDOM:
        raise UserError(f"a curve is called {name}, as the untrained policy is in tables: give it another name.")
    teacher, ablation = values.get("teacher", Teacher.ORACLE.value), values.get("ablation", "")
    _require_known("teacher", teacher, _TEACHERS)
    if ablation != "":
        _require_known("ablation", ablation, tuple(ABLATIONS))
    if ablation and teacher == Teacher.NONE:
        raise UserError(f"{name} trains on the true reward, which has no ablations: remove ablation.")
    if type(labels) is not int or labels < 0 or "labels" in values and labels == 0:
        raise UserError(f"the labels of {name} are {labels!r:.40}: give a whole number of at least 1.")
    settings = _settings(values.get("settings", {}))
    for setting, value in ABLATIONS[ablation].undone_by(settings) if ablation else ():
        raise UserError(
            f"{ablation} sets {setting} to {value}, and {name} to {settings[setting]}: leave out one of the two."
        )
    return PlannedCurve(name, teacher, labels, ablation, settings)


def _settings(values: Any) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise UserError(f"settings is {values!r:.40}: give names with values.")
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):  # a table of TOML
            flat |= {f"{name}.{inner}": each for inner, each in value.items()}
        else:
            flat[name.replace("__", ".")] = value
    refuse_settings(flat, _PLACES)
    return flat


def _list(name: str, values: Any, kind: type) -> list[Any]:
    if not isinstance(values, list) or not values or any(type(value) is not kind for value in values):
        what = {str: "names", int: "whole numbers, or a count from 1 to 1000", dict: "objects"}[kind]
        raise UserError(f"{name} is {values!r:.40}: give a list of {what}.")
    return values


def _require_known(what: str, word: Any, known: Sequence[str]) -> None:
    if not isinstance(word, str) or word not in known:
        raise UserError(f"{word!r:.40} is not a known {what}: {suggestion(str(word), known)}")
