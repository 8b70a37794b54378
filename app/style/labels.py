"""Labels in the styles of resources/style.qss, and buttons that a click leaves without the focus."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton


def label(style: str, text: str = "", *, wrap: bool = False, centred: bool = False, rich: bool = False) -> QLabel:
    """A label of the style that the sheet names `#style`.

    rich: the text is HTML of our own. Of all others none is ever taken for that: a file or an error may be in them.
    """
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.RichText if rich else Qt.TextFormat.PlainText)
    made.setObjectName(style)
    made.setWordWrap(wrap)
    if centred:
        made.setAlignment(Qt.AlignmentFlag.AlignCenter)
    return made


def tip(text: str) -> str:
    """What to give to `setToolTip`, so that the text is shown as it stands, in lines that wrap."""
    return f"<p>{escape(text)}</p>" if text else ""


def button(text: str) -> QPushButton:
    """A button that is reached with Tab. A click does not give it the focus, and with it the keys."""
    made = QPushButton(text)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return made
