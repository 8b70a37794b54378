"""The prediction for an answered pair: shown after the answer if switched on, and never before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from core.types import Query
from tests.app.fakes import Face, make_query
from tests.app.tape import flashed, words

SURE, OTHER = (0.9, 0.8, 0.76), (0.1, 0.2, 0.3)


def predicted(values: tuple[float, ...]) -> Query:
    return replace(make_query(), predicted=values)


def pixels(widget: QWidget) -> bytes:
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    return np.frombuffer(image.constBits(), np.uint8).tobytes()


def test_the_prediction_appears_and_disappears_with_the_flash_of_its_answer(face: Face) -> None:
    first, second = predicted(SURE), predicted(OTHER)
    face.offer(first, second, make_query())
    face.press(Qt.Key.Key_T)
    at_pairs: list[tuple[float, ...]] = []
    face.labelling.pair_shown.connect(lambda pair: at_pairs.append(face.window.clips.overlay.members))
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.window.clips.overlay.members == SURE)
    assert face.query is first and "left 82%, right 18%" in words(face.window)
    face.wait_until(lambda: face.query is second)
    face.press(Qt.Key.Key_Right)
    face.wait_until(lambda: face.window.clips.overlay.members == OTHER)
    assert at_pairs[0] == SURE  # of the first pair, while the second is on screen
    face.wait_until(lambda: face.window.clips.overlay.members == ())


def test_an_unanswered_pair_shows_nothing_of_its_prediction(face: Face) -> None:
    face.offer(predicted(SURE))
    face.press(Qt.Key.Key_T)
    looks = []
    pair = face.labelling.pairs.shown
    assert pair is not None and pair.query.predicted == SURE
    for values in (SURE, OTHER, ()):
        face.labelling.pair_shown.emit(replace(pair, query=replace(pair.query, predicted=values)))
        face.window.clips.step(-face.window.clips.clock.frame)
        face.window.refresh()
        assert face.window.clips.overlay.members == ()
        looks.append((pixels(face.window), words(face.window)))
    assert looks[0] == looks[1] == looks[2] and "82%" not in looks[0][1]


def test_an_undo_removes_the_prediction_at_once(face: Face) -> None:
    first = predicted(SURE)
    face.offer(first, predicted(OTHER))
    face.press(Qt.Key.Key_T)
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: face.window.clips.overlay.members == SURE)
    with face.wait_signal(face.labelling.answer_withdrawn):
        face.press(Qt.Key.Key_Backspace)
    assert face.query is first and face.window.clips.overlay.members == () and flashed(face.window.clips) is None


@pytest.mark.parametrize(("wanted", "values"), [(False, SURE), (True, ())])
def test_no_prediction_is_shown_when_switched_off_or_before_the_first_fit(
    face: Face, wanted: bool, values: tuple[float, ...]
) -> None:
    face.offer(predicted(values), make_query())
    if wanted:
        face.press(Qt.Key.Key_T)
    face.press(Qt.Key.Key_Left)
    face.wait_until(lambda: flashed(face.window.clips) is not None)
    assert face.window.clips.overlay.members == ()
