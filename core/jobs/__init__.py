"""The jobs that child processes run: the stages of training, clips, films, previews and games.

Each is a generator of events that does not depend on threads or widgets. This module itself imports none of them, nor
the libraries that they need, since the window imports it.
"""

import importlib

from core.config import Config
from core.events import Job, JobSpec
from core.session.restore_errors import checkpoint_errors

_ELSEWHERE = {"portable": "core.portable.job", "voting": "core.voting.job"}
"""Modules of the jobs that other packages have."""
_WITHOUT_CONFIG = ("previews", "scenes", "portable", "voting")
_WITHOUT_TORCH = ("previews", "scenes", "play", "voting")


def needs_torch(name: str) -> bool:
    return name not in _WITHOUT_TORCH


def build(spec: JobSpec, threads: int = 1, processes: bool = False) -> Job:
    """Build the job NameJob of that name, importing only what it needs.

    threads: how many threads of this process may compute at once
    processes: let the rollout use processes of its own, if the machine has room for them (core.jobs.collectors)

    Raises UserError if the state does not fit.
    """
    if needs_torch(spec.name):
        importlib.import_module("core.nn.threads").set_num_threads(threads)
    module = importlib.import_module(_ELSEWHERE.get(spec.name, f"core.jobs.{spec.name}"))
    job_class = getattr(module, f"{spec.name.capitalize()}Job")
    job: Job
    if spec.name in _WITHOUT_CONFIG:
        job = job_class()
    elif spec.name == "rollout":
        has_room = importlib.import_module("core.jobs.collectors").room_for_processes
        job = job_class(Config.from_dict(spec.config), processes and has_room())
    else:
        job = job_class(Config.from_dict(spec.config))
    if spec.state is not None:
        with checkpoint_errors(spec.name):
            job.set_state(spec.state)
    return job
