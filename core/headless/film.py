"""Command that makes a film of a session."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from core.events import FilmMade, FilmProgressed, FilmRequested, JobSpec
from core.session.session import read_config


def film(args: argparse.Namespace) -> None:
    """Runs the film job with a progress bar. Raises UserError if no film can be made."""
    from core.jobs import build

    folder = Path(args.session)
    job = build(JobSpec("film", read_config(folder).to_dict()))
    job.receive(FilmRequested(str(folder), args.out, args.before_after, args.height))
    made = FilmMade(args.out, "")
    with tqdm(desc="film", total=100, unit="%", file=sys.stderr, mininterval=0.5) as bar:
        for event in job.run():
            if isinstance(event, FilmProgressed):
                bar.update(round(100 * event.share) - bar.n)
            elif isinstance(event, FilmMade):
                made = event
                bar.update(100 - bar.n)
                break
    print(" ".join(part for part in (made.note, f"wrote {made.target}") if part), file=sys.stderr)
