"""Sweeps killed at random moments, on this machine and on a Ray cluster, whose table equals that of an undisturbed one.

SOMERSAULT_RAY names a Python with Ray and submitit if this one lacks them (pip install '.[ray,slurm]').
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.core.builders import QUICK
from tests.core.sweep.plans import journal
from tests.e2e import slurm_stand_in
from tests.processes import parts
from tests.screens import ROOT, running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(5400)]
CLUSTER_PYTHON = os.environ.get("SOMERSAULT_RAY", sys.executable)
CURVES = [
    {"name": "true reward", "teacher": "none"},
    {"name": "4 labels", "labels": 4},
    {"name": "6 labels", "labels": 6},
    {"name": "random queries", "labels": 6, "ablation": "random-queries"},
    {"name": "person", "labels": 5, "teacher": "person"},
]
_SECONDS = 1800


def plan(folder: Path, seeds: int) -> Path:
    """Write a plan of ten cells for each seed, each of which takes some seconds on a busy machine."""
    path = folder / "plan.json"
    values = {"tasks": ["reacher", "pendulum"], "seeds": seeds, "steps": 8 * 32 * 20, "curves": CURVES}
    path.write_text(json.dumps({**values, "settings": QUICK}))
    return path


def command(path: Path, out: Path, on: str, python: str) -> list[str]:
    return [python, "-m", "core", "sweep", str(path), "--on", on, "--out", str(out)]


PIPES: dict[str, Any] = {
    "cwd": ROOT,
    "env": {**os.environ, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"},
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
}


def start(path: Path, out: Path, on: str, python: str = sys.executable) -> subprocess.Popen[str]:
    return subprocess.Popen(command(path, out, on, python), text=True, **PIPES)


def finish(program: subprocess.Popen[str]) -> str:
    """Wait for a successful end; return the output on stderr."""
    _, stderr = program.communicate(timeout=3600)
    assert program.returncode == 0, stderr[-2000:]
    return stderr


def kill(program: subprocess.Popen[str]) -> None:
    """Kill the driver, and require that no process of its cells survives."""
    family = psutil.Process(program.pid).children(recursive=True)
    program.kill()
    program.communicate()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert not alive


def wait_until(reached: Callable[[], bool], program: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not reached():
        assert program.poll() is None and time.monotonic() < deadline, program.stderr and program.stderr.read()[-2000:]
        time.sleep(0.05)


def assert_same(out: Path, whole: Path, cells: int) -> None:
    """Require the table of the undisturbed sweep, no repeated computation, and no failed cell shown as done."""
    assert (out / "table.json").read_bytes() == (whole / "table.json").read_bytes()
    states: dict[str, list[str]] = {}
    for cell, state in journal(out):
        states.setdefault(cell, []).append(state)
    assert len(states) == cells
    for reached in states.values():
        assert "done" not in reached[:-1] and "failed" not in reached  # nothing follows after done
    documents = [json.loads(path.read_bytes()) for path in (out / "cells").iterdir()]
    assert len(documents) == cells and {document["state"] for document in documents} == {"done"}


def test_a_sweep_of_forty_cells_killed_ten_times_gives_the_same_table(tmp_path: Path) -> None:
    path, rng = plan(tmp_path, 4), random.Random(7)
    finish(start(path, tmp_path / "whole", "local:2"))
    out, workers_killed = tmp_path / "out", 0
    program = start(path, out, "local:2")
    for number in range(10):
        begun, more = len(journal(out)), rng.randint(1, 5)
        wait_until(lambda begun=begun, more=more: len(journal(out)) >= begun + more, program)
        time.sleep(rng.uniform(0, 1))
        if number % 2:
            workers = list[psutil.Process]()
            wait_until(
                lambda program=program, workers=workers: bool(workers.extend(parts(program.pid)) or workers), program
            )
            rng.choice(workers).kill()
            workers_killed += 1
        else:
            kill(program)
            program = start(path, out, "local:2")
        print(f"kill {number + 1}: {sum(state == 'done' for _, state in journal(out))} of 40 cells done", flush=True)
    stderr = finish(program)
    assert_same(out, tmp_path / "whole", 40)
    assert workers_killed == 5 and 1 <= stderr.count(" restarts: ") <= 5


def has(module: str) -> bool:
    return subprocess.run([CLUSTER_PYTHON, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def with_ray() -> None:
    if not has("ray"):
        pytest.skip("Ray is not installed: pip install '.[ray]', or name a Python that has it in SOMERSAULT_RAY")


def free_port() -> int:
    """Return a free port below those of Ray's workers."""
    for port in random.sample(range(5000, 9000), 100):
        with socket.socket() as trial, suppress(OSError):
            trial.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


class Cluster:
    """A Ray cluster whose machines are local processes, each started by `ray start`."""

    def __init__(self, folder: Path) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self._folder, self._nodes = folder, list[subprocess.Popen[bytes]]()
        port = self.address.rpartition(":")[2]
        self.add("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}")
        self._wait()

    def add(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a machine, by default a worker of one core."""
        chosen = words or (f"--address={self.address}",)
        command = [CLUSTER_PYTHON, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1", *chosen]
        log = open(self._folder / f"node{len(self._nodes)}.log", "wb")  # noqa: SIM115
        environ = {**os.environ, "RAY_worker_niceness": "0"}  # at Ray's usual 15 a busy machine never finishes
        node = subprocess.Popen(
            [*command, "--disable-usage-stats"], cwd=ROOT, env=environ, stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        self._nodes.append(node)
        return node

    def _wait(self) -> None:
        host, _, port = self.address.partition(":")
        for _ in range(600):
            with socket.socket() as trial:
                if trial.connect_ex((host, int(port))) == 0:
                    return
            time.sleep(0.2)
        raise AssertionError((self._folder / "node0.log").read_text())

    @staticmethod
    def kill(node: subprocess.Popen[bytes]) -> None:
        """Kill a machine with all of its processes."""
        try:
            family = psutil.Process(node.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            family = []
        for process in (*family, psutil.Process(node.pid)):
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        node.wait(60)
        psutil.wait_procs(family, timeout=60)

    def close(self) -> None:
        for node in reversed(self._nodes):
            if node.poll() is None:
                self.kill(node)


def clusters(with_ray: None) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(
        dir="/tmp", ignore_cleanup_errors=True
    ) as folder:  # the path of a socket must be short
        made = Cluster(Path(folder))
        try:
            yield made
        finally:
            made.close()


cluster, another_cluster = pytest.fixture(clusters, name="cluster"), pytest.fixture(clusters, name="another_cluster")


def test_a_sweep_on_ray_survives_the_kill_of_a_worker_and_of_the_driver(cluster: Cluster, tmp_path: Path) -> None:
    path, on, out = plan(tmp_path, 1), f"ray:{cluster.address}", tmp_path / "out"
    finish(start(path, tmp_path / "whole", "local:2"))
    worker = cluster.add()
    program = start(path, out, on, CLUSTER_PYTHON)

    def done() -> int:
        return sum(state == "done" for _, state in journal(out))

    wait_until(lambda: done() >= 2, program)
    cluster.kill(worker)
    cluster.add()
    wait_until(lambda: done() >= 4, program)
    program.kill()
    program.communicate()
    assert done() < 10
    finish(start(path, out, on, CLUSTER_PYTHON))
    assert_same(out, tmp_path / "whole", 10)


def test_a_sweep_ends_with_its_cluster_and_continues_on_another(
    cluster: Cluster, another_cluster: Cluster, tmp_path: Path
) -> None:
    """Ray may end the driver with exit code 1 and its own messages before the driver reports the loss."""
    path, out = plan(tmp_path, 1), tmp_path / "out"
    with running(command(path, out, f"ray:{cluster.address}", CLUSTER_PYTHON), **PIPES) as program:
        wait_until(lambda: sum(state == "done" for _, state in journal(out)) >= 1, program)
        cluster.close()
        _, stderr = program.communicate(timeout=_SECONDS)
    assert program.returncode in (1, 2) and "Traceback" not in stderr, stderr
    if program.returncode == 2:
        last = stderr.splitlines()[-1]
        assert "no longer answers" in last and last.endswith("start it again; the same command continues.")
    done = sum(state == "done" for _, state in journal(out))
    finish(start(path, out, f"ray:{another_cluster.address}", CLUSTER_PYTHON))
    states = [state for _, state in journal(out)]
    assert states.count("done") == 10 and done >= 1 and "failed" not in states


def refused(path: Path, on: str, python: str = CLUSTER_PYTHON) -> str:
    program = start(path, path.parent / "refused", on, python)
    printed, stderr = program.communicate(timeout=_SECONDS)
    assert (program.returncode, printed) == (2, ""), stderr
    (line,) = stderr.splitlines()
    assert line.startswith("somersault: ")
    return line


def test_an_unreachable_address_is_one_sentence(with_ray: None, tmp_path: Path) -> None:
    assert "No Ray cluster answers at 127.0.0.1:9: start one" in refused(plan(tmp_path, 1), "ray:127.0.0.1:9")


def test_a_machine_with_other_sources_is_one_sentence(cluster: Cluster, tmp_path: Path) -> None:
    """The driver reports sources that differ from those of the machines."""
    code = (
        "import core.sweep.environment as e, sys; ours = dict(e.versions(), sources='0' * 16);"
        "e.versions = lambda: ours; sys.argv = ['core', 'sweep', *sys.argv[1:]];"
        "from core.__main__ import main; sys.exit(main())"
    )
    words = [str(plan(tmp_path, 1)), "--on", f"ray:{cluster.address}", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [CLUSTER_PYTHON, "-c", code, *words], cwd=ROOT, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    assert done.returncode == 2 and "has other source files of Somersault" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "out" / "cells").exists() or not list((tmp_path / "out" / "cells").iterdir())


def test_a_cell_out_of_memory_fails_and_the_others_complete(tmp_path: Path) -> None:
    """The limit on address space is too small for the observations of one cell's batch, 23 GB."""
    sizes = {"rollout.environments": 8, "rollout.steps": 1 << 21}
    curves = [{"name": "huge", "teacher": "none", "settings": sizes}, {"name": "small", "teacher": "none"}]
    values = {"tasks": ["gym:Humanoid-v5"], "seeds": [0], "steps": 8 * 32 * 5, "curves": curves, "settings": QUICK}
    (tmp_path / "huge.json").write_text(json.dumps(values))
    words = ["-m", "core", "sweep", str(tmp_path / "huge.json"), "--on", "local:1", "--out", str(tmp_path / "out")]
    limited = ["prlimit", f"--as={4 << 30}", sys.executable, *words]
    done = subprocess.run(limited, cwd=ROOT, capture_output=True, text=True, timeout=_SECONDS, check=False)
    table = json.loads((tmp_path / "out" / "table.json").read_bytes())
    assert [cell["state"] for cell in table["cells"]] == ["failed", "done"], done.stderr[-2000:]
    assert done.returncode == 1 and table["cells"][0]["reason"].startswith("There was not enough memory: ")
    assert "1 of 2 cells failed" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("most", [1000, 2, 1])
def test_jobs_ended_by_slurm_are_one_sentence_each_and_the_others_complete(tmp_path: Path, most: int) -> None:
    """A stand-in for Slurm runs the jobs here, `most` at the same time; the first job reports versions."""
    if not has("submitit"):
        pytest.skip("submitit is not installed: pip install '.[slurm]', or name a Python that has it in SOMERSAULT_RAY")
    limits = {"2": (100, 1e9), "3": (1e9, 20), "4": (1e9, 1e9)}
    curves = [
        {"name": "huge", "teacher": "none", "settings": {"policy.hidden": 512}},
        {
            "name": "long",
            "teacher": "none",
            "settings": {"policy.epochs": 1000, "policy.minibatch": 1, "policy.target_kl": 1e9},
        },
        {"name": "small", "teacher": "none"},
    ]
    values = {"tasks": ["reacher"], "seeds": [0], "steps": 8 * 32 * 5, "curves": curves, "settings": QUICK}
    (tmp_path / "plan.json").write_text(json.dumps(values))
    slurm_stand_in.install(tmp_path / "bin")
    (tmp_path / "jobs").mkdir()
    environ = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "SLURM_STAND_IN": str(tmp_path / "jobs"),
        "SLURM_STAND_IN_LIMITS": json.dumps(limits),
        "SLURM_STAND_IN_MOST": str(most),
        "OMP_NUM_THREADS": "1",
    }
    words = ["-m", "core", "sweep", str(tmp_path / "plan.json"), "--on", "slurm:here", "--out", str(tmp_path / "out")]
    with running(
        [CLUSTER_PYTHON, *words], cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as sweep:
        _, stderr = sweep.communicate(timeout=_SECONDS)
    cells = {cell["curve"]: cell for cell in json.loads((tmp_path / "out/table.json").read_bytes())["cells"]}
    print(*(f"{name}: {cell['state']}. {cell.get('reason', '')}" for name, cell in cells.items()), sep="\n")
    assert sweep.returncode == 1 and "2 of 3 cells failed" in stderr.splitlines()[-1] and "Traceback" not in stderr
    assert [cell["state"] for cell in cells.values()] == ["failed", "failed", "done"]
    assert cells["huge"]["reason"].startswith("There was not enough memory: its job is limited to 4 GB")
    assert cells["long"]["reason"].startswith("It did not finish within 24 hours")
    assert stderr.count("restarts") == 0


def test_submitit_runs_the_same_cells(tmp_path: Path) -> None:
    """Its executor of local processes replaces Slurm's, which this machine lacks."""
    if not has("submitit"):
        pytest.skip("submitit is not installed: pip install '.[slurm]', or name a Python that has it in SOMERSAULT_RAY")
    path = plan(tmp_path, 1)
    finish(start(path, tmp_path / "whole", "local:2"))
    code = (
        "import sys, submitit; from core.sweep.slurm_backend import SlurmBackend;"
        "executor = submitit.LocalExecutor(sys.argv.pop()); executor.update_parameters(timeout_min=30);"
        "SlurmBackend.of_partition = staticmethod(lambda partition, folder: SlurmBackend(executor, partition));"
        "SlurmBackend.slots = 2; sys.argv = ['core', 'sweep', *sys.argv[1:]];"
        "from core.__main__ import main; sys.exit(main())"
    )
    words = [str(path), "--on", "slurm:here", "--out", str(tmp_path / "out"), str(tmp_path / "jobs")]
    done = subprocess.run(
        [CLUSTER_PYTHON, "-c", code, *words], cwd=ROOT, capture_output=True, text=True, timeout=3000, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert_same(tmp_path / "out", tmp_path / "whole", 10)
