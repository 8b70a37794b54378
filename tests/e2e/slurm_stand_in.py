"""A stand-in for Slurm on this machine: sbatch, srun, sacct and scancel in one script that runs jobs in sequence.

SLURM_STAND_IN is the folder of its jobs. SLURM_STAND_IN_LIMITS has the limits at which it ends them: MB of memory and
seconds of computing by the number of the job, as JSON. SLURM_STAND_IN_MOST is the largest number of waiting and running
jobs; more are refused. `install(folder)` makes the four programs.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

_PROGRAMS = ("sbatch", "srun", "sacct", "scancel")


def install(folder: Path) -> None:
    """Make the programs in this folder, for PATH."""
    folder.mkdir()
    for name in _PROGRAMS:
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" {name} "$@"\n')
        (folder / name).chmod(0o755)


def write(job: Path, state: str) -> None:
    job.with_suffix(".part").write_text(state)
    job.with_suffix(".part").replace(job)


def sbatch(jobs: Path, script: str) -> int:
    open_jobs = [path for path in jobs.glob("*.state") if path.read_text() in ("PENDING", "RUNNING")]
    if len(open_jobs) >= int(os.environ.get("SLURM_STAND_IN_MOST", "1000")):
        print("sbatch: error: Batch job submission failed: Job violates accounting/QOS policy", file=sys.stderr)
        return 1
    number = 1 + len(list(jobs.glob("*.state")))
    write(jobs / f"{number}.state", "PENDING")
    command = [sys.executable, __file__, "carry-out", str(number), script]
    with open(jobs / f"{number}.log", "wb") as output:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    print(f"Submitted batch job {number}")
    return 0


def carry_out(jobs: Path, number: str, script: str) -> None:
    """Run a job when its turn has come, watch it, and write its states."""
    state = jobs / f"{number}.state"
    most_mb, most_seconds = json.loads(os.environ["SLURM_STAND_IN_LIMITS"]).get(number, (math.inf, math.inf))
    variables = {
        "SLURM_JOB_ID": number,
        "SLURM_PROCID": "0",
        "SLURM_NTASKS": "1",
        "SLURM_LOCALID": "0",
        "SLURM_NODEID": "0",
    }
    with open(jobs / "queue", "w") as queue:
        fcntl.flock(queue, fcntl.LOCK_EX)
        if state.read_text() != "PENDING":
            return
        job = psutil.Popen(["bash", script], env={**os.environ, **variables, "SLURM_JOB_NUM_NODES": "1"})
        write(state, "RUNNING")
        ended = ""
        while not ended and job.poll() is None:
            memory = seconds = 0.0
            for process in (job, *job.children(recursive=True)):
                with suppress(psutil.Error):
                    memory += process.memory_info().rss / 2**20
                    seconds += sum(process.cpu_times()[:2])
            if state.read_text() != "RUNNING":
                ended = "CANCELLED by 0"
            elif memory > most_mb:
                ended = "OUT_OF_MEMORY"
            elif seconds > most_seconds:
                ended = "TIMEOUT"
            time.sleep(0.1)
        if ended:
            for process in (*job.children(recursive=True), job):
                with suppress(psutil.Error):
                    process.send_signal(signal.SIGKILL)
        code = job.wait()
        write(state, ended or ("FAILED" if code else "COMPLETED"))


def srun(words: list[str]) -> int:
    """Run the command after srun's own options, with job and task numbers in place of %j and %t in --output and --error."""
    files = {}
    while words[0].startswith("--"):
        name, _, value = words.pop(0).partition("=")
        if name in ("--output", "--error"):
            path = (value or words.pop(0)).replace("%j", os.environ["SLURM_JOB_ID"]).replace("%t", "0")
            files[name] = open(path, "ab")  # noqa: SIM115
    return subprocess.call(words, stdout=files.get("--output"), stderr=files.get("--error"))


def main(program: str, *words: str) -> int:
    jobs = Path(os.environ["SLURM_STAND_IN"])
    match program:
        case "sbatch":
            return sbatch(jobs, words[-1])
        case "carry-out":
            carry_out(jobs, *words)
        case "srun":
            return srun(list(words))
        case "sacct":
            asked = re.findall(r"-j (\d+)", " ".join(words))
            lines = [f"{number}|{(jobs / f'{number}.state').read_text()}|here" for number in asked]
            print("\n".join(["JobID|State|NodeList", *lines]))
        case "scancel":
            for number in (word for word in words if word.isdigit()):
                if (jobs / f"{number}.state").read_text() in ("PENDING", "RUNNING"):
                    write(jobs / f"{number}.state", "CANCELLED by 0")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
