"""Handlers of the playback commands; speed and the predictions after an answer are saved in the settings."""

from collections.abc import Callable
from functools import partial

from app import settings
from app.clips.clip_pair import ClipPair
from app.clips.playback_keys import playback_functions
from app.keys.actions import Actions
from app.keys.commands import SPEEDS, Command

_SPEED, _PREDICTIONS = "labelling/speed", "labelling/predictions"


class PlaybackCommands:
    """`handlers` has a function for each playback command."""

    def __init__(self, clips: ClipPair, actions: Actions) -> None:
        self._clips, self._actions = clips, actions
        self.handlers: dict[Command, Callable[[], object]] = {
            **playback_functions(clips),
            Command.PREDICTIONS: self._keep_predictions,
            **{command: partial(self._choose_speed, command) for command in SPEEDS},
        }
        saved = settings.text(_SPEED)
        self._set_speed(Command(saved) if saved in map(str, SPEEDS) else Command.FULL_SPEED)
        actions[Command.PREDICTIONS].setChecked(settings.flag(_PREDICTIONS, False))

    @property
    def shows_predictions(self) -> bool:
        return self._actions[Command.PREDICTIONS].isChecked()

    @property
    def status_text(self) -> str:
        """Predictions, speed and frame if they differ from normal playback; '' otherwise."""
        clock, pair = self._clips.clock, self._clips.shown
        parts = ["predictions after each answer"] if self.shows_predictions else []
        if clock.speed != 1:
            parts.append(f"speed {clock.speed:g}×")
        if pair and not clock.playing:
            parts.append(f"paused at frame {clock.frame + 1} of {len(pair.left.pixels)}")
        return ", ".join(parts)

    def _keep_predictions(self) -> None:
        settings.keep(_PREDICTIONS, self.shows_predictions)
        self._clips.playback_changed.emit()

    def _choose_speed(self, command: Command) -> None:
        self._set_speed(command)
        settings.keep(_SPEED, str(command))

    def _set_speed(self, command: Command) -> None:
        self._actions[command].setChecked(True)
        self._clips.set_speed(SPEEDS[command])
