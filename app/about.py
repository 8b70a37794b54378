"""What Help > About says: what the program is, its version, and those of the libraries that it runs on."""

from __future__ import annotations

import platform

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from core.version import VERSION, library_versions

_TEXT = (
    "<h3>Somersault {version}</h3><p>Teach a simulated robot a behaviour that nobody can write a reward for, by"
    " choosing the better of two short clips.</p><p>The method is that of Christiano et al., <i>Deep Reinforcement"
    " Learning from Human Preferences</i> (2017).</p>"
)


def text() -> str:
    return _TEXT.format(version=VERSION)


def versions() -> str:
    """One line for Python and for each library, as a report of an error needs them."""
    lines = {"Somersault": VERSION, "Python": platform.python_version(), **library_versions()}
    lines["System"] = platform.platform()
    return "\n".join(f"{name} {version or '(not installed)'}" for name, version in lines.items())


def show(parent: QWidget) -> QMessageBox:
    """Opens it beside whatever is going on; it deletes itself when it is closed."""
    box = QMessageBox(QMessageBox.Icon.NoIcon, "About Somersault", text(), QMessageBox.StandardButton.Close, parent)
    box.setInformativeText(versions().replace("\n", "<br>"))
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    box.setIconPixmap(parent.windowIcon().pixmap(96, 96))
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()
    return box
