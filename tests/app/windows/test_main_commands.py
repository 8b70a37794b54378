"""Every command: its key in a real window, its place in the menus, and its line in the list of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QFileDialog, QLineEdit, QMessageBox, QWidget
from shiboken6 import isValid

from app.keys.commands import COMMANDS, Command, KeyAction
from app.keys.key_button import KeyButton
from app.keys.key_dialog import KeyDialog
from app.keys.key_map import KeyMap, key_symbols
from app.menus.key_list import KeyList
from app.menus.menus import MENUS
from app.session.controller import State
from app.style import theme
from app.style.glossary import Glossary
from app.style.palette import DARK, LIGHT
from app.style.theme import Appearance
from app.windows.history import HistoryPage
from core.events import FinishRequested
from core.preferences.store import PreferenceStore
from core.session.policy_snapshots import SnapshotInfo
from core.types import Choice, Teacher
from tests.app.fakes import DRIVEN, FULL, Face, make_query
from tests.app.tape import report
from tests.core.builders import raising

Happened = Callable[[Face], bool]


def shows(kind: Any) -> Happened:
    return lambda face: any(dialog.isVisible() for dialog in face.window.findChildren(kind))


def live_view_at(number: int | None) -> Happened:
    """Return a check that the live view shows this earlier policy; None: the newest one."""
    return lambda face: face.window.live.snapshot == (None if number is None else MOMENTS[number])


MOMENTS = tuple(SnapshotInfo(1000 * steps, steps, 10.0 * steps, 0.0) for steps in range(3))
ENDING: dict[KeyAction, Happened] = {
    Command.STOP: lambda face: face.controller.state == State.STOPPED,
    Command.QUIT: lambda face: not face.window.isVisible(),
    Command.START_PAGE: lambda face: not face.window.isVisible(),
    Command.START_OVER: lambda face: not face.window.isVisible(),
}
"""Effects of commands that end the session: each in a window of its own."""


def choices(*given: Choice) -> Happened:
    return lambda face: [answer.choice for answer in face.answers()] == [*given]


ANSWERS = (Choice.LEFT, Choice.RIGHT, Choice.TIE, Choice.CANT_TELL)
OTHERS: dict[KeyAction, Happened] = {
    Command.NEXT_FRAME: lambda face: face.window.clips.left.index == 1,
    Command.PREVIOUS_FRAME: lambda face: face.window.clips.left.index == 0,
    Command.RESTART_CLIPS: lambda face: face.window.clips.clock.playing,
    Command.PLAYBACK: lambda face: not face.window.clips.clock.playing,
    Command.HALF_SPEED: lambda face: face.window.clips.clock.speed == 0.5,
    Command.QUARTER_SPEED: lambda face: face.window.clips.clock.speed == 0.25,
    Command.DOUBLE_SPEED: lambda face: face.window.clips.clock.speed == 2,
    Command.FULL_SPEED: lambda face: face.window.clips.clock.speed == 1,
    Command.PREDICTIONS: lambda face: face.window.playback_commands.shows_predictions,
    Command.EXPORT: shows(QFileDialog),
    Command.EXPORT_ONNX: shows(QFileDialog),
    Command.SAVE_PLOTS: shows(QFileDialog),
    Command.TRAINING_FILM: shows(QFileDialog),
    Command.BEFORE_AFTER_FILM: shows(QFileDialog),
    Command.TALK_FILM: shows(QFileDialog),
    Command.DIAGNOSTICS: shows(QFileDialog),
    Command.EDIT_KEYS: shows(KeyDialog),
    Command.KEY_LIST: shows(KeyList),
    Command.GLOSSARY: shows(Glossary),
    Command.ABOUT: shows(QMessageBox),
    Command.HISTORY: shows(HistoryPage),
    Command.REPEATS: lambda face: face.labelling.repeats.on,
    Command.EARLIER_POLICY: live_view_at(0),
    Command.LATER_POLICY: live_view_at(1),
    Command.NEWEST_POLICY: live_view_at(None),
    Command.REWARD_PLOTS: lambda face: face.window.plots.all_plots()["ratio"].hasFocus(),
    Command.SESSION_PLOTS: lambda face: face.window.plots.all_plots()["answers"].hasFocus(),
    Command.LEARNING_PLOTS: lambda face: face.window.plots.all_plots()["return"].hasFocus(),
    Command.PROGRESS_PANEL: lambda face: face.window.dock.isHidden(),
    Command.HIDE_TRUE_REWARD: lambda face: not face.window.true_reward.hidden,
    Command.LIGHT: lambda face: theme.palette() is LIGHT,
    Command.DARK: lambda face: theme.palette() is DARK,
    Command.SYSTEM_COLOURS: lambda face: theme.appearance() == Appearance.SYSTEM,
    Command.ORACLE: lambda face: face.labelling.teacher == Teacher.ORACLE,
    Command.HUMAN: lambda face: face.labelling.teacher == Teacher.HUMAN,
    Choice.LEFT: choices(Choice.LEFT),
    Choice.RIGHT: choices(Choice.LEFT, Choice.RIGHT),
    Choice.TIE: choices(Choice.LEFT, Choice.RIGHT, Choice.TIE),
    Choice.CANT_TELL: choices(*ANSWERS),
    Command.UNDO: choices(*ANSWERS[:3]),
    Command.REDO: choices(*ANSWERS),
    Command.FINISH: lambda face: (
        bool(face.engine["rollout"].got(FinishRequested)) and face.window.commands[Command.UNDO_FINISH].isEnabled()
    ),
    Command.UNDO_FINISH: lambda face: (
        face.controller.state == State.RUNNING and not face.controller.course.finish_asked
    ),
    Command.PAUSE: lambda face: face.controller.state == State.PAUSED,
    Command.VOTE: shows(QMessageBox),
    Command.DEMO: lambda face: face.window.watching_commands.demo is not None,
    Command.SELF_RUNNING_DEMO: lambda face: (
        face.window.watching_commands.demo is not None and face.labelling.teacher == Teacher.ORACLE
    ),
}
"""Effects of all other commands, in an order in which none is there before its key."""


@pytest.fixture(autouse=True)
def usual_colours() -> Iterator[None]:
    yield
    theme.choose(theme.Appearance.SYSTEM)


def trigger(face: Face, command: KeyAction) -> None:
    keys = COMMANDS[command].keys
    if keys:
        QTest.keySequence(face.window, QKeySequence(keys[0]))
    else:
        face.window.commands[command].trigger()


@pytest.mark.parametrize("command", ENDING)
def test_a_key_ends_the_session(face: Face, command: KeyAction) -> None:
    assert not face.window.commands[Command.START_OVER].isEnabled()  # there are no answers yet
    face.answered()
    face.wait_until(face.window.commands[command].isEnabled)
    assert not ENDING[command](face)
    trigger(face, command)
    face.wait_until(lambda: ENDING[command](face))


def test_the_keys_and_menus_of_all_other_commands(open_face: Callable[..., Face]) -> None:
    face = open_face(**DRIVEN)
    face.engine["rollout"].play(report(1000))
    face.wait_until(lambda: face.controller.can_finish)
    assert {*ENDING, *OTHERS, Command.PLAY_GAME} == {*COMMANDS}
    assert not face.window.commands[Command.PLAY_GAME].isEnabled()  # a robot can't be played; see test_play.py
    face.offer(*[make_query() for _ in range(6)])
    face.window.live.set_snapshots(MOMENTS)
    face.window.live.slider.setValue(1)
    face.window.clips.step(-face.window.clips.clock.frame)
    for command, happened in OTHERS.items():
        assert not happened(face), command
        if isinstance(command, Choice):
            face.wait_until(lambda: face.labelling.pairs.shown is not None)
        trigger(face, command)
        face.wait_until(lambda happened=happened: happened(face))
        face.window.watching_commands.leave_demo()
        for dialog in [*face.window.findChildren(QDialog), *face.window.findChildren(HistoryPage)]:
            dialog.close()
            face.wait_until(lambda dialog=dialog: not isValid(dialog) or not dialog.isVisible())
        face.activate()


def held(face: Face, target: QWidget, key: Qt.Key) -> None:
    """Hold a key down for three repetitions."""
    for repeated in (False, True, True, True):
        QTest.simulateEvent(target, True, key, Qt.KeyboardModifier.NoModifier, "", repeated)
        face.wait_until(lambda: face.labelling.idle and not face.labelling.flash_timer.isActive())


def test_a_held_key_repeats_steps_but_answers_once(face: Face) -> None:
    face.labelling.flash_timer.setInterval(1)
    face.offer(*(make_query() for _ in range(5)))
    face.window.clips.clock.halt()
    before = face.window.clips.left.index
    for key in (Qt.Key.Key_Period, Qt.Key.Key_Left):
        held(face, face.window, key)
        if key == Qt.Key.Key_Period:
            assert face.window.clips.left.index == before + 4
    assert len(face.answers()) == 1


def test_every_command_is_in_exactly_one_menu(face: Face) -> None:
    placed = [meaning for _, groups in MENUS for group in groups for meaning in group]
    assert sorted(placed) == sorted(COMMANDS)
    shown = [
        action.objectName()
        for bar in face.window.menuBar().actions()
        for action in bar.menu().actions()
        if not action.isSeparator() and action.menu() is None
    ]
    assert shown == [str(meaning) for meaning in placed]


def test_exports_are_in_the_first_menu_and_on_the_toolbar(face: Face) -> None:
    first = face.window.menuBar().actions()[0].menu()
    (inner,) = [action.menu() for action in first.actions() if action.menu() is not None]
    assert face.window.export_button.isVisible() and face.window.export_button.menu() is inner
    assert [action.objectName() for action in inner.actions() if not action.isSeparator()] == [
        *(Command.TRAINING_FILM, Command.BEFORE_AFTER_FILM, Command.TALK_FILM),
        *(Command.SAVE_PLOTS, Command.EXPORT, Command.EXPORT_ONNX),
    ]


def test_the_list_of_keys_has_every_command(face: Face) -> None:
    keys = face.window.commands.keys.with_keys(Choice.LEFT, "A").with_keys(Command.UNDO, "U", "Ctrl+Z")
    face.window.set_keys(keys)
    QTest.keySequence(face.window, QKeySequence("Ctrl+?"))
    shown = face.window.findChild(KeyList)
    lines = shown.text.toPlainText().splitlines()
    for meaning, info in COMMANDS.items():
        assert lines[lines.index(info.name) - 1] == key_symbols(keys.keys_for(meaning))
    text = shown.text.toPlainText()
    assert text.index("Session") < text.index("Start page") < text.index("Answer history") < text.index("Demo mode")
    assert (
        lines[lines.index("Name the next guest") - 1] == "F2" and lines[lines.index("Close") - 1] == "Ctrl+H or Ctrl+W"
    )
    assert lines[lines.index("Left is better") - 1] == "A" and lines[lines.index("Undo") - 1] == "U or Ctrl+Z"
    QTest.keyClick(shown, Qt.Key.Key_Escape)
    face.wait_until(lambda: face.window.findChild(KeyList) is None)


def test_a_held_enter_presses_a_button_once(face: Face) -> None:
    face.labelling.flash_timer.setInterval(1)
    queries = face.offer(*(make_query() for _ in range(4)))
    left, undo = (face.window.key_hints.buttons[action] for action in (Choice.LEFT, Command.UNDO))
    left.setFocus()
    held(face, left, Qt.Key.Key_Return)
    assert len(face.answers()) == 1
    face.press(Qt.Key.Key_Escape)
    for query in queries[1:3]:
        face.wait_until(lambda query=query: face.query is query and not face.labelling.flash_timer.isActive())
        face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.query is queries[3])
    undo.setFocus()
    held(face, undo, Qt.Key.Key_Return)
    assert len(face.answers()) == 2


def test_keypad_arrows_move_the_slider(face: Face) -> None:
    face.offer(make_query())
    face.window.live.set_snapshots(MOMENTS)
    slider = face.window.live.slider
    slider.setFocus()
    QTest.keyClick(slider, Qt.Key.Key_Left, Qt.KeyboardModifier.KeypadModifier)
    assert slider.value() == 2 and face.answers() == []


def test_undo_works_after_a_refused_answer_and_warnings_stay_visible_below_a_failure(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    face.answered()
    undo = face.window.commands[Command.UNDO]
    face.wait_until(undo.isEnabled)
    with monkeypatch.context() as full:
        full.setattr(PreferenceStore, "add", raising(FULL))
        face.press(Qt.Key.Key_Left)
        face.wait_until(lambda: str(FULL) in face.window.banner.text.text())
        face.controller.pause(True)
        face.controller.pause(False)
        assert undo.isEnabled()
        face.die("reward")
        face.press(Qt.Key.Key_Left)
        face.wait_until(lambda: str(FULL) in face.window.statusBar().currentMessage())


def test_a_key_is_shown_and_read_out_as_it_is(face: Face) -> None:
    face.window.set_keys(KeyMap().with_keys(Choice.LEFT, "&"))
    hint = face.window.key_hints.buttons[Choice.LEFT]
    assert hint.text() == "&&  Left is better" and hint.shortcut().isEmpty()
    field = KeyButton("Left is better, first key")
    field.set_key("&")
    assert field.text() == "&&" and field.accessibleDescription() == "&"
    field.deleteLater()


def test_a_dialog_gets_every_key_while_the_clips_rest(face: Face) -> None:
    face.offer(make_query())
    face.window.commands[Command.SAVE_PLOTS].trigger()
    face.wait_until(lambda: face.window.findChild(QFileDialog) is not None)
    dialog = face.window.findChild(QFileDialog)
    edit = dialog.findChild(QLineEdit)
    face.wait_until(dialog.isActiveWindow)
    edit.setFocus()
    edit.selectAll()
    for _ in range(2):  # for both halves of the time
        face.window.idle_pause.timer.timeout.emit()
    assert face.window.idle_pause.text.isVisible()
    for letter in "abc":
        QTest.keyClick(dialog.windowHandle(), letter)
    assert edit.text() == "abc"
    dialog.close()


def test_the_pause_button_says_start_once_stopped(face: Face) -> None:
    assert face.window.pause_action.toolTip().startswith("Pause")
    face.stop()
    assert face.window.pause_action.text() == "St&art" and face.window.pause_action.toolTip().startswith("Start")
