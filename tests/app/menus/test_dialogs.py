"""Help > About: what one is asked for when something goes wrong."""

from __future__ import annotations

from importlib import metadata

import pytest

from app.menus import dialogs
from core import version


def test_it_tells_the_versions() -> None:
    text = dialogs.text()
    assert f"<h3>Somersault {version.VERSION}</h3>" in text
    for name in ("torch", "PySide6-Essentials", "av"):
        assert f"{name} {metadata.version(name)}" in text


def test_what_is_not_installed_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "LIBRARIES", ("no-such-library",))
    assert "no-such-library (not installed)" in dialogs.text()
