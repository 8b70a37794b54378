"""How the clips are played and what is told after an answer, as the person chose it, and kept in the settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject

from app import settings
from app.clips.clip_pair import ClipPair
from app.keys.actions import Actions
from app.keys.commands import SPEEDS, Command

_SPEED, _THOUGHTS = "labelling/speed", "labelling/thoughts"


class PlaybackCommands(QObject):
    """Carries out what the playback's keys ask for. `handlers` has a function for each of its commands."""

    def __init__(self, clips: ClipPair, actions: Actions, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._clips, self._actions = clips, actions
        self.handlers: dict[Command, Callable[[], object]] = {
            Command.PLAYBACK: clips.toggle_playback,
            Command.FRAME_BACK: lambda: clips.step(-1),
            Command.FRAME_ON: lambda: clips.step(1),
            Command.THOUGHTS: lambda: settings.keep(_THOUGHTS, self.tells_thoughts),
        }
        for command in SPEEDS:
            self.handlers[command] = partial(self._choose_speed, command)
        self._set_speed(_kept_speed())
        actions[Command.THOUGHTS].setChecked(settings.flag(_THOUGHTS, False))

    @property
    def tells_thoughts(self) -> bool:
        return self._actions[Command.THOUGHTS].isChecked()

    @property
    def words(self) -> str:
        """What is out of the ordinary about the playback; '' where nothing is."""
        clock, shown = self._clips.clock, self._clips.shown
        said = [] if clock.speed == 1 else [f"speed {clock.speed:g}×"]
        if shown and not clock.playing:
            said.append(f"held at frame {clock.frame + 1} of {len(shown.left.pixels)}")
        return ", ".join(said)

    def _choose_speed(self, command: Command) -> None:
        self._set_speed(command)
        settings.keep(_SPEED, str(command))

    def _set_speed(self, command: Command) -> None:
        self._actions[command].setChecked(True)
        self._clips.set_speed(SPEEDS[command])


def _kept_speed() -> Command:
    kept = settings.text(_SPEED, Command.FULL_SPEED)
    return Command(kept) if kept in [str(command) for command in SPEEDS] else Command.FULL_SPEED
