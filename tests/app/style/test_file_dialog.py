"""File dialogs in the program's style."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.style.file_dialog import ask_for_file


def drawn_size(button: QToolButton) -> int:
    """Height in pixels of what is drawn on the button."""
    image = button.grab().toImage()
    ground = image.pixelColor(0, 0)
    rows = [y for y in range(image.height()) if any(image.pixelColor(x, y) != ground for x in range(image.width()))]
    return rows[-1] - rows[0] + 1 if rows else 0


def test_the_icons_of_its_buttons_can_be_recognized(qtbot: QtBot, tmp_path: Path) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    ask_for_file(parent, "Save", "x.png", lambda path: None)
    dialog = parent.findChild(QFileDialog)
    buttons = [
        button for button in dialog.findChildren(QToolButton) if button.isVisible() and not button.icon().isNull()
    ]
    assert len(buttons) >= 5 and min(map(drawn_size, buttons)) >= 8
    assert max(map(drawn_size, buttons)) >= 14
    dialog.close()
