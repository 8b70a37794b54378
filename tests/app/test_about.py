"""Help > About: what one is asked for when something goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMessageBox, QWidget

from app import about
from core import version
from tests.app.fakes import Face


def test_it_tells_the_versions(face: Face, picture: Callable[[QWidget, str], None]) -> None:
    action = next(a for a in face.window.findChildren(QAction) if a.text() == "&About Somersault")
    action.trigger()
    box = face.window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox) and box.isVisible()
    assert f"Somersault {version.VERSION}" in box.text()
    lines = box.informativeText().split("<br>")
    assert f"torch {metadata.version('torch')}" in lines
    assert f"PySide6-Essentials {metadata.version('PySide6-Essentials')}" in lines
    picture(box, "about")
    box.close()


def test_what_is_not_installed_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "LIBRARIES", ("no-such-library",))
    assert "no-such-library (not installed)" in about.versions().splitlines()
