"""Version and command names of the program, and versions of its libraries."""

import os
import shlex
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
_OURS = Path(sys.executable).is_relative_to(_SOURCES)
"""True if this Python was set up by run.py, in the folder of the sources."""
_HERE = os.path.abspath(os.curdir) == str(_SOURCES)

PYTHON = str(Path(sys.executable).relative_to(_SOURCES)) if _OURS and _HERE else shlex.quote(sys.executable)
"""Path of the Python that runs this program, for commands in messages."""

_MODULE = f"PYTHONPATH={shlex.quote(str(_SOURCES))} {PYTHON} -m" if _OURS and not _HERE else f"{PYTHON} -m"

WINDOW = "somersault" if _COMMAND else f"{_MODULE} app"

COMMAND_LINE = (
    "somersault-cli" if FROZEN and sys.platform == "win32" else "somersault" if _COMMAND else f"{_MODULE} core"
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
