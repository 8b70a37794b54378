"""Throughput, and its ratios measured in one run, which are comparable between machines: `python -m core bench`."""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch
from mujoco import rollout

from core.config import Config, RewardConfig, replaced
from core.envs import make_envs
from core.envs.base import VectorEnv
from core.envs.emulators import VectorEmulators
from core.envs.mujoco import MujocoVectorEnv
from core.errors import UserError
from core.headless.run import HeadlessRun
from core.headless.teach import progress_bar
from core.jobs.collectors import Collectors, can_use_processes
from core.nn import threads
from core.nn.device import device_for
from core.reward.ensemble import RewardEnsemble
from core.reward.trainer import RewardTrainer
from core.rollout.actor import Actor
from core.rollout.collector import Act, RolloutBatch, at_once, collect
from core.rollout.segments import SegmentBuilder
from core.seeding import generator
from core.session.session import Session
from core.system.resources import available_cores
from core.tasks import get_task
from core.tasks.atari import FRAME_SKIP, AtariTask
from core.tasks.base import RobotTask, Task
from core.types import Choice, Float32, Float64, Observations, Preference, Query, Segment

_ROBOT_SESSION = {"labels": 700, "steps": 2_000_000}
"""Size of the session that is taught, except in games, whose presets have their own numbers."""
_TURN_SECONDS = 0.4
_FIT_PREFERENCES, _FIT_STEPS = 700, 60
_PICTURE_BATCHES = 24


def measure(
    task_name: str, turns: int = 16, session_steps: int | None = None, **changes: Any
) -> dict[str, float | str]:
    """Measure steps per second of raw physics, of collecting and of teaching, their ratios, and one epoch of a large fit.

    task_name: value of Config.task
    turns: number of turns of each workload, in alternation, since the speed of a machine and of a game changes constantly
    session_steps: environment steps of the session that is taught; None for two million (robots), 200,000 (Gymnasium) or
        24 batches (games)
    changes: changes to the task's presets, named as for `replaced`
    """
    task = get_task(task_name)
    if not task.has_true_reward:
        raise UserError(f"{task.name} has no oracle, and bench needs one: name a task or a behaviour with an oracle.")
    config = replaced(Config(task=task_name), **{**_ROBOT_SESSION, **task.presets, **changes})
    torch.set_num_threads(1)  # as core.jobs.build does: torch's threads would take the cores from the physics
    threads.limit_threads(available_cores())
    before = _rates(_workloads(config, task), turns)
    teaching = _teaching(config, session_steps)
    after = _rates(_workloads(config, task), turns)  # the speed of a machine changes by the minute, too
    rates = np.concatenate([before, after])
    raw, collecting, *others = np.median(rates, axis=0).tolist()
    of_raw = float(np.median(rates[:, 1] / rates[:, 0]))
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
class _Workload:
    """A function `act` that takes `steps` environment steps with each call."""

    steps: int
    act: Callable[[], object]
    close: Callable[[], object] = lambda: None


def _rates(workloads: list[_Workload], turns: int) -> Float64:
    """Return steps per second (turns, workloads), in turns of _TURN_SECONDS each. Closes the workloads."""
    rates = np.zeros((turns, len(workloads)))
    with ExitStack() as stack:
        for workload in workloads:
            stack.callback(workload.close)
        for workload in workloads:
            workload.act()
        for turn, column in np.ndindex(rates.shape):
            started, taken = time.perf_counter(), 0
            while (spent := time.perf_counter() - started) < _TURN_SECONDS:
                workloads[column].act()
                taken += workloads[column].steps
            rates[turn, column] = taken / spent
    return rates


def _workloads(config: Config, task: Task) -> list[_Workload]:
    """Return the workloads: the simulator alone, and collecting.

    The network of a game is slower than the emulator. There, the second workload is collecting with random actions, and
    collecting with the policy is a third one.
    """
    if isinstance(task, AtariTask):
        return [_emulating(config, task), _playing_at_random(config, task), _collecting(config)]
    simulator = _simulating(config, task) if isinstance(task, RobotTask) else _stepping(config, task)
    return [simulator, _collecting(config)]


def _simulating(config: Config, task: RobotTask) -> _Workload:
    """Return a workload that repeats the controls of one batch of the untrained policy, on all cores in one call."""
    env = MujocoVectorEnv(task, config.rollout.environments, generator(0, "raw"))
    actor = Actor(config, generator(0, "raw actions"))
    _one_batch(env, actor, config)  # the robots have fallen, as in most of a session
    before = env.states.copy()
    controls = env.controls(_one_batch(env, actor, config).carried_out)
    env.close()
    model = env.model
    data = [mujoco.MjData(model) for _ in range(min(config.rollout.threads or available_cores(), env.count))]
    held = np.repeat(controls.transpose(1, 0, 2), task.frame_skip, axis=1)
    after = np.zeros((env.count, held.shape[1], before.shape[1]))
    pool = rollout.Rollout(nthread=len(data) if len(data) > 1 else 0)
    steps = controls.shape[0] * env.count
    return _Workload(steps, lambda: pool.rollout(model, data, before, held, state=after), pool.close)


def _one_batch(env: VectorEnv, act: Act, config: Config) -> RolloutBatch:
    return at_once(collect(env, act, config.rollout.steps))


def _stepping(config: Config, task: Task) -> _Workload:
    env = make_envs(task, config.rollout.environments, generator(0, "raw"))
    actions = np.random.default_rng(0).uniform(-1, 1, (env.count, env.sizes[1])).astype(np.float32)
    return _Workload(env.count, lambda: env.step(actions), env.close)


def _emulating(config: Config, task: AtariTask) -> _Workload:
    """Return a workload of ale-py's emulators on all cores, with random actions; their screens are ignored."""
    count = config.rollout.environments
    games = VectorEmulators(task.game, count, config.rollout.threads or available_cores())
    games.start(np.arange(count), np.arange(count))
    rng = np.random.default_rng(0)
    return _Workload(count, lambda: games.step(rng.integers(games.actions, size=count)))


def _collecting(config: Config) -> _Workload:
    """Return a workload that collects as the rollout does, segments included but without predicting rewards."""
    count = config.rollout.environments
    collectors = Collectors(config, np.zeros(count, np.int64), can_use_processes())
    return _Workload(count * config.rollout.steps, lambda: at_once(collectors.collect(0)), collectors.close)


def _playing_at_random(config: Config, task: AtariTask) -> _Workload:
    """Return a workload that collects with random actions instead of a network."""
    env = make_envs(task, config.rollout.environments, generator(0, "bench"), config.rollout.threads)
    act = _at_random(env, generator(0, "bench actions"))
    builder = SegmentBuilder(env, task.segment_steps, np.zeros(env.count, np.int64), task.pictures)
    steps = config.rollout.steps
    return _Workload(env.count * steps, lambda: at_once(collect(env, act, steps, builder)), env.close)


def _at_random(env: VectorEnv, rng: np.random.Generator) -> Act:
    choices = np.eye(env.sizes[1], dtype=np.float32)

    def act(observations: Observations) -> tuple[Float32, Float32]:
        count = len(observations)
        return choices[rng.integers(len(choices), size=count)], np.zeros(count, np.float32)

    return act


def _teaching(config: Config, steps: int | None) -> float:
    """Return the environment steps per second of a whole session, which takes minutes; a progress bar is drawn on stderr."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Session.create(Path(folder) / "bench", _session_config(config, steps))) as session,
        progress_bar(session.config, ()) as show,
        closing(HeadlessRun(session, show)) as run,
    ):
        outcome = run.run()
    return outcome.steps_taken / outcome.seconds


def _session_config(config: Config, steps: int | None) -> Config:
    """Return the config of a session of `steps` steps.

    None means a whole session for a robot, as fits take longer the more answers there are, and a short one otherwise.

    With pictures, the first fit would take most of such a short session, so it is reduced to one epoch. The later fits
    take the same time for any number of labels, because of config.reward.steps_per_label.
    """
    whole = replaced(config, teacher="oracle")
    task = get_task(config.task)
    if not task.pictures:
        usual = config.steps if isinstance(task, RobotTask) else min(config.steps, 200_000)
        return replaced(whole, steps=steps or usual)
    batch = config.rollout.environments * config.rollout.steps
    few = {"labels": 64, "query.first_labels": 32, "reward.epochs_first": 1}
    return replaced(whole, steps=steps or min(config.steps, _PICTURE_BATCHES * batch), **few)


def _fit_epoch() -> float:
    """Return the duration in seconds of one epoch over _FIT_PREFERENCES preferences of _FIT_STEPS steps, three members."""
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
