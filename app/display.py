"""Whether a window can be opened here. Asked before Qt, which would abort the process instead of saying so."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from core.errors import UserError
from core.programs import COMMAND_LINE

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
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
"""What Qt's X11 plugin needs. Qt names the first whichever is missing, then aborts."""


def require(environ: Mapping[str, str] = os.environ) -> None:
    """UserError where no window can be opened. Only Linux may lack a display."""
    if not sys.platform.startswith("linux"):
        return
    if environ.get("QT_QPA_PLATFORM", "").startswith(("offscreen", "minimal")):
        _require_libraries(_DRAWING)
        return
    wayland, x11 = environ.get("WAYLAND_DISPLAY"), environ.get("DISPLAY")
    if not (wayland or x11 or environ.get("QT_QPA_PLATFORM")):
        raise UserError(_NO_DISPLAY)
    only_x11 = bool(x11 and not wayland)
    _require_libraries({**_DRAWING, **(_X11 if only_x11 else {})})
    if only_x11 and not _answers(str(x11)):
        raise UserError(f"The display {x11} does not answer: check DISPLAY, or start it in a desktop session.")


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


def _answers(display: str) -> bool:
    """Whether an X server listens there. The form is [host]:number[.screen]."""
    host, _, rest = display.rpartition(":")
    number = rest.split(".")[0]
    if not number.isdigit():
        return Path(display).exists()  # macOS and some containers name a socket's path
    if host in ("", "unix"):
        path = f"/tmp/.X11-unix/X{number}"
        return _connects(socket.AF_UNIX, path) or _connects(socket.AF_UNIX, f"\0{path}")
    return _connects(socket.AF_INET, (host, 6000 + int(number)))


def _connects(family: socket.AddressFamily, address: str | tuple[str, int]) -> bool:
    with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.settimeout(2)
        try:
            probe.connect(address)
        except OSError:
            return False
    return True
