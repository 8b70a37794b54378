"""Commands that export and import sessions and answers."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from pathlib import Path

from core.io import files
from core.session.archive import export_session, import_session
from core.session.preference_export import export_preferences, import_preferences
from core.session.session import Session


def export(args: argparse.Namespace) -> None:
    target = Path(args.file)
    files.require_new(target)
    with closing(Session.open(Path(args.session))) as session:
        export_session(session, target)
    print(f"wrote {target}", file=sys.stderr)


def bring_in(args: argparse.Namespace) -> None:
    import_session(Path(args.file), Path(args.session))
    print(f"made {args.session}", file=sys.stderr)


def preferences(args: argparse.Namespace) -> None:
    target = Path(args.target)
    if args.action == "import":
        count = import_preferences(Path(args.source), target)
        print(f"made {target} with {count} answers", file=sys.stderr)
        return
    with closing(Session.open(Path(args.source))) as session:
        count, lost = export_preferences(session, target)
    damaged = f"; {lost} more could not be read" if lost else ""
    print(f"wrote {count} answers to {target}{damaged}", file=sys.stderr)
