"""Small whole headless runs: reproducibility and the schedule of queries."""

from __future__ import annotations

import psutil
import pytest

from core.events import PreferenceAdded, RewardFitted, RolloutBatchReady, RolloutReported
from core.preferences.schedule import labels_due
from tests.core.children import pid_of
from tests.e2e.taught import SHORT, Finished, Teach, same, tape
from tests.processes import parts


def test_the_same_seed_gives_the_same_result(teach: Teach, finished: Finished) -> None:
    first, again, other = finished(**SHORT), teach("again", threads=2, **SHORT), finished()
    outcome = again.finished()
    assert tape(first) == tape(again) and same(first, again)
    assert first.outcome and outcome.true_return == first.outcome.true_return
    assert not same(first, other)


def test_every_label_and_every_step_is_used(finished: Finished) -> None:
    taught = finished()
    outcome = taught.outcome
    assert outcome.true_return == taught.all(RolloutReported)[-1].true_return
    assert (outcome.labels, outcome.env_steps, outcome.steps_taken) == (12, 8 * 32 * 24, 8 * 32 * 24)
    assert len(taught.all(RolloutBatchReady)) == taught.updates  # the policy learned from each batch
    assert taught.all(RewardFitted)[-1].preferences == 12
    assert outcome.measure.keys() == {
        f"{name}_per_episode" for name in ("backflips", "clean_backflips", "upright_landings", "clean_landings")
    }


def test_labels_follow_the_schedule_with_a_quarter_before_the_first_update(finished: Finished) -> None:
    taught = finished()
    before_training = taught.events[: tape(taught).index("RolloutBatchReady")]
    assert sum(isinstance(event, PreferenceAdded) for event in before_training) >= 3
    assert next(event for event in before_training if isinstance(event, RewardFitted)).preferences >= 3
    config, answered = taught.session.config, 0
    for event in taught.events:
        answered += isinstance(event, PreferenceAdded)
        if isinstance(event, RolloutReported):
            assert answered <= labels_due(event.env_steps, config.labels, config.steps, config.query)
    assert answered == 12


@pytest.mark.slow
def test_a_stopped_run_resumes_identically_with_collectors_in_processes(teach: Teach, finished: Finished) -> None:
    """The run has several collectors and a fit spread over batches."""
    chosen = {"policy__lag": 1, "rollout__environments": 256, "rollout__steps": 16, "steps": 256 * 16 * 6}
    chosen |= {"reward__steps_per_label": 300, "reward__epochs": 3}
    whole, stopped = finished(**chosen), teach("stopped", **chosen)
    for _ in range(3):
        stopped.run.cycle()
    stopped.run.save()
    stopped.close()
    resumed = teach("stopped", apart=True, threads=2)
    collectors = parts(pid_of("rollout"))
    assert len(collectors) == 1
    assert 0 < resumed.finished().steps_taken < 256 * 16 * 6
    assert same(whole, resumed)
    _, alive = psutil.wait_procs(collectors, timeout=20)
    assert not alive
