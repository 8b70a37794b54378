"""File with the metrics of a session, so that its plots continue when it is opened again.

One safetensors file: points (n, 2) float64 of each series, their strides, and a digest. A session may come from another
person, so sizes are checked before memory is allocated. A damaged file counts as empty: the session itself is intact.
"""

import logging
from pathlib import Path

import numpy as np

from core.errors import UserError
from core.io import tensor_file
from core.io.files import write_atomically
from core.metrics import CAPACITY, Metrics, Series
from core.types import require_count

log = logging.getLogger(__name__)
NAME = "metrics.safetensors"
_VERSION = 1
_MAX_SERIES = 512
_MAX_BYTES = _MAX_SERIES * (CAPACITY * 16 + 1024)
"""Largest size of the file. In a session with three predictors it has at most 1.3 MB."""


def save(folder: Path, metrics: Metrics) -> None:
    """Write the metrics into the session's folder; a failure is only logged."""
    series = metrics.series()
    values = {"version": _VERSION, "strides": {name: one.stride for name, one in series.items()}}
    content = tensor_file.as_file(values, {name: one.points() for name, one in series.items()})
    try:
        write_atomically(folder / NAME, content)
    except UserError as error:
        log.warning("The plots were not saved: %s", error)


def load(folder: Path, metrics: Metrics) -> None:
    """Load the file written by `save` into `metrics`; a damaged file is only logged."""
    path = folder / NAME
    try:
        values, arrays = tensor_file.read(path, _MAX_BYTES)
        if values["version"] != _VERSION:
            raise ValueError("another version of Somersault wrote it")
        if len(arrays) > _MAX_SERIES:
            raise ValueError("it has too many series")
        if any(points.dtype != np.float64 for points in arrays.values()):
            raise ValueError("its points are not float64")
        strides = values["strides"]
        metrics.set_series(
            {name: Series.from_points(points, require_count(strides[name])) for name, points in arrays.items()}
        )
    except FileNotFoundError:
        return
    except tensor_file.DAMAGE as error:
        log.warning("The plots in %s are damaged (%s), so they start again.", path.name, error)
