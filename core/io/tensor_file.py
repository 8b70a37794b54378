"""Arrays and JSON values as one safetensors file, with a digest of all of it: a flipped bit must not go unnoticed.

No pickle: a file may come from another person, and nothing in it may run.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

DAMAGE = (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading a damaged file, or making sense of its values, may raise."""
_TYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    **{f"{kind[0].upper()}{bits}": np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"F{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
}
"""By what safetensors calls them."""
_MAX_HEADER = 16 << 20
"""Bytes of names and JSON values. Real ones have some 100 kB; a liar's would fill the memory."""


def as_file(values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The file's content; `values` as JSON."""
    text = json.dumps(values)
    whole = {name: _contiguous(array) for name, array in arrays.items()}
    return save(whole, metadata={"somersault": text, "digest": _digest(text, whole)})


def read(path: Path, max_size: int) -> tuple[dict[str, Any], dict[str, np.ndarray], bool]:
    """Values, arrays, and whether the digest is theirs. One of DAMAGE where it can't be read at all."""
    _check_sizes(path, max_size)
    with safe_open(path, framework="numpy") as file:  # which checks that shapes and places fit each other and the file
        metadata = file.metadata() or {}
    text = metadata["somersault"]
    arrays = _arrays(path)
    return json.loads(text), arrays, metadata.get("digest") == _digest(text, arrays)


def load(path: Path, max_size: int) -> dict[str, np.ndarray]:
    """The arrays of any safetensors file. One of DAMAGE where it can't be read at all."""
    _check_sizes(path, max_size)
    with safe_open(path, framework="numpy"):
        return _arrays(path)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Each read straight into its place: safe_open would map the file beside them, and hold all of it twice."""
    arrays = {}
    with open(path, "rb") as file:
        start = 8 + int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(start - 8))
        for name in header.keys() - {"__metadata__"}:
            entry = header[name]
            file.seek(start + entry["data_offsets"][0])
            flat = np.fromfile(file, _TYPES[entry["dtype"]], math.prod(entry["shape"]))
            arrays[name] = flat.reshape(entry["shape"])
    return arrays


def _contiguous(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array) if array.ndim else array.reshape(())


def _digest(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Of the JSON and of each array with its name, type and shape."""
    sha = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        sha.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        sha.update(array.reshape(-1).view(np.uint8).data)
    return sha.hexdigest()


def _check_sizes(path: Path, max_size: int) -> None:
    """Before any memory is taken for what the file claims to hold."""
    with open(path, "rb") as file:
        require_believable(path.stat().st_size, file.read(8), max_size)


def require_believable(size: int, start: bytes, max_size: int) -> None:
    """ValueError where a file of so many bytes, that starts so, would not be read.

    start: its first eight bytes, or more
    """
    header = int.from_bytes(start[:8], "little")
    if size > max_size or header > min(_MAX_HEADER, size - 8):
        raise ValueError("its size is not believable")
