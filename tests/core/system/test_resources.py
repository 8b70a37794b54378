"""Memory, disk and display that are required before a start, and the number of cores used."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

from core.envs import make_envs
from core.errors import UserError
from core.jobs.collectors import can_use_processes
from core.jobs.job_process import job_threads
from core.seeding import generator
from core.session.session import Session
from core.system import resources
from core.tasks import get_task
from tests.core.builders import tiny
from tests.screens import run_python


def meminfo(tmp_path: Path, available: int, swap: int = 0) -> Path:
    """Write /proc/meminfo as Linux does, in kB."""
    path = tmp_path / "meminfo"
    path.write_text(f"MemTotal: 9000000 kB\nMemAvailable: {available} kB\nSwapFree:  {swap} kB\nHugePages_Total: 0\n")
    return path


def test_too_little_memory_is_reported_with_both_figures(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"^Only 0.7 GB of memory is free, and 1.5 GB is needed: close other programs\.$"
    ):
        resources.require_memory(1_500_000_000, meminfo(tmp_path, available=700_000))


def test_a_full_disk_refuses_a_new_session_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=299_400_000))
    with pytest.raises(
        UserError, match="^Only 299 MB is free .* needs 300 MB: make room there, or choose a folder on another disk"
    ):
        Session.create(tmp_path / "deep" / "down", tiny())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems report no share of the cores")
def test_a_process_restricted_to_some_cores_uses_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """This is the case under `srun -c 2` or `taskset`."""
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 7})
    process = psutil.Process()
    before = process.num_threads()
    env = make_envs(get_task("reacher"), 1024, generator(0, "affinity"))
    env.step(np.zeros((env.count, env.sizes[1]), np.float32))
    threads = process.num_threads() - before
    env.close()
    assert (threads, job_threads("reward"), can_use_processes()) == (2, 1, True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3})
    assert not can_use_processes()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps what was freed")
def test_freed_memory_between_live_blocks_is_returned_to_the_system() -> None:
    script = (
        "import psutil; from core.system.resources import release_memory; me = psutil.Process();"
        "blocks = [bytes(60_000) for _ in range(4000)]; blocks[:-1] = [bytes(10)] * 3999; held = me.memory_info().rss;"
        "release_memory(); print(held - me.memory_info().rss)"
    )
    assert int(run_python("-c", script).stdout) > 100_000_000


@pytest.mark.parametrize(
    ("words", "least"),
    [
        (["reproduce", "fig3", "--out", "x"], 1_100_000_000),
        (["reproduce", "fig2", "--tasks", "hopper", "pong", "--out", "x"], 1_100_000_000),
        (["sweep", "fig2", "--on", "local:3", "--out", "x"], 1_950_000_000),
        (["teach", "pong"], 1_100_000_000),
        (["teach", "reacher"], 650_000_000),
        (["teach", "--resume", "pong session"], 1_100_000_000),
        (["bench", "--task", "pong"], 1_100_000_000),
    ],
)
def test_a_command_asks_for_the_memory_of_its_largest_task(
    words: list[str], least: int, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Any]
) -> None:
    def refuse(asked: int) -> None:
        raise UserError(f"{asked}")

    Path("pong session").mkdir()
    Path("pong session/config.json").write_text(json.dumps(tiny(task="pong").to_dict()))
    monkeypatch.setattr(resources, "require_memory", refuse)
    assert cli(*words, code=2).err == f"somersault: {least}\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is nothing to choose")
@pytest.mark.parametrize("module", ["core", "app"])
def test_an_unknown_rendering_backend_is_refused(module: str) -> None:
    done = run_python("-m", module, *(["tasks"] if module == "core" else []), MUJOCO_GL="foo")
    assert (done.returncode, done.stdout) == (2, "")
    expected = "MUJOCO_GL is foo: unset it, or choose egl, osmesa or glfw.\n"
    assert done.stderr.removeprefix("somersault: ") == expected
