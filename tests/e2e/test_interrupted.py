"""Headless runs that Ctrl+C or a fault ends: what was reached is kept, and told in one sentence."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.__main__ import main
from core.errors import CutShortError, NotFiniteError
from core.events import (
    Event,
    PolicyPublished,
    PolicyUpdated,
    PreferenceAdded,
    RolloutBatchReady,
    RolloutReported,
)
from core.headless.run import HeadlessRun
from core.reward.trainer import EpochReport, RewardTrainer
from core.session import checkpoint
from tests.e2e.taught import Taught, Teach, same


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
        if isinstance(event, RolloutBatchReady) and len(taught.all(RolloutBatchReady)) == number:
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
    stopped.save_once_it_learns()
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
    taught.save_once_it_learns()
    taught.close()

    def failing(*_: Any) -> Iterator[Any]:
        raise error

    monkeypatch.setattr(sys, "argv", ["core", "teach", "--resume", "s"])
    with monkeypatch.context() as broken:
        broken.setattr("core.policy.on_policy.OnPolicyOptimiser.update", failing)
        assert main() == 1
    told = capsys.readouterr().err
    assert "Traceback" not in told
    last = told.splitlines()[-1]
    assert last.startswith("somersault: the policy stage failed (") and said in last
    assert "checkpoint 1 and every answer are on disk" in last and last.endswith("go on with --resume.")
    assert "Traceback" in Path("s/log.txt").read_text()
    assert main() == 0


def test_a_reward_that_is_no_number_stops_the_run_and_keeps_the_last_checkpoint(teach: Teach) -> None:
    taught = teach("s")
    taught.save_once_it_learns()
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
    monkeypatch.setattr("core.headless.run._SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    epochs, published = RewardTrainer.epochs, []

    def spoiled(fit: RewardTrainer, count: int) -> Iterator[EpochReport]:
        published.append(len(published))
        if len(published) == 5:
            with torch.no_grad():
                fit.ensemble.network.weights[1][0, 0, 0] = float("inf")
        return epochs(fit, count)

    monkeypatch.setattr(sys, "argv", ["core", "teach", "--resume", "s"])
    with monkeypatch.context() as spoiling:
        spoiling.setattr(RewardTrainer, "epochs", spoiled)
        assert main() == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == "somersault: reward fit: the predicted reward is no longer finite; the last checkpoint is kept."
    number, states = checkpoint.load_newest(Path("s/checkpoints")) or (0, {})
    assert states["reward"].values["generation"] == 4 and number > 4
    arrays = (array for state in states.values() for name, array in state.arrays.items() if "cutter" not in name)
    assert all(np.isfinite(array).all() for array in arrays)
    assert main() == 0
    assert "env_steps           6144" in capsys.readouterr().out
