"""Every command: its key pressed in a real window, its place in the menus, and its line in the list of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QMessageBox
from pytestqt.qtbot import QtBot

from app.keys.commands import COMMANDS, SPEEDS, Command, KeyAction
from app.keys.key_dialog import KeyDialog
from app.keys.key_map import DEFAULTS, key_symbols
from app.menus.key_list import KeyList
from app.menus.menus import MENUS
from app.session.controller import State
from app.style import theme
from app.style.palette import DARK, LIGHT
from app.style.theme import Appearance
from app.windows.history import HistoryPage
from core.session.policy_snapshots import SnapshotInfo
from core.types import Choice, Teacher
from core.version import VERSION
from tests.app.fakes import Face, make_query

Happened = Callable[[Face], bool]


def chosen(choice: Choice) -> Happened:
    return lambda face: [answer.choice for answer in face.answers()] == [choice, choice]


def at_speed(speed: float) -> Happened:
    return lambda face: face.window.clips.clock.speed == speed


def shows(kind: Any) -> Happened:
    return lambda face: any(dialog.isVisible() for dialog in face.window.findChildren(kind))


def in_front(group: int) -> Happened:
    return lambda face: face.window.plots.currentIndex() == group


def looks(appearance: theme.Appearance) -> Happened:
    return lambda face: theme.appearance() == appearance


def moment(number: int | None) -> Happened:
    """The live view stands at this policy of the past; None: live."""
    return lambda face: face.window.live.snapshot == (None if number is None else MOMENTS[number])


MOMENTS = tuple(SnapshotInfo(1000 * steps, steps, 10.0 * steps, 0.0) for steps in range(3))
EFFECTS: dict[KeyAction, Happened] = {
    **{choice: chosen(choice) for choice in Choice},
    **{command: at_speed(speed) for command, speed in SPEEDS.items()},
    Command.UNDO: lambda face: face.answers() == [],
    Command.REDO: lambda face: len(face.answers()) == 1,
    Command.PLAYBACK: lambda face: not face.window.clips.clock.playing,
    Command.PREVIOUS_FRAME: lambda face: face.window.clips.left.index == 7,
    Command.NEXT_FRAME: lambda face: face.window.clips.left.index == 1,
    Command.PREDICTIONS: lambda face: face.window.playback_commands.shows_predictions,
    Command.PAUSE: lambda face: face.controller.state == State.PAUSED,
    Command.STOP: lambda face: face.controller.state == State.STOPPED,
    Command.HUMAN: lambda face: face.labelling.teacher == Teacher.HUMAN,
    Command.ORACLE: lambda face: face.labelling.teacher == Teacher.ORACLE,
    Command.EXPORT: shows(QFileDialog),
    Command.QUIT: lambda face: not face.window.isVisible(),
    Command.PROGRESS_PANEL: lambda face: face.window.dock.isHidden(),
    Command.LEARNING_PLOTS: lambda face: face.window.plots.by_key["measure"].hasFocus(),
    Command.REWARD_PLOTS: lambda face: face.window.plots.by_key["ratio"].hasFocus(),
    Command.SESSION_PLOTS: lambda face: face.window.plots.by_key["answers"].hasFocus(),
    Command.HIDE_TRUE_REWARD: lambda face: not face.window.true_reward.hidden,
    Command.SYSTEM_COLOURS: lambda face: theme.appearance() == Appearance.SYSTEM,
    Command.LIGHT: lambda face: theme.palette() is LIGHT,
    Command.DARK: lambda face: theme.palette() is DARK,
    Command.EDIT_KEYS: shows(KeyDialog),
    Command.HISTORY: shows(HistoryPage),
    Command.REPEATS: lambda face: face.labelling.repeats.on,
    Command.KEY_LIST: shows(KeyList),
    Command.DIAGNOSTICS: shows(QFileDialog),
    Command.ABOUT: shows(QMessageBox),
    Command.START_PAGE: lambda face: not face.window.isVisible(),
    Command.EARLIER_POLICY: moment(0),
    Command.LATER_POLICY: moment(2),
    Command.CURRENT_POLICY: moment(None),
    Command.DEMO: lambda face: face.window.demo_commands.demo is not None,
    Command.SELF_RUNNING_DEMO: lambda face: (
        face.window.demo_commands.demo is not None and face.labelling.teacher == Teacher.ORACLE
    ),
    Command.TRAINING_FILM: shows(QFileDialog),
    Command.BEFORE_AFTER_FILM: shows(QFileDialog),
    Command.LEARNING_PLOTS: in_front(0),
    Command.REWARD_PLOTS: in_front(1),
    Command.SESSION_PLOTS: in_front(2),
    Command.HIDE_TRUE_REWARD: lambda face: not face.window.true_reward.hidden,
    Command.SYSTEM_COLOURS: looks(theme.Appearance.SYSTEM),
    Command.LIGHT: looks(theme.Appearance.LIGHT),
    Command.DARK: looks(theme.Appearance.DARK),
    Command.HISTORY: shows(HistoryPage),
    Command.REPEATS: lambda face: face.labelling.repeats.on,
    Command.PLAY_GAME: lambda face: "Only games can be played" in face.window.banner.text.text(),
}
"""What must have happened after a command, from the state that `prepare` makes. A command without an entry fails."""


@pytest.fixture(autouse=True)
def usual_colours() -> Iterator[None]:
    yield
    theme.choose(theme.Appearance.SYSTEM)


def prepare(face: Face, qtbot: QtBot, meaning: KeyAction) -> None:
    """One answer given, as by `meaning` where it is a choice, and a pair on screen at its first frame."""
    face.offer(make_query(), make_query(), make_query())
    face.labelling.answer(meaning if isinstance(meaning, Choice) else Choice.TIE)
    qtbot.waitUntil(lambda: face.controller.progress.labels == 1)
    if meaning == Command.REDO:
        face.labelling.undo()
        qtbot.waitUntil(lambda: face.controller.progress.labels == 0)
    elif meaning == Command.FULL_SPEED:
        face.window.run_action(Command.HALF_SPEED)
    elif meaning == Command.LEARNING_PLOTS:
        face.window.plots.show_group(1)
    elif meaning == Command.SYSTEM_COLOURS:
        theme.choose(theme.Appearance.LIGHT)
    elif meaning == Command.HUMAN:
        face.labelling.set_teacher(Teacher.ORACLE)
    face.window.live.set_snapshots(MOMENTS)
    face.window.live.slider.setValue(1)
    face.window.clips.step(-face.window.clips.clock.frame)
    if meaning == Command.PLAYBACK:
        face.window.clips.toggle_playback()


@pytest.mark.parametrize(("key", "meaning"), DEFAULTS.items())
def test_a_key_does_what_it_means(face: Face, qtbot: QtBot, key: str, meaning: KeyAction) -> None:
    prepare(face, qtbot, meaning)
    assert not EFFECTS[meaning](face)
    QTest.keySequence(face.window, QKeySequence(key))
    qtbot.waitUntil(lambda: EFFECTS[meaning](face))


@pytest.mark.parametrize("meaning", [meaning for meaning, entry in COMMANDS.items() if not entry.keys])
def test_what_has_no_key_has_its_menu(face: Face, qtbot: QtBot, meaning: KeyAction) -> None:
    prepare(face, qtbot, meaning)
    assert not EFFECTS[meaning](face)
    face.window.commands[meaning].trigger()
    qtbot.waitUntil(lambda: EFFECTS[meaning](face))


def test_a_held_key_steps_on_but_answers_once(face: Face) -> None:
    repeating = [meaning for meaning in COMMANDS if face.window.commands[meaning].autoRepeat()]
    assert repeating == [Command.PREVIOUS_FRAME, Command.NEXT_FRAME, Command.EARLIER_POLICY, Command.LATER_POLICY]


def test_every_command_stands_in_one_menu(face: Face) -> None:
    placed = [meaning for _, groups in MENUS for group in groups for meaning in group]
    assert sorted(placed) == sorted(COMMANDS)
    shown = [
        action.objectName()
        for bar in face.window.menuBar().actions()
        for action in bar.menu().actions()
        if not action.isSeparator()
    ]
    assert shown == [str(meaning) for meaning in placed]


def test_no_two_entries_of_a_menu_share_their_letter() -> None:
    for title, groups in MENUS:
        letters = [t[t.index("&") + 1].lower() for group in groups for m in group if "&" in (t := COMMANDS[m].title)]
        assert len(letters) == len(set(letters)), title


def test_the_list_has_every_command_with_its_keys(face: Face, qtbot: QtBot, picture: Any) -> None:
    keys = face.window.commands.keys.with_keys(Choice.LEFT, "A").with_keys(Command.UNDO, "U", "Ctrl+Z")
    face.window.set_keys(keys)
    QTest.keySequence(face.window, QKeySequence("Ctrl+?"))
    shown = face.window.findChild(KeyList)
    assert isinstance(shown, KeyList)
    lines = shown.text.toPlainText().splitlines()
    for meaning, info in COMMANDS.items():
        assert lines[lines.index(info.name) - 1] == key_symbols(keys.keys_for(meaning))
    assert lines[lines.index("Left is better") - 1] == "A" and lines[lines.index("Undo") - 1] == "U or Ctrl+Z"
    picture(shown, "key-list")
    QTest.keyClick(shown, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: face.window.findChild(KeyList) is None)


def test_the_list_follows_the_colours_and_stays_where_it_was(face: Face, qtbot: QtBot) -> None:
    theme.choose(Appearance.DARK)
    QTest.keySequence(face.window, QKeySequence("Ctrl+?"))
    shown = face.window.findChild(KeyList)
    assert isinstance(shown, KeyList)
    qtbot.waitUntil(lambda: shown.text.verticalScrollBar().maximum() > 40)
    shown.text.verticalScrollBar().setValue(40)
    theme.choose(Appearance.LIGHT)
    assert LIGHT.muted.lower() in shown.text.toHtml() and DARK.muted.lower() not in shown.text.toHtml()
    assert shown.text.verticalScrollBar().value() == 40
    shown.close()


def test_about_tells_the_versions(face: Face, picture: Any) -> None:
    face.window.commands[Command.ABOUT].trigger()
    box = face.window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    assert f"Somersault {VERSION}" in box.text()
    for library in ("PySide6", "torch 2.", "mujoco 4.", "Python 3."):
        assert library in box.text()
    picture(box, "about")
    box.close()
