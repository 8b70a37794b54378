"""The command `sweep`: cells run once, have four states, fail independently, and continue on repetition."""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from core.__main__ import main
from core.errors import ChildDiedError, NoGpuError, StageFailedError, UserError
from core.headless.run import HeadlessRun
from core.rollout.episodes import mean_return, random_returns
from core.session.session import acquire_lock
from core.sweep import cell as cell_module
from core.sweep import command
from core.sweep.backend import Ended, Lost, Report
from core.sweep.cell import Cell, compute
from core.sweep.cell_files import CellFiles
from core.sweep.local import LocalBackend, slots_for
from core.sweep.plans import find_plan
from core.system import resources
from tests.core.builders import BEHAVIOUR
from tests.core.children import pid_of
from tests.core.sweep.plans import Inline, journal, plan_values

Sweep = Callable[..., Inline]


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cli: Callable[..., Any]) -> Sweep:
    """Run a small plan in this process with `python -m core sweep`, and return the backend that ran it.

    Its attributes `out` and `err` are the printed output; code: expected exit code.
    """

    def run(out: Path, *words: str, code: int = 0, interfere: Any = lambda cell: None, **changes: Any) -> Inline:
        (tmp_path / "plan.json").write_text(json.dumps(plan_values(**changes)))
        made: list[Any] = []

        def backend(slots: int, folder_of: Callable[[Cell], Path]) -> Inline:
            made.append(Inline(folder_of, interfere))
            return made[-1]

        monkeypatch.setattr(command, "LocalBackend", backend)
        printed = cli("sweep", tmp_path / "plan.json", "--out", out, *words, code=code)
        assert not made or made[-1].closed
        inline = made[-1] if made else Inline(lambda cell: out)
        inline.out, inline.err = printed
        return inline

    return run


def table(out: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((out / "table.json").read_bytes())
    return values


def states(out: Path) -> list[str]:
    return [entry["state"] for entry in table(out)["cells"]]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the small plan after an undisturbed run."""
    out = tmp_path_factory.mktemp("undisturbed")
    (out / "plan.json").write_text(json.dumps(plan_values()))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(command, "LocalBackend", lambda slots, folder_of: Inline(folder_of))
        patched.setattr(sys, "argv", ["core", "sweep", str(out / "plan.json"), "--out", str(out / "out")])
        assert main() == 0
    return out / "out"


def assert_same(out: Path, undisturbed: Path) -> None:
    assert (out / "table.json").read_bytes() == (undisturbed / "table.json").read_bytes()


def test_each_cell_is_computed_once_and_a_repetition_computes_nothing(
    sweep: Sweep, tmp_path: Path, undisturbed: Path
) -> None:
    done = sweep(tmp_path / "out")
    assert len(set(done.computed)) == 3 and states(tmp_path / "out") == ["done"] * 3
    assert done.out == (tmp_path / "out" / "table.md").read_text() and done.out.count("\n") == 3
    assert "3 done" in done.err and (tmp_path / "out" / "reacher.png").exists()
    cells = find_plan(str(tmp_path / "plan.json"), str).cells()
    untrained = [entry["random_return"] for entry in table(tmp_path / "out")["cells"]]
    assert untrained == [mean_return(random_returns(cell.config)) for cell in cells]
    assert_same(tmp_path / "out", undisturbed)
    assert [state for _, state in journal(tmp_path / "out")] == ["running", "done"] * 3
    assert not (tmp_path / "out" / "sessions").exists()
    assert sweep(tmp_path / "out").computed == []
    assert len(sweep(tmp_path / "out", "--teachers", "none", seeds=[0, 1]).computed) == 1  # only the new seed
    assert len(journal(tmp_path / "out")) == 8


@pytest.mark.slow
def test_a_failed_cell_stops_no_other_and_is_tried_again(
    sweep: Sweep, tmp_path: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_run, runs = HeadlessRun.run, itertools.count()

    def run(self: HeadlessRun) -> Any:
        if next(runs) == 1:  # the cell of 4 labels
            raise MemoryError
        return whole_run(self)

    with monkeypatch.context() as patched:
        patched.setattr(HeadlessRun, "run", run)
        failed = sweep(tmp_path / "out", code=1)
    assert states(tmp_path / "out") == ["done", "failed", "done"]
    entry = table(tmp_path / "out")["cells"][1]
    assert entry["reason"].startswith("There was not enough memory: ") and "true_return" not in entry
    document = json.loads((tmp_path / "out" / "cells" / f"{entry['cell']}.json").read_bytes())
    assert document["state"] == "failed" and "MemoryError" in document["traceback"]
    assert (
        "1 of 3 cells failed; the same command tries them again. The first, reacher (default), 4 labels, seed 0: "
        in failed.err
    )
    assert sweep(tmp_path / "out").computed == [entry["cell"]]
    assert_same(tmp_path / "out", undisturbed)


def test_a_sweep_that_was_stopped_continues(sweep: Sweep, tmp_path: Path, undisturbed: Path) -> None:
    def stop(cell: Cell) -> None:
        if cell.config.labels == 6:
            raise KeyboardInterrupt

    sweep(tmp_path / "out", code=130, interfere=stop)
    assert len(sweep(tmp_path / "out").computed) == 1
    assert_same(tmp_path / "out", undisturbed)
    done = [cell for cell, state in journal(tmp_path / "out") if state == "done"]
    assert len(done) == len(set(done)) == 3


@pytest.mark.slow
def test_a_lost_cell_begins_again_and_fails_after_three_losses(sweep: Sweep, tmp_path: Path) -> None:
    lost: list[str] = []

    def lose(cell: Cell) -> Report | None:
        if len(lost) >= 2 and cell.config.labels != 4:
            return None
        lost.append(cell.digest)
        return Lost(cell.digest, "The machine is gone.")

    done = sweep(tmp_path / "out", code=1, interfere=lose)
    assert states(tmp_path / "out") == ["done", "failed", "done"]
    assert table(tmp_path / "out")["cells"][1]["reason"] == "The machine is gone."
    assert "restarts: The machine is gone." in done.err
    assert [state for _, state in journal(tmp_path / "out")].count("queued") == len(lost) - 1


@pytest.mark.slow
def test_a_cell_that_was_killed_continues_from_its_checkpoint_and_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    (tmp_path / "plan.json").write_text(json.dumps(plan_values()))
    config = find_plan(str(tmp_path / "plan.json"), str).cells()[2].config
    whole = compute(config, tmp_path / "whole", 1, lambda steps: None)
    save = HeadlessRun.cycle

    def cycle(self: HeadlessRun) -> None:
        save(self)
        self.save()

    def kill(steps: int) -> None:
        if steps > 600:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(HeadlessRun, "cycle", cycle)
        with pytest.raises(Killed):
            compute(config, tmp_path / "part", 1, kill)
    curve = tmp_path / "part" / "curve.jsonl"
    curve.write_text(curve.read_text() + "[20")  # killed in the middle of a line
    steps: list[int] = []
    assert compute(config, tmp_path / "part", 1, steps.append) == whole
    assert steps[0] > 256  # continued rather than restarted


@pytest.mark.slow
def test_a_cell_whose_session_lost_a_process_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(plan_values()))
    config = find_plan(str(tmp_path / "plan.json"), str).cells()[1].config
    whole = compute(config, tmp_path / "whole", 1, lambda steps: None)

    killed: list[int] = []

    def kill(steps: int) -> None:
        if not killed:
            killed.append(pid_of("policy"))
            os.kill(killed[0], signal.SIGKILL)

    with monkeypatch.context() as patched:
        patched.setattr(cell_module, "HeadlessRun", functools.partial(HeadlessRun, apart=True))
        with pytest.raises(ChildDiedError):
            compute(config, tmp_path / "part", 1, kill)
    assert compute(config, tmp_path / "part", 1, lambda steps: None) == whole


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
def test_a_signal_stops_a_sweep_like_ctrl_c(number: str, sweep: Sweep, tmp_path: Path) -> None:
    def stop(cell: Cell) -> None:
        signal.raise_signal(getattr(signal, number))

    stopped = sweep(tmp_path / "out", code=128 + getattr(signal, number), interfere=stop)
    assert stopped.closed and "run the same command to continue." in stopped.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "left",
    ["a file alone", "checkpoints that can't be read", "settings that can't be read", "answers that can't be read"],
)
def test_a_session_that_cannot_be_continued_is_restarted(left: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(plan_values()))
    config = find_plan(str(tmp_path / "plan.json"), str).cells()[1].config
    whole = compute(config, tmp_path / "part", 1, lambda steps: None)
    checkpoints = list((tmp_path / "part" / "checkpoints").iterdir())
    assert checkpoints
    if left == "a file alone":
        (tmp_path / "part" / "config.json").unlink()
    elif left == "settings that can't be read":
        (tmp_path / "part" / "config.json").write_text("{")
    elif left == "answers that can't be read":
        (tmp_path / "part" / "preferences" / "log.jsonl").write_text("{\n")
    for path in checkpoints:
        for file in path.rglob("*") if path.is_dir() else [path]:
            if file.is_file():
                file.write_bytes(b"damaged")
    assert compute(config, tmp_path / "part", 1, lambda steps: None) == whole


@pytest.mark.slow
def test_a_finished_plan_keeps_the_stopped_sessions_of_another(sweep: Sweep, tmp_path: Path) -> None:
    def stop(cell: Cell) -> None:
        raise KeyboardInterrupt

    sweep(tmp_path / "out", code=130, interfere=stop, seeds=[1])
    other = find_plan(str(tmp_path / "plan.json"), str).cells()[0]
    session = CellFiles(tmp_path / "out").session(other)
    session.mkdir(parents=True)
    sweep(tmp_path / "out")
    assert session.exists()
    sweep(tmp_path / "out", seeds=[1])
    assert not session.parent.exists()


def test_a_folder_is_in_use_until_the_table_is_written(
    sweep: Sweep, tmp_path: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(undisturbed / "cells", tmp_path / "out" / "cells")
    whole = command.draw_chart

    def draw(*words: Any) -> None:
        with pytest.raises(UserError, match="is open in another Somersault"):
            acquire_lock(tmp_path / "out")
        whole(*words)

    monkeypatch.setattr(command, "draw_chart", draw)
    sweep(tmp_path / "out")
    acquire_lock(tmp_path / "out").release()


def test_a_file_in_place_of_a_folder_is_one_sentence(sweep: Sweep, tmp_path: Path) -> None:
    (tmp_path / "out" / "journal.jsonl").mkdir(parents=True)
    assert "journal.jsonl can't be written (Is a directory)" in sweep(tmp_path / "out", code=2).err


def test_a_local_process_gives_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(plan_values()))
    cell = find_plan(str(tmp_path / "plan.json"), str).cells()[0]
    whole = compute(cell.config, tmp_path / "whole", 1, lambda steps: None)
    with closing(LocalBackend(1, lambda cell: tmp_path / "sessions" / cell.digest)) as backend:
        backend.submit(cell)
        reports: list[Report] = []
        while not reports or type(reports[-1]).__name__ not in ("Ended", "Lost"):
            reports += backend.reports(1.0)
    assert reports[-1].content == whole


DAMAGES: dict[str, Callable[[str], str]] = {
    "cut": lambda text: text[:100],
    "[]": lambda text: "[]",
    "no curve": lambda text: text.replace('"curve"', '"carve"'),
    "a step beyond all numbers": lambda text: text.replace('"curve": [[', f'"curve": [[{10**400}, 1], ['),
    "a word as a return": lambda text: re.sub('"true_return": [-0-9.e]+', '"true_return": "-3"', text),
    "a truth value as a return": lambda text: re.sub('"true_return": [-0-9.e]+', '"true_return": true', text),
    "an impossible return": lambda text: re.sub('"true_return": [-0-9.e]+', '"true_return": 1e300', text),
    "words in the curve": lambda text: text.replace('"curve": [[', '"curve": [["1", "2"], ['),
    "a point without a return": lambda text: text.replace('"curve": [[', '"curve": [[1], ['),
    "no number of answers": lambda text: re.sub('"usable": [0-9]+', '"usable": null', text),
    "another config": lambda text: text.replace('"seed": 0', '"seed": 7'),
    "a state of no cell": lambda text: text.replace('"done"', '"dine"'),
}


@pytest.fixture
def finished(undisturbed: Path) -> dict[str, str]:
    """Return the files of the cells of the small plan, by name."""
    return {path.name: path.read_text() for path in (undisturbed / "cells").iterdir()}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_refused_before_the_first_cell(
    sweep: Sweep, tmp_path: Path, finished: dict[str, str], damage: Any
) -> None:
    (tmp_path / "out" / "cells").mkdir(parents=True)
    name, text = next(iter(finished.items()))
    assert damage(text) != text
    (tmp_path / "out" / "cells" / name).write_text(damage(text))
    refused = sweep(tmp_path / "out", code=2)
    assert refused.computed == []
    assert f"{name} is damaged: delete it, and its cell is computed again." in refused.err


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_a_device_that_this_machine_lacks_is_refused_before_the_first_cell(sweep: Sweep, tmp_path: Path) -> None:
    refused = sweep(tmp_path / "out", "--set", "device=cuda", code=2)
    assert refused.computed == [] and "choose the device cpu" in refused.err


def test_a_constant_oracle_is_refused_before_the_first_cell(sweep: Sweep, tmp_path: Path) -> None:
    (tmp_path / "still.json").write_text(json.dumps({**BEHAVIOUR, "oracle": "side_speed"}))
    refused = sweep(tmp_path / "out", tasks=["still.json"], code=2)
    assert refused.computed == [] and "signals that never change on this robot: side_speed" in refused.err


def test_a_session_left_by_a_killed_sweep_is_removed(sweep: Sweep, tmp_path: Path, undisturbed: Path) -> None:
    shutil.copytree(undisturbed / "cells", tmp_path / "out" / "cells")
    digest = next((tmp_path / "out" / "cells").iterdir()).stem
    (tmp_path / "out" / "sessions" / f"{digest}-version").mkdir(parents=True)
    assert sweep(tmp_path / "out").computed == []
    assert not (tmp_path / "out" / "sessions").exists()


def test_results_of_another_version_are_kept_and_reported(
    sweep: Sweep, tmp_path: Path, finished: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "out" / "cells").mkdir(parents=True)
    for name, text in finished.items():
        (tmp_path / "out" / "cells" / name).write_text(text.replace('"somersault": "', '"somersault": "9.'))
    assert sweep(tmp_path / "out").computed == []
    assert "3 results in" in caplog.text and "made by another version" in caplog.text


@pytest.mark.slow
def test_a_result_of_files_that_changed_meanwhile_is_not_kept(sweep: Sweep, tmp_path: Path, undisturbed: Path) -> None:
    """The process or machine that ran the cell had different sources from the driver's."""
    changed: list[str] = []

    def other(cell: Cell) -> Report | None:
        if changed:
            return None
        changed.append(cell.digest)
        folder = CellFiles(tmp_path / "out").session(cell)
        document = json.loads(compute(cell.config, folder, 1, lambda steps: None))
        document["made_with"]["sources"] = "other"
        document["result"]["true_return"] = 1e6
        return Ended(cell.digest, json.dumps(document).encode())

    failed = sweep(tmp_path / "out", code=1, interfere=other)
    assert "files changed while the sweep ran: start it again" in failed.err
    assert sweep(tmp_path / "out").computed == changed
    assert (tmp_path / "out/table.md").read_bytes() == (undisturbed / "table.md").read_bytes()


def test_a_run_without_a_finished_episode_is_reported(
    sweep: Sweep, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sweep(tmp_path / "out", steps=8 * 32, curves=[{"name": "true reward", "teacher": "none"}])
    assert "1 run is left out: no episode was finished" in caplog.text


def test_a_run_without_a_return_of_the_untrained_policy_is_reported(
    sweep: Sweep, tmp_path: Path, finished: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """All simulations of an untrained robot may diverge."""
    (tmp_path / "out" / "cells").mkdir(parents=True)
    for name, text in finished.items():
        changed = re.sub('"random_return": [-0-9.e]+', '"random_return": null', text)
        (tmp_path / "out" / "cells" / name).write_text(changed)
    sweep(tmp_path / "out")
    assert f"{len(finished)} runs are left out: the untrained policy has no return" in caplog.text


def test_the_reason_of_a_failure_refers_to_no_deleted_file() -> None:
    error = StageFailedError(
        "the policy stage failed (boom); all answers are saved, and the session's log has the details"
    )
    error.__cause__ = ValueError("boom")
    assert cell_module.reason_of(error) == "ValueError: boom."


def test_a_machine_without_a_gpu_is_not_advised_to_run_fewer_cells() -> None:
    assert cell_module.reason_of(NoGpuError("Choose the device cpu.")) == "Choose the device cpu."


def test_fewer_answers_than_the_curves_name_states_are_reported(
    sweep: Sweep, tmp_path: Path, undisturbed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "out").mkdir()
    shutil.copytree(undisturbed / "cells", tmp_path / "out" / "cells")
    for path in (tmp_path / "out" / "cells").iterdir():
        path.write_text(path.read_text().replace('"usable": 4', '"usable": 3'))
    assert sweep(tmp_path / "out").computed == []
    assert [record.message.partition(",")[0] for record in caplog.records] == [
        "4 labels: 1 run got fewer answers than planned"
    ]


@pytest.mark.parametrize(("free", "expected"), [(10_000, 4), (2_500, 2), (1_000, 1), (None, 4)])
def test_one_cell_runs_for_each_core_that_memory_allows(
    free: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(4)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(resources, "free_memory", lambda *_: free)
    assert slots_for(None, 1_000) == expected
    if free == 2_500:
        with pytest.raises(UserError, match="is free"):
            slots_for(3, 1_000)


def test_only_one_program_uses_a_folder(sweep: Sweep, tmp_path: Path) -> None:
    refused: list[str] = []

    def other(cell: Cell) -> None:
        refused.append(sweep(tmp_path / "out", code=2).err)
        raise KeyboardInterrupt

    sweep(tmp_path / "out", code=130, interfere=other)
    assert "is open in another Somersault" in refused[0]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--on", "moon"], "--on moon is not a known backend"),
        (["--on", "slurm"], "slurm:PARTITION"),
        (["--on", "local:0"], "local:0 is not a number of cells"),
        (["--on", "local:" + "9" * 5000], "is not a number of cells"),
        (["--on", "ray"], "--on ray needs ray: "),
        (["--on", "slurm:gpu"], "--on slurm needs submitit: "),
        (["--steps", "0"], "--steps must be at least 1"),
        (["--labels", "5"], "--labels works only with named plans"),
        (["--teachers", "person"], "no curve with --teachers person"),
        (["--tasks", "gym:Nowhere-v0"], "No environment named Nowhere-v0"),
        (["--tasks", "hoper"], "There is no task 'hoper'"),
        (["--set", "query.segment_steps=51"], "at most the 50 of an episode"),
        (["--set", "nothing.members=1"], "There is no setting 'nothing.members'"),
        (["--set", "seed=5"], "use --seeds"),
        (["--steps", "900", "--set", "rollout.environments=100", "--set", "rollout.steps=9"], "give several times"),
        (["--set", "teacher=none"], "use --teachers"),
    ],
)
def test_bad_input_is_one_sentence_before_anything_runs(
    words: list[str], expected: str, sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for extra in ("ray", "submitit"):
        monkeypatch.setitem(sys.modules, extra, None)
        monkeypatch.delitem(sys.modules, f"core.sweep.{extra.replace('submitit', 'slurm')}_backend", raising=False)
    refused = sweep(tmp_path / "out", *words, code=2)
    assert refused.computed == [] and expected in refused.err and not (tmp_path / "out").exists()
