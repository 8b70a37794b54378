"""Scrolling to the control focused by the keyboard."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.style.scroll_area import ScrollArea


def test_the_area_scrolls_to_a_control_focused_by_keyboard_but_not_by_mouse(qtbot: QtBot) -> None:
    window, inside = QWidget(), QWidget()
    outside, rows = QLineEdit(), [QPushButton(str(number)) for number in range(30)]
    column = QVBoxLayout(inside)
    for row in rows:
        column.addWidget(row)
    area = ScrollArea(inside)
    outer = QVBoxLayout(window)
    outer.addWidget(outside)
    outer.addWidget(area)
    qtbot.addWidget(window)
    window.resize(300, 200)
    window.show()
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() > 0)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    outside.setFocus()
    area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
    QTest.keyClick(outside, Qt.Key.Key_Tab)
    assert rows[0].hasFocus() and not rows[0].visibleRegion().isEmpty()
    partly = rows[1].y() + 5
    area.verticalScrollBar().setValue(partly)
    QTest.mousePress(rows[1], Qt.MouseButton.LeftButton)
    assert rows[1].hasFocus() and area.verticalScrollBar().value() == partly  # the row stays under the pointer
    QTest.mouseRelease(rows[1], Qt.MouseButton.LeftButton)
