"""Numbers of answers that are announced, through the desktop if the window is not in front."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtGui import QIcon

from core.types import Choice
from tests.app.fakes import Face, make_query


class FakeTray:
    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []
        self.shown = False

    def icon(self) -> QIcon:
        return QIcon()

    def show(self) -> None:
        self.shown = True

    def showMessage(self, title: str, text: str, icon: QIcon, milliseconds: int) -> None:
        self.messages.append((title, text))

    def hide(self) -> None:
        self.shown = False


@pytest.fixture
def tray(face: Face, monkeypatch: pytest.MonkeyPatch) -> FakeTray:
    made = FakeTray()
    monkeypatch.setattr(face.window.notifier, "find_tray", lambda window: made)
    return made


@pytest.fixture
def face(open_face: Callable[..., Face]) -> Face:
    """A window over a session without answers, once the answers have been counted."""
    made = open_face(labels=100)
    with made.wait_signal(made.labelling.trouble_arose):
        made.labelling.redo()
    return made


def behind(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program's window is in front."""
    monkeypatch.setattr(face.window, "isActiveWindow", lambda: False)


def test_a_number_of_answers_is_announced_in_the_window_and_outside_only_if_it_is_behind(
    face: Face, tray: FakeTray, monkeypatch: pytest.MonkeyPatch
) -> None:
    face.offer(*[make_query() for _ in range(3)])
    face.controller.progress.counted(24)
    face.labelling.answer(Choice.LEFT)
    face.wait_until(lambda: "25 answers given" in face.window.statusBar().currentMessage())
    assert tray.messages == []
    behind(face, monkeypatch)
    face.wait_until(lambda: face.labelling.idle and face.labelling.pairs.shown is not None)
    face.controller.progress.counted(99)
    face.labelling.answer(Choice.LEFT)
    face.wait_until(lambda: len(tray.messages) == 1)
    assert tray.messages[0][0] == "100 answers given" in face.window.statusBar().currentMessage()
    assert tray.shown
    face.close()
    assert not tray.shown
