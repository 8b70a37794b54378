"""The palette on screen, and the style sheet filled with its colours.

Look colours up with `palette()` when drawing and keep none: the person or the system may change the appearance at any
time. A widget that has to keep a colour, as plots do, learns of the change as QEvent.PaletteChange.
"""

import sys
from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPalette
from PySide6.QtWidgets import QApplication

from app import settings
from app.style.palette import DARK, LIGHT, Palette

_SETTING = "window/appearance"


class Appearance(StrEnum):
    """Choices in the View menu."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


_QT_SCHEMES = {
    Appearance.SYSTEM: Qt.ColorScheme.Unknown,
    Appearance.LIGHT: Qt.ColorScheme.Light,
    Appearance.DARK: Qt.ColorScheme.Dark,
}
_present = DARK
RESOURCES = Path(getattr(sys, "_MEIPASS", Path(__file__).resolve().parents[2])) / "resources"
"""The resources folder: next to the packages, or unpacked by PyInstaller."""


def palette() -> Palette:
    return _present


def appearance() -> Appearance:
    """The appearance in the settings; SYSTEM if there is none, or none that can be read."""
    chosen = settings.text(_SETTING, Appearance.SYSTEM)
    return Appearance(chosen) if chosen in list(Appearance) else Appearance.SYSTEM


def choose(chosen: Appearance) -> None:
    """Save the chosen appearance and restyle every window."""
    settings.keep(_SETTING, str(chosen))
    _show()


def apply(app: QApplication) -> None:
    """Style the application: Fusion on every system, light or dark as chosen; follows later changes of the system.

    Call it once: another style under open windows has crashed Qt.
    """
    app.setWindowIcon(QIcon(str(RESOURCES / "logo.svg")))
    app.setStyle("Fusion")
    app.styleHints().colorSchemeChanged.connect(lambda _: _show())
    _show()


def _chosen_palette() -> Palette:
    """Dark if the person leaves it to the system and the system has no preference."""
    chosen = appearance()
    light = system_is_light() if chosen == Appearance.SYSTEM else chosen == Appearance.LIGHT
    return LIGHT if light else DARK


def system_is_light() -> bool:
    return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Light


def _show() -> None:
    """Show the chosen palette, unless it is on screen already."""
    global _present
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    app.styleHints().setColorScheme(_QT_SCHEMES[appearance()])  # for frames that the system draws
    chosen = _chosen_palette()
    if chosen is _present and app.styleSheet():
        return
    _present = chosen
    app.setPalette(_qt_palette(chosen))
    app.setStyleSheet(_filled((RESOURCES / "style.qss").read_text("utf-8"), chosen))


def _qt_palette(chosen: Palette) -> QPalette:
    filled = QPalette(QColor(chosen.panel), QColor(chosen.background))
    role = QPalette.ColorRole
    colours = {
        chosen.panel: (role.Base, role.AlternateBase, role.Button, role.ToolTipBase),
        chosen.text: (role.WindowText, role.Text, role.ButtonText, role.ToolTipText),
        chosen.muted: (role.PlaceholderText,),
        chosen.blue: (role.Highlight, role.Link, role.LinkVisited),
        chosen.background: (role.Window, role.HighlightedText),
    }
    for colour, roles in colours.items():
        for one in roles:
            filled.setColor(one, QColor(colour))
    for one in (role.WindowText, role.Text, role.ButtonText):
        filled.setColor(QPalette.ColorGroup.Disabled, one, QColor(chosen.disabled))
    return filled


def _filled(sheet: str, chosen: Palette) -> str:
    for name, colour in chosen.named().items():
        sheet = sheet.replace(f"@{name};", f"{colour};").replace(f"@{name} ", f"{colour} ")
    sheet = sheet.replace("@TICK", "tick-dark.svg" if chosen.dark else "tick-light.svg")
    return sheet.replace("@RESOURCES", RESOURCES.as_posix())
