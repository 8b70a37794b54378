"""Config of a headless session: a preset of its task, options of the command, an ablation, and single settings.

Also parses the task and the settings of the command line, and checks both before teaching starts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.behaviours.behaviour import Behaviour, parse
from core.behaviours.expressions import compile_expression
from core.behaviours.figures import compile_figure
from core.config import Config, replaced
from core.envs import steps_per_second
from core.errors import UserError
from core.preferences.schedule import steps_for_answers
from core.presets import DECAYED_AT, merge_presets, paper_changes
from core.system import resources
from core.tasks import get_task
from core.tasks.base import RobotTask
from core.tasks.behaviour_tasks import is_behaviour_text, task_text, with_own_rate
from core.types import Teacher

Changes = Mapping[str, Any]
_PLANNING = ("query.first_share", "query.first_labels")
"""Settings that the planned length of a session depends on and that an ablation may change."""
_BATCHES, _FEWEST = 120, 8
"""Number of batches, and so of policy updates, that a session should have, and smallest reduced number of environments."""


def named_task(word: str) -> str:
    """Return the value of Config.task for a task named on the command line.

    Raises UserError as `task_text` does, or if a Gymnasium environment can't be created.
    """
    from core.robots.importing import import_robot

    return with_own_rate(task_text(word, import_robot), steps_per_second)


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Return config changes from NAME=VALUE pairs. Raises UserError if a pair has no '='."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UserError(f"{pair!r} is not a setting: write NAME=VALUE, such as policy.discount=0.99.")
        settings[name.replace("__", ".")] = _parse_value(text)
    return settings


def make_config(name: str, preset: str, given: Changes, ablation: Changes, settings: Changes) -> Config:
    """Return the config of a session. Each argument overrides those before it.

    name: value of Config.task
    preset: one of core.presets.PRESETS
    given: values of the command's own options, including "policy.algorithm"
    ablation: changes of the ablations and of the options for the oracle
    settings: values of --set

    Without steps, a session whose answers drive training is as long as the answers allow; an ablation does not change
    this length. Except with the paper's preset, a session of few steps has fewer environments than the preset, so that
    the policy is updated often enough. For the same reason, so does the Ant if steps are given. Raises UserError for an
    unknown name, an invalid value or a contradiction.
    """
    task = get_task(name)
    algorithm = settings.get("policy.algorithm", given.get("policy.algorithm"))
    preset_of_task, paper = task.presets, dict(task.paper_presets)
    game = task.pictures is not None
    if preset == "paper":
        if not game and settings.get("teacher", given.get("teacher")) == Teacher.NONE:
            paper["policy.entropy_bonus"] = 0.0  # A.1 adds it for a reward that changes
        preset_of_task = paper_changes(task.name, game, paper)
    usual = {**merge_presets(preset_of_task, paper, algorithm), **given, **settings}
    config = replaced(Config(task=name), **{**usual, **ablation, **settings})
    if config.query.by_answers and "steps" not in given and "steps" not in settings:
        kept = {name: usual.get(name, _default(name)) for name in _PLANNING if name in ablation}
        config = replaced(config, steps=steps_for_answers(replaced(config, **kept)))
    if game and preset == "paper" and config.policy.algorithm == "a2c" and "policy.decay" not in {**given, **settings}:
        config = replaced(config, **{"policy.decay": min(1.0, config.planned_steps / DECAYED_AT)})
    if not game and preset != "paper" and "rollout.environments" not in {**given, **settings}:
        most = max(_FEWEST, config.steps // (_BATCHES * config.rollout.steps))
        if isinstance(task, RobotTask) and task.most_environments and "steps" in {**given, **settings}:
            most = min(most, task.most_environments)
        config = replaced(config, **{"rollout.environments": min(config.rollout.environments, most)})
    return config


def refuse_settings(settings: Changes, advice: Mapping[str, str]) -> None:
    """Raise UserError if a setting has to be given in another way. advice: by setting, how to give it"""
    for name in settings:
        if name in advice:
            raise UserError(f"{name} can't be given as a setting: {advice[name]}.")


def require_teachable(config: Config) -> None:
    """Raise UserError if the task's environment can't be made, or if the oracle reads only constant signals."""
    from core.envs.spaces import require_environment
    from core.robots.models import load_model
    from core.robots.signals import constant_signals

    require_environment(config)
    task = get_task(config.task)
    oracle = parse(config.task).oracle if is_behaviour_text(config.task) else None
    if oracle is not None and isinstance(task, RobotTask):
        read = compile_expression(oracle, task.names).signals
        if read <= set(constant_signals(load_model(task))):
            raise UserError(
                f"The oracle reads only signals that never change on this robot: {', '.join(sorted(read))}. Use others."
            )


def unchanging_signals(behaviour: Behaviour, task: RobotTask) -> str:
    """Return a warning about signals in a valid behaviour that never change on its robot; '' if there are none."""
    from core.robots.models import load_model
    from core.robots.signals import constant_signals

    expressions = [compile_expression(behaviour.oracle, task.names).signals] if behaviour.oracle else []
    named = (*behaviour.plots, *((behaviour.measure,) if behaviour.measure else ()))
    read = frozenset().union(*expressions, *(compile_figure(each.expression, task.names).signals for each in named))
    same = sorted(read & set(constant_signals(load_model(task)))) if read else []
    if not same:
        return ""
    one = len(same) == 1
    return f"{' and '.join(same)} never change{'s' * one} on this robot: {'it is a constant' if one else 'they are constants'}."


def require_whole_clips(config: Config) -> None:
    """Raise UserError if the session is too short for any environment to complete a clip."""
    task, rollout = get_task(config.task), config.rollout
    length = config.query.length(task.segment_steps)
    batches = -(-config.steps // (rollout.environments * rollout.steps))
    if config.teacher != Teacher.NONE and batches * rollout.steps < length:
        raise UserError(
            f"{config.steps:,} steps end after {batches * rollout.steps} in each of {rollout.environments} environments, as"
            f" batches are whole, and a clip has {length}: give several times {rollout.environments * length:,} steps, or fewer"
            " rollout.environments."
        )


def require_memory(name: str | None) -> None:
    """Raise UserError if too little memory is free for this task; None means any robot."""
    pictures = name is not None and get_task(name).pictures is not None
    resources.require_memory(resources.GAME_MEMORY if pictures else resources.ROBOT_MEMORY)


def _parse_value(text: str) -> Any:
    """Return the value of the text as JSON, else as a float (.5 is not JSON), else the text itself."""
    for read in (json.loads, float):
        try:
            return read(text)
        except (ValueError, RecursionError):
            continue
    return text


def _default(name: str) -> Any:
    section, field = name.split(".")
    return getattr(getattr(Config(), section), field)
