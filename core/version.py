"""The version of this program, said nowhere else, and those of the libraries it runs on."""

from __future__ import annotations

import sys
from importlib import metadata

VERSION = "0.1.0"
"""pyproject.toml takes it from here, and so do the bundle, its packages and Help > About."""

LIBRARIES = (
    *("PySide6-Essentials", "pyqtgraph", "torch", "numpy", "mujoco", "gymnasium", "ale-py"),
    *("opencv-python-headless", "safetensors", "threadpoolctl", "filelock", "platformdirs", "av", "tqdm"),
)
"""What pyproject.toml asks for and a report of an error has to name, by the names of their distributions."""


def library_versions() -> dict[str, str | None]:
    """By name, without loading any of them; None for one that is not installed."""
    return {name: _installed(name) for name in LIBRARIES}


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


FROZEN = bool(getattr(sys, "frozen", False))

WINDOW = "somersault" if FROZEN else "python -m app"

_WITHOUT_WINDOW = "somersault-cli" if sys.platform == "win32" else "somersault"

COMMAND_LINE = _WITHOUT_WINDOW if FROZEN else "python -m core"
