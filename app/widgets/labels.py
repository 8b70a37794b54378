"""Labels in the styles of resources/style.qss, and buttons that leave the focus alone."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton


def label(style: str, text: str = "", *, wrap: bool = False, centred: bool = False) -> QLabel:
    """A label of the style that the sheet names `#style`."""
    made = QLabel(text)
    made.setObjectName(style)
    made.setWordWrap(wrap)
    if centred:
        made.setAlignment(Qt.AlignmentFlag.AlignCenter)
    return made


def button(text: str) -> QPushButton:
    """A button for what has a key of its own, or is seldom needed: it never takes the focus from the keys."""
    made = QPushButton(text)
    made.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return made
