"""Implementation of the headless commands; core.__main__ has their arguments."""

import argparse
import dataclasses
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from tqdm import tqdm

from core.config import Config, OracleConfig, replaced
from core.errors import UserError
from core.events import Event, JobSpec, PreferenceAdded, RolloutReported
from core.formatting import pluralize, without_nan
from core.headless.catalogue import behaviour_entries, robot_entries, task_entries
from core.headless.settings import make_config, refuse_settings, require_teachable, require_whole_clips
from core.io import files
from core.io.session_log import session_log, warnings_to_stderr
from core.presets import ABLATIONS
from core.service_events import FilmMade, FilmProgressed, FilmRequested
from core.session.archive import export_session, import_session
from core.session.library import teacher_of
from core.session.preference_export import export_preferences, import_preferences
from core.session.session import Session, read_config
from core.session.size_limits import check_size_limits
from core.session.taking import PARTS, create_from, parts_of, take, with_answers
from core.system import resources
from core.tasks import CATALOGUE, behaviours, get_task
from core.tasks.base import RobotTask
from core.tasks.behaviour_tasks import MJCF, is_behaviour_text, task_text, unseen_by_predictors
from core.tasks.gymnasium import GymTask
from core.tasks.robots import ROBOTS
from core.types import Choice, Teacher
from core.version import WINDOW

_STRIP_SECONDS = 1.2
_STRIP_FRAMES = 9
_PLACES = {
    "task": "name it as the first word",
    "query.taken": "use --from",
    **{name: f"use --{name}" for name in ("teacher", "labels", "steps", "seed", "device")},
}
"""By setting that has an argument of its own: what to do instead of --set."""


def run_command(args: argparse.Namespace) -> int:
    """Run the command in args.command and return the exit code. Raises UserError for bad input."""
    warnings_to_stderr("%(message)s")
    resources.require_mujoco_gl()
    commands = {
        "tasks": _list,
        "behaviours": _list,
        "robots": _robots,
        "teach": _teach,
        "evaluate": _evaluate,
        "bench": _bench,
        "film": _film,
        "export": _export,
        "import": _import,
        "preferences": _preferences,
    }
    commands[args.command](args)
    return 0


def _list(args: argparse.Namespace) -> None:
    entries = {"tasks": task_entries, "behaviours": behaviour_entries}[args.command]()
    print(json.dumps(entries) if args.json else "\n".join(f"{e['name']:28}{e['title']}" for e in entries))


def _robots(args: argparse.Namespace) -> None:
    robots = dict(ROBOTS)
    if args.robot in ROBOTS:
        robots = {args.robot: ROBOTS[args.robot]}
    elif args.robot:
        if not args.robot.startswith(MJCF):
            raise UserError(f"There is no robot {args.robot!r:.60}: choose one of {', '.join(ROBOTS)}, or mjcf:FILE.")
        task = get_task(named_task(args.robot))
        assert isinstance(task, RobotTask)
        robots = {args.robot: task}
    if args.json:
        print(json.dumps(robot_entries(robots.values())))
    elif args.robot:
        print("\n".join(signal for robot in robots.values() for signal in robot.names.all()))
    else:
        print("\n".join(f"{robot.name:28}{robot.title}" for robot in robots.values()))


def _teach(args: argparse.Namespace) -> None:
    started = time.monotonic()  # the user waits for the imports too, which take seconds
    _check_picture_paths(args.video)
    if args.resume:
        given = (args.task, args.teacher, args.algorithm, args.labels, args.steps, args.seed, args.session, args.set)
        start_options = (args.begin_from, args.take, args.preset, args.pace, args.wrong)
        if any(
            value not in (None, [])
            for value in (*given, *start_options, args.ablations, *_oracle_settings(args).values())
        ):
            raise UserError("A resumed session keeps its task, labels, steps and settings: give --resume DIR alone.")
    args.task = args.task and named_task(args.task)  # once, as reading a robot takes seconds
    name = read_config(Path(args.resume)).task if args.resume else args.task
    _require_memory(name)
    if args.video and name:
        _require_renderer(name)
    from core.headless.run import HeadlessRun
    from core.rollout.episodes import random_return

    session = _resumed_session(args) if args.resume else new_session(args)
    args.folder = session.folder
    with closing(session):
        untrained = random_return(session.config)
        with closing(session.reader()) as store:
            labels = [row.id for row in store.labels()]
        with (
            session_log(session.folder),
            progress_bar(session.config, labels) as show,
            closing(HeadlessRun(session, show)) as run,
        ):
            outcome = run.run()
        config = session.config
        choices = _choices(session)
        if config.teacher == Teacher.ORACLE and set(choices) == {Choice.TIE}:
            own = is_behaviour_text(config.task) and isinstance(get_task(config.task), RobotTask)
            print(
                "All answers were ties, as the oracle's reward is the same in every clip: "
                + ("check its expression." if own else "give more --steps."),
                file=sys.stderr,
            )
        usable = len(choices) - choices.count(Choice.CANT_TELL)
        if config.teacher != Teacher.NONE and usable < config.labels:
            print(
                f"Only {usable} of {config.labels} answers were given, as there were too few clips to ask about:"
                " give more --steps.",
                file=sys.stderr,
            )
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
            "random_return": untrained,
            "divergences": outcome.divergences,
            "session": str(session.folder),
        }
        _print_result(result, args.json)
        if math.isnan(outcome.true_return) and get_task(config.task).has_true_reward:
            spoiled = f"{outcome.divergences} steps gave numbers that are not finite" if outcome.divergences else ""
            print(
                f"No episode has ended, so there are no means: {spoiled or 'give more --steps'}.",
                file=sys.stderr,
            )
        if args.video:
            from core.rollout.episodes import evaluate

            _write_pictures(session, evaluate(session, 1, captured=True)["states"], args.video)


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
    """Create the session that the arguments of teach describe. Raises UserError, leaving no folder, if one is wrong."""
    from core.nn.device import device_for
    from core.nn.stacked_mlp import CPU
    from core.reward.ensemble import build_ensemble

    if args.task is None:
        raise UserError(f"Name a task, a behaviour or a behaviour file: {', '.join((*CATALOGUE, *behaviours()))}.")
    name = named_task(args.task)  # returns the text of a behaviour as it is
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
        lacking = "to learn from" if args.teacher == "none" else "for the oracle"
        raise UserError(f"{task.name} has no true reward {lacking}: teach it yourself in the window.")
    check_size_limits(config, task)
    require_whole_clips(config)
    require_teachable(config)
    build_ensemble(config, CPU)  # fails here if the predictors can't be made
    if args.take is not None and not args.begin_from:
        raise UserError("--take needs --from DIR: name the session to take from.")
    taken = None
    if args.begin_from:
        parts = parts_of(",".join(PARTS) if args.take is None else args.take)
        if args.teacher == "none" and parts != {"policy"}:
            raise UserError("With --teacher none neither a reward nor answers are used: give --take policy.")
        taken = take(Path(args.begin_from), config, parts)
        config = with_answers(config, taken)
    if isinstance(task, RobotTask) and task.behaviour and task.behaviour.oracle and args.teacher != "none":
        see_actions = config.reward.inputs == "observation_action"
        if warning := unseen_by_predictors(task, task.behaviour.oracle, see_actions):
            print(warning, file=sys.stderr)
    folder = Path(args.session) if args.session else Path("sessions") / f"{task.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    return create_from(folder, config, taken) if taken else Session.create(folder, config)


def _refuse_undone_ablations(flags: Iterable[str], settings: Mapping[str, Any]) -> None:
    """Raise UserError for a setting that one of these ablations sets to another value."""
    for flag in flags:
        for name, value in ABLATIONS[flag].changes.items():
            if settings.get(name, value) != value:
                raise UserError(
                    f"--{flag} sets {name}={value}, and --set {name}={settings[name]}: leave out one of the two."
                )


def _refuse_other_teachers(args: argparse.Namespace, person: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Raise UserError for options and settings of the oracle or the simulated person where the other one answers."""
    sections = {name.partition(".")[0] for name in settings}
    if args.teacher != "person" and (set(person.values()) != {None} or "person" in sections):
        raise UserError(
            "--pace, --wrong and person.* describe the simulated person: give --teacher person, or leave them out."
        )
    if args.teacher in ("person", "none") and (_oracle_settings(args) or "oracle" in sections):
        raise UserError("--oracle-* and oracle.* describe the oracle: give --teacher oracle, or leave them out.")


def named_task(word: str) -> str:
    """Return the value of Config.task for a task named on the command line. Raises UserError as `task_text` does."""
    from core.robots.importing import import_robot

    return task_text(word, import_robot)


def _oracle_settings(args: argparse.Namespace) -> dict[str, float]:
    named = {f"oracle.{f.name}": getattr(args, f"oracle_{f.name}") for f in dataclasses.fields(OracleConfig)}
    return {name: value for name, value in named.items() if value is not None}


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Config changes from NAME=VALUE pairs. Raises UserError if a pair has no '='."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UserError(f"{pair!r} is not a setting: write NAME=VALUE, such as policy.discount=0.99.")
        settings[name.replace("__", ".")] = _parse_value(text)
    return settings


def _parse_value(text: str) -> Any:
    """Return the value of valid JSON, else of a float (.5 is not JSON), else the text itself."""
    for parse in (json.loads, float):
        try:
            return parse(text)
        except ValueError:
            continue
    return text


@contextmanager
def progress_bar(config: Config, given: Iterable[int]) -> Iterator[Callable[[Event], None]]:
    """Draw a progress bar on stderr, and yield its listener. given: ids of the labels of the session so far."""
    labels = set(given)
    name = get_task(config.task).measure_name
    with tqdm(total=config.steps, unit="step", unit_scale=True, file=sys.stderr, mininterval=0.5) as bar:

        def show(event: Event) -> None:
            if isinstance(event, PreferenceAdded):
                labels.add(event.preference.id)  # a resumed run gives some of them again
            if isinstance(event, RolloutReported):
                text = (
                    f"labels {len(labels)}, {name} {event.measure.get(name, math.nan):.2f}, r {event.correlation:.2f}"
                )
                text += f", diverged {event.divergences}" if event.divergences else ""
                bar.set_postfix_str(text, refresh=False)  # drawn by update(), which keeps to mininterval
                bar.update(event.env_steps - bar.n)

        yield show


def _evaluate(args: argparse.Namespace) -> None:
    from core.rollout.episodes import evaluate

    if args.episodes < 1:
        raise UserError("--episodes must be at least 1.")
    _check_picture_paths(args.video, args.strip)
    with closing(Session.read(Path(args.session))) as session:
        if args.video or args.strip:
            _require_renderer(session.config.task)
        result = evaluate(session, args.episodes, captured=bool(args.video or args.strip))
        states = result.pop("states")
        if result.pop("untrained"):
            print("The session has no trained policy yet: these figures are of the untrained one.", file=sys.stderr)
        if result["episodes"] < args.episodes:
            print(
                f"Only {result['episodes']} of {args.episodes} episodes count:"
                f" {pluralize(result['divergences'], 'simulation')} diverged.",
                file=sys.stderr,
            )
        _print_result({"task": get_task(session.config.task).name, **result}, args.json)
        if args.video or args.strip:
            _write_pictures(session, states, args.video, args.strip)


def _bench(args: argparse.Namespace) -> None:
    from core.headless import bench

    if args.steps is not None and args.steps < 1:
        raise UserError("--steps must be at least 1.")
    task = named_task(args.task)
    _require_memory(task)
    _print_result(bench.measure(task, session_steps=args.steps), args.json)


def _film(args: argparse.Namespace) -> None:
    from core.jobs import build

    folder = Path(args.session)
    if args.talk and args.before_after:
        raise UserError("Give --talk or --before-after, not both: they are different films.")
    _check_picture_paths(args.out)
    job = build(JobSpec("talk" if args.talk else "film", read_config(folder).to_dict()))
    usual = 1080 if args.talk else 720
    height = usual if args.height is None else args.height
    job.receive(FilmRequested(str(folder), args.out, args.before_after, height))
    made, events = FilmMade(args.out, ""), job.run()
    next(events)  # checks height and policies: an error is one sentence, with no bar above it
    with tqdm(desc="film", total=100, unit="%", file=sys.stderr, mininterval=0.5) as bar:
        for event in events:
            if isinstance(event, FilmProgressed):
                bar.update(round(100 * event.share) - bar.n)
            elif isinstance(event, FilmMade):
                made = event
                bar.update(100 - bar.n)
                break
    print(" ".join(part for part in (made.note, f"wrote {made.target}") if part), file=sys.stderr)


def _export(args: argparse.Namespace) -> None:
    if bool(args.file) == bool(args.onnx):
        raise UserError("Name either one file for the whole session, or --onnx FILE for its policy.")
    if args.onnx:
        from core.portable.export import export_onnx

        files.require_new(Path(args.onnx))
        made = export_onnx(Path(args.session), Path(args.onnx))
        print(
            " ".join(part for part in (made.note, f"wrote {', '.join(map(str, made.paths))}") if part), file=sys.stderr
        )
        for name, difference in made.differences.items():
            print(f"{name}: differs by at most {difference:.1e} from this program", file=sys.stderr)
        return
    target = Path(args.file)
    files.require_new(target)
    with closing(Session.read(Path(args.session))) as session:
        export_session(session, target)
    print(f"wrote {target}", file=sys.stderr)


def _import(args: argparse.Namespace) -> None:
    import_session(Path(args.file), Path(args.session))
    print(f"made {args.session}", file=sys.stderr)


def _choices(session: Session) -> list[Choice]:
    with closing(session.reader()) as store:
        return [row.choice for row in store.labels()]


def _preferences(args: argparse.Namespace) -> None:
    target = Path(args.target)
    if args.action == "import":
        count = import_preferences(Path(args.source), target)
        print(f"made {target} with {pluralize(count, 'answer')}", file=sys.stderr)
        return
    with closing(Session.read(Path(args.source))) as session:
        count, lost = export_preferences(session, target)
    damaged = f"; {lost} more could not be read" if lost else ""
    print(f"wrote {pluralize(count, 'answer')} to {target}{damaged}", file=sys.stderr)


def _require_memory(name: str | None) -> None:
    """Raise UserError if too little memory is free for this task; None stands for any robot."""
    pictures = name is not None and get_task(name).pictures is not None
    resources.require_memory(resources.GAME_MEMORY if pictures else resources.ROBOT_MEMORY)


def _require_renderer(task: str) -> None:
    """Raise UserError if the task can't be drawn here: before the work rather than after it."""
    from core.envs import make_envs
    from core.envs.base import CaptureSchedule
    from core.envs.renderer import renderer_for
    from core.seeding import generator

    chosen = get_task(task)
    with closing(renderer_for(chosen)) as renderer:
        renderer.prepare()
    if isinstance(chosen, GymTask):  # whose environment draws by itself
        make_envs(chosen, 1, generator(0, "shapes"), threads=1, capture=CaptureSchedule(1, 1)).close()


def _check_picture_paths(video: str | None, strip: str | None = None) -> None:
    """Raise UserError if no video or strip can be written there: before the work rather than after it."""
    if video is not None:
        from core.io.video_writer import check_path

        check_path(Path(video))
    if strip is not None and Path(strip).suffix != ".png":
        raise UserError(f"{strip} does not end in .png: name a .png file for the strip.")
    for path in (video, strip):
        if path is None:
            continue
        if not os.path.isdir(Path(path).parent):
            raise UserError(f"There is no folder {Path(path).parent}: make it first.")
        if os.path.isdir(path):
            raise UserError(f"{path} is a folder: name a file.")
        if not os.access(Path(path).parent, os.W_OK):
            raise UserError(f"{Path(path).parent} can't be written: name a file in another folder.")


def _write_pictures(session: Session, states: Any, video: str | None, strip: str | None = None) -> None:
    """Write an episode, states (steps, S), to `video`, and pictures of its middle side by side to `strip`, if given."""
    from core.envs.renderer import renderer_for
    from core.io.video_writer import write_strip, write_video

    task = get_task(session.config.task)
    with closing(renderer_for(task)) as renderer:
        if video:
            write_video(Path(video), renderer.render(states, size=480, fps=30.0))
            print(f"wrote {video}", file=sys.stderr)
        if strip:
            middle, length = len(states) // 2, round(_STRIP_SECONDS / task.step_seconds)
            frames = renderer.render(states[middle : middle + length], size=160, fps=30.0)
            write_strip(Path(strip), frames, _STRIP_FRAMES)
            print(f"wrote {strip}", file=sys.stderr)


def _print_result(result: dict[str, Any], as_json: bool) -> None:
    """Print one JSON object, or a line for each value; a measure has a line for each of its figures."""
    flat = {name: value for name, value in result.items() if name != "measure"}
    flat |= {f"measure {name}": value for name, value in result.get("measure", {}).items()}
    width = max(map(len, flat)) + 2
    lines = (f"{name:{width}}{value}" for name, value in flat.items())
    print(json.dumps(without_nan(result), allow_nan=False) if as_json else "\n".join(lines), flush=True)
