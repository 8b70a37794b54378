"""The summary of a session, the small file behind the list of sessions."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from core.errors import UserError
from core.session import summary
from core.session.summary import Summary, better

SUMMARY = Summary("reacher", "human", 12, 34_000, "Distance to the target (m)", 0.25, 1.7e9)


@pytest.mark.parametrize("best", [0.25, None])
def test_a_summary_is_read_unchanged(tmp_path: Path, best: float | None) -> None:
    written = replace(SUMMARY, best=best)
    summary.write(tmp_path, written)
    assert summary.read(tmp_path) == written


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b"[" * 20_000,
        b" " * (1 << 17),
        json.dumps({**asdict(SUMMARY), "labels": True}).encode(),
        json.dumps({**asdict(SUMMARY), "used_at": float("nan")}).encode(),
        json.dumps({**asdict(SUMMARY), "used_at": 10**400}).encode(),
        json.dumps({**asdict(SUMMARY), "task": None}).encode(),
    ],
)
def test_a_file_that_is_no_summary_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / summary.NAME).write_bytes(content)
    with pytest.raises(UserError, match="can't be read"):
        summary.read(tmp_path)


@pytest.mark.parametrize(
    ("figure", "best", "expected"),
    [
        (3.0, None, 3.0),
        (3.0, 2.0, 3.0),
        (1.0, 2.0, 2.0),
        (float("nan"), 2.0, 2.0),
        (float("inf"), None, None),
    ],
)
def test_the_better_of_two_figures_is_kept(figure: float, best: float | None, expected: float | None) -> None:
    assert better(figure, best) == expected


def test_the_best_figure_falls_only_if_training_has_returned_to_an_earlier_policy(tmp_path: Path) -> None:
    summary.write(tmp_path, SUMMARY)
    for may_fall, expected in ((False, 0.25), (True, 0.1)):
        summary.renew(tmp_path, replace(SUMMARY, best=0.1), may_fall)
        assert (now := summary.read(tmp_path)) is not None and now.best == expected


@pytest.mark.parametrize(
    ("title", "figure", "expected"),
    [
        (SUMMARY.measure_title, 0.1, 0.25),
        (SUMMARY.measure_title, None, 0.25),
        ("Share", 0.1, 0.1),
        ("Share", None, None),
    ],
)
def test_the_best_of_another_measure_is_left_out(
    tmp_path: Path, title: str, figure: float | None, expected: float | None
) -> None:
    summary.write(tmp_path, SUMMARY)
    summary.renew(tmp_path, replace(SUMMARY, measure_title=title, best=figure))
    assert (now := summary.read(tmp_path)) is not None and now.best == expected
