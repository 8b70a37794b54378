"""Threads that supervise child processes: forwarded messages, and real children that hang or die."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.workers.job_group import JOB_NAMES, JobGroup
from app.workers.job_worker import JobWorker
from core.events import JobSpec, JobState, PolicyPublished, RewardPublished, RolloutBatchReady, Waited
from core.jobs.job_process import JobProcess
from core.session.routing import DRIVER, receivers
from core.system.child_process import ChildProcess
from tests.app.fakes import Engine
from tests.app.yielded import EMPTY
from tests.core.builders import tiny
from tests.core.children import pid_of

SECONDS = 60_000
"""Far more than a child takes to begin."""
needs_stop = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows can't hold a process still")


def test_batches_and_weights_are_forwarded_between_children_unopened(qtbot: QtBot) -> None:
    engine, kept = Engine(), Engine()(JobSpec("snapshots", {}))
    group = JobGroup(engine, tiny())
    group.ports["snapshots"] = kept  # in this process, so it receives the event itself
    arrived: list[Any] = []
    group.event_arrived.connect(arrived.append)
    group.start(JOB_NAMES, {})
    batch = RolloutBatchReady(0, 0, *[EMPTY] * 7)
    engine["rollout"].unreadable = batch
    engine["rollout"].play(batch)
    reward, policy = RewardPublished({}), PolicyPublished(1, {})
    engine["reward"].unreadable = reward
    engine["reward"].play(reward)
    engine["policy"].play(policy)
    engine["policy"].play(Waited("policy", "it waits"))
    qtbot.waitUntil(lambda: len(arrived) == 1)
    qtbot.waitUntil(lambda: [len(engine[name].sent) for name in ("rollout", "policy", "clips")] == [2, 2, 1])
    assert engine["clips"].sent == [reward] and engine["reward"].sent == kept.sent == [policy]
    assert sorted(map(repr, engine["rollout"].sent)) == [repr(policy), repr(reward)]
    assert sorted(map(repr, engine["policy"].sent)) == [repr(reward), repr(batch)]
    assert not any(DRIVER in receivers(kind) for kind in (RolloutBatchReady, RewardPublished, PolicyPublished))
    with qtbot.waitSignal(group.dismissed):
        group.dismiss()
    group.close()


@needs_stop
def test_cancelling_ends_a_worker_whose_child_hangs_from_the_start(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, held = ChildProcess.start, list[int]()

    def start_and_hold(process: ChildProcess) -> None:
        start(process)
        held.append(pid_of(process.name))
        os.kill(held[-1], signal.SIGSTOP)

    monkeypatch.setattr(ChildProcess, "start", start_and_hold)
    process = JobProcess(JobSpec("policy", tiny().to_dict(), JobState({"x": np.zeros(1 << 17)}, {})))
    worker = JobWorker("policy", process)
    ends: list[tuple[str, str]] = []
    worker.finished_with.connect(lambda name, reason: ends.append((name, reason)))
    worker.start()
    qtbot.waitUntil(lambda: len(held) == 1)
    with qtbot.waitSignal(worker.finished_with):
        worker.cancel()
        worker.cancel()
    assert ends == [("policy", "stopped")]  # exactly once


@needs_stop
def test_hanging_children_with_full_pipes_block_neither_each_other_nor_closing(qtbot: QtBot) -> None:
    """Events for a killed child are dropped, and the killed child is reported."""
    group = JobGroup(JobProcess, tiny())
    begun: set[str] = set()
    group.event_arrived.connect(lambda event: begun.add(getattr(event, "job", "")))
    group.start(("reward", "policy", "clips"), {})
    qtbot.waitUntil(lambda: {"reward", "policy"} <= begun, timeout=SECONDS)
    for name in ("policy", "clips"):
        os.kill(pid_of(name), signal.SIGSTOP)
    for _ in range(1000):
        group.send(RewardPublished({"x": np.zeros(1500)}), ("policy", "clips"))
    with qtbot.waitSignal(group.event_arrived, check_params_cb=lambda event: isinstance(event, Waited)):
        group.send(PolicyPublished(1, {}), ("reward",))
    with qtbot.waitSignal(group.job_ended) as ended:
        os.kill(pid_of("policy"), signal.SIGKILL)
    assert ended.args == ["policy", "died"]
    group.send(RewardPublished({}), ("policy",))
    with qtbot.waitSignal(group.dismissed):
        group.dismiss()
    group.close()
    assert not [thread for thread in threading.enumerate() if "Timer" in type(thread).__name__ and thread.is_alive()]
