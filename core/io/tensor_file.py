"""Safetensors files with JSON values and a SHA-256 digest of all their contents.

The digest detects flipped bits. Nothing is unpickled: a file from another person can't run code.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from core.io import files
from core.types import require_count

DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)
"""Exceptions raised when a damaged file is read or its values are used."""
_TYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    **{f"{kind[0].upper()}{bits}": np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"F{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
}
_MAX_HEADER = 16 << 20
"""Largest size in bytes of the header: names, shapes and JSON values. Real headers have about 100 kB."""


def as_file(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Serialize `values` (as JSON) and `arrays` (any shapes, contiguous or not)."""
    text = json.dumps(values)
    contiguous = {name: np.require(array, requirements="C") for name, array in arrays.items()}
    return save(contiguous, metadata={"somersault": text, "digest": _digest(text, contiguous)})


def read(path: Path, max_size: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the values and arrays of a file of up to `max_size` bytes. Raises one of DAMAGE, also for a wrong digest."""
    return parse(files.read_regular(path, max_size))


def parse(content: bytes | bytearray) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the values and arrays of a file's content. Raises one of DAMAGE, also for a wrong digest.

    The arrays are views of `content`, writable if it is a bytearray; safetensors.numpy.load would copy them and take
    twice the memory.
    """
    start = 8 + int.from_bytes(content[:8], "little")
    if start > min(_MAX_HEADER, len(content)):
        raise ValueError("its size is impossible")
    header = json.loads(content[8:start])
    metadata, size, arrays = header.pop("__metadata__"), 0, {}
    for name, entry in header.items():
        dtype, shape = _TYPES[entry["dtype"]], tuple(map(require_count, entry["shape"]))
        begin, end = map(require_count, entry["data_offsets"])
        if end - begin != math.prod(shape) * dtype.itemsize or start + end > len(content):
            raise ValueError("an array's shape does not fit its size")
        array = np.frombuffer(content, dtype, math.prod(shape), start + begin).reshape(shape)
        arrays[name] = array if array.flags.aligned else array.copy()
        size += end - begin
    if start + size != len(content):
        raise ValueError("its header does not fit its data")
    text = metadata["somersault"]
    if metadata.get("digest") != _digest(text, arrays):
        raise ValueError("its checksum does not match")
    return json.loads(text), arrays


def _digest(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 digest of the JSON text and of each array's name, type, shape and bytes, sorted by name."""
    sha = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        sha.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        sha.update(array.reshape(-1).view(np.uint8).data)
    return sha.hexdigest()
