"""Preferences that are added, changed, withdrawn, evicted or restored while the ensemble is trained."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from core.nn.threads import set_num_threads
from core.reward.trainer import EpochReport, RewardTrainer
from core.types import Choice, Preference
from tests.core.builders import preference, query, segment
from tests.core.reward_toys import accuracy, new_trainer, same, saved_state, toy_preferences, train, weights


@pytest.fixture(autouse=True)
def one_thread_afterwards() -> Iterator[None]:
    yield
    set_num_threads(1)


def to_report(running: Iterator[EpochReport | None]) -> None:
    while next(running) is None:
        pass


def moments(trainer: RewardTrainer) -> tuple[list[float], list[float]]:
    """Mean and standard deviation that normalize the inputs."""
    next(trainer.epochs(1))
    return trainer.ensemble.mean.tolist(), trainer.ensemble.std.tolist()


def wild(number: int) -> Preference:
    """With enormous observations."""
    answer = preference(number, Choice.LEFT, query(50, segment(50), segment(51)))
    answer.query.left.observations[:] *= 1e6
    return answer


def test_inputs_are_normalized_by_the_moments_of_all_segments() -> None:
    trainer, answers = new_trainer(), toy_preferences(0, 70)
    train(trainer, answers, 0)
    sides = [s for p in answers for s in (p.query.left, p.query.right)]
    rows = np.concatenate([np.concatenate([s.observations, s.actions], axis=1) for s in sides]).astype(np.float64)
    mean, std = moments(trainer)
    assert mean == pytest.approx(rows.mean(0), abs=1e-6)
    assert std == pytest.approx(rows.std(0), rel=1e-6)


def test_a_constant_input_is_not_scaled_up() -> None:
    trainer, still = new_trainer(), preference(1, Choice.TIE, query(1, segment(1), segment(1)))
    for side in (still.query.left, still.query.right):
        side.observations[:, 4] = 7.0
    trainer.add(still)
    mean, std = moments(trainer)
    assert (mean[4], std[4]) == (7.0, pytest.approx(1e-3))


def test_a_withdrawn_answer_leaves_nothing_in_moments_and_weights() -> None:
    trainers = [new_trainer(), new_trainer()]
    for trainer, extra in zip(trainers, (wild(50), preference(50, Choice.RIGHT)), strict=True):
        train(trainer, [*toy_preferences(0, 5), extra, *toy_preferences(5, 5)], 0)
        trainer.remove(50)
        trainer.remove(1234)  # never added
        train(trainer, [], 3)
    assert trainers[0].count == 10
    assert same(weights(trainers[0]), weights(trainers[1]))
    assert same(saved_state(trainers[0]), saved_state(trainers[1]))


def test_what_follows_a_withdrawn_answer_keeps_its_own_choice() -> None:
    trainer = new_trainer(holdout=0.0)
    train(trainer, [preference(50, Choice.RIGHT), *toy_preferences(0, 150)], 0)
    trainer.remove(50)
    train(trainer, [], 60)
    assert accuracy(trainer, toy_preferences(0, 150)) > 0.9


def test_only_the_latest_labels_are_kept_and_evicted_ones_leave_the_moments() -> None:
    trainer, pair = new_trainer(members=1, max_labels=300), query(0, segment(1), segment(2))
    train(trainer, [wild(1), *(preference(i, Choice.LEFT, pair) for i in range(2, 301))], 0)
    assert trainer.count == 300 and max(moments(trainer)[1]) > 100
    trainer.add(preference(301, Choice.LEFT, pair))
    assert trainer.ids == tuple(range(2, 302)) and max(moments(trainer)[1]) < 10


def test_an_answer_withdrawn_after_an_epoch_leaves_the_moments() -> None:
    trainer = new_trainer()
    train(trainer, [*toy_preferences(0, 5), wild(50)], 1)
    assert max(trainer.ensemble.std.tolist()) > 100
    trainer.remove(50)
    train(trainer, [], 1)
    assert max(trainer.ensemble.std.tolist()) < 10


def test_an_evicted_answer_is_not_added_again() -> None:
    trainer, restored, answers = new_trainer(max_labels=4), new_trainer(seed=7, max_labels=4), toy_preferences(0, 8)
    train(trainer, answers, 1)
    for withdrawn in (7, 6):
        trainer.remove(withdrawn)
    trainer.add(preference(1, Choice.TIE, answers[1].query))
    assert trainer.ids == (4, 5)
    train(restored, answers[:6], 0)
    restored.set_state(saved_state(trainer))
    assert restored.ids == (4, 5)
    restored.add(preference(3, Choice.TIE, answers[3].query))
    assert restored.ids == (4, 5)


def test_new_answers_join_without_starting_over() -> None:
    trainer = new_trainer(minibatch=1000)
    train(trainer, toy_preferences(0, 200), 1)
    before, counts = saved_state(trainer), trainer.bootstrap.counts.copy()
    train(trainer, toy_preferences(200, 1), 0)
    after = saved_state(trainer)
    unchanged = [name for name in before if name.startswith(("optimizer", "ensemble", "l2"))]
    assert len(unchanged) > 10 and all((before[name] == after[name]).all() for name in unchanged)
    assert (np.abs(trainer.bootstrap.counts[:, :200] - counts).sum(1) < 20).all()
    train(trainer, [], 1)
    steps = {int(array) for name, array in trainer.get_state().items() if name.endswith("_step")}
    assert steps == {2}  # one minibatch an epoch: the optimizer continues to count
    assert trainer.count == trainer.bootstrap.size == 201


def test_changes_during_an_epoch_take_effect_in_the_next() -> None:
    trainer, answers = new_trainer(), toy_preferences(0, 101)
    train(trainer, answers[:100], 1)
    running = trainer.epochs(2)
    assert next(running) is None  # between two gradient steps
    before = saved_state(trainer)
    trainer.add(answers[100])
    trainer.remove(5)
    trainer.add(preference(7, Choice.TIE, answers[7].query))
    trainer.add(preference(8, Choice.CANT_TELL, answers[8].query))
    assert all(np.array_equal(before[name], trainer.get_state()[name]) for name in ("ids", "mu"))
    to_report(running)
    assert next(running) is None
    assert trainer.ids == tuple(i for i in range(101) if i not in (5, 8))
    assert trainer.get_state()["mu"][trainer.ids.index(7)] == 0.5
    to_report(running)


def test_an_answer_given_and_withdrawn_during_an_epoch_is_not_trained_on() -> None:
    trainer = new_trainer()
    train(trainer, toy_preferences(0, 20), 1)
    running = trainer.epochs(1)
    assert next(running) is None
    trainer.add(toy_preferences(20, 1)[0])
    trainer.remove(20)
    to_report(running)
    assert list(running) == [] and trainer.ids == tuple(range(20))


def test_withdrawing_the_only_answer_ends_the_round() -> None:
    trainer = new_trainer()
    trainer.add(toy_preferences(0, 1)[0])
    running = trainer.epochs(100)
    next(running)
    trainer.remove(0)
    assert sum(report is not None for report in running) == 1
    assert trainer.count == 0


def test_a_changed_answer_is_as_if_given_so_and_starts_nothing_over() -> None:
    changed, never, answers = new_trainer(), new_trainer(), toy_preferences(0, 12)
    other = preference(5, Choice.TIE, answers[5].query)
    train(changed, answers, 0)
    before = saved_state(changed)
    changed.add(other)
    after = saved_state(changed)
    assert [name for name in before if not np.array_equal(before[name], after[name])] == ["mu"]
    assert np.flatnonzero(before["mu"] != after["mu"]).tolist() == [5] and after["mu"][5] == 0.5
    train(never, [*answers[:5], other, *answers[6:]], 0)
    for trainer in (changed, never):
        train(trainer, [], 3)
    assert same(saved_state(changed), saved_state(never))


def test_a_change_to_and_from_cant_tell_leaves_and_joins_in_its_place() -> None:
    trainer, never, answers = new_trainer(), new_trainer(), toy_preferences(0, 9)
    train(trainer, answers, 1)
    trainer.add(preference(4, Choice.CANT_TELL, answers[4].query))
    assert trainer.ids == (0, 1, 2, 3, 5, 6, 7, 8) and trainer.bootstrap.size == 8
    train(trainer, [], 1)
    trainer.add(answers[4])
    assert trainer.ids == tuple(range(9)) and trainer.bootstrap.counts.sum(1).tolist() == [9] * 3
    train(never, answers, 0)
    one, other = (each.preference_probabilities(range(9), trainer.ensemble) for each in (trainer, never))
    assert one == other


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_the_numbers_do_not_depend_on_the_threads(dropout: float) -> None:
    results = []
    for threads in (1, 2):
        set_num_threads(threads)
        trainer = new_trainer(dropout=dropout)
        train(trainer, toy_preferences(0, 100), 3)
        results.append(weights(trainer))
    assert same(*results)


HISTORIES = {"plain": ([], []), "withdrawn": ([15, 9], []), "changed": ([], [6, 9]), "both": ([15], [6])}


@pytest.mark.parametrize("max_labels", [0, 12])
@pytest.mark.parametrize(("withdrawn", "changed"), HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_restored_training_continues_exactly(
    withdrawn: list[int], changed: list[int], max_labels: int, dropout: float
) -> None:
    """With max_labels, the first answers were evicted for ones that were withdrawn, and do not come back."""
    rngs, settings = [np.random.default_rng(seed) for seed in (0, 7)], {"max_labels": max_labels, "dropout": dropout}
    trainer, restored = new_trainer(0, rngs[0], **settings), new_trainer(7, rngs[1], **settings)
    answers = {p.id: p for p in toy_preferences(0, 16)}
    answers[6] = preference(6, Choice.CANT_TELL, answers[6].query)
    train(trainer, list(answers.values()), 2)
    for number in withdrawn:
        trainer.remove(number)
        del answers[number]
    for number in changed:
        answers[number] = preference(number, Choice.TIE, answers[number].query)
        trainer.add(answers[number])
    train(trainer, [], 1)
    state = saved_state(trainer)
    train(restored, list(answers.values()), 0)
    restored.set_state(state)
    assert restored.matches(state) and restored.ids == trainer.ids
    rngs[1].bit_generator.state = rngs[0].bit_generator.state
    for each in (trainer, restored):
        train(each, toy_preferences(20, 1), 3)
    assert same(saved_state(trainer), saved_state(restored))


def test_a_restored_trainer_takes_in_what_was_answered_changed_or_withdrawn_since() -> None:
    trainer, restored = new_trainer(), new_trainer(seed=7)
    answers = toy_preferences(0, 24)
    answers[3] = preference(3, Choice.CANT_TELL, answers[3].query)
    train(trainer, answers[:20], 2)
    state = saved_state(trainer)
    now = [preference(3, Choice.RIGHT, p.query) if p.id == 3 else p for p in answers if p.id != 7]
    train(restored, now, 0)
    restored.set_state(state)
    assert restored.ids == (*range(7), *range(8, 24)) and restored.bootstrap.size == 23
    assert not restored.matches(state)
    assert same(weights(trainer), weights(restored))
    (report,) = train(restored, [], 1)
    assert np.isfinite(report.train_loss).all()
    flipped = new_trainer(seed=8)
    train(flipped, [preference(0, Choice.TIE, answers[0].query), *answers[1:20]], 0)
    flipped.set_state(state)
    assert not flipped.matches(state)
