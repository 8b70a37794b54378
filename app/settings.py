"""What the person chose about the program itself, kept between runs by QSettings. A session keeps its own config.

Names are 'page/what', such as 'window/appearance'. A value that can't be read counts as not set: an old or damaged file
of preferences must not keep the window shut.
"""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSettings

ORGANISATION = PROGRAM = "Somersault"


def settings() -> QSettings:
    """Cheap to make; all share one store."""
    return QSettings(ORGANISATION, PROGRAM)


def flag(name: str, default: bool) -> bool:
    return {"true": True, "false": False}.get(str(settings().value(name, "")).lower(), default)


def text(name: str, default: str = "") -> str:
    value = settings().value(name, default)
    return value if isinstance(value, str) else default


def blob(name: str) -> QByteArray | None:
    """Bytes, such as a window's geometry."""
    value = settings().value(name)
    return value if isinstance(value, QByteArray) else None


def keep(name: str, value: bool | str | QByteArray) -> None:
    settings().setValue(name, value)
