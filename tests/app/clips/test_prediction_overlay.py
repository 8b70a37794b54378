"""What the predictor expected: told after the answer if the person wants it, and never before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from core.types import Query
from tests.app.fakes import Face, make_query

SURE, OTHER = (0.9, 0.8, 0.76), (0.1, 0.2, 0.3)


def expected(predicted: tuple[float, ...]) -> Query:
    return replace(make_query(), predicted=predicted)


def wanted(face: Face) -> None:
    face.press(Qt.Key.Key_T)
    assert face.window.playback.tells_thoughts


def everything_said(widget: QWidget) -> str:
    """All text of a window that anybody could see or have read out."""
    parts = [widget, *widget.findChildren(QWidget)]
    seen = [part.text() for part in parts if hasattr(part, "text") and callable(part.text)]
    names = [f"{p.accessibleName()} {p.accessibleDescription()} {p.toolTip()}" for p in parts if p.isVisible()]
    return " ".join(map(str, seen + names))


def test_it_is_told_after_the_answer_and_gone_with_the_flash(face: Face, qtbot: QtBot, picture: Any) -> None:
    first, second = expected(SURE), expected(OTHER)
    face.offer(first, second)
    wanted(face)
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: face.window.clips.predicted == SURE)
    assert face.query is second
    assert "left 82 %, right 18 %" in everything_said(face.window)
    picture(face.window, "thoughts")
    qtbot.waitUntil(lambda: face.window.clips.flashed is None)
    assert face.window.clips.predicted == ()


def test_nothing_of_it_is_there_before_the_answer(face: Face) -> None:
    """Pairs that differ in nothing but the prediction look and read alike."""
    face.offer(expected(SURE))
    wanted(face)
    looks = []
    pair = face.labelling.pairs.shown
    assert pair is not None and pair.query.predicted == SURE
    for predicted in (SURE, OTHER, ()):
        face.labelling.pair_shown.emit(replace(pair, query=replace(pair.query, predicted=predicted)))
        face.window.clips.step(-face.window.clips.clock.frame)
        face.window.refresh()
        assert face.window.clips.predicted == ()
        looks.append((pixels(face.window).tobytes(), everything_said(face.window)))
    assert looks[0] == looks[1] == looks[2]
    assert "82 %" not in looks[0][1]


def pixels(widget: QWidget) -> np.ndarray:
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    return np.frombuffer(image.constBits(), np.uint8).copy()


def test_the_second_pairs_prediction_waits_for_its_own_answer(face: Face, qtbot: QtBot) -> None:
    face.offer(expected(SURE), expected(OTHER), make_query())
    wanted(face)
    told = []
    face.labelling.pair_shown.connect(lambda pair: told.append(face.window.clips.predicted))
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: face.window.clips.predicted == SURE)
    face.press(Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: face.window.clips.predicted == OTHER)
    assert OTHER not in told[:1]


def test_taking_the_answer_back_takes_it_away_at_once(face: Face, qtbot: QtBot) -> None:
    first = expected(SURE)
    face.offer(first, expected(OTHER))
    wanted(face)
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: face.window.clips.predicted == SURE)
    face.press(Qt.Key.Key_Backspace)
    with qtbot.waitSignal(face.labelling.answer_withdrawn):
        pass
    assert face.query is first and face.window.clips.predicted == () and face.window.clips.flashed is None


def test_who_did_not_ask_is_not_told(face: Face, qtbot: QtBot) -> None:
    face.offer(expected(SURE), expected(OTHER))
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: face.window.clips.flashed is not None)
    assert face.window.clips.predicted == ()


def test_before_the_first_fit_there_is_nothing_to_tell(face: Face, qtbot: QtBot) -> None:
    face.offer(expected(()), make_query())
    wanted(face)
    face.press(Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: face.window.clips.flashed is not None)
    assert face.window.clips.predicted == ()


@pytest.mark.parametrize("times", [1, 2])
def test_the_wish_is_kept_for_the_next_run(open_face: Callable[..., Face], times: int) -> None:
    face = open_face()
    for _ in range(times):
        face.press(Qt.Key.Key_T)
    face.close()
    assert open_face().window.playback.tells_thoughts == (times == 1)
