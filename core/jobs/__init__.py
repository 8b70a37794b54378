"""The jobs that child processes run, one a stage. Each is a generator of events that knows no thread or widget."""

from __future__ import annotations

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
    if spec.name == "play":
        from core.jobs.play import PlayJob

        return PlayJob(Config.from_dict(spec.config))
    from core.nn import threads as parallel

    parallel.set_num_threads(threads)
    config = Config.from_dict(spec.config)
    job = _make(spec.name, config, processes)
    if spec.state is not None:
        with checkpoint_errors(spec.name):
            job.set_state(spec.state)
    return job


def _make(name: str, config: Config, processes: bool) -> Job:
    if name == "rollout":
        from core.jobs.collectors import room_for_processes
        from core.jobs.rollout import RolloutJob

        return RolloutJob(config, processes and room_for_processes())
    if name == "reward":
        from core.jobs.reward import RewardJob

        return RewardJob(config)
    if name == "policy":
        from core.jobs.policy import PolicyJob

        return PolicyJob(config)
    if name == "clips":
        from core.jobs.clips import ClipsJob

        return ClipsJob(config)
    if name == "film":
        from core.jobs.film import FilmJob

        return FilmJob(config)
    raise ValueError(f"no job {name!r}")
