"""Heading of a part of a page, with its buttons."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton

from app.style.labels import label
from app.style.layouts import column, row


def section_header(title: str, about: str, *buttons: QPushButton) -> QHBoxLayout:
    """about: small line below the title."""
    texts = column(label("pageTitle", title), label("settingHelp", about, wrap=True), spacing=2)
    header = row((texts, 1), spacing=8)
    for button in buttons:
        button.setObjectName("small")
        header.addWidget(button, 0, Qt.AlignmentFlag.AlignBottom)
    return header
