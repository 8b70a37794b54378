"""TODO-DOC."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.version import VERSION, WINDOW


class _Parser(argparse.ArgumentParser):
    """One plain sentence instead of a page of usage."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise UserError(f"{message[0].upper()}{message[1:].rstrip('.')}: see {WINDOW} --help.")


def parsed(arguments: list[str]) -> argparse.Namespace:
    """None stands for what was not given, so that an existing session keeps what it was made with."""
    parser = _Parser(prog=WINDOW, description="Teach a robot by choosing the better of two clips.")
    parser.add_argument("--version", action="version", version=f"somersault {VERSION}")
    parser.add_argument("--task", help=f"what to teach (default {DEFAULT_TASK})")
    parser.add_argument("--session", type=Path, help="the session's folder, new or existing (default: a new one)")
    parser.add_argument("--teacher", choices=("human", "oracle"), help="who answers at first (default human)")
    parser.add_argument("--labels", type=int, help="answers in the whole session")
    parser.add_argument("--seed", type=int, help="root of every random stream")
    parser.add_argument("--quit-after", type=float, metavar="SECONDS", help="close by itself")
    return parser.parse_args(arguments)


def given(options: argparse.Namespace) -> dict[str, Any]:
    """What was given on the command line of the settings that a session has."""
    named = {name: getattr(options, name) for name in ("teacher", "labels", "seed")}
    return {name: value for name, value in named.items() if value is not None}


DEFAULT_TASK = "hopper-backflip"
