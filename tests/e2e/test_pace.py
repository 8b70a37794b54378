"""Sessions driven by a person's answers, independent of their pace and of the planned number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.events import PolicyPublished, PreferenceAdded
from core.preferences.schedule import steps_for_answers
from tests.core.builders import tiny
from tests.e2e.taught import Finished, Taught, Teach, choices, same

BATCH = 8 * 32
FIRST, ALL = 4, 14


def followed(labels: int = ALL, **changes: Any) -> dict[str, Any]:
    """Return the settings of a person's session: an answer per batch after the first ones, four batches after the last."""
    settings: dict[str, Any] = {
        "teacher": "person",
        "person__cant_tell": 0.0,
        "labels": labels,
        "query__schedule": "answers",
        "query__first_labels": FIRST,
        "rollout__steps_per_answer": BATCH,
        "rollout__finish_steps": 4 * BATCH,
        "reward__bonus": 1.0,
        "reward__novelty": 1.0,
        "reward__novelty_steps": 6 * BATCH,
        **changes,
    }
    return settings | {"steps": steps_for_answers(tiny(**settings))}


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("pace", "cores"), [(4.0, 2), (40.0, 1)])
def test_a_slow_and_a_fast_person_teach_the_same_on_one_core_and_on_two(
    teach: Teach, finished: Finished, pace: float, cores: int
) -> None:
    usual = finished(**followed())
    other = teach("other", threads=cores, **followed(person__pace=pace))
    other.finished()
    assert len(choices(usual)) == ALL
    assert choices(other) == choices(usual) and same(other, usual)


@pytest.mark.slow
def test_a_session_trains_independently_of_the_number_of_answers_to_come(finished: Finished) -> None:
    short, long = finished(**followed()), finished(**followed(labels=2 * ALL))
    assert len(choices(long)) == 2 * ALL
    assert choices(long)[:ALL] == choices(short)
    ended = _published_with_all(short)
    assert len(ended) > 5
    for one, other in zip(ended, _published_with_all(long), strict=True):
        assert one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def _published_with_all(taught: Taught) -> list[dict[str, np.ndarray]]:
    """Return the weights of each policy published until one batch after answer ALL."""
    answers, weights = 0, list[dict[str, np.ndarray]]()
    for event in taught.events:
        answers += isinstance(event, PreferenceAdded)
        if isinstance(event, PolicyPublished):
            weights.append(event.weights)
            if answers >= ALL:
                break
    return weights
