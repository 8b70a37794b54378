"""Which key means what: pure, and rebindable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from core.errors import UserError
from core.records import Choice


class Command(StrEnum):
    """What a key can ask for besides a choice."""

    UNDO = "undo"
    PLAYBACK = "pause playback"


Meaning = Choice | Command

DEFAULTS: dict[str, Meaning] = {
    "Left": Choice.LEFT,
    "Right": Choice.RIGHT,
    "Up": Choice.TIE,
    "Down": Choice.CANT_TELL,
    "Backspace": Command.UNDO,
    "Ctrl+Z": Command.UNDO,
    "Space": Command.PLAYBACK,
}
"""Key names are Qt's portable ones, as QKeySequence reads them."""

_SYMBOLS = {"Left": "←", "Right": "→", "Up": "↑", "Down": "↓", "Backspace": "⌫"}


@dataclass(frozen=True)
class KeyMap:
    """A mapping from key names to meanings; every choice has at least one key."""

    meanings: Mapping[str, Meaning] = field(default_factory=lambda: dict(DEFAULTS))

    def __post_init__(self) -> None:
        missing = [str(choice) for choice in Choice if choice not in self.meanings.values()]
        if missing:
            raise UserError(f"No key is left for {', '.join(missing)}: give it one first.")

    def meaning(self, key: str) -> Meaning | None:
        return self.meanings.get(key)

    def keys_for(self, meaning: Meaning) -> tuple[str, ...]:
        """The keys of that meaning, the one to show first."""
        return tuple(key for key, value in self.meanings.items() if value == meaning)

    def rebound(self, meaning: Meaning, *keys: str) -> KeyMap:
        """The map in which these keys, and no others, have that meaning; a key taken from another loses its old one."""
        kept = {key: value for key, value in self.meanings.items() if value != meaning and key not in keys}
        return KeyMap({**kept, **dict.fromkeys(keys, meaning)})


def symbol(key: str) -> str:
    """How a key is written on screen."""
    return _SYMBOLS.get(key, key)
