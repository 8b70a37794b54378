"""System libraries that the program needs on Linux, and the Debian packages that hold them.

Standard library only: run.py imports this before anything is installed, and packaging/debian.py reads the tables.
"""

from __future__ import annotations

import ctypes

RENDERING = {"libGL.so.1": "libgl1", "libEGL.so.1": "libegl1"}
"""For drawing robots with or without a window; Qt can't be imported without them either."""
WIDGETS = {
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libglib-2.0.so.0": "libglib2.0-0",
}
"""For importing Qt's widgets."""
X11 = {
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
}
"""For Qt's X11 plugin. Qt blames libxcb-cursor whichever of these is missing."""
WAYLAND = {"libwayland-client.so.0": "libwayland-client0", "libwayland-cursor.so.0": "libwayland-cursor0"}
"""For Qt's Wayland plugin."""


def loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def missing_packages(*tables: dict[str, str]) -> list[str]:
    """Debian packages of the libraries in these tables that can't be loaded, in the order of the tables."""
    return [package for table in tables for library, package in table.items() if not loads(library)]
