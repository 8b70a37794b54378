"""The metrics of a session on disk, so that its curves go on when it is opened again.

One safetensors file: points (n, 2) for each series, and in its metadata their strides and a digest of all of it, as
checkpoints have it. A session may come from another person, so every size is checked before memory is taken, and what
is not whole counts as nothing: curves are no reason to refuse a session.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as arrays_in
from safetensors.numpy import save as packed

from core import disk
from core.checkpoint import digest
from core.errors import UserError
from core.metrics import CAPACITY, Metrics, Series

log = logging.getLogger(__name__)
NAME = "metrics.safetensors"
_VERSION = 1
_MAX_SERIES, _MAX_NAME = 512, 100
_MAX_HEADER = 1 << 20
_MAX_SIZE = _MAX_HEADER + _MAX_SERIES * CAPACITY * 16
"""Bytes; a session with three predictors has at most 1.3 MB."""
_DAMAGE = (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)


def keep(folder: Path, metrics: Metrics) -> None:
    """Writes them into the session's folder. What can't be written is logged: the session itself is not in danger."""
    series = {name: one for name, one in metrics.series().items() if len(name) <= _MAX_NAME}
    arrays = {name: one.points() for name, one in list(series.items())[:_MAX_SERIES]}
    strides = {name: series[name].stride for name in arrays}
    text = json.dumps({"version": _VERSION, "strides": strides})
    content = packed(arrays, metadata={"somersault": text, "digest": digest(text, arrays)})
    try:
        disk.write_atomically(folder / NAME, content)
    except UserError as error:
        log.warning("The curves were not kept: %s", error)


def restore(folder: Path, metrics: Metrics) -> None:
    """Reads back what `keep` wrote; a file that is damaged is left alone, and one sentence about it logged."""
    path = folder / NAME
    try:
        metrics.take(_series(disk.read_small(path, _MAX_SIZE)))
    except FileNotFoundError:
        return
    except _DAMAGE as error:
        log.warning("The curves in %s are damaged (%s), so they start anew.", path.name, error)


def _series(content: bytes) -> dict[str, Series]:
    header = int.from_bytes(content[:8], "little")
    if header > min(_MAX_HEADER, len(content) - 8):
        raise ValueError("its size is not believable")
    metadata = json.loads(content[8 : 8 + header])["__metadata__"]
    arrays = arrays_in(content)
    text = metadata["somersault"]
    if metadata["digest"] != digest(text, arrays):
        raise ValueError("its digest does not match")
    meta = json.loads(text)
    if meta["version"] != _VERSION:
        raise ValueError("another version of Somersault wrote it")
    if len(arrays) > _MAX_SERIES:
        raise ValueError("it has too many series")
    return {name: _one(array, meta["strides"][name]) for name, array in arrays.items()}


def _one(array: np.ndarray, stride: Any) -> Series:
    if array.dtype != np.float64:
        raise ValueError("its points are not numbers in double precision")
    return Series.of(array, disk.whole(stride))
