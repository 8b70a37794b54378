"""Driver of the live view and of demo mode: lets policies learn, plays their demonstrations, and opens the mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Qt

from app.live.demonstrations import Demonstration
from app.session.controller import Controller
from app.windows.demo import DemoWindow
from core.events import PolicyPublished
from core.types import Float32
from tests.app.fakes import Face, make_frames


def rewards(*values: float) -> Float32:
    return np.array(values, np.float32)


def published(steps: int) -> PolicyPublished:
    return PolicyPublished(steps, {"weights": np.full(4, steps, np.float32)}, steps)


def snapshot_steps(controller: Controller) -> list[int]:
    return [snapshot.env_steps for snapshot in controller.policy_history.snapshots]


def learned(face: Any, *steps: int) -> None:
    """Let the policy learn, and wait until these snapshots are saved.

    face: a session in a window over a fake engine
    """
    for number in steps:
        face.engine["policy"].play(published(number))
        face.wait_until(lambda number=number: snapshot_steps(face.controller)[-1:] == [number])


def demonstration() -> Demonstration:
    predicted = np.sin(np.linspace(0, 19, 319)).astype(np.float32) * 1.4
    return Demonstration(make_frames(96, 48), predicted, 120_000, 12, 3.0)


def open_demo(face: Face, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> DemoWindow:
    """Open demo mode by its key."""
    face.activate()
    face.press(Qt.Key.Key_F11, modifier)
    shown = face.window.watching_commands.demo
    face.activate(shown)
    return shown
