"""Throughput as ratios measured in one run, so that they hold on any machine: `python -m core bench`."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import torch
from mujoco import rollout

from core.config import Config, RewardConfig, replaced
from core.envs import make_envs
from core.envs.base import VectorEnv
from core.envs.emulators import VectorEmulators
from core.envs.mujoco import MujocoVectorEnv
from core.envs.robot_models import load_model
from core.headless.run import HeadlessRun
from core.jobs.collectors import Collectors, room_for_processes
from core.nn import threads
from core.nn.device import device_for
from core.reward.ensemble import RewardEnsemble
from core.reward.trainer import RewardTrainer
from core.rollout.actor import Actor
from core.rollout.collector import Act, RolloutBatch, collect
from core.rollout.segments import SegmentBuilder
from core.seeding import generator
from core.session.session import Session
from core.tasks import get_task
from core.tasks.atari import FRAME_SKIP, AtariTask
from core.tasks.base import RobotTask, Task
from core.types import Choice, Float32, Float64, Observations, Preference, Query, Segment

_TURNS = 16
_SECONDS = 0.4
"""Of a turn: what is compared has so many in alternation, as a machine's speed and a game's change by the second."""
_FIT_PREFERENCES = 700
_FIT_STEPS = 60
_PICTURE_BATCHES = 24


def measure(task_name: str = "hopper-backflip") -> dict[str, float | str]:
    """Env steps/s of raw physics, of collecting and of teaching, their ratios, and one epoch of a large fit."""
    task = get_task(task_name)
    config = replaced(Config(task=task.name), **task.presets)
    torch.set_num_threads(1)  # as core.jobs.build has it: torch's own would take the cores from the physics
    threads.set_num_threads(os.cpu_count() or 1)
    before, teaching, after = _rates(_compared(config, task)), _teaching(config), _rates(_compared(config, task))
    turns = np.concatenate([before, after])  # a machine's speed changes by the minute, too
    raw, collecting, *others = np.median(turns, axis=0).tolist()
    of_raw = float(np.median(turns[:, 1] / turns[:, 0]))
    acting = {"acting_steps_per_second": round(others[0])} if others else {}
    frames = {"teaching_frames_per_second": round(FRAME_SKIP * teaching)} if isinstance(task, AtariTask) else {}
    return {
        "task": task.name,
        "device": str(device_for(config)),
        "raw_steps_per_second": round(raw),
        "collecting_steps_per_second": round(collecting),
        "teaching_steps_per_second": round(teaching),
        "collecting_of_raw": round(of_raw, 3),
        "teaching_of_raw": round(teaching / raw, 3),
        **acting,
        **frames,
        "fit_epoch_milliseconds": round(1000 * _fit_epoch(), 1),
    }


@dataclass(frozen=True)
class _Work:
    """Something that takes so many steps with each call."""

    steps: int
    act: Callable[[], object]
    close: Callable[[], object] = lambda: None


def _rates(works: list[_Work]) -> Float64:
    """(turns, works) steps/s; then they are closed."""
    rates = np.zeros((_TURNS, len(works)))
    with ExitStack() as stack:
        for work in works:
            stack.callback(work.close)
        for work in works:
            work.act()
        for turn in rates:
            turn[:] = [_rate(work) for work in works]
    return rates


def _rate(work: _Work) -> float:
    """Of one turn."""
    started, taken = time.perf_counter(), 0
    while (spent := time.perf_counter() - started) < _SECONDS:
        work.act()
        taken += work.steps
    return taken / spent


def _compared(config: Config, task: Task) -> list[_Work]:
    """The simulator alone, and collecting. A game's network sees pictures, and so takes longer than the emulator: there
    collecting has actions at random, and what the policy acts by is measured besides."""
    if isinstance(task, AtariTask):
        return [_emulating(config, task), _playing_at_random(config, task), _collecting(config)]
    simulator = _simulating(config, task) if isinstance(task, RobotTask) else _stepping(config, task)
    return [simulator, _collecting(config)]


def _simulating(config: Config, task: RobotTask) -> _Work:
    """On all cores, in one call, what the untrained policy did in all."""
    env = MujocoVectorEnv(task, config.rollout.environments, generator(0, "raw"))
    actor = Actor(config, generator(0, "raw actions"))
    _done(env, actor, config)  # the robots lie about as they do later on
    before = env.states.copy()
    controls = env.controls(_done(env, actor, config).carried_out)
    env.close()
    model = load_model(dataclasses.replace(task, extra_fields=(), contact_points=()))  # without our sensors
    data = [mujoco.MjData(model) for _ in range(min(config.rollout.threads or os.cpu_count() or 1, env.count))]
    held = np.repeat(controls.transpose(1, 0, 2), task.frame_skip, axis=1)
    after = np.zeros((env.count, held.shape[1], before.shape[1]))
    pool = rollout.Rollout(nthread=len(data) if len(data) > 1 else 0)
    steps = controls.shape[0] * env.count
    return _Work(steps, lambda: pool.rollout(model, data, before, held, state=after), pool.close)


def _done(env: VectorEnv, act: Act, config: Config) -> RolloutBatch:
    """One batch, nobody being asked."""
    *_, collected = collect(env, act, config.rollout.steps)
    assert collected is not None
    return collected


def _stepping(config: Config, task: Task) -> _Work:
    """Random actions, one step after the other."""
    env = make_envs(task, config.rollout.environments, generator(0, "raw"))
    actions = np.random.default_rng(0).uniform(-1, 1, (env.count, env.sizes[1])).astype(np.float32)
    return _Work(env.count, lambda: env.step(actions), env.close)


def _emulating(config: Config, task: AtariTask) -> _Work:
    """ale-py's emulators on all cores, with actions at random, and nothing done with what they show."""
    count = config.rollout.environments
    games = VectorEmulators(task.game, count, config.rollout.threads or os.cpu_count() or 1)
    games.start(np.arange(count), np.arange(count))
    rng = np.random.default_rng(0)
    return _Work(count, lambda: games.step(rng.integers(games.actions, size=count)))


def _collecting(config: Config) -> _Work:
    """All that is done with a step while segments are gathered."""
    count = config.rollout.environments
    collectors = Collectors(config, np.zeros(count, np.int64), room_for_processes())
    return _Work(count * config.rollout.steps, lambda: list(collectors.collect(0)), collectors.close)


def _playing_at_random(config: Config, task: AtariTask) -> _Work:
    """The same, with no network that looks at the pictures."""
    env = make_envs(task, config.rollout.environments, generator(0, "bench"), config.rollout.threads)
    act = _at_random(env, generator(0, "bench actions"))
    builder = SegmentBuilder(env, task.segment_steps, np.zeros(env.count, np.int64), task.pictures)
    steps = config.rollout.steps
    return _Work(env.count * steps, lambda: list(collect(env, act, steps, builder)), env.close)


def _at_random(env: VectorEnv, rng: np.random.Generator) -> Act:
    choices = np.eye(env.sizes[1], dtype=np.float32)

    def act(observations: Observations) -> tuple[Float32, Float32]:
        count = len(observations)
        return choices[rng.integers(len(choices), size=count)], np.zeros(count, np.float32)

    return act


def _teaching(config: Config) -> float:
    """Everything, with the oracle."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session.create(Path(folder) / "bench", _taught(config))
        run = HeadlessRun(session, lambda event: None)
        outcome = run.run()
        run.close()
        session.close()
    return outcome.steps_taken / outcome.seconds


def _taught(config: Config) -> Config:
    """A robot's preset from its first step to its last, as the fit takes longer the more answers there are; but nothing
    is explored first, where nothing is taught. Else a short session.

    With pictures the first fit, which comes once, would be most of so short a run, and is left out.
    How much the later ones take does not depend on the number of labels there: config.reward.steps_per_label sees to that.
    """
    whole = replaced(config, teacher="oracle", **{"rollout.exploration_steps": 0})
    task = get_task(config.task)
    if not task.pictures:
        return whole if isinstance(task, RobotTask) else replaced(whole, steps=200_000)
    batch = config.rollout.environments * config.rollout.steps
    few = {"labels": 64, "query.first_labels": 32, "reward.epochs_first": 1}
    return replaced(whole, steps=_PICTURE_BATCHES * batch, **few)


def _fit_epoch() -> float:
    """Seconds of one epoch over 700 preferences of 60 steps with three members."""
    rng = np.random.default_rng(0)
    inputs, actions = 12, 3
    ensemble = RewardEnsemble(inputs + actions, RewardConfig(), torch.Generator().manual_seed(0))
    fit = RewardTrainer(ensemble, RewardConfig(), rng, torch.device("cpu"))
    for number in range(_FIT_PREFERENCES):
        left, right = (_random_segment(rng, number, inputs, actions) for _ in range(2))
        choice = Choice.LEFT if left.observations.sum() > right.observations.sum() else Choice.RIGHT
        fit.add(Preference(number, Query(number, left, right, 0.0), choice, "oracle", 0.0))
    list(fit.epochs(2))
    started = time.perf_counter()
    list(fit.epochs(5))
    return (time.perf_counter() - started) / 5


def _random_segment(rng: np.random.Generator, number: int, inputs: int, actions: int) -> Segment:
    observations = rng.standard_normal((_FIT_STEPS, inputs)).astype(np.float32)
    acted = rng.uniform(-1, 1, (_FIT_STEPS, actions)).astype(np.float32)
    return Segment(number, observations, acted, np.zeros((_FIT_STEPS, 1)), None, 0)
