"""Key bindings of a part of a window."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

Slots = Iterable[tuple[Iterable[str], Callable[[], object]]]
"""Groups of key names, each with the function that its keys call."""


def bind(
    widget: QWidget,
    slots: Slots,
    context: Qt.ShortcutContext = Qt.ShortcutContext.WidgetWithChildrenShortcut,
    repeats: bool = False,
) -> None:
    """Bind keys as actions of the widget. repeats: True if holding a key down calls its function repeatedly"""
    for keys, slot in slots:
        action = QAction(widget, autoRepeat=repeats)
        action.setShortcutContext(context)
        action.setShortcuts([QKeySequence(key) for key in keys])
        action.triggered.connect(lambda _=False, slot=slot: slot())
        widget.addAction(action)
