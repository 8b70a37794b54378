"""Failing writes at any place: no stored data is lost, one sentence gives the reason, and a retry works."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import Lack, NoGpuError, UserError, lack
from core.session import library
from core.session.archive import export_session, import_session
from core.session.diagnostics import collect
from core.session.preference_export import export_preferences, import_preferences
from core.session.session import Session
from tests.core.builders import STATES, one_sentence, raising, tiny

REASONS = {"open": errno.EACCES, "fsync": errno.ENOSPC, "replace": errno.EACCES, "unlink": errno.EACCES}
"""Calls of the system that fail, and why."""
WRITERS: dict[str, Callable[[Session, Path], object]] = {
    "export": lambda session, place: export_session(session, place / "out.somersault"),
    "answers": lambda session, place: export_preferences(session, place / "answers"),
    "answers in": lambda session, place: import_preferences(place / "other", place / "back"),
    "diagnostics": lambda session, place: collect(session.folder, place / "out.zip"),
    "import": lambda session, place: import_session(place / "packed", place / "back"),
    "create": lambda session, place: Session.create(place / "new", tiny()),
    "checkpoint": lambda session, place: session.save(2, STATES),
    "copy": lambda session, place: library.duplicate(place / "other", place / "copy"),
}


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")


@pytest.mark.slow_after_first
@pytest.mark.parametrize("calls", [("open",), ("fsync",), ("replace",), ("replace", "unlink")], ids="+".join)
@pytest.mark.parametrize("name", WRITERS)
def test_a_failed_write_is_one_sentence_loses_nothing_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, calls: tuple[str, ...]
) -> None:
    """Only the sentence is checked if even the half-written file can't be deleted (unlink)."""
    if name == "diagnostics" and calls == ("fsync",):
        pytest.skip("a copy to be sent need not survive a power cut")
    session = Session.create(tmp_path / "s", tiny())
    session.store().close()
    session.save(1, STATES)
    export_session(session, tmp_path / "packed")
    import_session(tmp_path / "packed", tmp_path / "other")
    before = files_in(tmp_path)
    for call in calls:
        fail = raising(OSError(REASONS[call], os.strerror(REASONS[call])))
        monkeypatch.setattr("builtins.open" if call == "open" else f"os.{call}", fail)
    with pytest.raises(UserError) as refused:
        WRITERS[name](session, tmp_path)
    monkeypatch.undo()
    one_sentence(refused.value)
    if "unlink" not in calls:
        assert files_in(tmp_path) == before
        WRITERS[name](session, tmp_path)
    loaded = session.load()
    assert loaded and loaded[0] == (2 if name == "checkpoint" and "unlink" not in calls else 1)
    session.close()


def test_a_lock_that_cannot_be_taken_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Session.create(tmp_path / "s", tiny()).close()

    with monkeypatch.context() as patch:
        patch.setattr("core.session.session.FileLock.acquire", raising(OSError(errno.EROFS, "Read-only file system")))
        with pytest.raises(UserError, match="Read-only") as refused:
            Session.open(tmp_path / "s")
        one_sentence(refused.value)
    Session.open(tmp_path / "s").close()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), Lack.MEMORY),
        (NoGpuError("This machine has no CUDA device."), Lack.GPU),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB."), Lack.GPU_MEMORY),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), Lack.GPU_MEMORY),
        (RuntimeError("CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"), Lack.GPU_MEMORY),
        (RuntimeError("CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"), Lack.MEMORY),
        (RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"), Lack.NOTHING),
        (RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"), Lack.MEMORY),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), Lack.MEMORY),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), Lack.NOTHING),
        (ValueError("out of memory"), Lack.NOTHING),
    ],
)
def test_errors_are_classified_by_the_exhausted_resource(error: Exception, expected: Lack) -> None:
    assert lack(error) == expected
