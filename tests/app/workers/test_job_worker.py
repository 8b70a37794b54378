"""The thread that supervises a child, over real children that hold still."""

from __future__ import annotations

import os
import signal
import struct
from multiprocessing import resource_tracker, shared_memory, util
from typing import Any

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.workers.job_group import JOB_NAMES, JobGroup
from app.workers.job_worker import JobWorker
from core.events import JobSpec, JobState, PolicyPublished, RewardPublished, Waited
from core.system.child_process import JobProcess
from tests.core.builders import tiny

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows can't hold a process still")
SECONDS = 60_000
"""Far more than a child takes to begin."""


def test_a_worker_that_waits_for_the_rest_of_an_event_ends_when_it_is_cancelled(qtbot: QtBot) -> None:
    process = JobProcess(JobSpec("policy", tiny().to_dict()))
    half = os.dup(process._child_end.fileno())
    worker = JobWorker("policy", process, lambda event: isinstance(event, Waited))
    with qtbot.waitSignal(worker.event_arrived, timeout=SECONDS):
        worker.start()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGSTOP)
    os.write(half, struct.pack("!i", 1000))  # as the pipe begins an event of 1,000 bytes
    os.close(half)
    with qtbot.waitSignal(worker.finished_with) as ended:
        worker.cancel()
    assert ended.args == ["policy", "stopped"]
    worker.wait()


def test_a_worker_whose_child_holds_still_from_the_first_ends_when_it_is_cancelled(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource_tracker.ensure_running()  # or it would be the one that holds still
    spawn, held = util.spawnv_passfds, list[int]()

    def spawn_and_hold(*how: Any) -> int:
        held.append(spawn(*how))
        os.kill(held[-1], signal.SIGSTOP)
        return held[-1]

    monkeypatch.setattr(util, "spawnv_passfds", spawn_and_hold)
    megabyte = JobState({"x": np.zeros(1 << 17)}, {})
    process = JobProcess(JobSpec("policy", tiny().to_dict(), megabyte))
    worker = JobWorker("policy", process, lambda event: True)
    worker.start()
    qtbot.waitUntil(lambda: len(held) == 1)
    with qtbot.waitSignal(worker.finished_with) as ended:
        worker.cancel()
    assert ended.args == ["policy", "stopped"]
    worker.wait()
    assert process._begin.block
    with pytest.raises(FileNotFoundError):  # nobody has read the state, and it takes no memory any more
        shared_memory.SharedMemory(process._begin.block)


def test_children_that_hold_still_with_full_pipes_hold_up_neither_each_other_nor_the_end(qtbot: QtBot) -> None:
    crew = JobGroup(JobProcess, tiny().to_dict())
    begun: set[str] = set()
    crew.event_arrived.connect(lambda event: begun.add(getattr(event, "job", "")))
    crew.start(JOB_NAMES, {})
    qtbot.waitUntil(lambda: {"rollout", "reward", "policy"} <= begun, timeout=SECONDS)
    pids = {name: worker._process.pid for name, worker in crew._workers.items()}  # type: ignore[attr-defined]
    for name in ("policy", "clips"):
        os.kill(pids[name], signal.SIGSTOP)
    for _ in range(60):
        crew.send(RewardPublished(1, {"x": np.zeros(1500)}), ("policy", "clips"))
    with qtbot.waitSignal(crew.event_arrived, check_params_cb=lambda event: isinstance(event, Waited)):
        crew.send(PolicyPublished(1, {}), ("reward",))
    with qtbot.waitSignal(crew.dismissed):
        crew.dismiss()
    crew.close()
