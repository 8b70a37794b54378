"""A server for light child processes in tests, with methods that answer, raise, log and hang."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Generator
from typing import Any

from core.system.child_process import serve
from core.system.link import Link


class Server:
    def __init__(self) -> None:
        self.steps = 0

    def echo(self, value: Any) -> Any:
        return value

    def modules(self) -> list[str]:
        return list(sys.modules)

    def fail(self, error: Exception) -> None:
        raise error

    def hang(self) -> None:
        time.sleep(3600)

    def log(self, text: str) -> None:
        logging.getLogger("core.anywhere").warning(text)
        logging.getLogger("core.anywhere").info("not worth sending")

    def work(self, until: int) -> Generator[None, None, int]:
        """Work until `advance` was called this many times."""
        while self.steps < until:
            yield None
        return self.steps

    def advance(self) -> int:
        self.steps += 1
        return self.steps


def run_server(link: Link) -> None:
    serve(link, Server())
