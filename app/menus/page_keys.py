"""Keys of the pages and their effects, for the list of keys. Keys that can be changed are listed as they are now."""

from app.keys.commands import COMMANDS, SPEEDS, Command, KeyAction
from app.keys.key_map import START_PAGE_COMMANDS, START_PAGE_KEYS, KeyMap, key_symbols
from app.plots.plot import KEY_TEXTS
from core.types import Choice

Rows = tuple[tuple[str, str], ...]
"""Names of keys, and their effect."""

_CLIPS = (Command.PLAYBACK, Command.RESTART_CLIPS, Command.PREVIOUS_FRAME, Command.NEXT_FRAME, *SPEEDS)
_DEMO = (Command.HUMAN, Command.ORACLE, Command.UNDO, Command.REDO, *_CLIPS[:2], Command.PAUSE, Command.VOTE)


def page_keys(keys: KeyMap) -> dict[str, Rows]:
    """Return the keys that are in no menu of a session, by the title of their page."""
    return {
        "Everywhere": (
            ("Tab or Shift+Tab", "Next or previous control"),
            ("Enter or Space", "Press the focused button"),
        ),
        "Start page": (
            ("Arrows, Home or End", "Move among the tasks or sessions"),
            ("Enter", "Start the task, or open the session"),
            ("Menu key", "Menu of the task or session"),
            *START_PAGE_KEYS.items(),
            *_rows(keys, *START_PAGE_COMMANDS),
        ),
        "New session": (("Ctrl+Enter", "Create and start"), ("Esc", "Back to the start page")),
        "A behaviour of your own": (
            ("Arrows", "Choose the robot; in the picture, turn the camera"),
            ("+ or −", "In the picture, zoom in or out"),
            ("Home", "In the picture, reset the view"),
            ("Ctrl+S", "Save"),
            ("Ctrl+Enter", "Save and start teaching"),
            ("Esc", "Back to the start page; while practising, back to this page"),
        ),
        "Practice": _rows(keys, *Choice, Command.UNDO, *_CLIPS),
        "In a session": (("Esc", "Return from a control to the clips, so that the answer keys work again"),),
        "In a focused plot": KEY_TEXTS,
        "Answer history": (
            ("Arrows", "Choose an answer"),
            ("Enter", "Go to the answer's clips, where the answer keys change its choice"),
            ("Esc", "Back to the list"),
            *_rows(keys, *_CLIPS),
            (key_symbols(dict.fromkeys((*keys.keys_for(Command.HISTORY), "Ctrl+W"))), "Close"),
        ),
        "Demo mode": (
            *_rows(keys, *Choice),
            ("F2", "Name the next guest"),
            *_rows(keys, *_DEMO),
            (key_symbols(("Esc", *keys.keys_for(Command.DEMO))), "Leave"),
        ),
        "Playing a game": (("Arrows and Space", "The game's controls"), ("Esc", "Leave")),
    }


def _rows(keys: KeyMap, *actions: KeyAction) -> Rows:
    """Return the actions that have a key."""
    return tuple((key_symbols(found), COMMANDS[action].name) for action in actions if (found := keys.keys_for(action)))
