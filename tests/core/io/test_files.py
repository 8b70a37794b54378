"""Writing of files: safe against power cuts, all or none of a group, and never into a missing folder."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from core.errors import UserError
from core.io import files
from core.session import library
from core.session.archive import export_session, import_session
from core.session.session import Session
from core.types import Choice
from tests.core.builders import STATES, query, tiny


class Tape:
    """Record of the inodes of synced files, in order, and of those synced before each renaming."""

    def __init__(self) -> None:
        self.synced: list[int] = []
        self.before: dict[str, set[int]] = {}


@pytest.fixture
def tape(monkeypatch: pytest.MonkeyPatch) -> Tape:
    if sys.platform == "win32":
        pytest.skip("Windows can't sync a folder, and needs not")
    made, fsync, replace = Tape(), os.fsync, os.replace

    def spy(handle: int) -> None:
        made.synced.append(os.fstat(handle).st_ino)
        fsync(handle)

    def renamed(source: Path, target: Path) -> None:
        made.before[Path(target).name] = set(made.synced)
        replace(source, target)

    monkeypatch.setattr("os.fsync", spy)
    monkeypatch.setattr("os.replace", renamed)
    return made


def inode(path: Path) -> int:
    return path.stat().st_ino


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A closed session with an answer and a checkpoint."""
    made = Session.create(tmp_path / "s", tiny(query__segment_steps=5))
    with closing(made.store()) as store:
        store.add(query(1), Choice.LEFT, "human")
    made.save(1, STATES)
    made.close()
    return made.folder


def test_a_new_session_is_synced_with_all_its_parent_folders(tmp_path: Path, tape: Tape) -> None:
    Session.create(tmp_path / "new" / "deep" / "s", tiny()).close()
    folders = [tmp_path, tmp_path / "new", tmp_path / "new" / "deep", tmp_path / "new" / "deep" / "s"]
    assert {inode(path) for path in folders} <= set(tape.synced)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows can't sync a folder, and needs not")
@pytest.mark.parametrize(("reason", "works"), [(errno.EINVAL, True), (errno.EIO, False)])
def test_a_session_is_made_where_folders_can_not_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int, works: bool
) -> None:
    fsync = os.fsync

    def refuse(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(reason, os.strerror(reason))
        fsync(handle)

    monkeypatch.setattr("os.fsync", refuse)
    if not works:
        with pytest.raises(UserError):
            Session.create(tmp_path / "s", tiny())
        return
    with closing(Session.create(tmp_path / "s", tiny())) as made, closing(made.store()) as store:
        assert store.add(query(1), Choice.LEFT, "human").id == 1


def test_the_folder_of_checkpoints_is_synced_before_the_first_one(tmp_path: Path, tape: Tape) -> None:
    session = Session.create(tmp_path / "s", tiny())
    tape.synced.clear()
    session.save(1, STATES)
    session.close()
    assert inode(session.folder) in tape.before["00000001.safetensors"]
    assert inode(session.folder / "checkpoints") == tape.synced[-1]


def copied(session: Path) -> Path:
    library.duplicate(session, session.with_name("other"))
    return session.with_name("other")


def imported(session: Path) -> Path:
    source = session.with_name("shared.somersault")
    opened = Session.open(session)
    export_session(opened, source)
    opened.close()
    import_session(source, session.with_name("other"))
    return session.with_name("other")


@pytest.mark.parametrize("make", [copied, imported])
def test_a_copy_is_synced_before_it_gets_its_name(session: Path, tape: Tape, make: Callable[[Path], Path]) -> None:
    made = make(session)
    inside = {inode(path) for path in (*made.rglob("*"), made) if path.name != "lock"}
    assert len(inside) >= 5 and inside <= tape.before["other"]
    assert tape.synced[-1] == inode(made.parent)


def test_writing_a_file_never_creates_its_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="check that the folder is still there"):
        files.write_atomically(tmp_path / "gone" / "file", b"x")
    with pytest.raises(UserError, match="check that the folder is still there"):
        files.make_inside(tmp_path / "gone" / "inside")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="move away the file that is where its folder should be"):
        files.write_atomically(tmp_path / "file" / "inside", b"x")


@pytest.mark.skipif(sys.platform == "win32", reason="making a link there takes a privilege")
@pytest.mark.parametrize("make", [Path.symlink_to, Path.hardlink_to])
def test_a_link_in_place_of_the_temporary_file_is_not_followed(
    tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    (tmp_path / "letter").write_text("Dear Jane")
    make(tmp_path / "config.json.part", tmp_path / "letter")
    files.write_atomically(tmp_path / "config.json", b"x")
    assert (tmp_path / "letter").read_text() == "Dear Jane" and (tmp_path / "config.json").read_bytes() == b"x"


@pytest.mark.skipif(sys.platform == "win32", reason="making a link there takes a privilege")
def test_an_existing_empty_folder_is_kept_for_the_session(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder may be the current one, or a link to a folder on another disk."""
    source = imported(session).with_name("shared.somersault")
    (tmp_path / "here").mkdir()
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    monkeypatch.chdir(tmp_path / "here")
    before = inode(tmp_path / "here")
    for folder in (Path(), tmp_path / "link"):
        import_session(source, folder)
        opened = Session.open(folder)
        assert opened.labels() == 1
        opened.close()
    assert inode(Path().absolute()) == before and (tmp_path / "link").is_symlink()
    assert not list(tmp_path.rglob("*.part"))


def test_files_that_belong_together_are_replaced_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    files.write_together({one: b"1", other: b"2"})
    write = files.write_synced

    def full(path: Path, content: bytes) -> None:
        if path.name.startswith("other"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, content)

    monkeypatch.setattr(files, "write_synced", full)
    with pytest.raises(UserError, match="other can't be written .*make room"):
        files.write_together({one: b"3", other: b"4"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"one": b"1", "other": b"2"}


def test_an_unreadable_source_of_a_new_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"source can't be read \(No such file"), files.new_folder(tmp_path / "new"):
        (tmp_path / "source").read_bytes()
    assert not list(tmp_path.iterdir())
