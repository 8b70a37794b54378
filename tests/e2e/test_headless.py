"""Whole headless runs, small ones: reproducible, resumable, and blind to the true reward."""

from __future__ import annotations

import dataclasses
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core import checkpoint, oracle
from core.__main__ import main
from core.errors import CutShortError, NotFiniteError
from core.events import (
    BatchCollected,
    Event,
    PolicyPublished,
    PolicyUpdated,
    PreferenceAdded,
    QueryOffered,
    RewardFitted,
    RolloutReported,
)
from core.headless import HeadlessRun, evaluate, random_return
from core.lockstep import ProcessPort
from core.queries import labels_due
from core.records import Answer, Choice
from core.reward.fit import FitReport, RewardFit
from core.snapshots import Snapshots
from core.tasks import CATALOGUE, find
from tests.core.builders import tiny
from tests.e2e.taught import TASK, Taught, Teach, garbage, same, stopped_and_resumed, tape


def test_one_seed_one_result(teach: Teach) -> None:
    first, second, third = teach("a", seed=4), teach("b", seed=4), teach("c", seed=5)
    outcomes = [taught.finished() for taught in (first, second, third)]
    assert tape(first) == tape(second)
    assert same(first, second)
    assert outcomes[0].true_return == outcomes[1].true_return
    assert not same(first, third)


def test_every_label_and_every_step_is_used(teach: Teach) -> None:
    taught = teach()
    outcome = taught.finished()
    assert (outcome.labels, outcome.env_steps, outcome.steps_taken) == (12, 8 * 32 * 24, 8 * 32 * 24)
    assert len(taught.all(BatchCollected)) == len(taught.all(PolicyUpdated))  # each batch was learned from
    assert taught.all(RewardFitted)[-1].preferences == 12
    assert outcome.measure.keys() == {"backflips_per_episode", "upright_landings_per_episode"}


def test_a_quarter_of_the_labels_comes_before_the_policy_moves(teach: Teach) -> None:
    taught = teach()
    taught.finished()
    before_training = taught.events[: tape(taught).index("BatchCollected")]
    assert sum(isinstance(event, PreferenceAdded) for event in before_training) >= 3
    fitted = next(event for event in before_training if isinstance(event, RewardFitted))
    assert fitted.preferences >= 3


def test_labels_keep_to_the_schedule(teach: Teach) -> None:
    taught = teach()
    taught.finished()
    config, answered = taught.session.config, 0
    for event in taught.events:
        answered += isinstance(event, PreferenceAdded)
        if isinstance(event, RolloutReported):
            assert answered <= labels_due(event.env_steps, config.labels, config.steps, config.query)
    assert answered == 12


def test_queries_go_by_disagreement_once_there_is_a_reward(teach: Teach) -> None:
    taught = teach()
    taught.finished()
    fitted = tape(taught).index("RewardPublished")
    scores = [
        [e.query.disagreement for e in part if isinstance(e, QueryOffered)]
        for part in (taught.events[:fitted], taught.events[fitted:])
    ]
    assert scores[0] and np.isnan(scores[0]).all()
    assert scores[1] and (np.array(scores[1]) >= 0).all()


@pytest.mark.parametrize("cycles", [2, 5, 10], ids=["before the first fit", "after it", "late"])
def test_stopped_and_resumed_is_as_never_stopped(teach: Teach, cycles: int) -> None:
    whole = teach("whole", seed=1)
    expected = whole.finished()
    resumed, outcome = stopped_and_resumed(teach, cycles, seed=1)
    assert 0 < outcome.steps_taken < outcome.env_steps
    assert same(whole, resumed)
    assert outcome.true_return == expected.true_return and outcome.measure == expected.measure
    assert outcome.labels == expected.labels == 12


@pytest.mark.parametrize("algorithm", ["trpo", "a2c"])
def test_every_algorithm_resumes_as_if_it_had_not_stopped(teach: Teach, algorithm: str) -> None:
    chosen = {"policy__algorithm": algorithm, "policy__decay": 0.5}
    whole = teach("whole", **chosen)
    whole.finished()
    resumed, outcome = stopped_and_resumed(teach, 7, **chosen)
    assert 0 < outcome.steps_taken < outcome.env_steps
    assert same(whole, resumed)


@pytest.mark.parametrize("cycles", [3, 7], ids=["while it explores", "afterwards"])
def test_one_that_explores_first_resumes_as_if_it_had_not_stopped(teach: Teach, cycles: int) -> None:
    whole = teach("whole", rollout__explore=8 * 32 * 5)
    whole.finished()
    resumed, outcome = stopped_and_resumed(teach, cycles, rollout__explore=8 * 32 * 5)
    assert 0 < outcome.steps_taken < outcome.env_steps and outcome.labels == 12
    assert same(whole, resumed)


@pytest.mark.parametrize("task", ["gym:CartPole-v1", "gym:Pendulum-v1"])
def test_environments_that_cannot_be_saved_resume_as_if_they_had_not_stopped(teach: Teach, task: str) -> None:
    chosen = {"task": task, "labels": 8, "steps": 8 * 32 * 24}
    whole = teach("whole", **chosen)
    expected = whole.finished()
    resumed, outcome = stopped_and_resumed(teach, 7, **chosen)
    assert 0 < outcome.steps_taken < outcome.env_steps
    assert same(whole, resumed) and outcome.true_return == expected.true_return


def test_a_resumed_rollout_acts_as_the_policy_that_was_saved(teach: Teach) -> None:
    """Not as the untrained one, which it is built with."""
    resumed, _ = stopped_and_resumed(teach, 10)
    first = resumed.all(BatchCollected)[0]
    published = resumed.all(PolicyPublished)[0]
    assert first.policy_version == published.version > 0


@pytest.mark.parametrize("cycles", [6, 7, 13])
def test_where_rollouts_run_ahead_the_batch_under_way_is_kept(teach: Teach, cycles: int) -> None:
    chosen = {"policy__lag": 1, "seed": 1}
    whole = teach("whole", **chosen)
    expected = whole.finished()
    stale = [batch.policy_version < update.version - 1 for batch, update in pairs(whole)]
    assert sum(stale) > 10  # they do run ahead
    resumed, outcome = stopped_and_resumed(teach, cycles, **chosen)
    assert resumed.all(PolicyPublished)[0].waiting == 1
    assert same(whole, resumed) and outcome.true_return == expected.true_return


def pairs(taught: Taught) -> Iterator[tuple[BatchCollected, PolicyUpdated]]:
    """Each batch and what was learned from it."""
    return zip(taught.all(BatchCollected), taught.all(PolicyUpdated), strict=True)


@pytest.mark.parametrize("lag", [0, 1])
def test_processes_of_their_own_change_nothing(teach: Teach, lag: int) -> None:
    here, apart = teach("here", policy__lag=lag), teach("apart", apart=True, policy__lag=lag)
    assert here.finished().true_return == apart.finished().true_return
    assert same(here, apart) and tape(here) == tape(apart)


def test_a_helper_changes_nothing_and_rounds_of_the_reward_are_spread_alike(teach: Teach) -> None:
    chosen = {"policy__lag": 1, "rollout__environments": 256, "rollout__steps": 16, "steps": 256 * 16 * 12}
    chosen |= {"reward__pace": 300, "reward__epochs": 3}
    here, apart = teach("here", **chosen), teach("apart", apart=True, **chosen)
    helped = apart.run._ports["rollout"]
    assert isinstance(helped, ProcessPort) and helped._helper is not None
    helper = helped._helper.process
    here.finished(), apart.finished()
    assert same(here, apart) and tape(here) == tape(apart)
    assert helper.exitcode is not None
    stopped = teach("stopped", apart=True, **chosen)
    for _ in range(7):
        stopped.run.cycle()
    stopped.run.save()
    stopped.close()
    resumed = teach("stopped", apart=True, **chosen)
    assert 0 < resumed.finished().steps_taken < 256 * 16 * 12
    assert same(here, resumed)


@pytest.mark.parametrize("cycles", [10, 11, 12, 13])
def test_a_round_of_the_reward_that_is_spread_over_batches_resumes_where_it_was(teach: Teach, cycles: int) -> None:
    """Of four epochs, one a batch."""
    chosen = {"policy__lag": 1, "reward__pace": 25, "reward__epochs": 4}
    whole = teach("whole", **chosen)
    whole.finished()
    rounds = [event.generation for event in whole.all(RewardFitted)]
    assert rounds == list(range(1, len(rounds) + 1)) and 2 < len(rounds) < 8
    resumed, outcome = stopped_and_resumed(teach, cycles, **chosen)
    assert 0 < outcome.steps_taken < outcome.env_steps
    assert same(whole, resumed)


def test_ctrl_c_keeps_what_was_reached(teach: Teach, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped, cycle, cycles = teach("stopped"), HeadlessRun.cycle, iter(range(10))

    def interrupted(run: HeadlessRun) -> None:
        cycle(run)
        if next(cycles) == 8:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(HeadlessRun, "cycle", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stopped.run.run()
    monkeypatch.undo()
    answers, steps = len(stopped.all(PreferenceAdded)), stopped.all(RolloutReported)[-1].env_steps
    stopped.close()
    resumed = teach("stopped")
    outcome = resumed.finished()
    assert outcome.env_steps - outcome.steps_taken == steps
    assert len(resumed.all(PreferenceAdded)) == 12 - answers  # none was asked again


def interrupted_at_batch(taught: Taught, number: int, times: int) -> None:
    """Presses Ctrl+C so often when the policy is just about to learn from this batch."""

    def listen(event: Event) -> None:
        taught.events.append(event)
        if isinstance(event, BatchCollected) and len(taught.all(BatchCollected)) == number:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    taught.run._listener = listen
    with pytest.raises(KeyboardInterrupt) as stopped:
        taught.run.run()
    assert isinstance(stopped.value, CutShortError) == (times > 1)
    taught.close()


def test_ctrl_c_in_the_middle_of_an_update_changes_nothing_of_what_is_learned(teach: Teach) -> None:
    whole, stopped = teach("whole"), teach("stopped")
    interrupted_at_batch(stopped, 12, times=1)
    assert len(stopped.all(PolicyUpdated)) == 12  # from the batch under way, too
    resumed = teach("stopped")
    whole.finished(), resumed.finished()
    assert same(whole, resumed)
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


def test_ctrl_c_twice_ends_at_once_and_leaves_the_checkpoint_before(teach: Teach) -> None:
    whole, stopped = teach("whole"), teach("stopped")
    while not stopped.all(PolicyUpdated):
        stopped.run.cycle()
    stopped.run.save()
    interrupted_at_batch(stopped, 6, times=2)
    assert len(stopped.all(PolicyUpdated)) == 5
    loaded = checkpoint.load_newest(stopped.session.folder / "checkpoints")
    assert loaded is not None and loaded[0] == 1 and loaded[1]["policy"].values["version"] == 1
    assert teach("stopped").finished().env_steps == whole.finished().env_steps


@pytest.mark.parametrize(
    ("error", "said"), [(RuntimeError("boom\nand more"), "RuntimeError: boom and more"), (MemoryError(), "not enough")]
)
def test_what_a_stage_raises_is_one_sentence_at_the_terminal_and_all_of_it_in_the_log(
    teach: Teach, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, said: str
) -> None:
    taught = teach("s")
    while not taught.all(PolicyUpdated):
        taught.run.cycle()
    taught.run.save()
    taught.close()

    def failing(*_: Any) -> Iterator[Any]:
        raise error

    monkeypatch.setattr(sys, "argv", ["core", "teach", "--resume", "s"])
    with monkeypatch.context() as broken:
        broken.setattr("core.policy.base.OnPolicyOptimiser.update", failing)
        assert main() == 1
    told = capsys.readouterr().err
    assert "Traceback" not in told
    last = told.splitlines()[-1]
    assert last.startswith("somersault: the policy stage failed (") and said in last
    assert "checkpoint 1 and every answer are on disk" in last and last.endswith("go on with --resume.")
    assert "Traceback" in Path("s/log.txt").read_text()
    assert main() == 0


def test_a_finished_run_resumed_tells_what_was_reached(teach: Teach) -> None:
    first = teach("a").finished()
    again = teach("a").finished()
    assert (again.env_steps, again.steps_taken, again.labels) == (first.env_steps, 0, 12)
    assert again.true_return == first.true_return and again.measure == first.measure


def test_answers_since_the_last_checkpoint_are_not_lost(teach: Teach) -> None:
    stopped = teach("stopped")
    for _ in range(3):
        stopped.run.cycle()
    stopped.run.save()
    while len(stopped.all(PreferenceAdded)) < 9:
        stopped.run.cycle()
    stopped.close()
    resumed = teach("stopped")
    assert resumed.finished().labels == 12
    assert resumed.all(RewardFitted)[0].preferences >= 9


def nothing(physics: Any) -> np.ndarray:
    return np.full(len(physics.positions), np.nan)


@pytest.mark.parametrize(
    ("other_reward", "changes"), [(garbage, {}), (nothing, {}), (None, {}), (garbage, {"oracle__equal": 0.2})]
)
def test_neither_policy_nor_reward_fit_sees_the_true_reward(
    teach: Teach, monkeypatch: pytest.MonkeyPatch, other_reward: Any, changes: dict[str, Any]
) -> None:
    honest = teach("honest", **changes)
    honest.finished()
    recorded = {p.preference.query.id: Answer(p.preference.choice) for p in honest.all(PreferenceAdded)}
    monkeypatch.setattr(oracle, "answer", lambda query, config: recorded[query.id])
    monkeypatch.setitem(CATALOGUE, TASK, dataclasses.replace(find(TASK), true_reward=other_reward))
    blind = teach("blind", **changes)
    blind.finished()
    assert len(recorded) == 12
    assert same(honest, blind)


def test_other_choices_make_another_policy(teach: Teach, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the test above would pass for a run that learns from nothing."""
    honest = teach("honest")
    honest.finished()
    monkeypatch.setattr(oracle, "answer", lambda query, config: Answer(Choice.TIE))
    other = teach("other")
    other.finished()
    assert not same(honest, other)


def test_without_a_teacher_it_learns_from_the_true_reward_and_asks_nothing(teach: Teach) -> None:
    taught = teach(teacher="none", labels=0)
    outcome = taught.finished()
    assert outcome.labels == 0
    assert not taught.all(QueryOffered) and not taught.all(RewardFitted)
    assert len(taught.all(PolicyUpdated)) == 24
    assert all(abs(float(batch.rewards.mean())) < 1e-4 for batch in taught.all(BatchCollected))


def test_the_true_reward_teaches_a_policy_that_sees_it(teach: Teach, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no teacher the same garbage does change what is learned."""
    honest = teach("honest", teacher="none")
    honest.finished()
    monkeypatch.setitem(CATALOGUE, TASK, dataclasses.replace(find(TASK), true_reward=garbage))
    other = teach("other", teacher="none")
    other.finished()
    assert not same(honest, other)


def test_a_reward_that_is_no_number_stops_the_run_and_keeps_the_last_checkpoint(teach: Teach) -> None:
    taught = teach("s")
    while not taught.all(PolicyUpdated):
        taught.run.cycle()
    taught.run.save()
    version = taught.all(PolicyPublished)[-1].version
    taught.run._ports["rollout"].job.ensemble.mean[0] = float("nan")  # type: ignore[attr-defined]
    with pytest.raises(NotFiniteError, match="predicted reward"):
        taught.run.run()
    assert taught.all(PolicyPublished)[-1].version == version
    taught.close()
    assert teach("s").finished().env_steps == 8 * 32 * 24


def test_a_spoiled_fit_ends_the_command_and_the_session_goes_on_from_the_last_good_checkpoint(
    teach: Teach, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    teach("s").close()
    monkeypatch.setattr("core.headless._SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    epochs, published = RewardFit.epochs, []

    def spoiled(fit: RewardFit, count: int) -> Iterator[FitReport]:
        published.append(len(published))
        if len(published) == 5:
            with torch.no_grad():
                fit.ensemble.network.weights[1][0, 0, 0] = float("inf")
        return epochs(fit, count)

    monkeypatch.setattr(sys, "argv", ["core", "teach", "--resume", "s"])
    with monkeypatch.context() as spoiling:
        spoiling.setattr(RewardFit, "epochs", spoiled)
        assert main() == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == "somersault: reward fit: the predicted reward is no longer finite; the last checkpoint is kept."
    number, states = checkpoint.load_newest(Path("s/checkpoints")) or (0, {})
    assert states["reward"].values["generation"] == 4 and number > 4
    arrays = (array for state in states.values() for name, array in state.arrays.items() if "cutter" not in name)
    assert all(np.isfinite(array).all() for array in arrays)
    assert main() == 0
    assert "env_steps           6144" in capsys.readouterr().out


def test_the_saved_policy_is_what_is_evaluated(teach: Teach) -> None:
    taught = teach(steps=8 * 32 * 16)
    untrained = evaluate(taught.session, 3)
    outcome = taught.run.run()
    one, other = evaluate(taught.session, 3), evaluate(taught.session, 3)
    assert one["true_return"] == other["true_return"] != untrained["true_return"]
    assert one["states"].shape == (find(TASK).episode_steps, 13)
    assert one["measure"].keys() == outcome.measure.keys()


def test_the_untrained_policys_return_depends_on_the_seed_alone() -> None:
    assert random_return(tiny(seed=1)) == random_return(tiny(seed=1, reward__members=2)) != random_return(tiny(seed=2))


def test_policies_of_the_past_are_kept_and_the_last_is_the_one_reached(teach: Teach) -> None:
    taught = teach()
    taught.finished()
    kept = Snapshots(taught.session.folder)
    moments, last = kept.moments(), taught.all(PolicyPublished)[-1]
    assert [known.env_steps for known in moments] == [0, *(batch.env_steps for batch in taught.all(BatchCollected))]
    assert all((kept.load(8 * 32 * 24)[1][name] == array).all() for name, array in last.weights.items())
    assert [known.labels for known in moments] == sorted(known.labels for known in moments)
    assert (moments[0].labels, moments[-1].labels) == (0, 12)
    assert 0 < moments[-1].seconds < 300


def test_a_resumed_run_forgets_the_policies_of_the_time_that_was_lost(teach: Teach) -> None:
    stopped = teach("s")
    while not stopped.all(PolicyUpdated):
        stopped.run.cycle()
    stopped.run.save()
    saved_at = stopped.all(PolicyPublished)[-1].env_steps
    for _ in range(4):
        stopped.run.cycle()
    stopped.close()
    kept = Snapshots(stopped.session.folder)
    assert kept.kept()[-1] > saved_at
    seconds = kept.seconds()
    resumed = teach("s")
    assert kept.kept()[-1] == saved_at
    resumed.finished()
    assert kept.seconds() > seconds / 2


def test_no_run_ends_for_want_of_a_policy_of_the_past(teach: Teach, caplog: pytest.LogCaptureFixture) -> None:
    taught = teach()
    folder = taught.session.folder / "policies"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("in the way")
    assert taught.finished().labels == 12
    assert "can't be written" in caplog.text
