"""From the command line to a session: which folder, made or opened. No Qt."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from platformdirs import user_data_dir

from app.command_line import DEFAULT_TASK, given
from core.config import Config, replaced
from core.errors import UserError
from core.preferences.schedule import first_labels
from core.presets import merge_presets
from core.session.compatibility import require_fitting
from core.session.session import Session
from core.session.size_limits import require_explorable
from core.system import resources
from core.tasks import get_task
from core.version import COMMAND_LINE

_NO_END = 10**12
"""Steps of a session in the window: it ends when the person ends it. Its labels are due as soon as without one."""

OF_WINDOW = ("teacher", "steps", "query.horizon", "query.first_labels", "policy.decay")
"""Settings that are others in a window, whatever the task."""
_FIRST_ANSWERS = 30
"""At most so many pairs of the untrained policy: nobody watches a robot flail for an hour before it learns."""


def opened(options: argparse.Namespace) -> Session:
    """The session that was asked for, its store checked; UserError where there can be none."""
    folder = options.session
    if folder is not None and os.path.exists(folder / "config.json"):
        session = Session.open(folder)
        _require_same(session, options)
        return with_store(session)
    config = new_config(options)
    return created(folder or fresh_folder(config.task), config)


def created(folder: Path, config: Config) -> Session:
    """A new session, its store checked; UserError where there can be none."""
    _require_memory(config)  # before there is a folder
    return with_store(Session.create(folder, config))


def with_store(session: Session) -> Session:
    """The session, or UserError where its store is damaged or another's: that is told of before there is a window."""
    try:
        _require_memory(session.config)
        with closing(session.store()) as store:
            require_fitting(store, session.config)
    except UserError:
        session.close()
        raise
    return session


def _require_memory(config: Config) -> None:
    """A robot's is there, as the program has asked for it before its window; a task with pictures takes more."""
    if get_task(config.task).pictures is not None:
        resources.require_memory(resources.GAME_WINDOW_MEMORY)


def new_config(options: argparse.Namespace) -> Config:
    return session_config(options.task or DEFAULT_TASK, given(options))


def session_config(name: str, changes: Mapping[str, Any] | None = None) -> Config:
    """The config of a new session in the window: what suits the task, and on top of it these changes.

    UserError where the changes contradict each other, the task, or that it is taught in a window.
    """
    changes = dict(changes or {})
    config = suited(name, changes)
    config = replaced(config, **changes)
    _check_for_window(config)
    return config


def suited(name: str, changes: Mapping[str, Any]) -> Config:
    """What suits the task in the window, where the person has not set it otherwise. It follows a few of the changes."""
    task = get_task(name)
    labels = {"labels": changes["labels"]} if "labels" in changes else {}
    chosen = merge_presets(task.presets, task.paper_presets, changes.get("policy.algorithm"))
    config = replaced(Config(task=task.name), **{**chosen, **labels})
    first = min(_FIRST_ANSWERS, first_labels(config.labels, config.query))
    # A robot's planned steps are over in minutes, and a person who answers for an hour wants to be followed to its end.
    decay = config.policy.decay if task.pictures else 0.0
    kept = ("human", _NO_END, config.planned_steps, first, decay)
    return replaced(config, **dict(zip(OF_WINDOW, kept, strict=True)))


def _check_for_window(config: Config) -> None:
    task = get_task(config.task)
    if config.teacher == "none":
        raise UserError(f"A session without a teacher needs no window: use {COMMAND_LINE} teach --teacher none.")
    if config.teacher == "oracle" and not task.has_true_reward:
        raise UserError(f"{task.title} has no true reward that the oracle could judge by: be the teacher yourself.")
    if config.reward.target == "returns":
        raise UserError("In a window nobody tells true returns: choose target=comparisons.")
    require_explorable(config, task)
    if config.query.segment_steps > task.episode_steps:
        raise UserError(f"segment_steps is {config.query.segment_steps}; an episode has {task.episode_steps}.")


def sessions_folder() -> Path:
    """Where sessions are kept unless the person names another folder."""
    return Path(user_data_dir("somersault", appauthor=False)) / "sessions"


def fresh_folder(task: str) -> Path:
    """The first <task>-<n> that does not exist yet."""
    return fresh(sessions_folder(), plain_name(task))


def plain_name(task: str) -> str:
    """The task's name as part of a folder's name."""
    return re.sub(r"[^\w.-]+", "-", task).strip("-.") or "session"


def fresh(root: Path, name: str) -> Path:
    """The first NAME-<n> in that folder that does not exist yet."""
    number = 1
    while (root / f"{name}-{number}").exists():
        number += 1
    return root / f"{name}-{number}"


def _require_same(session: Session, options: argparse.Namespace) -> None:
    for name in ("task", "labels", "seed"):
        given, kept = getattr(options, name), getattr(session.config, name)
        if given is not None and given != kept:
            session.close()
            raise UserError(f"{session.folder} was made with --{name} {kept}: leave that out, or name a new folder.")
