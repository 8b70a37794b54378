"""The oracle of the paper (3.1), and the erring teachers of B-Pref (Lee et al., 2021)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from core.config import Config, OracleConfig, replaced
from core.errors import NotFiniteError, UserError
from core.preferences import oracle, person
from core.types import Answer, Choice, PoolReturns, Query
from tests.core.builders import query, segment

POOL = PoolReturns(worst=-10.0, mean=10.0)


def asked(left: list[float], right: list[float], numbers: tuple[int, int] = (1, 2), id: int = 1) -> Query:
    pair = segment(numbers[0], len(left), left), segment(numbers[1], len(right), right)
    return Query(id, *pair, 0.5, POOL)


def judged(left: list[float], right: list[float], numbers: tuple[int, int] = (1, 2), **options: Any) -> Choice:
    return oracle.answer(asked(left, right, numbers), erring(**options)).choice


def erring(seed: int = 0, **options: Any) -> Config:
    return replaced(Config(), seed=seed, **{f"oracle__{name}": value for name, value in options.items()})


def share(choice: Choice, left: list[float], right: list[float], **options: Any) -> float:
    """Return the share of this choice among the oracle's answers to a thousand queries."""
    config = erring(**options)
    return sum(oracle.answer(asked(left, right, id=i), config).choice is choice for i in range(1000)) / 1000


@pytest.mark.parametrize(
    ("left", "right", "choice"),
    [
        ([1, 1, 1], [0, 0, 2.9], Choice.LEFT),
        ([0, 0, 0], [-5, 0, 5.5], Choice.RIGHT),
        ([1, 2, 3], [3, 1, 2], Choice.TIE),
        ([-1, -1, -1], [-3, 0, -1], Choice.LEFT),
    ],
)
def test_the_larger_sum_of_true_reward_wins(left: list[float], right: list[float], choice: Choice) -> None:
    assert judged(left, right) is choice


def test_only_the_true_reward_counts() -> None:
    """The segments have different observations, actions and states, and the same rewards."""
    answers = {judged([1, 0, 0], [0, 0.5, 0], (a, b)) for a in range(5) for b in range(20, 25)}
    assert answers == {Choice.LEFT}


def test_rewards_that_are_nan_are_not_judged() -> None:
    with pytest.raises(NotFiniteError, match="the true reward"):
        judged([math.inf, 1], [math.inf, 2])


def test_without_a_true_reward_there_is_no_oracle() -> None:
    with pytest.raises(UserError, match="no oracle can answer"):
        oracle.answer(query(1, segment(1), segment(2)), Config())


def test_a_share_of_the_choices_is_mistaken() -> None:
    assert share(Choice.RIGHT, [1, 0], [0, 0], mistakes=0.2) == pytest.approx(0.2, abs=0.04)
    assert share(Choice.LEFT, [1, 0], [0, 0], mistakes=1.0) == 0


@pytest.mark.parametrize("difference", [-2.0, 0.5, 1.0])
def test_beta_makes_it_choose_by_the_boltzmann_distribution(difference: float) -> None:
    expected = 1 / (1 + math.exp(-1.5 * difference))
    assert share(Choice.LEFT, [difference, 0], [0, 0], beta=1.5) == pytest.approx(expected, abs=0.05)


def test_the_oracle_cannot_tell_if_both_returns_are_low() -> None:
    """The limit is at -10 + .25 * 20 = -5."""
    assert judged([-5.5, 0], [-9, 0], skip=0.25) is Choice.CANT_TELL
    assert judged([-4.5, 0], [-9, 0], skip=0.25) is Choice.LEFT
    assert judged([-9, 0], [-5, 0], skip=0.25) is Choice.RIGHT  # the return is not below the limit
    assert judged([-5.5, 0], [-9, 0]) is Choice.LEFT


def test_returns_nearer_than_the_limit_are_a_tie() -> None:
    """The limit is .1 * 20 = 2."""
    assert judged([3, 0], [1.5, 0], equal=0.1) is Choice.TIE
    assert judged([1.5, 0], [3, 0], equal=0.1) is Choice.TIE
    assert judged([3.5, 0], [1.5, 0], equal=0.1) is Choice.LEFT
    assert judged([3, 0], [1.5, 0]) is Choice.LEFT


def test_with_a_worst_return_of_0_the_limits_are_shares_of_the_mean() -> None:
    rewards: list[list[float]] = [[0, 0], [0.5, 0.5], [2, 3]]
    pool = oracle.pool_returns([segment(i, 2, r) for i, r in enumerate(rewards)], OracleConfig(skip=0.1))
    assert pool == PoolReturns(0.0, 2.0)


@pytest.mark.parametrize("shift", [0.0, -1000.0, 1000.0])
def test_the_limits_scale_and_shift_with_the_reward(shift: float) -> None:
    """A constant added to each step, or a different unit, changes no answer."""

    def choices(scale: float) -> list[Choice]:
        rewards = [[scale * (i * i % 7 + shift), scale * (i + shift)] for i in range(9)]
        segments = [segment(i, 2, r) for i, r in enumerate(rewards)]
        config = erring(skip=0.7, equal=0.3)
        pool = oracle.pool_returns(segments, config.oracle)
        pairs = [Query(1, a, b, 0.0, pool) for a in segments for b in segments]
        return [oracle.answer(pair, config).choice for pair in pairs]

    assert choices(1.0) == choices(8.0)
    assert set(choices(1.0)) == set(Choice)


def test_a_myopic_oracle_weights_the_end() -> None:
    early, late = [4.0, 0.0, 0.0], [0.0, 0.0, 1.5]
    assert judged(early, late) is Choice.LEFT
    assert judged(early, late, myopia=0.62) is Choice.LEFT  # 4 * .62^2 = 1.54
    assert judged(early, late, myopia=0.61) is Choice.RIGHT  # 1.49
    assert judged(early, [0.0, 5.0, 0.0], myopia=0.0) is Choice.TIE  # only the last step counts


def test_errors_depend_on_the_seed_and_the_query_alone() -> None:
    def errors(seed: int, ids: range) -> dict[int, Choice]:
        config = erring(seed, mistakes=0.5)
        return {i: oracle.answer(asked([1, 0], [0, 0], id=i), config).choice for i in ids}

    assert errors(1, range(40)) == errors(1, range(39, -1, -1)) != errors(2, range(40))


def test_returns_are_given_for_the_target_ablation_alone() -> None:
    pair = asked([1, 0.5], [0, -2.0])
    assert oracle.answer(pair, Config()) == Answer(Choice.LEFT, None)
    assert oracle.answer(pair, replaced(Config(), reward__target="returns")) == Answer(Choice.LEFT, (1.5, -2.0))


RANDOM_POOL = [segment(number, 1, [float(number**2)]) for number in range(100)]


def simulated(seed: int = 0, **settings: float) -> Config:
    none = {"wrong": 0.0, "ties": 0.0, "cant_tell": 0.0}
    return replaced(Config(), seed=seed, teacher="person", **{f"person__{k}": v for k, v in (none | settings).items()})


def persons_choices(pairs: list[tuple[int, int]], **settings: float) -> list[Choice]:
    """Return the choices about pairs of segments of the pool."""
    pool, config = person.pool_returns(RANDOM_POOL), simulated(**settings)
    queries = (Query(i, RANDOM_POOL[a], RANDOM_POOL[b], 0.5, pool) for i, (a, b) in enumerate(pairs))
    return [person.answer(asked_of_person, config).choice for asked_of_person in queries]


ALL_PAIRS = [(a, b) for a in range(100) for b in range(a)]


@pytest.mark.slow_after_first
@pytest.mark.parametrize("wrong", [0.0, 0.15, 0.3])
def test_a_person_errs_more_often_about_asked_and_similar_pairs_than_about_random_ones(
    wrong: float,
) -> None:
    mistaken = [choice is not Choice.LEFT for choice in persons_choices(ALL_PAIRS, wrong=wrong)]
    assert sum(mistaken) / len(mistaken) == pytest.approx(0.8 * wrong, abs=0.02)  # asked pairs are more similar
    near = [m for m, (a, b) in zip(mistaken, ALL_PAIRS, strict=True) if a**2 - b**2 < 100]
    assert sum(near) / len(near) > 1.3 * wrong or not wrong


def test_a_person_answers_tie_and_cant_tell_with_their_configured_shares() -> None:
    choices = persons_choices(ALL_PAIRS, ties=0.1, cant_tell=0.05)
    assert choices.count(Choice.TIE) / len(choices) == pytest.approx(0.1 * 0.95, abs=0.02)
    assert choices.count(Choice.CANT_TELL) / len(choices) == pytest.approx(0.05, abs=0.01)


def test_a_persons_share_of_ties_holds_when_most_returns_are_equal() -> None:
    returns = [0.0] * 90 + [1.0 + i for i in range(10)]
    segments = [segment(i, 2, [value, 0.0]) for i, value in enumerate(returns)]
    pool, config = person.pool_returns(segments), simulated(ties=0.1)
    pairs = [Query(i, segments[a], segments[b], 0.5, pool) for i, (a, b) in enumerate(ALL_PAIRS)]
    ties = [person.answer(pair, config).choice is Choice.TIE for pair in pairs]
    assert sum(ties) / len(ties) == pytest.approx(0.1, abs=0.02)


def test_a_person_guesses_between_equal_segments_reproducibly() -> None:
    choices = persons_choices([(7, 7)] * 400, wrong=0.15)
    assert 150 < choices.count(Choice.LEFT) < 250
    assert choices == persons_choices([(7, 7)] * 400, wrong=0.15)


def test_a_person_needs_finite_true_rewards() -> None:
    with pytest.raises(NotFiniteError, match="person: the true reward"):
        person.answer(asked([math.nan], [1.0]), simulated())
    with pytest.raises(UserError, match="no true reward"):
        person.answer(query(0), simulated())
