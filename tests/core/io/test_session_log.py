"""A session's log file."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import pytest

from core.io import files
from core.io.session_log import session_log

log = logging.getLogger("core.something")


def test_messages_are_logged_in_the_sessions_folder_until_it_is_closed(tmp_path: Path) -> None:
    with session_log(tmp_path):
        log.info("a fit took %d s", 3)
        log.debug("too much")
    log.error("later")
    text = (tmp_path / "log.txt").read_text()
    assert "INFO    core.something: a fit took 3 s" in text
    assert "too much" not in text and "later" not in text
    assert log.getEffectiveLevel() != logging.INFO


def test_the_log_is_rotated(tmp_path: Path) -> None:
    with session_log(tmp_path, max_bytes=2000):
        for number in range(200):
            log.info("message %d", number)
    logs = sorted(tmp_path.iterdir())
    assert [path.name for path in logs] == ["log.txt", "log.txt.1", "log.txt.2"]
    assert all(path.stat().st_size <= 2000 for path in logs)
    assert "message 199" in logs[0].read_text()


@pytest.mark.parametrize("obstacle", ["folder", "full disk", "link", "pipe"])
def test_an_unwritable_log_is_reported_once_and_training_continues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, obstacle: str
) -> None:
    (tmp_path / "letter").write_text("Dear Jane")
    if obstacle == "folder":
        (tmp_path / "log.txt").mkdir()
    elif obstacle == "link":
        if sys.platform == "win32":
            pytest.skip("Windows can't refuse a link")
        os.symlink("letter", tmp_path / "log.txt")
    elif obstacle == "pipe":
        if sys.platform == "win32":
            pytest.skip("Windows has no such pipes")
        os.mkfifo(tmp_path / "log.txt")
    else:
        if not Path("/dev/full").exists():
            pytest.skip("only Linux has a disk that is always full")
        monkeypatch.setattr(files, "open_regular", lambda path, flags: os.open("/dev/full", flags))
    with session_log(tmp_path):
        for _ in range(3):
            log.error("it continues")
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "log can't be written" in sentence and sentence.endswith("the session itself continues.")
    assert obstacle != "full disk" or "No space left" in sentence
    assert (tmp_path / "letter").read_text() == "Dear Jane"
