"""What the fit keeps: answers that come, that are withdrawn, that give way to later ones, and that are resumed with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from core.nn import threads as parallel
from core.reward.trainer import FitReport, RewardTrainer
from core.types import Choice, Preference
from tests.core.builders import preference, query, segment
from tests.core.toy import accuracy, copied, new_fit, reports, same, toy_preferences, train, weights


def inputs_of(preferences: list[Preference]) -> np.ndarray:
    sides = [s for p in preferences for s in (p.query.left, p.query.right)]
    return np.concatenate([np.concatenate([s.observations, s.actions], axis=1) for s in sides]).astype(np.float64)


def moments(fit: RewardTrainer) -> tuple[list[float], list[float]]:
    next(iter(fit.epochs(1)))
    return fit.ensemble.mean.tolist(), fit.ensemble.std.tolist()


def test_a_withdrawn_answer_is_forgotten() -> None:
    fits = [new_fit(), new_fit()]
    for fit, choice in zip(fits, (Choice.LEFT, Choice.RIGHT), strict=True):
        train(fit, [*toy_preferences(0, 5), preference(50, choice), *toy_preferences(5, 5)], 0)
        fit.remove(50)
        list(fit.epochs(3))
    assert fits[0].count == 10
    assert same(weights(fits[0]), weights(fits[1]))


def test_what_follows_a_withdrawn_answer_keeps_its_own_choice() -> None:
    fit = new_fit(holdout=0.0)
    train(fit, [preference(50, Choice.RIGHT), *toy_preferences(0, 150)], 0)
    fit.remove(50)
    list(fit.epochs(60))
    assert accuracy(fit, toy_preferences(0, 150)) > 0.9


def test_withdrawing_what_was_never_trained_on_is_no_matter() -> None:
    fit = new_fit()
    train(fit, toy_preferences(0, 3), 0)
    fit.remove(1234)
    assert fit.count == 3


def test_only_the_latest_3000_are_kept_where_the_task_asks_for_it() -> None:
    fit = new_fit(members=1, latest=3000)
    pair = query(0, segment(1, 1), segment(2, 1))
    train(fit, [preference(i, Choice.LEFT, pair) for i in range(1, 3002)], 0)
    assert fit.get_state()["ids"].tolist() == list(range(2, 3002))


def test_a_restored_fit_goes_on_exactly() -> None:
    answers = toy_preferences(0, 20)
    fit, restored = new_fit(), new_fit(seed=7)
    train(fit, answers, 3)
    state, rng = copied(fit), fit._rng.bit_generator.state
    list(fit.epochs(3))
    train(restored, answers, 0)
    restored.set_state(state)
    restored._rng.bit_generator.state = rng
    list(restored.epochs(3))
    assert same(weights(fit), weights(restored))
    assert same(copied(fit), copied(restored))


def test_a_restored_fit_takes_in_what_was_answered_or_withdrawn_since() -> None:
    fit, restored = new_fit(), new_fit(seed=7)
    train(fit, toy_preferences(0, 20), 2)
    state = copied(fit)
    train(restored, [*toy_preferences(0, 7), *toy_preferences(8, 16)], 0)  # without 7; with 20 to 23
    restored.set_state(state)
    assert restored.count == restored.resampling.size == 23
    assert restored.get_state()["ids"].tolist() == [*range(7), *range(8, 24)]
    assert same(weights(fit), weights(restored))
    assert np.isfinite(reports(restored, 1)[0].train_loss).all()


def test_new_answers_join_without_starting_over() -> None:
    fit = new_fit()
    trained = train(fit, toy_preferences(0, 100), 40)[-1]
    before = weights(fit)
    fit.add(toy_preferences(100, 1)[0])
    assert same(before, weights(fit))
    (next_epoch,) = reports(fit, 1)
    assert next_epoch.train_loss == pytest.approx(trained.train_loss, abs=0.1)
    assert (next_epoch.train_loss < 0.5).all()


def test_inputs_are_normalised_by_the_moments_of_all_that_is_fitted_to() -> None:
    fit, answers = new_fit(), toy_preferences(0, 70)
    train(fit, answers, 0)
    rows = inputs_of(answers)
    mean, std = moments(fit)
    assert mean == pytest.approx(rows.mean(0), abs=1e-6)
    assert std == pytest.approx(rows.std(0), rel=1e-6)


def test_an_input_that_never_moves_is_not_blown_up() -> None:
    fit = new_fit()
    still = preference(1, Choice.TIE, query(1, segment(1), segment(1)))
    still.query.left.observations[:, 4] = 7.0
    still.query.right.observations[:, 4] = 7.0
    train(fit, [still], 0)
    mean, std = moments(fit)
    assert (mean[4], std[4]) == (7.0, pytest.approx(1e-3))


def test_a_withdrawn_answer_leaves_nothing_in_the_moments() -> None:
    fit, never = new_fit(), new_fit()
    wild = preference(50, Choice.LEFT, query(50))
    wild.query.left.observations[:] *= 1e6
    train(fit, [*toy_preferences(0, 5), wild, *toy_preferences(5, 5)], 0)
    fit.remove(50)
    train(never, toy_preferences(0, 10), 0)
    assert moments(fit) == moments(never)


@pytest.mark.parametrize("latest", [0, 12])
def test_a_fit_restored_after_withdrawals_goes_on_exactly(latest: int) -> None:
    """latest=12: the first answers gave way to those that were withdrawn, and do not come back for it."""
    fit, restored = new_fit(latest=latest), new_fit(seed=7, latest=latest)
    answers = toy_preferences(0, 16)
    train(fit, answers, 2)
    for withdrawn in (15, 9):
        fit.remove(withdrawn)
    list(fit.epochs(1))
    state, rng = copied(fit), fit._rng.bit_generator.state
    standing = [p for p in answers if p.id not in (9, 15)]
    train(restored, standing, 0)
    restored.set_state(state)
    restored._rng.bit_generator.state = rng
    for each in (fit, restored):
        each.add(toy_preferences(20, 1)[0])
        list(each.epochs(3))
    assert same(copied(fit), copied(restored))
    expected = [p.id for p in standing if not latest or p.id >= 4] + [20]
    assert fit.get_state()["ids"].tolist() == expected


def test_an_answer_that_gave_way_comes_back_by_no_change() -> None:
    fit, restored = new_fit(latest=4), new_fit(seed=7, latest=4)
    answers = toy_preferences(0, 8)
    train(fit, answers, 1)
    for withdrawn in (7, 6):
        fit.remove(withdrawn)
    fit.add(preference(1, Choice.TIE, answers[1].query))
    assert fit.ids == (4, 5)
    train(restored, answers[:6], 0)
    restored.set_state(copied(fit))
    assert restored.ids == (4, 5)
    restored.add(preference(3, Choice.TIE, answers[3].query))
    assert restored.ids == (4, 5)


def test_what_gave_way_to_the_latest_3000_is_not_in_the_moments() -> None:
    fit, pair = new_fit(members=1, latest=3000), query(0, segment(1, 1), segment(2, 1))
    wild = preference(1, Choice.LEFT, query(50, segment(50, 1), segment(51, 1)))
    wild.query.left.observations[:] *= 1e6
    train(fit, [wild], 0)
    for number in range(2, 3001):
        fit.add(preference(number, Choice.LEFT, pair))
    assert fit.count == 3000 and max(moments(fit)[1]) > 100
    fit.add(preference(3001, Choice.LEFT, pair))
    assert fit.count == 3000 and max(moments(fit)[1]) < 10


def test_answers_join_a_fit_that_is_under_way() -> None:
    fit = new_fit(minibatch=1000)
    train(fit, toy_preferences(0, 200), 0)
    running = fit.epochs(3)
    to_report(running)
    before, drawn = copied(fit), fit.resampling.counts.copy()
    fit.add(toy_preferences(200, 1)[0])
    joined = copied(fit)
    kept = [name for name in before if name.startswith(("adam", "ensemble", "l2"))]
    assert len(kept) > 10 and all((before[name] == joined[name]).all() for name in kept)
    assert (np.abs(fit.resampling.counts[:, :200] - drawn).sum(1) < 20).all()
    to_report(running)
    steps = [int(array) for name, array in fit.get_state().items() if name.endswith("_step")]
    assert set(steps) == {2}  # one minibatch an epoch: the optimizer goes on counting
    assert fit.count == fit.resampling.size == 201


def to_report(running: Iterator[FitReport | None]) -> None:
    while next(running) is None:
        pass


def test_answers_given_or_withdrawn_during_an_epoch_join_the_next() -> None:
    fit = new_fit()
    train(fit, toy_preferences(0, 100), 1)
    running = fit.epochs(2)
    assert next(running) is None  # between two gradient steps
    fit.add(toy_preferences(100, 1)[0])
    fit.remove(7)
    assert fit.get_state()["ids"].tolist() == [*range(100)]
    to_report(running)
    assert next(running) is None
    assert fit.get_state()["ids"].tolist() == [*range(7), *range(8, 101)]
    to_report(running)


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_the_figures_do_not_depend_on_the_threads(dropout: float) -> None:
    results = []
    for threads in (1, 2):
        parallel.set_num_threads(threads)
        try:
            fit = new_fit(dropout=dropout)
            train(fit, toy_preferences(0, 100), 3)
            results.append(weights(fit))
        finally:
            parallel.set_num_threads(1)
    assert same(*results)


def test_an_answer_given_and_taken_back_during_an_epoch_is_not_trained_on() -> None:
    fit = new_fit()
    train(fit, toy_preferences(0, 100), 1)
    running = fit.epochs(1)
    assert next(running) is None
    fit.add(toy_preferences(100, 1)[0])
    to_report(running)
    fit.remove(100)
    assert list(running) == []
    assert fit.get_state()["ids"].tolist() == [*range(100)]


def test_taking_back_the_only_answer_ends_the_round() -> None:
    fit = new_fit()
    fit.add(toy_preferences(0, 1)[0])
    running = fit.epochs(100)
    next(running)
    fit.remove(0)
    assert sum(report is not None for report in running) == 1
    assert fit.count == 0


def test_a_changed_answer_is_as_if_it_had_been_given_so() -> None:
    changed, never = new_fit(), new_fit()
    answers = toy_preferences(0, 12)
    other = preference(5, Choice.TIE, answers[5].query)
    train(changed, answers, 0)
    changed.add(other)
    train(never, [*answers[:5], other, *answers[6:]], 0)
    for fit in (changed, never):
        list(fit.epochs(3))
    assert changed.count == 12
    assert same(copied(changed), copied(never))


def test_a_change_starts_nothing_over() -> None:
    fit = new_fit()
    answers = toy_preferences(0, 50)
    train(fit, answers, 5)
    before = copied(fit)
    fit.add(preference(7, Choice.TIE, answers[7].query))
    after = copied(fit)
    assert [name for name in before if not np.array_equal(before[name], after[name])] == ["mu"]
    assert np.flatnonzero(before["mu"] != after["mu"]).tolist() == [7]
    assert after["mu"][7] == 0.5


def test_a_change_to_and_from_cant_tell_leaves_and_joins_in_its_place() -> None:
    fit = new_fit()
    answers = toy_preferences(0, 9)
    train(fit, answers, 1)
    fit.add(preference(4, Choice.CANT_TELL, answers[4].query))
    assert fit.ids == (0, 1, 2, 3, 5, 6, 7, 8) and fit.resampling.size == 8
    list(fit.epochs(1))
    fit.add(answers[4])
    assert fit.ids == tuple(range(9)) and fit.resampling.counts.sum(1).tolist() == [9] * 3
    never = new_fit()
    for answer in answers:
        never.add(answer)
    assert fit.preference_probabilities(range(9), fit.ensemble) == never.preference_probabilities(
        range(9), fit.ensemble
    )
    list(fit.epochs(1))


def test_a_change_during_an_epoch_joins_the_next() -> None:
    fit = new_fit()
    answers = toy_preferences(0, 100)
    train(fit, answers, 1)
    running = fit.epochs(2)
    assert next(running) is None
    fit.add(preference(7, Choice.TIE, answers[7].query))
    fit.add(preference(8, Choice.CANT_TELL, answers[8].query))
    assert fit.get_state()["mu"][7] != 0.5 and 8 in fit.ids
    to_report(running)
    assert next(running) is None
    assert fit.get_state()["mu"][7] == 0.5 and 8 not in fit.ids
    to_report(running)


@pytest.mark.parametrize("latest", [0, 12])
def test_a_fit_restored_after_changes_goes_on_exactly(latest: int) -> None:
    fit, restored = new_fit(latest=latest), new_fit(seed=7, latest=latest)
    answers = toy_preferences(0, 16)
    answers[6] = preference(6, Choice.CANT_TELL, answers[6].query)
    train(fit, answers, 2)
    changes = [preference(6, Choice.LEFT, answers[6].query), preference(9, Choice.TIE, answers[9].query)]
    for change in changes:
        fit.add(change)
    list(fit.epochs(1))
    state, rng = copied(fit), fit._rng.bit_generator.state
    assert not latest or fit.ids == tuple(range(4, 16))
    train(restored, [{p.id: p for p in changes}.get(p.id, p) for p in answers], 0)
    assert restored.ids == fit.ids
    restored.set_state(state)
    assert restored.knows_all_of(state)
    restored._rng.bit_generator.state = rng
    for each in (fit, restored):
        list(each.epochs(3))
    assert same(copied(fit), copied(restored))


def test_a_fit_restored_from_before_a_change_knows_that_it_is_behind() -> None:
    fit, restored = new_fit(), new_fit(seed=7)
    answers = toy_preferences(0, 10)
    answers[3] = preference(3, Choice.CANT_TELL, answers[3].query)
    train(fit, answers, 2)
    state = copied(fit)
    now = [preference(p.id, Choice.RIGHT, p.query) if p.id == 3 else p for p in answers]
    train(restored, now, 0)
    restored.set_state(state)
    assert restored.ids == tuple(range(10)) and restored.resampling.size == 10
    assert not restored.knows_all_of(state)
    assert (restored.resampling._keys[:, [0, 1, 2, 4, 5]] == state["resampling_keys"][:, :5]).all()
    only_flipped = new_fit(seed=8)
    train(only_flipped, [preference(0, Choice.TIE, answers[0].query), *answers[1:]], 0)
    only_flipped.set_state(state)
    assert not only_flipped.knows_all_of(state)
