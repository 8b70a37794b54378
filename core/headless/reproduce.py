"""Figures 2 and 3 of the paper: random policy, true reward, preferences with so many labels, for each task and seed.

Each run that is done is a JSON file and is not done again; one that was stopped goes on from its session's checkpoint.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.config import Config, OracleConfig, QueryConfig, RewardConfig, replaced
from core.envs.spaces import sizes
from core.errors import UserError
from core.events import Event, RolloutReported
from core.headless import results
from core.headless.charts import draw
from core.headless.run import HeadlessRun
from core.io.files import reason, remedy, write_atomically
from core.io.session_log import session_log
from core.presets import merge_presets
from core.rollout.episodes import random_return
from core.session.session import Session, locked
from core.tasks import PAPER_GAMES, PAPER_ROBOTS, get_task

Progress = Callable[[str, Config, int], AbstractContextManager[Callable[[Event], None]]]
"""(what is running, its config, labels that it has already) -> where its events are shown."""
FIGURES: dict[str, tuple[tuple[str, ...], tuple[int, ...], int]] = {
    "fig2": (PAPER_ROBOTS, (350, 700, 1400), 5),
    "fig3": (PAPER_GAMES, (350, 700, 1400, 3300, 5500), 3),
}
"""Tasks, labels and number of seeds, as the paper has them; in figure 3 it is a person who gave the 5,500."""
_OPTIONS = {"task": "--tasks", "seed": "--seeds", "labels": "--labels", "steps": "--steps"}
"""What makes the runs of a figure, and has an option of its own."""
_BEGUN = {"lock", "config.json.part"}
"""All that may be in a session's folder before it is a session."""


@dataclass(frozen=True)
class Run:
    """One line of one seed. labels 0 stands for the true reward."""

    task: str
    labels: int
    seed: int

    @property
    def kind(self) -> str:
        return f"{self.labels} labels" if self.labels else "true reward"

    @property
    def name(self) -> str:
        return f"{self.task.replace(':', '-').replace('/', '-')}-{self.labels or 'true'}-{self.seed}"

    def config(self, steps: int | None, settings: dict[str, Any]) -> Config:
        task = get_task(self.task)
        teacher = {"teacher": "oracle" if self.labels else "none", "labels": self.labels or Config().labels}
        given = {"seed": self.seed, **({"steps": steps} if steps else {})}
        chosen = merge_presets(task.presets, task.paper_presets, settings.get("policy.algorithm"))
        return replaced(Config(task=task.name), **{**chosen, **teacher, **given, **settings})


def figure(
    tasks: Sequence[str],
    labels: Sequence[int],
    seeds: Sequence[int],
    steps: int | None,
    settings: dict[str, Any],
    out: Path,
    progress: Progress,
) -> str:
    """Carries out what is missing in `out`, and writes table.md and a chart a task there; returns the table.

    UserError before anything is carried out where a task can't be, or a result that is there can't be used.
    """
    _refuse_own_options(settings)
    planned = [
        (run, run.config(steps, settings))
        for run in (Run(task, count, seed) for task in tasks for seed in seeds for count in (0, *labels))
    ]
    for config in {config.task: config for _, config in planned}.values():
        sizes(config)  # what can't be made is told of at once, rather than after days
    for run, config in planned:
        _kept(run, config, out)
    _make_folders(out)
    found = []
    for number, (run, config) in enumerate(planned, 1):
        title = f"[{number}/{len(planned)}] {run.task}, {run.kind}, seed {run.seed}"
        found.append(_result(run, config, out, title, progress))
    table = results.tabulated(found)
    write_atomically(out / "table.md", table.encode())
    for task in tasks:
        draw(out / f"{task.replace(':', '-').replace('/', '-')}.png", get_task(task).title, results.curves(found, task))
    return table


def _refuse_own_options(settings: dict[str, Any]) -> None:
    if "teacher" in settings:
        raise UserError("The teacher can't be set: the true reward and the oracle are both always run.")
    for name in settings:
        if name in _OPTIONS:
            raise UserError(f"{name} can't be set with --set here: give {_OPTIONS[name]}.")


def _make_folders(out: Path) -> None:
    try:
        for folder in ("runs", "sessions"):
            (out / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out} can't be made ({error.strerror}): name a folder that you may write.") from error


def _result(run: Run, config: Config, out: Path, title: str, progress: Progress) -> dict[str, Any]:
    """From its file if it was done before."""
    folder = out / "sessions" / run.name
    result = _kept(run, config, out)
    if result is None:
        session = _session(folder, config)
        with progress(title, config, session.labels()) as show:
            result = _carried_out(run, session, show)
        write_atomically(_path(run, out), json.dumps(result).encode())
    if folder.exists():  # its answers and checkpoints take some ten megabytes
        _remove(folder)
    return result


def _path(run: Run, out: Path) -> Path:
    return out / "runs" / f"{run.name}.json"


def _kept(run: Run, config: Config, out: Path) -> dict[str, Any] | None:
    """The result of a run that was done before, None of others. UserError where it is damaged or of other settings."""
    path = _path(run, out)
    if not path.exists():
        return None
    result = results.read(path)
    try:
        there = Config.from_dict(result["config"])
    except UserError as error:
        raise results.damaged(path) from error
    _require_same(config, there, path)
    return result


def _session(folder: Path, config: Config) -> Session:
    """The one that was stopped, or a new one."""
    if not (folder / "config.json").exists():
        left = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        if "lock" in left and left <= _BEGUN:  # it was killed while it made the session
            _remove(folder)
        return Session.create(folder, config)
    session = Session.open(folder)
    try:
        _require_same(config, session.config, folder)
    except UserError:
        session.close()
        raise
    return session


def _remove(folder: Path) -> None:
    """A session's folder. UserError where another program has it, or it can't be removed."""
    locked(folder).release()
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise UserError(f"{folder} can't be removed ({reason(error)}): {remedy(error)}.") from error


def _require_same(asked: Config, there: Config, path: Path) -> None:
    if _counting(asked) != _counting(there):
        raise UserError(f"{path} was made with other settings: give the same ones, or another folder.")


def _counting(config: Config) -> Config:
    """As far as a run depends on it: on the true reward nothing is asked and nothing fitted, so a run of an hour is as
    good as before when only the reward's settings have changed."""
    if config.teacher != "none":
        return config
    return replace(config, reward=RewardConfig(), query=QueryConfig(), oracle=OracleConfig())


def _carried_out(run: Run, session: Session, show: Callable[[Event], None]) -> dict[str, Any]:
    kept = session.folder / "curve.jsonl"
    with kept.open("a") as file, session_log(session.folder):
        print(file=file)  # or the first line would go on with half a one, where the last run was killed

        def listen(event: Event) -> None:
            show(event)
            if isinstance(event, RolloutReported) and np.isfinite(event.true_return):
                print(json.dumps([event.env_steps, event.true_return]), file=file, flush=True)

        try:
            headless = HeadlessRun(session, listen)
            try:
                outcome = headless.run()
            finally:
                headless.close()
        finally:
            session.close()
    return {
        "task": run.task,
        "kind": run.kind,
        "labels": outcome.labels,
        "seed": run.seed,
        "env_steps": outcome.env_steps,
        "true_return": outcome.true_return,
        "measure": outcome.measure,
        "divergences": outcome.divergences,
        "random_return": random_return(session.config),
        "curve": results.points(kept),
        "config": session.config.to_dict(),
    }
