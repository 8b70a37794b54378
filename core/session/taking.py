"""A new session that begins with the reward, the policy or the answers of another one."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.config import Config, PolicyConfig, RewardConfig, replaced
from core.errors import UserError
from core.events import BATCH_PREFIX, ENSEMBLE_PREFIX, REPLAY_PREFIX, JobState
from core.io import files
from core.preferences.store import FOLDER, PreferenceStore
from core.seeding import generator, get_rng_state
from core.session.checkpoint import CHECKPOINTS, UnreadableError, load_newest
from core.session.compatibility import require_fitting
from core.session.job_states import KEPT_REWARD, SNAPSHOT, has_reward
from core.session.preference_export import write_store
from core.session.routing import DRIVER
from core.session.session import Session, read_config, require_answers
from core.tasks import get_task
from core.tasks.atari import AtariTask
from core.tasks.base import RobotTask, Task

PARTS = ("reward", "policy", "answers")
_POLICY_SHAPE = ("algorithm", "hidden", "vision")
_REWARD_SHAPE = ("members", "hidden", "inputs")
"""Settings that determine the architecture of the networks."""


class Beginning(NamedTuple):
    """Folder of the session with which a new one begins, and the parts that it takes over."""

    source: Path
    parts: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Taken:
    """Policy, reward and answers that a new session takes over from another one.

    states: job states for its first checkpoint
    answers: number of answers, without "can't tell"
    """

    source: Path
    parts: frozenset[str]
    states: dict[str, JobState]
    answers: int


def take(source: Path, config: Config, parts: Collection[str]) -> Taken:
    """Read the parts with which a session with this config begins. Raises UserError if a part is missing or does not fit.

    source: folder of the session from which they are taken, which may be in use
    """
    old = read_config(source)
    if not same_body(get_task(old.task), get_task(config.task)):
        difference = _difference(get_task(old.task), get_task(config.task))
        raise UserError(f"{source} has {difference}: name a session of the same robot and control rate.")
    states = _learned(source, parts) if {"reward", "policy"} & set(parts) else {}
    if "policy" in parts:
        _require_same("policy", old.policy, config.policy, _POLICY_SHAPE)
        states["policy"] = _fresh_policy(states["policy"], config.seed)
    if "reward" in parts:
        _require_same("reward", old.reward, config.reward, _REWARD_SHAPE)
        if not has_reward(states["reward"]):
            raise UserError(f"{source} has no fitted reward yet: take its policy or its answers.")
        states["reward"] = _fresh_reward(states["reward"], config)
    answers = _usable_answers(source, config) if "answers" in parts else 0
    if not answers and set(parts) == {"answers"}:
        raise UserError(f"{source} has no answers to begin with: answer some of its pairs first.")
    return Taken(source, frozenset(parts), states, answers)


def _learned(source: Path, parts: Collection[str]) -> dict[str, JobState]:
    """Return the states of the jobs in `parts`. Raises UserError if one is missing."""
    try:
        loaded = load_newest(source / CHECKPOINTS)
    except UnreadableError as error:
        raise UserError(f"No checkpoint of {source} can be read: take its answers alone.") from error
    if loaded is None:
        raise UserError(f"{source} has learned nothing yet: teach it for a minute first, or take its answers alone.")
    states = {name: state for name, state in loaded[1].items() if name in parts}
    for name in ("reward", "policy"):
        if name in parts and name not in states:  # it began from another session and has no checkpoint of its own
            raise UserError(f"{source} has no {name} of its own yet: teach it for a minute first, or leave that out.")
    return states


def _usable_answers(source: Path, config: Config) -> int:
    """Return the number of answers with which the new session begins. Raises UserError if one is damaged or does not fit."""
    with closing(PreferenceStore(require_answers(source), read_only=True)) as store:
        require_fitting(store, config, remedy="take the reward and the policy alone")
        for row in store.rows():  # withdrawn ones are copied, too
            store.answer(row.id)
        usable = [row.id for row in store.labels() if row.choice.usable]
        if config.reward.target == "returns" and any(store.answer(key).returns is None for key in usable):
            raise UserError(f"{source} has answers without true returns: leave out --target, or take no answers.")
        return len(usable)


def create_from(folder: Path, config: Config, taken: Taken) -> Session:
    """Create a session in `folder` with the parts that are taken over. Raises UserError, and leaves no folder, if it fails.

    config: with the number of new answers, to which those that are taken over are added
    """
    config = replaced(config, labels=config.labels + taken.answers, query__taken=taken.answers)
    with files.new_folder(folder) as inside, closing(Session.create(inside, config)) as session:
        _write(session, taken)
    return Session.open(folder)


def _write(session: Session, taken: Taken) -> None:
    if "answers" in taken.parts:
        with closing(PreferenceStore(taken.source / FOLDER, read_only=True)) as store:
            write_store(store.snapshot(), session.folder)
    if taken.states:
        with closing(session.store()) as store:
            newest = max((row.id for row in store.rows()), default=0)
        # A run that is killed before its own first checkpoint takes its answers after these from the store.
        session.save(1, {**taken.states, DRIVER: JobState({}, {"answers": newest, "report": None})})


def same_body(old: Task, new: Task) -> bool:
    """Return whether networks have the same inputs in both tasks and control the same actuators, at the same rate."""
    if isinstance(old, RobotTask) and isinstance(new, RobotTask):
        seen = old.observe is new.observe or bool(old.packed_model)
        return seen and all(
            getattr(old, name) == getattr(new, name)
            for name in ("model", "packed_model", "rest_controls", "sizes", "step_seconds", "floor_sense")
        )
    if isinstance(old, AtariTask) and isinstance(new, AtariTask):
        return old.game == new.game
    return type(old) is type(new) and getattr(old, "env_id", old.name) == getattr(new, "env_id", new.name)


def _difference(old: Task, new: Task) -> str:
    """Return what the old task has instead of the new one's robot, for two tasks without the same body."""
    if not isinstance(old, RobotTask) or not isinstance(new, RobotTask) or old.robot != new.robot:
        return f"another robot than {new.title}"
    if old.step_seconds != new.step_seconds:
        return f"a control rate of {1 / old.step_seconds:g} per second instead of {1 / new.step_seconds:g}"
    return "another version of the robot's file"


def _require_same(part: str, old: PolicyConfig | RewardConfig, new: object, names: Collection[str]) -> None:
    for name in names:
        before, now = getattr(old, name), getattr(new, name)
        if before != now:
            raise UserError(
                f"The {part} to begin from was made with {part}.{name}={before}, and the new session has {now}: set"
                f" {part}.{name}={before}, or begin without that {part}."
            )


def _fresh_policy(state: JobState, seed: int) -> JobState:
    """Return the policy's state for a session that has taken no steps yet."""
    left = (BATCH_PREFIX, REPLAY_PREFIX, KEPT_REWARD)
    arrays = {name: array for name, array in state.arrays.items() if not name.startswith(left)}
    rng = get_rng_state(generator(seed, "policy taken over"))
    return JobState(arrays, {**state.values, "version": 0, "env_steps": 0, "batches": [], "rng": rng})


def _fresh_reward(state: JobState, config: Config) -> JobState:
    """Return the reward's state for a session that publishes it at once, and starts with its own weight decay."""
    rng = get_rng_state(generator(config.seed, "reward taken over"))
    began = {
        "round_due": False,
        "in_round": False,
        "epochs_left": 0,
        "answers_passed": 0.0,
        "unreceived": True,
        "borrowed": True,
    }
    values = {**state.values, **began, "version": 0, "fitted_version": 0, "rng": rng}
    arrays = dict(state.arrays)
    if published := state.under(SNAPSHOT):  # the ensemble was saved in the middle of a round
        arrays = {name: array for name, array in arrays.items() if not name.startswith(SNAPSHOT)}
        arrays |= {f"{ENSEMBLE_PREFIX}{name}": array for name, array in published.items()}
    arrays["l2"] = np.full_like(arrays["l2"], config.reward.l2)
    arrays["evicted"] = np.zeros_like(arrays["evicted"])  # the new session has its own limit of answers
    return JobState(arrays, values)
