"""The states of a session in its window: waiting, paused, failed, stopped."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from app.keys.commands import Command
from app.plots.plot_text import headline
from app.session.controller import State
from core.events import Failed, Paused, PreferenceAdded
from core.session.routing import JOBS
from core.types import Choice
from tests.app.fakes import DRIVEN, Face, make_query
from tests.app.tape import flashed, report


def test_the_tick_marks_the_answered_pair_and_keys_are_ignored_meanwhile(face: Face) -> None:
    first, second = face.offer(make_query(), make_query())
    assert face.labelling.flash_timer.interval() == 250
    face.labelling.flash_timer.setInterval(60_000)
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: flashed(face.window.clips) == Choice.LEFT)
    face.wait_until(lambda: face.labelling.pairs.ready == 1)
    assert face.query is first
    face.press(Qt.Key.Key_Right)
    assert [answer.choice for answer in face.answers()] == [Choice.LEFT] and face.query is first
    face.labelling.flash_timer.start(0)
    face.wait_until(lambda: face.query is second)
    assert flashed(face.window.clips) is None
    face.press(Qt.Key.Key_Right)
    face.wait_until(lambda: [answer.choice for answer in face.answers()] == [Choice.LEFT, Choice.RIGHT])


def test_an_undo_during_the_tick_asks_the_same_pair_again(face: Face) -> None:
    first, second = face.offer(make_query(), make_query())
    face.labelling.flash_timer.setInterval(60_000)
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: flashed(face.window.clips) == Choice.LEFT)
    face.press(Qt.Key.Key_Backspace)
    face.wait_until(lambda: flashed(face.window.clips) is None)
    assert face.query is first and face.answers() == []
    face.labelling.flash_timer.setInterval(0)
    face.press(Qt.Key.Key_Right)
    face.wait_until(lambda: face.query is second)


def test_the_flash_is_shown_even_if_no_pair_follows(face: Face) -> None:
    query = make_query()
    face.offer(query)
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: flashed(face.window.clips) is not None)
    assert face.query is query
    face.wait_until(lambda: face.window.pair_page.currentWidget() is face.window.empty)
    assert len(face.answers()) == 1


def test_pause_and_resume_reach_the_jobs(face: Face) -> None:
    face.offer(make_query())
    assert face.window.windowTitle() == "session – Hopper: backflips – Somersault"
    face.window.pause_action.trigger()
    assert face.window.pause_action.text() == "&Resume" and face.window.paused_bar.isVisible()
    assert face.window.windowTitle().startswith("session (paused) – ")
    face.press(Qt.Key.Key_Left)  # answers are accepted while paused
    face.wait_until(lambda: len(face.answers()) == 1)
    QTest.mouseClick(face.window.paused_bar.buttons[0], Qt.MouseButton.LeftButton)
    assert face.window.pause_action.text() == "&Pause" and not face.window.paused_bar.isVisible()
    for name in JOBS:
        process = face.engine[name]
        face.wait_until(lambda process=process: process.got(Paused)[-2:] == [Paused(True), Paused(False)])


def test_stop_saves_a_checkpoint_and_start_continues_from_it(face: Face) -> None:
    before = list(face.engine.made)
    face.stop()
    assert all(process.stopped for process in before)
    assert face.window.empty.headline.text() == "Stopped"
    face.window.pause_action.trigger()
    face.wait_until(lambda: face.controller.state == State.RUNNING)
    assert face.engine["policy"] not in before
    states = {name: face.engine[name].spec.state for name in JOBS}
    assert all(state is not None and state.values["n"] == 1 for state in states.values())


def test_keys_and_buttons_do_nothing_once_stopped(face: Face) -> None:
    face.answered()
    undo = face.window.commands[Command.UNDO]
    assert undo.isEnabled()
    face.stop()
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Backspace):
        face.press(key)
    assert face.labelling.idle and len(face.answers()) == 1
    assert not undo.isEnabled() and not face.window.key_hints.buttons[Command.UNDO].isEnabled()
    face.window.pause_action.trigger()
    face.wait_until(undo.isEnabled)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("name", "way"), [("rollout", "fails"), ("reward", "dies"), ("policy", "dies"), ("clips", "fails")]
)
def test_a_job_that_ends_is_reported_and_can_be_restarted(face: Face, name: str, way: str) -> None:
    first, second = face.answered()
    broken, others = face.engine[name], {other: face.engine[other] for other in JOBS if other != name}
    if way == "fails":
        broken.play(Failed(name, "OutOfMemoryError: no room", "traceback"))
    else:
        broken.die()
    face.wait_until(lambda: face.window.banner.shows_failure)
    text = face.window.banner.text.text()
    assert " stopped: " in text and "All answers were saved" in text
    assert ("no room" in text) == (way == "fails")
    assert face.controller.state == State.FAILED
    for process in others.values():
        face.wait_until(lambda process=process: process.got(Paused)[-1:] == [Paused(True)])
    face.restart()
    assert face.engine[name] is not broken
    together = {"rollout", "policy"} if name in ("rollout", "policy") else {name}  # these two share a checkpoint
    assert all((face.engine[other] is process) == (other not in together) for other, process in others.items())
    assert not face.window.banner.isVisible()
    assert face.query is second
    face.wait_until(lambda: len(face.engine["reward"].got(PreferenceAdded)) == 1)
    face.wait_until(lambda: len(face.engine["rollout"].got(PreferenceAdded)) == 1)


def test_a_failure_asks_for_attention_in_the_taskbar(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    alerted: list[QWidget] = []
    monkeypatch.setattr(QApplication, "alert", alerted.append)
    face.engine["policy"].die()
    face.wait_until(lambda: alerted == [face.window])


def test_interrupted_renderings_are_repeated_after_a_restart(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    clips = face.engine["clips"]
    monkeypatch.setattr(clips, "send", lambda event: None)
    query = make_query()
    face.engine.offer(query)
    face.wait_until(lambda: face.labelling.pairs.rendering == 1)
    clips.die()
    face.wait_until(lambda: face.window.banner.shows_failure)
    QTest.mouseClick(face.window.banner.restart, Qt.MouseButton.LeftButton)
    face.wait_until(lambda: face.query is query)


def figures(face: Face) -> dict[str, str]:
    """Return the figures in the status strip by their captions."""
    face.window.refresh()
    cells = [cell for cell in face.window.status_strip.findChildren(QLabel) if cell.isVisible()]
    named = [cell.accessibleName().partition(": ") for cell in cells if cell.accessibleName()]
    assert all(text in {cell.text() for cell in cells} for _, _, text in named)
    return {caption: text for caption, _, text in named}


def test_the_strip_shows_answers_the_start_of_training_and_agreement(
    open_face: Callable[..., Face],
) -> None:
    face = open_face(**DRIVEN)
    assert figures(face) == {
        "Answers given": "0",
        "Until training starts": "2",
        "Predictors agree on new pairs": "–",
        "Answers per minute": "0",
    }
    face.controller.progress.counted(2)
    face.engine["rollout"].play(report(3000, agreement=0.875))
    face.wait_until(lambda: figures(face).get("Predictors agree on new pairs") == "88%")
    plot = face.window.plots.all_plots()["agreement"]
    assert headline(plot.spec, plot.source, False) == "Predictors agree on new pairs: 88%"  # as below the clips
    shown = figures(face)
    assert (shown["Answers given"], shown["Steps"]) == ("2", "3,000") and "Until training starts" not in shown


def test_the_strip_shows_the_best_agreement_after_a_fall(face: Face) -> None:
    for steps, agreement, text in ((1000, 0.3, ""), (2000, 0.56, "rose just now"), (3000, 0.15, "best 56%, just now")):
        face.engine["rollout"].play(report(steps, agreement=agreement))
        face.wait_until(
            lambda agreement=agreement: figures(face).get("Predictors agree on new pairs") == f"{agreement:.0%}"
        )
        best = [
            cell.text()
            for cell in face.window.status_strip.findChildren(QLabel)
            if cell.text().startswith(("best", "rose"))
        ]
        assert "".join(best) == text


def test_the_strip_shows_divergences_once_there_are_some(face: Face) -> None:
    for env_steps, divergences in ((1000, 0), (2000, 3), (3000, 0)):  # the last report is from an earlier checkpoint
        face.engine["rollout"].play(report(env_steps, divergences=divergences))
        face.wait_until(lambda env_steps=env_steps: face.controller.progress.env_steps == env_steps)
        assert figures(face).get("Diverged") == ("3" if divergences else None)


def test_a_damaged_checkpoint_is_reported_and_the_one_before_is_used(
    open_face: Callable[..., Face], caplog: pytest.LogCaptureFixture
) -> None:
    first = open_face()
    first.controller.checkpointer.request()
    first.wait_until(lambda: first.controller.checkpointer.saved_at is not None)
    first.close()
    newest = max((first.folder / "checkpoints").iterdir())
    newest.write_bytes(newest.read_bytes()[:-1])
    again = open_face()
    assert again.window.banner.isVisible()  # stays until the session runs, when the person can read it
    assert "was damaged" in again.window.banner.text.text()
    assert again.engine["policy"].spec.state.values["n"] == 1
    assert newest.name in caplog.text
