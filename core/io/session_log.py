"""A log for each session: a file in its folder, kept small by rotation."""

from __future__ import annotations

import logging
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from core.io import files

NAME = "log.txt"
_BYTES, _OLDER = 1_000_000, 2
_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_OURS = ("core", "app")
log = logging.getLogger(__name__)


class _SessionLog(RotatingFileHandler):
    """A disk that takes no more log must stop nothing: that is told of once, on stderr."""

    _told = False

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, opener=files.no_link)

    def handleError(self, record: logging.LogRecord) -> None:
        self._tell(sys.exc_info()[1])

    def close(self) -> None:
        try:
            super().close()
        except OSError as error:  # what could not be written is tried again when it is closed
            self._tell(error)

    def _tell(self, error: BaseException | None) -> None:
        if not self._told:
            self._told = True
            print(f"The session's log can't be written ({error}); the session itself goes on.", file=sys.stderr)


@contextmanager
def session_log(folder: Path) -> Iterator[None]:
    """What this process logs goes into the session's folder too, from INFO on."""
    handler = _SessionLog(folder / NAME, maxBytes=_BYTES, backupCount=_OLDER, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter(_FORMAT))
    levels = {name: logging.getLogger(name).level for name in _OURS}
    for name in _OURS:
        logging.getLogger(name).setLevel(logging.INFO)
    logging.getLogger().addHandler(handler)
    log.info("opened by Python %s on %s", platform.python_version(), platform.platform())
    try:
        yield
    finally:
        log.info("closed")
        logging.getLogger().removeHandler(handler)
        handler.close()
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def warnings_to_stderr(layout: str) -> None:
    """For the person at the terminal, who wants less than the session's log has."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    logging.basicConfig(level=logging.WARNING, format=layout, handlers=[handler])
