"""What is left of a headless run: the policy that was reached, and those of the past."""

from __future__ import annotations

import pytest

from core.events import (
    PolicyPublished,
    RolloutBatchReady,
)
from core.rollout.episodes import evaluate, random_return
from core.session.policy_snapshots import PolicySnapshots
from core.tasks import get_task
from tests.core.builders import tiny
from tests.e2e.taught import TASK, Teach


def test_the_saved_policy_is_what_is_evaluated(teach: Teach) -> None:
    taught = teach(steps=8 * 32 * 16)
    untrained = evaluate(taught.session, 3)
    outcome = taught.run.run()
    one, other = evaluate(taught.session, 3), evaluate(taught.session, 3)
    assert one["true_return"] == other["true_return"] != untrained["true_return"]
    assert one["states"].shape == (get_task(TASK).episode_steps, 13)
    assert one["measure"].keys() == outcome.measure.keys()


def test_the_untrained_policys_return_depends_on_the_seed_alone() -> None:
    assert random_return(tiny(seed=1)) == random_return(tiny(seed=1, reward__members=2)) != random_return(tiny(seed=2))


def test_policies_of_the_past_are_kept_and_the_last_is_the_one_reached(teach: Teach) -> None:
    taught = teach()
    taught.finished()
    kept = PolicySnapshots(taught.session.folder)
    moments, last = kept.moments(), taught.all(PolicyPublished)[-1]
    assert [known.env_steps for known in moments] == [0, *(batch.env_steps for batch in taught.all(RolloutBatchReady))]
    assert all((kept.load(8 * 32 * 24)[1][name] == array).all() for name, array in last.weights.items())
    assert [known.labels for known in moments] == sorted(known.labels for known in moments)
    assert (moments[0].labels, moments[-1].labels) == (0, 12)
    assert 0 < moments[-1].seconds < 300


def test_a_resumed_run_forgets_the_policies_of_the_time_that_was_lost(teach: Teach) -> None:
    stopped = teach("s")
    stopped.save_once_it_learns()
    saved_at = stopped.all(PolicyPublished)[-1].env_steps
    for _ in range(4):
        stopped.run.cycle()
    stopped.close()
    kept = PolicySnapshots(stopped.session.folder)
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
