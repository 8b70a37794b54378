"""Cells as Slurm jobs, through submitit, an optional dependency. Imported only for --on slurm."""

from __future__ import annotations

import contextlib
import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.errors import UserError, missing_packages
from core.sweep.backend import Ended, Lost, Report, Started, compute_elsewhere, probe
from core.sweep.cell import Cell, encode, failed
from core.sweep.environment import require_equal

try:
    import submitit
except ImportError as missing:
    raise missing_packages("--on slurm", "submitit>=1.5,<2") from missing

_SLOTS = 256
"""Largest number of jobs that wait or run at the same time."""
_LOOK_SECONDS = 0.25
_PATIENCE_SECONDS = 60.0
"""Seconds after the end of the last job in which sbatch may still reject the next one, as Slurm counts ended jobs for a while."""
_HOURS = 24
_MEMORY_GB = 4
_TOO_LONG = f"It did not finish within {_HOURS} hours, the limit for its job: give it fewer steps."
_FINAL = {
    "OUT_OF_MEMORY": f"There was not enough memory: its job is limited to {_MEMORY_GB} GB; use smaller settings.",
    "TIMEOUT": _TOO_LONG,
    "CANCELLED": "Its job was cancelled.",
}
"""Reasons of final failures, by the start of the job's state. Jobs with other states are submitted again."""


class SlurmBackend:
    """Runs each cell as a job with one core. submitit passes configs and results through files in a shared folder."""

    def __init__(self, executor: Any, where: str) -> None:
        """executor: an executor of submitit; where: its name in error messages"""
        self._executor, self._where = executor, where
        self._jobs: dict[str, tuple[Cell, Any]] = {}
        self._last_end = -math.inf
        self._slots = _SLOTS
        self._refused: list[Cell] = []
        """Cells that sbatch rejected, for example at a user's limit of jobs; they are submitted again."""
        self._running: set[str] = set()

    @staticmethod
    def of_partition(partition: str, folder: Path) -> SlurmBackend:
        """Return a backend for a partition. Raises UserError if this machine has no Slurm.

        folder: folder for submitit's files, on a disk that all machines share
        """
        for program in ("sbatch", "srun"):  # submitit needs both
            if shutil.which(program) is None:
                raise UserError(
                    f"This machine has no Slurm ({program}): start the sweep on a login node of the cluster."
                )
        executor = submitit.AutoExecutor(folder=folder, cluster="slurm")
        executor.update_parameters(
            slurm_partition=partition, timeout_min=60 * _HOURS, cpus_per_task=1, mem_gb=_MEMORY_GB, name="somersault"
        )
        return SlurmBackend(executor, f"A machine of the Slurm partition {partition}")

    def check(self) -> None:
        """Request the versions of one machine with a separate job. Raises UserError if they differ."""
        job = self._submit(probe)
        try:
            theirs = job.result()
        except KeyboardInterrupt:
            job.cancel(check=False)
            raise
        except (submitit.core.utils.UncompletedJobError, submitit.core.utils.FailedJobError) as error:
            last = str(error).strip().splitlines()[-1:]
            raise UserError(
                f"{self._where} can't load Somersault ({' '.join(last)}): install the same version there."
            ) from error
        self._last_end = time.monotonic()
        require_equal(theirs, self._where)

    @property
    def slots(self) -> int:
        return self._slots

    def submit(self, cell: Cell) -> None:
        """Submit a cell. Raises UserError if sbatch rejects the job although no other job has existed for a while."""
        try:
            self._jobs[cell.digest] = cell, self._submit(compute_elsewhere, cell.config.to_dict())
        except UserError:
            if not self._jobs and time.monotonic() > self._last_end + _PATIENCE_SECONDS:
                raise
            self._slots = max(1, len(self._jobs))
            self._refused.append(cell)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return self._executor.submit(function, *arguments)
        except (submitit.core.utils.FailedJobError, OSError) as error:  # sbatch rejected it
            last = " ".join(str(error).strip().splitlines()[-1:])
            raise UserError(f"{self._where} rejected the job: {last}") from error

    def reports(self, seconds: float) -> list[Report]:
        deadline = time.monotonic() + seconds
        reports: list[Report] = []
        while not reports and (self._jobs or self._refused) and time.monotonic() < deadline:
            if not self._jobs:
                self.submit(self._refused.pop())
            for digest, (cell, job) in list(self._jobs.items()):
                if job.done():
                    del self._jobs[digest]
                    self._running.discard(digest)
                    reports.append(_outcome(cell, job))
                    self._slots, self._last_end = min(_SLOTS, self._slots + 1), time.monotonic()
                    if self._refused:
                        self.submit(self._refused.pop())
                elif digest not in self._running and job.state == "RUNNING":
                    self._running.add(digest)
                    reports.append(Started(digest))
            if not reports:
                time.sleep(_LOOK_SECONDS)
        return reports

    def close(self) -> None:
        for _, job in self._jobs.values():
            with contextlib.suppress(OSError):
                job.cancel(check=False)


def _outcome(cell: Cell, job: Any) -> Report:
    try:
        content: bytes = job.result()
    except (submitit.core.utils.UncompletedJobError, submitit.core.utils.FailedJobError):
        where = f"Job {job.job_id} ended without a result ({job.state}): its log is {job.paths.stderr}."
        reason = next((reason for state, reason in _FINAL.items() if job.state.startswith(state)), None)
        if reason is None:
            return Lost(cell.digest, where)
        return Ended(cell.digest, encode(failed(cell.config, reason, where)))
    if b"UncompletedJobError" in content:  # submitit raises it in a cell whose time is nearly up
        return Ended(cell.digest, encode(failed(cell.config, _TOO_LONG, content.decode())))
    return Ended(cell.digest, content)
