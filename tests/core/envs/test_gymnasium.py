"""Gymnasium environments as tasks: small synthetic ones and Gymnasium's own."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

from core.config import Config
from core.envs import make_envs, steps_per_second
from core.envs.base import CaptureSchedule
from core.envs.gymnasium import GymVectorEnv
from core.envs.renderer import renderer_for
from core.errors import UserError
from core.events import DemonstrationRecorded, JobSpec, QueryOffered, RolloutReported
from core.headless.run import HeadlessRun
from core.headless.settings import named_task
from core.io.image_codec import ROW_BYTES, decode_image
from core.jobs import build
from core.nn.state import state_arrays
from core.rollout.actor import build_policy
from core.rollout.collector import Collector, at_once
from core.rollout.episodes import demonstrate, evaluate
from core.service_events import ReplayRefused, ReplayRequested
from core.session.session import Session
from core.tasks import get_task
from tests.core.builders import tiny
from tests.core.gym_toys import NUMBERS, Walk
from tests.screens import ROOT, run_python

STEADY = CaptureSchedule(1, 10**6)
"""The first environment, all the time."""


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    gymnasium.register("Walk-v0", Walk)
    yield
    del gymnasium.registry["Walk-v0"]


def registered(**given: Any) -> None:
    gymnasium.registry["Walk-v0"].kwargs = given


@pytest.fixture
def batch() -> Iterator[Callable[..., GymVectorEnv]]:
    made: list[GymVectorEnv] = []

    def build(
        name: str = "gym:Walk-v0",
        environments: int = 2,
        seed: int = 0,
        capture: CaptureSchedule | None = None,
        rng: np.random.Generator | None = None,
        **given: Any,
    ) -> GymVectorEnv:
        task = get_task(name)
        rng = rng or np.random.default_rng(seed)
        env = make_envs(task, environments, rng, capture=capture, **{"staggered": False, **given})
        made.append(env)
        return env

    yield build
    for env in made:
        env.close()


MakeBatch = Callable[..., GymVectorEnv]


def test_actions_are_scaled_to_the_bounds_and_clipped(batch: MakeBatch) -> None:
    env = batch(environments=3)
    assert not env.discrete and env.sizes == (2, 2, 0)
    rewards = env.step(np.array([[-1, 0], [0.5, 0], [7, 0]], np.float32)).true_rewards
    assert rewards.tolist() == [-2, 1, 2]


@pytest.mark.parametrize(
    ("kind", "low", "high", "taken"),
    [(np.int8, -100, 100, {-100: 1, 0: 1, 100: 1}), (np.int64, 0, 3, {0: 250, 1: 250, 2: 250, 3: 250})],
)
def test_integers_of_a_box_are_equally_likely(
    batch: MakeBatch, kind: Any, low: int, high: int, taken: dict[int, int]
) -> None:
    registered(done=Box(low, high, (1,), kind))
    env = batch(environments=1)
    actions = np.linspace(-1, 1, 2 * len(range(low, high)) + 1 if kind is np.int8 else 1000, dtype=np.float32)
    own = env.controls(actions[:, None])
    assert own.dtype == kind and own.min() == low and own.max() == high
    numbers = own.ravel().tolist()
    assert all(abs(numbers.count(number) - times) <= 2 for number, times in taken.items())


def test_a_discrete_action_is_the_largest_of_a_row(batch: MakeBatch) -> None:
    registered(done=Discrete(3, start=5))
    env = batch(environments=3)
    assert env.discrete and env.sizes[1] == 3
    rewards = env.step(np.eye(3, dtype=np.float32)).true_rewards
    assert rewards.tolist() == [5, 6, 7]


def test_multidimensional_observations_and_actions_are_flattened(batch: MakeBatch) -> None:
    table = Box(np.float32([[-1.0, 0.0], [0.0, 0.0]]), np.float32([[1.0, 10.0], [4.0, 2.0]]))
    registered(seen=Box(-10, 10, (2, 1), np.float64), done=table)
    env, again = batch(environments=3), batch(environments=3, seed=1)
    assert env.sizes == (2, 4, 0) and env.observations.shape == (3, 2)
    rewards = env.step(np.array([[-1, 0, 0, 0], [0.5, 0, 0, 0], [7, 0, 0, 0]], np.float32)).true_rewards
    assert rewards.tolist() == [-1, 0.5, 1]
    again.set_state({key: np.array(array) for key, array in env.get_state().items()})
    assert np.array_equal(again.observations, env.observations) and env.observations[:, 0].tolist() == [1, 1, 1]


def forward(env: GymVectorEnv, steps: int) -> list[Any]:
    return [env.step(np.ones((env.count, env.sizes[1]), np.float32)) for _ in range(steps)]


def test_a_terminated_attempt_rests_and_restarts_within_the_episode(batch: MakeBatch) -> None:
    registered(life=4)
    env = batch(environments=1)
    rest = env.task.rest_steps
    steps = forward(env, 4 + rest + 5)
    ages = [int(step.observations[0, 0]) for step in steps]
    assert ages == [1, 2, 3, 4, *[4] * (rest - 1), 0, 1, 2, 3, 4, 4]
    rewards = [float(step.true_rewards[0]) for step in steps]
    assert rewards == [2] * 4 + [0] * rest + [2] * 4 + [0]
    assert not any(step.ended.any() for step in steps)


def test_episodes_have_one_length_and_the_learner_sees_no_other_end(batch: MakeBatch) -> None:
    registered(life=4)
    env = batch(environments=1)
    length = env.task.episode_steps
    steps = forward(env, 2 * length)
    assert np.flatnonzero([step.ended[0] for step in steps]).tolist() == [length - 1, 2 * length - 1]
    ((total, figures),) = steps[length - 1].finished
    assert total == figures["return_per_episode"] == sum(float(step.true_rewards[0]) for step in steps[:length])
    assert figures["attempts_per_episode"] == np.ceil(length / (4 + env.task.rest_steps))
    assert steps[length - 1].observations[0, 0] == 0 < steps[length - 1].end_observations[0, 0]


def test_the_environments_own_time_limit_does_not_count(batch: MakeBatch) -> None:
    gymnasium.registry["Walk-v0"].max_episode_steps = 5
    steps = forward(batch(environments=1), 20)
    assert [int(step.observations[0, 0]) for step in steps] == list(range(1, 21))


def test_ends_are_spread_over_time_and_partial_episodes_not_reported(batch: MakeBatch) -> None:
    env = batch(environments=3, staggered=True)
    steps = forward(env, env.task.episode_steps)
    ends = np.stack([step.ended for step in steps])
    assert sorted(np.flatnonzero(column)[0] for column in ends.T) == [99, 199, 299]
    assert [len(step.finished) for step in steps if step.ended.any()] == [0, 0, 1]


@pytest.mark.parametrize("fault", ["nan_at", "fortune_at"])
def test_a_value_that_is_not_finite_ends_the_episode_unreported(fault: str, batch: MakeBatch) -> None:
    """A reward beyond single precision would become infinite in the learner."""
    registered(**{fault: 3})
    env = batch(environments=1)
    steps = forward(env, 4)
    assert env.divergences == 1
    assert [bool(step.diverged[0]) for step in steps] == [False, False, True, False]
    assert [bool(step.ended[0]) for step in steps] == [False, False, True, False]
    assert all(np.isfinite(step.observations).all() and np.isfinite(step.true_rewards).all() for step in steps)
    assert not any(step.finished for step in steps)


@pytest.mark.parametrize("resets", ["by MuJoCo", "by itself"])
def test_a_silent_reset_by_mujoco_ends_the_episode(
    resets: str, batch: MakeBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment that resets its positions by itself keeps MuJoCo's counters of warnings."""
    from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv

    do_simulation, calls = HalfCheetahEnv.do_simulation, count()
    if resets == "by itself":
        monkeypatch.setattr(HalfCheetahEnv, "reset", lambda self, **given: (self.reset_model(), {}))

    def breaking(self: HalfCheetahEnv, *given: Any) -> None:
        if next(calls) == 2 * 3 + 1:  # the second of three environments, in the third step
            self.data.qvel[0] = np.nan
        do_simulation(self, *given)

    monkeypatch.setattr(HalfCheetahEnv, "do_simulation", breaking)
    env = batch("gym:HalfCheetah-v5", 3)
    forward(env, 2)
    before = env.observations
    (step,) = forward(env, 1)
    assert step.ended.tolist() == step.diverged.tolist() == [False, True, False] and env.divergences == 1
    assert np.array_equal(step.end_observations, before[1:2]) and step.true_rewards[1] == 0
    assert step.finished == [] and np.isfinite(step.observations).all()
    assert not any(step.diverged.any() for step in forward(env, 5)) and env.divergences == 1


def test_only_captured_environments_are_rendered_to_clips(batch: MakeBatch) -> None:
    env = batch(environments=3, capture=STEADY)
    assert env.sizes[2] == ROW_BYTES and env.clip_available.tolist() == [True, False, False]
    states = []
    for _ in range(10):
        states.append(env.states[0])
        forward(env, 1)
    assert not env.states[1:].any()
    with closing(renderer_for(env.task)) as renderer:
        frames = renderer.render(np.stack(states), 64, 40.0)
        film = np.stack(list(renderer.pictures(np.stack(states), 64, 40.0)))
    assert frames.fps == 20 and frames.pixels.shape == (10, 64, 64, 3)  # half a second, without repetitions
    assert frames.pixels[:, 32, 32, 0].tolist() == [10 * age for age in range(10)]
    assert (film[::2] == frames.pixels).all() and (film[1::2] == frames.pixels).all()
    assert (frames.pixels[-1, 0] == 0).all() and (frames.pixels[-1, 32] > 0).all()  # fitted to the width


def test_closing_a_mujoco_environment_keeps_the_renderers_of_the_others(batch: MakeBatch) -> None:
    first = batch("gym:HalfCheetah-v5", 1, capture=STEADY)
    for _ in range(2):
        make_envs(first.task, 1, np.random.default_rng(0), capture=STEADY).close()
        gc.collect()
        forward(first, 1)
        picture = decode_image(first.states[0])
        assert picture is not None and picture.mean() > 50


def test_closing_an_environment_leaves_a_library_that_others_use_running(batch: MakeBatch) -> None:
    env = batch(capture=STEADY)
    for _ in range(2):
        act = lambda seen: (np.zeros((len(seen), 2), np.float32), np.zeros(len(seen), np.float32))  # noqa: E731
        episode = at_once(demonstrate(env.task, act, np.random.default_rng(1)))
        assert episode is not None and episode.segment.states[:, 0].all()
        forward(env, 1)
    assert Walk.library_runs
    env.close()
    assert not Walk.library_runs


@pytest.mark.parametrize(
    "infos",
    [
        [{"n": 1}, {"n": None}, {"n": "three"}],
        [{"legal": np.arange(2)}, {"legal": np.arange(3)}],
        [{"more": {}}, {"more": None}],
    ],
)
def test_infos_of_any_type_and_rewards_in_arrays_are_accepted(batch: MakeBatch, infos: list[Any]) -> None:
    registered(infos=infos, paid_in_arrays=True, life=5)
    env = batch(environments=3)
    steps = forward(env, 40)
    assert steps[0].true_rewards.tolist() == [2, 2, 2]


@pytest.mark.parametrize("clip_seconds", [10, 5])
def test_clips_of_half_an_episode_or_more_are_recorded(clip_seconds: int) -> None:
    text = {"name": "walk", "title": "Walk", "instruction": "Which one walks better?", "robot": "gym:Walk-v0@30"}
    task = json.dumps({**text, "clip_seconds": clip_seconds})
    config = tiny(task=task, rollout__environments=4, rollout__captured_envs=2, rollout__steps=300)
    collector = Collector(config, 0, np.zeros(4, np.int64), 1)
    segments = [segment for _ in range(3) for segment in at_once(collector.collect(0)).segments]
    assert len(segments) >= 2 * 2 and all(segment.states[:, 0].all() for segment in segments)
    assert {len(segment.states) for segment in segments} == {30 * clip_seconds}
    collector.env.close()


def test_each_captured_environment_records_one_stretch_in_four(batch: MakeBatch) -> None:
    env = batch(environments=4, capture=CaptureSchedule(2, 5, 4))
    seen, pictured = [env.clip_available], [env.states[:, 0] > 0]
    for _ in range(39):
        forward(env, 1)
        seen.append(env.clip_available)
        pictured.append(env.states[:, 0] > 0)
    stretches = np.stack(seen)[::5]
    assert [np.flatnonzero(column).tolist() for column in stretches.T] == [[0, 4], [3, 7], [], []]
    assert (np.repeat(stretches, 5, axis=0) == np.stack(seen)).all()
    assert (np.stack(pictured) == np.stack(seen)).all()


def test_every_picture_shows_the_observed_state_even_if_a_recording_begins_in_a_rest(batch: MakeBatch) -> None:
    registered(life=7)
    env = batch(environments=2, capture=CaptureSchedule(2, 5, 4))
    begun_in_rest = 0
    for _ in range(200):
        before = env.clip_available
        forward(env, 1)
        for row in np.flatnonzero(env.clip_available):
            age = int(env.observations[row, 0])
            assert decode_image(env.states[row])[30, 45, 0] == 10 * age
            begun_in_rest += not before[row] and age == 7
    assert begun_in_rest > 3


def test_a_fast_environment_has_25_pictures_a_second_and_one_of_each_end(batch: MakeBatch) -> None:
    registered(life=12)
    env = batch("gym:Walk-v0@75", capture=STEADY, environments=1)
    rest, ages = env.task.rest_steps, []
    for _ in range(12 + rest + 4):
        forward(env, 1)
        picture = decode_image(env.states[0])
        assert picture is not None
        ages.append(int(picture[30, 45, 0]) // 10)
    assert ages[:12] == [0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9, 12] and set(ages[12 : 11 + rest]) == {12}
    assert ages[11 + rest :][:2] == [0, 0]


@pytest.mark.parametrize(
    ("given", "rate"),
    [
        *((50, 50), (12.5, 12.5), (np.int64(50), 50), (np.float32(12.5), 12.5)),
        *((1000, 125), (0.1, 1), (None, 20), ("fast", 20), (0, 20), (-5, 20)),
    ],
)
def test_the_rate_is_the_render_rate_of_the_environment(given: Any, rate: float) -> None:
    registered(shown_at=given)
    assert steps_per_second("Walk-v0") == rate


def test_a_task_named_on_the_command_line_is_at_the_environments_own_rate() -> None:
    assert (
        named_task("gym:Hopper-v5") == "gym:Hopper-v5@125" and named_task("gym:Pendulum-v1@15") == "gym:Pendulum-v1@15"
    )
    with pytest.raises(UserError, match="No environment named Nowhere-v0"):
        named_task("gym:Nowhere-v0")


def lived(env: GymVectorEnv, steps: int, seed: int) -> list[Any]:
    """Act at random, and return everything that the environment reports."""
    rng, seen = np.random.default_rng(seed), []
    for _ in range(steps):
        step = env.step(rng.uniform(-1, 1, (env.count, env.sizes[1])).astype(np.float32))
        seen += [step.observations, step.true_rewards, step.ended, step.end_observations, step.finished_rows]
        seen += [np.array([total for total, _ in step.finished]), env.states, env.clip_available]
    return seen


@pytest.mark.slow_after_first
@pytest.mark.parametrize("steps", [4, 300])
@pytest.mark.parametrize("name", ["gym:Walk-v0", "gym:CartPole-v1"])
def test_a_resumed_environment_continues_as_if_never_stopped(batch: MakeBatch, name: str, steps: int) -> None:
    if name == "gym:Walk-v0":
        registered(life=4)
    capture = CaptureSchedule(2, 5, 3) if name == "gym:Walk-v0" else None
    rngs = np.random.default_rng(0), np.random.default_rng(1)
    env, again = (batch(name, 3, capture=capture, staggered=True, rng=rng) for rng in rngs)
    lived(env, steps, 1)
    again.set_state({key: np.array(array) for key, array in env.get_state().items()})
    rngs[1].bit_generator.state = rngs[0].bit_generator.state
    assert np.array_equal(again.observations, env.observations) and np.array_equal(again.states, env.states)
    for mine, its in zip(lived(again, 320, 2), lived(env, 320, 2), strict=True):
        assert np.array_equal(mine, its)


def test_pictures_are_drawn_silently_without_a_display() -> None:
    code = (
        "from numpy.random import default_rng as rng; from core.tasks import get_task; from core.envs import make_envs;"
    )
    code += "from core.envs.base import CaptureSchedule as Schedule;"
    code += "print(make_envs(get_task('gym:CartPole-v1'), 1, rng(), capture=Schedule(1, 1)).states.any())"
    done = run_python("-c", code, XDG_RUNTIME_DIR="", DISPLAY="", WAYLAND_DISPLAY="")
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_nondeterministic_environment_restarts_differently_after_a_resume(batch: MakeBatch) -> None:
    registered(moody=True)
    env, again = batch(), batch()
    first = env.observations[:, 1].tolist()
    forward(env, 7)
    again.set_state({name: np.array(array) for name, array in env.get_state().items()})
    assert again.observations[:, 0].tolist() == [0, 0] and again.observations[:, 1].tolist() != first
    assert not again.clip_available.any()  # no clip continues from one attempt to another
    forward(again, 1)
    assert again.clip_available.all()
    steps = forward(again, again.task.episode_steps - 1)
    assert np.flatnonzero([step.ended.all() for step in steps]).tolist() == [again.task.episode_steps - 9]
    assert not any(step.finished for step in steps)  # no attempt was seen as a whole


def test_attempts_that_end_earlier_in_a_replay_start_again(batch: MakeBatch) -> None:
    registered(life=9)
    env = batch()
    forward(env, 7)
    registered(life=4)  # as an environment with hidden randomness
    again = batch(environments=2)
    again.set_state({name: np.array(array) for name, array in env.get_state().items()})
    assert again.observations[:, 0].tolist() == [0, 0] and not again.clip_available.any()


def test_an_observation_is_compared_with_the_precision_of_its_space(batch: MakeBatch) -> None:
    registered(seen=Box(-10, 10, (2,), np.float16))
    env, again = batch(), batch(seed=1)
    forward(env, 3)
    again.set_state({name: np.array(array) for name, array in env.get_state().items()})
    assert again.observations[:, 0].tolist() == [3, 3] and again.clip_available.all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seen": Dict({"a": NUMBERS})}, "Dict"),
        ({"seen": Box(-1, 1, (0,))}, "1 to 4,096 numbers"),
        ({"seen": Box(-1, 1, (5000,))}, "1 to 4,096 numbers"),
        ({"done": Box(-1, 1, (0,))}, "only bounded Box"),
        ({"seen": Box(0, 255, (84, 84, 3), np.uint8)}, r"\(84, 84, 3\)"),
        ({"done": MultiDiscrete([2, 2])}, "MultiDiscrete"),
        ({"done": Box(-np.inf, np.inf, (2,))}, "bounded"),
        ({"bogus": 1}, "bogus"),
        ({"fails_at": 0}, "the wheels came off"),
        ({"nan_at": 0}, "starts with an observation that is not a finite number"),
    ],
)
def test_an_unteachable_environment_is_reported_in_one_sentence(
    batch: MakeBatch, given: dict[str, Any], words: str
) -> None:
    registered(**given)
    with pytest.raises(UserError, match=words) as refused:
        forward(batch(), 1)
    assert "gym:Walk-v0" in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Nowhere-v0", "No environment named Nowhere-v0: .* by an installed package"),
        ("CartPole-v9", r"^No environment named CartPole-v9: .* \[ `v0`, `v1` \]\.$"),
        ("CartPole", "gym:CartPole has no version: write gym:CartPole-v1."),
        ("somewhere:Walk-v0", "gym:somewhere:Walk-v0 names a module"),
        ("ALE/Pong-v5", "^gym:ALE/Pong-v5 is an Atari game: .*such as pong"),
    ],
)
def test_an_unknown_gymnasium_task_is_reported(batch: MakeBatch, name: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        batch(f"gym:{name}")


def test_an_environment_that_cannot_render_is_reported(batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {
        "no pictures": None,
        r"pictures of float64 with the shape \(60, 90, 3\): clips need uint8": np.zeros((60, 90, 3)),
        r"pictures of uint8 with the shape \(60, 90, 4\): .* with the shape \(height, width, 3\)": np.zeros(
            (60, 90, 4), np.uint8
        ),
    }
    for words, picture in wrong.items():
        monkeypatch.setattr(Walk, "render", lambda self, picture=picture: picture)
        with pytest.raises(UserError, match=words):
            batch(capture=STEADY)


def taught(session: Session) -> tuple[list[Any], Any]:
    """Return the events and the outcome of a session, or of the rest of it."""
    events: list[Any] = []
    run = HeadlessRun(session, events.append)
    outcome = run.run()
    run.close()
    return events, outcome


@pytest.fixture
def create(tmp_path: Path) -> Iterator[Callable[[Config], Session]]:
    made: list[Session] = []

    def new(config: Config) -> Session:
        made.append(Session.create(tmp_path / "s", config))
        return made[-1]

    yield new
    for session in made:
        session.close()


Create = Callable[[Config], Session]


def test_divergences_are_counted_to_the_end(create: Create) -> None:
    registered(nan_at=3)  # in each of the 8 environments every 3 steps
    config = tiny(task="gym:Walk-v0", teacher="none", steps=8 * 32 * 2, rollout__demonstrate_every=1)
    events, outcome = taught(create(config))
    assert [event.divergences for event in events if isinstance(event, RolloutReported)] == [80, 168]
    assert outcome.divergences == 168
    assert not any(isinstance(event, DemonstrationRecorded) for event in events)


def test_a_policy_that_makes_the_simulation_fail_is_not_replayed() -> None:
    registered(nan_at=3)
    config = tiny(task="gym:Walk-v0")
    clips = build(JobSpec("clips", config.to_dict()))
    clips.receive(ReplayRequested(7, state_arrays(build_policy(config)), 32, 20.0))
    reply = next(event for event in clips.run() if event is not None)
    assert reply == ReplayRefused(7, "The simulation diverged with this policy: choose another one.")


def test_a_captured_session_asks_only_about_recorded_segments_and_resumes(create: Create) -> None:
    session = create(tiny(task="gym:Walk-v0", labels=4, steps=8 * 32 * 24, rollout__captured_envs=2))
    events, _ = taught(session)
    segments = [s for e in events if isinstance(e, QueryOffered) for s in (e.query.left, e.query.right)]
    assert len(segments) == 8 and all(segment.states[:, 0].all() for segment in segments)
    assert evaluate(session, 2, captured=True)["states"].shape == (300, ROW_BYTES)
    session.reconfigure(steps=8 * 32 * 26)
    assert taught(session)[1].env_steps == 8 * 32 * 26


def test_environments_of_installed_packages_are_found_and_a_broken_package_hides_none(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import gymnasium\n"
        "def register():\n"
        "    gymnasium.register('Mine-v0', 'gymnasium.envs.classic_control:PendulumEnv', max_episode_steps=200)\n"
    )
    for name, place in (("aaa", "nowhere:register"), ("mine", "mine:register")):
        (tmp_path / f"{name}-1.0.dist-info").mkdir()
        (tmp_path / f"{name}-1.0.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        (tmp_path / f"{name}-1.0.dist-info" / "entry_points.txt").write_text(f"[gymnasium.envs]\n__root__ = {place}\n")
    code = (
        "from core.config import Config; from core.envs.spaces import require_environment;"
        "print(require_environment(Config(task='gym:Mine-v0')).observations)"
    )
    done = run_python("-c", code, PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}")
    assert done.stdout == "3\n" and "The environments of nowhere:register can't be registered" in done.stderr
