"""Rows and columns of widgets and nested layouts, and the heading of a part of a page."""

from itertools import pairwise
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QPushButton, QVBoxLayout, QWidget

from app.style.labels import label

_Item = QWidget | QLayout
_Part = _Item | tuple[_Item, int] | None
"""Widget or layout, also with its stretch factor; None is an empty stretch."""
Margins = tuple[int, int, int, int]
_Layout = TypeVar("_Layout", bound=QBoxLayout)


def row(
    *parts: _Part, of: QWidget | None = None, margins: Margins | None = (0, 0, 0, 0), spacing: int | None = None
) -> QHBoxLayout:
    """Lay out the parts from left to right. of: widget that gets the layout; margins, spacing: None for the style's."""
    return _filled(QHBoxLayout(), parts, of, margins, spacing)


def column(
    *parts: _Part, of: QWidget | None = None, margins: Margins | None = (0, 0, 0, 0), spacing: int | None = None
) -> QVBoxLayout:
    """Lay out the parts from top to bottom, with the arguments of `row`."""
    return _filled(QVBoxLayout(), parts, of, margins, spacing)


def _filled(
    layout: _Layout, parts: tuple[_Part, ...], of: QWidget | None, margins: Margins | None, spacing: int | None
) -> _Layout:
    if of is not None:
        of.setLayout(layout)
    if margins is not None:
        layout.setContentsMargins(*margins)
    if spacing is not None:
        layout.setSpacing(spacing)
    for part in parts:
        item, stretch = part if isinstance(part, tuple) else (part, 0)
        if item is None:
            layout.addStretch(1)
        elif isinstance(item, QLayout):
            layout.addLayout(item, stretch)
        else:
            layout.addWidget(item, stretch)
    return layout


def tab_order(*widgets: QWidget) -> None:
    """Let Tab reach these widgets one after the other."""
    for before, after in pairwise(widgets):
        QWidget.setTabOrder(before, after)


def tab_before(later: QWidget, *widgets: QWidget) -> None:
    """Put these widgets directly before `later`, which was made before them, in the tab order."""
    before = later.previousInFocusChain()
    while before is not None and not before.focusPolicy() & Qt.FocusPolicy.TabFocus:
        before = before.previousInFocusChain()
    assert before is not None  # the chain is a ring
    tab_order(before, *widgets, later)


def section_header(title: str, about: str, *buttons: QPushButton) -> QHBoxLayout:
    """about: small line below the title."""
    texts = column(label("pageTitle", title), label("settingHelp", about, wrap=True), spacing=2)
    header = row((texts, 1), spacing=8)
    for button in buttons:
        button.setObjectName("small")
        header.addWidget(button, 0, Qt.AlignmentFlag.AlignBottom)
    return header
