"""The headline of a part of a page, with its buttons."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout

from app.style.labels import label


def head(title: str, about: str, *buttons: QPushButton) -> QHBoxLayout:
    """about: a line below the title, in small print."""
    words = QVBoxLayout()
    words.setSpacing(2)
    words.addWidget(label("pageTitle", title))
    words.addWidget(label("settingHelp", about, wrap=True))
    row = QHBoxLayout()
    row.setSpacing(8)
    row.addLayout(words, 1)
    for made in buttons:
        made.setObjectName("small")
        row.addWidget(made, 0, Qt.AlignmentFlag.AlignBottom)
    return row
