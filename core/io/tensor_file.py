"""Safetensors files with JSON values and a SHA-256 digest over everything in them.

The digest detects flipped bits. Nothing is unpickled: a file from another person cannot run code.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from core.io import files

DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)
"""Exceptions raised when a damaged file is read or its values are used."""
_MAX_HEADER = 16 << 20
"""Bytes of the header: names, shapes and JSON values. Real headers have about 100 kB."""


def as_file(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Serialize `values` (as JSON) and `arrays` (any shapes, contiguous or not)."""
    text = json.dumps(values)
    contiguous = {name: np.require(array, requirements="C") for name, array in arrays.items()}
    return save(contiguous, metadata={"somersault": text, "digest": _digest(text, contiguous)})


def read(path: Path, max_size: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Values and arrays of a file of up to `max_size` bytes. Raises one of DAMAGE, also if the digest does not match."""
    return parse(files.read_regular(path, max_size))


def parse(content: bytes | bytearray) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Values and arrays of a file's content. Raises one of DAMAGE, also if the digest does not match.

    The arrays are copies and can be written.
    """
    start = 8 + int.from_bytes(content[:8], "little")
    if start > min(_MAX_HEADER, len(content)):
        raise ValueError("its size is impossible")
    metadata = json.loads(content[8:start])["__metadata__"]
    try:
        arrays = load(bytes(content))
    except SafetensorError as error:
        raise ValueError("its header does not fit its data") from error
    text = metadata["somersault"]
    if metadata.get("digest") != _digest(text, arrays):
        raise ValueError("its checksum does not match")
    return json.loads(text), arrays


def _digest(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over the JSON text and each array's name, type, shape and bytes, in the order of the names."""
    sha = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        sha.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        sha.update(array.reshape(-1).view(np.uint8).data)
    return sha.hexdigest()
