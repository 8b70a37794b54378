"""The eight robots, which move like Gymnasium's and are rewarded by its formulas with the paper's changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

from core.envs.mujoco import MujocoVectorEnv
from core.robots.kinematics import Kinematics
from core.robots.models import load_model
from core.robots.physics import FULL
from core.robots.signals import SignalSource, StepSignals, StepStates
from core.tasks import CATALOGUE, get_task
from core.tasks.base import Physics, RobotTask
from tests.core.given_signals import Given
from tests.core.robot_toys import MakeBatch, random_steps

PEERS: dict[str, tuple[str, dict[str, Any], float, float, bool]] = {
    "reacher": ("Reacher-v5", {"timestep": 0.01, "frame_skip": 2}, 0.1, 5e-3, False),
    "pendulum": ("InvertedPendulum-v5", {"timestep": 0.02, "frame_skip": 2}, 0.01, 0.01, False),
    "double-pendulum": ("InvertedDoublePendulum-v5", {}, 0.1, 0.1, True),
    "swimmer": ("Swimmer-v5", {"timestep": 0.01, "frame_skip": 4}, 0.1, 0.1, False),
    "half-cheetah": ("HalfCheetah-v5", {}, 0.1, 0.1, True),
    "hopper": ("Hopper-v5", {"integrator": "rk4", "timestep": 0.002, "frame_skip": 4}, 5e-3, 5e-3, False),
    "walker": ("Walker2d-v5", {"integrator": "rk4", "timestep": 0.002, "frame_skip": 4}, 5e-3, 5e-3, False),
    "ant": ("Ant-v5", {"integrator": "rk4", "timestep": 0.01}, 0.1, 0.1, True),
}
"""Gymnasium's environment, settings that differ in ours, and its starts: spread of positions and of velocities, and
whether the latter are normal."""
STEPS, RESTART = 300, 25


def balanced(info: dict[str, float], data: Any) -> float:
    x, _, z = data.site("tip").xpos
    return 10 - 0.01 * x**2 - (z - 2) ** 2 + info["velocity_penalty"] + 10 * (z - 1)


PAID: dict[str, Callable[[dict[str, float], Any], float]] = {
    "reacher": lambda info, data: -np.linalg.norm(data.body("fingertip").xpos - data.body("target").xpos),
    "pendulum": lambda info, data: 1 - data.qpos[1] ** 2,
    "double-pendulum": balanced,
    "swimmer": lambda info, data: info["reward_forward"],
    "half-cheetah": lambda info, data: info["reward_forward"],
    "hopper": lambda info, data: info["reward_forward"] + 1 + (data.qpos[1] - 1),
    "walker": lambda info, data: info["reward_forward"] + 1 + (data.qpos[1] - 2),
    "ant": lambda info, data: info["speed"] + (data.qpos[2] - 1.2),
}
"""True reward: Gymnasium's without costs, and what the paper pays in place of an end to the episode. Gymnasium takes the
places of bodies, also for the Ant's speed, from before the last physics step; here all are from after it."""


ROBOTS = [name for name, task in CATALOGUE.items() if isinstance(task, RobotTask)]


@pytest.fixture
def peer(request: pytest.FixtureRequest) -> Iterator[Any]:
    made = gymnasium.make(request.param).unwrapped
    made.reset(seed=0)
    yield made
    made.close()


@pytest.mark.slow_after_first
@pytest.mark.filterwarnings("ignore:compiler attribute 'settotalmass':UserWarning")
@pytest.mark.parametrize(
    ("name", "peer"), [(name, env_id) for name, (env_id, *_) in PEERS.items()], indirect=["peer"], ids=PEERS
)
def test_robots_move_and_are_rewarded_like_gymnasiums(name: str, peer: Any) -> None:
    task = get_task(name)
    task = dataclasses.replace(task, **{"episode_steps": 10 * STEPS, **PEERS[name][1]})
    env = MujocoVectorEnv(task, 1, np.random.default_rng(0), threads=1, staggered=False)
    nq = env.model.nq
    reach = peer.action_space.high
    for t, action in enumerate(np.random.default_rng(1).uniform(-1.2, 1.2, (STEPS, env.sizes[1]))):
        if t % RESTART == 0:  # falling and bouncing is chaotic: rounding errors grow with time
            peer.set_state(env.states[0, 1 : 1 + nq], env.states[0, 1 + nq :])
        # The initial guess of its solver; ours always starts without one, so that it can be restored.
        peer.data.qacc_warmstart[:] = 0
        reward = env.step(action[None].astype(np.float32)).true_rewards[0]
        x = peer.data.qpos[0]
        *_, info = peer.step(reach * np.clip(action.astype(np.float32).astype(np.float64), -1, 1))
        expected = np.concatenate([peer.data.qpos, peer.data.qvel])
        assert env.states[0, 1:] == pytest.approx(expected, abs=1e-5), t
        mujoco.mj_kinematics(peer.model, peer.data)
        info["speed"] = (peer.data.qpos[0] - x) / peer.dt
        assert reward == pytest.approx(PAID[name](info, peer.data), abs=1e-3), t
    env.close()


@pytest.mark.parametrize("name", PEERS)
def test_episodes_start_like_gymnasiums(name: str, batch: MakeBatch) -> None:
    place, speed, normal = PEERS[name][2:]
    env = batch(get_task(name), 2000)
    nq, moved = env.model.nq, 2 if name == "reacher" else env.model.nv  # without the Reacher's target
    offsets = env.states[:, 1 : 1 + nq] - env.model.qpos0
    offsets = offsets[:, :2] if name == "reacher" else offsets
    velocities = env.states[:, 1 + nq : 1 + nq + moved]
    assert 0.98 * place < np.abs(offsets).max() <= place
    assert velocities.std() == pytest.approx(speed if normal else speed / 3**0.5, rel=0.05)
    assert (np.abs(velocities).max() > speed) == normal


def test_the_reachers_target_is_still_and_within_reach(batch: MakeBatch) -> None:
    env = batch(get_task("reacher"), 2000)
    targets = env.states[:, 3:5]
    radii = np.linalg.norm(targets, axis=1)
    assert 0.199 < radii.max() < 0.2 and (radii < 0.1).mean() == pytest.approx(0.25, abs=0.03)
    assert np.abs(targets.mean(axis=0)).max() < 0.01
    assert (env.states[:, 7:9] == 0).all()
    random_steps(env, 3)
    assert (env.states[:, 3:5] == targets).all()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ROBOTS)
def test_all_episodes_have_the_same_length(name: str, batch: MakeBatch) -> None:
    task = get_task(name)
    env = batch(task, 2)
    steps = random_steps(env, task.episode_steps + 1)
    ends = np.stack([step.ended for step in steps])
    assert np.flatnonzero(ends.any(axis=1)).tolist() == [task.episode_steps - 1] and ends[-2].all()
    (total, figures), _ = steps[-2].finished
    assert total == pytest.approx(sum(float(step.true_rewards[0]) for step in steps[:-1]), rel=1e-4)
    assert task.measure_name in figures and np.isfinite(list(figures.values())).all()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["reacher", "double-pendulum", "ant", "ant-two-legs", "hopper-stand-up"])
def test_restored_environments_continue_identically_with_any_number_of_threads(name: str, batch: MakeBatch) -> None:
    task = dataclasses.replace(get_task(name), episode_steps=20)
    rng, third_rng = np.random.default_rng(0), np.random.default_rng(9)
    first, second, third = batch(task, 5, rng=rng), batch(task, 5, threads=2), batch(task, 5, rng=third_rng)

    def finished_alike(other: MujocoVectorEnv, steps: int, seed: int) -> int:
        """Move `other` like the first, and return the number of episodes that ended."""
        mine, its = random_steps(first, steps, seed), random_steps(other, steps, seed)
        assert (mine[-1].observations == its[-1].observations).all()
        assert (mine[-1].true_rewards == its[-1].true_rewards).all()
        assert [step.finished for step in mine] == [step.finished for step in its]
        return sum(len(step.finished) for step in mine)

    assert finished_alike(second, 13, 1) == 0
    third.set_state({key: np.array(array) for key, array in first.get_state().items()})
    third_rng.bit_generator.state = rng.bit_generator.state
    assert (third.observations == first.observations).all()
    assert finished_alike(third, 15, 2) == 5


def physics(name: str, positions: Any, velocities: Any = (), before: Any = None, seconds: float = 0.1) -> Physics:
    """Return a step of a task's robot. Omitted positions and velocities at the end are those of the model."""
    model = load_model(get_task(name))

    def whole(given: Any, usual: Any) -> Any:
        return np.concatenate([given, usual[len(given) :]])[None]

    now, rates = whole(positions, model.qpos0), whole(velocities, np.zeros(model.nv))
    then, actions = now if before is None else whole(before, model.qpos0), np.zeros((1, model.nu), np.float32)
    signals = StepSignals(SignalSource(Kinematics(model)), StepStates(then, now, rates, actions, np.ones(1), seconds))
    return Physics(now, rates, actions, then, rates, signals)


@pytest.mark.parametrize(
    ("name", "start", "end", "paid"),
    [
        ("half-cheetah", [1.0, 0.5, 0.1], [1.3, 0.2, 0.4], 3.0),  # speed alone
        ("swimmer", [1.3, 0.2, 0.4], [1.0, 0.5, 0.1], -3.0),
        ("hopper", [1.0, 1.2, 0.0], [1.2, 0.3, 0.0], 2.0 + 0.3),  # with height in place of termination
        ("walker", [1.0, 1.2, 0.0], [1.2, 0.3, 0.0], 2.0 - 0.7),
        ("ant", [1.0, 0.0, 0.7, 1.0, 0.0, 0.0, 0.0], [1.2, 0.0, 0.7, 1.0, 0.0, 0.0, 0.0], 2.0 + 0.7 - 1.2),
        ("pendulum", [0, 0], [0.7, 0], 1.0),
        ("pendulum", [0, 0], [0.7, -1.5], 1 - 2.25),
        # the inner link along x, the outer one along y: the tip is at (.1, .11)
        ("reacher", [0] * 4, [0, np.pi / 2, 0.1, 0.11], 0.0),
        ("reacher", [0] * 4, [0, np.pi / 2, 0.1 - 0.03, 0.11 + 0.04], -0.05),
    ],
)
def test_the_true_reward_of_a_step_matches_a_calculation_by_hand(
    name: str, start: list[float], end: list[float], paid: float
) -> None:
    reward = get_task(name).true_reward
    assert reward(physics(name, end, before=start))[0] == pytest.approx(paid, abs=1e-9)


def test_a_double_pendulum_is_rewarded_for_the_height_of_its_tip() -> None:
    reward = get_task("double-pendulum").true_reward
    # the lower pole 30 degrees to the right, the upper one 60 degrees further: its tip is at x .5 + .3 + .6, z .52
    z = 0.6 * np.cos(np.pi / 6)
    expected = 10 - 0.01 * 1.4**2 - (z - 2) ** 2 - 1e-3 * 4 - 5e-3 * 9 + 10 * (z - 1)
    tilted = physics("double-pendulum", [0.5, np.pi / 6, np.pi / 3], [7.0, 2.0, -3.0])
    assert reward(tilted)[0] == pytest.approx(expected)


def test_the_reacher_observes_the_position_of_its_tip(batch: MakeBatch) -> None:
    env = batch(get_task("reacher"))
    random_steps(env, 10)
    data = mujoco.MjData(env.model)
    for state, seen in zip(env.states, env.observations, strict=True):
        mujoco.mj_setState(env.model, data, state, FULL)
        mujoco.mj_forward(env.model, data)
        x, y, _ = data.body("fingertip").xpos - data.body("target").xpos
        assert seen[-3:] == pytest.approx([x, y, np.hypot(x, y)], abs=1e-6)


@pytest.mark.parametrize(("far", "near"), [(0.049, 1), (0.051, 0)])
def test_near_the_target_is_within_five_centimetres(far: float, near: int) -> None:
    measure = get_task("reacher").measure(1, 0.1)
    measure.step(physics("reacher", [0, np.pi / 2, 0.1, 0.11 + far]))
    assert measure.finish(0) == pytest.approx({"share_near": near, "distance_to_the_target_m": far})


ON_ONE_LEG = {**dict.fromkeys(("bfoot", "bshin"), 0.0), **dict.fromkeys(("ffoot", "fshin", "torso", "head"), 0.2)}
"""Heights of the Half-Cheetah's parts in m."""
STILL, FALLEN = np.zeros((1, 9)), dict.fromkeys(ON_ONE_LEG, 0.0)


def cheetah(heights: dict[str, float], speed: float) -> Physics:
    """Return a step at this speed in m/s after which the parts have these heights."""
    given = {f"height[{part}]": [height] for part, height in heights.items()}
    actions, signals = np.zeros((1, 6), np.float32), Given(**given, forward_speed=[speed])
    return Physics(STILL, STILL, actions, STILL, STILL, signals)


@pytest.mark.parametrize(
    ("changed", "speed", "paid", "counted", "running"),
    [
        ({}, 2.0, 3.0, 1, 1),
        ({}, 5.0, 3.0, 1, 1),  # faster than the rewarded speed
        ({}, -2.0, -1.0, 1, 0),
        ({"bfoot": 0.01, "bshin": 0.2}, 2.0, 2.4, 1, 1),  # on the toes
        (dict.fromkeys(ON_ONE_LEG, 0.5), 2.0, 0.0, 0, 0),  # in mid-leap
        ({"bfoot": 0.2}, 2.0, 0.0, 0, 0),  # on its knee
        ({"torso": 0.05}, 2.0, 1.5, 1, 1),  # the torso is low
        ({**dict.fromkeys(ON_ONE_LEG, 0.3), "torso": -0.001}, 2.0, 0.0, 0, 0),  # sliding on its back
        *(({part: 0.0}, 2.0, 0.0, 0, 0) for part in ("ffoot", "fshin", "torso", "head")),
    ],
)
def test_one_leg_means_the_hind_leg_alone_on_the_floor(
    changed: dict[str, float], speed: float, paid: float, counted: int, running: int
) -> None:
    task, heights = get_task("half-cheetah-one-leg"), {**ON_ONE_LEG, **changed}
    step = cheetah(heights, speed)
    assert task.true_reward(step)[0] == pytest.approx(paid)
    measure = task.measure(1, 0.1)
    measure.step(step)
    measure.step(cheetah(FALLEN, 0.0))
    shares = {"share_on_one_leg": counted / 2, "share_running_on_one_leg": running / 2}
    shares["share_in_flight"] = 0.5 * (min(heights.values()) > 0.01)
    assert measure.finish(0) == pytest.approx({**shares, "forward_speed": speed / 2})
    assert set(measure.finish(0).values()) == {0.0}


@pytest.mark.parametrize(
    ("name", "positions", "upright"),
    [
        ("pendulum", [0.0, 0.19], 1),
        ("pendulum", [0.0, -0.21], 0),
        ("double-pendulum", [0.0, 0.1, 0.1], 1),
        ("double-pendulum", [0.0, 0.0, 1.5], 0),
        ("hopper", [0.0, 0.71, 0.0], 1),
        ("hopper", [0.0, 0.69, 0.0], 0),
        ("walker", [0.0, 0.81, 0.0], 1),
        ("walker", [0.0, 0.79, 0.0], 0),
        ("ant", [0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0], 1),
        ("ant", [0.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0], 0),  # on its back
        ("ant", [0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0], 0),
    ],
)
def test_upright_and_fallen_robots_are_distinguished(name: str, positions: list[float], upright: int) -> None:
    measure = get_task(name).measure(1, 0.1)
    measure.step(physics(name, positions))
    assert measure.finish(0)["share_upright"] == upright
