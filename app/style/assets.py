"""Where resources/ is, frozen or not. The only code that knows."""

from __future__ import annotations

import sys
from pathlib import Path


def folder() -> Path:
    """resources/ beside the packages, or where PyInstaller unpacked it."""
    unpacked = getattr(sys, "_MEIPASS", None)
    return (Path(unpacked) if unpacked else Path(__file__).resolve().parents[2]) / "resources"


def path(name: str) -> Path:
    return folder() / name


def text(name: str) -> str:
    return path(name).read_text("utf-8")
