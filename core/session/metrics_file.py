"""The metrics of a session on disk, so that its curves go on when it is opened again.

One file: points (n, 2) for each series, their strides, and a digest of all of it. A session may come from another
person, so sizes are checked before memory is taken, and what is not whole counts as nothing: curves are no reason to
refuse a session.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import UserError
from core.events import require_count
from core.io import files as disk
from core.io import tensor_file as files
from core.metrics import CAPACITY, Metrics, Series

log = logging.getLogger(__name__)
NAME = "metrics.safetensors"
_VERSION = 1
_MAX_SERIES, _MAX_NAME = 512, 100
_MAX_SIZE = _MAX_SERIES * (CAPACITY * 16 + 1024)
"""Bytes; a session with three predictors has at most 1.3 MB."""


def keep(folder: Path, metrics: Metrics) -> None:
    """Writes them into the session's folder. What can't be written is logged: the session itself is not in danger."""
    named = [(name, one) for name, one in metrics.series().items() if len(name) <= _MAX_NAME][:_MAX_SERIES]
    strides = {name: one.stride for name, one in named}
    content = files.as_file({"version": _VERSION, "strides": strides}, {name: one.points() for name, one in named})
    try:
        disk.write_atomically(folder / NAME, content)
    except UserError as error:
        log.warning("The curves were not kept: %s", error)


def restore(folder: Path, metrics: Metrics) -> None:
    """Reads back what `keep` wrote; a file that is damaged is left alone, and one sentence about it logged."""
    path = folder / NAME
    try:
        metrics.set_series(_series(path))
    except FileNotFoundError:
        return
    except files.DAMAGE as error:
        log.warning("The curves in %s are damaged (%s), so they start anew.", path.name, error)


def _series(path: Path) -> dict[str, Series]:
    values, arrays, sealed = files.read(path, _MAX_SIZE)
    if not sealed:
        raise ValueError("its digest does not match")
    if values["version"] != _VERSION:
        raise ValueError("another version of Somersault wrote it")
    if len(arrays) > _MAX_SERIES:
        raise ValueError("it has too many series")
    return {name: _one(array, values["strides"][name]) for name, array in arrays.items()}


def _one(array: np.ndarray, stride: Any) -> Series:
    if array.dtype != np.float64:
        raise ValueError("its points are not numbers in double precision")
    return Series.from_points(array, require_count(stride))
