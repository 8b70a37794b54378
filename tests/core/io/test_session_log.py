"""A session's log, and what is given away with it."""

from __future__ import annotations

import getpass
import json
import logging
import os
import queue
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import UserError
from core.events import Event, JobState, Logged, Waited
from core.io import files as disk
from core.io import session_log as journal
from core.io.session_log import session_log
from core.session.diagnostics import collect, without_names
from core.session.session import Session
from core.system import child_process, shared_memory
from tests.core.builders import tiny

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


class Talkative:
    """A job that logs and then waits."""

    def run(self) -> Any:
        log.warning("the simulation blew up")
        log.info("not worth sending")
        yield Waited("rollout", "it waits")
        yield Waited("rollout", "it waits")

    def receive(self, event: Event) -> None: ...
    def get_state(self) -> JobState:
        return JobState({}, {})

    def set_state(self, state: JobState) -> None: ...


def test_what_a_child_logs_goes_to_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Event] = []
    pipe: Any = type("Pipe", (), {"send": lambda self, envelope: sent.append(shared_memory.decode(envelope))})()
    handlers = list(logging.getLogger().handlers)
    monkeypatch.setattr(child_process, "_IDLE_SECONDS", 0.0)
    child_process._work(Talkative(), "rollout", pipe, queue.SimpleQueue())
    for handler in set(logging.getLogger().handlers) - set(handlers):
        logging.getLogger().removeHandler(handler)
    assert [event for event in sent if isinstance(event, Logged)] == [
        Logged("rollout", logging.WARNING, "the simulation blew up")
    ]


def test_the_diagnostics_name_neither_the_person_nor_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home" / "jane.doe"
    home.mkdir(parents=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("LOGNAME", "USER", "USERNAME"):
        monkeypatch.setenv(name, "jane.doe")
    assert getpass.getuser() == "jane.doe"
    session = Session.create(home / "secret project" / "s", tiny())
    with session_log(session.folder):
        log.error("%s can't be written by jane.doe, see %s", session.folder / "config.json", home / "notes")
        log.error("/mnt/JANE.DOE/x and C:\\Users\\jane.doe\\y, but janet and doe stay")
    collect(session.folder, tmp_path / "out.zip")
    session.close()
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        content = {name: archive.read(name).decode() for name in archive.namelist()}
    assert set(content) == {"log.txt", "config.json", "about.json"}
    everything = "".join(content.values())
    for word in ("jane.doe", "JANE.DOE", "secret project", str(tmp_path / "home")):
        assert word not in everything
    assert "<session>/config.json can't be written" in content["log.txt"].replace("\\", "/")
    assert "janet and doe stay" in content["log.txt"]
    about = json.loads(content["about.json"])
    assert about["packages"]["numpy"] and about["files"]["config.json"] > 0


def test_a_short_or_common_name_is_no_reason_to_spoil_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "al")
    assert without_names("al fine", tmp_path) == "al fine"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("moved from /data/jane_roe/x today", "moved from <path> today"),
        ("read //fileserver/users/jroe/x.npz", "read <path>/x.npz"),
        ("/home/jane-old/notes.txt: gone", "<path>/notes.txt: gone"),
        ("/home/jane-old", "<path>"),
        ("[Errno 2] No such file: '/mnt/Jane Roe's disk/a b.txt'", "[Errno 2] No such file: '<path>"),
        ("see /media/Jane Roe/disk/a.txt, and go on", "see <path>/a.txt, and go on"),
        ("C:\\Users\\jroe\\run 1\\log.txt: full", "<path>/log.txt: full"),
        ("\\\\server\\jroe\\x", "<path>"),
        ('{"folder": "D:\\\\jroe\\\\s"}', '{"folder": "<path>"}'),
        ("~/clients/acme", "<path>"),
        ("file:///srv/jroe/x.html", "file:<path>/x.html"),
        ("folder=/srv/jroe", "folder=<path>"),
        ("120.5 steps/s, 3/4 of them; and/or", "120.5 steps/s, 3/4 of them; and/or"),
        ("https://download.pytorch.org/whl/cpu", "https://download.pytorch.org/whl/cpu"),
        ("gym:ALE/Pong-v5", "gym:ALE/Pong-v5"),
        ("al@box", "<person>@box"),
        ("../../Jane Roe/flip/log.jsonl is gone", "<path>/log.jsonl is gone"),
        ("./jane/x.npz, ..\\Jane Roe\\y.npz, both", "<path>/x.npz, <path>/y.npz, both"),
        ("see '../Jane Roe' and \"./jane's\"", "see '<path>' and \"<path>\""),
        ("$HOME/jane/x, ${HOME}/jane/x, ~jane/x", "<path>, <path>, <path>"),
        ("%USERPROFILE%\\jane\\x.txt $env:HOME\\jane\\x.txt", "<path>/x.txt <path>/x.txt"),
        ("D:data\\Jane\\x and E:My Roe\\x and F:jane/x.txt", "<path> and <path> and <path>/x.txt"),
        ("the rest ... and 3./4 of r:0.8, $5/s", "the rest ... and 3./4 of r:0.8, $5/s"),
    ],
)
def test_of_other_paths_only_a_files_own_name_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, left: str
) -> None:
    monkeypatch.setenv("LOGNAME", "al")
    changed = without_names(text, tmp_path)
    assert changed.startswith(left) and not re.search("jane|roe|acme", changed, re.IGNORECASE)
    assert changed == left or "'" in left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("alice_backup and backup_alice", "<person>_backup and backup_<person>"),
        ("alice-backup, ALICE.txt, alice2", "<person>-backup, <person>.txt, alice2"),
        ("malice and alices", "malice and alices"),
    ],
)
def test_a_persons_name_ends_where_no_letter_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, left: str
) -> None:
    for name in ("LOGNAME", "USER", "USERNAME"):
        monkeypatch.setenv(name, "alice")
    assert without_names(text, tmp_path) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("eve/Eve Smith/flip/log.jsonl is gone", "<session>/log.jsonl is gone"),
        ("Eve Smith/flip is gone", "<session> is gone"),
        ("Eve Smith\\flip\\x", "<session>\\x"),
        ("flip/x and flip.txt", "<session>/x and flip.txt"),
        ("a flip, a backflip/x, mine/flip/x", "a flip, a backflip/x, mine/flip/x"),
    ],
)
def test_the_sessions_folder_is_known_by_whatever_path_leads_to_it(tmp_path: Path, text: str, left: str) -> None:
    assert without_names(text, tmp_path / "eve" / "Eve Smith" / "flip") == left


def test_a_folder_that_is_given_from_where_one_stands_is_logged_without_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    given = Path("../../Eve Smith/flip")
    Session.create(given, tiny()).close()
    session = Session.open(given)
    with session_log(session.folder):
        log.error("%s is gone", session.folder / "log.jsonl")
        log.error("%s is gone", given / "log.jsonl")
    monkeypatch.chdir(tmp_path)
    collect(session.folder, tmp_path / "out.zip")
    session.close()
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        told = archive.read("log.txt").decode().replace("\\", "/")
    assert "<session>/log.jsonl is gone" in told and "/log.jsonl is gone" in told
    assert "Eve" not in told


@pytest.mark.skipif(sys.platform == "win32", reason="making a link takes a right of its own there")
def test_a_link_among_the_logs_is_not_followed_into_the_diagnostics(tmp_path: Path) -> None:
    session = Session.create(tmp_path / "s", tiny())
    (tmp_path / "letter").write_text("Dear Jane")
    (session.folder / "log.txt.1").symlink_to("../letter")
    collect(session.folder, tmp_path / "out.zip")
    session.close()
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert archive.namelist() == ["config.json", "about.json"]


def test_where_in_the_program_something_happened_stays(tmp_path: Path) -> None:
    ours, libraries = Path(journal.__file__), Path(np.__file__)
    text = f'File "{ours}", line 3, in f\nFile "{libraries}", line 4, in g'
    changed = without_names(text, tmp_path).replace("\\", "/")
    assert changed.startswith('File "<program>/core/journal.py", line 3, in f')
    assert changed.endswith('/numpy/__init__.py", line 4, in g') and '"<python>' in changed


def test_diagnostics_that_cannot_be_written_leave_nothing(tmp_path: Path) -> None:
    session = Session.create(tmp_path / "s", tiny())
    with pytest.raises(UserError, match="can't be written"):
        collect(session.folder, tmp_path / "nowhere" / "out.zip")
    session.close()
