"""What the headless commands do."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from core.config import Config, OracleConfig, replaced
from core.errors import UserError
from core.events import Event, PreferenceAdded, RolloutReported
from core.headless import export_import, film
from core.io.session_log import session_log, warnings_to_stderr
from core.presets import ABLATIONS, merge_presets
from core.session.session import Session, read_config
from core.system import resources
from core.tasks import CATALOGUE, get_task
from core.tasks.base import Task
from core.version import WINDOW

_STRIP_SECONDS = 1.2
_STRIP_FRAMES = 9


def run_command(args: argparse.Namespace) -> int:
    warnings_to_stderr("%(message)s")
    resources.require_drawing()
    commands = {
        "tasks": _tasks,
        "teach": _teach,
        "evaluate": _evaluate,
        "bench": _bench,
        "reproduce": _reproduce,
        "film": film.film,
        "export": export_import.export,
        "import": export_import.bring_in,
        "preferences": export_import.preferences,
    }
    commands[args.command](args)
    return 0


def _tasks(args: argparse.Namespace) -> None:
    entries = [
        {
            "name": task.name,
            "title": task.title,
            "instruction": task.instruction,
            "segment_steps": task.segment_steps,
            "segment_seconds": task.segment_seconds,
            "episode_steps": task.episode_steps,
            "true_reward": task.has_true_reward,
            "measure": task.measure_name,
        }
        for task in CATALOGUE.values()
    ]
    print(json.dumps(entries) if args.json else "\n".join(f"{e['name']:24}{e['title']}" for e in entries))


def _teach(args: argparse.Namespace) -> None:
    started = time.monotonic()  # before the imports: they take seconds, and whoever waits waits for them too
    _check_video_path(args.video)
    _check_resume(args)
    resources.require_memory(resources.headless_memory(_shows_pictures(args)))
    from core.headless.run import HeadlessRun
    from core.rollout.episodes import random_return

    session = _resumed(args) if args.resume else _new_session(args)
    try:
        untrained = random_return(session.config)
        with (
            session_log(session.folder),
            _Progress(session.config, labels=session.labels()) as progress,
            closing(HeadlessRun(session, progress.show)) as run,
        ):
            outcome = run.run()
        config = session.config
        result = {
            "task": config.task,
            "teacher": config.teacher,
            "algorithm": config.policy.algorithm,
            "seed": config.seed,
            "labels": outcome.labels,
            "env_steps": outcome.env_steps,
            "wall_seconds": round(time.monotonic() - started, 2),
            "steps_per_second": round(outcome.steps_taken / outcome.seconds, 1),
            "true_return": outcome.true_return,
            "measure": outcome.measure,
            "random_return": untrained,
            "divergences": outcome.divergences,
            "session": str(session.folder),
        }
        if args.video:
            _write_video(session, args.video)
        _show(result, args.json)
    finally:
        session.close()


def _check_resume(args: argparse.Namespace) -> None:
    if not args.resume:
        return
    kept = (args.task, args.teacher, args.algorithm, args.labels, args.steps, args.seed, args.session, args.set)
    if any(value not in (None, []) for value in (*kept, args.ablations, *_oracle(args).values())):
        raise UserError("A resumed session keeps its task, labels, steps and settings: give --resume DIR alone.")


def _shows_pictures(args: argparse.Namespace) -> bool:
    """Whether the task that was named, or that of the session to be gone on with, shows the networks pictures."""
    name = read_config(Path(args.resume)).task if args.resume else args.task
    return name is not None and get_task(name).pictures is not None


def _resumed(args: argparse.Namespace) -> Session:
    session = Session.open(Path(args.resume))
    if args.device:  # it may have been begun on another machine
        session.config = replaced(session.config, device=args.device)
    if session.config.teacher == "human":
        session.close()
        raise UserError(f"{args.resume} is taught by a person: go on with {WINDOW} --session {args.resume}.")
    return session


def _new_session(args: argparse.Namespace) -> Session:
    from core.nn.stacked_mlp import CPU
    from core.reward.ensemble import build_ensemble

    if args.task is None:
        raise UserError(f"Name a task: {', '.join(CATALOGUE)}.")
    task = get_task(args.task)
    given = {
        "teacher": args.teacher,
        "seed": args.seed,
        "device": args.device,
        "labels": args.labels,
        "steps": args.steps,
    }
    modified = {**_ablated(args), **_oracle(args)}
    if args.teacher == "none" and modified:
        raise UserError("With --teacher none nothing is asked and no reward is fitted: leave out what changes that.")
    settings = _settings(args.set)
    changes = {
        **merge_presets(task.presets, task.paper_presets, settings.get("policy.algorithm", args.algorithm)),
        **{name: value for name, value in given.items() if value is not None},
    }
    config = replaced(Config(task=task.name), **{**changes, **modified, **settings})
    _check_against_task(config, task)
    build_ensemble(config, CPU)  # an environment or predictors that can't be made leave no folder behind
    folder = Path(args.session) if args.session else Path("sessions") / f"{task.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    return Session.create(folder, config)


def _ablated(args: argparse.Namespace) -> dict[str, Any]:
    """The settings that the ablations change."""
    return {name: value for flag in args.ablations or () for name, value in ABLATIONS[flag].changes.items()}


def _oracle(args: argparse.Namespace) -> dict[str, float]:
    """The settings of the oracle that were given."""
    named = {f"oracle.{f.name}": getattr(args, f"oracle_{f.name}") for f in dataclasses.fields(OracleConfig)}
    return {name: value for name, value in named.items() if value is not None}


def _check_against_task(config: Config, task: Task) -> None:
    if not task.has_true_reward:
        raise UserError(f"{task.name} has no true reward to teach by: teach it yourself in the window.")
    length = config.query.segment_steps
    if length > task.episode_steps:
        raise UserError(f"segment_steps is {length}; give no more than the {task.episode_steps} of an episode.")


def _settings(pairs: list[str]) -> dict[str, Any]:
    """NAME=VALUE pairs."""
    result: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UserError(f"{pair!r} is no setting: write NAME=VALUE, such as policy.discount=0.99.")
        result[name.replace("__", ".")] = _value(text)
    return result


def _value(text: str) -> Any:
    """As JSON where it is that, as a number where people write one differently (.5), as text otherwise."""
    for read in (json.loads, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


class _Progress:
    """A progress bar on stderr."""

    def __init__(self, config: Config, title: str = "", labels: int = 0) -> None:
        """labels: that the session has already."""
        self._bar = tqdm(desc=title, total=config.steps, unit="step", unit_scale=True, file=sys.stderr, mininterval=0.5)
        self._labels = labels
        self._measure = get_task(config.task).measure_name

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def show(self, event: Event) -> None:
        if isinstance(event, PreferenceAdded):
            self._labels += 1
        if isinstance(event, RolloutReported):
            value = event.measure.get(self._measure, float("nan"))
            text = f"labels {self._labels}, {self._measure} {value:.2f}, r {event.correlation:.2f}"
            text += f", blow-ups {event.divergences}" if event.divergences else ""
            self._bar.set_postfix_str(text, refresh=False)  # drawn by update(), which keeps to mininterval
            self._bar.update(event.env_steps - self._bar.n)


def _evaluate(args: argparse.Namespace) -> None:
    from core.rollout.episodes import evaluate

    if args.episodes < 1:
        raise UserError("Give at least one episode.")
    _check_video_path(args.video)
    session = Session.open(Path(args.session))
    try:
        result = evaluate(session, args.episodes, filmed=bool(args.video or args.strip))
        states = result.pop("states")
        if args.video:
            _write_states(session, states, args.video)
        if args.strip:
            _write_strip(session, states, args.strip)
        _show({"task": session.config.task, "episodes": args.episodes, **result}, args.json)
    finally:
        session.close()


def _reproduce(args: argparse.Namespace) -> None:
    from core.headless.reproduce import FIGURES, figure

    if args.steps is not None and args.steps < 1:
        raise UserError("Give at least one step.")
    tasks, labels, seeds = FIGURES[args.figure]
    if min(args.labels or labels) < 1:
        raise UserError("Give at least one label; the true reward, which needs none, is always run.")

    @contextmanager
    def shown(title: str, config: Config, labels: int) -> Iterator[Callable[[Event], None]]:
        with _Progress(config, title, labels) as progress:
            yield progress.show

    chosen = args.tasks or tasks, args.labels or labels, args.seeds or range(seeds)
    pictured = any(get_task(name).pictures is not None for name in chosen[0])  # the runs come one after another
    resources.require_memory(resources.headless_memory(pictured))
    print(figure(*chosen, args.steps, _settings(args.set), Path(args.out), shown), end="")


def _check_video_path(path: str | None) -> None:
    """Before the work rather than after it."""
    if path is not None:
        from core.io.video_writer import check_path

        check_path(Path(path))


def _bench(args: argparse.Namespace) -> None:
    from core.headless.bench import measure

    task = get_task(args.task)
    resources.require_memory(resources.headless_memory(task.pictures is not None))
    _show(measure(task.name), args.json)


def _write_video(session: Session, path: str) -> None:
    from core.rollout.episodes import evaluate

    _write_states(session, evaluate(session, 1, filmed=True)["states"], path)


def _write_states(session: Session, states: Any, path: str) -> None:
    from core.envs.renderer import renderer_for
    from core.io.video_writer import write_video

    task = get_task(session.config.task)
    with renderer_for(task) as renderer:
        write_video(Path(path), renderer.render(states, size=480, fps=30.0))
    print(f"wrote {path}", file=sys.stderr)


def _write_strip(session: Session, states: Any, path: str) -> None:
    """A moment from the middle of the episode."""
    from core.envs.renderer import renderer_for
    from core.io.video_writer import write_strip

    task = get_task(session.config.task)
    length = round(_STRIP_SECONDS / task.step_seconds)
    middle = len(states) // 2
    with renderer_for(task) as renderer:
        frames = renderer.render(states[middle : middle + length], size=160, fps=30.0)
    write_strip(Path(path), frames, _STRIP_FRAMES)
    print(f"wrote {path}", file=sys.stderr)


def _show(result: dict[str, Any], as_json: bool) -> None:
    print(
        json.dumps(_without_nan(result))
        if as_json
        else "\n".join(f"{name:20}{value}" for name, value in result.items())
    )


def _without_nan(value: Any) -> Any:
    """JSON has no NaN: a figure that there is none of yet becomes null."""
    if isinstance(value, dict):
        return {name: _without_nan(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
