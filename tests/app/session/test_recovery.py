"""What a stage that lacked memory is offered: the CPU, smaller batches, or just another start."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.session.controller import State
from app.session.recovery import remedy
from core.config import Config, replaced
from core.errors import Lack
from core.events import (
    Failed,
)
from tests.app.fakes import Face
from tests.app.faulty import press_restart


@pytest.mark.parametrize(
    ("job", "lack", "device", "button"),
    [
        ("rollout", Lack.GPU_MEMORY, "cuda", "Retry on the CPU"),
        ("policy", Lack.GPU_MEMORY, "auto", "Retry on the CPU"),
        ("policy", Lack.GPU_MEMORY, "cpu", "Retry with smaller batches"),
        ("reward", Lack.MEMORY, "auto", "Retry with smaller batches"),
        ("rollout", Lack.MEMORY, "auto", "Restart"),
        ("clips", Lack.MEMORY, "auto", "Restart"),
        ("policy", Lack.NOTHING, "auto", "Restart"),
    ],
)
def test_what_lacked_memory_is_started_again_with_less(job: str, lack: Lack, device: str, button: str) -> None:
    config = replaced(Config(), device=device)
    found = remedy(Failed(job, "", "", lack), config)
    assert found.name == button
    assert (found.config.device == "cpu") == (button == "Retry on the CPU" or device == "cpu")
    shrunk = {"policy": found.config.policy.minibatch, "reward": found.config.reward.minibatch}
    whole = {"policy": config.policy.minibatch, "reward": config.reward.minibatch}
    assert shrunk == {name: n // 2 if name == job and "smaller" in button else n for name, n in whole.items()}


def test_an_optimizer_that_takes_whole_batches_is_offered_no_smaller_ones() -> None:
    config = replaced(Config(), policy__algorithm="a2c")
    assert remedy(Failed("policy", "", "", Lack.MEMORY), config).name == "Restart"
    assert remedy(Failed("reward", "", "", Lack.MEMORY), config).name == "Retry with smaller batches"


@pytest.mark.parametrize(("job", "least"), [("policy", 64), ("reward", 8)])
def test_batches_shrink_only_as_far_as_they_still_teach(job: str, least: int) -> None:
    failed, config = Failed(job, "", "", Lack.MEMORY), Config()
    for _ in range(20):
        config = remedy(failed, config).config
    assert getattr(config, job).minibatch == least
    assert remedy(failed, config).name == "Restart"
    small = replaced(config, **{f"{job}__minibatch": 5})
    assert remedy(failed, small).config == small


def test_the_button_says_and_does_it(face: Face, qtbot: QtBot) -> None:
    face.engine["reward"].play(Failed("reward", "CUDA out of memory", "trace", Lack.GPU_MEMORY))
    qtbot.waitUntil(lambda: face.window.banner.restart.text() == "Retry on the CPU")
    press_restart(face)
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    assert face.engine["reward"].spec.config["device"] == "cpu"
    assert face.controller.session.config.device == "auto"  # the session keeps its own
    face.engine["reward"].die()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    assert face.window.banner.restart.text() == "Restart"


def test_why_a_stage_failed_while_all_was_stopped_is_no_reason_for_a_later_end(face: Face, qtbot: QtBot) -> None:
    face.engine["policy"].play(Failed("policy", "MemoryError", "trace", Lack.MEMORY))
    with qtbot.waitSignal(face.controller.stopped):
        face.controller.stop()
    face.controller.start()
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    face.engine["policy"].die()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    assert "its process ended unexpectedly" in face.window.banner.text.text()
    assert face.window.banner.restart.text() == "Restart"
