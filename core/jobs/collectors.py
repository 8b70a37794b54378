"""All collectors of a session: the first in this process, the others in child processes or in this process too.

Each child process has a GIL of its own, and all are synchronized once per batch. The results are the same in both cases.
"""

from collections.abc import Generator
from itertools import accumulate

import numpy as np

from core.config import Config
from core.events import Arrays, JobState
from core.nn.threads import limit_threads
from core.rollout.collector import Collector, RolloutBatch, join_batches, shares
from core.system.child_process import ChildProcess, serve
from core.system.link import Link
from core.system.resources import available_cores, free_memory
from core.tasks import get_task
from core.types import Float32

_POLL_SECONDS = 0.05
"""Seconds between two yields to the caller while a child is still collecting."""
_CHILD_MEMORY = 500_000_000
"""Free memory in bytes that a collector's process requires; it takes about 300 MB."""


def can_use_processes() -> bool:
    """Return whether this machine has the cores and the memory for a collector in a process of its own."""
    free = free_memory()
    return available_cores() > 1 and (free is None or free > _CHILD_MEMORY)


class Collectors:
    """The collectors of a session as one. divergences: number of simulations that have failed and were restarted"""

    def __init__(self, config: Config, stagger: np.ndarray, processes: bool = False) -> None:
        """stagger (N,): steps that each environment skips before its first segment
        processes: run all collectors but the first in child processes
        """
        counts = shares(get_task(config.task), config.rollout.environments)
        starts = np.split(stagger, list(accumulate(counts))[:-1])
        local = 1 if processes else len(counts)
        threads = config.rollout.threads
        if processes:  # they run at the same time
            threads = max(1, (threads or available_cores()) // len(counts))
        self._children: list[ChildProcess] = []
        self.local: list[Collector] = []
        self._collecting = False
        self._late: dict[str, Arrays] = {}
        """Newest weights by method, held back while children collect: one that writes its batch does not read its link."""
        self.divergences = 0
        try:
            for number in range(local, len(counts)):
                child = ChildProcess(f"collector {number + 1}", _run_collector)
                self._children.append(child)
                child.start()
                child.send((config.to_dict(), number, starts[number], threads))
            self.local += [Collector(config, number, starts[number], threads) for number in range(local)]
        except BaseException:
            self.close()
            raise

    @property
    def state_size(self) -> int:
        """Width of a row of `states`, from which clips are drawn."""
        return self.local[0].env.sizes[2]

    def load_policy(self, weights: Arrays) -> None:
        """Act with this policy: in this process from the next step on, in child processes from the next batch on."""
        self._load("load_policy", weights)

    def load_reward(self, weights: Arrays) -> None:
        """Predict with this reward from now on, including the batch in progress."""
        self._load("load_reward", weights)

    def _load(self, method: str, weights: Arrays) -> None:
        if self._collecting:
            self._late[method] = weights
        else:
            self._request_load(method, weights)
        for collector in self.local:
            getattr(collector, method)(weights)

    def _request_load(self, method: str, weights: Arrays) -> None:
        for child in self._children:
            child.request(method, weights)

    def collect(self, env_steps: int) -> Generator[None, None, RolloutBatch]:
        """Collect a batch: yields None from time to time, and returns the batch.

        env_steps: environment steps of the session when the batch begins

        Raises any exception of a child, or ChildDiedError.
        """
        for child in self._children:
            child.request("collect", env_steps)
        self._collecting = True
        parts: list[RolloutBatch] = []
        for collector in self.local:
            parts.append((yield from collector.collect(env_steps)))
        for child in self._children:
            while not child.answered("collect", _POLL_SECONDS):
                yield None
            parts.append(child.answer("collect"))
        self._collecting = False
        for method, weights in self._late.items():
            self._request_load(method, weights)
        self._late.clear()
        joined = join_batches(parts)
        self.divergences = joined.divergences
        return joined

    def predict(self) -> Float32:
        """Return each member's rewards for the last batch, (M, T, N).

        Each collector predicts its own environments' rewards, since the number of rows decides how sums are rounded.
        """
        for child in self._children:
            child.request("predict")
        rewards = [collector.predict() for collector in self.local]
        return np.concatenate([*rewards, *(child.answer("predict") for child in self._children)], axis=2)

    def get_state(self) -> JobState:
        """Return the state of all collectors. May be called between two yields of `collect`."""
        for child in self._children:
            child.request("get_state")
        states = [collector.get_state() for collector in self.local]
        states += [child.answer("get_state") for child in self._children]
        arrays = {_name(i, name): values for i, state in enumerate(states) for name, values in state.arrays.items()}
        return JobState(arrays, {"collectors": [state.values for state in states]})

    def set_state(self, state: JobState) -> None:
        """Restore the state from `get_state`. Raises ValueError, KeyError or a child's exception if it does not fit."""
        values = state.values["collectors"]
        if len(values) != len(self.local) + len(self._children):
            raise ValueError(f"the state is not one of {len(self.local) + len(self._children)} collectors")
        parts = [JobState(state.under(_name(number, "")), own) for number, own in enumerate(values)]
        for child, part in zip(self._children, parts[len(self.local) :], strict=True):
            child.request("set_state", part)
        divergences = [collector.set_state(part) for collector, part in zip(self.local, parts, strict=False)]
        self.divergences = sum([*divergences, *(child.answer("set_state") for child in self._children)])

    def close(self) -> None:
        for child in self._children:
            child.close()
        for collector in self.local:
            collector.env.close()


def _name(number: int, name: str) -> str:
    return f"collector_{number}_{name}"


def _run_collector(link: Link) -> None:
    config, number, stagger, threads = link.receive()
    limit_threads(1)
    serve(link, Collector(Config.from_dict(config), number, stagger, threads))
