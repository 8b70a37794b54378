"""Everything a key can ask for, in one table, and which key means what: pure, and rebindable."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app import settings
from core.errors import UserError
from core.types import Choice


class Command(StrEnum):
    """What the person can ask for besides a choice. The values are names in the settings: they stay as they are."""

    UNDO = "undo"
    REDO = "redo"
    PLAYBACK = "playback"
    FRAME_BACK = "frame back"
    FRAME_ON = "frame on"
    QUARTER_SPEED = "quarter speed"
    HALF_SPEED = "half speed"
    FULL_SPEED = "full speed"
    DOUBLE_SPEED = "double speed"
    THOUGHTS = "thoughts"
    BIND_KEYS = "bind keys"
    START_PAGE = "start page"
    PAUSE = "pause"
    STOP = "stop"
    HUMAN = "human"
    ORACLE = "oracle"
    EXPORT = "export"
    PLAY = "play"
    QUIT = "quit"
    PANEL = "panel"
    EARLIER = "earlier policy"
    LATER = "later policy"
    LIVE = "live policy"
    DEMO = "demo"
    DEMO_ALONE = "demo alone"
    FILM = "film"
    BEFORE_AFTER = "before and after"
    LEARNING = "learning plots"
    REWARD_FIT = "reward fit plots"
    PACE = "session plots"
    HIDE_TRUE_REWARD = "hide true reward"
    SYSTEM_COLOURS = "system colours"
    LIGHT = "light"
    DARK = "dark"
    HISTORY = "history"
    REPEATS = "repeats"
    KEY_LIST = "key list"
    DIAGNOSTICS = "diagnostics"
    ABOUT = "about"


KeyAction = Choice | Command


@dataclass(frozen=True)
class CommandInfo:
    """title: as a menu shows it, & before its letter; keys: those of a fresh installation, the one to show first.

    Key names are Qt's portable ones, as QKeySequence reads them.
    """

    title: str
    keys: tuple[str, ...] = ()
    tip: str = ""
    """What it does, where the title alone can't say it: one sentence, without a full stop."""
    checkable: bool = False
    repeats: bool = False
    """Whether a key that is held down asks again and again."""

    @property
    def words(self) -> str:
        """The title as a sentence would have it."""
        return self.title.replace("&", "").removesuffix("…")


COMMANDS: dict[KeyAction, CommandInfo] = {
    Choice.LEFT: CommandInfo("&Left is better", ("Left",)),
    Choice.RIGHT: CommandInfo("&Right is better", ("Right",)),
    Choice.TIE: CommandInfo("&Tie", ("Up",), "Both clips are equally good"),
    Choice.CANT_TELL: CommandInfo("&Can't tell", ("Down",), "The pair is recorded, and nothing is learned from it"),
    Command.UNDO: CommandInfo("&Undo", ("Backspace", "Ctrl+Z"), "Takes the last answer back"),
    Command.REDO: CommandInfo("R&edo", ("Ctrl+Shift+Z", "Ctrl+Y"), "Gives the answer again that was taken back last"),
    Command.PLAYBACK: CommandInfo("&Pause or play the clips", ("Space",)),
    Command.FRAME_BACK: CommandInfo(
        "One frame &back", (",",), "Holds both clips and steps them together", repeats=True
    ),
    Command.FRAME_ON: CommandInfo("One frame &forth", (".",), "Holds both clips and steps them together", repeats=True),
    Command.QUARTER_SPEED: CommandInfo("Speed &0.25×", ("1",), checkable=True),
    Command.HALF_SPEED: CommandInfo("Speed 0.&5×", ("2",), checkable=True),
    Command.FULL_SPEED: CommandInfo("Speed &1×", ("3",), checkable=True),
    Command.DOUBLE_SPEED: CommandInfo("Speed &2×", ("4",), checkable=True),
    Command.THOUGHTS: CommandInfo(
        "Show what the predictor e&xpected",
        ("T",),
        "For half a second after each answer, never before it, once the reward was fitted",
        checkable=True,
    ),
    Command.BIND_KEYS: CommandInfo("&Keys…", (), "Chooses other keys"),
    Command.START_PAGE: CommandInfo(
        "&New or open…", ("Ctrl+N", "Ctrl+O"), "Saves a checkpoint, closes this session and shows the start page"
    ),
    Command.PAUSE: CommandInfo(
        "&Pause", ("Ctrl+P",), "Holds the training, or goes on with it; answers are taken meanwhile"
    ),
    Command.STOP: CommandInfo("&Stop", ("Ctrl+.",), "Saves a checkpoint and ends the training"),
    Command.HUMAN: CommandInfo("&Human", ("F6",), "The teacher: you answer", checkable=True),
    Command.ORACLE: CommandInfo(
        "&Oracle", ("F7",), "The teacher: the true reward answers, where the task has one", checkable=True
    ),
    Command.EXPORT: CommandInfo("&Export as one file…", ("Ctrl+E",)),
    Command.PLAY: CommandInfo(
        "Pla&y the game yourself…",
        ("F5",),
        "For about five minutes before your first answer: a clip of seconds hardly tells what a game is about",
    ),
    Command.QUIT: CommandInfo("&Quit", ("Ctrl+Q",), "Saves a checkpoint and ends the program"),
    Command.PANEL: CommandInfo("&Progress panel", ("F9",), "The live view and the plots", checkable=True),
    Command.EARLIER: CommandInfo(
        "An &earlier policy", ("[",), "Moves the live view's slider: how it learned", repeats=True
    ),
    Command.LATER: CommandInfo("A later p&olicy", ("]",), repeats=True),
    Command.LIVE: CommandInfo("The policy as it is &now", ("\\",)),
    Command.DEMO: CommandInfo("De&mo mode", ("F11",), "Full screen, for a room: guests answer with four keys"),
    Command.DEMO_ALONE: CommandInfo("Demo mode, se&lf-running", ("Shift+F11",), "The oracle answers until you leave"),
    Command.FILM: CommandInfo("&Film of the learning…", (), "How the policy learned, with captions, as a video file"),
    Command.BEFORE_AFTER: CommandInfo(
        "Film of &before and after…", (), "The untrained and the present policy side by side"
    ),
    Command.LEARNING: CommandInfo("Plots: learnin&g", ("Ctrl+1",), "The task's own measure, returns and losses"),
    Command.REWARD_FIT: CommandInfo("Plots: reward &fit", ("Ctrl+2",), "How well the predicted reward is fitted"),
    Command.PACE: CommandInfo("Plots: sess&ion", ("Ctrl+3",), "Answers against their schedule, and steps a second"),
    Command.HIDE_TRUE_REWARD: CommandInfo(
        "Hide the tr&ue reward",
        ("Ctrl+T",),
        "So that whoever answers isn't led by it; until you choose, it is hidden where a human teaches",
        checkable=True,
    ),
    Command.SYSTEM_COLOURS: CommandInfo("Colours as the s&ystem has them", (), checkable=True),
    Command.LIGHT: CommandInfo("Light &colours", (), checkable=True),
    Command.DARK: CommandInfo("D&ark colours", (), checkable=True),
    Command.HISTORY: CommandInfo(
        "Ans&wer history", ("Ctrl+H",), "Every answer with its clips, to look at again and to change"
    ),
    Command.REPEATS: CommandInfo(
        "Show some pairs &again",
        (),
        "One pair in some comes a second time, unseen as such, to tell how often your answers agree",
        checkable=True,
    ),
    Command.KEY_LIST: CommandInfo("&Keys and commands", ("Ctrl+?", "F1")),
    Command.DIAGNOSTICS: CommandInfo("Collect &diagnostics…", ()),
    Command.ABOUT: CommandInfo("&About Somersault", ()),
}
"""The single table of all that can be asked for: menus, shortcuts, the key list and the key dialog are made from it."""

DEFAULTS: dict[str, KeyAction] = {key: meaning for meaning, entry in COMMANDS.items() for key in entry.keys}

SPEEDS: dict[Command, float] = {
    Command.QUARTER_SPEED: 0.25,
    Command.HALF_SPEED: 0.5,
    Command.FULL_SPEED: 1.0,
    Command.DOUBLE_SPEED: 2.0,
}

APPEARANCES: dict[Command, str] = {Command.SYSTEM_COLOURS: "system", Command.LIGHT: "light", Command.DARK: "dark"}
"""By the names that app.style.theme knows them by."""

_SYMBOLS = {"Left": "←", "Right": "→", "Up": "↑", "Down": "↓", "Backspace": "⌫", ",": "comma", ".": "period"}
_NAVIGATION = ("Tab", "Shift+Tab", "Backtab", "Shift+Backtab", "Esc", "Return", "Enter")


@dataclass(frozen=True)
class KeyMap:
    """A mapping from key names to meanings; every choice has at least one key."""

    meanings: Mapping[str, KeyAction] = field(default_factory=lambda: dict(DEFAULTS))

    def __post_init__(self) -> None:
        missing = [f"“{COMMANDS[choice].words}”" for choice in Choice if choice not in self.meanings.values()]
        if missing:
            raise UserError(f"No key would be left for {', '.join(missing)}: give it another one first.")

    def meaning(self, key: str) -> KeyAction | None:
        return self.meanings.get(key)

    def keys_for(self, meaning: KeyAction) -> tuple[str, ...]:
        """The keys of that meaning, the one to show first."""
        return tuple(key for key, value in self.meanings.items() if value == meaning)

    def rebound(self, meaning: KeyAction, *keys: str) -> KeyMap:
        """The map in which these keys, and no others, have that meaning; a key taken from another loses its old one.

        UserError where a choice would be left without a key, or a key is needed to move about.
        """
        for key in keys:
            _require_free(key)
        kept = {key: value for key, value in self.meanings.items() if value != meaning and key not in keys}
        return KeyMap({**kept, **dict.fromkeys(keys, meaning)})

    def changes(self) -> dict[str, list[str]]:
        """What differs from a fresh installation, by name, so that commands of later versions keep their keys."""
        fresh = KeyMap()
        return {str(m): list(self.keys_for(m)) for m in COMMANDS if self.keys_for(m) != fresh.keys_for(m)}

    @staticmethod
    def changed(changes: Mapping[str, Iterable[str]]) -> KeyMap:
        """The map that `changes` was taken from. Names that nobody knows any more count for nothing."""
        known = {str(meaning): meaning for meaning in COMMANDS}
        bound = {key: known[name] for name, keys in changes.items() if name in known for key in keys}
        kept = {k: m for k, m in DEFAULTS.items() if str(m) not in changes and k not in bound}
        return KeyMap({**kept, **bound})


def _require_free(key: str) -> None:
    """UserError for keys that move between the controls or open the menus."""
    letters = key.removeprefix("Alt+")
    if key in _NAVIGATION or letters != key and len(letters) == 1:
        raise UserError(f"{key} is needed to reach the buttons and menus by keyboard: choose another key.")


def symbol(key: str) -> str:
    """How a key is written on screen."""
    return _SYMBOLS.get(key, key)


def symbols(keys: Iterable[str]) -> str:
    return " or ".join(symbol(key) for key in keys)


_NAME = "keys/changes"

log = logging.getLogger(__name__)


def kept_keys() -> KeyMap:
    """Those that were kept last; the usual ones where there are none, or they can't be read."""
    try:
        changes = json.loads(settings.text(_NAME, "{}"))
        return KeyMap.changed({name: tuple(map(str, keys)) for name, keys in changes.items()})
    except (ValueError, TypeError, AttributeError, UserError) as error:
        log.warning("The keys that were chosen can't be read (%s): the usual ones are used.", error)
        return KeyMap()


def keep_keys(keys: KeyMap) -> None:
    settings.keep(_NAME, json.dumps(keys.changes()))
