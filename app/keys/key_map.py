"""Key bindings, which the person can change; saved in the settings."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app import settings
from app.keys.commands import COMMANDS, Command, KeyAction
from core.errors import UserError
from core.types import Choice

DEFAULTS: dict[str, KeyAction] = {key: action for action, info in COMMANDS.items() for key in info.keys}
_SETTING = "keys/changes"
_SYMBOLS = {"Left": "←", "Right": "→", "Up": "↑", "Down": "↓", "Backspace": "⌫", ",": "comma", ".": "period"}
_FIXED = ("F2", "Ctrl+W")
"""Keys with a fixed meaning in other windows: F2 for the next guest, and Ctrl+W to close."""
START_PAGE_KEYS = {
    "Ctrl+F": "Search the tasks; Esc clears the search",
    "Ctrl+D": "Duplicate the session",
    "Ctrl+Shift+N": "Start over: a new session with the answers of this one and a new policy",
    "Delete": "Move the session to Trash",
    "Ctrl+Z": "Restore what was last moved to Trash",
    "Ctrl+R": "Show the session's folder",
    "Ctrl+O": "Open a session's folder",
    "Ctrl+I": "Import a session",
}
"""Keys of the start page that can't be changed, with their effects."""
_START_WINDOW_KEYS = (*START_PAGE_KEYS, "Ctrl+S", "Ctrl+Return")
"""Keys of the start page and of the pages that open from it."""
START_PAGE_COMMANDS = (Command.KEY_LIST, Command.GLOSSARY, Command.QUIT)
"""Commands of a session that also work on the start page."""
_NAVIGATION = ("Tab", "Shift+Tab", "Backtab", "Shift+Backtab", "Esc", "Return", "Enter")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeyMap:
    """Mapping from key names to actions. Raises UserError if a choice has no key."""

    bindings: Mapping[str, KeyAction] = field(default_factory=lambda: dict(DEFAULTS))

    def __post_init__(self) -> None:
        missing = [f"“{COMMANDS[choice].name}”" for choice in Choice if choice not in self.bindings.values()]
        if missing:
            raise UserError(f"No key would be left for {', '.join(missing)}: give it another key first.")

    def keys_for(self, action: KeyAction) -> tuple[str, ...]:
        """Keys of this action; the first is the one to show."""
        return tuple(key for key, value in self.bindings.items() if value == action)

    def with_keys(self, action: KeyAction, *keys: str) -> KeyMap:
        """Return a map in which exactly these keys trigger the action; they are taken from any other action.

        Raises UserError if a choice would be left without a key, or a key is needed for keyboard navigation.
        """
        for key in keys:
            letter = key.removeprefix("Alt+")
            if key in _NAVIGATION or letter != key and len(letter) == 1:
                raise UserError(f"{key} is needed to reach the buttons and menus by keyboard: choose another key.")
            if key in _FIXED or key in _START_WINDOW_KEYS and action in START_PAGE_COMMANDS:
                raise UserError(f"{key} has a fixed meaning in another window: choose another key.")
        others = {key: value for key, value in self.bindings.items() if value != action and key not in keys}
        return KeyMap({**others, **dict.fromkeys(keys, action)})

    def changes(self) -> dict[str, list[str]]:
        """Keys by action name where they differ from the defaults, so that new commands get their default keys."""
        defaults = KeyMap()
        return {str(a): list(self.keys_for(a)) for a in COMMANDS if self.keys_for(a) != defaults.keys_for(a)}

    @staticmethod
    def from_changes(changes: Mapping[str, Iterable[str]]) -> KeyMap:
        """Inverse of `changes`; names of unknown commands are ignored."""
        actions = {str(action): action for action in COMMANDS}
        changed = {key: actions[name] for name, keys in changes.items() if name in actions for key in keys}
        unchanged = {key: a for key, a in DEFAULTS.items() if str(a) not in changes and key not in changed}
        return KeyMap({**unchanged, **changed})


def key_symbol(key: str) -> str:
    return _SYMBOLS.get(key, key)


def key_symbols(keys: Iterable[str]) -> str:
    return " or ".join(map(key_symbol, keys))


def load_key_map() -> KeyMap:
    """The saved keys; the defaults if there are none or they can't be read."""
    try:
        changes = json.loads(settings.text(_SETTING, "{}"))
        return KeyMap.from_changes({name: tuple(map(str, keys)) for name, keys in changes.items()})
    except (ValueError, TypeError, AttributeError, UserError) as error:
        log.warning("The saved keys can't be read (%s): the default keys are used.", error)
        return KeyMap()


def save_key_map(keys: KeyMap) -> None:
    settings.keep(_SETTING, json.dumps(keys.changes()))
