"""Whether a window can be opened here. Asked before Qt, which would abort the process instead of saying so."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from app import display_check
from core.errors import UserError
from core.version import COMMAND_LINE

_NO_DISPLAY = (
    "There is no display to open a window on: start it in a desktop session, or teach without a window"
    f" with {COMMAND_LINE} teach."
)
_DRAWING = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libglib-2.0.so.0": "libglib2.0-0",
}
"""What Qt can't even be loaded without, by the Debian package that has it."""
_X11 = {
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
"""What Qt's X11 plugin needs. Qt names the first whichever is missing, then aborts."""
_WAYLAND = {"libwayland-client.so.0": "libwayland-client0", "libwayland-cursor.so.0": "libwayland-cursor0"}
"""What Qt's Wayland plugin needs."""


def require(environ: Mapping[str, str] = os.environ) -> None:
    """UserError where no window can be opened. Only Linux may lack a display."""
    if not sys.platform.startswith("linux"):
        return
    platforms = _platforms(environ)
    _require_libraries(_DRAWING)
    refusals = []
    for platform in platforms:  # Qt goes through them likewise, and aborts after the last
        try:
            _require_platform(platform, environ)
        except UserError as error:
            refusals.append(error)
        else:
            return
    raise refusals[0]


def _platforms(environ: Mapping[str, str]) -> list[str]:
    """What Qt will try to draw on, in its order: what QT_QPA_PLATFORM lists, or what there is a display of."""
    asked = environ.get("QT_QPA_PLATFORM")
    if asked:
        return [name.partition(":")[0].lower() for name in asked.split(";")]
    variables = {"wayland": "WAYLAND_DISPLAY", "xcb": "DISPLAY"}
    found = [platform for platform, variable in variables.items() if environ.get(variable)]
    if not found:
        raise UserError(_NO_DISPLAY)
    return found


def _require_platform(platform: str, environ: Mapping[str, str]) -> None:
    if platform == "xcb":
        _require_x11(environ.get("DISPLAY", ""))
    elif platform in ("wayland", "wayland-egl"):
        _require_wayland(environ)
    elif platform != "offscreen":
        raise UserError(
            f"No window can be drawn with QT_QPA_PLATFORM={platform}: unset it, or choose xcb, wayland or offscreen."
        )


def _require_x11(display: str) -> None:
    if not display:
        raise UserError(_NO_DISPLAY)
    _require_libraries(_X11)
    if not _lets_in(display):
        raise UserError(
            f"The display {display} does not answer, or lets nobody in: check DISPLAY and XAUTHORITY, or start"
            " it in your own desktop session."
        )


def _require_wayland(environ: Mapping[str, str]) -> None:
    display = environ.get("WAYLAND_DISPLAY") or "wayland-0"
    path = Path(environ.get("XDG_RUNTIME_DIR", ""), display)
    if not path.is_absolute() or not _listens(path):
        raise UserError(
            f"The display {display} does not answer: check WAYLAND_DISPLAY and XDG_RUNTIME_DIR, or start it in your own"
            " desktop session."
        )
    _require_libraries(_WAYLAND)


def _require_libraries(packages: Mapping[str, str]) -> None:
    missing = []
    for library, package in packages.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            missing.append(package)
    if missing:
        names = " ".join(missing)
        raise UserError(f"OpenGL or other system libraries to draw with are missing: sudo apt-get install {names}")


def _lets_in(display: str) -> bool:
    """Whether the X server there takes this process as a client: one that listens may still refuse a stranger.

    A client that is taken stays until the process ends: at its last client's leaving a server starts anew, and one
    that has no other client, as a virtual screen has none, then lost Qt on its way in.
    """
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    with _silenced():
        connection = xcb.xcb_connect(os.fsencode(display), None)
    if xcb.xcb_connection_has_error(connection) == 0:
        return True
    xcb.xcb_disconnect(connection)
    return False


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Keeps what a C library writes to standard error from being told beside our own sentence."""
    try:
        kept = os.dup(2)
    except OSError:  # whoever started the program has closed it
        yield
        return
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _listens(path: Path) -> bool:
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.settimeout(2)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


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
