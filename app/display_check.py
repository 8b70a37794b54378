"""Opening the display, with one sentence about the reason if that fails."""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from app import system_libraries
from core.errors import UserError
from core.version import COMMAND_LINE

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

FROM_MENU = "SOMERSAULT_FROM_MENU"
"""Environment variable that the desktop's menu entry sets, because standard error is not visible there."""
_NO_DISPLAY = (
    "There is no display to open a window on: start Somersault in a desktop session, or teach without a window"
    f" with {COMMAND_LINE} teach."
)


class DisplayError(UserError):
    """No window can be opened here, not even a message box."""


@cache
def open_display() -> QApplication:
    """Return Qt's application object, made at the first call.

    If Qt can't reach the display, it would abort the process; instead the process ends with exit code 2 and one
    sentence on standard error. Raises DisplayError if there is no display to try or Qt can't be imported.
    """
    if sys.platform == "linux" and not any(map(os.environ.get, ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY"))):
        raise DisplayError(_NO_DISPLAY)
    try:
        from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler
        from PySide6.QtWidgets import QApplication
    except ImportError as error:
        raise DisplayError(_missing_libraries() or f"Qt can't be loaded: {error}.") from error
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    if sys.platform != "linux":
        return QApplication(sys.argv[:1])
    messages: list[str] = []
    stderr = _silence_stderr()  # or messages of the X server would appear next to the sentence

    def on_message(kind: QtMsgType, _: QMessageLogContext, text: str) -> None:
        messages.append(text)
        if kind == QtMsgType.QtFatalMsg:
            os.write(stderr, f"{explain_failure(messages[0])}\n".encode())
            os._exit(2)

    qInstallMessageHandler(on_message)
    try:
        return QApplication(sys.argv[:1])
    finally:
        qInstallMessageHandler(None)
        os.dup2(stderr, 2)
        os.close(stderr)


def _silence_stderr() -> int:
    """Discard standard error; return a descriptor of the original one."""
    stderr = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    return stderr


def explain_failure(message: str) -> str:
    """Return one sentence for the user. message: first message of Qt."""
    platform, wayland = os.environ.get("QT_QPA_PLATFORM"), os.environ.get("WAYLAND_DISPLAY")
    display = wayland or os.environ.get("DISPLAY")
    if missing := _missing_libraries():
        return missing
    if message.startswith("Could not find"):
        return f"Qt can't draw with QT_QPA_PLATFORM={platform}: unset it, or choose xcb, wayland or offscreen."
    if not display:
        return _NO_DISPLAY
    variables = "WAYLAND_DISPLAY and XDG_RUNTIME_DIR" if wayland else "DISPLAY and XAUTHORITY"
    return (
        f"The display {display} is unreachable or refuses this user: check {variables}, or start Somersault in your own desktop"
        f" session (Qt: {message})."
    )


def _missing_libraries() -> str:
    tables = [system_libraries.RENDERING, system_libraries.WIDGETS]
    tables += [system_libraries.X11] if os.environ.get("DISPLAY") else []
    wayland = os.environ.get("WAYLAND_DISPLAY")
    has_socket = wayland and Path(os.environ.get("XDG_RUNTIME_DIR", ""), wayland).exists()
    tables += [system_libraries.WAYLAND] if has_socket else []
    packages = " ".join(system_libraries.missing_packages(*tables))
    install = "sudo apt-get install" if shutil.which("apt-get") else "install the equivalent of the Debian packages"
    text = f"OpenGL or other libraries for drawing are missing: {install}"
    return f"{text} {packages}" if packages else ""


def show_error(error: UserError) -> None:
    """Print the error; started from a desktop's menu or on Windows, also show a box and block until it is closed."""
    if sys.stderr is not None:
        print(error, file=sys.stderr)
    if sys.platform == "win32" and sys.stderr is None:  # a program with a window has none there
        import ctypes

        ctypes.windll.user32.MessageBoxW(None, str(error), "Somersault", 0x10)
    elif os.environ.get(FROM_MENU) and not isinstance(error, DisplayError):
        _show_box(str(error))


def _show_box(text: str) -> None:
    application = open_display()
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QMessageBox

    box = QMessageBox(QMessageBox.Icon.Warning, "Somersault", text, QMessageBox.StandardButton.Close)
    box.setTextFormat(Qt.TextFormat.PlainText)  # the text may contain a file's name
    box.finished.connect(application.quit)
    box.show()
    application.exec()
