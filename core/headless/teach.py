"""The teach command; core.__main__ defines its arguments."""

import argparse
import dataclasses
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import Any

from tqdm import tqdm

from core.config import Config, OracleConfig, replaced
from core.errors import UserError
from core.events import Event, PreferenceAdded, RolloutReported
from core.formatting import format_result, pluralize, slug
from core.headless.pictures import check_picture_paths, require_renderer, write_pictures
from core.headless.settings import (
    make_config,
    named_task,
    parse_settings,
    refuse_settings,
    require_memory,
    require_teachable,
    require_whole_clips,
    unchanging_signals,
)
from core.io.session_log import session_log
from core.presets import ABLATIONS
from core.session.library import teacher_of
from core.session.session import Session, read_config
from core.session.size_limits import check_size_limits
from core.session.taking import PARTS, Taken, create_from, take
from core.tasks import CATALOGUE, behaviours, get_task
from core.tasks.base import RobotTask, Task
from core.tasks.behaviour_tasks import is_behaviour_text, unseen_by_predictors
from core.types import Choice, Teacher
from core.version import WINDOW

_PLACES = {
    "task": "name it as the first word",
    "query.taken": "use --from",
    **{name: f"use --{name}" for name in ("teacher", "labels", "steps", "seed", "device")},
}
"""Settings that have an argument of their own, with the advice to use it instead of --set."""
_SEE_ACTIONS = "They see actions with --set reward.inputs=observation_action."


def teach(args: argparse.Namespace) -> None:
    """Teach a new or resumed session, print its results, and write the video. Raises UserError for invalid input."""
    started = time.monotonic()  # the user waits for the imports too, which take seconds
    check_picture_paths(args.video)
    if args.resume:
        given = (args.task, args.teacher, args.algorithm, args.labels, args.steps, args.seed, args.session, args.set)
        start_options = (args.begin_from, args.take, args.preset, args.pace, args.wrong)
        if any(
            value not in (None, [])
            for value in (*given, *start_options, args.ablations, *_oracle_settings(args).values())
        ):
            raise UserError("A resumed session keeps its task, folder, labels, steps and settings: leave them out.")
    args.task = args.task and named_task(args.task)  # once, as reading a robot takes seconds
    name = read_config(Path(args.resume)).task if args.resume else args.task
    require_memory(name)
    if args.video and name:
        require_renderer(name)
    from core.headless.run import HeadlessRun
    from core.rollout.episodes import evaluate, mean_return, random_returns

    session = _resumed_session(args) if args.resume else new_session(args)
    args.folder = session.folder
    with closing(session):
        untrained = random_returns(session.config)
        _report_constant_reward(session.config, untrained)
        with closing(session.reader()) as store:
            labels = [row.id for row in store.labels()]
        with (
            session_log(session.folder),
            progress_bar(session.config, labels) as show,
            closing(HeadlessRun(session, show)) as run,
        ):
            outcome = run.run()
        config = session.config
        _report_lacking_answers(session, outcome.usable)
        result = {
            "task": get_task(config.task).name,
            "teacher": config.teacher,
            "algorithm": config.policy.algorithm,
            "seed": config.seed,
            "labels": outcome.labels,
            "env_steps": outcome.env_steps,
            "wall_seconds": round(time.monotonic() - started, 2),
            "steps_per_second": round(outcome.steps_taken / outcome.seconds, 1),
            "true_return": outcome.true_return,
            "measure": outcome.measure,
            "random_return": mean_return(untrained),
            "divergences": outcome.divergences,
            "session": str(session.folder),
        }
        print(format_result(result, args.json), flush=True)
        if math.isnan(outcome.true_return) and get_task(config.task).has_true_reward:
            spoiled = f"{outcome.divergences} steps gave numbers that are not finite" if outcome.divergences else ""
            print(
                f"No episode has ended, so there are no means: {spoiled or 'give more --steps'}.",
                file=sys.stderr,
            )
        elif outcome.divergences:
            print(
                f"{pluralize(outcome.divergences, 'simulation')} diverged and were reset. If the robot is your own, check"
                " its units, gears and timestep.",
                file=sys.stderr,
            )
        if args.video:
            write_pictures(session, evaluate(session, 1, captured=True)["states"], args.video)


def _report_constant_reward(config: Config, untrained: Sequence[float]) -> None:
    """Print a warning to stderr if a behaviour's oracle seems to give every episode the same true return.

    untrained: true returns of episodes of the untrained policy
    """
    task = get_task(config.task)
    has_oracle = isinstance(task, RobotTask) and task.behaviour is not None and task.behaviour.oracle is not None
    if has_oracle and len(untrained) > 1 and len(set(untrained)) == 1:
        print(
            f"The true return is the same in all {len(untrained)} episodes of the untrained policy: {untrained[0]:g}."
            " If it never differs, nothing can be learned from it: check the oracle's expression.",
            file=sys.stderr,
        )


def _report_lacking_answers(session: Session, usable: int) -> None:
    """Print a warning to stderr if all answers were ties, or if fewer than planned are usable."""
    config = session.config
    with closing(session.reader()) as store:
        choices = {row.choice for row in store.labels()}
    if config.teacher == Teacher.ORACLE and choices == {Choice.TIE}:
        own = is_behaviour_text(config.task) and isinstance(get_task(config.task), RobotTask)
        print(
            "All answers were ties, as the oracle's reward is the same in every clip: "
            + ("check its expression." if own else "give more --steps."),
            file=sys.stderr,
        )
    if config.teacher != Teacher.NONE and usable < config.labels:
        print(
            f"Only {usable} of {config.labels} answers were given, as there were too few clips to ask about:"
            " give more --steps.",
            file=sys.stderr,
        )


def _resumed_session(args: argparse.Namespace) -> Session:
    session = Session.open(Path(args.resume))
    if args.device:  # the session may have been started on another machine
        session.config = replaced(session.config, device=args.device)
    with closing(session.reader()) as store:
        last = teacher_of(store.labels(), session.config)
    if Teacher.HUMAN in (session.config.teacher, last):
        session.close()
        raise UserError(
            f"{args.resume} is taught by a human: continue it with {WINDOW} --session {quote(args.resume)}."
        )
    return session


def new_session(args: argparse.Namespace) -> Session:
    """Create the session that the arguments of teach describe. Raises UserError, and leaves no folder, if one is invalid."""
    if args.task is None:
        raise UserError(f"Name a task, a behaviour or a behaviour file: {', '.join((*CATALOGUE, *behaviours()))}.")
    if args.take is not None and not args.begin_from:
        raise UserError("--take needs --from DIR: name the session to take from.")
    config = _config_of(args, named_task(args.task))  # which returns the text of a behaviour unchanged
    task = get_task(config.task)
    taken = _take(args, config) if args.begin_from else None
    for warning in filter(None, _warnings(config, task)):
        print(warning, file=sys.stderr)
    unique = f"{slug(task.name)}-{datetime.now():%Y%m%d-%H%M%S-%f}"
    folder = Path(args.session) if args.session else Path("sessions") / unique
    return create_from(folder, config, taken) if taken else Session.create(folder, config)


def _config_of(args: argparse.Namespace, name: str) -> Config:
    """Return the config that the arguments describe, for a session that can be taught. name: of the task"""
    from core.nn.device import device_for
    from core.nn.stacked_mlp import CPU
    from core.reward.ensemble import build_ensemble

    task = get_task(name)
    given = {name: getattr(args, name) for name in ("teacher", "seed", "device", "labels", "steps")}
    ablated = {name: value for flag in args.ablations or () for name, value in ABLATIONS[flag].changes.items()}
    reward_settings = {**ablated, **_oracle_settings(args)}
    if args.teacher == "none" and reward_settings:
        raise UserError(
            "With --teacher none no pairs are asked and no reward is fitted: leave out the options that change them."
        )
    settings = parse_settings(args.set)
    refuse_settings(settings, _PLACES)
    _refuse_undone_ablations(args.ablations or (), settings)
    person = {"person.pace": args.pace, "person.wrong": args.wrong}
    _refuse_other_teachers(args, person, settings)
    given |= {**person, "policy.algorithm": args.algorithm}
    given = {name: value for name, value in given.items() if value is not None}
    config = make_config(name, args.preset or "default", given, reward_settings, settings)
    device_for(config)  # fails here if there is no such device
    if not task.has_true_reward:
        lacking = {"none": "to learn from", "person": "for the simulated person"}.get(args.teacher, "for the oracle")
        advice = "name a behaviour file with an oracle, or " if isinstance(task, RobotTask) else ""
        raise UserError(f"{task.name} has no true reward {lacking}: {advice}teach it yourself in the window.")
    check_size_limits(config, task)
    require_whole_clips(config)
    require_teachable(config)
    build_ensemble(config, CPU)  # fails here if the predictors can't be made
    return config


def _warnings(config: Config, task: Task) -> list[str]:
    """Return sentences about signals of a behaviour that never change or that the predictors do not see; '' for none."""
    if not isinstance(task, RobotTask) or task.behaviour is None:
        return []
    oracle, see_actions = task.behaviour.oracle, config.reward.see_actions
    learned = bool(oracle) and config.teacher != Teacher.NONE
    unseen = unseen_by_predictors(task, oracle or "", _SEE_ACTIONS, see_actions) if learned else ""
    return [unchanging_signals(task.behaviour, task), unseen]


def _take(args: argparse.Namespace, config: Config) -> Taken:
    """Return what the session begins with. Prints a note to stderr if it takes answers about another behaviour."""
    parts = _parts_of(",".join(PARTS) if args.take is None else args.take)
    if args.teacher == "none" and parts != {"policy"}:
        raise UserError("With --teacher none neither a reward nor answers are used: give --take policy.")
    source = Path(args.begin_from)
    taken = take(source, config, parts)
    if taken.answers and _wanted(read_config(source).task) != _wanted(config.task):
        print(
            f"{source} has {pluralize(taken.answers, 'answer')} about another behaviour: give --take reward,policy or"
            " --take policy if they contradict the new one.",
            file=sys.stderr,
        )
    return taken


def _parts_of(text: str) -> frozenset[str]:
    """Parse a list such as 'reward,policy'. Raises UserError if a part is unknown or none is given."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in PARTS:
            raise UserError(f"{word!r:.40} can't be taken from a session: choose from {', '.join(PARTS)}.")
    if not words:
        raise UserError(f"--take is empty: choose from {', '.join(PARTS)}.")
    return frozenset(words)


def _wanted(name: str) -> tuple[str, str]:
    """Return the instruction and the oracle of a task; '' without an oracle in a behaviour file."""
    task = get_task(name)
    behaviour = task.behaviour if isinstance(task, RobotTask) else None
    return task.instruction, (behaviour.oracle or "") if behaviour else ""


def _refuse_undone_ablations(flags: Iterable[str], settings: Mapping[str, Any]) -> None:
    """Raise UserError for a setting that one of these ablations sets to another value."""
    for flag in flags:
        for name, value in ABLATIONS[flag].undone_by(settings):
            raise UserError(
                f"--{flag} sets {name}={value}, and --set {name}={settings[name]}: leave out one of the two."
            )


def _refuse_other_teachers(args: argparse.Namespace, person: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Raise UserError for options and settings of the oracle or the simulated person if another teacher answers."""
    sections = {name.partition(".")[0] for name in settings}
    if args.teacher != "person" and (set(person.values()) != {None} or "person" in sections):
        raise UserError(
            "--pace, --wrong and person.* describe the simulated person: give --teacher person, or leave them out."
        )
    if args.teacher in ("person", "none") and (_oracle_settings(args) or "oracle" in sections):
        raise UserError("--oracle-* and oracle.* describe the oracle: give --teacher oracle, or leave them out.")


def _oracle_settings(args: argparse.Namespace) -> dict[str, float]:
    named = {f"oracle.{f.name}": getattr(args, f"oracle_{f.name}") for f in dataclasses.fields(OracleConfig)}
    return {name: value for name, value in named.items() if value is not None}


@contextmanager
def progress_bar(config: Config, given: Iterable[int]) -> Iterator[Callable[[Event], None]]:
    """Draw a progress bar on stderr, and yield its event listener. given: ids of the session's labels so far"""
    labels = set(given)
    name = get_task(config.task).measure_name
    with tqdm(total=config.steps, unit="step", unit_scale=True, file=sys.stderr, mininterval=0.5) as bar:

        def show(event: Event) -> None:
            if isinstance(event, PreferenceAdded):
                labels.add(event.preference.id)  # a resumed run reports some of them again
            if isinstance(event, RolloutReported):
                text = (
                    f"labels {len(labels)}, {name} {event.measure.get(name, math.nan):.2f}, r {event.correlation:.2f}"
                )
                text += f", diverged {event.divergences}" if event.divergences else ""
                bar.set_postfix_str(text, refresh=False)  # drawn by update(), which keeps to mininterval
                bar.update(event.env_steps - bar.n)

        yield show
