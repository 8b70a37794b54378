"""Session folders from other people, with pipes, devices and links in place of files."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from core.errors import UserError
from core.session import library
from core.session.preference_export import import_preferences
from core.session.session import Session
from tests.core.builders import STATES, tiny

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes, and links take a privilege")
FILES = (
    *("config.json", "lock", "log.txt", "log.txt.1", "metrics.safetensors", "summary.json", "picture.jpg"),
    *("checkpoints/00000001.safetensors", "policies/000000000000.safetensors", "preferences/log.jsonl"),
    *("preferences/00000001.safetensors", "preferences/00000001.part", "summary.json.part"),
)
FOLDERS = ("checkpoints", "policies", "preferences")


def link(path: Path, own: Path) -> None:
    path.symlink_to(own)


def pipe(path: Path, own: Path) -> None:
    os.mkfifo(path)


def listening(path: Path, own: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


def device(path: Path, own: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    session = Session.create(tmp_path / "s", tiny())
    session.save(1, STATES)
    session.close()
    (tmp_path / "s" / "policies").mkdir()
    return tmp_path / "s"


def refusals(folder: Path) -> set[str]:
    """Return the messages of opening the session, listing it, and importing its answers."""
    said = {library.entry(folder).problem}
    for use in (Session.open, lambda folder: import_preferences(folder, folder.with_name("new"))):
        with pytest.raises(UserError) as refused:
            use(folder)
        said.add(str(refused.value))
    return said


@pytest.mark.parametrize(
    ("put", "kind"),
    [(link, "a link"), (pipe, "a pipe"), (listening, "a socket"), (device, "a link")],
)
def test_pipes_devices_and_links_in_a_session_are_refused_unread(
    folder: Path, tmp_path: Path, put: Callable[[Path, Path], None], kind: str
) -> None:
    own = tmp_path / "own"
    own.write_text("mine")
    for name in FILES:
        shutil.copytree(folder, tmp_path / "copy")
        path = tmp_path / "copy" / name
        path.unlink(missing_ok=True)
        put(path, own)
        (sentence,) = refusals(tmp_path / "copy")
        assert sentence.startswith(f"{path} is {kind}"), sentence
        assert own.read_text() == "mine"
        shutil.rmtree(tmp_path / "copy")


@pytest.mark.parametrize("name", FOLDERS)
def test_a_linked_folder_inside_a_session_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    shutil.move(folder / name, tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    (sentence,) = refusals(folder)
    assert sentence.startswith(f"{folder / name} is a link")


def test_a_session_may_be_reached_by_a_link_and_hold_other_files(folder: Path, tmp_path: Path) -> None:
    (folder / "notes.txt").write_text("it limps")
    (folder / "films").mkdir()
    (folder / "films" / "newest.mp4").symlink_to("somewhere")
    (tmp_path / "short").symlink_to(folder)
    Session.open(tmp_path / "short").close()


def test_a_session_with_hard_linked_backups_can_be_opened(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "backup", copy_function=os.link)
    with closing(Session.open(folder)) as opened:
        assert opened.folder == folder
