"""Children that can't be created, and jobs that can't be restarted."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.session.controller import State
from core.errors import UserError
from core.session.session import Session
from tests.app.fakes import Engine, Face, FullSystem, press_restart
from tests.core.builders import raising


def test_a_child_that_cannot_be_created_is_reported_as_a_failure(face: Face) -> None:
    job_group = face.controller.job_group
    face.die("policy")
    job_group.make_process = FullSystem(face, 1)
    press_restart(face)
    face.wait_until(lambda: "Too many open files" in face.window.banner.text.text())
    assert face.window.banner.shows_failure and face.controller.state == State.FAILED
    assert job_group.running == ("reward", "clips") and all(p.started or p.stopped for p in face.engine.made)
    job_group.make_process = face.engine
    face.restart()
    assert set(job_group.running) == {"rollout", "policy", "reward", "clips"}


def test_the_window_closes_without_any_child(face: Face) -> None:
    with face.wait_signal(face.controller.stopped):
        face.controller.stop()
    face.controller.job_group.make_process = FullSystem(face, 2)
    face.controller.start()
    face.wait_until(lambda: face.window.banner.shows_failure)
    assert face.controller.state == State.FAILED and not face.controller.job_group.running
    with face.wait_signal(face.window.closed):
        QTest.mouseClick(face.window.banner.quit, Qt.MouseButton.LeftButton)


def test_a_film_without_a_child_is_refused_and_the_next_one_is_made(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    film_export, target = face.controller.film_export, face.folder.parent / "x.mp4"
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "__call__", lambda engine, spec: FullSystem(face, 0)(spec))
        with face.wait_signal(film_export.refused) as refused:
            film_export.make(target)
    assert "Too many open files" in refused.args[0]
    film_export.make(target)
    with face.wait_signal(film_export.failed):
        film_export.cancel()


def test_a_failed_restart_is_explained_and_can_be_retried(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    face.die("reward")
    with monkeypatch.context() as patch:
        patch.setattr(Session, "load", raising(UserError("No checkpoint can be read: delete that folder.")))
        press_restart(face)
        face.wait_until(lambda: "No checkpoint can be read" in face.window.banner.text.text())
    assert face.controller.state == State.FAILED and face.window.banner.restart.isVisible()
    face.restart()
    assert not face.window.banner.isVisible()
