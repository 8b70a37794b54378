"""The menus: what is seldom needed, and writes a file where the person says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QMainWindow

from app.controller import Controller


def add_menus(window: QMainWindow, controller: Controller, tell_about: Callable[[], None]) -> None:
    folder = controller.session.folder
    session, help_ = window.menuBar().addMenu("&Session"), window.menuBar().addMenu("&Help")
    export = QAction("&Export as one file…", window)
    export.setObjectName("export")
    export.triggered.connect(lambda: ask_for_file(window, "Export", f"{folder.name}.somersault", controller.export))
    diagnostics = QAction("Collect &diagnostics…", window)
    diagnostics.setObjectName("diagnostics")
    name = f"{folder.name}-diagnostics.zip"
    diagnostics.triggered.connect(lambda: ask_for_file(window, "Diagnostics", name, controller.collect_diagnostics))
    about = QAction("&About Somersault", window)
    about.triggered.connect(lambda: tell_about())
    session.addAction(export)
    help_.addActions([diagnostics, about])


def ask_for_file(window: QMainWindow, title: str, name: str, then: Callable[[Path], None]) -> None:
    """Without blocking: teaching goes on while the person looks for a folder."""
    dialog = QFileDialog(window, title, str(Path.home() / name))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.selectFile(name)
    dialog.fileSelected.connect(lambda chosen: then(Path(chosen)))
    dialog.open()
