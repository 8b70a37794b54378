"""What the tests of faults share: what disks, memory and systems raise, and the button that starts again."""

from __future__ import annotations

import errno
import os
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from core.errors import UserError
from core.system.child_process import JobSpec
from tests.app.fakes import Face, FakeProcess

Error = tuple[type[Exception], tuple[Any, ...]]

ERRORS: list[Error] = [
    (OSError, (errno.ENOSPC, os.strerror(errno.ENOSPC))),
    (RuntimeError, ("CUDA out of memory.",)),
    (MemoryError, ()),
]

FULL: Error = (UserError, ("The checkpoint can't be written: make room.",))


def press_restart(face: Face) -> None:
    QTest.mouseClick(face.window.banner.restart, Qt.MouseButton.LeftButton)


def numbers(face: Face) -> dict[str, int]:
    """Of each job in the newest checkpoint: the number of the request that its state answered."""
    loaded = face.controller.session.load()
    assert loaded is not None
    return {name: state.values["n"] for name, state in loaded[1].items()}


class FullSystem:
    """Makes so many processes of the engine, and then none any more."""

    def __init__(self, face: Face, left: int) -> None:
        self._make, self._left = face.engine, left

    def __call__(self, spec: JobSpec) -> FakeProcess:
        self._left -= 1
        if self._left < 0:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return self._make(spec)
