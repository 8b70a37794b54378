"""Collecting: acting in environments, and recording batches for the policy and segments for the labeller."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from core.config import Config
from core.envs import make_envs
from core.envs.base import CaptureSchedule, FinishedEpisode, VectorEnv
from core.events import Arrays, JobState
from core.nn.device import device_for
from core.nn.state import load_state_arrays
from core.preferences.schedule import exploration_share
from core.reward.ensemble import build_ensemble
from core.rollout.actor import Actor
from core.rollout.exploration import StartVariety
from core.rollout.segments import SegmentBuilder
from core.seeding import generator, get_rng_state, set_rng_state
from core.tasks import get_task
from core.tasks.atari import AtariTask
from core.tasks.base import RobotTask, Task
from core.tasks.gymnasium import GymTask
from core.types import Float32, Observations, Segment, Teacher, require_count

T = TypeVar("T")
Act = Callable[[Observations], tuple[Float32, Float32]]
"""Maps observations (N, o) to actions (N, a) and their log probabilities (N,)."""
_STEPS_PER_YIELD = 16
"""Steps between two yields, at which the caller may stop, pause or read its inbox."""
_ROBOTS_TO_SHARE, _GAMES_TO_SHARE = 256, 8
"""Fewest environments for which two collectors are faster than one."""
_CAPTURE_ONE_IN = 4
"""Number of segments of which one is captured as pictures, if clips can't be rendered later: drawing is slow."""


@dataclass(frozen=True)
class RolloutBatch:
    """T steps of N environments.

    observations (T, N, o): before each step
    actions (T, N, a) and log_probs (T, N): as sampled, before clipping
    true_rewards (T, N): only for the oracle, the metrics and the baseline
    ends (T, N) bool; end_observations (number of ends, o): in order of time, then environment
    last_observations (N, o): after the last step
    divergences: number of simulations that failed and were restarted, since the session began
    """

    observations: Observations
    actions: Float32
    log_probs: Float32
    true_rewards: Float32
    ends: np.ndarray
    end_observations: Observations
    last_observations: Observations
    segments: list[Segment]
    finished: list[FinishedEpisode]
    divergences: int

    @property
    def carried_out(self) -> Float32:
        """(T, N, a), actions as the environments took them: clipped to [-1, 1]."""
        return np.clip(self.actions, -1, 1)


def collect(
    env: VectorEnv, act: Act, steps: int, builder: SegmentBuilder | None = None, env_steps: int = 0, stride: int = 0
) -> Generator[None, None, RolloutBatch]:
    """Take `steps` steps in each of N environments. Yields None from time to time; returns the batch.

    builder: cuts the steps into segments; None if no query will be asked
    env_steps: the session's steps when the batch starts, from which the segments' env_steps are counted
    stride: number by which one step increases the session's steps; 0 for N
    """
    count, size = env.count, env.sizes[1]
    seen = np.empty((steps, *env.observations.shape), env.observations.dtype)
    actions = np.zeros((steps, count, size), np.float32)
    log_probs, true_rewards = np.zeros((2, steps, count), np.float32)
    ends = np.zeros((steps, count), np.bool_)
    end_observations: list[Observations] = []
    segments: list[Segment] = []
    finished: list[FinishedEpisode] = []
    for t in range(steps):
        observations, states, clip_available = env.observations, env.states, env.clip_available
        seen[t] = observations
        actions[t], log_probs[t] = act(observations)
        step = env.step(actions[t])
        true_rewards[t], ends[t] = step.true_rewards, step.ended
        end_observations.append(step.end_observations)
        finished += step.finished
        if builder is not None:
            carried_out: Float32 = np.clip(actions[t], -1, 1)
            taken = env_steps + t * (stride or count)
            segments += builder.add(observations, carried_out, states, step, clip_available, taken)
        if t % _STEPS_PER_YIELD == _STEPS_PER_YIELD - 1 and t < steps - 1:
            yield None
    return RolloutBatch(
        seen,
        actions,
        log_probs,
        true_rewards,
        ends,
        np.concatenate(end_observations),
        env.observations,
        segments,
        finished,
        env.divergences,
    )


def at_once(collecting: Generator[None, None, T]) -> T:
    """Run a generator to its end and return its result."""
    while True:
        try:
            next(collecting)
        except StopIteration as end:
            result: T = end.value
            return result


def join_batches(parts: Sequence[RolloutBatch]) -> RolloutBatch:
    """Join batches with the same number of steps to one batch of the environments of all."""
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts], axis=1)
        for name in ("observations", "actions", "log_probs", "true_rewards", "ends")
    }
    times = np.concatenate([np.nonzero(part.ends)[0] for part in parts])
    end_observations: Observations = np.concatenate([part.end_observations for part in parts])
    return RolloutBatch(
        **joined,
        end_observations=end_observations[np.argsort(times, kind="stable")],
        last_observations=np.concatenate([part.last_observations for part in parts]),
        segments=[segment for part in parts for segment in part.segments],
        finished=[episode for part in parts for episode in part.finished],
        divergences=sum(part.divergences for part in parts),
    )


def shares(task: Task, environments: int) -> tuple[int, ...]:
    """Return the number of environments of each collector; independent of the machine, so that results are too."""
    least = {RobotTask: _ROBOTS_TO_SHARE, AtariTask: _GAMES_TO_SHARE}
    shared = any(isinstance(task, kind) and environments >= count for kind, count in least.items())
    return _divide(environments, 2 if shared else 1)


def _divide(total: int, parts: int) -> tuple[int, ...]:
    """Divide a number into parts that are as equal as possible, the larger ones first."""
    return tuple((total + parts - 1 - number) // parts for number in range(parts))


def _capture_one_in(task: Task, length: int) -> int:
    """Return the number of segments of `length` steps of which one is captured as pictures.

    Less for a Gymnasium environment of which not every step is drawn. All, if a segment takes half of an episode or more:
    few would lie between two ends of episodes.
    """
    if not isinstance(task, GymTask):
        return _CAPTURE_ONE_IN
    return 1 if 2 * length >= task.episode_steps else max(1, _CAPTURE_ONE_IN // task.steps_per_picture)


def segment_period(config: Config, task: Task) -> int:
    """Return the steps from the start of a segment to that of the next one: for a robot, at least the task's usual length.

    So the pool covers as much time if segments are shorter.
    """
    length = config.query.length(task.segment_steps)
    return max(length, task.segment_steps) if isinstance(task, RobotTask) else length


class Collector:
    """One collector's share of a session's environments, with its actor, random streams and segment builder.

    Its results depend only on the config and its number, not on the process in which it runs, nor on threads.
    """

    def __init__(self, config: Config, number: int, stagger: np.ndarray, threads: int = 0) -> None:
        """stagger (N,): steps that each of its environments skips before its first segment
        threads: number of threads for the simulation; 0 for one per core
        """
        task = get_task(config.task, config.true_reward)
        counts = shares(task, config.rollout.environments)
        captured = _divide(config.rollout.captured_envs, len(counts))
        length = config.query.length(task.segment_steps)
        capture = CaptureSchedule(captured[number], length, _capture_one_in(task, length), sum(captured[:number]))
        suffix = f"_{number}" if number else ""
        self._env_rng = generator(config.seed, f"environments{suffix}")
        self._act_rng = generator(config.seed, f"actions{suffix}")
        self.env = make_envs(
            task,
            counts[number],
            self._env_rng,
            threads,
            capture=capture if config.rollout.captured_envs else None,
            varied_starts=config.rollout.varied_starts * exploration_share(config),
        )
        self._actor = Actor(config, self._act_rng)
        self._ensemble = build_ensemble(config, device_for(config))
        gap = segment_period(config, task) - length
        recorded = config.rollout.captured_envs and not isinstance(task, RobotTask)
        shown = min(captured[number], counts[number]) if recorded else None
        turn = (number, len(counts))
        self._builder = SegmentBuilder(self.env, length, stagger, task.pictures, turn, gap, shown)
        self._config, self._environments = config, sum(counts)
        self._batch: RolloutBatch | None = None
        self._variety = StartVariety()

    def load_policy(self, weights: Arrays) -> None:
        self._actor.load(weights)

    def load_reward(self, weights: Arrays) -> None:
        load_state_arrays(self._ensemble, weights)

    def collect(self, env_steps: int) -> Generator[None, None, RolloutBatch]:
        """Collect a batch. Yields None from time to time; returns the batch. env_steps: the session's steps before it"""
        config = self._config
        builder = None if config.teacher == Teacher.NONE else self._builder
        steps, every = config.rollout.steps, self._environments
        self._batch = yield from collect(self.env, self._actor, steps, builder, env_steps, every)
        return self._batch

    def predict(self) -> Float32:
        """Return each member's rewards for the last batch, (M, T, N), with the reward weights loaded last.

        Call it once for each batch: varied starts end if, by these rewards, they show no better behaviour than the others.
        """
        assert self._batch is not None
        raw = self._ensemble.predict(self._batch.observations, self._batch.carried_out)
        if self.env.varies_starts:
            self.env.varies_starts = self._variety.shows_more(raw, self.env.varied)
        return raw

    def get_state(self) -> JobState:
        arrays = {f"env_{name}": value.copy() for name, value in self.env.get_state().items()}
        arrays |= {f"builder_{name}": value.copy() for name, value in self._builder.get_state().items()}
        values: dict[str, Any] = {"env_rng": get_rng_state(self._env_rng), "act_rng": get_rng_state(self._act_rng)}
        return JobState(arrays, {**values, "next_id": self._builder.last_id, "variety": self._variety.lead})

    def set_state(self, state: JobState) -> int:
        """Restore the state from `get_state`; returns the number of divergences. Raises ValueError if sizes do not fit."""
        env, builder = state.under("env_"), state.under("builder_")
        if any(values.ndim and len(values) != self.env.count for values in env.values()):
            raise ValueError(f"the state is not one of {self.env.count} environments")
        self.env.set_state(env)
        self._builder.set_state(builder, require_count(state.values["next_id"]))
        set_rng_state(self._env_rng, state.values["env_rng"])
        set_rng_state(self._act_rng, state.values["act_rng"])
        self._variety.lead = float(state.values["variety"])
        return self.env.divergences
