"""Headless runs ended by Ctrl+C or an error: their progress is saved, and the error is one sentence."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.errors import CutShortError, NotFiniteError
from core.events import Event, PreferenceAdded, RolloutBatchReady, RolloutReported
from core.reward.trainer import EpochReport, RewardTrainer
from core.session import checkpoint
from core.system.interrupts import STOPPING
from core.version import COMMAND_LINE
from tests.core.builders import raising
from tests.e2e.taught import SHORT, Finished, Taught, Teach, same


def interrupted_at_batch(taught: Taught, number: int, times: int, sent: signal.Signals = signal.SIGINT) -> None:
    """Send this number of signals when the policy is about to learn from this batch."""

    def press(event: Event) -> None:
        if isinstance(event, RolloutBatchReady) and len(taught.all(RolloutBatchReady)) == number:
            for _ in range(times):
                signal.raise_signal(sent)

    taught.hook = press
    with pytest.raises(KeyboardInterrupt) as stopped:
        taught.run.run()
    assert isinstance(stopped.value, CutShortError) == (times > 1) and stopped.value.args == (sent,)
    taught.close()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("sent", STOPPING)
def test_a_request_to_stop_during_an_update_does_not_change_the_result(
    teach: Teach, finished: Finished, sent: signal.Signals
) -> None:
    before = signal.getsignal(sent)
    if before == signal.SIG_IGN:
        pytest.skip("what started the tests, such as nohup, ignores it, and so does the program")
    whole, stopped = finished(**SHORT), teach("stopped", **SHORT)
    interrupted_at_batch(stopped, 6, times=1, sent=sent)
    assert stopped.updates == 6  # includes the batch in progress
    answers, steps = len(stopped.all(PreferenceAdded)), stopped.all(RolloutReported)[-1].env_steps
    resumed = teach("stopped")
    outcome = resumed.finished()
    assert same(whole, resumed)
    assert outcome.env_steps - outcome.steps_taken == steps
    assert len(resumed.all(PreferenceAdded)) == 12 - answers  # no pair was asked again
    assert signal.getsignal(sent) == before


def test_ctrl_c_twice_ends_at_once_and_leaves_the_checkpoint_before(teach: Teach, finished: Finished) -> None:
    stopped = teach("stopped", **SHORT)
    stopped.save_once_it_learns()
    interrupted_at_batch(stopped, 6, times=2)
    assert stopped.updates == 5
    loaded = checkpoint.load_newest(stopped.session.folder / "checkpoints")
    assert loaded is not None and 1 <= loaded[1]["policy"].values["version"] <= 5
    resumed = teach("stopped")
    resumed.finished()
    assert same(finished(**SHORT), resumed)


def test_an_exception_of_a_job_is_one_sentence_on_the_terminal_and_complete_in_the_log(
    teach: Teach, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Any]
) -> None:
    taught = teach("s", **SHORT)
    taught.save_once_it_learns()
    taught.close()

    raised = {RuntimeError("boom\nand more"): "RuntimeError: boom and more", MemoryError(): "not enough"}
    logged = 0
    for error, said in raised.items():
        with monkeypatch.context() as broken:
            broken.setattr("core.policy.on_policy.OnPolicyOptimizer.update", raising(error))
            stderr = cli("teach", "--resume", "s", code=1).err
        assert "Traceback" not in stderr
        last = stderr.splitlines()[-1]
        assert last.startswith("somersault: the policy stage failed (") and said in last
        assert "checkpoint 1 and all answers are saved" in last and last.endswith(
            f"continue with {COMMAND_LINE} teach --resume {Path('s').absolute()}."
        )
        log = Path("s/log.txt").read_text()
        assert "Traceback" in log[logged:]
        logged = len(log)
    cli("teach", "--resume", "s")


def test_a_predicted_reward_that_is_not_finite_ends_the_run_and_keeps_the_last_good_checkpoint(
    teach: Teach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fourth fit is damaged; a checkpoint is saved after every cycle."""
    taught = teach("s", checkpoint_seconds=0.0, **SHORT)
    epochs, fits = RewardTrainer.epochs, []

    def spoiled(fit: RewardTrainer, count: int) -> Iterator[EpochReport]:
        fits.append(len(fits))
        if len(fits) == 4:
            with torch.no_grad():
                fit.ensemble.network.weights[1][0, 0, 0] = float("inf")
        return epochs(fit, count)

    with monkeypatch.context() as spoiling:
        spoiling.setattr(RewardTrainer, "epochs", spoiled)
        with pytest.raises(NotFiniteError, match="^reward fit: the predicted reward is no longer finite"):
            taught.run.run()
    taught.close()
    number, states = checkpoint.load_newest(taught.session.folder / "checkpoints") or (0, {})
    assert states["reward"].values["generation"] == 3 and number > 2
    assert all(np.isfinite(array).all() for state in states.values() for array in state.arrays.values())
    assert teach("s").finished().env_steps == SHORT["steps"]
