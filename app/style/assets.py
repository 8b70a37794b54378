"""Files of the resources folder, in a source tree or a frozen bundle."""

import sys
from pathlib import Path


def folder() -> Path:
    """The resources folder: next to the packages, or unpacked by PyInstaller."""
    unpacked = getattr(sys, "_MEIPASS", None)
    return (Path(unpacked) if unpacked else Path(__file__).resolve().parents[2]) / "resources"


def path(name: str) -> Path:
    return folder() / name


def text(name: str) -> str:
    return path(name).read_text("utf-8")
