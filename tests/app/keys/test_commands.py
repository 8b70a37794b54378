from __future__ import annotations

import pytest

from app.keys.commands import COMMANDS, Command, KeyMap, symbol
from core.errors import UserError
from core.types import Choice


def test_the_keys_of_the_paper() -> None:
    keys = KeyMap()
    assert keys.meaning("Left") == Choice.LEFT
    assert keys.meaning("Right") == Choice.RIGHT
    assert keys.meaning("Up") == Choice.TIE
    assert keys.meaning("Down") == Choice.CANT_TELL
    assert keys.meaning("Backspace") == keys.meaning("Ctrl+Z") == Command.UNDO
    assert keys.meaning("Q") is None


def test_a_key_can_be_bound_anew() -> None:
    keys = KeyMap().rebound(Choice.LEFT, "A", "Num+4")
    assert keys.keys_for(Choice.LEFT) == ("A", "Num+4")
    assert keys.meaning("Left") is None


def test_a_key_taken_from_another_choice_leaves_it_without() -> None:
    with pytest.raises(UserError, match="No key would be left for “Right is better”"):
        KeyMap().rebound(Choice.LEFT, "Right")


def test_only_what_differs_is_kept_and_new_commands_keep_their_keys() -> None:
    keys = KeyMap().rebound(Choice.LEFT, "A").rebound(Command.REDO, "Ctrl+Z")
    assert keys.changes() == {"left": ["A"], "undo": ["Backspace"], "redo": ["Ctrl+Z"]}
    again = KeyMap.changed(keys.changes())
    assert {m: again.keys_for(m) for m in COMMANDS} == {m: keys.keys_for(m) for m in COMMANDS}
    assert KeyMap.changed({}) == KeyMap()


def test_names_of_commands_that_are_gone_count_for_nothing() -> None:
    assert KeyMap.changed({"teleport": ["T"]}) == KeyMap()


def test_left_and_right_can_change_places() -> None:
    keys = KeyMap.changed({"left": ["Right"], "right": ["Left"]})
    assert keys.meaning("Right") == Choice.LEFT and keys.meaning("Left") == Choice.RIGHT
    assert KeyMap.changed(keys.changes()).meanings == keys.meanings


def test_every_default_key_has_one_meaning() -> None:
    keys = [key for entry in COMMANDS.values() for key in entry.keys]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("key", ["Tab", "Esc", "Return", "Alt+S"])
def test_keys_that_move_about_are_not_to_be_had(key: str) -> None:
    with pytest.raises(UserError, match="choose another key"):
        KeyMap().rebound(Command.UNDO, key)


def test_keys_are_written_as_arrows() -> None:
    assert symbol("Left") == "←"
    assert symbol("A") == "A"
