"""From the start window to a session and back, in real windows over a fake engine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from app import application
from app.application import Application
from app.behaviours.practice import PAIRS
from app.command_line import parsed
from app.keys.commands import Command
from app.menus.key_list import KeyList
from app.session.controller import Controller, State
from app.session.factory import sessions_folder
from core.config import Config, replaced
from core.events import JobSpec
from core.session import summary
from core.session.session import Session
from core.session.summary import Summary
from core.tasks import get_task
from core.types import Choice, Teacher
from tests.app.fakes import Engine, FakeProcess, endless, make_query
from tests.app.start_page_driver import Drawers, practice_pair
from tests.core.builders import BEHAVIOUR

Begin = Callable[..., "Flow"]


class Flow:
    """A program with fake processes; `ended` counts how often the application emitted that signal."""

    def __init__(self, qtbot: QtBot, engine: Engine, *line: str) -> None:
        self.wait_until, self.engine = qtbot.waitUntil, engine
        options = parsed(list(line))
        self.program = Application(options)
        self.ended, self.closed = 0, False
        self.program.ended.connect(self._on_ended)
        named = options.task is not None or options.session is not None
        self.program.begin(application.open_or_create(options) if named else None)

    def _on_ended(self) -> None:
        self.ended += 1

    def wait_for_start(self) -> None:
        def there() -> bool:
            start = self.program.start
            return start is not None and start.isVisible() and self.program.open is None

        self.wait_until(there)
        self.wait_until(self.program.start.isActiveWindow)

    @property
    def controller(self) -> Controller:
        """Controller of the open session."""
        return self.program.open.controller

    def wait_for_session(self) -> None:
        self.wait_until(lambda: self.program.open is not None and self.controller.state == State.RUNNING)
        self.wait_until(self.program.open.window.isActiveWindow)

    def request_session(self, task: str) -> None:
        """Create a session with the form of the start window, by keys, without waiting for it."""
        self.wait_for_start()
        self.program.start.show_form(task)
        self.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)

    def begin_session(self, task: str) -> None:
        """Create a session with the form of the start window, by keys."""
        self.request_session(task)
        self.wait_for_session()

    def press(self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        target = QApplication.focusWidget() or QApplication.activeWindow()
        QTest.keyClick(target, key, modifier)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if not self.ended:
            self.program.quit()
            self.wait_until(lambda: bool(self.ended))
        self.program.close_down()
        if self.program.start:
            self.program.start.deleteLater()


@pytest.fixture
def begin(qtbot: QtBot, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    monkeypatch.setattr("app.session.factory.user_data_dir", lambda *_, **__: str(tmp_path / "data"))
    monkeypatch.setattr("app.previews.previews.user_cache_dir", lambda *_, **__: str(tmp_path / "cache"))
    drawers, flows = Drawers(), list[Flow]()

    def process(spec: JobSpec) -> FakeProcess:
        return drawers(spec) if spec.name in ("previews", "scenes") else engine(spec)

    monkeypatch.setattr(application, "JobProcess", process)

    def made(*line: str) -> Flow:
        flows.append(Flow(qtbot, engine, *line))
        return flows[-1]

    yield made
    for flow in flows:
        flow.close()


def at_the_first_card(begin: Begin) -> Flow:
    """A program that shows its start page, with the focus on the first card."""
    flow = begin()
    flow.wait_for_start()
    flow.wait_until(flow.program.start.grid.new_card.hasFocus)
    return flow


def test_a_session_is_made_taught_left_and_opened_again_by_keys_alone(begin: Begin) -> None:
    flow = at_the_first_card(begin)
    start = flow.program.start
    flow.press(Qt.Key.Key_Right)
    assert start.grid.cards["hopper-backflip"].hasFocus()
    flow.press(Qt.Key.Key_Return)
    flow.wait_for_session()
    assert not start.isVisible() and not start.grid.clock.isActive()
    session = flow.program.open
    assert session and session.controller.session.folder == sessions_folder() / "hopper-backflip-1"
    flow.engine.offer(make_query())
    flow.wait_until(lambda: session.controller.labelling.pairs.shown is not None)
    flow.press(Qt.Key.Key_Left)
    flow.wait_until(lambda: session.controller.progress.labels == 1)
    flow.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    flow.wait_for_start()
    flow.wait_until(lambda: start.sessions.list.current is not None)
    listed = start.sessions.list.current
    assert listed and listed.folder.name == "hopper-backflip-1" and listed.summary
    assert listed.summary.labels == 1
    assert all(process.stopped for process in flow.engine.made)
    start.sessions.list.setFocus()
    flow.press(Qt.Key.Key_Return)
    flow.wait_for_session()
    again = flow.program.open
    assert again and again.controller.progress.labels == 1
    assert flow.engine["policy"].spec.state is not None
    assert flow.ended == 0


def test_a_new_behaviour_is_made_practised_and_taught_by_keys_alone(begin: Begin) -> None:
    flow = at_the_first_card(begin)
    page = flow.program.start.behaviour_page
    flow.press(Qt.Key.Key_Return)
    flow.wait_until(page.robots.cards["hopper"].hasFocus)
    for words in ("Kneeling", "Choose the clip in which the robot kneels."):
        flow.press(Qt.Key.Key_Tab)
        QTest.keyClicks(QApplication.focusWidget(), words)
    while QApplication.focusWidget() is not page.practise:
        flow.press(Qt.Key.Key_Tab)
    flow.press(Qt.Key.Key_Return)
    practice = page.practice
    for number in range(1, PAIRS + 1):
        flow.wait_until(lambda: practice.clips.shown is not None and not practice.flash_timer.isActive())
        flow.press(Qt.Key.Key_Right)
        assert len(practice.answers) == number
    flow.wait_until(practice.keep.hasFocus)
    flow.press(Qt.Key.Key_Return)
    flow.wait_for_session()
    controller = flow.controller
    flow.wait_until(lambda: controller.progress.labels == PAIRS)
    flow.engine.offer(make_query())
    flow.wait_until(lambda: flow.program.open.window.pair_page.has_pair)
    flow.press(Qt.Key.Key_Left)
    flow.wait_until(lambda: controller.progress.labels == PAIRS + 1)
    with closing(controller.session.reader()) as store:
        assert [answer.choice for answer in store.each()] == [Choice.RIGHT] * PAIRS + [Choice.LEFT]


def test_closing_a_session_returns_to_the_start_window_and_closing_that_ends_the_program(begin: Begin) -> None:
    flow = begin()
    flow.wait_for_start()
    start = flow.program.start
    start.show_form("reacher")
    QTest.mouseClick(start.form.create_button, Qt.MouseButton.LeftButton)
    flow.wait_for_session()
    assert flow.program.crash_reporter.log_file == str(sessions_folder() / "reacher-1" / "log.txt")
    flow.program.open.window.close()
    flow.wait_for_start()
    assert flow.ended == 0 and flow.program.crash_reporter.log_file == ""
    start.close()
    assert flow.ended == 1


@pytest.mark.parametrize("line", [("--task", "reacher"), ("--session", "own")])
def test_a_program_started_with_a_session_ends_with_it(begin: Begin, tmp_path: Path, line: tuple[str]) -> None:
    flow = begin(*(str(tmp_path / "own") if word == "own" else word for word in line))
    flow.wait_for_session()
    assert flow.program.start is None and flow.program.open
    flow.program.open.window.close()
    flow.wait_until(lambda: flow.ended == 1)
    assert flow.program.start is None


def test_a_session_named_on_the_command_line_is_listed_while_it_exists(begin: Begin, tmp_path: Path) -> None:
    flow = begin("--session", str(tmp_path / "disk" / "mine"))
    flow.wait_for_session()
    flow.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    flow.wait_for_start()
    sessions = flow.program.start.sessions.list
    flow.wait_until(lambda: sessions.current is not None)
    assert sessions.current.folder == tmp_path / "disk" / "mine" and sessions.current.problem == ""
    flow.close()
    again = begin()
    again.wait_for_start()
    sessions = again.program.start.sessions.list
    again.wait_until(lambda: sessions.current is not None)
    assert [entry.folder for entry in sessions.session_model.entries] == [tmp_path / "disk" / "mine"]
    shutil.rmtree(tmp_path / "disk")
    again.program.start.library.refresh()
    again.wait_until(lambda: sessions.session_model.entries == [])
    assert not again.program.start.banner.isVisible()


def test_quitting_a_session_first_reports_an_unsaved_behaviour(begin: Begin) -> None:
    flow = at_the_first_card(begin)
    start = flow.program.start
    flow.press(Qt.Key.Key_Return)
    flow.wait_until(start.behaviour_page.robots.cards["hopper"].hasFocus)
    flow.press(Qt.Key.Key_Tab)
    QTest.keyClicks(QApplication.focusWidget(), "Kneeling")
    flow.press(Qt.Key.Key_Escape)
    flow.begin_session("hopper")
    window = flow.program.open.window
    for _ in range(2):  # the second one, too, comes before the warning can be seen
        QTest.keyClick(window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    flow.wait_for_start()
    assert (
        "Quitting discards the changes to Kneeling: complete and save them first" in start.banner.text.text()
        and start.banner.isVisible()
    )
    assert not flow.ended
    flow.press(Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    flow.wait_until(lambda: bool(flow.ended))


def test_a_dialog_of_the_start_page_is_closed_when_a_session_opens(begin: Begin) -> None:
    flow = begin()
    flow.request_session("reacher")
    start = flow.program.start
    QTest.keyClick(start, Qt.Key.Key_F1)
    assert start.findChildren(KeyList) and flow.program.open is None
    flow.wait_for_session()
    assert not any(dialog.isVisible() for dialog in start.findChildren(KeyList))


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("config", "labeller", "written", "expected"),
    [
        ("human", None, None, "human"),
        ("oracle", None, None, "oracle"),
        ("none", None, None, "human"),
        ("oracle", "human", None, "human"),
        ("human", "oracle", None, "oracle"),
        ("oracle", "human", b"{", "human"),
        ("oracle", "human", "oracle", "oracle"),
        ("human", None, "the cat", "human"),
    ],
)
def test_an_opened_session_keeps_its_last_teacher_as_listed(
    begin: Begin, tmp_path: Path, config: str, labeller: str | None, written: bytes | str | None, expected: str
) -> None:
    session = Session.create(tmp_path / "mine", Config(teacher=config))
    with closing(session), closing(session.store()) as store:
        if labeller is not None:
            store.add(make_query(), Choice.LEFT, labeller)
    if isinstance(written, bytes):
        (tmp_path / "mine" / summary.NAME).write_bytes(written)
    elif written is not None:
        summary.write(tmp_path / "mine", Summary("hopper-backflip", written, 1, 0, "", None, 0.0))
    flow = begin("--session", str(tmp_path / "mine"))
    flow.wait_for_session()
    assert flow.controller.labelling.teacher == expected


def test_an_oracle_is_refused_for_a_behaviour_without_one(begin: Begin, tmp_path: Path) -> None:
    file = tmp_path / "kneel.json"
    file.write_text(json.dumps(BEHAVIOUR))
    first = begin("--session", str(tmp_path / "mine"), "--task", str(file))
    first.wait_for_session()
    first.close()
    flow = begin("--session", str(tmp_path / "mine"), "--teacher", "oracle")
    flow.wait_for_session()
    assert flow.controller.labelling.teacher == Teacher.HUMAN
    assert "this task has no true reward" in flow.program.open.window.banner.text.text()


@pytest.mark.parametrize("by", ["key", "failure"])
def test_quit_ends_the_program_from_a_session_opened_on_the_start_page(begin: Begin, by: str) -> None:
    flow = begin()
    flow.begin_session("reacher")
    if by == "key":
        flow.press(Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    else:
        banner = flow.program.open.window.banner
        flow.engine["policy"].die()
        flow.wait_until(lambda: banner.shows_failure)
        QTest.mouseClick(banner.quit, Qt.MouseButton.LeftButton)
    flow.wait_until(lambda: flow.ended == 1)
    assert not flow.program.start.isVisible() and flow.program.open is None


def test_a_session_is_started_over_with_its_answers(begin: Begin) -> None:
    flow = begin()
    flow.begin_session("reacher")
    first = flow.controller.session
    start_over = flow.program.open.window.commands[Command.START_OVER]
    for number, key in enumerate((Qt.Key.Key_Down, Qt.Key.Key_Left)):
        flow.engine.offer(practice_pair(get_task("reacher"), number))
        flow.wait_until(lambda: flow.controller.labelling.pairs.shown is not None)
        assert not start_over.isEnabled()  # nothing is learned from "can't tell"
        flow.press(key)
        flow.wait_until(lambda number=number: flow.controller.progress.labels == number + 1)
    flow.wait_until(start_over.isEnabled)
    start_over.trigger()
    flow.wait_until(lambda: flow.program.open is not None and flow.controller.session is not first)
    flow.wait_for_session()
    second = flow.controller.session
    assert second.folder != first.folder and second.config.query.taken == 1
    flow.wait_until(lambda: flow.controller.progress.labels == 2)
    flow.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    flow.wait_for_start()  # nothing is started over again


def test_quitting_while_a_session_opens_releases_it(begin: Begin) -> None:
    flow = begin()
    flow.wait_for_start()
    flow.program.start.show_form("reacher")
    flow.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    flow.program.quit()
    assert flow.ended == 1 and flow.program.open is None
    flow.program.close_down()
    QApplication.processEvents()
    Session.open(sessions_folder() / "reacher-1").close()


def test_an_unteachable_session_is_reported_on_the_start_page(begin: Begin) -> None:

    Session.create(sessions_folder() / "returns", replaced(Config(), reward__target="returns")).close()
    flow = begin()
    flow.wait_for_start()
    start = flow.program.start
    flow.wait_until(lambda: start.sessions.list.current is not None)
    flow.press(Qt.Key.Key_Return)
    flow.wait_until(lambda: "Only the oracle knows true returns" in start.banner.text.text())
    assert start.isVisible() and flow.program.open is None
    Session.open(sessions_folder() / "returns").close()


def test_each_session_has_its_own_log(begin: Begin) -> None:
    flow = begin()
    for name in ("reacher", "ant"):
        flow.wait_for_start()
        flow.program.start.show_form(name)
        flow.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        flow.wait_for_session()
        flow.program.open.window.close()
    flow.wait_for_start()
    for name in ("reacher-1", "ant-1"):
        log = (sessions_folder() / name / "log.txt").read_text()
        assert log.count("opened by Python") == 1 and log.rstrip().endswith("closed")


@pytest.mark.slow_after_first
@pytest.mark.parametrize("command", [Command.START_PAGE, Command.START_OVER])
def test_a_file_abandoned_with_its_session_is_reported_on_the_start_page(
    begin: Begin, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("app.workers.file_tasks.export_session", endless)
    flow = begin()
    flow.begin_session("reacher")
    flow.engine.offer(practice_pair(get_task("reacher")))
    flow.wait_until(lambda: flow.controller.labelling.pairs.shown is not None)
    flow.press(Qt.Key.Key_Left)
    flow.wait_until(flow.program.open.window.commands[Command.START_OVER].isEnabled)
    file_tasks = flow.controller.file_tasks
    file_tasks.deadline.setInterval(1)
    file_tasks.export(tmp_path / "mine.somersault")
    window = flow.program.open.window
    window.commands[command].trigger()
    box = window.findChild(QMessageBox)
    assert box.text().startswith("Still being written: mine.somersault.") and window.isVisible()
    (leave,) = [button for button in box.buttons() if "Close anyway" in button.text()]
    leave.click()
    flow.wait_for_start()
    refusal = "mine.somersault was not saved because the session was closed: save it again."
    flow.wait_until(flow.program.start.banner.isVisible)
    assert flow.program.start.banner.text.text() == refusal and refusal in caplog.text
