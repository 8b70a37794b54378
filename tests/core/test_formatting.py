"""Numbers in texts for users."""

from __future__ import annotations

import json
import math

import pytest

from core.formatting import format_duration, format_number, format_result, format_steps


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(0.0, "0.0"), (0.418, "0.42"), (5.31, "5.3"), (-2.0, "-2.0"), (1204.4, "1,204"), (float("nan"), "–")],
        *[(-0.003, "0.0"), (0.997, "1.0"), (-0.4, "-0.40")],
    ],
)
def test_a_number_has_two_digits_and_groups_of_three(value: float, text: str) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 seconds"), (1, "1 second"), (89, "89 seconds"), (90, "2 minutes"), (9000, "2.5 hours")]
)
def test_a_duration_is_in_the_unit_that_reads_best(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        (1, "1 step"),
        (999, "999 steps"),
        (98_300, "98.3k steps"),
        (999_499, "999k steps"),
        (999_500, "1M steps"),
        (999_499_999, "999M steps"),
        (999_500_000, "1G steps"),
        (1_234_000_000, "1.23G steps"),
    ],
)
def test_steps_have_three_digits_and_a_unit(steps: int, text: str) -> None:
    assert format_steps(steps) == text


def test_an_unknown_figure_is_a_dash_or_null() -> None:
    result = {"task": "mine", "true_return": math.nan, "measure": {"height": 1.5, "turns": math.nan}}
    lines = format_result(result, as_json=False).splitlines()
    assert [line.split()[-1] for line in lines] == ["mine", "–", "1.5", "–"]
    assert json.loads(format_result(result, as_json=True))["measure"] == {"height": 1.5, "turns": None}
