"""A process for the second of two crews, that gathers its half of a batch while the first gathers the other.

Each then has Python's lock for itself, and waits for the other once a batch instead of once a step.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from core.config import Config
from core.envs import shares
from core.envs.split_env import divided, united
from core.events import Arrays, JobState
from core.jobs.collectors import CollectorGroup, Ensemble, LocalCollectors, gathered
from core.nn.stacked_mlp import CPU
from core.nn.state import load_state_arrays, state_arrays
from core.nn.threads import set_num_threads
from core.reward.ensemble import build_ensemble
from core.rollout.collector import RolloutBatch, joined
from core.system.child_link import Link, belong_to_parent, portable, spawned
from core.tasks import get_task
from core.tasks.base import RobotTask
from core.types import Float32, Observations, Segment


def gathering(config: Config, stagger: np.ndarray, link: Link | None = None) -> CollectorGroup:
    """stagger (N,): steps that each environment skips before its first segment; link: a helper's."""
    return LocalCollectors(config, stagger) if link is None else _Apart(config, stagger, link)


def worth_a_helper(config: Config) -> bool:
    """Games have emulators in processes of their own already, and large pictures to pass."""
    task = get_task(config.task)
    return isinstance(task, RobotTask) and len(shares(task, config.rollout.environments)) > 1


class Helper:
    """A process for the second crew. It goes with the process that began it."""

    def __init__(self) -> None:
        self.process, self.link = spawned("crew", _help)

    def close(self) -> None:
        """It has nothing that would be lost. Safe to call twice."""
        self.process.kill()
        self.process.join()
        self.link.pipe.close()


class _Apart:
    """The first crew in this process, the second at the other end of the link. What is asked there is answered."""

    def __init__(self, config: Config, stagger: np.ndarray, link: Link) -> None:
        self._link = link
        self._counts = shares(get_task(config.task), config.rollout.environments)
        self._ask("begin", config.to_dict(), stagger)
        self._own = LocalCollectors(config, stagger, [0])
        self._divergences: int = self._answer()
        self._news: Arrays | None = None
        """Weights that the second crew doesn't have yet. They go with the next batch's order: all that is asked is
        answered, or the shared memory would be written to while it is read."""

    def _ask(self, name: str, *arguments: Any) -> None:
        """A process that is gone is noticed when it has no answer."""
        with contextlib.suppress(ConnectionError):
            self._link.tell((name, *arguments))

    def _answer(self) -> Any:
        """Raises what it failed of; ChildProcessError where it can't say so any more."""
        try:
            answer = self._link.hear(borrow=True)  # joined and united copy
        except (EOFError, OSError) as error:
            raise ChildProcessError("the process of its second crew has ended") from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def drawable(self) -> int:
        return self._own.drawable

    @property
    def divergences(self) -> int:
        return self._own.divergences + self._divergences

    def load(self, weights: Arrays) -> None:
        self._own.load(weights)
        self._news = weights

    def collect(self, env_steps: int) -> Iterator[RolloutBatch | None]:
        news, self._news = self._news, None
        self._ask("collect", env_steps, news)
        first: RolloutBatch | None = None
        for first in self._own.collect(env_steps):
            if first is None:
                yield None
        assert first is not None
        second, segments, self._divergences = self._answer()
        yield joined([first, replace(second, segments=_single(segments))])

    def predict(self, collected: RolloutBatch, ensemble: Ensemble) -> Float32:
        self._ask("predict", state_arrays(ensemble))
        return np.concatenate([self._own.predict(collected, ensemble), self._answer()], axis=2)

    def get_state(self) -> JobState:
        self._ask("get_state")
        own, other = self._own.get_state(), self._answer()
        return JobState(united([own.arrays, other.arrays]), {**own.values, **other.values})

    def set_state(self, state: JobState) -> None:
        own, other = divided(gathered(state.arrays), self._counts)
        self._ask("set_state", JobState(other, state.values))
        self._own.set_state(replace(state, arrays=own))
        self._divergences = self._answer()

    def close(self) -> None:
        """The other end closes with its process."""
        self._own.close()


def _help(link: Link) -> None:
    """Gathers with the second crew until nobody asks any more, or something fails."""
    belong_to_parent()
    set_num_threads(1)
    second = _Second()
    with contextlib.suppress(EOFError, OSError):  # of the pipe: what the crew raises is an answer
        while True:
            name, *arguments = link.hear()
            answer = _answered(getattr(second, name), arguments)
            link.tell(answer)
            if isinstance(answer, Exception):
                return


def _answered(call: Callable[..., object], arguments: list[Any]) -> object:
    try:
        return call(*arguments)
    except Exception as error:  # the boundary of the process: whoever asked is told
        told = portable(error)
        told.add_note(traceback.format_exc())  # for the log
        return told


class _Second:
    """What the second crew is asked for, and its answers. It keeps its last batch, to predict its rewards."""

    def begin(self, config: dict[str, Any], stagger: np.ndarray) -> int:
        own = Config.from_dict(config)
        self._crew, self._ensemble = LocalCollectors(own, stagger, [1]), build_ensemble(own, CPU)
        self._collected: RolloutBatch | None = None
        return self._crew.divergences

    def collect(self, env_steps: int, news: Arrays | None) -> tuple[RolloutBatch, _Stacked | None, int]:
        if news is not None:
            self._crew.load(news)
        *_, self._collected = self._crew.collect(env_steps)
        assert self._collected is not None
        unstacked = replace(self._collected, segments=[])
        return unstacked, _stacked(self._collected.segments), self._crew.divergences

    def predict(self, weights: Arrays) -> Float32:
        assert self._collected is not None
        load_state_arrays(self._ensemble, weights)
        return self._crew.predict(self._collected, self._ensemble)

    def get_state(self) -> JobState:
        return self._crew.get_state()

    def set_state(self, state: JobState) -> int:
        self._crew.set_state(state)
        return self._crew.divergences


@dataclass(frozen=True)
class _Stacked:
    """Segments on their way to another process: one by one they would take it longer than all else of a batch."""

    ids: list[int]
    env_steps: list[int]
    observations: Observations
    actions: Float32
    states: npt.NDArray[Any]
    true_rewards: Float32 | None


def _stacked(segments: Sequence[Segment]) -> _Stacked | None:
    """None of none."""
    if not segments:
        return None
    rewards = [segment.true_rewards for segment in segments if segment.true_rewards is not None]
    return _Stacked(
        [segment.id for segment in segments],
        [segment.env_steps for segment in segments],
        np.stack([segment.observations for segment in segments]),
        np.stack([segment.actions for segment in segments]),
        np.stack([segment.states for segment in segments]),
        np.stack(rewards) if rewards else None,
    )


def _single(stacked: _Stacked | None) -> list[Segment]:
    """Copies: one that is kept is not to keep all the others."""
    if stacked is None:
        return []
    rewards = stacked.true_rewards
    return [
        Segment(
            number,
            stacked.observations[i].copy(),
            stacked.actions[i].copy(),
            stacked.states[i].copy(),
            None if rewards is None else rewards[i].copy(),
            stacked.env_steps[i],
        )
        for i, number in enumerate(stacked.ids)
    ]
