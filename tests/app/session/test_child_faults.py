"""Children that can't be made, and stages that can't be started again: one sentence, and another try."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.session.controller import State
from core.errors import Lack, UserError
from core.events import (
    Failed,
)
from core.session.session import Session
from tests.app.fakes import Face
from tests.app.faulty import FullSystem, press_restart


@pytest.mark.parametrize("left", [0, 1])
def test_a_child_that_cannot_be_made_is_a_failure_like_another(face: Face, qtbot: QtBot, left: int) -> None:
    crew = face.controller.job_group
    face.engine["policy"].die()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    crew.make_process = FullSystem(face, left)
    press_restart(face)
    qtbot.waitUntil(lambda: "Too many open files" in face.window.banner.text.text())
    assert face.window.banner.shows_failure and face.controller.state == State.FAILED
    assert crew.running == ("reward", "clips") and all(p.started or p.stopped for p in face.engine.made)
    crew.make_process = face.engine
    press_restart(face)
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    assert set(crew.running) == {"rollout", "policy", "reward", "clips"}


def test_without_any_child_the_window_still_closes(face: Face, qtbot: QtBot) -> None:
    with qtbot.waitSignal(face.controller.stopped):
        face.controller.stop()
    face.controller.job_group.make_process = FullSystem(face, 2)
    face.controller.start()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    assert face.controller.state == State.FAILED and not face.controller.job_group.running
    with qtbot.waitSignal(face.window.closed):
        QTest.mouseClick(face.window.banner.quit, Qt.MouseButton.LeftButton)


def test_a_film_for_which_no_child_can_be_made_is_refused_and_another_is_made(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    films, target = face.controller.film_export, face.folder.parent / "x.mp4"
    with monkeypatch.context() as patch:
        patch.setattr(films, "_make_process", FullSystem(face, 0))
        with qtbot.waitSignal(films.film_refused) as refused:
            films.make(target)
    assert "Too many open files" in refused.args[0]
    films.make(target)
    with qtbot.waitSignal(films.film_ended):
        films.cancel()


def test_why_a_film_failed_is_in_the_log(face: Face, qtbot: QtBot, caplog: pytest.LogCaptureFixture) -> None:
    face.controller.film_export.make(face.folder.parent / "x.mp4")
    with caplog.at_level("ERROR"), qtbot.waitSignal(face.controller.film_export.film_ended) as told:
        face.engine["film"].play(Failed("film", "RuntimeError: boom", "the trace"))
    assert told.args == ["The film could not be made: RuntimeError: boom."] and "the trace" in caplog.text


def test_save_and_quit_closes_after_a_failure(face: Face, qtbot: QtBot) -> None:
    face.engine["policy"].play(Failed("policy", "MemoryError", "trace", Lack.MEMORY))
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    with qtbot.waitSignal(face.window.closed):
        QTest.mouseClick(face.window.banner.quit, Qt.MouseButton.LeftButton)


def test_a_restart_that_cannot_load_says_why_and_can_be_tried_again(
    face: Face, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise UserError("No checkpoint can be read: delete that folder.")

    face.engine["reward"].die()
    qtbot.waitUntil(lambda: face.window.banner.shows_failure)
    with monkeypatch.context() as patch:
        patch.setattr(Session, "load", failing)
        press_restart(face)
        qtbot.waitUntil(lambda: "No checkpoint can be read" in face.window.banner.text.text())
    assert face.controller.state == State.FAILED and face.window.banner.restart.isVisible()
    press_restart(face)
    qtbot.waitUntil(lambda: face.controller.state == State.RUNNING)
    assert not face.window.banner.isVisible()
