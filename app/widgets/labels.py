"""Labels in the styles of resources/style.qss, and buttons that a click leaves without the focus."""

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
    """A button that is reached with Tab. A click does not give it the focus, and with it the keys."""
    made = QPushButton(text)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return made
