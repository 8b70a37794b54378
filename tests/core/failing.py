"""A server for light child processes in tests: its methods answer, raise, log and hang."""

from __future__ import annotations

import logging
import os
import stat
import struct
import time
from collections.abc import Iterator
from typing import Any

from core.system.child_link import Link
from core.system.child_process import serve


class Server:
    def __init__(self) -> None:
        self.steps = 0

    def echo(self, value: Any) -> Any:
        return value

    def fail(self, error: Exception) -> None:
        raise error

    def log(self, text: str) -> None:
        logging.getLogger("core.anywhere").warning(text)
        logging.getLogger("core.anywhere").info("not worth sending")

    def work(self, until: int) -> Iterator[int | None]:
        """Work until `advance` was called so often."""
        while self.steps < until:
            yield None
        yield self.steps

    def advance(self) -> int:
        self.steps += 1
        return self.steps

    def say_half(self) -> None:
        """Begin a message of 1,000 bytes, and hang."""
        pipes = [int(name) for name in os.listdir("/proc/self/fd") if _is_socket(int(name))]
        os.write(pipes[0], struct.pack("!i", 1000))
        time.sleep(3600)


def _is_socket(handle: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(handle).st_mode)
    except OSError:
        return False


def run_server(link: Link) -> None:
    serve(link, Server())
