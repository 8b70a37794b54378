"""Two crews that gather a batch: by turns in one process, or the second in one of its own, really killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from core.jobs.collector_process import Helper, gathering, worth_a_helper

import core
from core.config import Config
from core.envs.base import Step
from core.events import Arrays, JobState
from core.jobs.collectors import CollectorGroup
from core.nn.stacked_mlp import CPU
from core.reward.ensemble import build_ensemble
from core.rollout.actor import build_policy
from core.rollout.collector import Collector, RolloutBatch, collect, joined
from core.rollout.segments import SegmentBuilder
from core.system.child_link import portable
from tests.core.builders import tiny

STEPS = 40
LENGTH = 45
"""Of the pendulum's segments."""


def config(**changes: Any) -> Config:
    return tiny(task="pendulum", rollout__environments=256, rollout__steps=STEPS, **changes)


Start = Callable[..., CollectorGroup]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:

        def begin(apart: bool, helpers: list[Helper] | None = None, **changes: Any) -> CollectorGroup:
            helper = Helper() if apart else None
            if helper:
                stack.callback(helper.close)
            if helper and helpers is not None:
                helpers.append(helper)
            chosen = config(**changes)
            made = gathering(chosen, np.arange(256) % LENGTH, helper.link if helper else None)
            stack.callback(made.close)
            made.load(weights(chosen))
            return made

        yield begin


def weights(chosen: Config, shift: float = 0.0) -> Arrays:
    arrays = build_policy(chosen).to_arrays()
    return {**arrays, "weights": arrays["weights"] + np.float32(shift)}


def batch(made: CollectorGroup, env_steps: int = 0) -> RolloutBatch:
    *_, collected = made.collect(env_steps)
    assert collected is not None
    return collected


def require_same(one: RolloutBatch, other: RolloutBatch) -> None:
    for name in ("observations", "actions", "log_probs", "true_rewards", "ends", "end_observations"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.last_observations, other.last_observations)
    assert one.finished == other.finished
    assert [segment.id for segment in one.segments] == [segment.id for segment in other.segments]
    for mine, its in zip(one.segments, other.segments, strict=True):
        assert mine.env_steps == its.env_steps
        assert np.array_equal(mine.observations, its.observations) and np.array_equal(mine.states, its.states)


def require_same_state(one: JobState, other: JobState) -> None:
    assert one.values == other.values and one.arrays.keys() == other.arrays.keys()
    assert all(np.array_equal(one.arrays[name], other.arrays[name]) for name in one.arrays)


def test_what_is_gathered_is_the_same_in_one_process_or_in_two(start: Start) -> None:
    """Ends of episodes, new weights and segments over several batches among it."""
    here, apart = start(False), start(True)
    ended = 0
    for number in range(4):
        mine, its = batch(here, number * 256 * STEPS), batch(apart, number * 256 * STEPS)
        require_same(mine, its)
        ended += int(mine.ends.sum())
        for made in (here, apart):
            made.load(weights(config(), 0.01 * number))
    assert ended and mine.segments and mine.finished
    require_same_state(here.get_state(), apart.get_state())
    assert here.drawable == apart.drawable == mine.segments[0].states.shape[1]


def test_what_is_predicted_is_the_same_in_one_process_or_in_two(start: Start) -> None:
    """By the weights of the moment, though the second crew has an ensemble of its own; and by all rows' own numbers."""
    here, apart = start(False), start(True)
    ensemble = build_ensemble(config(), CPU)
    for shift in (0.0, 0.5):
        ensemble.load_arrays({**ensemble.to_arrays(), "mean": ensemble.mean.numpy() + np.float32(shift)})
        mine, its = batch(here), batch(apart)
        told = here.predict(mine, ensemble)
        assert np.array_equal(told, apart.predict(its, ensemble))
        assert told == pytest.approx(ensemble.predict(mine.observations, mine.carried_out), abs=1e-5)
        assert told.std(axis=(1, 2)).min() > 0


@pytest.mark.parametrize("then", [False, True])
@pytest.mark.parametrize("before", [False, True])
def test_both_go_on_from_each_others_state(before: bool, then: bool, start: Start) -> None:
    first = start(before)
    batch(first)
    state = first.get_state()
    again = start(then)
    batch(again)
    again.set_state(state)
    for _ in range(2):
        require_same(batch(first), batch(again))


def test_segments_have_numbers_of_their_own_and_are_stamped_with_the_sessions_steps(start: Start) -> None:
    made = start(True)
    segments = [segment for number in range(4) for segment in batch(made, number * 256 * STEPS).segments]
    assert len({segment.id for segment in segments}) == len(segments) > 256
    assert all(segment.env_steps % 256 == 0 for segment in segments)
    assert min(segment.env_steps for segment in segments) == 256 * (len(segments[0].actions) - 1)
    assert max(segment.env_steps for segment in segments) > 256 * 3 * STEPS


def test_a_state_of_the_version_with_one_stream_for_all_is_taken(start: Start) -> None:
    made, again = start(False), start(False)
    for number in range(3):
        segments = batch(made, number * 256 * STEPS).segments
    state = made.get_state()
    older = {name: value for name, value in state.values.items() if not name.endswith("_1")}
    again.set_state(replace(state, values={**older, "next_id": 1000}))
    assert np.array_equal(again.get_state().arrays["env_states"], state.arrays["env_states"])
    numbers = [segment.id for number in range(3) for segment in batch(again, number * 256 * STEPS).segments]
    assert segments and min(numbers) > 1000 and len(set(numbers)) == len(numbers)


def test_nobody_asked_means_no_segments(start: Start) -> None:
    made = start(True, teacher="none")
    assert not any(batch(made, number * 256 * STEPS).segments for number in range(3))


def test_failed_simulations_of_both_crews_are_counted(start: Start) -> None:
    made, counted = start(True), start(False)
    state = made.get_state()
    spoiled = state.arrays["env_states"].copy()
    spoiled[[3, 200, 201], 1] = np.nan
    told = replace(state, arrays={**state.arrays, "env_states": spoiled})
    for each in (made, counted):
        each.set_state(told)
        batch(each)
        assert each.divergences == 3
    assert made.get_state().arrays["env_blow_ups"] == 3
    counted.set_state(made.get_state())
    assert counted.divergences == 3


def test_a_state_of_another_number_is_refused_here_and_there(start: Start) -> None:
    for apart in (False, True):
        made = start(apart)
        state = made.get_state()
        short = {name: array[:-1] if array.ndim else array for name, array in state.arrays.items()}
        with pytest.raises(ValueError, match="not one of 256 environments"):
            made.set_state(replace(state, arrays=short))


def test_what_the_second_crew_fails_of_is_raised_here(start: Start) -> None:
    made = start(True)
    made._news = {}  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match=r"^KeyError: 'weights'") as failed:
        batch(made)
    assert "load_arrays" in failed.value.__notes__[0]  # where it failed there
    assert portable(failed.value) is failed.value  # on its way to the session's own process it is told once


def test_a_killed_helper_is_told_of(start: Start) -> None:
    helpers: list[Helper] = []
    made = start(True, helpers)
    helpers[0].process.kill()
    helpers[0].process.join()
    made.load(weights(config()))
    with pytest.raises(ChildProcessError, match="second crew has ended"):
        batch(made)


def test_a_helper_ends_where_nobody_is_left_to_ask() -> None:
    helper = Helper()
    process = psutil.Process(helper.process.pid)
    helper.link.pipe.close()
    helper.process.join(20)
    assert helper.process.exitcode == 0
    assert not process.is_running()
    helper.close()


def test_a_helper_is_worth_it_for_robots_alone_that_are_many() -> None:
    assert worth_a_helper(config())
    assert not worth_a_helper(tiny(task="pendulum", rollout__environments=255))
    assert not worth_a_helper(tiny(task="pong", rollout__environments=16, query__first_labels=1))
    assert not worth_a_helper(tiny(task="gym:CartPole-v1", rollout__environments=300))


class Scripted:
    """An environment whose end is where the script has it."""

    discrete, depth, divergences = False, 1, 0

    def __init__(self, ends: list[list[int]], mark: float) -> None:
        """ends: in each step the rows that end"""
        self.count, self._ends, self._mark, self._time = 3, ends, mark, 0
        self.observations = np.full((3, 1), mark, np.float32)
        self.states, self.clip_available, self.sizes = np.zeros((3, 1)), np.ones(3, np.bool_), (1, 1, 1)

    def begin(self, actions: np.ndarray) -> None: ...

    def step(self, actions: np.ndarray) -> Any:
        rows = np.array(self._ends[self._time], np.int64)
        self._time += 1
        ended = np.isin(np.arange(3), rows)
        seen = (100 * self._time + self._mark + rows)[:, None].astype(np.float32)
        nothing = np.zeros(3, np.float32)
        return Step(self.observations, nothing, ended, seen, [], rows[:0], ended & False)


def act(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return observations, observations[:, 0]


def test_ends_side_by_side_are_joined_in_the_order_of_steps_and_rows() -> None:
    scripts = [[[2], [], [0, 1]], [[0], [1, 2], [2]]]

    def crews() -> list[Collector]:
        return [Collector(Scripted(script, 10.0 * i), act) for i, script in enumerate(scripts)]  # type: ignore[arg-type]

    *_, by_turns = collect(crews(), 3, 0)
    apart = [list(collect([crew], 3, 0))[-1] for crew in crews()]
    assert by_turns is not None
    together = joined([part for part in apart if part is not None])
    expected = [102, 110, 211, 212, 300, 301, 312]
    for found in (by_turns, together):
        assert found.end_observations[:, 0].tolist() == expected
        assert np.argwhere(found.ends).tolist() == [[0, 2], [0, 3], [1, 4], [1, 5], [2, 0], [2, 1], [2, 5]]


def test_each_crew_has_numbers_of_its_own() -> None:
    env = Scripted([], 0.0)
    numbers = []
    for i in range(2):
        cutter = SegmentBuilder(env, 1, np.zeros(3, np.int64), turn=(i, 2))
        rows = env.observations, env.observations, env.states, np.zeros(3, np.float32)
        flags = np.zeros(3, np.bool_), np.zeros(3, np.bool_), env.clip_available
        numbers.append([segment.id for segment in cutter.add(*rows, *flags, 0)])
    assert numbers == [[2, 4, 6], [3, 5, 7]]


def test_a_helper_ends_with_its_parent(tmp_path: Path) -> None:
    """Killed, not asked: so do all that a session began."""
    script = (
        "import sys, time\n"
        "from core.jobs.collector_process import Helper\n"
        "if __name__ == '__main__':\n"
        "    helper = Helper()\n"
        "    print(helper.process.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    file = tmp_path / "parent.py"
    file.write_text(script)
    parent = subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE, text=True, env=_with_core())
    assert parent.stdout
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    for _ in range(400):
        if not child.is_running() or child.status() == psutil.STATUS_ZOMBIE:
            break
        time.sleep(0.05)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def _with_core() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(core.__file__).parent.parent)}
