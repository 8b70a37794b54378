"""Implementation of the headless commands; core.__main__ defines their arguments."""

import argparse
import contextlib
import json
import sys
from contextlib import closing
from pathlib import Path

from tqdm import tqdm

from core.behaviours.robot_model import MJCF_PREFIX
from core.errors import UserError
from core.events import JobSpec
from core.formatting import format_result, pluralize
from core.headless.catalogue import behaviour_entries, robot_entries, task_entries
from core.headless.pictures import check_picture_paths, require_renderer, write_pictures
from core.headless.settings import named_task, require_memory
from core.headless.teach import teach
from core.input_checks import suggestion
from core.io import files
from core.io.session_log import warnings_to_stderr
from core.service_events import FILM_HEIGHT, TALK_HEIGHT, FilmMade, FilmProgressed, FilmRequested
from core.session.archive import export_session, import_session
from core.session.preference_export import export_preferences, import_preferences
from core.session.session import Session, read_config
from core.system import resources
from core.system.interrupts import stopped_by_signals
from core.tasks import get_task
from core.tasks.base import RobotTask
from core.tasks.robots import ROBOTS


def run_command(args: argparse.Namespace) -> int:
    """Run the command in args.command and return the exit code. Raises UserError for bad input."""
    warnings_to_stderr("%(message)s")
    resources.require_mujoco_gl()
    commands = {
        "tasks": _list,
        "behaviours": _list,
        "robots": _robots,
        "teach": teach,
        "evaluate": _evaluate,
        "bench": _bench,
        "film": _film,
        "export": _export,
        "import": _import,
        "preferences": _preferences,
    }
    ending = contextlib.nullcontext() if args.command == "teach" else stopped_by_signals()  # teach saves its work first
    with ending:
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
        if not args.robot.startswith(MJCF_PREFIX):
            known = suggestion(args.robot, (*ROBOTS, f"{MJCF_PREFIX}FILE"))
            raise UserError(f"There is no robot {args.robot!r:.60}: {known}")
        task = get_task(named_task(args.robot))
        assert isinstance(task, RobotTask)
        robots = {args.robot: task}
    if args.json:
        print(json.dumps(robot_entries(robots.values())))
    elif args.robot:
        print("\n".join(signal for robot in robots.values() for signal in robot.names.all()))
    else:
        print("\n".join(f"{robot.name:28}{robot.title}" for robot in robots.values()))


def _evaluate(args: argparse.Namespace) -> None:
    from core.rollout.episodes import evaluate

    if args.episodes < 1:
        raise UserError("--episodes must be at least 1.")
    check_picture_paths(args.video, args.strip)
    with closing(Session.read(Path(args.session))) as session:
        if args.video or args.strip:
            require_renderer(session.config.task)
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
        print(format_result({"task": get_task(session.config.task).name, **result}, args.json), flush=True)
        if args.video or args.strip:
            write_pictures(session, states, args.video, args.strip)


def _bench(args: argparse.Namespace) -> None:
    from core.headless import bench

    if args.steps is not None and args.steps < 1:
        raise UserError("--steps must be at least 1.")
    task = named_task(args.task)
    require_memory(task)
    print(format_result(bench.measure(task, session_steps=args.steps), args.json), flush=True)


def _film(args: argparse.Namespace) -> None:
    from core.jobs import build

    folder = Path(args.session)
    if args.talk and args.before_after:
        raise UserError("Give --talk or --before-after, not both: they are different films.")
    check_picture_paths(args.out)
    job = build(JobSpec("talk" if args.talk else "film", read_config(folder).to_dict()))
    usual = TALK_HEIGHT if args.talk else FILM_HEIGHT
    height = usual if args.height is None else args.height
    job.receive(FilmRequested(str(folder), args.out, args.before_after, height))
    made, events = FilmMade(args.out, ""), job.run()
    next(events)  # checks height and policies, so that an error is reported without a progress bar
    with tqdm(desc="film", total=100, unit="%", file=sys.stderr, mininterval=0.5) as bar:
        for event in events:
            if isinstance(event, FilmProgressed):
                bar.update(round(100 * event.share) - bar.n)
            elif isinstance(event, FilmMade):
                made = event
                bar.update(100 - bar.n)
                break
    print(*filter(None, (made.note, f"wrote {made.target}")), sep="\n", file=sys.stderr)


def _export(args: argparse.Namespace) -> None:
    if bool(args.file) == bool(args.onnx):
        raise UserError("Name either one file for the whole session, or --onnx FILE for its policy.")
    if args.onnx:
        from core.portable.export import export_onnx

        files.require_new(Path(args.onnx))
        made = export_onnx(Path(args.session), Path(args.onnx))
        print(*filter(None, (made.note, f"wrote {', '.join(map(str, made.paths))}")), sep="\n", file=sys.stderr)
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


def _preferences(args: argparse.Namespace) -> None:
    target = Path(args.target)
    if args.action == "import":
        count = import_preferences(Path(args.source), target)
        print(f"made {target} with {pluralize(count, 'answer')}", file=sys.stderr)
        return
    with closing(Session.read(Path(args.source))) as session:
        made = export_preferences(session, target)
    damaged = f"; {made.lost} more could not be read" if made.lost else ""
    if made.changes_lost:
        lines = pluralize(made.changes_lost, "line")
        damaged += f"; {lines} about changed or undone answers could not be read, so these may be as first given"
    elif made.lines_lost:
        damaged += "; lines of the list of answers are gone, so changed or undone answers may be as first given"
    print(f"wrote {pluralize(made.answers, 'answer')} to {target}{damaged}", file=sys.stderr)
