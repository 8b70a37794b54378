"""Config of a headless session: a preset of its task, what the command line gives, an ablation, and single settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.config import Config, replaced
from core.preferences.schedule import planned_steps
from core.presets import merge_presets, paper_changes
from core.tasks import get_task
from core.tasks.base import Task

Changes = Mapping[str, Any]
_PLANNING = ("query.first_share", "query.first_labels", "rollout.exploration_steps")
"""Settings that the planned length of a session depends on and that an ablation may change."""


def task_presets(task: Task, preset: str) -> Changes:
    """Return the task's settings under a preset of core.presets.PRESETS."""
    match preset:
        case "default":
            return task.default_presets
        case "paper":
            return paper_changes(task.pictures is not None, task.paper_presets, task.presets)
        case _:
            return task.presets


def make_config(name: str, preset: str, given: Changes, ablation: Changes, settings: Changes) -> Config:
    """Return the config of a session. Each argument overrides those before it.

    name: as Config.task
    given: values of the command's own options, among them "policy.algorithm"
    settings: as --set gives them
    Without steps, a session whose answers drive training is as long as they allow. An ablation does not change that
    length. Raises UserError for an unknown name, an invalid value or a contradiction.
    """
    task = get_task(name)
    algorithm = settings.get("policy.algorithm", given.get("policy.algorithm"))
    usual = {**merge_presets(task_presets(task, preset), task.paper_presets, algorithm), **given, **settings}
    config = replaced(Config(task=name), **{**usual, **ablation, **settings})
    if config.query.schedule == "answers" and "steps" not in given and "steps" not in settings:
        kept = {name: usual.get(name, _default(name)) for name in _PLANNING if name in ablation}
        config = replaced(config, steps=planned_steps(replaced(config, **kept)))
    return config


def _default(name: str) -> Any:
    section, field = name.split(".")
    return getattr(getattr(Config(), section), field)
