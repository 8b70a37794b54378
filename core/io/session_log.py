"""Log file of a session, rotated to stay small."""

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
FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
_OURS = ("core", "app")
log = logging.getLogger(__name__)


class _SessionLog(RotatingFileHandler):
    """Log handler that reports its first failure on stderr: a full disk must not stop the session."""

    _failed = False

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, opener=files.open_regular)

    def handleError(self, record: logging.LogRecord) -> None:
        self._report(sys.exc_info()[1])

    def close(self) -> None:
        try:
            super().close()
        except OSError as error:  # closing flushes the buffer
            self._report(error)

    def _report(self, error: BaseException | None) -> None:
        if not self._failed:
            self._failed = True
            print(f"The session's log can't be written ({error}); the session itself continues.", file=sys.stderr)


@contextmanager
def session_log(folder: Path, max_bytes: int = 1_000_000) -> Iterator[None]:
    """Also write this process's log messages of level INFO or higher to a file in the session's folder.

    max_bytes: size at which a new file is started; two older ones are kept
    """
    handler = _SessionLog(folder / NAME, maxBytes=max_bytes, backupCount=2, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter(FORMAT))
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
    """Log warnings and errors, but no lower levels, to stderr. layout: format of the messages"""
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.WARNING)
    logging.basicConfig(level=logging.WARNING, format=layout, handlers=[handler])
