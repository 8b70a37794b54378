"""Spin boxes for numbers of any size."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.new_session.number_box import NumberBox
from app.session.config_draft import setting


@pytest.fixture
def make(qtbot: QtBot) -> Any:
    def made(name: str, value: object) -> NumberBox:
        box = NumberBox(setting(name))
        qtbot.addWidget(box)
        box.set_value(value)
        box.show()
        return box

    return made


def type_in(box: NumberBox, text: str) -> None:
    box.lineEdit().selectAll()
    QTest.keyClicks(box.lineEdit(), text)


@pytest.mark.parametrize(
    ("name", "typed", "expected"),
    [
        ("labels", "1,400", 1400),
        ("labels", "1.5", "1.5"),
        ("labels", "12 345 678", 12_345_678),
        ("labels", "14,00", "14,00"),
        ("labels", "0,100", "0,100"),
        ("policy.learning_rate", "0,0003", "0,0003"),  # a decimal comma: not read as 3
        ("policy.learning_rate", "0,001", "0,001"),
        ("policy.learning_rate", "1,234", "1,234"),
        ("policy.learning_rate", "-1234.5", -1234.5),
        ("seed", "9223372036854775807", 2**63 - 1),
        ("policy.learning_rate", "3e-4", 3e-4),
        ("policy.learning_rate", ".5", 0.5),
        ("policy.learning_rate", "nan", "nan"),
    ],
)
def test_typed_text_is_shown_unchanged(make: Any, name: str, typed: str, expected: object) -> None:
    box, emitted = make(name, 0), list[object]()
    box.edited.connect(emitted.append)
    type_in(box, typed)
    assert emitted[-1] == expected == box.value()
    QTest.keyClick(box, Qt.Key.Key_Tab)
    assert box.value() == expected


@pytest.mark.parametrize(
    ("name", "value", "key", "expected"),
    [
        ("labels", 100, Qt.Key.Key_Up, 101),
        ("rollout.steps", 2, Qt.Key.Key_Down, 2),
        ("policy.discount", 0.99, Qt.Key.Key_Up, 0.99999),
        ("policy.discount", 0.99, Qt.Key.Key_Down, 0.98),
        ("policy.learning_rate", 1e-3, Qt.Key.Key_Up, 1.1e-3),
        ("labels", 100, Qt.Key.Key_PageUp, 110),
    ],
)
def test_the_arrow_keys_stay_within_the_bounds(
    make: Any, name: str, value: float, key: Qt.Key, expected: float
) -> None:
    box = make(name, value)
    QTest.keyClick(box, key)
    assert box.value() == pytest.approx(expected)
