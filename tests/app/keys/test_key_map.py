"""The key map: default keys, changes and how they are saved."""

from __future__ import annotations

import pytest

from app import settings
from app.keys.commands import COMMANDS, Command
from app.keys.key_map import DEFAULTS, KeyMap, load_key_map
from core.errors import UserError
from core.types import Choice


def test_the_arrows_answer_and_no_default_key_has_two_commands() -> None:
    keys = KeyMap()
    arrows = {"Left": Choice.LEFT, "Right": Choice.RIGHT, "Up": Choice.TIE, "Down": Choice.CANT_TELL}
    assert {key: keys.bindings.get(key) for key in arrows} == arrows
    assert keys.bindings.get("Q") is None
    assert len(DEFAULTS) == sum(len(info.keys) for info in COMMANDS.values())


@pytest.mark.parametrize("key", ["Tab", "Esc", "Return", "Alt+S", "F2", "Ctrl+W"])
def test_keys_of_keyboard_navigation_and_of_other_windows_are_refused(key: str) -> None:
    with pytest.raises(UserError, match="choose another key"):
        KeyMap().with_keys(Command.UNDO, key)


@pytest.mark.parametrize("key", ["Ctrl+F", "Ctrl+Z", "Ctrl+O", "Ctrl+I", "Ctrl+S", "Ctrl+Return"])
def test_a_command_that_also_works_on_the_start_page_takes_none_of_its_keys(key: str) -> None:
    with pytest.raises(UserError, match="fixed meaning in another window"):
        KeyMap().with_keys(Command.QUIT, key)
    assert KeyMap().with_keys(Command.PAUSE, key).keys_for(Command.PAUSE) == (key,)


def test_only_changes_are_saved_so_that_new_commands_keep_their_keys() -> None:
    keys = KeyMap().with_keys(Choice.LEFT, "A").with_keys(Command.REDO, "Ctrl+Z")
    assert keys.changes() == {"left": ["A"], "undo": ["Backspace"], "redo": ["Ctrl+Z"]}
    again = KeyMap.from_changes(keys.changes())
    assert {action: again.keys_for(action) for action in COMMANDS} == {a: keys.keys_for(a) for a in COMMANDS}
    assert KeyMap.from_changes({"teleport": ["T"]}) == KeyMap()
    swapped = KeyMap.from_changes({"left": ["Right"], "right": ["Left"]})
    assert swapped.bindings.get("Right") == Choice.LEFT and swapped.bindings.get("Left") == Choice.RIGHT


@pytest.mark.parametrize("damage", ["{", "[1]", '{"left": 3}', '{"left": [], "right": ["Left"]}'])
def test_unreadable_saved_keys_are_replaced_by_the_defaults(damage: str, caplog: pytest.LogCaptureFixture) -> None:
    settings.keep("keys/changes", damage)
    assert load_key_map() == KeyMap()
    assert "the default keys are used" in caplog.text
