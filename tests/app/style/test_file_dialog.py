"""File dialogs in the program's style."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QLineEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.style.file_dialog import ask_for_file


def drawn_size(button: QToolButton) -> int:
    """Return the height in pixels of the icon drawn on the button."""
    image = button.grab().toImage()
    ground = image.pixelColor(0, 0)
    rows = [y for y in range(image.height()) if any(image.pixelColor(x, y) != ground for x in range(image.width()))]
    return rows[-1] - rows[0] + 1 if rows else 0


def test_the_icons_of_a_file_dialog_are_large_enough(qtbot: QtBot) -> None:
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


@pytest.mark.parametrize(
    ("proposed", "typed", "chosen"),
    [("flip.mp4", "jump", "jump.mp4"), ("flip.mp4", "jump 1.5", "jump 1.5.mp4"), ("my.session", "new", "new")],
)
def test_the_dialog_names_folder_and_file_type_and_adds_a_missing_suffix(
    qtbot: QtBot, tmp_path: Path, proposed: str, typed: str, chosen: str
) -> None:
    parent, taken = QWidget(), list[Path]()
    qtbot.addWidget(parent)
    parent.show()
    ask_for_file(parent, "Save", proposed, taken.append)
    dialog = parent.findChild(QFileDialog)
    dialog.setDirectory(str(tmp_path))
    texts = [part.text() for part in dialog.findChildren(QLabel)]
    assert "Save in:" in texts and ("Videos" in dialog.nameFilters()[0]) == (proposed == "flip.mp4")
    name = dialog.findChild(QLineEdit)
    name.selectAll()
    QTest.keyClicks(name, typed)
    QTest.keyClick(name, Qt.Key.Key_Return)
    assert taken == [tmp_path / chosen]


def test_a_file_whose_whole_name_was_not_typed_is_not_overwritten_unasked(qtbot: QtBot, tmp_path: Path) -> None:
    parent, taken = QWidget(), list[Path]()
    qtbot.addWidget(parent)
    parent.show()
    (tmp_path / "jump 1.5.mp4").write_bytes(b"an earlier film")
    ask_for_file(parent, "Save", "flip.mp4", taken.append)
    first = parent.findChild(QFileDialog)
    first.setDirectory(str(tmp_path))
    name = first.findChild(QLineEdit)
    name.selectAll()
    QTest.keyClicks(name, "jump 1.5")
    QTest.keyClick(name, Qt.Key.Key_Return)
    (second,) = [dialog for dialog in parent.findChildren(QFileDialog) if dialog.isVisible()]
    assert second is not first and taken == []
    assert second.selectedFiles() == [str(tmp_path / "jump 1.5.mp4")]
    second.close()
