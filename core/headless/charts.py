"""Line charts as PNG files, drawn with OpenCV, which is there anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from core.io.files import write_atomically
from core.types import Float64

Canvas = npt.NDArray[np.uint8]
_WIDTH, _HEIGHT = 960, 600
_LEFT, _RIGHT, _TOP, _BOTTOM = 110, 30, 60, 70
_COLOURS = ((0, 120, 230), (190, 120, 20), (60, 150, 40), (160, 60, 150), (60, 60, 190), (120, 120, 120))
"""Blue, green, red: first the orange in which the paper draws the true reward."""
_INK, _GRID = (40, 40, 40), (225, 225, 225)
_TICKS = 5


@dataclass(frozen=True)
class Curve:
    """x, y and spread (k,); the spread is drawn as a band around y."""

    label: str
    x: Float64
    y: Float64
    spread: Float64


def draw(path: Path, title: str, curves: Sequence[Curve]) -> None:
    """Writes the curves with axes, ticks and a legend. Without curves the chart is empty but for its title.

    UserError where it can't be written.
    """
    canvas = np.full((_HEIGHT, _WIDTH, 3), 255, np.uint8)
    _write(canvas, title, (_LEFT, 36), 0.8)
    if curves:
        low, high = _range(curves)
        furthest = max(float(curve.x.max()) for curve in curves) or 1.0
        _axes(canvas, furthest, low, high)
        for index, curve in enumerate(curves):
            _line(canvas, curve, _COLOURS[index % len(_COLOURS)], furthest, low, high)
            _legend(canvas, index, curve.label)
    written, content = cv2.imencode(".png", canvas)
    assert written
    write_atomically(path, content.tobytes())


def _range(curves: Sequence[Curve]) -> tuple[float, float]:
    low = min(float((curve.y - curve.spread).min()) for curve in curves)
    high = max(float((curve.y + curve.spread).max()) for curve in curves)
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


def _place(x: Float64, y: Float64, furthest: float, low: float, high: float) -> npt.NDArray[np.int32]:
    """(k, 2) pixels."""
    across = _LEFT + x / furthest * (_WIDTH - _LEFT - _RIGHT)
    down = _HEIGHT - _BOTTOM - (y - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)
    return np.stack([across, down], axis=1).round().astype(np.int32)


def _line(canvas: Canvas, curve: Curve, colour: tuple[int, int, int], furthest: float, low: float, high: float) -> None:
    upper = _place(curve.x, curve.y + curve.spread, furthest, low, high)
    lower = _place(curve.x, curve.y - curve.spread, furthest, low, high)
    band = canvas.copy()
    cv2.fillPoly(band, [np.concatenate([upper, lower[::-1]])], colour)
    cv2.addWeighted(band, 0.15, canvas, 0.85, 0, canvas)
    points = _place(curve.x, curve.y, furthest, low, high)
    cv2.polylines(canvas, [points], False, colour, 2, cv2.LINE_AA)


def _axes(canvas: Canvas, furthest: float, low: float, high: float) -> None:
    for part in np.linspace(0, 1, _TICKS):
        x, y = part * furthest, low + part * (high - low)
        ((across, _),) = _place(np.array([x]), np.array([low]), furthest, low, high)
        ((_, down),) = _place(np.zeros(1), np.array([y]), furthest, low, high)
        cv2.line(canvas, (int(across), _TOP), (int(across), _HEIGHT - _BOTTOM), _GRID, 1)
        cv2.line(canvas, (_LEFT, int(down)), (_WIDTH - _RIGHT, int(down)), _GRID, 1)
        _write(canvas, f"{x:,.0f}", (int(across) - 30, _HEIGHT - _BOTTOM + 24))
        _write(canvas, f"{y:,.4g}", (12, int(down) + 5))
    cv2.rectangle(canvas, (_LEFT, _TOP), (_WIDTH - _RIGHT, _HEIGHT - _BOTTOM), _INK, 1)
    _write(canvas, "environment steps", (_WIDTH // 2 - 60, _HEIGHT - 14))
    _write(canvas, "true return", (12, _TOP - 14))


def _legend(canvas: Canvas, index: int, label: str) -> None:
    y = _TOP + 22 + 24 * index
    cv2.line(canvas, (_LEFT + 14, y - 5), (_LEFT + 44, y - 5), _COLOURS[index % len(_COLOURS)], 3, cv2.LINE_AA)
    _write(canvas, label, (_LEFT + 54, y))


def _write(canvas: Canvas, text: str, place: tuple[int, int], scale: float = 0.5) -> None:
    cv2.putText(canvas, text, place, cv2.FONT_HERSHEY_SIMPLEX, scale, _INK, 1, cv2.LINE_AA)
