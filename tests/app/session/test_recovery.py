"""Recovery of failed jobs by a restart, on the CPU if the GPU failed."""

from __future__ import annotations

import pytest

from app.session.controller import State
from app.session.recovery import recovery_action
from core.config import Config, replaced
from core.errors import Lack
from core.events import Failed
from tests.app.fakes import Face


@pytest.mark.parametrize(
    ("job", "lack", "device", "button"),
    [
        ("rollout", Lack.GPU_MEMORY, "cuda", "Retry on the CPU"),
        ("rollout", Lack.GPU, "cuda", "Retry on the CPU"),
        ("policy", Lack.GPU_MEMORY, "auto", "Retry on the CPU"),
        ("policy", Lack.GPU_MEMORY, "cpu", "Restart"),
        ("reward", Lack.MEMORY, "auto", "Restart"),
        ("clips", Lack.MEMORY, "auto", "Restart"),
        ("policy", Lack.NOTHING, "auto", "Restart"),
    ],
)
def test_the_recovery_action_avoids_the_exhausted_resource(job: str, lack: Lack, device: str, button: str) -> None:
    config = replaced(Config(), device=device)
    action = recovery_action(Failed(job, "", "", lack), config)
    assert action.name == button
    assert action.config == replaced(config, device="cpu" if button == "Retry on the CPU" else device)


def test_the_button_restarts_with_the_change_without_altering_the_sessions_config(face: Face) -> None:
    face.engine["reward"].play(Failed("reward", "CUDA out of memory", "trace", Lack.GPU_MEMORY))
    face.wait_until(lambda: face.window.banner.restart.text() == "Retry on the CPU")
    face.restart()
    assert face.engine["reward"].spec.config["device"] == "cpu"
    assert face.controller.session.config.device == "auto"
    face.die("reward")
    assert face.window.banner.restart.text() == "Restart"


def test_a_declined_change_is_offered_again(face: Face) -> None:
    for _ in range(2):
        face.engine["reward"].play(Failed("reward", "CUDA out of memory", "trace", Lack.GPU_MEMORY))
        face.wait_until(lambda: face.controller.state == State.FAILED)
        assert face.window.banner.restart.text() == "Retry on the CPU"
        face.window.stop_action.trigger()
        face.wait_until(lambda: face.controller.state == State.STOPPED)
        face.window.pause_action.trigger()
        face.wait_until(lambda: face.controller.state == State.RUNNING)
    assert face.engine["reward"].spec.config["device"] == "auto"
