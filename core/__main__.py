"""Command line without a window: python -m core."""

import argparse
import dataclasses
import sys
from typing import NoReturn

from core.config import OracleConfig
from core.presets import ABLATIONS, ALGORITHM_PRESETS, PRESETS
from core.version import COMMAND_LINE, VERSION


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one plain sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"somersault: {message[0].upper()}{message[1:].rstrip('.')}: see {self.prog} --help.\n")


def main() -> int:
    args = make_parser().parse_args()
    from core.errors import CutShortError, NotFiniteError, StageFailedError, UserError, lack
    from core.headless.commands import run_command  # after parsing: --help must not wait for torch

    again = "the same command continues" if args.command == "reproduce" else "continue with --resume"
    try:
        return run_command(args)
    except UserError as error:
        code, text = 2, str(error)
    except NotFiniteError as error:
        code, text = 1, str(error)
    except StageFailedError as error:
        code, text = 1, f"{error}: {again}."
    except (MemoryError, RuntimeError, OSError) as error:
        if not lack(error):
            raise
        code, text = 1, f"there was not enough {lack(error)}; what was saved remains: {again}."
    except CutShortError:
        code, text = 130, f"stopped at once; the last checkpoint remains: {again}."
    except KeyboardInterrupt:
        code, text = 130, f"stopped; {again}."
    print(f"somersault: {text}", file=sys.stderr)
    return code


def make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        COMMAND_LINE, description="Teach a simulated robot a behaviour by comparisons of clips, without a window."
    )
    parser.add_argument("--version", action="version", version=f"somersault {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True)
    lists = {
        "tasks": "tasks",
        "behaviours": "robots' behaviours",
        "robots": "robots, and what behaviour files can name",
    }
    for name, what in lists.items():
        listing = commands.add_parser(name, help=f"list the {what}")
        listing.add_argument("--json", action="store_true", help="print JSON")
        if name == "robots":
            listing.add_argument("robot", nargs="?", help="list the signals of this robot, or of mjcf:FILE")
            listing.add_argument("--page", action="store_true", help="print the page docs/signals.md")
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
        "--before-after", action="store_true", help="show the untrained and the latest policy side by side instead"
    )
    film.add_argument("--height", type=int, default=720, help="picture height, a multiple of 18 (default 720)")
    export = commands.add_parser("export", help="write a session to one file")
    export.add_argument("session", help="the session's folder")
    export.add_argument("file", help="the new file, such as backflip.somersault")
    imported = commands.add_parser("import", help="make a session from an exported file")
    imported.add_argument("file", help="a file that export wrote")
    imported.add_argument("session", help="the new session's folder")
    answers = commands.add_parser("preferences", help="export or import answers as a JSON table and arrays")
    answers.add_argument("action", choices=("export", "import"))
    answers.add_argument("source", help="export: a session's folder; import: a folder of exported answers")
    answers.add_argument("target", help="export: a new folder for the answers; import: a new folder for the session")
    bench = commands.add_parser("bench", help="measure throughput")
    bench.add_argument("--task", default="hopper-backflip", help="a task, or gym:ENV_ID (default hopper-backflip)")
    bench.add_argument(
        "--steps", type=int, default=0, help="environment steps of the session that is taught (default 0: all)"
    )
    bench.add_argument("--json", action="store_true", help="print JSON")
    _add_reproduce(
        commands.add_parser("reproduce", help="reproduce a figure of the paper; the same command continues it")
    )
    return parser


def _add_reproduce(reproduce: argparse.ArgumentParser) -> None:
    figures = "labels compared with the true reward; fig2: robots, fig3: Atari games, person: the simulated person"
    reproduce.add_argument("figure", choices=("fig2", "fig3", "person"), help=figures)
    reproduce.add_argument("--teachers", nargs="+", choices=("none", "oracle", "person"), help="only these runs")
    reproduce.add_argument("--tasks", nargs="+", help="tasks (default: those of the figure)")
    reproduce.add_argument(
        "--labels", nargs="+", type=int, help="numbers of labels (default: 350 700 1400, and in fig3 3300 5500)"
    )
    reproduce.add_argument("--seeds", nargs="+", type=int, help="random seeds (default: 0 1 2, and in fig2 3 4)")
    reproduce.add_argument("--steps", type=int, help="environment steps of each run (default: those of the task)")
    reproduce.add_argument(
        "--out", required=True, help="folder for the results; runs with a result there are not repeated"
    )
    reproduce.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change any setting")


def _add_teach(teach: argparse.ArgumentParser) -> None:
    teach.add_argument("task", nargs="?", help="a task, a behaviour's name or file, or gym:ENV_ID")
    teach.add_argument(
        "--teacher",
        choices=("oracle", "person", "none"),
        help="who answers; person: with a human's errors and pace; none: train on the true reward",
    )
    teach.add_argument("--pace", type=float, help="answers per minute of --teacher person (default 12)")
    teach.add_argument("--wrong", type=float, help="share of wrong answers of --teacher person (default 0.15)")
    teach.add_argument(
        "--preset", choices=PRESETS, help="settings: the task's own, or those for every task (default task)"
    )
    teach.add_argument(
        "--algorithm", choices=tuple(ALGORITHM_PRESETS), help="policy optimizer (default: that of the task)"
    )
    teach.add_argument("--labels", type=int, help="answers in the whole session (default: those of the task)")
    teach.add_argument("--steps", type=int, help="environment steps in the whole session (default: those of the task)")
    teach.add_argument("--seed", type=int, help="random seed (default 0)")
    teach.add_argument("--session", help="the new session's folder (default: one in sessions/)")
    teach.add_argument("--resume", metavar="DIR", help="continue this session")
    teach.add_argument(
        "--from",
        metavar="DIR",
        dest="begin_from",
        help="begin with what this session of the same robot has learned; --labels then counts the new answers",
    )
    teach.add_argument("--take", metavar="PARTS", help="what --from takes over (default reward,policy,answers)")
    teach.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), help="device for training the networks (default auto)"
    )
    teach.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change any setting")
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
