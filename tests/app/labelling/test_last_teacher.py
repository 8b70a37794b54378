"""The teacher of an opened session: the last one in the session's own summary."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.labelling.last_teacher import last_teacher
from core.config import Config
from core.session import summary
from core.session.session import Session
from core.session.summary import Summary

BY_ORACLE = Summary("hopper-backflip", "oracle", 0, 0, "", None, 0.0)


def test_it_is_the_last_one_and_at_first_that_of_the_config(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(Session.create(tmp_path / "one", Config(teacher="human"))) as session:
        assert last_teacher(session) == "human"
        summary.write(session.folder, BY_ORACLE)
        assert last_teacher(session) == "oracle"
        summary.write(session.folder, replace(BY_ORACLE, teacher="the cat"))
        assert last_teacher(session) == "human"
        (session.folder / summary.NAME).write_text("{")
        assert last_teacher(session) == "human" and "can't be read" in caplog.text
    for teacher, expected in (("oracle", "oracle"), ("none", "human")):
        with closing(Session.create(tmp_path / teacher, Config(teacher=teacher))) as session:
            assert last_teacher(session) == expected
