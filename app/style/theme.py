"""The present colours, and the style sheet with them filled in.

`theme.GREEN` is the green of the scheme that is on screen, `theme.MEMBERS` and `theme.CHOICE_COLOURS` likewise: look
them up when drawing and keep none, as the person or the system may change the scheme at any time. A widget that has
kept one after all, as plots must, hears of the change as QEvent.PaletteChange.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from app import settings
from app.style import assets
from app.style.palette import DARK, LIGHT, Palette

_SETTING = "window/appearance"
_FOLLOWS = "somersault_follows_system"


class Appearance(StrEnum):
    """What the person may choose."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


_QT_SCHEMES = {
    Appearance.SYSTEM: Qt.ColorScheme.Unknown,
    Appearance.LIGHT: Qt.ColorScheme.Light,
    Appearance.DARK: Qt.ColorScheme.Dark,
}
_present = DARK


def __getattr__(name: str) -> Any:
    if name.isupper() and hasattr(_present, name.lower()):
        return getattr(_present, name.lower())
    raise AttributeError(f"the theme has no {name}")


def scheme() -> Palette:
    """The one on screen."""
    return _present


def is_up_to_date() -> bool:
    """Whether what is on screen is what the person has chosen; `apply` and `choose` make it so."""
    return _wanted() is _present


def appearance() -> Appearance:
    """What the person has chosen; the system's where nothing was, or nothing that can be read."""
    chosen = settings.text(_SETTING, Appearance.SYSTEM)
    return Appearance(chosen) if chosen in list(Appearance) else Appearance.SYSTEM


def choose(chosen: Appearance) -> None:
    """Keeps what the person chose, and restyles every window."""
    settings.keep(_SETTING, str(chosen))
    _apply_chosen()


def apply(app: QApplication) -> None:
    """Calm, and the same on every system; light or dark as chosen, and from now on as the system says where it is."""
    if not app.property(_FOLLOWS):
        app.setProperty(_FOLLOWS, True)
        app.setStyle("Fusion")  # once: another style under open windows has crashed Qt
        app.styleHints().colorSchemeChanged.connect(lambda _: _show(_wanted()))
    _show(_wanted())
    _apply_chosen()


def _apply_chosen() -> None:
    QGuiApplication.styleHints().setColorScheme(_QT_SCHEMES[appearance()])  # for frames that the system draws
    if not is_up_to_date():
        _show(_wanted())


def _wanted() -> Palette:
    """Dark where the system has no opinion."""
    chosen = appearance()
    light = _system_is_light() if chosen == Appearance.SYSTEM else chosen == Appearance.LIGHT
    return LIGHT if light else DARK


def _system_is_light() -> bool:
    return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Light


def _show(wanted: Palette) -> None:
    global _present
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    _present = wanted
    sheet = _filled(assets.text("style.qss"), wanted)
    with _nothing_collected():
        app.setPalette(_palette(wanted))
        app.setStyleSheet(sheet)


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """While Qt goes through all widgets Python must not delete those of a window that was closed: that has crashed."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _palette(wanted: Palette) -> QPalette:
    palette = QPalette(QColor(wanted.panel), QColor(wanted.background))
    role = QPalette.ColorRole
    colours = {
        wanted.panel: (role.Base, role.AlternateBase, role.Button, role.ToolTipBase),
        wanted.text: (role.WindowText, role.Text, role.ButtonText, role.ToolTipText),
        wanted.muted: (role.PlaceholderText,),
        wanted.blue: (role.Highlight, role.Link, role.LinkVisited),
        wanted.background: (role.Window, role.HighlightedText),
    }
    for colour, roles in colours.items():
        for one in roles:
            palette.setColor(one, QColor(colour))
    for one in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, one, QColor(wanted.disabled))
    return palette


def _filled(sheet: str, wanted: Palette) -> str:
    for name, colour in wanted.named().items():
        sheet = sheet.replace(f"@{name};", f"{colour};").replace(f"@{name} ", f"{colour} ")
    return sheet.replace("@RESOURCES", assets.folder().as_posix())
