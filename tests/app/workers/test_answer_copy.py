"""A copy of an open session's answers outside its folder, which may be deleted at any moment."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.workers.answer_copy import AnswerCopy
from core.errors import UserError
from core.session.session import Session
from core.types import Choice
from tests.core.builders import one_sentence, query, raising, tiny


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[AnswerCopy]:
    """A copy of three answers whose session is gone."""
    session = Session.create(tmp_path / "s", tiny())
    with closing(session.store()) as store, closing(AnswerCopy(session.folder / "preferences")) as copy:
        for number in range(3):
            store.add(query(number), Choice.LEFT, "human")
            copy.update()
        session.close()
        shutil.rmtree(session.folder)
        yield copy


@pytest.mark.parametrize("call", ["builtins.open", "os.fsync", "os.replace"])
def test_a_session_that_can_not_be_written_leaves_no_trace_and_can_be_tried_again(
    copied: AnswerCopy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    with monkeypatch.context() as failing, pytest.raises(UserError, match="make room on the disk") as refused:
        failing.setattr(call, raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
        copied.write_session(tmp_path / "saved", tiny(), lambda folder: None)
    one_sentence(refused.value)
    assert not list(tmp_path.iterdir())
    with closing(copied.write_session(tmp_path / "saved", tiny(), lambda folder: None)) as session:
        assert session.labels() == 3
        with pytest.raises(UserError, match="is open in another"):
            Session.open(tmp_path / "saved")
