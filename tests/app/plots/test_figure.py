"""Figures of plots: curves of many points, which are drawn in pieces."""

import numpy as np
import numpy.typing as npt
import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QImage

from app.plots.figure import Line, PlotFigure


def pixels(points: int, dashed: bool) -> npt.NDArray[np.int64]:
    """Return the picture of a straight curve with this number of points."""
    x = np.linspace(0, 100, points)
    line = Line("return", x, x / 7, "#d1242f", dashed)
    figure = PlotFigure("Return", "hopper", "environment steps", "return", "", (line,), (0, 100), str)
    image = QImage.fromData(figure.as_png()).convertToFormat(QImage.Format.Format_RGB888)
    return np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1).astype(np.int64)


@pytest.mark.parametrize("dashed", [False, True])
def test_a_curve_looks_the_same_with_many_points(dashed: bool, qapp: QObject) -> None:
    few, many = pixels(2, dashed), pixels(201, dashed)
    assert np.abs(few - many).max() < 64  # edges where two pieces overlap are a little darker
    assert few.min() < 64
