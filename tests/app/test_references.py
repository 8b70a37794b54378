"""PySide6 6.12.0 loses a reference to True with each emitted signal and one to None with each void call.

CPython 3.10 and 3.11 abort when the last one is gone, after some thousand calls."""

from __future__ import annotations

import sys

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

_CALLS = 400
_NOISE = 50
"""References that other things come and go with meanwhile. Python 3.12 has immortal ones, whose count stands still."""


class Emitter(QObject):
    """Signals:
    spoken(bool): for the test.
    """

    spoken = Signal(bool)


def test_emitting_a_signal_keeps_its_references_to_true(qapp: object) -> None:
    emitter = Emitter()
    before = sys.getrefcount(True)
    for _ in range(_CALLS):
        emitter.spoken.emit(True)
    assert abs(sys.getrefcount(True) - before) < _NOISE


def test_void_calls_keep_their_references_to_none(qtbot: QtBot) -> None:
    widget = QWidget()
    qtbot.addWidget(widget)
    before = sys.getrefcount(None)
    for _ in range(_CALLS):
        widget.update()
    assert abs(sys.getrefcount(None) - before) < _NOISE
