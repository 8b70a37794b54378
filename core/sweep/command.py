"""The commands `sweep` and `reproduce`; core.__main__ defines their arguments."""

from __future__ import annotations

import argparse
import logging
import math
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.formatting import pluralize
from core.headless.settings import named_task, parse_settings, require_teachable, require_whole_clips
from core.io.files import write_atomically
from core.io.session_log import warnings_to_stderr
from core.session.session import acquire_lock
from core.session.size_limits import check_size_limits
from core.sweep.backend import Backend
from core.sweep.cell import Cell, CellState, encode
from core.sweep.cell_files import CellFiles
from core.sweep.charts import draw_chart, require_matplotlib
from core.sweep.driver import Sweep
from core.sweep.local import LocalBackend, parse_slots, slots_for
from core.sweep.plans import Plan, find_plan, only_teachers
from core.sweep.progress_bar import ProgressBar
from core.sweep.results import Result, Results, average_curves, to_rows, to_table
from core.system import resources
from core.system.interrupts import stopped_by_signals
from core.tasks import get_task
from core.types import Teacher

log = logging.getLogger(__name__)
_NO_RETURN = {
    "true_return": "no episode was finished, or the simulation diverged; give more steps",
    "random_return": "the untrained policy has no return, as all its simulations diverged; correct the robot's file",
}
"""Reasons why a return is missing."""


def run_sweep(args: argparse.Namespace) -> int:
    """Run the plan named by the arguments, and print its table. Returns 1 if a cell failed, else 0.

    Raises UserError before the first cell if the plan, the folder or the cluster can't be used.
    """
    warnings_to_stderr("%(message)s")
    resources.require_mujoco_gl()
    plan = _chosen_plan(args)
    cells = plan.cells()
    _require_runnable(cells, here=args.on.startswith("local"))
    charts = True
    try:
        require_matplotlib()
    except UserError as error:
        log.warning("%s There will be no charts.", error)
        charts = False
    with ExitStack() as stack:
        backend = _backend(args.on, cells, Path(args.out))
        stack.enter_context(closing(backend))
        files = CellFiles(Path(args.out))
        stack.callback(acquire_lock(files.folder).release)
        sweep = Sweep(cells, files)
        if other := sweep.made_otherwise():
            log.warning(
                "%s in %s: made by another version of the program or its libraries, and kept; name another folder to"
                " compute them again.",
                *(pluralize(other, "result"), files.folder),
            )
        if sweep.counts[CellState.QUEUED]:
            with stopped_by_signals():
                backend.check()
                with closing(ProgressBar(sweep.cells, sweep.states)) as bar:
                    sweep.run(backend, bar)
        files.remove_folder()
        return _report(plan, cells, sweep, files.folder, charts)


def _chosen_plan(args: argparse.Namespace) -> Plan:
    for name, least in (("steps", 1), ("seeds", 0), ("labels", 1)):
        given = getattr(args, name)
        if given is not None and min(given if isinstance(given, list) else [given]) < least:
            raise UserError(f"--{name} must be at least {least}.")
    plan = find_plan(args.plan, named_task, args.labels)
    changes = {
        "tasks": args.tasks and tuple(dict.fromkeys(map(named_task, args.tasks))),
        "seeds": args.seeds and tuple(dict.fromkeys(args.seeds)),
        "presets": args.preset and tuple(dict.fromkeys(args.preset)),
        "steps": args.steps,
    }
    plan = replace(plan, **{name: value for name, value in changes.items() if value})
    plan = replace(plan, settings={**plan.settings, **parse_settings(args.set)})
    return only_teachers(plan, args.teachers) if args.teachers else plan


def _require_runnable(cells: Sequence[Cell], here: bool) -> None:
    """Raise UserError if a task or size is invalid, before cells run for days.

    here: True if the cells run on this machine, which then needs their device
    """
    for config in {cell.config.task: cell.config for cell in cells}.values():
        require_teachable(config)
    for cell in cells:
        check_size_limits(cell.config, get_task(cell.config.task, cell.config.true_reward))
        require_whole_clips(cell.config)
    if here and (asked := [cell.config for cell in cells if cell.config.device == "cuda"]):
        from core.nn.device import device_for  # imports torch, which a sweep elsewhere does not need

        device_for(asked[0])


def _backend(word: str, cells: Sequence[Cell], folder: Path) -> Backend:
    """Return the backend named by --on. Raises UserError if it is unknown, or does not answer."""
    kind, _, rest = word.partition(":")
    match kind:
        case "local":
            pictures = any(get_task(cell.config.task).pictures is not None for cell in cells)
            least = resources.GAME_MEMORY if pictures else resources.ROBOT_MEMORY
            return LocalBackend(slots_for(parse_slots(rest), least), lambda cell: CellFiles(folder).session(cell))
        case "ray":
            from core.sweep.ray_backend import RayBackend

            return RayBackend(rest)
        case "slurm" if rest:
            from core.sweep.slurm_backend import SlurmBackend

            return SlurmBackend.of_partition(rest, folder / "slurm")
    raise UserError(
        f"--on {word[:60]} is not a known backend: give local, local:N, ray, ray:ADDRESS or slurm:PARTITION."
    )


def _report(plan: Plan, cells: Sequence[Cell], sweep: Sweep, folder: Path, charts: bool) -> int:
    """Write table.json, table.md and the charts, and print the table. Return the exit code."""
    results = Results(
        tuple(dict.fromkeys(_label(plan, cell) for cell in cells)),
        tuple(dict.fromkeys(cell.curve for cell in cells)),
        plan.seeds,
        [result for cell in cells if (result := _result(plan, cell, sweep)) is not None],
    )
    table = {"plan": plan.name, "rows": to_rows(results), "cells": [_entry(cell, sweep) for cell in cells]}
    text = to_table(results)
    write_atomically(folder / "table.json", encode(table))
    write_atomically(folder / "table.md", text.encode())
    for label in results.tasks if charts else ():
        name = label.replace(":", "-").replace("/", "-").replace(" (", "-").replace(")", "")
        if curves := average_curves(results, label):
            draw_chart(folder / f"{name}.png", label, curves)
    print(text, end="")
    for curve in results.curves:
        fewer = [cell for cell in cells if cell.curve == curve and _answers_missing(cell, sweep)]
        if fewer:
            log.warning(
                "%s: %s got fewer answers than planned, as there were too few clips to ask about; give more steps.",
                *(curve, pluralize(len(fewer), "run")),
            )
    for name, reason in _NO_RETURN.items():
        if without := [cell for cell in sweep.cells if _has_no(name, cell, sweep)]:
            verb = "is" if len(without) == 1 else "are"
            log.warning("%s %s left out: %s.", pluralize(len(without), "run"), verb, reason)
    lost = [cell for cell in sweep.cells if sweep.states[cell.digest] == CellState.FAILED]
    if lost:
        first = sweep.document(lost[0]) or {}
        print(
            f"somersault: {len(lost)} of {len(sweep.cells)} cells failed; the same command tries them again. The first,"
            f" {lost[0].title}: {first.get('reason', '')}",
            file=sys.stderr,
        )
    return 1 if lost else 0


def _answers_missing(cell: Cell, sweep: Sweep) -> bool:
    """Return whether a cell that is done has fewer answers, without "can't tell", than its config specifies."""
    document = sweep.document(cell) or {}
    answers = document.get("result", {}).get("usable", math.inf)
    return cell.config.teacher != Teacher.NONE and answers < cell.config.labels


def _has_no(name: str, cell: Cell, sweep: Sweep) -> bool:
    """Return whether a cell is done without the return of this name."""
    result = (sweep.document(cell) or {}).get("result")
    return result is not None and result[name] is None


def _entry(cell: Cell, sweep: Sweep) -> dict[str, Any]:
    """Return the entry of a cell in table.json."""
    document = sweep.document(cell) or {}
    entry = {
        "cell": cell.digest,
        "task": cell.task,
        "preset": cell.preset,
        "curve": cell.curve,
        "seed": cell.seed,
        "state": sweep.states[cell.digest].value,
    }
    result = {name: value for name, value in document.get("result", {}).items() if name != "curve"}
    return {**entry, **result, **({"reason": document["reason"]} if "reason" in document else {})}


def _result(plan: Plan, cell: Cell, sweep: Sweep) -> Result | None:
    """Return the result of a cell for tables and charts; None if it is not done."""
    document = sweep.document(cell)
    if document is None or document["state"] != CellState.DONE:
        return None
    result = document["result"]
    numbers = {
        name: float("nan") if result[name] is None else result[name] for name in ("true_return", "random_return")
    }
    return Result(_label(plan, cell), cell.curve, cell.seed, result["curve"], **numbers)


def _label(plan: Plan, cell: Cell) -> str:
    """Return the name of a cell's task, with the preset in brackets if the plan has several presets."""
    return cell.task if len(plan.presets) == 1 else f"{cell.task} ({cell.preset})"
