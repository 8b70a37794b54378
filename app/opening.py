"""From the command line to a session: which folder, made or opened. No Qt."""

from __future__ import annotations

import argparse
from pathlib import Path

from platformdirs import user_data_dir

from core.config import Config, replaced
from core.errors import UserError
from core.policy.presets import presets
from core.programs import WINDOW
from core.queries import first_labels
from core.session import Session
from core.tasks import find
from core.version import VERSION

DEFAULT_TASK = "hopper-backflip"
_NO_END = 10**12
"""Steps of a session in the window: it ends when the person ends it. Its labels are due over the task's own steps."""

_FIRST_ANSWERS = 30
"""At most so many pairs of the untrained policy: nobody watches a robot flail for an hour before it learns."""


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


def opened(options: argparse.Namespace) -> Session:
    """The session that was asked for, its store checked; UserError where there can be none."""
    folder = options.session
    if folder is not None and (folder / "config.json").exists():
        session = Session.open(folder)
        _require_same(session, options)
    else:
        config = new_config(options)
        session = Session.create(folder or fresh_folder(config.task), config)
    try:
        session.store().close()  # a damaged store is told of before there is a window
    except UserError:
        session.close()
        raise
    return session


def new_config(options: argparse.Namespace) -> Config:
    task = find(options.task or DEFAULT_TASK)
    given = {name: getattr(options, name) for name in ("labels", "seed") if getattr(options, name) is not None}
    config = replaced(Config(task=task.name), **{**presets(task.presets), **given})
    first = min(_FIRST_ANSWERS, first_labels(config.labels, config.query))
    kept = {"teacher": options.teacher or "human", "steps": _NO_END, "query.horizon": config.steps}
    return replaced(config, **kept, **{"query.first_labels": first})


def fresh_folder(task: str) -> Path:
    """The first <task>-<n> that does not exist yet."""
    root = Path(user_data_dir("somersault", appauthor=False)) / "sessions"
    number = 1
    while (root / f"{task}-{number}").exists():
        number += 1
    return root / f"{task}-{number}"


def _require_same(session: Session, options: argparse.Namespace) -> None:
    for name in ("task", "labels", "seed"):
        given, kept = getattr(options, name), getattr(session.config, name)
        if given is not None and given != kept:
            session.close()
            raise UserError(f"{session.folder} was made with --{name} {kept}: leave that out, or name a new folder.")
