"""The jobs that child processes run: the stages of training, clips, films, previews and games.

Each is a generator of events that does not depend on threads or widgets.
"""

import importlib

from core.config import Config
from core.events import Job, JobSpec
from core.session.restore_errors import checkpoint_errors


def build(spec: JobSpec, threads: int = 1, processes: bool = False) -> Job:
    """Build the job of that name, importing only what it needs.

    threads: how many threads of this process may compute at once
    processes: let the rollout use processes of its own, if the machine has room for them (core.jobs.collectors)

    Raises UserError if the state does not fit.
    """
    if spec.name == "previews":  # before torch, which drawing does not need: the first pictures come sooner
        from core.jobs.previews import PreviewsJob

        return PreviewsJob()
    if spec.name == "scenes":
        from core.jobs.scenes import ScenesJob

        return ScenesJob()
    config = Config.from_dict(spec.config)
    if spec.name != "play":
        from core.nn.threads import set_num_threads

        set_num_threads(threads)
    job_class = getattr(importlib.import_module(f"core.jobs.{spec.name}"), f"{spec.name.capitalize()}Job")
    job: Job
    if spec.name == "rollout":
        from core.jobs.collectors import room_for_processes

        job = job_class(config, processes and room_for_processes())
    else:
        job = job_class(config)
    if spec.state is not None:
        with checkpoint_errors(spec.name):
            job.set_state(spec.state)
    return job
