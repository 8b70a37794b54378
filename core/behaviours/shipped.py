"""The behaviours that ship: the files in resources/behaviours."""

import functools
import sys
from pathlib import Path

from core.behaviours.behaviour import SUFFIX, Behaviour, read_file

FOLDER = Path(getattr(sys, "_MEIPASS", Path(__file__).resolve().parents[2])) / "resources" / "behaviours"
"""Folder next to the packages, or in the bundle that PyInstaller has unpacked."""


@functools.cache
def shipped_behaviours() -> dict[str, Behaviour]:
    """Return the behaviours that ship, by name, sorted by file name."""
    behaviours = [read_file(path) for path in sorted(FOLDER.glob(f"*{SUFFIX}"))]
    return {behaviour.name: behaviour for behaviour in behaviours}
