"""Copies of an open session's files outside its folder, which may be deleted at any moment."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.workers.file_copy import FileCopy
from core.session.policy_snapshots import KEPT, PolicySnapshots


def keep(folder: Path, name: int, content: bytes) -> Path:
    (folder / "policies").mkdir(parents=True, exist_ok=True)
    path = folder / "policies" / f"{name:012d}.safetensors"
    path.write_bytes(content)
    return path


def written(copy: FileCopy, folder: Path) -> dict[int, bytes]:
    folder.mkdir()
    copy.write(folder)
    return {int(path.stem): path.read_bytes() for path in PolicySnapshots(folder).files()}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pipe, and deletes files that are open")
def test_what_a_deletion_takes_is_still_written_and_what_could_not_be_read_is_not_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in range(3):
        keep(tmp_path / "mine", name, b"%d" % name)
    os.mkfifo(tmp_path / "mine" / "policies" / f"{9:012d}.safetensors")
    with closing(FileCopy(tmp_path / "mine")) as copy:
        assert copy.update() == copy.policies == 3 and "000000000009.safetensors was not copied" in caplog.text
        keep(tmp_path / "mine", 1, b"changed")
        assert copy.update() == 3
        shutil.rmtree(tmp_path / "mine")
        assert copy.update() == 3
        assert written(copy, tmp_path / "new") == {0: b"0", 1: b"changed", 2: b"2"}


def test_copies_of_policies_that_a_session_no_longer_keeps_go(tmp_path: Path) -> None:
    with closing(FileCopy(tmp_path / "mine")) as copy:
        for name in range(KEPT):
            keep(tmp_path / "mine", name, b"x")
        copy.update()
        keep(tmp_path / "mine", 5, b"x").unlink()
        keep(tmp_path / "mine", KEPT, b"x")
        assert copy.update() == KEPT and 5 not in written(copy, tmp_path / "new")
