"""Who answered last in a session, kept between runs: a demonstration goes on by itself, and a person's session never
begins to answer unasked.
"""

from __future__ import annotations

from app import settings
from core.session import Session

_TEACHERS = ("human", "oracle")


def kept_teacher(session: Session) -> str:
    """The one that was chosen last; at first the one that the session was made for."""
    for teacher in (settings.text(_name(session)), session.config.teacher):
        if teacher in _TEACHERS:
            return teacher
    return "human"


def keep_teacher(session: Session, teacher: str) -> None:
    settings.keep(_name(session), teacher)


def _name(session: Session) -> str:
    """Slashes would make groups of it."""
    return f"teacher/{session.folder.resolve().as_posix().replace('/', '|')}"
