"""The headless command line: catalogue, teaching, evaluation."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import NoReturn

from core.config import OracleConfig
from core.presets import ABLATIONS, ALGORITHM_PRESETS
from core.version import COMMAND_LINE, VERSION


class _Parser(argparse.ArgumentParser):
    """One plain sentence instead of a page of usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"somersault: {message[0].upper()}{message[1:].rstrip('.')}: see {self.prog} --help.\n")


def main() -> int:
    args = _parser().parse_args()
    from core.errors import CutShortError, NotFiniteError, StageFailedError, UserError, lack
    from core.headless.commands import run_command  # after parsing: --help must not wait for torch

    goes_on = "the same command goes on" if args.command == "reproduce" else "go on with --resume"
    try:
        return run_command(args)
    except UserError as error:
        print(f"somersault: {error}", file=sys.stderr)
        return 2
    except NotFiniteError as error:
        print(f"somersault: {error}", file=sys.stderr)
        return 1
    except StageFailedError as error:
        print(f"somersault: {error}: {goes_on}.", file=sys.stderr)
        return 1
    except (MemoryError, RuntimeError, OSError) as error:
        if not lack(error):
            raise
        print(f"somersault: there was not enough {lack(error)}: what was saved can be gone on with.", file=sys.stderr)
        return 1
    except CutShortError:
        print(f"somersault: stopped at once; the last checkpoint is what remains: {goes_on}.", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print(f"somersault: stopped; {goes_on}.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(COMMAND_LINE, description="Teach a behaviour by comparing clips, headless.")
    parser.add_argument("--version", action="version", version=f"somersault {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True)
    tasks = commands.add_parser("tasks", help="list the catalogue")
    tasks.add_argument("--json", action="store_true")
    _add_teach(commands.add_parser("teach", help="teach a task and print what was reached"))
    evaluate = commands.add_parser("evaluate", help="let a taught policy act, without noise")
    evaluate.add_argument("session", help="the session's folder")
    evaluate.add_argument("--episodes", type=int, default=20)
    evaluate.add_argument("--video", help="write one episode to this .mp4")
    evaluate.add_argument("--strip", help="write a moment of that episode to this .png, as a film strip")
    evaluate.add_argument("--json", action="store_true")
    film = commands.add_parser("film", help="make a film of how the policy learned")
    film.add_argument("session", help="the session's folder")
    film.add_argument("--out", required=True, help="a new .mp4; one that is there is replaced")
    film.add_argument("--before-after", action="store_true", help="untrained and present policy side by side instead")
    film.add_argument("--height", type=int, default=720, help="of the picture, a multiple of 18 (default 720)")
    export = commands.add_parser("export", help="write a session as one file")
    export.add_argument("session", help="the session's folder")
    export.add_argument("file", help="a new file, such as backflip.somersault")
    imported = commands.add_parser("import", help="make a session of such a file")
    imported.add_argument("file", help="what export wrote")
    imported.add_argument("session", help="a new folder")
    answers = commands.add_parser("preferences", help="answers as a JSON table and arrays, for other programs")
    answers.add_argument("action", choices=("export", "import"))
    answers.add_argument("source", help="export: a session's folder; import: a folder that export wrote")
    answers.add_argument("target", help="export: a new folder for the answers; import: one for the new session")
    bench = commands.add_parser("bench", help="measure throughput, as ratios of one run")
    bench.add_argument("--task", default="hopper-backflip", help="an entry of the catalogue, or gym:ENV_ID")
    bench.add_argument("--json", action="store_true")
    _add_reproduce(commands.add_parser("reproduce", help="carry out an experiment of the paper; again, to go on"))
    return parser


def _add_reproduce(reproduce: argparse.ArgumentParser) -> None:
    figures = "labels against true reward, fig2: on the robots, fig3: in the Atari games"
    reproduce.add_argument("figure", choices=("fig2", "fig3"), help=figures)
    reproduce.add_argument("--tasks", nargs="+", help="entries of the catalogue (default: the figure's)")
    reproduce.add_argument("--labels", nargs="+", type=int, help="(default: 350 700 1400; in fig3 3300 5500 too)")
    reproduce.add_argument("--seeds", nargs="+", type=int, help="(default: 0 1 2, in fig2 3 4 too)")
    reproduce.add_argument("--steps", type=int, help="environment steps of each run (default: the task's)")
    reproduce.add_argument("--out", required=True, help="folder of the results; what is there is not done again")
    reproduce.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="any setting of the config")


def _add_teach(teach: argparse.ArgumentParser) -> None:
    teach.add_argument("task", nargs="?", help="an entry of the catalogue")
    teach.add_argument("--teacher", choices=("oracle", "none"), help="who answers; none: learn from the true reward")
    teach.add_argument("--algorithm", choices=tuple(ALGORITHM_PRESETS), help="policy optimizer (default: the task's)")
    teach.add_argument("--labels", type=int, help="answers in the whole run (default: the task's)")
    teach.add_argument("--steps", type=int, help="environment steps (default: the task's)")
    teach.add_argument("--seed", type=int, help="root of every random stream (default 0)")
    teach.add_argument("--session", help="a new folder for the session (default: one under sessions/)")
    teach.add_argument("--resume", metavar="DIR", help="go on with this session")
    teach.add_argument("--device", choices=("auto", "cpu", "cuda"), help="where networks are trained (default auto)")
    teach.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="any setting of the config")
    teach.add_argument("--video", help="afterwards, write an episode of the taught policy to this .mp4")
    teach.add_argument("--json", action="store_true", help="print one JSON object as the last line of stdout")
    ablations = teach.add_argument_group("ablations (section 3.3 of the paper)")
    for name, ablation in ABLATIONS.items():
        ablations.add_argument(f"--{name}", action="append_const", const=name, dest="ablations", help=ablation.help)
    oracle = teach.add_argument_group("an oracle that is not perfect (Lee et al., B-Pref, 2021)")
    for field in dataclasses.fields(OracleConfig):
        flag = f"--oracle-{field.name}"
        text = f"{field.metadata['help']} (default {field.default:g})"
        oracle.add_argument(flag, type=float, metavar="X", help=text.replace("%", "%%"))


if __name__ == "__main__":
    sys.exit(main())
