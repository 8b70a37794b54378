"""Figures 2 and 3 of the paper, and the simulated person: true reward, and preferences with several numbers of labels.

A finished run is a JSON file and is not repeated. A run that was stopped continues from its session's checkpoint.
"""

import json
import logging
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.config import Config, OracleConfig, QueryConfig, RewardConfig, replaced
from core.envs.spaces import sizes
from core.errors import UserError
from core.events import Event, RolloutReported
from core.headless.charts import draw_chart, require_matplotlib
from core.headless.results import Result, average_curves, read_curve, read_result, to_table
from core.headless.run import HeadlessRun, Listener
from core.io.files import reason, remedy, write_atomically
from core.io.session_log import session_log
from core.preferences.schedule import planned_steps
from core.presets import merge_presets
from core.rollout.episodes import random_return
from core.session.session import CONFIG, LOCK, Session, acquire_lock
from core.tasks import PAPER_GAMES, PAPER_ROBOTS, get_task
from core.types import Teacher

log = logging.getLogger(__name__)
Progress = Callable[[str, Config, int], AbstractContextManager[Listener]]
"""(title, config, labels given so far) -> a context with the listener that shows a run's progress."""
FIGURES: dict[str, tuple[tuple[str, ...], tuple[int, ...], int]] = {
    "fig2": (PAPER_ROBOTS, (350, 700, 1400), 5),
    "fig3": (PAPER_GAMES, (350, 700, 1400, 3300, 5500), 3),
    "person": (("hopper-backflip", *PAPER_ROBOTS, "half-cheetah-one-leg"), (100,), 5),
}
"""Tasks, labels and number of seeds of the figures. The 5,500 labels in the paper's figure 3 were given by people.

In the figure of the person, the simulated person and the oracle answer under the settings that all tasks share.
"""
_OPTIONS = {"task": "--tasks", "seed": "--seeds", "labels": "--labels", "steps": "--steps"}


@dataclass(frozen=True)
class Run:
    """One task with a teacher, a number of labels and a seed.

    labels: with Teacher.NONE, of the run whose environment steps it takes, or 0
    default: use the settings that all tasks share instead of the task's own
    """

    task: str
    labels: int
    seed: int
    teacher: Teacher
    default: bool = False

    @property
    def kind(self) -> str:
        if self.teacher == Teacher.NONE:
            return "true reward"
        return f"{self.labels} labels" if self.teacher == Teacher.ORACLE else f"person, {self.labels} labels"

    @property
    def name(self) -> str:
        teacher = {Teacher.NONE: "true", Teacher.PERSON: f"person-{self.labels}"}.get(self.teacher, self.labels)
        return f"{_file_name(self.task)}-{teacher}-{self.seed}"

    def config(self, steps: int | None, settings: dict[str, Any]) -> Config:
        task = get_task(self.task)
        teacher = {"teacher": self.teacher, "labels": self.labels or Config().labels}
        presets = task.default_presets if self.default else task.presets
        chosen = merge_presets(presets, task.paper_presets, settings.get("policy.algorithm"))
        config = replaced(Config(task=task.name), **{**chosen, **teacher, "seed": self.seed, **settings})
        if self.default and "steps" not in settings:
            steps = steps or planned_steps(config)
        return replaced(config, steps=steps) if steps else config


def figure_runs(figure: str, tasks: Sequence[str], labels: Sequence[int], seeds: Sequence[int]) -> list[Run]:
    """The runs of a figure, those of one task and seed after another."""
    runs = []
    for task in tasks:
        for seed in seeds:
            if figure == "person":
                runs.append(Run(task, max(labels), seed, Teacher.NONE, default=True))
                runs += [Run(task, n, seed, t, True) for n in labels for t in (Teacher.ORACLE, Teacher.PERSON)]
            else:
                runs.append(Run(task, 0, seed, Teacher.NONE))
                runs += [Run(task, count, seed, Teacher.ORACLE) for count in labels]
    return runs


def train(run: Run, session: Session, listener: Listener) -> Result:
    """Carries out the run in its session, which is closed at the end."""
    curve = session.folder / "curve.jsonl"
    with closing(session), curve.open("a") as file, session_log(session.folder):
        print(file=file)  # ends a line that was interrupted by a kill

        def listen(event: Event) -> None:
            listener(event)
            if isinstance(event, RolloutReported) and np.isfinite(event.true_return):
                print(json.dumps([event.env_steps, event.true_return]), file=file, flush=True)

        with closing(HeadlessRun(session, listen)) as headless:
            outcome = headless.run()
    return {
        "task": run.task,
        "kind": run.kind,
        "labels": outcome.labels,
        "seed": run.seed,
        **{name: getattr(outcome, name) for name in ("env_steps", "true_return", "measure", "divergences")},
        "random_return": random_return(session.config),
        "curve": read_curve(curve),
        "config": session.config.to_dict(),
    }


def reproduce(
    runs: Sequence[Run],
    steps: int | None,
    settings: dict[str, Any],
    out: Path,
    progress: Progress,
    train: Callable[[Run, Session, Listener], Result] = train,
) -> str:
    """Carries out the runs missing in the folder `out`, and writes table.md and a chart for each task there.

    Returns the table. Raises UserError before the first run if a setting is wrong, a task can't be made, or an existing
    result is damaged or was made with other settings. Without matplotlib the charts are left out.
    """
    _refuse_options(settings)
    configs = {run: run.config(steps, settings) for run in runs}
    for config in {config.task: config for config in configs.values()}.values():
        sizes(config)  # makes the environment, to find an error now rather than after days
    for run, config in configs.items():
        _finished(run, config, out)
    charts = True
    try:
        require_matplotlib()
    except UserError as error:
        log.warning("There will be no charts: %s", error)
        charts = False
    try:
        for name in ("runs", "sessions"):
            (out / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out} can't be created ({error.strerror}): choose a folder that you can write to.") from error

    results = []
    for number, (run, config) in enumerate(configs.items(), 1):
        folder = out / "sessions" / run.name
        result = _finished(run, config, out)
        if result is None:
            session = _open_session(folder, config)
            title = f"[{number}/{len(configs)}] {run.task}, {run.kind}, seed {run.seed}"
            with progress(title, config, session.labels()) as listener:
                result = train(run, session, listener)
            write_atomically(_result_path(run, out), json.dumps(result).encode())
        results.append(result)
        if folder.exists():  # it takes some ten megabytes
            _remove_session(folder)
    table = to_table(results)
    write_atomically(out / "table.md", table.encode())
    for task in dict.fromkeys(run.task for run in runs) if charts else ():
        draw_chart(out / f"{_file_name(task)}.png", get_task(task).title, average_curves(results, task))
    return table


def _refuse_options(settings: dict[str, Any]) -> None:
    if "teacher" in settings:
        raise UserError("The teacher can't be set: there are always runs with the true reward and with the oracle.")
    for name in settings:
        if name in _OPTIONS:
            raise UserError(f"{name} can't be set with --set here: use {_OPTIONS[name]}.")


def _file_name(task: str) -> str:
    return task.replace(":", "-").replace("/", "-")


def _result_path(run: Run, out: Path) -> Path:
    return out / "runs" / f"{run.name}.json"


def _finished(run: Run, config: Config, out: Path) -> Result | None:
    """The result of an earlier run, or None. Raises UserError if it is damaged or was made with other settings."""
    path = _result_path(run, out)
    if not path.exists():
        return None
    result, made_with = read_result(path)
    _require_same(config, made_with, path)
    return result


def _open_session(folder: Path, config: Config) -> Session:
    """The session of a run that was stopped, or a new one."""
    if not (folder / CONFIG).exists():
        names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        if LOCK in names and names <= {LOCK, f"{CONFIG}.part"}:  # killed while it created the session
            _remove_session(folder)
        return Session.create(folder, config)
    session = Session.open(folder)
    try:
        _require_same(config, session.config, folder)
    except UserError:
        session.close()
        raise
    return session


def _remove_session(folder: Path) -> None:
    """Raises UserError if another program has the session open, or it can't be removed."""
    acquire_lock(folder).release()
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise UserError(f"{folder} can't be removed ({reason(error)}): {remedy(error)}.") from error


def _require_same(wanted: Config, made_with: Config, path: Path) -> None:
    """Raises UserError if the configs differ in what a run depends on."""
    if wanted.teacher == made_with.teacher == Teacher.NONE:  # nothing is asked and nothing fitted
        unused: dict[str, Any] = {"reward": RewardConfig(), "query": QueryConfig(), "oracle": OracleConfig()}
        wanted, made_with = replace(wanted, **unused), replace(made_with, **unused)
    if wanted != made_with:
        raise UserError(f"{path} was made with other settings: give the same ones, or another folder.")
