"""The checkpoint from before a finish: saved, restored, and safe against faults."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from core.errors import UserError
from core.events import JobState
from core.io import files
from core.session.archive import export_session, import_session
from core.session.checkpoint import CHECKPOINTS
from core.session.library import duplicate
from core.session.session import Session
from tests.core.builders import raising, tiny
from tests.core.session.damages import flipped_bit

ROOT = Path(__file__).resolve().parents[3]


def states(env_steps: int) -> dict[str, JobState]:
    return {"rollout": JobState({"x": np.full(3, env_steps, np.float32)}, {"env_steps": env_steps})}


def newest(session: Session) -> tuple[int, int]:
    """Return the number and environment steps of the newest checkpoint."""
    loaded = session.load()
    assert loaded is not None
    return loaded[0], loaded[1]["rollout"].values["env_steps"]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session with a finish; checkpoint 3 is from before it."""
    with closing(Session.create(tmp_path / "session", tiny())) as made:
        for number in (2, 3):
            made.save(number, states(1000 * number))
        assert made.before_finish.keep(3)
        for number in (4, 5, 6):
            made.save(number, states(1000 * number))
        yield made


@pytest.fixture
def kept(session: Session) -> Path:
    return session.folder / CHECKPOINTS / "before-finish.safetensors"


def test_an_undone_finish_returns_to_the_checkpoint_from_before_it(session: Session) -> None:
    assert session.before_finish.kept and newest(session) == (6, 6000)
    session.undo_finish()
    number, found = session.resume()
    assert number == 7 and np.array_equal(found["rollout"].arrays["x"], states(3000)["rollout"].arrays["x"])
    assert newest(session) == (7, 3000) and not session.before_finish.kept
    session.save(8, states(3500))
    assert newest(session) == (8, 3500)


def test_a_discarded_checkpoint_is_deleted(session: Session) -> None:
    session.before_finish.forget()
    session.before_finish.forget()
    assert not session.before_finish.kept and newest(session) == (6, 6000)


@pytest.mark.parametrize("damage", [Path.unlink, flipped_bit])
def test_an_unreadable_checkpoint_from_before_a_finish_changes_nothing(
    session: Session, kept: Path, damage: Callable[[Path], object]
) -> None:
    damage(kept)
    with pytest.raises(UserError, match=r"^The checkpoint from before the finish can't be read .*can't be undone\.$"):
        session.undo_finish()
    assert newest(session) == (6, 6000)


def test_a_full_disk_keeps_no_undo_and_a_later_finish_can_be_undone(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    with monkeypatch.context() as patch:
        patch.setattr(files, "write_synced", full)
        with pytest.raises(UserError, match="make room on the disk"):
            session.undo_finish()
        assert not session.before_finish.keep(6)
    assert newest(session) == (6, 6000)
    session.undo_finish()
    assert newest(session) == (7, 3000)


@pytest.mark.parametrize(("place", "steps"), [("os, 'replace'", 6000), ("BeforeFinish, 'forget'", 3000)])
def test_a_session_killed_during_an_undo_can_be_continued(session: Session, place: str, steps: int) -> None:
    session.close()
    program = (
        "import os, pathlib, signal, sys\n"
        "from core.session.before_finish import BeforeFinish\nfrom core.session.session import Session\n"
        "session = Session.open(pathlib.Path(sys.argv[1]))\n"
        f"setattr({place}, lambda *rest, **more: os.kill(os.getpid(), signal.SIGKILL))\n"
        "session.undo_finish()\n"
    )
    child = subprocess.run([sys.executable, "-c", program, str(session.folder)], cwd=ROOT, check=False)
    assert child.returncode == -signal.SIGKILL
    with closing(Session.open(session.folder)) as opened:
        assert newest(opened)[1] == steps
        opened.undo_finish()
        assert newest(opened)[1] == 3000 and not opened.before_finish.kept


def test_the_undo_of_a_finish_is_not_copied_with_a_session(session: Session, tmp_path: Path) -> None:
    """An exported, imported or duplicated session has only the newest checkpoints."""
    export_session(session, tmp_path / "file")
    session.close()
    import_session(tmp_path / "file", tmp_path / "imported")
    duplicate(session.folder, tmp_path / "duplicate")
    for name in ("imported", "duplicate"):
        with closing(Session.open(tmp_path / name)) as copy:
            assert newest(copy) == (6, 6000) and not copy.before_finish.kept
