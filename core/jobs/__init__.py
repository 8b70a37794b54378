"""The jobs, built from a spec: each a generator of events that knows no thread, process or widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.config import Config
from core.events import Job, JobSpec
from core.session.restore_errors import checkpoint_errors

if TYPE_CHECKING:
    from core.system.child_link import Link


def build(spec: JobSpec, threads: int = 1, helper: Link | None = None) -> Job:
    """Makes the job of that name; imports only what it needs. threads: how many of ours may compute at once here;
    helper: to a process that helps the rollout (core.jobs.collector_process)."""
    if spec.name == "previews":  # before torch: there is nothing to learn, and the first pictures come sooner
        from core.jobs.previews import PreviewsJob

        return PreviewsJob()
    if spec.name == "play":  # likewise
        from core.jobs.play import PlayJob

        return PlayJob(Config.from_dict(spec.config))
    from core.nn import threads as parallel

    parallel.set_num_threads(threads)
    config = Config.from_dict(spec.config)
    job = _make(spec.name, config, helper)
    if spec.state is not None:
        with checkpoint_errors(spec.name):
            job.set_state(spec.state)
    return job


def _make(name: str, config: Config, helper: Link | None) -> Job:
    if name == "rollout":
        from core.jobs.rollout import RolloutJob

        return RolloutJob(config, helper)
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
