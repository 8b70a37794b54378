"""Tells why no window opens: on standard error, and where nobody reads that, in a box."""

from __future__ import annotations

import os
import sys

from app import display_check
from core.errors import UserError

FROM_MENU = "SOMERSAULT_FROM_MENU"
"""Set by the entry in a desktop's menu: whoever starts the program there sees no standard error."""


def tell(error: UserError) -> None:
    """Blocks until a box that it shows is closed."""
    if sys.stderr is not None:
        print(error, file=sys.stderr)
    if sys.platform == "win32" and sys.stderr is None:  # a program with a window has none there
        import ctypes

        ctypes.windll.user32.MessageBoxW(None, str(error), "Somersault", 0x10)
    elif os.environ.get(FROM_MENU) and _can_draw():
        _show(str(error))


def _can_draw() -> bool:
    try:
        display_check.require()
    except UserError:
        return False
    return True


def _show(text: str) -> None:
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QApplication, QMessageBox

    application = QApplication([])
    box = QMessageBox(QMessageBox.Icon.Warning, "Somersault", text, QMessageBox.StandardButton.Close)
    box.setTextFormat(Qt.TextFormat.PlainText)  # a name of a file may be in it
    box.finished.connect(application.quit)
    box.show()
    application.exec()
