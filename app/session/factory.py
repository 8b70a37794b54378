"""Sessions for the window: from command-line options or a form to a config, a folder and an open session. No widgets."""

import argparse
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from platformdirs import user_data_dir

from app.command_line import DEFAULT_TASK, given
from app.workers.robot_reader import read_rate, read_robot
from core.config import Config, replaced
from core.errors import UserError
from core.formatting import first_free, slug
from core.presets import LAGGING, merge_presets
from core.session import library
from core.session.compatibility import require_fitting
from core.session.session import CONFIG, Session, read_config
from core.session.size_limits import captured_pool, check_size_limits
from core.session.taking import Beginning, create_from, take
from core.system import resources
from core.tasks import get_task
from core.tasks.base import RobotTask
from core.tasks.behaviour_tasks import is_behaviour_text, task_text, with_own_rate, without_own_rate
from core.types import Teacher
from core.version import COMMAND_LINE

_UNLIMITED_STEPS = 10**12
"""Environment steps of a session in the window: it runs until the person ends it."""
_UNLIMITED_LABELS = 10_000
"""Default number of answers for a robot, in effect no limit: the form does not ask for one."""
_READY = 2
"""Pairs of a robot: one on screen and one ahead, so that a pair is never about long outdated behaviour."""
_MAX_FIRST_LABELS = 30
"""Maximum number of answers asked for before training starts, in a game."""
_CAPTURED_ENVS = 4
"""Environments that record frames, for tasks whose clips can't be rendered from simulator states."""
_DEMONSTRATE_EVERY = 4
"""Rollout batches between two recordings for the live view: a few seconds."""
_SEEDS = 2**31
"""Number of seeds from which that of a session that starts over is drawn."""
WINDOW_SETTINGS = ("teacher", "steps", "labels", "query.horizon", "query.first_labels", "query.ready")
"""Settings whose default may differ in the window, for every task."""


def open_or_create(options: argparse.Namespace) -> Session:
    """Return the session that the command line names, or a new one.

    Raises UserError if it can't be opened or created, or was made with other options.
    """
    folder = options.session
    if folder is None or not os.path.exists(folder / CONFIG):
        config = new_config(options)
        return create_session(folder or new_folder(sessions_folder(), folder_name(config)), config)
    session = Session.open(folder)
    for name in ("task", "labels", "seed"):
        option, value = getattr(options, name), getattr(session.config, name)
        if option is not None and option != value and not _is_word_for(option, value):
            session.close()
            value = get_task(value).name if name == "task" and is_behaviour_text(value) else value
            raise UserError(f"{folder} was made with --{name} {value}: leave out --{name}, or name a new folder.")
    return check_session(session)


def _is_word_for(option: object, task: object) -> bool:
    """Return whether the option names the environment, or the unchanged behaviour file, of the session."""
    if not isinstance(option, str) or not isinstance(task, str):
        return False
    try:
        return task_text(option, read_robot) in (task, without_own_rate(task))
    except UserError:
        return False


def create_session(
    folder: Path,
    config: Config,
    begin_from: Beginning | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Session:
    """Create a session that begins from nothing, or from another one. Raises UserError if that is impossible.

    If it begins with a policy, the optimizer of that policy replaces the default one. Blocks while the rate of a Gymnasium
    environment is read, which ends with an error as soon as `stopped` returns True.
    """
    _require_memory(config)
    config = replaced(config, task=with_own_rate(config.task, partial(read_rate, stopped=stopped)))
    if begin_from is None:
        return Session.create(folder, config)
    if "policy" in begin_from.parts and config.policy.algorithm == task_defaults(config.task, {}).policy.algorithm:
        config = _with_optimizer(config, read_config(begin_from.source).policy.algorithm)
    return create_from(folder, config, take(begin_from.source, config, begin_from.parts))


def start_over(source: Path, root: Path) -> Session:
    """Create a session in `root` with the settings and answers of another one, but another seed and a new policy.

    If PPO trained a robot's policy, SAC trains the new one: it more often finds what the first policy did not
    (docs/experiments/off-policy.md). Raises UserError if the other session has no answers, or they can't be read.
    """
    old = read_config(source)
    changes: dict[str, Any] = {"teacher": last_teacher(source, old), "seed": secrets.randbelow(_SEEDS)}
    config = replaced(old, labels=old.labels - old.query.taken, query__taken=0, **changes)
    if old.policy.algorithm == "ppo" and isinstance(get_task(old.task), RobotTask):
        config = _with_optimizer(config, "sac")
    _require_memory(config)
    return create_from(new_folder(root, folder_name(config)), config, take(source, config, {"answers"}))


def _with_optimizer(config: Config, algorithm: str) -> Config:
    """Return the config with another optimizer and its default settings; settings that the person has changed stay."""
    default, other = (
        task_defaults(config.task, {"policy.algorithm": chosen}).policy
        for chosen in (config.policy.algorithm, algorithm)
    )
    names = [
        field.name for field in fields(other) if getattr(config.policy, field.name) == getattr(default, field.name)
    ]
    return replaced(config, **{f"policy.{name}": getattr(other, name) for name in names})


def last_teacher(folder: Path, config: Config) -> Teacher:
    """Return the teacher of a session so far: the oracle never takes over a person's session."""
    teacher = library.summary_of(folder, config).teacher
    return Teacher.ORACLE if teacher == Teacher.ORACLE else Teacher.HUMAN


def check_session(session: Session) -> Session:
    """Return the session if memory suffices and its store is sound and fits the task; otherwise close it.

    Raises UserError otherwise, before a window shows the session.
    """
    try:
        _require_memory(session.config)
        with closing(session.store()) as store:
            require_fitting(store, session.config)
    except UserError:
        session.close()
        raise
    return session


def _require_memory(config: Config) -> None:
    """Check the memory for a task with frames; the memory for a robot is checked when the program starts."""
    if get_task(config.task).pictures is not None:
        resources.require_memory(resources.GAME_WINDOW_MEMORY)


def new_config(options: argparse.Namespace) -> Config:
    """Return the config of a new session for these options. Blocks while a robot is read from an MJCF file."""
    return session_config(task_text(options.task or DEFAULT_TASK, read_robot), given(options))


def session_config(name: str, changes: Mapping[str, Any] | None = None) -> Config:
    """Return the config of a new session in the window: the task's defaults with these changes.

    Raises UserError if the changes contradict each other or the task, or rule out a window.
    """
    changes, task = dict(changes or {}), get_task(name)
    config = replaced(task_defaults(name, changes), **changes)
    if config.teacher == Teacher.NONE:
        raise UserError(f"A session without a teacher needs no window: use {COMMAND_LINE} teach --teacher none.")
    if config.teacher == Teacher.ORACLE and not task.has_true_reward:
        raise UserError(
            f"{task.title} has no true reward, so the computer can't answer: choose yourself as the teacher."
        )
    if config.reward.target == "returns":
        raise UserError("The window can't train on true returns: set reward.target=comparisons.")
    check_size_limits(config, get_task(name, config.true_reward))
    return config


def task_defaults(name: str, changes: Mapping[str, Any]) -> Config:
    """Return the default config of a task in the window; some defaults follow the labels and the algorithm chosen.

    All robots share their settings, which suit any behaviour, except for the noise of an untrained policy; games have
    presets of their own.
    """
    task = get_task(name)
    labels = {"labels": changes["labels"]} if "labels" in changes else {}
    chosen = merge_presets(task.presets, task.paper_presets, changes.get("policy.algorithm"))
    own = {"teacher": Teacher.HUMAN, "steps": _UNLIMITED_STEPS}
    if task.pictures is None:
        usual = {"labels": _UNLIMITED_LABELS, "query.ready": _READY}
        return replaced(Config(task=name), **{**chosen, **own, **usual, **labels})
    config = replaced(Config(task=name), **{**chosen, **labels})
    first = min(_MAX_FIRST_LABELS, config.query.first_of(config.labels))
    return replaced(config, **own, **{"query.horizon": config.planned_steps, "query.first_labels": first})


def window_config(config: Config) -> Config:
    """Return the config that the child jobs of a window get.

    The rollout demonstrates for the live view and, with PPO or SAC, runs one batch ahead, so that physics and updates overlap.
    Pairs are offered with either teacher: the oracle's are shown too, and the teacher may change. Captured segments are
    few, so a smaller pool keeps them recent.
    """
    changes = {"rollout.demonstrate_every": _DEMONSTRATE_EVERY, "rollout.captured_envs": _CAPTURED_ENVS}
    if config.policy.algorithm in LAGGING:
        changes["policy.lag"] = max(1, config.policy.lag)
    if not isinstance(task := get_task(config.task), RobotTask):
        changes["query.pool"] = min(config.query.pool, captured_pool(config.query.length(task.segment_steps)))
    return replaced(config, teacher=Teacher.HUMAN, **changes)


def _data_folder() -> Path:
    return Path(user_data_dir("somersault", appauthor=False))


def sessions_folder() -> Path:
    return _data_folder() / "sessions"


def behaviours_folder() -> Path:
    """Return the folder of the person's own behaviours."""
    return _data_folder() / "behaviours"


def folder_name(config: Config) -> str:
    """Return the part of a new session's folder name that names the task."""
    return slug(get_task(config.task).name)


def task_title(config: Config) -> str:
    """Return the title of a new session's task; its name if it has none, as a Gymnasium environment."""
    return get_task(config.task).title or config.task


def new_folder(root: Path, name: str) -> Path:
    """Return the first NAME-<n> in that folder that does not exist yet."""
    return root / first_free(lambda number: f"{name}-{number}", lambda found: (root / found).exists())
