"""Latency and memory of the answer history with 2,000 answers: a real window, real child processes.

    xvfb-run -a .venv/bin/python -m tests.benchmarks.history

Prints one JSON object. Times are in milliseconds from the menu's action until the list is painted with all answers,
until it shows the first still picture, and until the selected answer plays. Memory is the window's own (unique set
size, MB): before opening, after everything on screen is drawn, after scrolling through the whole list, and after closing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import psutil
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication

from core.config import Config, replaced
from core.session.session import Session
from core.tasks import get_task
from core.types import Choice, Query
from tests.benchmarks.windowed import application, close, parser, show, wait
from tests.core.builders import segment

_ANSWERS = 2000
_DISTINCT = 64
"""Distinct segments; they are repeated as often as needed."""
_STOPS = 60
"""Positions at which scrolling waits until everything on screen is drawn: several hundred still pictures."""


def make_session(folder: Path) -> None:
    """Make a session of random segments, as a simulator in this process would count as the window's memory."""
    config = replaced(Config(), teacher="human", labels=2 * _ANSWERS, steps=10**12)
    sides = [segment(number, get_task(config.task).segment_steps) for number in range(1, _DISTINCT + 1)]
    started = time.time()
    with closing(Session.create(folder, config)) as session, closing(session.store()) as store:
        for key in range(1, _ANSWERS + 1):
            pair = (replace(sides[number % _DISTINCT], id=number) for number in (2 * key, 2 * key + 1))
            answered_at = started - 5 * (_ANSWERS - key)
            with patch("time.time", lambda answered_at=answered_at: answered_at):
                store.add(Query(key, *pair, 0.1), list(Choice)[key % len(Choice)], "human")


class Painted(QObject):
    """Event filter that records the first paint of a widget while a condition holds."""

    def __init__(self, holds: Callable[[], bool]) -> None:
        super().__init__()
        self._holds, self.at = holds, 0.0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and not self.at and self._holds():
            self.at = time.perf_counter()
        return False


def megabytes() -> float:
    return round(psutil.Process().memory_full_info().uss / 1e6, 1)


def measure(app: QApplication, folder: Path) -> dict[str, object]:
    from app.windows.history import HistoryPage

    def until(holds: Callable[[], bool]) -> float:
        wait(holds)
        return time.perf_counter()

    controller, window = show(Session.open(folder))
    controller.start()
    pairs = controller.labelling.pairs
    until(lambda: controller.progress.labels == _ANSWERS)
    until(lambda: pairs.shown is not None and pairs.ready and not pairs.rendering)  # 60 MB each
    result: dict[str, object] = {"answers": _ANSWERS, "memory_before": megabytes()}
    album, drawn = controller.preference_history.clip_cache, list[int]()
    album.stills_drawn.connect(drawn.append)
    started = time.perf_counter()
    page = HistoryPage(controller, window.commands.keys, window)
    painted = Painted(lambda: page.model.rowCount() == _ANSWERS)
    page.list.viewport().installEventFilter(painted)
    page.show()
    until(lambda: bool(painted.at))
    stills = until(lambda: bool(drawn))
    plays = until(lambda: page.pane.clips.shown is not None)
    until(lambda: album.idle)
    moments = {"shown": painted.at, "first_still": stills, "plays": plays}
    result |= {f"{name}_ms": round(1000 * (moment - started)) for name, moment in moments.items()}
    result["memory_shown"] = megabytes()
    bar = page.list.verticalScrollBar()
    for step in range(_STOPS):
        bar.setValue(bar.maximum() * step // _STOPS)
        until(lambda: album.idle)
        app.processEvents()
    result["memory_scrolled"] = megabytes()
    page.close()
    app.processEvents()
    result["memory_closed"] = megabytes()
    close(window)
    return result


def main() -> None:
    parser(__doc__).parse_args()
    with application() as (app, scratch):
        make_session(scratch / "session")
        print(json.dumps(measure(app, scratch / "session")))


if __name__ == "__main__":
    main()
