"""Jobs that raise or log, in real children: they stand in for core.system.child_process._child and core.headless.lockstep._child."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from core.events import Event, Job, JobSpec
from core.headless import lockstep
from core.system import child_process
from core.system.child_link import Link


class _Raising:
    """A job that raises at the first event that it would yield, where nobody expects it."""

    def __init__(self, job: Job, error: Exception) -> None:
        self._job, self._error = job, error

    def run(self) -> Iterator[Event | None]:
        for event in self._job.run():
            if event is not None:
                raise self._error
            yield event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._job, name)


def child(pipe: Connection, spec: JobSpec, error: Exception) -> None:
    jobs = importlib.import_module("core.jobs")
    build = jobs.build
    vars(jobs)["build"] = lambda *wanted: _Raising(build(*wanted), error)
    child_process._child(pipe, spec)


class _Noted:
    """A job that says something to the log in each turn."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def run(self) -> Iterator[Event | None]:
        for event in self._job.run():
            logging.getLogger("core.anywhere").warning("heard in %d", os.getpid())
            yield event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._job, name)


def noted_in_lockstep(link: Link, threads: int, helper: Link | None) -> None:
    build = lockstep.build
    vars(lockstep)["build"] = lambda *wanted: _Noted(build(*wanted))
    lockstep._child(link, threads, helper)
