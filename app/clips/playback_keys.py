"""Playback commands of clips, and their keys in a part of a window, as in a session."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.clips.clip_pair import ClipPair
from app.keys.commands import COMMANDS, SPEEDS, Command
from app.keys.key_map import KeyMap
from app.keys.shortcuts import bind


def playback_functions(clips: ClipPair) -> dict[Command, Callable[[], object]]:
    """Return the function of each command that plays, stops, restarts or steps the clips."""
    return {
        Command.PLAYBACK: clips.toggle_playback,
        Command.RESTART_CLIPS: clips.restart,
        Command.PREVIOUS_FRAME: partial(clips.step, -1),
        Command.NEXT_FRAME: partial(clips.step, 1),
    }


def bind_playback(
    widget: QWidget,
    clips: ClipPair,
    keys: KeyMap,
    context: Qt.ShortcutContext = Qt.ShortcutContext.WidgetWithChildrenShortcut,
) -> None:
    """Bind the keys for playing, stepping and speed of the clips as actions of the widget."""
    speeds = {command: partial(clips.set_speed, speed) for command, speed in SPEEDS.items()}
    for command, function in (playback_functions(clips) | speeds).items():
        bind(widget, [(keys.keys_for(command), function)], context, COMMANDS[command].repeats)
