"""Help > About: the versions to give in a bug report."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QMessageBox

from app.keys.commands import Command
from core import version
from tests.app.fakes import Face


def test_about_lists_the_versions_of_what_is_installed(face: Face, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "LIBRARIES", ("torch", "no-such-library"))
    face.window.commands[Command.ABOUT].trigger()
    box = face.window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox) and version.VERSION in box.text()
    assert "torch 2." in box.text() and "no-such-library (not installed)" in box.text()
    box.close()
