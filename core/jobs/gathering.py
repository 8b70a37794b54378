"""Who gathers a batch: one crew, or two with half of the environments each. These take turns in one process, or the
second has a process of its own, as Python's lock then is no concern of the first. What is gathered is the same.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any, Protocol

import numpy as np

from core.children import end_with_parent, portable, spawned
from core.config import Config
from core.disk import whole
from core.envs import make, make_share, shares
from core.envs.base import Environment, Film
from core.envs.halves import divided, parts_of, united
from core.events import Arrays, JobState
from core.jobs.acting import Actor
from core.parallel import allow
from core.rollout import Collected, Crew, collect, joined
from core.seeding import generator, restored, saved
from core.segments import SegmentCutter
from core.tasks import find
from core.tasks.base import RobotTask, Task

_FILM_ONE_IN = 4
"""Where segments must be filmed: of so many in a row one is, so that training isn't spent on drawing."""
_ENV, _CUTTER = "env_", "cutter_"


class Gathering(Protocol):
    """All environments of a session, with those who act in them."""

    @property
    def drawable(self) -> int:
        """Numbers in a row of what a clip is drawn from."""
        ...

    @property
    def blow_ups(self) -> int: ...

    def load(self, weights: Arrays) -> None:
        """Of the policy to act by."""
        ...

    def collect(self, env_steps: int) -> Iterator[Collected | None]:
        """A batch; yields None now and then, and the result last. env_steps: the session's count at its start."""
        ...

    def get_state(self) -> JobState: ...
    def set_state(self, state: JobState) -> None: ...
    def close(self) -> None: ...


def gathering(config: Config, stagger: np.ndarray, helper: Connection | None = None) -> Gathering:
    """stagger (N,): steps that each environment skips before its first segment; helper: to a process of Helper's."""
    return _Here(config, stagger) if helper is None else _Apart(config, stagger, helper)


def worth_a_helper(config: Config) -> bool:
    """Games have emulators in processes of their own already, and large pictures to pass."""
    task = find(config.task)
    return isinstance(task, RobotTask) and len(shares(task, config.rollout.environments)) > 1


class _Here:
    """The crews `numbers` of all, in this process."""

    def __init__(self, config: Config, stagger: np.ndarray, numbers: Sequence[int] | None = None) -> None:
        task = find(config.task)
        counts = shares(task, config.rollout.environments)
        self._numbers = range(len(counts)) if numbers is None else numbers
        self._config, self._all, self._crews = config, sum(counts), len(counts)
        self._env_rngs = [generator(config.seed, _named("environments", number)) for number in self._numbers]
        self._act_rngs = [generator(config.seed, _named("actions", number)) for number in self._numbers]
        self.env = self._made(task, counts)
        ends = np.cumsum(counts)
        self.actors = [Actor(config, rng) for rng in self._act_rngs]
        self.cutters = [
            SegmentCutter(
                part,
                config.query.length(task.segment_steps),
                stagger[ends[number] - part.count : ends[number]],
                task.pictures,
                (number, len(counts)),
            )
            for number, part in zip(self._numbers, parts_of(self.env), strict=True)
        ]

    def _made(self, task: Task, counts: Sequence[int]) -> Environment:
        acting = self._config.rollout
        if len(self._numbers) < len(counts):
            (number,), (rng,) = self._numbers, self._env_rngs
            return make_share(task, counts[number], rng, threads=1)
        length = self._config.query.length(task.segment_steps)
        film = Film(acting.filmed, length, _FILM_ONE_IN) if acting.filmed else None
        return make(task, acting.environments, self._env_rngs, acting.threads, film=film)

    @property
    def drawable(self) -> int:
        return self.env.sizes[2]

    @property
    def blow_ups(self) -> int:
        return self.env.blow_ups

    def load(self, weights: Arrays) -> None:
        for actor in self.actors:
            actor.load(weights)

    def collect(self, env_steps: int) -> Iterator[Collected | None]:
        asked = self._config.teacher != "none"
        crews = [
            Crew(part, actor, cutter if asked else None)
            for part, actor, cutter in zip(parts_of(self.env), self.actors, self.cutters, strict=True)
        ]
        return collect(crews, self._config.rollout.steps, env_steps, self._all)

    def get_state(self) -> JobState:
        cut = united([cutter.get_state() for cutter in self.cutters])
        arrays = {f"{_ENV}{name}": value.copy() for name, value in self.env.get_state().items()}
        arrays |= {f"{_CUTTER}{name}": value.copy() for name, value in cut.items()}
        values: dict[str, Any] = {}
        for number, cutter, env_rng, act_rng in self._each():
            values |= {_named("env_rng", number): saved(env_rng), _named("act_rng", number): saved(act_rng)}
            values[_named("next_id", number)] = cutter.next_id
        return JobState(arrays, values)

    def _each(self) -> Iterator[tuple[int, SegmentCutter, np.random.Generator, np.random.Generator]]:
        return zip(self._numbers, self.cutters, self._env_rngs, self._act_rngs, strict=True)

    def set_state(self, state: JobState) -> None:
        self.env.set_state(under(_ENV, state.arrays))
        cut = divided(under(_CUTTER, state.arrays), [part.count for part in parts_of(self.env)])
        for (number, cutter, env_rng, act_rng), own in zip(self._each(), cut, strict=True):
            next_id = _last_id(state.values, number, self._crews)
            if cutter.fits(own):  # else the segments that it was amid are lost
                cutter.set_state(own, next_id)
            cutter.next_id = next_id
            for name, rng in (("env_rng", env_rng), ("act_rng", act_rng)):
                if kept := state.values.get(_named(name, number)):  # an earlier version had one for all
                    restored(rng, kept)

    def close(self) -> None:
        self.env.close()


def _named(name: str, number: int) -> str:
    """As it was called where there was one of it for all."""
    return f"{name}_{number}" if number else name


def _last_id(values: Mapping[str, Any], number: int, crews: int) -> int:
    """The number of a crew's last segment. An earlier version counted those of all crews together."""
    if _named("next_id", crews - 1) in values:
        return whole(values[_named("next_id", number)])
    last = whole(values["next_id"])
    return last + (number - last) % crews


def under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Those whose names begin so, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


class Helper:
    """A process for the second crew. It goes with the process that began it."""

    def __init__(self) -> None:
        self.process, self.pipe = spawned("crew", _help)

    def close(self) -> None:
        """It has nothing that would be lost. Safe to call twice."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class _Apart:
    """The first crew in this process, the second at the other end of the pipe. What is asked there is done in order,
    and answered but for new weights."""

    def __init__(self, config: Config, stagger: np.ndarray, pipe: Connection) -> None:
        self._pipe = pipe
        self._counts = shares(find(config.task), config.rollout.environments)
        self._ask("begin", config.to_dict(), stagger)
        self._own = _Here(config, stagger, [0])
        self._blow_ups: int = self._answer()

    def _ask(self, name: str, *arguments: Any) -> None:
        """A process that is gone is noticed when it has no answer."""
        with contextlib.suppress(ConnectionError):
            self._pipe.send((name, *arguments))

    def _answer(self) -> Any:
        """Raises what it failed of; ChildProcessError where it can't say so any more."""
        try:
            answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise ChildProcessError("the process of its second crew has ended") from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def drawable(self) -> int:
        return self._own.drawable

    @property
    def blow_ups(self) -> int:
        return self._own.blow_ups + self._blow_ups

    def load(self, weights: Arrays) -> None:
        self._ask("load", weights)
        self._own.load(weights)

    def collect(self, env_steps: int) -> Iterator[Collected | None]:
        self._ask("collect", env_steps)
        first: Collected | None = None
        for first in self._own.collect(env_steps):
            if first is None:
                yield None
        assert first is not None
        second, self._blow_ups = self._answer()
        yield joined([first, second])

    def get_state(self) -> JobState:
        self._ask("get_state")
        own, other = self._own.get_state(), self._answer()
        return JobState(united([own.arrays, other.arrays]), {**own.values, **other.values})

    def set_state(self, state: JobState) -> None:
        own, other = divided(state.arrays, self._counts)
        self._ask("set_state", JobState(other, state.values))
        self._own.set_state(replace(state, arrays=own))
        self._blow_ups = self._answer()

    def close(self) -> None:
        """The other end closes with its process."""
        self._own.close()


def _help(pipe: Connection) -> None:
    """Gathers with the second crew until nobody asks any more, or something fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for those that are asked to end in order
    threading.Thread(target=end_with_parent, daemon=True).start()
    allow(1)
    second = _Second()
    with contextlib.suppress(EOFError, OSError):  # of the pipe: what the crew raises is an answer
        while True:
            name, *arguments = pipe.recv()
            answer = _answered(getattr(second, name), arguments)
            if answer is not None:
                pipe.send(answer)
            if isinstance(answer, Exception):
                return


def _answered(call: Callable[..., object], arguments: list[Any]) -> object:
    try:
        return call(*arguments)
    except Exception as error:  # the boundary of the process: whoever asked is told
        return portable(error)


class _Second:
    """What the second crew is asked for, and its answers."""

    def begin(self, config: dict[str, Any], stagger: np.ndarray) -> int:
        self._crew = _Here(Config.from_dict(config), stagger, [1])
        return self._crew.blow_ups

    def load(self, weights: Arrays) -> None:
        self._crew.load(weights)

    def collect(self, env_steps: int) -> tuple[Collected | None, int]:
        *_, collected = self._crew.collect(env_steps)
        return collected, self._crew.blow_ups

    def get_state(self) -> JobState:
        return self._crew.get_state()

    def set_state(self, state: JobState) -> int:
        self._crew.set_state(state)
        return self._crew.blow_ups
