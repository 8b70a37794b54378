"""Tests for opening a folder in the desktop's file manager."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from app.style import file_manager
from app.style.file_manager import show_folder


class FileManager(QObject):
    """Takes the place of the desktop's, and notes the folders and where they would look for libraries."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[tuple[str, str | None]] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append((url.toLocalFile(), os.environ.get("LD_LIBRARY_PATH")))


@pytest.mark.parametrize(
    ("packaged", "of_the_person", "seen"),
    [(True, None, None), (True, "/home/me/lib", "/home/me/lib"), (False, None, "/opt/somersault/_internal")],
)
def test_a_packaged_program_keeps_its_libraries_to_itself(
    packaged: bool,
    of_the_person: str | None,
    seen: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    qapp: QObject,
) -> None:
    monkeypatch.setattr(file_manager, "FROZEN", packaged)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/somersault/_internal")
    if of_the_person:
        monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", of_the_person)
    manager = FileManager()
    QDesktopServices.setUrlHandler("file", manager, "open")
    try:
        assert show_folder(tmp_path)
    finally:
        QDesktopServices.unsetUrlHandler("file")
    assert manager.opened == [(str(tmp_path), seen)]
    assert os.environ["LD_LIBRARY_PATH"] == "/opt/somersault/_internal"
