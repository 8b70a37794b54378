"""The behaviours that ship: the files in resources/behaviours."""

import functools
import sys
from pathlib import Path

from core.behaviours.behaviour import SUFFIX, Behaviour, read_file

FOLDER = Path(getattr(sys, "_MEIPASS", Path(__file__).resolve().parents[2])) / "resources" / "behaviours"
"""Next to the packages, or unpacked by PyInstaller."""


@functools.cache
def shipped_behaviours() -> dict[str, Behaviour]:
    """Return them by name, in the order of their names."""
    behaviours = [read_file(path) for path in sorted(FOLDER.glob(f"*{SUFFIX}"))]
    return {behaviour.name: behaviour for behaviour in behaviours}
