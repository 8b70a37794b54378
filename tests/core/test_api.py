"""Policies and rewards in other programs, and the snippets of docs/use-elsewhere.md."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

from core.api import LearnedReward, TaskEnvironment, environment, policy
from core.envs import make_envs
from core.envs.base import VectorEnv
from core.errors import UserError
from core.reward.normalization import normalize_reward
from core.rollout.episodes import evaluate
from core.seeding import generator
from core.session.preference_export import export_preferences
from core.session.session import Session
from tests.core import played
from tests.core.builders import BEHAVIOUR, tiny
from tests.screens import ROOT


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a session that has learned a little."""
    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp("taught")
    played.taught(place / "DIR", tiny(labels=6), cycles=8)
    with closing(Session.open(place / "DIR")) as session:
        export_preferences(session, place / "answers")
    return place


def test_the_documented_snippets_run_unchanged(taught: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snippets = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/use-elsewhere.md").read_text(), re.S | re.M)
    portable = [snippet for snippet in snippets if "onnxruntime" in snippet]  # needs an extra; has its own tests
    snippets = [snippet for snippet in snippets if snippet not in portable]
    assert (len(snippets), len(portable)) == (3, 1)
    monkeypatch.chdir(taught)
    names: dict[str, Any] = {"observation": environment("DIR").reset()[0]}
    for snippet in snippets:
        exec(snippet, names)
    assert names["log"] and "left.observations" in names["arrays"]
    assert names["action"].shape == (3,)
    assert np.isfinite(names["env"].step(names["action"])[1])


def test_the_policy_acts_as_in_the_engine(taught: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.api.generator", lambda seed, name: generator(seed, "evaluation"))  # the same start
    with closing(Session.open(taught / "DIR")) as session:
        expected = evaluate(session, 1)["true_return"]
    act, total = policy(taught / "DIR"), 0.0
    env = environment(taught / "DIR")
    observation, _ = env.reset(seed=0)
    truncated = False
    while not truncated:
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        total += reward
        assert not terminated
    env.close()
    assert total == pytest.approx(expected, rel=1e-4)


def test_the_reward_ranks_as_the_ensemble_does(taught: Path) -> None:
    env = LearnedReward(environment(taught / "DIR"), taught / "DIR")
    with closing(Session.open(taught / "DIR")) as session:
        loaded = session.load()
    pool = loaded[1]["rollout"].arrays
    observations, actions = pool["pool_observations"], pool["pool_actions"]
    expected = normalize_reward(env.ensemble.predict(observations, actions), 1.0).ravel()
    raw = env.ensemble.predict(observations, actions).reshape(env.ensemble.members, -1)
    given = np.array([env.normalize(raw[:, i]) for i in range(raw.shape[1])])
    assert given == pytest.approx(expected, abs=1e-4)
    env.close()


@pytest.mark.filterwarnings("ignore:.*A Box observation space (minimum|maximum) value is")
def test_the_environment_follows_the_interface_of_gymnasium(taught: Path) -> None:
    env = environment(taught / "DIR")
    one, _ = env.reset(seed=3)
    other, _ = env.reset(seed=3)
    assert (one == other).all() and not (env.reset()[0] == one).all()
    assert env.observation_space.contains(one) and env.action_space.contains(env.action_space.sample())
    check_env(env, skip_render_check=True)
    with pytest.warns(UserWarning, match="is different from the unwrapped version"):  # as any wrapper
        check_env(LearnedReward(env, taught / "DIR"), skip_render_check=True)
    env.close()


def test_each_episode_begins_at_a_start_of_its_own_and_has_the_fixed_length(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[VectorEnv]()

    def make(*arguments: Any, **options: Any) -> VectorEnv:
        made.append(make_envs(*arguments, **options))
        return made[-1]

    monkeypatch.setattr("core.api.make_envs", make)
    env, starts, lengths = TaskEnvironment(tiny()), [], []
    for _ in range(3):
        start, steps, truncated = env.reset()[0], 0, False
        while not truncated:
            _, _, _, truncated, _ = env.step(np.zeros(3, np.float32))
            steps += 1
        starts.append(tuple(start))
        lengths.append(steps)
    env.close()
    assert lengths == [env.task.episode_steps] * 3 and len(set(starts)) == 3
    assert len(made) == 1  # making a simulator takes longer than a short episode


@pytest.mark.slow
def test_a_game_is_truncated_at_the_fixed_length_too() -> None:
    env = TaskEnvironment(tiny(task="breakout"))
    for _ in range(2):
        env.reset()
        ends = [env.step(0)[2:4] for _ in range(300)]
        assert ends == [(False, False)] * 299 + [(False, True)]
    env.close()


def test_the_reward_belongs_to_the_step_taken(taught: Path) -> None:
    env = LearnedReward(environment(taught / "DIR"), taught / "DIR")
    observation, _ = env.reset(seed=1)
    action = np.array([5.0, -0.5, 0.0])
    expected = env.normalize(env.ensemble.predict(observation, np.array([1.0, -0.5, 0.0], np.float32)))
    _, reward, _, _, info = env.step(action)
    assert reward == pytest.approx(expected) and np.isfinite(info["true_reward"]) and info["true_reward"] != reward
    env.close()


def test_an_untaught_session_or_another_environment_is_reported(taught: Path, tmp_path: Path) -> None:
    Session.create(tmp_path / "new", tiny()).close()
    for load in (policy, lambda folder: LearnedReward(environment(folder), folder)):
        with pytest.raises(UserError, match="no checkpoint"):
            load(tmp_path / "new")
    with pytest.raises(UserError, match="not a session"):
        policy(tmp_path / "nothing")
    slower = {**BEHAVIOUR, "robot": "hopper", "control_rate": 20}
    alike = TaskEnvironment(tiny(task=json.dumps(slower)))  # as many observed numbers as the backflip, at another rate
    for other in (gymnasium.make("CartPole-v1"), alike):
        with pytest.raises(UserError, match="does not have the observations"):
            LearnedReward(other, taught / "DIR")
        other.close()
