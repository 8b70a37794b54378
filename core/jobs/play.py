"""The play job: a game that the user plays with the keyboard, at the console's original speed."""

import time
from collections.abc import Iterator

import ale_py
import numpy as np

from core.config import Config
from core.envs.emulators import interface, rom
from core.errors import UserError
from core.events import Event, Job
from core.service_events import ControlsHeld, GameShown
from core.tasks import get_task
from core.tasks.atari import FRAMES_A_SECOND, AtariTask

FRAMES_SHOWN_AT_ONCE = 2
"""Frames combined into one picture, 30 times per second: the console draws some objects only in every other frame."""
_MAX_LAG = 0.25
"""Largest delay in seconds that the game makes up for."""


class PlayJob(Job):
    """Yields a GameShown 30 times per second, played with the latest controls; starts again when the game is over."""

    def __init__(self, config: Config) -> None:
        task = get_task(config.task)
        if not isinstance(task, AtariTask):
            raise UserError(f"{task.title} can't be played: it is not a game.")
        self.game, self._turned = interface(rom(task), frames=0), task.turned
        self._controls = ControlsHeld()
        self._score = 0

    def receive(self, event: Event) -> None:
        if isinstance(event, ControlsHeld):
            self._controls = event

    def run(self) -> Iterator[Event | None]:
        due = time.monotonic()
        while True:
            yield self.next_picture()
            due = max(due + FRAMES_SHOWN_AT_ONCE / FRAMES_A_SECOND, time.monotonic() - _MAX_LAG)
            time.sleep(max(0.0, due - time.monotonic()))

    def next_picture(self) -> GameShown:
        if self.game.game_over():
            self.game.reset_game()
            self._score = 0
        frames = []
        for _ in range(FRAMES_SHOWN_AT_ONCE):
            self._score += self.game.act(action(self._controls, self._turned))
            frames.append(self.game.getScreenRGB())
        return GameShown(np.maximum(*frames), self._score, self.game.lives())


def action(held: ControlsHeld, turned: bool = False) -> ale_py.Action:
    """Return the joystick action for the held controls; opposite directions cancel out. turned: see AtariTask"""
    if turned:
        held = ControlsHeld(left=held.left or held.down, right=held.right or held.up, fire=held.fire)
    names = ("UP" if held.up else "DOWN") if held.up != held.down else ""
    names += ("LEFT" if held.left else "RIGHT") if held.left != held.right else ""
    names += "FIRE" if held.fire else ""
    return ale_py.Action.__members__[names or "NOOP"]
