"""Command line without a window: python -m core."""

import argparse
import dataclasses
import errno
import shlex
import signal
import sys
from typing import Any, NoReturn

from core.config import OracleConfig
from core.io.error_stream import drop_stdout, flush_stdout, prepare_streams
from core.presets import ABLATIONS, ALGORITHM_PRESETS, PRESETS
from core.version import COMMAND_LINE, VERSION

PLANS = ("fig2", "fig3", "fig5", "fig6", "behaviours", "person", "yardstick")
"""Plans by name (core.sweep.plans)."""
_SWEEPS = ("sweep", "reproduce")


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose errors are one plain sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"somersault: {message[0].upper()}{message[1:].rstrip('.')}: see {self.prog} --help.\n")


def main() -> int:
    """Run the command line in sys.argv and return the exit code."""
    prepare_streams()
    args = make_parser().parse_args()
    from core.errors import CutShortError, NotFiniteError, StageFailedError, UserError, lack

    try:  # imports after parsing: --help must not wait for torch
        if args.command in _SWEEPS:
            from core.sweep.command import run_sweep

            code = run_sweep(args)
        else:
            from core.headless.commands import run_command

            code = run_command(args)
        flush_stdout()
        return code
    except UserError as error:
        code, text = 2, str(error)
    except NotFiniteError as error:
        code, text = 1, f"{str(error).rstrip('.')}; the last checkpoint is kept."
    except StageFailedError as error:
        code, text = 1, f"{error}: {_how_to_continue(args)}."
    except BrokenPipeError:  # the program that read the output has ended, such as `head`
        drop_stdout()
        return 1
    except (MemoryError, RuntimeError, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            code, text = 1, "the disk is full: make room, then try again."
            drop_stdout()
        elif lack(error):
            code, text = 1, f"there was not enough {lack(error)}; saved work is kept: {_how_to_continue(args)}."
        else:
            raise
    except KeyboardInterrupt as error:
        code = 128 + next(iter(error.args), signal.SIGINT)  # as a shell reports a program that a signal ended
        cut_short = isinstance(error, CutShortError)
        text = f"{'stopped at once, without saving' if cut_short else 'stopped'}: {_how_to_continue(args)}."
    print(f"somersault: {text}", file=sys.stderr)
    return code


def _how_to_continue(args: argparse.Namespace) -> str:
    if args.command == "teach" and args.folder is not None:
        return f"continue with {COMMAND_LINE} teach --resume {shlex.quote(str(args.folder))}"
    return "run the same command to continue" if args.command in _SWEEPS else "run the command again"


def make_parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        COMMAND_LINE, description="Teach a simulated robot a behaviour by comparing clips, without a window."
    )
    parser.add_argument("--version", action="version", version=f"somersault {VERSION}")
    add_commands(parser.add_subparsers(dest="command", required=True))
    return parser


def add_commands(commands: Any) -> None:
    """Add each command's parser. commands: the object returned by `ArgumentParser.add_subparsers`"""
    lists = {
        "tasks": "tasks",
        "behaviours": "robots' behaviours",
        "robots": "robots and their signals",
    }
    for name, what in lists.items():
        listing = commands.add_parser(name, help=f"list the {what}")
        listing.add_argument("--json", action="store_true", help="print JSON")
        if name == "robots":
            listing.add_argument("robot", nargs="?", help="list the signals of this robot, or of mjcf:FILE")
    _add_teach(commands.add_parser("teach", help="teach a task and print the results"))
    evaluate = commands.add_parser("evaluate", help="measure the trained policy of a session")
    evaluate.add_argument("session", help="the session's folder")
    evaluate.add_argument("--episodes", type=int, default=20, help="number of episodes (default 20)")
    evaluate.add_argument("--video", help="write one of the episodes to this .mp4 file")
    evaluate.add_argument("--strip", help="write pictures from the middle of that episode to this .png file")
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    film = commands.add_parser("film", help="make a film of how the policy learned")
    film.add_argument("session", help="the session's folder")
    film.add_argument("--out", required=True, help="the .mp4 file to write; an existing one is replaced")
    film.add_argument(
        "--before-after", action="store_true", help="show the untrained and the newest policy side by side instead"
    )
    film.add_argument(
        "--talk",
        action="store_true",
        help="a film of half a minute for a talk: untrained policy, pairs with their answers, curve, newest policy",
    )
    film.add_argument(
        "--height", type=int, help="picture height, a multiple of 18 up to 2160 (default 720, or 1080 with --talk)"
    )
    export = commands.add_parser("export", help="write a session to one file, or its policy as ONNX files")
    export.add_argument("session", help="the session's folder")
    export.add_argument("file", nargs="?", help="the new file, such as backflip.somersault")
    export.add_argument(
        "--onnx",
        metavar="FILE",
        help="write the policy to this .onnx file, with its reward and contract.json in the same folder",
    )
    imported = commands.add_parser("import", help="make a session from an exported file")
    imported.add_argument("file", help="a file that export wrote")
    imported.add_argument("session", help="the new session's folder")
    answers = commands.add_parser("preferences", help="export answers to a folder, or import them from one")
    answers.add_argument("action", choices=("export", "import"))
    answers.add_argument("source", help="export: a session's folder; import: a folder of exported answers")
    answers.add_argument("target", help="export: a new folder for the answers; import: a new folder for the session")
    bench = commands.add_parser("bench", help="measure throughput")
    bench.add_argument("--task", default="hopper-backflip", help="a task, or gym:ENV_ID (default hopper-backflip)")
    bench.add_argument(
        "--steps",
        type=int,
        help="environment steps to teach for (default: 2 million; 200,000 in a Gymnasium environment, "
        "24 batches in a game)",
    )
    bench.add_argument("--json", action="store_true", help="print JSON")
    sweep = commands.add_parser(
        "sweep", aliases=["reproduce"], help="carry out a plan of many runs; repeat the command to continue"
    )
    sweep.add_argument("plan", help=f"a .json or .toml file, or one of {', '.join(PLANS)}")
    _add_sweep(sweep)


def _add_sweep(sweep: argparse.ArgumentParser) -> None:
    sweep.add_argument(
        "--on",
        default="local",
        metavar="WHERE",
        help="local[:N], N runs at once (default: one per core); ray[:ADDRESS], a Ray cluster; slurm:PARTITION",
    )
    sweep.add_argument(
        "--out",
        type=_non_empty,
        required=True,
        help="folder for the results; runs with a result there are not repeated",
    )
    sweep.add_argument("--tasks", nargs="+", help="tasks, behaviours or behaviour files (default: those of the plan)")
    sweep.add_argument("--seeds", nargs="+", type=int, help="random seeds (default: those of the plan)")
    sweep.add_argument("--labels", nargs="+", type=int, help="answers, for a named plan only (default: its own)")
    sweep.add_argument(
        "--teachers", nargs="+", choices=("none", "oracle", "person"), help="run only the curves with these teachers"
    )
    sweep.add_argument("--preset", nargs="+", choices=PRESETS, help="settings of the runs (default: those of the plan)")
    sweep.add_argument("--steps", type=int, help="environment steps of each run (default: those of the plan)")
    _add_settings(sweep)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a field of the config, such as policy.discount=0.98; repeatable",
    )


def _non_empty(text: str) -> str:
    """Return `text`. Raises ArgumentTypeError if it is empty, for example because a shell variable is not set."""
    if not text:
        raise argparse.ArgumentTypeError("expected a folder, got an empty string")
    return text


def _add_teach(teach: argparse.ArgumentParser) -> None:
    teach.set_defaults(folder=None)  # the session's folder, set once the session exists
    teach.add_argument("task", nargs="?", help="a task, a behaviour's name or file, mjcf:FILE or gym:ENV_ID")
    teach.add_argument(
        "--teacher",
        choices=("oracle", "person", "none"),
        help="who answers; person: a simulated person, with a human's errors and pace; none: train on the true reward",
    )
    teach.add_argument(
        "--pace", type=float, help="answers per minute of --teacher person, where answers drive training (default 12)"
    )
    teach.add_argument("--wrong", type=float, help="share of wrong answers of --teacher person (default 0.15)")
    teach.add_argument(
        "--preset",
        choices=PRESETS,
        help="default: the settings shared by all robots (games have their own); paper: those of the paper",
    )
    teach.add_argument(
        "--algorithm", choices=tuple(ALGORITHM_PRESETS), help="policy optimizer (default: that of the preset)"
    )
    teach.add_argument("--labels", type=int, help="answers in the whole session (default: 100, or those of the preset)")
    teach.add_argument(
        "--steps",
        type=int,
        help="environment steps in the whole session (default: those that the answers allow, or the preset's)",
    )
    teach.add_argument("--seed", type=int, help="random seed (default 0)")
    teach.add_argument("--session", type=_non_empty, help="the new session's folder (default: one in sessions/)")
    teach.add_argument("--resume", type=_non_empty, metavar="DIR", help="continue this session")
    teach.add_argument(
        "--from",
        type=_non_empty,
        metavar="DIR",
        dest="begin_from",
        help="begin with what this session of the same robot has learned; --labels then counts the new answers",
    )
    teach.add_argument("--take", metavar="PARTS", help="what --from takes over (default reward,policy,answers)")
    teach.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), help="device for training the networks (default auto)"
    )
    _add_settings(teach)
    teach.add_argument("--video", help="at the end, write an episode of the trained policy to this .mp4 file")
    teach.add_argument("--json", action="store_true", help="print one JSON object as the last line of stdout")
    ablations = teach.add_argument_group("ablations (section 3.3 of the paper)")
    for name, ablation in ABLATIONS.items():
        ablations.add_argument(f"--{name}", action="append_const", const=name, dest="ablations", help=ablation.help)
    oracle = teach.add_argument_group("imperfect oracle (Lee et al., B-Pref, 2021)")
    for field in dataclasses.fields(OracleConfig):
        flag = f"--oracle-{field.name}"
        text = f"{field.metadata['help']} (default {field.default:g})"
        oracle.add_argument(flag, type=float, metavar="X", help=text.replace("%", "%%"))


if __name__ == "__main__":
    sys.exit(main())
