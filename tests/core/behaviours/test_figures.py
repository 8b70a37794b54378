"""Figures of behaviour files, computed over episodes: totals, shares and full turns."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from core.behaviours.figures import EpisodeFigures, compile_figure
from core.behaviours.signals import SignalNames
from core.errors import UserError
from tests.core.given_signals import Given

NAMES = SignalNames(joints=("rail",), geoms=("foot",), slides=("rail",))


def measured(text: str, wrapped: str = "", **signals: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the figure in two environments; the first one gets the first value of each pair. A step lasts 0.5 s.

    wrapped: the angle that is wrapped to one turn
    """
    counted = EpisodeFigures({"it": compile_figure(text, NAMES)}, 2, 0.5)
    for step in zip(*signals.values(), strict=True):
        given = Given(**dict(zip(signals, map(list, step), strict=True)))
        given.wrapped = frozenset({wrapped})
        counted.step(SimpleNamespace(signals=given))
    return counted.finish(0)["it"], counted.finish(1)["it"]


HEIGHTS = [(1.0, 0.0), (3.0, 0.0), (2.0, 5.0), (2.5, -1.0)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mean(height)", (2.125, 1.0)),
        ("share(height > 1.5)", (0.75, 0.25)),
        ("share((height > 1.5) * (height < 9))", (0.75, 0.25)),
        ("share(max(1 - (height > 1.5), height > 9))", (0.25, 0.75)),
        ("share((height > 2.2) + (height < 1.5))", (0.75, 1.0)),
        ("share(0.5 * (height > 1.5) ** 2)", (0.75, 0.25)),
        ("share(abs((height > 1.5) - (height > 2.2)))", (0.25, 0.0)),
        ("longest(height >= 2)", (1.5, 0.5)),
        ("last(height)", (2.5, -1.0)),
        ("highest(height) - lowest(height)", (2.0, 6.0)),
        ("count(height > 2)", (2.0, 1.0)),
        ("count(height < 3)", (1.0, 1.0)),  # a condition that holds from the start does not count as becoming true
        ("100 * share(height > 1.5) + max(1, mean(height) ** 2)", (75 + 2.125**2, 25 + 1.0)),
        ("1 / mean(0 * height)", (0.0, 0.0)),
        ("mean(exp(1000 * height))", (1e6, 250_000.5)),
    ],
)
def test_figures_are_computed_over_an_episode(text: str, expected: tuple[float, float]) -> None:
    assert measured(text, height=HEIGHTS) == pytest.approx(expected)


def circling(*turns: float) -> list[float]:
    """Return angles in 16 parts of each of these turns, from -pi to pi as for a free body."""
    ends = np.cumsum((0.0, *turns))
    path = np.concatenate([np.linspace(a, b, 16, endpoint=False) for a, b in zip(ends, ends[1:], strict=False)])
    angles: list[float] = ((np.append(path, ends[-1]) * 2 * np.pi + np.pi) % (2 * np.pi) - np.pi).tolist()
    return angles


@pytest.mark.parametrize(
    ("text", "turns", "counted"),
    [
        ("turns(pitch)", (2.0,), 2),
        ("turns(-pitch)", (2.0,), 0),
        ("turns(-pitch)", (-1.5, -1.5), 3),
        ("turns(pitch)", (1.25, -1.0, 0.7), 1),  # back and forth is not a second turn
        ("turns(pitch)", (1.25, -1.0, 0.8), 1),
        ("turns(pitch)", (1.25, -1.0, 1.75), 2),
        ("turns(pitch)", (0.99,), 0),
        ("turns(pitch - 0.5)", (2.0,), 2),
        ("turns(-pitch + 3)", (-1.5, -1.5), 3),
        ("turns(2 * pitch)", (3.2,), 6),
        ("turns(pitch / 2 + pitch / 2)", (2.0,), 2),
        ("turns(pitch / 2)", (3.2,), 1),
    ],
)
def test_full_turns_are_counted_for_wrapped_and_unwrapped_angles(
    text: str, turns: tuple[float, ...], counted: int
) -> None:
    jumping = circling(*turns)
    unwrapped = np.unwrap(jumping).tolist()
    assert measured(text, "pitch", pitch=list(zip(jumping, jumping, strict=True))) == (counted, counted)
    assert measured(text, pitch=list(zip(unwrapped, unwrapped, strict=True))) == (counted, counted)


def test_unwrapped_angles_count_steps_of_more_than_half_a_turn() -> None:
    angles = [number * 2 * np.pi * 1.2 for number in range(11)]
    assert measured("turns(pitch)", pitch=list(zip(angles, angles, strict=True))) == (12, 12)
    there_and_back = [0, 1, 2.9, 0.4, -2.9, -1, 1, 2.9, 2.9]  # angles of a joint with limits
    falling = [0, -3.3, -6.4, -6.4, -6.4, -6.4, -6.4, -6.4, -6.4]
    assert measured("turns(-pitch)", pitch=list(zip(falling, there_and_back, strict=True))) == (1, 0)
    assert measured("turns(pitch)", pitch=list(zip(falling, there_and_back, strict=True))) == (0, 0)


def test_turns_count_only_while_the_condition_holds() -> None:
    angles = np.unwrap(circling(1.0, 1.0, 1.0)).tolist()
    in_air = [float(16 < step <= 32) for step in range(len(angles))]
    both = {"pitch": list(zip(angles, angles, strict=True)), "airborne": [(one, 1.0) for one in in_air]}
    assert measured("turns(pitch, airborne)", **both) == (1, 3)


def test_figures_restart_with_each_episode_and_their_state_can_be_saved() -> None:
    texts = ["turns(yaw)", "mean(height)", "longest(height > 0)", "count(height > 0)", "highest(yaw)"]
    figures = {name: compile_figure(name, NAMES) for name in texts}

    def step(counted: EpisodeFigures, number: int) -> None:
        given = Given(yaw=[number * 2.0, number * 3.0], height=[number % 3, 1.0])
        counted.step(SimpleNamespace(signals=given))

    first, second = (EpisodeFigures(figures, 2, 1.0) for _ in range(2))
    for number in range(12):
        step(first, number)
    kept = {name: np.array(array) for name, array in first.get_state().items()}
    second.set_state(kept)
    whole = second.finish(1)
    assert list(whole.values()) == [5, 1, 12, 0, 33]
    for number in range(12):
        step(second, number)
    assert second.finish(1) == pytest.approx(whole)
    assert second.finish(0)["mean(height)"] == 1.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("height", "column 1: height has a value at each step: write mean(height)"),
        ("1 + height[foot]", "column 5: height[foot] has a value at each step: write mean(height[foot])"),
        ("mean(mean(height))", "column 6: mean needs a whole episode"),
        ("turns()", "turns takes 1 or 2 values, not 0"),
        ("mean[height]", "mean is a function: write mean(...)"),
        ("max(height)", "column 1: max compares values of one step: write highest(height)."),
        ("min(joint[knee] + 1)", "write lowest(joint[knee] + 1)."),
        ("average(height)", "did you mean mean?"),
        ("count(1 > 0)", "is the same in every episode"),
        ("men(height)", "there is no function men: did you mean mean?"),
        ("mean(heigth)", "column 6: there is no signal heigth: did you mean height?"),
        ("2 * pi", "the same in every episode"),
        ("share(height)", "column 7: height is a number, not a condition: compare it, as in height > 0.5."),
        ("longest(height[foot])", "height[foot] is a number, not a condition"),
        ("count(height - 1)", "compare it, as in height - 1 > 0.5."),
        ("turns(pitch, height)", "column 14: height is a number"),
        (
            "turns(pitch_rate)",
            "column 7: turns counts full turns of an angle in rad, roll, pitch, yaw or joint[NAME] of a hinge, not of",
        ),
        ("turns(joint[rail])", "joint[NAME] of a hinge, not of joint[rail]"),
        ("turns(yaw + joint[knee] + height[foot])", "column 27: turns counts full turns of an angle"),
        ("turns(pitch * yaw)", "of an angle in rad, roll, pitch, yaw or joint[NAME] of a hinge, not of pitch * yaw."),
        ("turns(1 / pitch)", ", not of 1 / pitch."),
        ("turns(pitch > 1)", ", not of pitch > 1."),
        ("turns(abs(joint[knee]) - pi)", ", not of abs(joint[knee])."),
        ("turns(heigth)", "there is no signal heigth: did you mean height?"),
        ("share(contact[foot] - airborne)", "contact[foot] - airborne is a number"),
        ("longest(up + airborne)", "up + airborne is a number"),
        ("count(vertical_speed * airborne)", "vertical_speed * airborne is a number"),
        ("-" * 250 + "mean(height)", "more than 200 nested operations"),
    ],
)
def test_a_wrong_figure_is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(UserError) as refused:
        compile_figure(text, NAMES, "measure")
    assert str(refused.value).startswith("measure") and words in str(refused.value)
