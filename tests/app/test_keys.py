from __future__ import annotations

import pytest

from app.keys import Command, KeyMap, symbol
from core.errors import UserError
from core.records import Choice


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


def test_keys_are_written_as_arrows() -> None:
    assert symbol("Left") == "←"
    assert symbol("A") == "A"
