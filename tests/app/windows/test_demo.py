"""Demo mode: the same session full screen, answered by guests or by the oracle."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QInputDialog, QWidget
from shiboken6 import isValid

from app.session.controller import State
from app.windows.demo import DemoWindow
from core.events import JobSpec, Waited
from core.jobs.job_process import JobProcess
from core.types import Choice, Teacher
from tests.app.fakes import KEYS, Face, FakeProcess, make_query
from tests.app.live_view_driver import open_demo
from tests.app.tape import flashed, report
from tests.processes import children, parts


@pytest.fixture
def demo(face: Face) -> Iterator[DemoWindow]:
    yield open_demo(face)
    face.window.watching_commands.leave_demo()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("key", [Qt.Key.Key_F11, Qt.Key.Key_Escape])
def test_f11_opens_demo_mode_full_screen_and_f11_or_esc_leaves_it(face: Face, key: Qt.Key) -> None:
    demo = open_demo(face)
    assert demo.isFullScreen() and demo.isVisible()
    QTest.keyClick(demo, key)
    face.wait_until(lambda: face.window.watching_commands.demo is None)
    assert face.window.isVisible() and face.controller.state == State.RUNNING
    again = open_demo(face)
    assert again is not demo
    face.wait_until(lambda: not isValid(demo))  # otherwise every closed demo window would keep playing unseen
    again.close()


def test_guests_answer_with_four_keys(face: Face, demo: DemoWindow) -> None:
    queries = face.offer(*[make_query() for _ in range(5)])
    assert demo.clips.shown and demo.clips.shown.query is queries[0]
    demo.flash_timer.setInterval(60_000)
    for (key, choice), following in zip(KEYS.items(), queries[1:], strict=True):
        QTest.keyClick(demo, key)
        face.wait_until(lambda query=following: demo.clips.shown is not None and demo.clips.shown.query is query)
        assert [c for c, tile in demo.tiles.items() if tile.lit] == [choice]
    assert [(p.choice, p.labeller) for p in face.answers()] == [(choice, "guest: Guest 1") for choice in KEYS.values()]
    demo.flash_timer.start(0)
    face.wait_until(lambda: not any(tile.lit for tile in demo.tiles.values()))


def test_each_guests_answers_are_stored_under_a_name(face: Face, demo: DemoWindow) -> None:
    face.offer(*[make_query() for _ in range(4)])

    def answer(window: QWidget, count: int) -> None:
        face.wait_until(lambda: face.labelling.pairs.shown is not None and face.labelling.idle)
        QTest.keyClick(window, Qt.Key.Key_Left)
        face.wait_until(lambda: len(face.answers()) == count)

    answer(demo, 1)
    QTest.keyClick(demo, Qt.Key.Key_F2)
    asked = demo.findChild(QInputDialog)
    assert asked.textValue() == "Guest 2"
    asked.setTextValue("Ada")
    asked.accept()
    answer(demo, 2)
    demo.close()
    again = open_demo(face)
    answer(again, 3)
    again.close()
    face.activate()
    answer(face.window, 4)
    names = [answer.labeller for answer in face.answers()]
    assert names == ["guest: Guest 1", "guest: Ada", "guest: Guest 2", "human"]


def test_the_name_of_the_audience_is_refused_to_a_guest(demo: DemoWindow) -> None:
    QTest.keyClick(demo, Qt.Key.Key_F2)
    asked = demo.findChild(QInputDialog)
    asked.setTextValue("the audience")
    asked.accept()
    assert "choose another" in demo.notice.text() and "now Guest 1" in demo.hints.text()


@pytest.mark.slow
def test_training_restarts_by_itself_after_a_crash_and_demo_mode_says_so(face: Face, demo: DemoWindow) -> None:
    """Kill a real child process."""
    fake, real = face.engine, list[JobProcess]()

    def make(spec: JobSpec) -> JobProcess | FakeProcess:
        if spec.name != "clips":
            return fake(spec)
        real.append(JobProcess(spec))
        return real[-1]

    face.controller.job_group.make_process = make
    known = set(children())
    demo.restart_timer.setInterval(60_000)
    fake["clips"].die()
    face.wait_until(lambda: demo.headline.text() == "Training has stopped")
    assert demo.detail.text() == "It will restart automatically."  # does not mention the button, which demo mode lacks
    demo.restart_timer.start(0)
    face.wait_until(lambda: len(real) == 1 and face.controller.state == State.RUNNING)
    face.wait_until(lambda: bool(set(parts()) - known))
    (set(parts()) - known).pop().kill()
    face.wait_until(lambda: len(real) == 2 and face.controller.state == State.RUNNING)
    assert "was restarted" in demo.notice.text() and "Undo" in demo.hints.text()
    assert not face.window.banner.isVisible() and demo.isVisible()


def test_failed_training_is_reported_in_one_place_while_demo_mode_continues(face: Face, demo: DemoWindow) -> None:
    demo.restart_timer.setInterval(60_000)
    face.offer(make_query())
    face.engine["policy"].die()
    face.wait_until(lambda: face.controller.state == State.FAILED)
    face.labelling.oracle_timer.setInterval(60_000)
    QTest.keyClick(demo, Qt.Key.Key_F7)
    demo.refresh()
    assert "All answers were saved;" in demo.notice.text() and "restart" not in demo.notice.text()
    assert demo.pair_page.has_pair and demo.question.text() == "The computer is choosing"
    assert demo.title.text().endswith("training has stopped and will restart automatically")
    QTest.keyClick(demo, Qt.Key.Key_Left)
    face.wait_until(lambda: not demo.pair_page.has_pair and len(face.answers()) == 1)
    QTest.keyClick(demo, Qt.Key.Key_F7)
    demo.refresh()
    assert demo.detail.text() == "It will restart automatically." and "restart" not in demo.title.text()
    assert demo.question.text() == "The computer has stopped answering"


def test_a_guest_can_click_and_undo_an_answer(face: Face, demo: DemoWindow) -> None:
    face.offer(make_query(), make_query())
    demo.flash_timer.setInterval(60_000)
    face.labelling.flash_timer.setInterval(60_000)
    QTest.mouseClick(demo.tiles[Choice.TIE], Qt.MouseButton.LeftButton)
    face.wait_until(lambda: demo.tiles[Choice.TIE].lit)
    assert flashed(demo.clips) == Choice.TIE and len(face.answers()) == 1
    QTest.keyClick(demo, Qt.Key.Key_Backspace)
    face.wait_until(lambda: not demo.tiles[Choice.TIE].lit)  # the confirmation has been cleared
    assert face.answers() == []


def test_the_presenter_pauses_and_resumes(face: Face, demo: DemoWindow) -> None:
    for state in (State.PAUSED, State.RUNNING):
        QTest.keyClick(demo, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
        assert face.controller.state == state
        assert ("Ctrl+P Resume training" in demo.hints.text()) == (state == State.PAUSED)


def test_without_a_pair_demo_mode_says_why_and_ignores_keys(face: Face, demo: DemoWindow) -> None:
    face.engine["rollout"].play(Waited("rollout", "rollout waits for the policy"))
    face.wait_until(lambda: demo.headline.text().startswith("Rollout waits for the policy"))
    assert not any(tile.isEnabled() for tile in demo.tiles.values())
    QTest.keyClick(demo, Qt.Key.Key_Left)
    assert face.answers() == []


def test_the_oracle_answers_until_demo_mode_is_left(face: Face) -> None:
    face.labelling.oracle_timer.setInterval(0)
    demo = open_demo(face, Qt.KeyboardModifier.ShiftModifier)
    assert face.labelling.teacher == Teacher.ORACLE and demo.question.text() == "The computer is choosing"
    assert (
        demo.instruction.text() == "A one-legged robot jumps and turns over backward."
    )  # no choice is offered to the audience
    queries = [make_query(1.0, 0.0), make_query(0.0, 1.0)]
    face.engine.offer(*queries)
    face.wait_until(lambda: len(face.answers()) == 2)
    assert [(p.choice, p.labeller) for p in face.answers()] == [(Choice.LEFT, "oracle"), (Choice.RIGHT, "oracle")]
    assert demo.tiles[Choice.RIGHT].lit
    QTest.keyClick(demo, Qt.Key.Key_Escape)
    assert face.labelling.teacher == Teacher.HUMAN and face.controller.state == State.RUNNING


def test_demo_mode_says_that_training_is_finishing_while_the_oracle_rests(face: Face, demo: DemoWindow) -> None:
    face.engine["rollout"].play(report(1000, finishing=0.34))
    face.wait_until(lambda: face.controller.course.finishing is not None)
    QTest.keyClick(demo, Qt.Key.Key_F7)
    demo.refresh()
    assert demo.title.text().endswith("finishing training: 34% (an answer ends this)")
    assert demo.question.text() == "The computer has stopped answering"


def test_a_pair_offered_in_demo_mode_plays_in_the_main_window(face: Face) -> None:
    open_demo(face)
    face.offer(make_query())
    face.window.watching_commands.leave_demo()
    assert face.window.clips.clock.playing


def test_a_guests_key_takes_over_from_the_oracle_and_another_key_hands_back(face: Face) -> None:
    demo = open_demo(face, Qt.KeyboardModifier.ShiftModifier)
    face.labelling.oracle_timer.setInterval(60_000)
    face.offer(make_query(), make_query())
    QTest.keyClick(demo, Qt.Key.Key_Right)
    face.wait_until(lambda: len(face.answers()) == 1)
    assert face.answers()[0].labeller == "guest: Guest 1" and face.labelling.teacher == Teacher.HUMAN
    assert demo.question.text() == "Which is better?" and demo.instruction.text().startswith("Choose the clip")
    QTest.keyClick(demo, Qt.Key.Key_F7)
    assert face.labelling.teacher == Teacher.ORACLE
    demo.close()
    assert face.labelling.teacher == Teacher.HUMAN  # the previous teacher


def test_demo_mode_opened_during_closing_ends_with_the_main_window(face: Face) -> None:
    with face.wait_signal(face.window.closed):
        face.window.close()
        face.press(Qt.Key.Key_F11, Qt.KeyboardModifier.ShiftModifier)
        assert face.controller.state == State.STOPPING and face.window.watching_commands.demo is not None
    assert face.window.watching_commands.demo is None and face.labelling.teacher == Teacher.HUMAN
