"""Cells on a Ray cluster. Ray is an optional dependency; this module is imported only for --on ray."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections.abc import Iterator
from typing import Any

from core.errors import UserError, missing_packages
from core.sweep.backend import Ended, Lost, Report, Started, compute_elsewhere, probe
from core.sweep.cell import Cell, encode, failed, reason_of
from core.sweep.environment import require_equal

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
if os.path.isfile(os.path.expanduser("~/.ray/auth_token")):
    # Ray creates this file at its first start. From then on clusters require the token; drivers send it in this mode only.
    os.environ.setdefault("RAY_AUTH_MODE", "token")
try:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError as missing:
    raise missing_packages("--on ray", "ray>=2.40,<3") from missing

_ANSWER_SECONDS = 5.0
_PROBE_SECONDS = 600.0
_HEAD_SECONDS = 20.0
"""Longest time in seconds without an answer of the cluster's head. After a minute Ray would abort this process."""
_HEAD_POLL_SECONDS = 1.0


class RayBackend:
    """Runs each cell as a task with one core. Results are returned as bytes.

    As many cells are submitted as the cluster currently has cores. The program must be installed on the cluster's
    machines; only configs and results are sent.
    """

    def __init__(self, address: str) -> None:
        """address: HOST:PORT of a cluster, or '' for the one named by RAY_ADDRESS or else one started on this machine

        Raises UserError if no cluster answers there, or if it runs another version of Ray or Python.
        """
        if named := address or os.environ.get("RAY_ADDRESS", ""):
            _require_answer(named)
        own = {} if address or os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
        try:
            ray.init(address=address or None, log_to_driver=False, logging_level=logging.ERROR, **own)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            where = f"The Ray cluster at {address}" if address else "Ray"
            raise UserError(f"{where} can't be used: {_one_line(error)}") from error
        self._head = address if address.startswith("ray://") else str(ray.get_runtime_context().gcs_address)
        self._task = ray.remote(num_cpus=1, max_retries=0)(compute_elsewhere)
        self._cells: dict[Any, Cell] = {}
        self._new: list[Report] = []

    def check(self) -> None:
        """Request the versions of every machine in the cluster. Raises UserError if one differs or does not answer."""
        ask = ray.remote(num_cpus=0, max_retries=0)(probe)
        for node in (node for node in ray.nodes() if node["Alive"]):
            where = f"The machine {node['NodeManagerAddress']} of the Ray cluster"
            place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            try:
                theirs = ray.get(ask.options(scheduling_strategy=place).remote(), timeout=_PROBE_SECONDS)
            except ray.exceptions.GetTimeoutError as error:
                raise UserError(f"{where} does not answer: start it again, or stop it.") from error
            except ray.exceptions.TaskUnschedulableError:
                continue  # it has left the cluster, which takes some seconds to notice
            except ray.exceptions.RayError as error:
                raise UserError(
                    f"{where} can't load Somersault ({_one_line(error)}): install the same version there."
                ) from error
            require_equal(theirs, where)

    @property
    def slots(self) -> int:
        self._await_head()
        with _cluster_errors():
            return max(1, int(ray.cluster_resources().get("CPU", 0)))

    def submit(self, cell: Cell) -> None:
        with _cluster_errors():
            self._cells[self._task.remote(cell.config.to_dict())] = cell
        self._new.append(Started(cell.digest))

    def reports(self, seconds: float) -> list[Report]:
        reports, self._new = self._new, []
        if not reports and self._cells:
            self._await_head()
            with _cluster_errors():
                ready, _ = ray.wait(list(self._cells), num_returns=1, timeout=seconds)
            reports = [_outcome(self._cells.pop(reference), reference) for reference in ready]
        return reports

    def _await_head(self) -> None:
        """Wait until the cluster's head answers, without which Ray's calls block. Raises UserError if it is gone."""
        given_up = time.monotonic() + _HEAD_SECONDS
        while not _answers(self._head):
            if time.monotonic() > given_up:
                raise UserError(
                    f"The head of the Ray cluster at {self._head} no longer answers: start it again; "
                    "the same command continues."
                )
            time.sleep(_HEAD_POLL_SECONDS)

    def close(self) -> None:
        for reference in self._cells:
            with contextlib.suppress(ray.exceptions.RayError, ConnectionError):  # the cluster is gone
                ray.cancel(reference, force=True)
        ray.shutdown()


def _outcome(cell: Cell, reference: Any) -> Report:
    try:
        content: bytes = ray.get(reference)
    except ray.exceptions.OutOfMemoryError as error:
        reason = "There was not enough memory: run fewer cells at once, or on machines with more of it."
        return Ended(cell.digest, encode(failed(cell.config, reason, str(error))))
    except ray.exceptions.RayTaskError as error:  # raised outside of the cell itself
        cause = error.cause if isinstance(error.cause, Exception) else error
        return Ended(cell.digest, encode(failed(cell.config, reason_of(cause), str(error))))
    except ray.exceptions.RayError as error:
        return Lost(cell.digest, f"Its process or machine is gone ({type(error).__name__}).")
    return Ended(cell.digest, content)


@contextlib.contextmanager
def _cluster_errors() -> Iterator[None]:
    """Raise UserError for errors of the cluster itself."""
    try:
        yield
    except (ray.exceptions.RayError, ConnectionError) as error:
        raise UserError(
            f"The Ray cluster no longer answers ({_one_line(error)}): start it again; the same command continues."
        ) from error


def _require_answer(address: str) -> None:
    """Raise UserError if nothing listens at the address; Ray itself would wait for minutes."""
    if address in ("auto", "local"):
        return
    if not _answers(address):
        raise UserError(
            f"No Ray cluster answers at {address[:80]}: start one with ray start --head, and give its HOST:PORT."
        )


def _answers(address: str) -> bool:
    """Return whether something listens at HOST:PORT or ray://HOST:PORT."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS):
            return True
    except (OSError, ValueError, OverflowError):
        return False


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if lines[0].endswith(":"):  # such as a list of versions that differ
        return " ".join(lines)
    return lines[-1] if isinstance(error, ray.exceptions.RayError) else lines[0]
