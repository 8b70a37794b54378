"""The novelty bonus, and the duration of varied starts."""

from __future__ import annotations

import numpy as np
import pytest

from core.rollout.exploration import StartVariety, knn_entropy_bonus

VARIED = np.arange(40) >= 30


def predicted(best_varied: float, best_others: float, seed: int = 0) -> np.ndarray:
    """Return predictions (2, 5, 40) in which the best robots of each group have these values, and the rest 0."""
    rng = np.random.default_rng(seed)
    raw = 0.01 * rng.standard_normal((2, 5, 40))
    raw[..., 28:30] += best_others
    raw[..., 25:28] += best_others
    raw[..., 36:] += best_varied
    return raw.astype(np.float32)


@pytest.mark.parametrize(("varied", "others", "lasts"), [(2.0, 1.0, True), (1.0, 2.0, False)])
def test_varied_starts_continue_while_their_best_clips_have_higher_predictions(
    varied: float, others: float, lasts: bool
) -> None:
    variety = StartVariety()
    assert variety.shows_more(predicted(varied, others), VARIED)  # one batch decides nothing
    assert [variety.shows_more(predicted(varied, others, seed), VARIED) for seed in range(200)][-1] == lasts


def test_varied_starts_continue_without_a_group_for_comparison() -> None:
    variety = StartVariety()
    lead = variety.lead
    assert variety.shows_more(predicted(0.0, 9.0), np.zeros(40, np.bool_))
    assert variety.shows_more(predicted(0.0, 9.0), np.ones(40, np.bool_)) and variety.lead == lead


def test_the_bonus_is_the_distance_to_the_fifth_nearest_in_standard_deviations() -> None:
    seen = np.arange(12, dtype=np.float32).reshape(3, 4, 1) * 1000
    deviation = np.arange(12).std()
    expected = [max(sorted(abs(row - other) for other in range(12))[:5]) / deviation for row in range(12)]
    assert knn_entropy_bonus(seen).ravel() == pytest.approx(np.log1p(expected), rel=1e-5)


def test_an_observation_far_from_all_others_counts_as_ten_standard_deviations_away() -> None:
    """The other 199 of 200 numbers are 1 / sqrt(199) standard deviations below the mean, and this one 14.1 above it."""
    seen = np.zeros((1, 200, 1), np.float32)
    seen[0, 7] = 5
    assert knn_entropy_bonus(seen)[0, 7] == pytest.approx(np.log1p(10 + 1 / np.sqrt(199)), rel=1e-5)
