"""Keys changed in the dialog with real clicks and key presses, and saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialogButtonBox
from pytestqt.qtbot import QtBot

from app.keys.commands import Command, KeyAction
from app.keys.key_dialog import KeyDialog
from app.keys.key_map import KeyMap, load_key_map
from core.types import Choice
from tests.app.fakes import Face, make_query

NONE, CTRL, SHIFT = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
)


@pytest.fixture
def dialog(face: Face) -> KeyDialog:
    face.window.commands[Command.EDIT_KEYS].trigger()
    found = face.window.findChild(KeyDialog)
    face.activate(found)
    return found


def choose(
    dialog: KeyDialog, meaning: KeyAction, key: Qt.Key, modifier: Qt.KeyboardModifier = NONE, place: int = 0
) -> None:
    field = dialog.fields[meaning][place]
    QTest.mouseClick(field, Qt.MouseButton.LeftButton)
    assert field.text() == "press a key…"
    QTest.keyClick(field, key, modifier)


def press(dialog: KeyDialog, kind: QDialogButtonBox.StandardButton) -> None:
    QTest.mouseClick(dialog.buttons.button(kind), Qt.MouseButton.LeftButton)


def test_a_new_key_answers_and_the_old_one_no_longer_does(face: Face, dialog: KeyDialog) -> None:
    choose(dialog, Choice.LEFT, Qt.Key.Key_A)
    press(dialog, QDialogButtonBox.StandardButton.Ok)
    assert face.window.key_hints.buttons[Choice.LEFT].text() == "A  Left is better"
    first, second = face.offer(make_query(), make_query())
    face.activate()
    face.press(Qt.Key.Key_Left)
    face.press(Qt.Key.Key_A)
    face.wait_until(lambda: face.query is second)
    assert [answer.choice for answer in face.answers()] == [Choice.LEFT]


def test_chosen_keys_survive_a_restart(open_face: Callable[..., Face], dialog: KeyDialog, face: Face) -> None:
    choose(dialog, Choice.TIE, Qt.Key.Key_E)
    choose(dialog, Choice.TIE, Qt.Key.Key_T, CTRL, place=1)
    choose(dialog, Command.UNDO, Qt.Key.Key_Question, SHIFT)
    press(dialog, QDialogButtonBox.StandardButton.Ok)
    face.close()
    again = open_face()
    again.offer(make_query(), make_query())
    again.press(Qt.Key.Key_T, CTRL)
    face.wait_until(lambda: [answer.choice for answer in again.answers()] == [Choice.TIE])
    assert again.window.key_hints.buttons[Choice.TIE].text() == "E  Tie"
    assert again.window.commands.keys.keys_for(Command.UNDO) == ("?", "Ctrl+Z")


def test_a_key_taken_from_another_command_is_reported_and_cancel_changes_nothing(face: Face, dialog: KeyDialog) -> None:
    choose(dialog, Command.REDO, Qt.Key.Key_Z, CTRL)
    assert dialog.message.text() == "Ctrl+Z no longer triggers “Undo”."
    assert [field.text() for field in dialog.fields[Command.UNDO]] == ["⌫", "–"]
    assert [field.text() for field in dialog.fields[Command.REDO]] == ["Ctrl+Z", "Ctrl+Y"]
    press(dialog, QDialogButtonBox.StandardButton.Cancel)
    assert face.window.commands.keys == load_key_map() == KeyMap()


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        (Qt.Key.Key_Right, "No key would be left for “Right is better”: give it another key first."),
        (Qt.Key.Key_Tab, "Tab is needed to reach the buttons and menus by keyboard: choose another key."),
        (Qt.Key.Key_Delete, "No key would be left for “Left is better”: give it another key first."),
    ],
)
def test_a_key_that_cannot_be_used_is_refused_in_a_sentence(dialog: KeyDialog, key: Qt.Key, sentence: str) -> None:
    choose(dialog, Choice.LEFT, key)
    assert dialog.message.text() == sentence
    assert dialog.fields[Choice.LEFT][0].text() == "←"
    assert dialog.keys == KeyMap()


@pytest.mark.parametrize(
    ("key", "modifiers", "name"),
    [
        (Qt.Key.Key_1, Qt.KeyboardModifier.ShiftModifier, "1"),  # a French keyboard's 1, which a session matches as 1
        (Qt.Key.Key_Delete, Qt.KeyboardModifier.ControlModifier, "Ctrl+Del"),
    ],
)
def test_a_key_with_a_modifier_has_the_name_by_which_it_is_matched(
    dialog: KeyDialog, key: Qt.Key, modifiers: Qt.KeyboardModifier, name: str
) -> None:
    choose(dialog, Choice.LEFT, key, modifiers)
    assert dialog.keys.keys_for(Choice.LEFT)[0] == name


@pytest.mark.slow_after_first
@pytest.mark.parametrize("key", [Qt.Key.Key_Dead_Circumflex, Qt.Key.Key_Multi_key])
def test_a_key_without_a_name_is_ignored_until_another_is_pressed(dialog: KeyDialog, key: Qt.Key) -> None:
    choose(dialog, Choice.LEFT, key)
    field = dialog.fields[Choice.LEFT][0]
    assert field.text() == "press another key…" and dialog.keys == KeyMap()
    QTest.keyClick(field, Qt.Key.Key_CapsLock)
    QTest.keyClick(field, Qt.Key.Key_J)
    assert field.text() == "J" and dialog.keys.keys_for(Choice.LEFT)[0] == "J"


def test_the_dialog_can_be_operated_by_keys_alone(dialog: KeyDialog, qtbot: QtBot, picture: Any) -> None:
    field, other = dialog.fields[Choice.LEFT]
    qtbot.waitUntil(field.hasFocus)
    QTest.keyClick(field, Qt.Key.Key_Space)
    QTest.keyClick(field, Qt.Key.Key_Space)  # assigns Space itself, which the playback loses
    assert field.text() == "Space" and dialog.keys.keys_for(Command.PLAYBACK) == ()
    picture(dialog, "keys")
    QTest.keyClick(field, Qt.Key.Key_Tab)
    assert other.hasFocus()
    QTest.keyClick(other, Qt.Key.Key_Space)
    QTest.keyClick(other, Qt.Key.Key_Tab)  # refused as a key; the next Tab moves the focus again
    assert other.hasFocus()
    QTest.keyClick(other, Qt.Key.Key_Tab)
    assert dialog.fields[Choice.RIGHT][0].hasFocus()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not dialog.isVisible())
