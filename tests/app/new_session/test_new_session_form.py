"""The form for a new session, generated from the config and refused while settings contradict each other."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QWidget
from pytestqt.qtbot import QtBot

from app.new_session.new_session_form import NewSessionForm
from app.new_session.number_box import NumberBox
from app.previews.previews import of_frames
from app.session.config_draft import ConfigDraft, sections
from core.config import Config
from core.presets import DEFAULT
from tests.app.fakes import Picture, take_file
from tests.app.start_page_driver import CLIP
from tests.core.builders import BEHAVIOUR, raising

_FRESH = ConfigDraft("reacher").config


class Form:
    """A shown form over an empty folder of sessions, opened for the Reacher."""

    def __init__(self, qtbot: QtBot, root: Path, task: str = "reacher") -> None:
        self._qtbot = qtbot
        self.page = NewSessionForm(root, {})
        self.page.folder.names_requested.connect(self._list)
        self.made: list[tuple[Path, Config]] = []
        self.wanted: list[str] = []
        self.page.create_requested.connect(lambda folder, config, _: self.made.append((folder, config)))
        self.page.preview_requested.connect(self.wanted.append)
        self.page.resize(1280, 720)
        self.page.show()
        self.page.activateWindow()
        qtbot.waitUntil(self.page.isActiveWindow)
        self.page.open(task)

    def _list(self, folder: Path) -> None:
        self.page.folder.set_taken(folder, {path.name for path in folder.iterdir()} if folder.exists() else set())

    @property
    def problem(self) -> str:
        """Return the problem that is shown, below its field or at the foot; the button is enabled only without one."""
        texts = [words.text() for words in (*self.page.problems.values(), self.page.problem) if words.isVisible()]
        (text,) = [text for text in texts if text] or [""]
        assert self.page.create_button.isEnabled() == (not text)
        return text

    def unfold(self) -> None:
        QTest.mouseClick(self.page.fold, Qt.MouseButton.LeftButton)
        advanced = self.page.advanced
        assert advanced is not None and advanced.isVisible()
        self._qtbot.waitUntil(lambda: advanced.reset_all.height() > 10)  # until everything is laid out

    def type_in(self, name: str, text: str) -> None:
        editor = self.page.fields[name] if name in self.page.fields else self.page.advanced.rows[name].editor
        editor.setFocus()
        editor.selectAll()
        QTest.keyClicks(editor, text)

    def choose(self, name: str, text: str) -> None:
        """Choose an option with the keyboard."""
        box = self.page.advanced.rows[name].editor
        box.setFocus()
        QTest.keyClick(box, Qt.Key.Key_Home)
        for _ in range(box.findText(text)):
            QTest.keyClick(box, Qt.Key.Key_Down)

    def mark(self, name: str) -> str:
        return self.page.advanced.rows[name].mark.text()

    def shown(self) -> set[str]:
        return {name for name, row in self.page.advanced.rows.items() if not row.isHidden()}


@pytest.fixture
def form(qtbot: QtBot, tmp_path: Path) -> Iterator[Form]:
    made = Form(qtbot, tmp_path / "sessions")
    yield made
    made.page.close()
    made.page.deleteLater()


def test_a_fresh_form_is_valid(form: Form, tmp_path: Path) -> None:
    form.page.set_preview("reacher", of_frames(CLIP))
    assert form.problem == "" and form.page.folder.name.text() == "reacher-1"
    QTest.mouseClick(form.page.create_button, Qt.MouseButton.LeftButton)
    assert form.made == [(tmp_path / "sessions" / "reacher-1", _FRESH)]
    assert form.wanted == ["reacher"]


def test_the_plain_fields_are_in_the_config(form: Form) -> None:
    QTest.keyClick(form.page.fields["teacher"], Qt.Key.Key_Down)
    form.unfold()
    form.type_in("seed", "7")
    QTest.keyClick(form.page.fields["device"], Qt.Key.Key_Down)
    QTest.keyClick(form.page, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    ((_, config),) = form.made
    assert (config.teacher, config.seed, config.device) == ("oracle", 7, "cpu")
    assert config.query.first_labels == DEFAULT["query.first_labels"]
    assert "labels" not in form.page.fields and "labels" not in form.page.advanced.rows  # unknown to a person at first


def test_every_field_of_the_config_has_a_row_with_its_help_and_section(form: Form, picture: Picture) -> None:
    form.unfold()
    picture(form.page, "new-session-advanced")
    rows = form.page.advanced.rows
    assert set(rows) == {setting.name for section in sections() for setting in section.settings}
    for section in sections():
        for setting in section.settings:
            texts = " ".join(child.text() for child in rows[setting.name].findChildren(QLabel))
            assert setting.help in texts and setting.paper in texts
            editor = rows[setting.name].editor
            assert (editor.accessibleName(), editor.accessibleDescription()) == (setting.title, setting.help)
            if isinstance(editor, QComboBox):
                assert tuple(editor.itemText(i) for i in range(editor.count())) == setting.options


def test_tab_reaches_the_buttons_after_all_settings(form: Form) -> None:
    form.unfold()
    page, order = form.page, list[QWidget]()
    widget: QWidget = page.fold
    while widget is not page.create_button and len(order) < 5000:
        order.append(widget)
        widget = widget.nextInFocusChain()
    assert widget is page.create_button and order[-1] is page.back
    assert {row.editor for row in page.advanced.rows.values()} <= set(order)


def test_values_out_of_bounds_are_reported_and_marked_until_corrected(form: Form) -> None:
    form.unfold()
    form.type_in("policy.discount", "5")
    assert form.problem == "policy.discount is 5.0: give a number from 0 to 0.99999."
    row = form.page.advanced.rows["policy.discount"]
    assert row.editor.property("kind") == "wrong" and row.problem.text() == form.problem
    form.page.area.ensureWidgetVisible(row)
    QTest.keyClick(form.page, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert form.made == []
    form.type_in("policy.discount", ".5")
    assert form.problem == "" and row.editor.property("kind") != "wrong"
    assert form.mark("policy.discount") == "Changed"


def test_resetting_one_setting_keeps_the_focus(form: Form) -> None:
    form.unfold()
    form.type_in("policy.discount", ".5")
    row = form.page.advanced.rows["policy.discount"]
    QTest.keyClick(row.editor, Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is row.reset
    QTest.keyClick(row.reset, Qt.Key.Key_Space)
    assert form.page.draft.changes == {} and QApplication.focusWidget() is row.editor
    assert isinstance(row.editor, NumberBox) and row.editor.value() == 0.99
    assert form.mark("policy.discount") == ""


def test_settings_can_be_searched(form: Form, qtbot: QtBot) -> None:
    form.unfold()
    QTest.keyClicks(form.page.advanced.search, "learning rate")
    found = "reward.learning_rate", "policy.learning_rate", "policy.decay", "rollout.finish_steps", "query.horizon"
    assert form.shown() == set(found)
    qtbot.waitUntil(lambda: form.page.area.verticalScrollBar().maximum() < 300)
    QTest.keyClicks(form.page.advanced.search, " xyz")
    assert form.shown() == set() and form.page.advanced.no_match.isVisible()
    left: list[None] = []
    form.page.back_requested.connect(lambda: left.append(None))
    QTest.keyClick(form.page.advanced.search, Qt.Key.Key_Escape)
    assert form.shown() == set(form.page.advanced.rows) and left == []
    QTest.keyClick(form.page.advanced.search, Qt.Key.Key_Escape)
    assert left == [None]


def test_a_form_keeps_its_content_until_a_session_is_made_or_another_task_chosen(form: Form) -> None:
    form.type_in("seed", "77")
    form.page.open("reacher")
    assert form.page.draft.changes == {"seed": 77}
    form.page.forget()
    form.page.open("reacher")
    assert form.page.draft.changes == {}
    form.type_in("seed", "78")
    for task in ("hopper", "reacher"):
        form.page.open(task)
    assert form.page.draft.changes == {}


def test_a_name_that_is_taken_is_refused_and_never_proposed(form: Form, tmp_path: Path) -> None:
    (tmp_path / "sessions" / "reacher-1").mkdir(parents=True)
    form.page.open("reacher")
    assert form.page.folder.name.text() == "reacher-2"
    QTest.keyClick(form.page.folder.name, Qt.Key.Key_Backspace)
    QTest.keyClicks(form.page.folder.name, "1")
    taken = form.problem
    assert taken == form.page.problems["name"].text() == "reacher-1 already exists: give the session another name."
    assert not form.page.problem.text()
    form.unfold()
    bar = form.page.area.verticalScrollBar()
    bar.setValue(bar.maximum())
    assert form.page.problem.text() == taken  # the field is scrolled away, and the button is disabled
    bar.setValue(0)
    assert not form.page.problem.text()


@pytest.mark.parametrize("name", ["a/b", "/", "..", ".hidden", "mine.part", 'what"', "x" * 101, "NUL", "com1.old"])
def test_an_invalid_folder_name_is_refused_below_its_field(form: Form, name: str) -> None:
    form.page.folder.name.selectAll()
    QTest.keyClicks(form.page.folder.name, name)
    below = form.page.problems["name"]
    assert form.problem == below.text() and " name can't " in below.text()
    gap = below.mapTo(form.page, QPoint()).y() - form.page.folder.name.mapTo(form.page, QPoint()).y()
    assert 0 < gap <= 3 * form.page.folder.name.height()
    QTest.keyClick(form.page.folder.name, Qt.Key.Key_Return)
    assert form.made == []


def test_an_invisible_character_in_a_name_is_named_in_words(form: Form) -> None:
    form.page.folder.name.setText("run\t2")
    form.page.folder.name.textEdited.emit("run\t2")  # as pasted
    assert form.problem.startswith("A name can't contain a tab or another invisible character: ")


def test_an_unavailable_teacher_is_reported_below_its_field_in_the_words_of_the_window(form: Form) -> None:
    form.page.open(json.dumps(BEHAVIOUR))  # without an oracle
    QTest.keyClick(form.page.fields["teacher"], Qt.Key.Key_Down)
    assert form.problem == form.page.problems["teacher"].text() != "" and "--" not in form.problem


@pytest.mark.slow_after_first
@pytest.mark.parametrize("field", ["name", "seed", "teacher"])
def test_enter_starts_from_any_field_and_presses_a_focused_button(form: Form, qtbot: QtBot, field: str) -> None:
    editor = form.page.folder.name if field == "name" else form.page.fields[field]
    editor.setFocus()
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert len(form.made) == 1
    form.page.back.setFocus()
    with qtbot.waitSignal(form.page.back_requested):
        QTest.keyClick(form.page.back, Qt.Key.Key_Return)
    form.unfold()
    form.page.advanced.search.setFocus()
    QTest.keyClick(form.page.advanced.search, Qt.Key.Key_Return)
    assert len(form.made) == 1


def test_a_held_enter_key_starts_nothing(form: Form) -> None:
    for held in (form.page.fields["seed"], form.page.create_button):
        held.setFocus()
        QApplication.sendEvent(
            held, QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier, "\r", True)
        )
    assert form.made == []


def test_a_robot_whose_preview_failed_can_be_taught(form: Form) -> None:
    form.page.set_preview_error("reacher", "The rendering process ended unexpectedly.")
    assert form.problem == ""
    form.page.create_button.click()
    assert form.made[0][1].task == "reacher"


def test_texts_take_no_more_room_after_a_longer_one(form: Form) -> None:
    before = form.page.title.height(), form.page.instruction.height()
    form.page.open(json.dumps({**BEHAVIOUR, "title": "A title of many words " * 2, "instruction": "Much text. " * 30}))
    assert form.page.instruction.height() > before[1]
    form.page.open("reacher")
    assert (form.page.title.height(), form.page.instruction.height()) == before


def test_typing_never_accesses_the_disk(form: Form, monkeypatch: pytest.MonkeyPatch) -> None:
    forbidden = raising(AssertionError("a key looked at the disk"))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", forbidden)
        patch.setattr(os, "stat", forbidden)
        patch.setattr(os, "listdir", forbidden)
        QTest.keyClicks(form.page.folder.name, "23")
    assert form.page.folder.name.text() == "reacher-123" and form.problem == ""


def test_a_gymnasium_environment_is_typed_and_searched(form: Form, qtbot: QtBot) -> None:
    form.page.open("gym:")
    assert "such as CartPole-v1" in form.problem
    assert form.page.env_id.hasFocus() and form.wanted == ["reacher"]
    QTest.keyClicks(form.page.env_id, "Cart-v1")
    qtbot.waitUntil(lambda: form.wanted == ["reacher", "gym:Cart-v1"])
    form.page.set_preview_error("gym:Cart-v1", "gym:Cart-v1 can't be made: there is none.")
    assert form.problem == "gym:Cart-v1 can't be made: there is none."
    form.page.env_id.selectAll()
    QTest.keyClicks(form.page.env_id, "gym:CartPole-v1")  # as on the command line
    form.page.set_preview_error("gym:Cart-v1", "It comes too late.")
    assert form.problem == "" and form.page.folder.name.text() == "gym-CartPole-v1-1"
    QTest.mouseClick(form.page.create_button, Qt.MouseButton.LeftButton)
    assert form.made[0][1].task == "gym:CartPole-v1"


def test_a_control_rate_can_be_typed_and_an_invalid_one_is_reported_at_the_field(form: Form, qtbot: QtBot) -> None:
    form.page.open("gym:")
    QTest.keyClicks(form.page.env_id, "CartPole-v1@")
    assert (
        form.problem == "gym:CartPole-v1@ has no rate that can be used: after @, write the steps per second, 1 to 125."
    )
    assert not form.page.create_button.isEnabled()
    QTest.keyClicks(form.page.env_id, "15")
    qtbot.waitUntil(lambda: form.wanted == ["reacher", "gym:CartPole-v1@15"])
    assert form.problem == "" and form.page.create_button.isEnabled()
    QTest.mouseClick(form.page.create_button, Qt.MouseButton.LeftButton)
    assert form.made[0][1].task == "gym:CartPole-v1@15"


def test_a_proposed_name_is_free_in_another_folder_too(form: Form, tmp_path: Path) -> None:
    (tmp_path / "other" / "reacher-1").mkdir(parents=True)
    QTest.mouseClick(form.page.folder.other, Qt.MouseButton.LeftButton)
    take_file(form.page, tmp_path / "other")
    assert form.page.folder.path == tmp_path / "other" / "reacher-2" and form.problem == ""


def test_resetting_all_shown_settings_keeps_the_others(form: Form) -> None:
    form.page.draft.set("labels", 321)  # set like --labels
    form.unfold()
    form.type_in("policy.discount", ".5")
    QTest.mouseClick(form.page.advanced.reset_all, Qt.MouseButton.LeftButton)
    assert form.page.draft.config.policy.discount == _FRESH.policy.discount
    assert form.page.draft.config.labels == 321
