"""Who answered last in a session answers when it is opened again: a demonstration goes on by itself, and a person's
session never begins to answer unasked.
"""

from __future__ import annotations

import logging

from core.errors import UserError
from core.session import summary
from core.session.session import Session

_TEACHERS = ("human", "oracle")
log = logging.getLogger(__name__)


def kept_teacher(session: Session) -> str:
    """The one of its summary, which is in its folder and goes with it; else the one that the session was made for."""
    for teacher in (_last_teacher(session), session.config.teacher):
        if teacher in _TEACHERS:
            return teacher
    return "human"


def _last_teacher(session: Session) -> str:
    try:
        told = summary.read(session.folder)
    except UserError as error:
        log.warning("%s It does not tell who taught last.", error)
        return ""
    return told.teacher if told else ""
