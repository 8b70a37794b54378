"""A program that teaches a session until it is killed, and prints a line for each answer shown as taken.

    python -m tests.e2e.killable window|headless|learning FOLDER

Saves checkpoints twice a second, so that kills interrupt them too. With `learning`, the oracle answers in a window with
the usual checkpoints, and the lines are "shown" with the environment steps of the policy in the live view, and "fit" with
the number of answers.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from core.config import Config, replaced
from core.events import DemonstrationRecorded, Event, PreferenceAdded, RewardFitted
from core.session.session import Session
from tests.core.builders import QUICK

_SMALL: dict[str, Any] = {**QUICK, "labels": 100_000, "steps": 10**9, "query.first_share": 1e-5}


def opened(folder: Path, teacher: str) -> Session:
    if (folder / "config.json").exists():
        return Session.open(folder)
    return Session.create(folder, replaced(Config(), **_SMALL, teacher=teacher))


def kept(folder: Path) -> list[str]:
    """Return the answers on disk, as printed by `headless` and `window`; the session is opened as by any program."""
    if not (folder / "config.json").exists():
        return []
    with closing(Session.open(folder)) as session, closing(session.store()) as store:
        session.load()
        return [f"{p.id} {p.choice}" for p in store.each()]


def headless(folder: Path) -> None:
    from core.headless.run import HeadlessRun

    def listen(event: Event) -> None:
        if isinstance(event, PreferenceAdded):
            print(event.preference.id, event.preference.choice, flush=True)

    HeadlessRun(opened(folder, "oracle"), listen, threads=1, checkpoint_seconds=0.5).run()


def learning(folder: Path) -> None:
    from PySide6.QtWidgets import QApplication

    from app.session.controller import Controller
    from app.style import theme
    from app.windows.main import MainWindow
    from core.jobs.job_process import JobProcess

    application = QApplication([])
    theme.apply(application)
    controller = Controller(opened(folder, "oracle"), JobProcess)
    controller.labelling.set_teacher("oracle")
    window = MainWindow(controller)

    def tell(event: Event) -> None:
        if isinstance(event, RewardFitted):
            print("fit", event.preferences, flush=True)
        elif isinstance(event, DemonstrationRecorded):
            print("shown", event.env_steps, flush=True)

    controller.job_group.event_arrived.connect(tell)
    window.show()
    controller.start()
    application.exec()


def window(folder: Path) -> None:
    from PySide6.QtCore import Qt, QTimer
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from app.session.controller import Controller
    from app.style import theme
    from app.windows.main import MainWindow
    from core.jobs.job_process import JobProcess
    from tests.app.tape import flashed

    application = QApplication([])
    theme.apply(application)
    controller = Controller(opened(folder, "human"), JobProcess)
    shown = MainWindow(controller)

    def report(preference: Any) -> None:
        shown.repaint()  # now the flash is on screen
        print(preference.id, flashed(shown.clips), flush=True)

    controller.labelling.pair_shown.connect(lambda pair: QTest.keyClick(shown, Qt.Key.Key_Right))
    controller.labelling.answer_kept.connect(report)
    shown.show()
    shown.activateWindow()
    controller.start()
    saving = QTimer(interval=500)
    saving.timeout.connect(controller.checkpointer.request)
    saving.start()
    application.exec()


if __name__ == "__main__":
    {"window": window, "learning": learning, "headless": headless}[sys.argv[1]](Path(sys.argv[2]))
