"""Settings of the program, the same for all sessions, kept between runs by QSettings. A session has its own config.

Names are 'page/setting', such as 'window/appearance'. An unreadable value counts as not set: an old or damaged settings
file must not keep the window from opening.
"""

from PySide6.QtCore import QByteArray, QSettings

ORGANISATION = PROGRAM = "Somersault"


def settings() -> QSettings:
    """Return the settings. Cheap; all instances share one store."""
    return QSettings(ORGANISATION, PROGRAM)


def flag(name: str, default: bool) -> bool:
    return {"true": True, "false": False}.get(str(settings().value(name, "")).lower(), default)


def text(name: str, default: str = "") -> str:
    value = settings().value(name, default)
    return value if isinstance(value, str) else default


def blob(name: str) -> QByteArray | None:
    """Return bytes, such as a window's geometry; None if not set."""
    value = settings().value(name)
    return value if isinstance(value, QByteArray) else None


def keep(name: str, value: bool | str | QByteArray) -> None:
    settings().setValue(name, value)
