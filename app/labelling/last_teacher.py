"""Teacher of an opened session: the one that taught it last, so the oracle never takes over a person's session."""

import logging

from core.errors import UserError
from core.session import summary
from core.session.session import Session
from core.types import Teacher

log = logging.getLogger(__name__)


def last_teacher(session: Session) -> Teacher:
    """Return the teacher in the session's summary, else the one in its config, else the person."""
    try:
        last = summary.read(session.folder)
    except UserError as error:
        log.warning("%s The teacher is taken from the session's config.", error)
        last = None
    for teacher in (last.teacher if last else "", session.config.teacher):
        if teacher in (Teacher.HUMAN, Teacher.ORACLE):
            return Teacher(teacher)
    return Teacher.HUMAN
