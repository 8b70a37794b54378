"""Command line of the window."""

import argparse
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.version import VERSION, WINDOW

DEFAULT_TASK = "hopper-backflip"


class _WindowParser(argparse.ArgumentParser):
    """Reports a bad argument as one sentence instead of a page of usage."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise UserError(f"{message[0].upper()}{message[1:].rstrip('.')}: see {WINDOW} --help.")


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; options not given are None, so that a saved session keeps its settings.

    Raises UserError for bad arguments.
    """
    parser = _WindowParser(prog=WINDOW, description="Teach a robot by choosing the better of two clips.")
    parser.add_argument("--version", action="version", version=f"somersault {VERSION}")
    add_options(parser)
    return parser.parse_args(arguments)


def add_options(parser: argparse._ActionsContainer) -> None:
    """Add the options of the window to a parser or a group of one."""
    parser.add_argument(
        "--task",
        help="a task, a behaviour's name or file, mjcf:FILE or gym:ENV_ID to teach (default: ask on the start page,"
        f" or {DEFAULT_TASK} with a new --session)",
    )
    parser.add_argument(
        "--session", type=Path, help="session folder, new or existing (default: a new one, once a task is chosen)"
    )
    parser.add_argument(
        "--teacher",
        choices=("human", "oracle"),
        help="teacher at the start (default: the last one of the session; human in a new one)",
    )
    parser.add_argument("--labels", type=int, help="number of answers after which the computer stops answering")
    parser.add_argument("--seed", type=int, help="random seed; the same seed gives the same start")
    parser.add_argument("--quit-after", type=float, metavar="SECONDS", help="quit after this time")
    parser.add_argument(
        "--self-test",
        type=Path,
        nargs="?",
        const=Path(),
        metavar="FOLDER",
        help="run a one-minute self-test: the program presses the keys, saves screenshots in this empty folder and reports the result",
    )


def given(options: argparse.Namespace) -> dict[str, Any]:
    settings = {name: getattr(options, name) for name in ("teacher", "labels", "seed")}
    return {name: value for name, value in settings.items() if value is not None}
