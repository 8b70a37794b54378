"""Division of rows into minibatches."""

from __future__ import annotations

import pytest

from core.nn.minibatches import minibatches


@pytest.mark.parametrize(
    ("count", "size", "parts"),
    [
        (12_288, 2048, [2048] * 6),
        (4128, 2048, [2064, 2064]),  # without a third part of 32
        (100, 64, [50, 50]),
        (65, 64, [65]),
        (1, 64, [1]),
        (10, 3, [2, 3, 2, 3]),
        (26, 8, [6, 7, 6, 7]),
    ],
)
def test_minibatches_have_similar_sizes_and_hold_every_row_once(count: int, size: int, parts: list[int]) -> None:
    rows = [list(range(count))[part] for part in minibatches(count, size)]
    assert [len(part) for part in rows] == parts and sum(rows, []) == list(range(count))
