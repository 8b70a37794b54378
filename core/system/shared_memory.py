"""Messages between processes: pickled objects whose arrays travel in anonymous shared memory.

A message of 16 kB or more is written to an unnamed file in memory. The pipe carries only the sizes of its parts and the
file's descriptor. The operating system frees the file with its last descriptor, so nothing is left behind by a process
that is killed, or a message that can't be sent or is never read.

Pickling a pair of clips through a pipe took 143 to 292 ms and stalled the window; through shared memory it takes 8 ms.
"""

import io
import os
import pickle
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.system.resources import free_memory

_INLINE_BYTES = 1 << 14
"""Size in bytes below which a message is sent through the pipe as a whole."""
_CHECKED_BYTES = 1 << 27
"""Size in bytes above which a message is compared with free memory: Linux grants any size, but may kill a process later."""
CAN_SHARE = hasattr(socket, "send_fds")
"""False on Windows, where a pipe can't carry descriptors, so that every message is sent through it as a whole."""


@dataclass(frozen=True)
class Envelope:
    """A pickled message. It can be decoded any number of times and sent to several processes, until it is closed.

    kind: class of the message, available without decoding it
    sizes: size in bytes of the pickle, and of each array's buffer if the content is a file
    content: these parts concatenated, as bytes or as a file in memory
    """

    kind: type[Any]
    sizes: tuple[int, ...]
    content: bytes | io.FileIO

    def decode(self) -> Any:
        """Return the message. Its arrays are copies: writable, and independent of each other."""
        parts = [bytearray(size) for size in self.sizes]
        if isinstance(self.content, io.FileIO):
            _read(self.content.fileno(), parts)
        else:
            parts[0][:] = self.content
        return pickle.loads(parts[0], buffers=parts[1:])  # from our own process, never from a stored file

    def close(self) -> None:
        """Release the file in memory. Safe to call twice."""
        if isinstance(self.content, io.FileIO):
            self.content.close()


def encode(message: object) -> Envelope:
    """Pickle a message. Raises MemoryError or OSError if there is too little memory for it."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(body), *(buffer.raw() for buffer in buffers)]
    total = sum(part.nbytes for part in parts)
    if total < _INLINE_BYTES or not CAN_SHARE:
        whole = pickle.dumps(message, protocol=5) if buffers else body
        return Envelope(type(message), (len(whole),), whole)
    if total > _CHECKED_BYTES and (free := free_memory()) is not None and total > free:
        raise MemoryError(f"a message of {total >> 20} MiB does not fit into the {free >> 20} MiB that are free")
    file = _memory_file()
    try:
        with open(file.fileno(), "wb", closefd=False) as writer:
            writer.writelines(parts)
    except BaseException:
        file.close()
        raise
    return Envelope(type(message), tuple(part.nbytes for part in parts), file)


def _memory_file() -> io.FileIO:
    if hasattr(os, "memfd_create"):
        return io.FileIO(os.memfd_create("somersault", os.MFD_CLOEXEC), "r+")
    return tempfile.TemporaryFile(buffering=0)  # on macOS


def _read(handle: int, parts: Sequence[bytearray]) -> None:
    """Read the file into the parts. Receivers share the file's position, so each read gives its own offset."""
    start = 0
    for part in parts:
        left = memoryview(part)
        while left.nbytes:
            count = os.preadv(handle, [left], start)
            if not count:
                raise EOFError("a message in shared memory is shorter than its sender said")
            start, left = start + count, left[count:]
