"""The commands that take sessions and answers out of the program and back in."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from core.io import files
from core.session.archive import export_session, import_session
from core.session.preference_export import export_preferences, import_preferences
from core.session.session import Session


def export(args: argparse.Namespace) -> None:
    target = Path(args.file)
    files.require_new(target)
    session = Session.open(Path(args.session))
    try:
        export_session(session, target)
    finally:
        session.close()
    print(f"wrote {target}", file=sys.stderr)


def bring_in(args: argparse.Namespace) -> None:
    import_session(Path(args.file), Path(args.session))
    print(f"made {args.session}", file=sys.stderr)


def preferences(args: argparse.Namespace) -> None:
    {"export": _export_answers, "import": _import_answers}[args.action](args)


def _export_answers(args: argparse.Namespace) -> None:
    session = Session.open(Path(args.source))
    try:
        count, lost = export_preferences(session, Path(args.target))
    finally:
        session.close()
    damaged = f"; {lost} more could not be read" if lost else ""
    print(f"wrote {count} answers to {args.target}{damaged}", file=sys.stderr)


def _import_answers(args: argparse.Namespace) -> None:
    count = import_preferences(Path(args.source), Path(args.target))
    print(f"made {args.target} with {count} answers", file=sys.stderr)
