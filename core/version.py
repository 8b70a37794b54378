"""Version and command names of the program, and versions of its libraries."""

import sys
from importlib import metadata
from pathlib import Path

VERSION = "0.1.0"
"""The only definition of the version: pyproject.toml, the packages and Help > About read it from here."""

FROZEN = bool(getattr(sys, "frozen", False))
"""True if this is the packaged program rather than Python with its sources."""

_COMMAND = FROZEN or Path(sys.argv[0]).stem == "somersault"
"""True if the `somersault` command was typed, rather than `python -m`. Child processes have their parent's sys.argv."""

_SOURCES = Path(__file__).resolve().parents[1]
_EXECUTABLE = Path(sys.executable)
PYTHON = str(_EXECUTABLE.relative_to(_SOURCES) if _EXECUTABLE.is_relative_to(_SOURCES) else _EXECUTABLE)
"""Path of the Python that runs this program, for commands in messages."""

WINDOW = "somersault" if _COMMAND else f"{PYTHON} -m app"

COMMAND_LINE = (
    "somersault-cli" if FROZEN and sys.platform == "win32" else "somersault" if _COMMAND else f"{PYTHON} -m core"
)

LIBRARIES = (
    *("PySide6-Essentials", "pyqtgraph", "torch", "numpy", "mujoco", "gymnasium", "ale-py"),
    *("opencv-python-headless", "safetensors", "threadpoolctl", "filelock", "platformdirs", "av", "tqdm"),
    *("argcomplete", "segno"),
)
"""Distribution names of all dependencies in pyproject.toml, for error reports."""


def library_versions() -> dict[str, str | None]:
    """Return the version of each library by its distribution name; None if it is not installed. Imports none of them."""
    versions: dict[str, str | None] = {}
    for name in LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return versions
