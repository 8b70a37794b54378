"""Policies saved by a headless run: the final one, and snapshots of earlier ones."""

from __future__ import annotations

import pytest

from core.events import PolicyPublished, RolloutBatchReady
from core.rollout.episodes import evaluate
from core.session.policy_snapshots import PolicySnapshots
from core.session.session import Session
from core.tasks import get_task
from tests.e2e.taught import SHORT, TASK, Finished, Teach


@pytest.mark.slow
def test_evaluation_uses_the_saved_policy(finished: Finished, teach: Teach) -> None:
    taught, new = finished(**SHORT), teach("new", **SHORT)
    untrained = evaluate(new.session, 3)
    session = Session.open(taught.session.folder)
    one, other = evaluate(session, 3), evaluate(session, 3)
    session.close()
    assert one["true_return"] == other["true_return"] != untrained["true_return"]
    assert one["states"].shape == (get_task(TASK).episode_steps, 13)
    assert taught.outcome and one["measure"].keys() == taught.outcome.measure.keys()


def test_snapshots_are_taken_and_the_last_is_the_policy_reached(finished: Finished) -> None:
    taught = finished(**SHORT)
    snapshots = PolicySnapshots(taught.session.folder)
    infos, last = snapshots.infos(), taught.all(PolicyPublished)[-1]
    assert [info.env_steps for info in infos] == [0, *(batch.env_steps for batch in taught.all(RolloutBatchReady))]
    assert all((snapshots.load(8 * 32 * 14)[1][name] == array).all() for name, array in last.weights.items())
    assert [info.labels for info in infos] == sorted(info.labels for info in infos)
    assert (infos[0].labels, infos[-1].labels) == (0, 12)
    seconds = [info.seconds for info in infos]
    assert seconds == sorted(seconds) and seconds[-1] > 0


def test_a_resumed_run_discards_the_snapshots_after_its_checkpoint(teach: Teach) -> None:
    stopped = teach("s", **SHORT)
    stopped.save_once_it_learns()
    saved_at = stopped.all(PolicyPublished)[-1].env_steps
    for _ in range(4):
        stopped.run.cycle()
    stopped.close()
    snapshots = PolicySnapshots(stopped.session.folder)
    assert snapshots.env_steps()[-1] > saved_at
    resumed = teach("s")
    assert snapshots.env_steps()[-1] == saved_at
    resumed.finished()
    times = [info.seconds for info in snapshots.infos()]
    assert times == sorted(times)  # times continue from that of the checkpoint
