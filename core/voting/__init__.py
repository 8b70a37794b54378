"""Votes of a room: guests choose the better clip on their phones, and the majority is one answer."""

from core.events import Job, JobSpec


def build(spec: JobSpec, threads: int = 1, processes: bool = False) -> Job:
    """Build the job that serves the page (see core.jobs.build)."""
    from core.voting.job import VotingJob

    return VotingJob()
