"""The jobs that child processes run: the stages of training, and services such as clips, films, games and votes.

Each is a generator of events that does not depend on threads or widgets. This module imports neither the jobs nor the
libraries that they need, since the window imports it.
"""

import importlib
from dataclasses import dataclass

from core.config import Config
from core.errors import checkpoint_errors
from core.events import Job, JobSpec

_SOON = 3
"""Niceness of a job whose result the user waits for: after the window, before training."""


@dataclass(frozen=True)
class Kind:
    """Implementation and process of a job.

    module: name of the module with its class
    config: True if its constructor takes a session's config
    torch: True if it needs torch
    threads: number of threads that it may use on a machine with many cores
    nice: niceness of its process
    """

    module: str
    config: bool = True
    torch: bool = True
    threads: int = 1
    nice: int = 10


KINDS = {
    "rollout": Kind("core.jobs.rollout"),
    "reward": Kind("core.jobs.reward", threads=2),
    "policy": Kind("core.jobs.policy", threads=2),
    "clips": Kind("core.jobs.clips", nice=_SOON),
    "film": Kind("core.film.film"),
    "talk": Kind("core.film.talk"),
    "play": Kind("core.jobs.play", torch=False, nice=_SOON),
    "scenes": Kind("core.jobs.scenes", config=False, torch=False, nice=_SOON),
    "previews": Kind("core.jobs.previews", config=False, torch=False),
    "portable": Kind("core.portable.job", config=False),
    "voting": Kind("core.voting.job", config=False, torch=False),
}
"""The kinds of jobs by name. The class of `film` is FilmJob, and so on."""


def build(spec: JobSpec, threads: int = 1, processes: bool = False) -> Job:
    """Build a job, importing only what it needs.

    threads: number of threads of this process that may compute at the same time
    processes: let the rollout use processes of its own, if the machine has cores and memory for them

    Raises UserError if the state does not fit.
    """
    kind = KINDS[spec.name]
    if kind.torch:
        importlib.import_module("core.nn.threads").limit_threads(threads)
    job_class = getattr(importlib.import_module(kind.module), f"{spec.name.capitalize()}Job")
    arguments: list[Config | bool] = [Config.from_dict(spec.config)] if kind.config else []
    if spec.name == "rollout":
        arguments.append(processes and importlib.import_module("core.jobs.collectors").can_use_processes())
    job: Job = job_class(*arguments)
    if spec.state is not None:
        with checkpoint_errors(spec.name):
            job.set_state(spec.state)
    return job
