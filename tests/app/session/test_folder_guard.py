"""The guard of the open session's folder."""

from __future__ import annotations

import pytest

from app.workers.session_copy import SessionCopy
from tests.app.fakes import Face
from tests.core.builders import raising


def test_a_copy_that_fails_is_no_folder_that_is_gone(
    face: Face, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(SessionCopy, "update", raising(MemoryError("none is left")))
    guard = face.controller.folder_guard
    guard.check()
    face.wait_until(lambda: "The session was not copied: none is left" in caplog.text)
    guard.check()
    face.answer_another()
    assert not guard.gone and face.labelling.open
    assert caplog.text.count("was not copied") == 1
