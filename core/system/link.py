"""One end of the connection between two processes."""

from __future__ import annotations

import contextlib
import errno
import io
import multiprocessing
import os
import socket
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from core.system.shared_memory import Envelope, encode


class LinkEndedError(Exception):
    """The process at the other end is gone. Not an OSError, since jobs may raise those."""


class Link:
    """Sends and receives objects, with large messages in shared memory. One thread may send while another receives."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    @staticmethod
    def pair() -> tuple[Link, Connection]:
        """Return this process's end, and the pipe for the other process's end."""
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        return Link(ours), theirs

    def send(self, message: object) -> None:
        """Send a message, or forward the one in an Envelope, which stays open.

        Raises LinkEndedError if the other process is gone, and MemoryError or OSError if there is too little memory.
        """
        if isinstance(message, Envelope):
            self._send(message)
        else:
            with contextlib.closing(encode(message)) as envelope:
                self._send(envelope)

    def _send(self, envelope: Envelope) -> None:
        file = envelope.content if isinstance(envelope.content, io.FileIO) else None
        with _peer_errors():
            self._pipe.send((envelope.kind, envelope.sizes, None if file else envelope.content))
            if file:
                with socket.fromfd(self._pipe.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as pipe:
                    socket.send_fds(pipe, [b"f"], [file.fileno()])

    def poll(self, timeout: float | None = 0.0) -> bool:
        """Return whether a message can be received, or the other process is gone, after at most `timeout` seconds."""
        with _peer_errors():
            return self._pipe.poll(timeout)

    def receive_envelope(self) -> Envelope:
        """Wait for the next message. Raises LinkEndedError."""
        with _peer_errors():
            kind, sizes, content = self._pipe.recv()
            return Envelope(kind, sizes, self._receive_file() if content is None else content)

    def receive(self) -> Any:
        """Wait for the next message and decode it. Raises LinkEndedError, or any exception of decoding."""
        with contextlib.closing(self.receive_envelope()) as envelope:
            return envelope.decode()

    def _receive_file(self) -> io.FileIO:
        with socket.fromfd(self._pipe.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as pipe:
            mark, handles, _, _ = socket.recv_fds(pipe, 1, 1)
        if not mark:
            raise EOFError
        if not handles:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        os.set_inheritable(handles[0], False)
        return io.FileIO(handles[0], "r")

    def close(self) -> None:
        """Close this end; the other process then sees the end of the link."""
        self._pipe.close()


@contextlib.contextmanager
def _peer_errors() -> Iterator[None]:
    """Raise LinkEndedError for errors caused by the end of the other process; others, for example of memory, pass through."""
    try:
        yield
    except (EOFError, ConnectionError) as error:
        raise LinkEndedError from error
    except OSError as error:
        if error.errno is None:  # multiprocessing's own: a message cut off in the middle, or a closed pipe
            raise LinkEndedError from error
        raise
