"""Settings that stay as they were chosen, and damaged ones, which are no obstacle."""

from __future__ import annotations

from PySide6.QtCore import QByteArray

from app import settings


def test_values_come_back_as_they_were_kept() -> None:
    settings.keep("page/shown", False)
    settings.keep("page/name", "Ada")
    settings.keep("page/place", QByteArray(b"\x00\x01"))
    settings.settings().sync()
    assert settings.flag("page/shown", True) is False
    assert settings.text("page/name") == "Ada"
    assert settings.blob("page/place") == QByteArray(b"\x00\x01")


def test_without_a_value_or_with_one_of_another_kind_the_default_holds() -> None:
    settings.keep("page/shown", "perhaps")
    settings.keep("page/place", "not bytes")
    assert settings.flag("page/shown", True) is True
    assert settings.blob("page/place") is None
    assert settings.flag("page/none", True) is True
    assert settings.text("page/none", "x") == "x"
    assert settings.blob("page/none") is None
