"""Who answered last in a session answers when it is opened again, and in no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app import settings
from app.labelling import ORACLE
from app.teachers import keep_teacher, kept_teacher
from core.config import Config
from core.session import Session
from tests.app.fakes import Face


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[tuple[Session, Session]]:
    made = tuple(Session.create(tmp_path / name, Config(teacher="human")) for name in ("one", "two"))
    yield made[0], made[1]
    for session in made:
        session.close()


def test_it_is_kept_for_this_session_alone(sessions: tuple[Session, Session]) -> None:
    one, two = sessions
    keep_teacher(one, "oracle")
    assert (kept_teacher(one), kept_teacher(two)) == ("oracle", "human")


def test_at_first_it_is_the_one_of_the_config(tmp_path: Path) -> None:
    for teacher, expected in (("oracle", "oracle"), ("human", "human"), ("none", "human")):
        session = Session.create(tmp_path / teacher, Config(teacher=teacher))
        assert kept_teacher(session) == expected
        session.close()


def test_what_nobody_is_does_not_count(sessions: tuple[Session, Session]) -> None:
    keep_teacher(sessions[0], "the cat")
    assert kept_teacher(sessions[0]) == "human"
    assert settings.settings().childGroups() == ["teacher"]


def test_the_window_keeps_what_is_chosen_in_it(face: Face, qtbot: QtBot) -> None:
    assert kept_teacher(face.controller.session) == "human"
    face.window.teacher_actions[ORACLE].trigger()
    assert kept_teacher(face.controller.session) == "oracle"
