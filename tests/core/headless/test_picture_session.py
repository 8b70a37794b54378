"""A whole session on pictures, which are bytes from the environment to the networks and packed in storage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from core.api import LearnedReward, environment, policy
from core.events import Event, PreferenceAdded, RolloutBatchReady
from core.rollout.episodes import evaluate
from core.session.checkpoint import load_newest
from core.session.session import Session, read_config
from tests.core.builders import same
from tests.core.picture_toys import SHAPE, block_config
from tests.core.played import taught

pytestmark = pytest.mark.usefixtures("block_task")
SIZE = int(np.prod(SHAPE))


def batches(events: list[Event]) -> list[RolloutBatchReady]:
    return [event for event in events if isinstance(event, RolloutBatchReady)]


@pytest.mark.slow
def test_a_stopped_picture_session_continues_exactly(tmp_path: Path) -> None:
    config = block_config(steps=8 * 16 * 5)
    whole = taught(tmp_path / "whole", config)
    first = taught(tmp_path / "parts", config, cycles=3)
    rest = taught(tmp_path / "parts", None)
    answers = [e for e in whole if isinstance(e, PreferenceAdded)]
    again = [e for e in first + rest if isinstance(e, PreferenceAdded)]
    assert len(answers) == len(again) == 16
    ends = [load_newest(tmp_path / name / "checkpoints") for name in ("whole", "parts")]
    assert ends[0] and ends[1]
    for job, state in ends[0][1].items():
        assert same(state.arrays, ends[1][1][job].arrays), job


def test_a_taught_policy_and_reward_work_outside_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taught(tmp_path / "s", block_config(steps=8 * 16 * 3))
    settings = tmp_path / "s" / "config.json"
    settings.write_text(
        settings.read_text().replace('"device": "auto"', '"device": "cuda"')
    )  # as if taught on another machine
    assert read_config(tmp_path / "s").device == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    act, env = policy(tmp_path / "s"), LearnedReward(environment(tmp_path / "s"), tmp_path / "s")
    observation, _ = env.reset(seed=1)
    assert observation.dtype == np.uint8 and env.observation_space.contains(observation)
    seen, reward, terminated, truncated, info = env.step(act(observation))
    assert seen.dtype == np.uint8 and np.isfinite(reward) and not terminated and not truncated
    assert info["true_reward"] in range(6)
    session = Session.open(tmp_path / "s")
    found = evaluate(session, 2)
    assert found["true_return"] == pytest.approx(20 * found["measure"]["place"])
    session.close()


def test_the_true_reward_of_pictures_is_clipped_to_its_sign(tmp_path: Path) -> None:
    """Section A.2 of the paper clips; a small batch has too few rewards for normalization."""
    events = taught(tmp_path / "s", block_config(teacher="none", steps=8 * 16 * 2))
    assert [set(np.unique(batch.rewards)) for batch in batches(events)] == [{0.0, 1.0}] * 2


@pytest.mark.slow
def test_a_block_learns_to_move_right_from_answers(tmp_path: Path) -> None:
    numbers = {"policy__learning_rate": 1e-3, "reward__epochs_first": 10, "reward__minibatch": 8}
    config = block_config(labels=40, steps=8 * 16 * 24, reward__interval=256, **numbers)
    taught(tmp_path / "s", config)
    session = Session.open(tmp_path / "s")
    assert evaluate(session, 8)["measure"]["place"] > 4
    session.close()
