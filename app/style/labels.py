"""Labels in the styles of resources/style.qss, and buttons that do not take the focus when clicked."""

from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton


def label(style: str, text: str = "", *, wrap: bool = False, centred: bool = False, rich: bool = False) -> QLabel:
    """Make a label with the style that the sheet names `#style`.

    rich: the text is HTML. Any other text is shown literally, because it may contain a file name or an error.
    """
    widget = QLabel(text)
    widget.setTextFormat(Qt.TextFormat.RichText if rich else Qt.TextFormat.PlainText)
    widget.setObjectName(style)
    widget.setWordWrap(wrap)
    if centred:
        widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
    return widget


def tip(text: str) -> str:
    """Tooltip text for `setToolTip` that is shown literally and wraps."""
    return f"<p>{escape(text)}</p>" if text else ""


def literal(text: str) -> str:
    """Text for a button that is shown literally: an & marks no key."""
    return text.replace("&", "&&")


def button(text: str) -> QPushButton:
    """Make a button that Tab reaches, but that a click does not focus."""
    widget = QPushButton(text)
    widget.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return widget
