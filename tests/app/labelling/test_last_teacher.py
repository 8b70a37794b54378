"""Who answered last in a session answers when it is opened again, and in no other."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.labelling.last_teacher import last_teacher
from app.session.summary_writer import SummaryWriter
from core.config import Config
from core.session import summary
from core.session.session import Session
from core.session.summary import Summary
from core.types import Teacher
from tests.app.fakes import Face

TOLD = Summary("hopper-backflip", "oracle", 0, 100, 0, "", None, 0.0)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session.create(tmp_path / "one", Config(teacher="human"))
    yield made
    made.close()


def test_it_is_the_one_that_taught_last(session: Session) -> None:
    summary.write(session.folder, TOLD)
    assert last_teacher(session) == "oracle"


@pytest.mark.parametrize(("teacher", "expected"), [("oracle", "oracle"), ("human", "human"), ("none", "human")])
def test_at_first_it_is_the_one_of_the_config(tmp_path: Path, teacher: str, expected: str) -> None:
    session = Session.create(tmp_path / teacher, Config(teacher=teacher))
    assert last_teacher(session) == expected
    session.close()


def test_what_nobody_is_does_not_count(session: Session) -> None:
    summary.write(session.folder, replace(TOLD, teacher="the cat"))
    assert last_teacher(session) == "human"


def test_a_damaged_summary_is_told_of_in_the_log_alone(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    (session.folder / summary.NAME).write_text("{")
    with caplog.at_level("CRITICAL"):
        assert last_teacher(session) == "human"


def test_what_is_chosen_in_the_window_is_kept_and_goes_with_the_folder(face: Face, qtbot: QtBot) -> None:
    qtbot.waitUntil((face.folder / "preferences.sqlite").exists)
    keeper = SummaryWriter(face.controller)
    face.window.teacher_actions[Teacher.ORACLE].trigger()
    keeper.close()
    assert last_teacher(face.controller.session) == "oracle"
    face.close()
    shutil.rmtree(face.folder)  # as to the trash
    again = Session.create(face.folder, Config(teacher="human"))
    assert last_teacher(again) == "human"
    again.close()
