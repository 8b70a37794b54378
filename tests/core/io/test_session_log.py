"""A session's log."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import pytest

from core.io import files as disk
from core.io import session_log as journal
from core.io.session_log import session_log

log = logging.getLogger("core.something")


def test_what_is_logged_is_in_the_sessions_folder_until_it_is_closed(tmp_path: Path) -> None:
    with session_log(tmp_path):
        log.info("a fit took %d s", 3)
        log.debug("too much")
    log.error("later")
    text = (tmp_path / "log.txt").read_text()
    assert "INFO    core.something: a fit took 3 s" in text
    assert "too much" not in text and "later" not in text
    assert log.getEffectiveLevel() != logging.INFO


def test_it_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_BYTES", 2000)
    with session_log(tmp_path):
        for number in range(200):
            log.info("message %d", number)
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["log.txt", "log.txt.1", "log.txt.2"]
    assert all(path.stat().st_size <= 2000 for path in files)
    assert "message 199" in files[0].read_text()


def test_a_disk_that_takes_no_log_stops_nothing_and_is_told_of_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log.txt").mkdir()
    with session_log(tmp_path):
        for _ in range(3):
            log.error("it goes on")
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1 and "log can't be written" in told[0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "no_link", lambda path, flags: os.open("/dev/full", flags))
    with session_log(tmp_path):
        log.error("it goes on")
    assert "No space left" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="it has no way to refuse a link")
def test_a_log_that_is_a_link_is_not_written_to_what_it_points_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "letter").write_text("Dear Jane")
    os.symlink("letter", tmp_path / "log.txt")
    with session_log(tmp_path):
        log.error("it goes on")
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1 and "log can't be written" in told[0] and "the session itself goes on." in told[0]
    assert (tmp_path / "letter").read_text() == "Dear Jane"
