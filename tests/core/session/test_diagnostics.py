"""Diagnostics for a stranger, which name neither the user nor the host."""

from __future__ import annotations

import getpass
import json
import logging
import platform
import sys
import zipfile
from pathlib import Path

import pytest

from core.errors import UserError
from core.io.session_log import session_log
from core.session import diagnostics
from core.session.diagnostics import collect, redact
from core.session.session import Session
from tests.core.builders import tiny

log = logging.getLogger("core.something")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Home folder of jane.doe on the host jdoe-laptop."""
    folder = tmp_path / "home" / "jane.doe"
    folder.mkdir(parents=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    for name in ("LOGNAME", "USER", "USERNAME"):
        monkeypatch.setenv(name, "jane.doe")
    monkeypatch.setattr(platform, "node", lambda: "jdoe-laptop")
    assert getpass.getuser() == "jane.doe"
    return folder


def test_the_zip_has_log_config_and_versions_without_names(home: Path, tmp_path: Path) -> None:
    session = Session.create(home / "secret project" / "s", tiny())
    with session_log(session.folder):
        log.error(
            "%s can't be written by jane.doe at jdoe-laptop, see %s", session.folder / "config.json", home / "notes"
        )
    collect(session.folder, tmp_path / "out.zip")
    session.close()
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        content = {name: archive.read(name).decode() for name in archive.namelist()}
    assert set(content) == {"log.txt", "config.json", "about.json"}
    everything = "".join(content.values())
    for word in ("jane.doe", "jdoe-laptop", "secret project", str(tmp_path / "home")):
        assert word not in everything
    logged = content["log.txt"].replace("\\", "/")
    assert "<session>/config.json can't be written by <user> at <host>, see <home>/notes" in logged
    about = json.loads(content["about.json"])
    assert about["packages"]["numpy"] and about["files"]["config.json"] > 0


def test_a_missing_session_is_named_rather_than_the_zip(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="gone can't be read .*: check that it still exists"):
        collect(tmp_path / "gone", tmp_path / "out.zip")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("jane.doe@jdoe-laptop", "<user>@<host>"),
        ("/mnt/JANE.DOE/x and C:\\Users\\jane.doe\\y", "/mnt/<user>/x and C:\\Users\\<user>\\y"),
        ("backup_jane.doe, jane.doe-2; janet and doe stay", "backup_<user>, <user>-2; janet and doe stay"),
        ("/srv/model.xml stays", "/srv/model.xml stays"),
    ],
)
@pytest.mark.usefixtures("home")
def test_names_are_replaced_only_as_whole_words(tmp_path: Path, text: str, left: str) -> None:
    assert redact(text, tmp_path / "s") == left


@pytest.mark.skipif(sys.platform == "win32", reason="making a link takes a right of its own there")
def test_a_link_among_the_logs_is_not_followed(tmp_path: Path) -> None:
    session = Session.create(tmp_path / "s", tiny())
    (tmp_path / "letter").write_text("Dear Jane")
    (session.folder / "log.txt.1").symlink_to("../letter")
    collect(session.folder, tmp_path / "out.zip")
    session.close()
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert archive.namelist() == ["config.json", "about.json"]


def test_a_file_deleted_meanwhile_by_a_running_session_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.create(tmp_path / "s", tiny())
    session.close()
    (session.folder / "metrics.safetensors.part").write_bytes(b"half")

    def finish_writing() -> dict[str, str]:
        (session.folder / "metrics.safetensors.part").unlink()
        return {}

    monkeypatch.setattr(diagnostics, "library_versions", finish_writing)
    collect(session.folder, tmp_path / "out.zip")
    assert (tmp_path / "out.zip").is_file()
