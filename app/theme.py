"""Colours, and the style sheet with them filled in."""

from __future__ import annotations

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from app import assets
from core.records import Choice

BACKGROUND, PANEL, LINE = "#14171c", "#1c2128", "#303843"
TEXT, MUTED = "#eceff4", "#a7b1be"
GREEN, AMBER, GREY, BLUE, RED = "#4cc38a", "#f0b64a", "#9aa5b4", "#66b3ff", "#ff7b72"
MEMBERS = (BLUE, AMBER, GREEN, "#c792ea", RED, "#5ad1cd")
"""One for each member of the ensemble; more members start over."""

CHOICE_COLOURS = {Choice.LEFT: GREEN, Choice.RIGHT: GREEN, Choice.TIE: AMBER, Choice.CANT_TELL: GREY}


def apply(app: QApplication) -> None:
    """Dark and calm, the same on every system."""
    app.setStyle("Fusion")
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: BACKGROUND,
        QPalette.ColorRole.Base: PANEL,
        QPalette.ColorRole.Button: PANEL,
        QPalette.ColorRole.ToolTipBase: PANEL,
        QPalette.ColorRole.WindowText: TEXT,
        QPalette.ColorRole.Text: TEXT,
        QPalette.ColorRole.ButtonText: TEXT,
        QPalette.ColorRole.ToolTipText: TEXT,
        QPalette.ColorRole.Highlight: BLUE,
    }
    for role, colour in roles.items():
        palette.setColor(role, QColor(colour))
    app.setPalette(palette)
    app.setStyleSheet(_filled(assets.text("style.qss")))


def _filled(sheet: str) -> str:
    names = {"BACKGROUND": BACKGROUND, "PANEL": PANEL, "LINE": LINE, "TEXT": TEXT, "MUTED": MUTED}
    names |= {"GREEN": GREEN, "AMBER": AMBER, "GREY": GREY, "BLUE": BLUE, "RED": RED}
    for name, colour in names.items():
        sheet = sheet.replace(f"@{name};", f"{colour};").replace(f"@{name} ", f"{colour} ")
    return sheet.replace("@RESOURCES", assets.folder().as_posix())
