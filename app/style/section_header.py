"""Heading of a part of a page, with its buttons."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout

from app.style.labels import label


def section_header(title: str, about: str, *buttons: QPushButton) -> QHBoxLayout:
    """about: small line below the title."""
    texts = QVBoxLayout()
    texts.setSpacing(2)
    texts.addWidget(label("pageTitle", title))
    texts.addWidget(label("settingHelp", about, wrap=True))
    row = QHBoxLayout()
    row.setSpacing(8)
    row.addLayout(texts, 1)
    for button in buttons:
        button.setObjectName("small")
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignBottom)
    return row
