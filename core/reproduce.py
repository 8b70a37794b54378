"""Figures 2 and 3 of the paper: random policy, true reward, preferences with so many labels, for each task and seed.

Each run that is done is a JSON file and is not done again; one that was stopped goes on from its session's checkpoint.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.chart import Curve, draw
from core.config import Config, replaced
from core.disk import write_atomically
from core.errors import UserError
from core.events import Event, RolloutReported
from core.headless import HeadlessRun, random_return
from core.journal import session_log
from core.policy.presets import presets
from core.session import Session
from core.tasks import PAPER_GAMES, PAPER_ROBOTS, find

Progress = Callable[[str, Config], AbstractContextManager[Callable[[Event], None]]]
"""(what is running, its config) -> where its events are shown."""
FIGURES: dict[str, tuple[tuple[str, ...], tuple[int, ...], int]] = {
    "fig2": (PAPER_ROBOTS, (350, 700, 1400), 5),
    "fig3": (PAPER_GAMES, (350, 700, 1400, 3300, 5500), 3),
}
"""Tasks, labels and number of seeds, as the paper has them; in figure 3 it is a person who gave the 5,500."""
Points = list[tuple[int, float]]
_GRID = 200
"""Points of a drawn curve."""


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
        task = find(self.task)
        teacher = {"teacher": "oracle", "labels": self.labels} if self.labels else {"teacher": "none"}
        given = {"seed": self.seed, **({"steps": steps} if steps else {})}
        chosen = presets(task.presets, task.papers, settings.get("policy.algorithm"))
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
    """Carries out what is missing in `out`, and writes table.md and a chart a task there; returns the table."""
    runs = [Run(task, count, seed) for task in tasks for seed in seeds for count in (0, *labels)]
    configs = [run.config(steps, settings) for run in runs]
    _make_folders(out)
    results = []
    for number, (run, config) in enumerate(zip(runs, configs, strict=True), 1):
        title = f"[{number}/{len(runs)}] {run.task}, {run.kind}, seed {run.seed}"
        results.append(_result(run, config, out, title, progress))
    table = tabulated(results)
    write_atomically(out / "table.md", table.encode())
    for task in tasks:
        draw(out / f"{task.replace(':', '-').replace('/', '-')}.png", find(task).title, curves(results, task))
    return table


def _make_folders(out: Path) -> None:
    try:
        for folder in ("runs", "sessions"):
            (out / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out} can't be made ({error.strerror}): name a folder that you may write.") from error


def _result(run: Run, config: Config, out: Path, title: str, progress: Progress) -> dict[str, Any]:
    """From its file if it was done before."""
    path = out / "runs" / f"{run.name}.json"
    if path.exists():
        result: dict[str, Any] = json.loads(path.read_bytes())
        _require_same(config, Config.from_dict(result["config"]), path)
        return result
    session = _session(run, config, out)
    with progress(title, config) as show:
        result = _carried_out(run, session, show)
    write_atomically(path, json.dumps(result).encode())
    shutil.rmtree(session.folder)  # its answers and checkpoints take some ten megabytes
    return result


def _session(run: Run, config: Config, out: Path) -> Session:
    folder = out / "sessions" / run.name
    if not (folder / "config.json").exists():
        return Session.create(folder, config)
    session = Session.open(folder)
    try:
        _require_same(config, session.config, folder)
    except UserError:
        session.close()
        raise
    return session


def _require_same(asked: Config, there: Config, path: Path) -> None:
    if asked != there:
        raise UserError(f"{path} was made with other settings: give the same ones, or another folder.")


def _carried_out(run: Run, session: Session, show: Callable[[Event], None]) -> dict[str, Any]:
    kept = session.folder / "curve.jsonl"
    with kept.open("a") as file, session_log(session.folder):

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
        "blow_ups": outcome.blow_ups,
        "random_return": random_return(session.config),
        "curve": _curve(kept),
        "config": session.config.to_dict(),
    }


def _curve(kept: Path) -> Points:
    """Reports by env steps; what was done again after an interruption stands in place of what was lost."""
    points: dict[int, float] = {}
    for line in kept.read_text().splitlines():
        steps, value = json.loads(line)
        points[int(steps)] = float(value)
    return sorted(points.items())


def tabulated(results: Sequence[dict[str, Any]]) -> str:
    """Markdown: mean and standard deviation over the seeds, and the share of the true reward's gain over random."""
    kinds = list(dict.fromkeys(result["kind"] for result in results))
    columns = ["task", "seeds", "random", *(c for k in kinds for c in ((k,) if k == "true reward" else (k, "share")))]
    lines = [_row(columns), _row(["---"] * len(columns))]
    for task in dict.fromkeys(result["task"] for result in results):
        of_task = [result for result in results if result["task"] == task]
        random = [result["random_return"] for result in of_task if result["kind"] == "true reward"]
        best = _returns(of_task, "true reward")
        cells = [task, str(len(random)), _spread(random)]
        for kind in kinds:
            cells.append(_spread(_returns(of_task, kind)))
            if kind != "true reward":
                cells.append(f"{share(_returns(of_task, kind), random, best):.2f}")
        lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def share(returns: Sequence[float], random: Sequence[float], best: Sequence[float]) -> float:
    """(return - random) / (true-reward return - random), of means; nan where the true reward gained nothing."""
    gained = float(np.mean(best) - np.mean(random))
    return float(np.mean(returns) - np.mean(random)) / gained if gained else float("nan")


def curves(results: Sequence[dict[str, Any]], task: str) -> list[Curve]:
    """One a kind: mean and standard deviation over the seeds, against env steps; and the random policy's level."""
    of_task = [result for result in results if result["task"] == task]
    ends = [result["curve"][-1][0] for result in of_task if result["curve"]]
    if not ends:
        return []
    steps = np.linspace(0, max(ends), _GRID)
    found = []
    for kind in dict.fromkeys(result["kind"] for result in of_task):
        lines = []
        for result in of_task:
            if result["kind"] == kind and result["curve"]:
                at, values = zip(*[(0, result["random_return"]), *result["curve"]], strict=True)
                lines.append(np.interp(steps, at, values))
        if lines:
            found.append(Curve(kind, steps, np.mean(lines, axis=0), np.std(lines, axis=0)))
    level = np.full(_GRID, np.mean([result["random_return"] for result in of_task]))
    return [*found, Curve("random", steps, level, np.zeros(_GRID))]


def _returns(results: Sequence[dict[str, Any]], kind: str) -> list[float]:
    return [result["true_return"] for result in results if result["kind"] == kind]


def _spread(values: Sequence[float]) -> str:
    return f"{np.mean(values):.1f} ± {np.std(values):.1f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
