"""Policy and predicted reward as ONNX files, which other programs can run without this one."""

from core.events import Job, JobSpec


def build(spec: JobSpec, threads: int = 1, processes: bool = False) -> Job:
    """Build the job that exports for the window (see core.jobs.build)."""
    from core.nn.threads import set_num_threads
    from core.portable.job import PortableJob

    set_num_threads(threads)
    return PortableJob()
